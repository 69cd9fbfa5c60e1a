"""Rounds that say what format 1 cannot: types, shapes, labels, levels, order, time, tenants.

As a strategy of Hypothesis on top of another one, or as a seeded sequence in which each round has a theme: fields that
belong together, so that somebody can still start.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from hypothesis import strategies as st
from msgspec.structs import replace

from muri_opt.rounds import INFORMATION, Job, Round, Within
from muri_opt.rounds.generate.demands import with_demands
from muri_opt.rounds.used_fields import FIELDS
from muri_opt.testing.gang_building import RUNS, WIDE, gang_round
from muri_opt.testing.running_quotas import within_quotas
from muri_opt.testing.strategies_gangs import MOST_JOBS, TURNS, seeded_picks

_TYPES: Final = frozenset({"node.gpu_type", "job.gpu_types"})
_SHAPE: Final = frozenset({"job.nodes", "job.even"})
_LABELS: Final = frozenset({"node.labels", "job.requires", "job.excludes"})
_LEVELS: Final = frozenset({"cluster.levels", "job.within"})
_STOPS: Final = frozenset({"job.preemptible", "job.priority"})
_MOVES: Final = frozenset({"job.movable"})
_ORDERS: Final = frozenset({"job.held", "job.not_before"})
_STATES: Final = frozenset({"node.state"})
_TIMES: Final = frozenset({"node.available_until", "job.time_limit_seconds"})
_TENANTS: Final = frozenset(field for field in FIELDS if field.startswith("tenant."))
_OTHER: Final = frozenset({"job.deadline", "job.model", "round.together"})
_THEMES: Final = (
    *(_TENANTS, _TYPES, _SHAPE, _LEVELS, _STATES),
    *(_STOPS, _SHAPE, _MOVES, _LABELS, _TIMES),
    *(_TENANTS, _TYPES, _SHAPE, _LEVELS, _STATES),
    *(_STOPS, _TENANTS, _MOVES, _ORDERS, _OTHER),
)
"""Fields that are drawn together, in turn; those that seldom bind more often."""
_ON_NODES: Final = _TYPES | _SHAPE | _LEVELS | _MOVES | _STATES
"""Fields that say nothing where there is but one node."""
_RUNNING: Final = _STOPS | _MOVES | _STATES
"""Fields that say most of jobs that run."""
_MANY_RUN: Final = (0, 1, 2, 1)
_SEVERAL_NODES: Final = (2, 3, 2, 4)
_OF_SEVERAL_RACKS: Final = (3, 4, 3, 5)
_MOSTLY: Final = (False, True, True)
_OTHERS: Final = (*[False] * 9, True)


@st.composite
def demanding_rounds(draw: st.DrawFn, rounds: st.SearchStrategy[Round], *, fields: Collection[str] = FIELDS) -> Round:
    """Draw a round of another strategy with some of the ``fields`` of format 2: for a policy, those that it honours.

    >>> from hypothesis import find
    >>> find(demanding_rounds(rounds(), fields={"job.priority"}), lambda round_: round_.used_fields).used_fields
    {'job.priority': "jobs[0] ('job-0')"}
    """
    return with_demands(draw(rounds), lambda options: draw(st.sampled_from(options)), fields)


def seeded_demanding_rounds(
    examples: int, seed: int, fields: frozenset[str], plain: Sequence[Round] | None = None, *, lent: bool = False
) -> tuple[Round, ...]:
    """Return the ``plain`` rounds, or rounds of gangs, with some of the fields; most of all those of one theme.

    Unless GPUs are ``lent``, running jobs fit the quotas of all tenants that they are part of; one that does not waits.
    No level is preferred, as that costs value and is no rule. The first round of gangs has no jobs.
    """
    pick = seeded_picks(seed)
    themes = [fields & theme for theme in _THEMES if fields & theme - INFORMATION] or [fields]
    rounds = []
    for place in range(examples if plain is None else len(plain)):
        turn, at = divmod(place, len(themes))
        theme = themes[(at + turn) % len(themes)]
        if plain is None:
            round_ = gang_round(
                pick,
                max_jobs=MOST_JOBS[turn % len(MOST_JOBS)] if place else 0,
                theme=_short(theme, place),
                node_counts=_node_counts(theme, place),
                runs=_MANY_RUN if theme & _RUNNING else RUNS,
            )
            round_ = _without_racks(round_) if theme & _LEVELS and pick(_MOSTLY) else round_
        else:
            round_ = plain[place]
        drawn = theme.union(*(other for other in themes if pick(_OTHERS)))
        asked = _nothing_preferred(with_demands(round_, pick, drawn))
        if "tenant.parent" in theme and pick(_MOSTLY):
            asked = _below_the_first(asked)
        rounds.append(asked if lent else _within_quotas(asked))
    return tuple(rounds)


def _short(theme: frozenset[str], place: int) -> str:
    """Return what else is short in a round of gangs: quotas or nodes where they are what it is about."""
    if theme & _TENANTS:
        return "quotas"
    return WIDE if theme & _ON_NODES and place % 4 else TURNS[place // 4 % len(TURNS)]


def _node_counts(theme: frozenset[str], place: int) -> Sequence[int] | None:
    """Return numbers of nodes that let the theme bind; every fourth time those of any round."""
    if not theme & _ON_NODES or place % 4 == 0:
        return None
    return _OF_SEVERAL_RACKS if theme & _LEVELS else _SEVERAL_NODES


def _without_racks(round_: Round) -> Round:
    """Return the round without racks: those that are drawn with levels have two nodes each."""
    nodes = tuple(replace(node, rack=None) for node in round_.cluster.nodes)
    return replace(round_, cluster=replace(round_.cluster, nodes=nodes))


def _below_the_first(round_: Round) -> Round:
    """Return the round in which all tenants are part of the first one, whose quota alone is theirs, too."""
    below = {"quota_gpus": None, "quota_by_type": None, "borrow_gpus": None, "lend_gpus": None}
    tenants = round_.cluster.tenants
    others = (replace(tenant, parent=tenants[0].id, **below) for tenant in tenants[1:])
    return replace(round_, cluster=replace(round_.cluster, tenants=(*tenants[:1], *others)))


def _nothing_preferred(round_: Round) -> Round:
    """Return the round in which a job that waits requires the level it prefers, and one that runs asks for none."""
    jobs = []
    for job in round_.jobs:
        if job.within is not None and not job.within.required:
            required = Within(level=job.within.level) if job.state == "waiting" else None
            jobs.append(replace(job, within=required))
        else:
            jobs.append(job)
    return replace(round_, jobs=tuple(jobs))


def _within_quotas(round_: Round) -> Round:
    """Return the round in which running jobs wait that a tenant, or one above it, has no quota for."""
    jobs: list[Job] = []
    for job in round_.jobs:
        fits = not job.placement or within_quotas(round_, [*jobs, job])
        jobs.append(job if fits else replace(job, state="waiting", placement=None))
    return replace(round_, jobs=tuple(jobs))
