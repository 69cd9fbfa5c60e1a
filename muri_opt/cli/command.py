"""What every command is: a name, its help, its options and how it runs."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from muri_opt.cli.output import Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command; ``examples`` end its help."""

    name: str
    summary: str
    examples: str
    add_options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], Reply]
