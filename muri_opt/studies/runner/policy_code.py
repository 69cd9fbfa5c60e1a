"""Which code a policy of somebody else is, so that a study does not take results of an earlier draft for its own."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from muri_opt.systems import Policy, policy_from


def from_elsewhere(policy: Policy) -> bool:
    """Return whether the algorithm of a policy is no part of this package."""
    return policy.written_in.partition(".")[0] != __name__.partition(".")[0]


def code_digest(policy: str) -> str | None:
    """Return a digest of the file in which a policy given as text is written; ``None`` for those of this package.

    The version of this package stands for the latter. What the file imports does not count.

    >>> code_digest("srtf") is None
    True
    """
    chosen = policy_from(policy)
    path = getattr(sys.modules.get(chosen.written_in), "__file__", None)
    if not from_elsewhere(chosen) or path is None or not Path(path).is_file():
        return None
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
