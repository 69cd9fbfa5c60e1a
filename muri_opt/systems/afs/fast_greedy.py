"""The greedy of AFS without a whole scan for every GPU: each scan goes on where the last one's winner changed.

:mod:`~muri_opt.systems.afs.plain_greedy` is the algorithm; this module finds the same shares, comparison by comparison.

**Scans are resumed.** A scan keeps a candidate and lets every job it meets replace it. When its winner has got a GPU,
nothing before the winner's place has changed, so the next scan makes the same candidates up to there. They are kept on
a stack: the next scan goes on at the winner's place with the candidate that the winner had replaced. Each winner takes
one candidate off the stack, so all scans together put no more on it than there are jobs and GPUs.

**Jobs that cannot replace a candidate are not visited.** Most scans go on near their end. For the jobs of this tail
:class:`RivalSets` returns a set that holds all that replace a candidate; from its first job on they are asked, at first
in floating point, and by the rule in whole numbers where that is equal. A scan that goes on before the tail walks
through the jobs up to it one by one.

**The sets are built anew now and then**, so that levels and tail follow the jobs that are asked about; both decide
about speed only. The closed forms of :mod:`~muri_opt.systems.afs.greedy` come before all of this.
"""

from __future__ import annotations

from collections import deque
from typing import Final

import numpy as np

from muri_opt.rounds.stopping import look_at_clock
from muri_opt.systems.afs.bitset_candidates import RivalSets
from muri_opt.systems.afs.greedy_state import GreedyState

_FIRST_LEVELS: Final = 48
_FIRST_STRETCH: Final = 128
"""Winners after which the sets are first built anew; later stretches are longer."""
_LONG_STRETCH: Final = 4096
_LEAST_TAIL: Final = 512
"""A shorter tail would hardly be faster: most of what an operation on so few bits takes is its call."""
_MOST_WALKED: Final = 2
"""How often as many jobs as there are may be walked past before the tail is made longer."""
_MOST_TURNED_AWAY: Final = 10_000
"""Jobs found in vain after which levels are chosen anew at once."""
_RECENT: Final = 256
"""How many of the last candidates count when levels and tail are chosen; every fourth is noted."""


class FastGreedy:
    """One run of the greedy from a state on; ``one_order`` is whether strength rises with growth, as for phi = 1."""

    __slots__ = (
        "_asked",
        "_levels",
        "_masks",
        "_one_order",
        "_resumed",
        "_sets",
        "_stack",
        "_state",
        "_tail",
        "_turned_away",
        "_walked",
    )

    def __init__(self, state: GreedyState, *, one_order: bool) -> None:
        self._state = state
        self._one_order = one_order
        self._stack: list[int] = []
        self._masks = [0]  # masks[i]: the i jobs scanned last
        self._tail = min(len(state.row), _LEAST_TAIL)
        self._asked: deque[tuple[float, float, int]] = deque(maxlen=_RECENT)
        self._resumed: deque[int] = deque(maxlen=_RECENT)
        self._levels = _FIRST_LEVELS
        self._build()

    def run(self) -> None:
        """Hand out GPUs until no job can use one, or fewer are left than the largest step takes."""
        state, stack, numbers = self._state, self._stack, self._state.numbers
        enough, most_walked = int(state.steps.gpus.max(initial=1)), _MOST_WALKED * len(state.row)
        stretch, wins = _FIRST_STRETCH, 0
        candidate = ahead = state.first()
        while candidate >= 0 and state.left >= enough:
            if wins == stretch or self._walked > most_walked or self._turned_away > _MOST_TURNED_AWAY:
                self._levels = self._sets.better_count(self._levels, self._turned_away)
                self._tail = self._better_tail(ahead)
                self._build()
                stretch, wins = max(min(2 * stretch, _LONG_STRETCH), self._tail), 0
            if ahead > self._tail:
                candidate, ahead = self._walk(candidate, ahead), self._tail
            wins += 1
            if wins % 4 == 0:
                look_at_clock()
                self._asked.append((numbers.growth[candidate], numbers.strength[candidate], numbers.brevity[candidate]))
                self._resumed.append(ahead)
            winner = self._winner(candidate, ahead)
            if state.advance(winner):
                self._sets.move(winner)
            else:
                self._sets.remove(winner)
            if stack:
                candidate, ahead = stack.pop(), winner + 1
            else:
                candidate = ahead = state.first()

    def _winner(self, candidate: int, ahead: int) -> int:
        """Return the winner of a scan with the last ``ahead`` jobs before it; stack the candidates it replaces.

        Each turn finds the first of these jobs that replaces the candidate. ``lead`` is what the pair rule compares, in
        floating point; where it is 0, or not a number, whole numbers decide.
        """
        state, sets, masks = self._state, self._sets, self._masks
        growth, strength, brevity = state.numbers.growth, state.numbers.strength, state.numbers.brevity
        by_growth, by_brevity, by_strength = sets.by_growth.sets, sets.by_brevity.sets, sets.by_strength.sets
        turned_away = 0
        while True:
            gain, force, brief = growth[candidate], strength[candidate], brevity[candidate]
            if gain == gain:  # a number, so the candidate has a GPU
                grown, briefer, strong = sets.asks[candidate] or sets.ask(candidate)
                found = (by_growth[grown] & by_brevity[briefer] | by_strength[strong]) & masks[ahead]
            else:
                found = sets.rivals_of_idle(candidate) & masks[ahead]
            while found:
                place = found.bit_length() - 1
                lead = growth[place] - force if brevity[place] > brief else strength[place] - gain
                if lead > 0 or (not lead < 0 and state.replaces(place, candidate)):
                    break
                found &= masks[place]  # those scanned after it
                turned_away += 1
            else:
                self._turned_away += turned_away
                return candidate
            self._stack.append(candidate)
            candidate = ahead = place

    def _walk(self, candidate: int, ahead: int) -> int:
        """Scan on job by job, from the place below ``ahead`` to the tail; return the candidate there."""
        self._walked += ahead - self._tail
        state = self._state
        growth, strength, brevity = state.numbers.growth, state.numbers.strength, state.numbers.brevity
        gain, force, brief = growth[candidate], strength[candidate], brevity[candidate]
        for place in range(ahead - 1, self._tail - 1, -1):
            lead = growth[place] - force if brevity[place] > brief else strength[place] - gain
            if lead < 0 or state.stop[place] == state.last[place]:
                continue
            if lead > 0 or state.replaces(place, candidate):
                self._stack.append(candidate)
                candidate = place
                gain, force, brief = growth[candidate], strength[candidate], brevity[candidate]
        return candidate

    def _better_tail(self, ahead: int) -> int:
        """Return the length of a tail twice as long as what nine in ten scans had ahead, so that few have to walk."""
        jobs = len(self._state.row)
        resumed = sorted((ahead, *self._resumed))
        least = 2 * self._tail if self._walked > _MOST_WALKED * jobs else _LEAST_TAIL
        return min(jobs, max(least, 2 * resumed[len(resumed) * 9 // 10]))

    def _build(self) -> None:
        """Build the sets of the tail from the present state."""
        self._walked = self._turned_away = 0
        self._masks += [(1 << i) - 1 for i in range(len(self._masks), self._tail + 1)]
        stop, last = np.array(self._state.stop[: self._tail]), np.array(self._state.last[: self._tail])
        self._sets = RivalSets(
            self._state.numbers,
            idle=stop == 0,
            climbing=stop < last,
            asked=self._asked,
            levels=self._levels,
            one_order=self._one_order,
        )
