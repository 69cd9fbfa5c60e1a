"""How long the steps of a search took in this process, to tell before a step whether it can end in time.

Nothing in the calling process can be interrupted, so a step that cannot end in time must not begin. What is remembered
are the seconds of the processor that a step took, by policy and by the size of the round: other programs on the machine
make no step look longer than it is. It is asked only where a limit in seconds is to be kept; under a limit of work
nothing depends on it.
"""

from __future__ import annotations

from typing import Final

FADING: Final = 0.8
"""What is left of an expectation each time that a step is left out by it: one slow round must not bar it for ever."""

_Key = tuple[str, str, int]
"""Step, policy, and the size of rounds in powers of two: between those, time goes with the number of jobs."""


class Pace:
    """The seconds for each job that steps took, as means in which the last time counts half."""

    def __init__(self) -> None:
        self._each: dict[_Key, float] = {}

    def expected(self, step: str, policy: str, jobs: int, *, usual: float = 0.0) -> float:
        """Return the seconds that a step is expected to take; ``usual`` are those for each job of one never taken."""
        return self._each.get((step, policy, jobs.bit_length()), usual) * jobs

    def took(self, step: str, policy: str, jobs: int, seconds: float) -> None:
        """Remember how long a step took."""
        key, each = (step, policy, jobs.bit_length()), seconds / max(1, jobs)
        self._each[key] = (each + self._each.get(key, each)) / 2

    def left_out(self, step: str, policy: str, jobs: int) -> None:
        """Expect less of a step the next time, as it was left out."""
        key = step, policy, jobs.bit_length()
        self._each[key] = FADING * self._each.get(key, 0.0)


PACE: Final = Pace()
"""That of this process."""
