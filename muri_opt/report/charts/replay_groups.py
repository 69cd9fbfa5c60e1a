"""Replays that belong beside each other: of the same jobs on the same cluster with the same seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from muri_opt.errors import InputError
from muri_opt.replay.metrics.comparison import ComparisonRow, compared
from muri_opt.replay.outcome import Outcome
from muri_opt.report.format import printable


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Group:
    """Replays to compare, what each is called, and their figures; the first is what the others are compared with."""

    outcomes: tuple[Outcome, ...]
    names: tuple[str, ...]
    rows: tuple[ComparisonRow, ...]

    @property
    def span(self) -> tuple[float, float]:
        """The first and the last moment of all replays; twice 0 where nothing happened."""
        moments = [outcome.timeline.seconds for outcome in self.outcomes if len(outcome.timeline.seconds)]
        if not moments:
            return 0.0, 0.0
        return float(min(found[0] for found in moments)), float(max(found[-1] for found in moments))

    @property
    def most_gpus_of_a_node(self) -> float:
        """The most GPUs in use on one node, or those of an average node if these are more; 0 without nodes."""
        found = [0.0]
        for outcome in self.outcomes:
            nodes = outcome.timeline.nodes
            if nodes.shape[1]:
                found += [float(nodes.max(initial=0)), outcome.total_gpus / nodes.shape[1]]
        return max(found)


def groups_of(outcomes: Sequence[Outcome]) -> tuple[Group, ...]:
    """Return the replays in groups, both in the order in which they are given."""
    if not outcomes:
        raise InputError("outcomes", "none", "at least one replay")
    found: dict[tuple[object, ...], list[Outcome]] = {}
    for outcome in outcomes:
        key = (outcome.workload, outcome.cluster, outcome.total_gpus, outcome.seed, outcome.jobs.ids)
        found.setdefault(key, []).append(outcome)
    return tuple(
        Group(outcomes=tuple(members), names=tuple(_names(members)), rows=compared(members))
        for members in found.values()
    )


def _names(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield a name of its own for each replay: the policy, the clock where these differ, a number where that is all."""
    clocks = len({outcome.clock for outcome in outcomes}) > 1
    given: set[str] = set()
    for outcome in outcomes:
        plain = printable(f"{outcome.policy}, clock {outcome.clock}" if clocks else outcome.policy)
        name, turn = plain, 1
        while name in given:
            turn += 1
            name = f"{plain} ({turn})"
        given.add(name)
        yield name
