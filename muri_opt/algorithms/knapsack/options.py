"""What is given: for each job a list of options, of which it gets one or none, and what there is of each resource."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from muri_opt.errors import InputError
from muri_opt.modelling import INFINITY

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Options:
    """Option o belongs to job ``job[o]`` (ascending), is worth ``value[o]`` and takes ``use[o, r]`` of resource r.

    A job takes at most one of its options; waiting is worth 0 and takes nothing. All that is taken of resource r is at
    most ``capacity[r]``. Jobs are 0 to ``jobs - 1``; a job need not have an option.

    >>> options = Options.of([0, 0, 1], [5, 7, 4], [[1], [2], [1]], [2], jobs=2)
    >>> len(options), options.capacity
    (3, array([2]))
    """

    jobs: int
    job: Ints
    value: Ints
    use: Ints
    capacity: Ints

    @classmethod
    def of(cls, job: ArrayLike, value: ArrayLike, use: ArrayLike, capacity: ArrayLike, *, jobs: int) -> Options:
        """Return the options, refusing arrays of other shapes, fractions, amounts below 0 and jobs out of order."""
        owner, worth, has = _whole("job", job, 1), _whole("value", value, 1), _whole("capacity", capacity, 1)
        takes = _whole("use", use, 2) if np.size(use) else np.zeros((len(owner), len(has)), dtype=np.int64)
        if takes.shape != (len(owner), len(has)) or len(worth) != len(owner):
            found = f"{len(owner)} jobs, {len(worth)} values and uses of shape {takes.shape}"
            raise InputError("use", found, f"one value and {len(has)} uses per option")
        for field, array in (("use", takes), ("capacity", has)):
            if array.min(initial=0) < 0:
                raise InputError(field, str(array.min()), "amounts of at least 0")
        if len(owner) and (owner[0] < 0 or owner[-1] >= jobs or np.any(owner[1:] < owner[:-1])):
            found = f"jobs from {owner.min()} to {owner.max()}" + (
                ", not in order" if np.any(np.diff(owner) < 0) else ""
            )
            raise InputError("job", found, f"ascending numbers from 0 to {jobs - 1}")
        return cls(jobs=jobs, job=owner, value=worth, use=takes, capacity=has)

    def __len__(self) -> int:
        return len(self.job)

    def only(self, kept: NDArray[np.bool_] | Ints) -> Options:
        """Return the same jobs and capacities with some of the options."""
        return Options(
            jobs=self.jobs, job=self.job[kept], value=self.value[kept], use=self.use[kept], capacity=self.capacity
        )

    def worthwhile(self) -> Ints:
        """Return the options that can be in a best answer and not in place of waiting: worth something, and fitting."""
        return np.flatnonzero((self.value > 0) & (self.use <= self.capacity).all(axis=1))

    def binding(self) -> list[int]:
        """Return the resources without those of which another is always the scarcer.

        If no option takes a larger part of what there is of r than of what there is of s, then r holds wherever s does.
        """
        has = self.capacity.tolist()
        largest = int(self.use.max(initial=0)) * max(has, default=0)
        part: Any = self.use.T if largest < INFINITY else self.use.T.astype(object)  # int64 cannot hold every product
        kept = list(range(len(has)))
        for r in reversed(range(len(has))):
            # One option tells most resources apart: that which takes most of r.
            takes = self.use[self.use[:, r].argmax()].tolist() if len(self) else [0] * len(has)
            others = [s for s in kept if s != r and has[s] > 0 and takes[r] * has[s] <= takes[s] * has[r]]
            if any((part[r] * has[s] <= part[s] * has[r]).all() for s in others):
                kept.remove(r)
        return kept

    def under(self, resources: list[int]) -> Options:
        """Return the same options under some of the capacities."""
        use, capacity = self.use[:, resources], self.capacity[resources]
        return Options(jobs=self.jobs, job=self.job, value=self.value, use=use, capacity=capacity)

    def worth(self, choice: Ints) -> int:
        """Return what a choice (an option per job, -1: the job waits) is worth, exactly."""
        return sum(self.value[choice[choice >= 0]].tolist())

    def taken(self, choice: Ints) -> list[int]:
        """Return what a choice takes of each resource, exactly."""
        return [sum(column) for column in self.use[choice[choice >= 0]].T.tolist()]

    def fits(self, choice: Ints) -> bool:
        """Return whether a choice gives every job an option of its own or none, within the capacities."""
        chosen = np.flatnonzero(choice >= 0)
        own = bool(np.array_equal(self.job[choice[chosen]], chosen)) and len(choice) == self.jobs
        return own and all(taken <= has for taken, has in zip(self.taken(choice), self.capacity.tolist(), strict=True))


def _whole(field: str, values: ArrayLike, dimensions: int) -> Ints:
    array: Any = np.asarray(values)
    if array.ndim != dimensions:
        raise InputError(field, f"an array of shape {array.shape}", f"an array of {dimensions} dimensions")
    if array.size and array.dtype.kind not in "iu":
        raise InputError(field, f"values of type {array.dtype}", "whole numbers (int64)")
    if array.size and (int(array.max()) >= INFINITY or int(array.min()) <= -INFINITY):
        raise InputError(field, f"numbers from {array.min()} to {array.max()}", "whole numbers below 2**62 in size")
    whole: Ints = array.astype(np.int64)
    return whole
