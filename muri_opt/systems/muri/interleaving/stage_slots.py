"""Stage times by slot, the form in which a pattern reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

Seats: TypeAlias = Sequence[Sequence[Any] | None]
"""``seats[q][r]`` is an array with the times of stage r of the job that begins in slot q; an empty slot is ``None``.

The arrays of one ``Seats`` broadcast against each other, so the same few lines compute one group, many groups in many
orders, or all pairs of two lists of jobs.
"""
