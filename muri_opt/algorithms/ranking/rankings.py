"""What is given: lists of jobs, best first, each with a weight; a list need not name every job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from muri_opt.errors import InputError
from muri_opt.modelling import Ints

_MOST = 1 << 40
"""More than this no weights of all pairs may add up to, so that no sum leaves a machine word."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Rankings:
    """List l names the jobs ``entries[starts[l]:starts[l + 1]]``, best first, and counts ``weights[l]`` times.

    Jobs are 0 to ``jobs - 1``; a list names a job at most once.

    >>> lists = Rankings.of([[0, 1, 2], [1, 0, 2]])
    >>> lists.jobs
    3
    """

    jobs: int
    starts: Ints
    entries: Ints
    weights: Ints

    @classmethod
    def of(cls, lists: Sequence[ArrayLike], *, jobs: int | None = None, weights: ArrayLike | None = None) -> Rankings:
        """Return the lists, refusing jobs that do not exist or come twice and weights that are no counts.

        Without ``jobs`` there are as many as the largest number named says; without ``weights`` every list counts once.
        """
        parts = [_whole(f"lists[{place}]", entries) for place, entries in enumerate(lists)]
        most = max((int(part.max(initial=-1)) for part in parts), default=-1)
        count = most + 1 if jobs is None else jobs
        if count < 0:
            raise InputError("jobs", str(jobs), "a whole number of at least 0")
        for place, part in enumerate(parts):
            _check_list(f"lists[{place}]", part, count)
        each = np.ones(len(parts), dtype=np.int64) if weights is None else _whole("weights", weights)
        if len(each) != len(parts):
            raise InputError("weights", f"{len(each)} weights", f"one for each of the {len(parts)} lists")
        if np.any(each < 1):
            at = int(np.argmax(each < 1))
            raise InputError(f"weights[{at}]", str(each[at]), "a whole number of at least 1")
        if sum(each.tolist()) * max(1, count * count) > _MOST:
            raise InputError("weights", f"a sum of {sum(each.tolist()):,}", f"at most 2**40 times {count}**-2")
        starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
        return cls(
            jobs=count,
            starts=starts,
            entries=np.concatenate([np.zeros(0, dtype=np.int64), *parts]),
            weights=each,
        )

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def lengths(self) -> Ints:
        """How many jobs each list names."""
        return np.diff(self.starts)

    @cached_property
    def ranked(self) -> Ints:
        """For each job, the weight of the lists that name it."""
        total = np.zeros(self.jobs, dtype=np.int64)
        np.add.at(total, self.entries, np.repeat(self.weights, self.lengths))
        return total


def _whole(field: str, values: ArrayLike) -> Ints:
    array = np.asarray(values)
    if array.ndim != 1:
        raise InputError(field, f"an array of {array.ndim} dimensions", "a list of whole numbers")
    if array.size and array.dtype.kind not in "iu":
        at = next((i for i, value in enumerate(array.tolist()) if type(value) is not int), 0)
        raise InputError(f"{field}[{at}]", repr(array.tolist()[at]), "a whole number below 2**62 in size")
    if array.size and not -_MOST <= int(array.min()) <= int(array.max()) <= _MOST:
        at = int(np.argmax(np.abs(array.astype(np.float64))))
        raise InputError(f"{field}[{at}]", str(array[at]), f"a number of at most {_MOST:,}")
    whole: Ints = array.astype(np.int64)
    return whole


def _check_list(field: str, entries: Ints, jobs: int) -> None:
    wrong = (entries < 0) | (entries >= jobs)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise InputError(f"{field}[{at}]", str(entries[at]), f"a job from 0 to {jobs - 1}" if jobs else "no jobs")
    first = np.zeros(len(entries), dtype=np.bool_)
    first[np.unique(entries, return_index=True)[1]] = True
    if not first.all():
        at = int(np.argmin(first))
        raise InputError(f"{field}[{at}]", f"job {entries[at]} once more", "each job at most once")
