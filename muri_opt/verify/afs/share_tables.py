"""What the shares of all jobs are worth, as arrays: thousands of jobs are looked up, priced and counted together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from muri_opt.verify.amounts import word_for

Ints = NDArray[np.int64]
Numbers = NDArray[Any]
"""Whole numbers: machine words, or of any size at a cost."""
Table = dict[int, int]
"""What shares of one job are worth, by GPUs."""


class ShareTables(Sequence[Table]):
    """One table for each job: entry e says that ``gpus[e]`` GPUs are worth ``value[e]`` to job ``job[e]``.

    Entries are in the order of jobs, those of a job from the fewest GPUs up; ``jobs`` is how many jobs there are.
    """

    def __init__(self, jobs: int, job: Ints, gpus: Ints, value: Numbers) -> None:
        self.jobs, self.job, self.gpus, self.value = jobs, job, gpus, value

    @classmethod
    def of(cls, tables: Sequence[Mapping[int, int]]) -> ShareTables:
        """Return tables as arrays; those that are arrays already are what they are."""
        if isinstance(tables, ShareTables):
            return tables
        ordered = [sorted(table.items()) for table in tables]
        job = np.repeat(np.arange(len(tables)), [len(table) for table in ordered])
        gpus = [gpus for gpus, _ in chain.from_iterable(ordered)]
        value = [value for _, value in chain.from_iterable(ordered)]
        return cls(
            len(tables),
            job,
            np.array(gpus, dtype=np.int64),
            np.array(value, dtype=word_for(2 * max(map(abs, value), default=0))),
        )

    def with_value(self, value: Numbers) -> ShareTables:
        """Return the same shares with other values."""
        return ShareTables(self.jobs, self.job, self.gpus, value)

    @cached_property
    def first(self) -> Ints:
        """Where the shares of each job begin, and those of the last one end."""
        return np.searchsorted(self.job, np.arange(self.jobs + 1))

    @cached_property
    def largest(self) -> int:
        """No less than any value, whatever its sign."""
        return int(np.abs(self.value).max()) if len(self.value) else 0

    def most(self, value: Numbers | None = None) -> list[int]:
        """Return the largest value of each job, 0 if it has none above; of its shares, or of others for them."""
        found = np.zeros(self.jobs, dtype=self.value.dtype if value is None else value.dtype)
        some = np.flatnonzero(np.diff(self.first))
        if len(some):
            found[some] = np.maximum.reduceat(self.value if value is None else value, self.first[some])
        largest: list[int] = np.maximum(found, 0).tolist()
        return largest

    def at(self, jobs: Sequence[int], gpus: Sequence[float]) -> list[int]:
        """Return what so many GPUs are worth to each of some jobs, 0 where a job may not have so many."""
        if not len(self.job) or not jobs:
            return [0] * len(jobs)
        most = int(self.gpus.max())
        asked = [given if 0 < given <= most and given == int(given) else 0 for given in gpus]
        keys = self.job * (most + 1) + self.gpus
        wanted = np.array(jobs, dtype=np.int64) * (most + 1) + np.array(asked, dtype=np.int64)
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        found: list[int] = np.where(keys[place] == wanted, self.value[place], 0).tolist()
        return found

    def __len__(self) -> int:
        return self.jobs

    @overload
    def __getitem__(self, place: int) -> Table: ...
    @overload
    def __getitem__(self, place: slice) -> list[Table]: ...
    def __getitem__(self, place: int | slice) -> Table | list[Table]:
        """Return the table of one job, or of some."""
        if isinstance(place, slice):
            return [self[one] for one in range(self.jobs)[place]]
        begin, end = self.first[range(self.jobs)[place] :][:2].tolist()
        return dict(zip(self.gpus[begin:end].tolist(), self.value[begin:end].tolist(), strict=True))

    def __iter__(self) -> Iterator[Table]:
        ends, gpus, value = self.first.tolist(), self.gpus.tolist(), self.value.tolist()
        for begin, end in pairwise(ends):
            yield dict(zip(gpus[begin:end], value[begin:end], strict=True))

    def __eq__(self, other: object) -> bool:
        """Tables are equal if they say the same, as arrays or not; like lists, they have no hash."""
        return isinstance(other, Sequence) and [*self] == [*other]
