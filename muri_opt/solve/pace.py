"""How long the steps of a search took in this process, to tell before a step whether it can end in time.

Nothing in the calling process can be interrupted, so a step that cannot end in time must not begin. What is remembered
are the seconds of the processor that a step took, by policy and by the size of the round: other programs on the machine
make no step look longer than it is. It is asked only where a limit in seconds is to be kept; under a limit of work
nothing depends on it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

FADING: Final = 0.8
"""What is left of an expectation each time that a step is left out by it: one slow round must not bar it for ever."""
FIRST_FADES: Final = FADING**3
"""What is left at least of the only time that a step was taken: the first time in a process is often the slowest."""

MOST_KNOWN: Final = 4096
"""Steps of policies that are remembered; of more, those that were taken first are forgotten."""
_Key = tuple[str, str, int]
"""Step, policy, and the size of rounds in powers of two: between those, time goes with the number of jobs."""


class _Taken(NamedTuple):
    """Seconds for each job that a step is expected to take, the fewest that it took, and the least to fade to.

    ``stopped`` says whether it was stopped before its end the last time that it was begun.
    """

    each: float
    fastest: float
    least: float
    stopped: bool = False


class Pace:
    """The seconds for each job that steps took, as means in which the last time counts half.

    A step that is left out is expected to take less the next time, but hardly less than it ever took.
    """

    def __init__(self) -> None:
        self._taken: dict[_Key, _Taken] = {}

    def expected(self, step: str, policy: str, jobs: int, *, usual: float = 0.0) -> float:
        """Return the seconds that a step is expected to take; ``usual`` are those for each job of one never taken."""
        known = self._taken.get((step, policy, jobs.bit_length()))
        return (usual if known is None else known.each) * jobs

    def took(self, step: str, policy: str, jobs: int, seconds: float) -> None:
        """Remember how long a step took."""
        key, each = (step, policy, jobs.bit_length()), seconds / max(1, jobs)
        known = self._taken.get(key)
        if known is None:
            self._keep(key, _Taken(each, each, FIRST_FADES * each))
        else:
            fastest = min(each, known.fastest)
            self._keep(key, _Taken((each + known.each) / 2, fastest, FADING * fastest))

    def remember_stop(self, step: str, policy: str, jobs: int, limit: float) -> None:
        """Remember that a step did not end within a limit: each time in a row it is expected to take twice as long.

        So it is tried again after ever more rounds, and how long it takes at its fastest is as it was.
        """
        key, each = (step, policy, jobs.bit_length()), limit / max(1, jobs)
        known = self._taken.get(key, _Taken(each, each, 0.0))
        expected = 2 * (known.each if known.stopped else each)
        least = FADING * known.fastest
        self._keep(key, _Taken(max(expected, 2 * each), known.fastest, least, stopped=True))

    def _keep(self, key: _Key, taken: _Taken) -> None:
        if key not in self._taken and len(self._taken) >= MOST_KNOWN:
            del self._taken[next(iter(self._taken))]
        self._taken[key] = taken

    def was_stopped(self, step: str, policy: str, jobs: int) -> bool:
        """Return whether a step was stopped the last time that it was begun."""
        known = self._taken.get((step, policy, jobs.bit_length()))
        return known is not None and known.stopped

    def left_out(self, step: str, policy: str, jobs: int) -> None:
        """Expect less of a step the next time, as it was left out."""
        key = step, policy, jobs.bit_length()
        known = self._taken.get(key)
        if known is not None:
            self._taken[key] = known._replace(each=max(known.least, FADING * known.each))


PACE: Final = Pace()
"""That of this process."""
