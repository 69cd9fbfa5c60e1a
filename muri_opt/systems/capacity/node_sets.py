"""Where gangs may start: sets of nodes of which a gang must be inside one, and on how many nodes it may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.eligibility import Eligibility, gpu_type_codes, is_lost
from muri_opt.rounds.field_groups import PLACES, SHAPES, STATES
from muri_opt.rounds.levels import unit_codes
from muri_opt.rounds.memoise import recalled
from muri_opt.rounds.shape import NodeRange
from muri_opt.rounds.unlike import unlike_runs
from muri_opt.systems.capacity.type_quotas import QUOTA_BY_TYPE

ASKED: Final = PLACES | SHAPES | STATES
"""Fields that say where a gang may be; in a round that uses none of them it may be anywhere."""
_BESIDE_NODES: Final = SHAPES | (STATES - {"node.state"}) | {"job.within"}
"""Fields that ask for more than certain nodes."""
_ANY_NUMBER: Final = NodeRange()


@dataclass(frozen=True, kw_only=True, eq=False)
class Demand:
    """What gangs of one kind ask of nodes: all GPUs on nodes of one of the ``sets``, which have none in common.

    Equal sets of several kinds are one array. On each set the gang is on at least ``least`` and at most ``most`` nodes,
    and has equally many GPUs on each if ``even``. A gang without sets cannot start. What runs may go on where it is,
    whatever is asked of a start. ``near`` are parts of the sets of which it prefers to be inside one.
    """

    sets: tuple[Ints, ...]
    least: int
    most: int | None
    even: bool
    near: tuple[Ints, ...] = ()

    @property
    def shaped(self) -> bool:
        """Whether it matters on how many nodes a gang is."""
        return self.even or self.least > 1 or self.most is not None

    @property
    def simple(self) -> bool:
        """Whether all that is asked are certain nodes."""
        return len(self.sets) == 1 and not self.shaped

    @cached_property
    def nearby(self) -> Demand | None:
        """The same inside the parts where a gang prefers to be; ``None`` where it prefers none."""
        return replace(self, sets=self.near, near=()) if self.near else None

    @cached_property
    def table(self) -> Ints:
        """The nodes of each set in a row, with -1 behind those of a smaller set."""
        found = np.full((len(self.sets), max(map(len, self.sets), default=0)), -1, dtype=np.int64)
        for row, nodes in zip(found, self.sets, strict=True):
            row[: len(nodes)] = nodes
        return found


@dataclass(frozen=True, kw_only=True, eq=False)
class NodeSets:
    """The demand of each job: job j is of kind ``kind[j]``, which may start on node s if ``inside[kind[j], s]``.

    ``places`` has all that jobs can tell nodes by, in columns. ``wishes`` has the jobs that prefer to be inside one
    unit of a level, with the unit of each node, -1 for none. ``levels`` has the level inside one unit of which those of
    each kind have to be, if any.
    """

    kind: Ints
    demands: tuple[Demand, ...]
    inside: NDArray[np.bool_]
    places: Ints
    wishes: Mapping[int, Ints]
    levels: tuple[str | None, ...]

    @cached_property
    def look(self) -> Ints:
        """A number for each node: nodes of the same are alike to all jobs."""
        _, look = np.unique(self.places, axis=0, return_inverse=True)
        return look.reshape(-1)

    def of(self, job: int) -> Demand:
        """Return what a job asks."""
        return self.demands[int(self.kind[job])]

    def is_inside(self, job: int, share: Ints) -> bool:
        """Return whether GPUs per node are inside one unit of the level that a job prefers."""
        units = self.wishes[job][share > 0]
        return len(units) > 0 and bool(units[0] >= 0 and (units == units[0]).all())

    def may_start(self) -> NDArray[np.bool_]:
        """Return ``[j, s]``: whether job j may start on node s."""
        return self.inside[self.kind]

    def are_spread(self) -> NDArray[np.bool_]:
        """Return which jobs may not be on one node, or ask for equal parts."""
        return np.array([demand.least > 1 or demand.even for demand in self.demands], dtype=np.bool_)[self.kind]


def node_sets(round_: Round) -> NodeSets | None:
    """Return where the jobs of a round may start; ``None`` where all may start anywhere."""
    used = round_.used_fields
    return None if ASKED.isdisjoint(used) and QUOTA_BY_TYPE not in used else _node_sets(round_)


@recalled
def _node_sets(round_: Round) -> NodeSets:
    eligible, types = Eligibility.of(round_), gpu_type_codes(round_.cluster)
    levels = {job.within.level for job in round_.jobs if job.within is not None}
    units = {level: unit_codes(round_.cluster, level) for level in sorted(levels)}
    down = [node.state == "down" for node in round_.cluster.nodes]
    few = np.array([types, np.array(down, dtype=np.int64), *units.values()])
    places = np.concatenate([few, eligible.rows.astype(np.int64)]).T
    asked = _asked(round_)
    known: dict[tuple[int, _Asked], int] = {}
    if asked is None:
        known, kind = {(at, _Asked()): at for at in range(len(eligible.rows))}, eligible.kind
    else:
        pairs = zip(eligible.kind.tolist(), asked, strict=True)
        kind = np.array([known.setdefault(pair, len(known)) for pair in pairs], dtype=np.int64)
    may = eligible.rows[[row for row, _ in known]]
    may[[not one.starts for _, one in known]] = False
    inside = np.zeros(may.shape, dtype=np.int64)
    for row, (_, one) in zip(inside, known, strict=True):
        if one.level is not None:
            row[:] = units[one.level]
    prefers = np.array([one.prefers for _, one in known], dtype=np.bool_)
    same = dict[bytes, Ints]()
    sets = _apart(may, types, np.where(prefers[:, None], 0, inside), same)
    wished = may & (inside >= 0) & prefers[:, None]
    near = _apart(wished, types, inside, same) if prefers.any() else [() for _ in known]
    demands = [
        Demand(sets=own, least=one.nodes.least, most=one.nodes.most, even=one.even, near=some)
        for (_, one), own, some in zip(known, sets, near, strict=True)
    ]
    wishes = {at: units[one.level] for at, one in enumerate(asked or ()) if one.prefers and one.level is not None}
    inside_of = tuple([None if one.prefers else one.level for _, one in known])
    return NodeSets(kind=kind, demands=tuple(demands), inside=may, places=places, wishes=wishes, levels=inside_of)


class _Asked(NamedTuple):
    """What a job asks beside certain nodes; whether it may start, and whether it only prefers to be inside a level."""

    starts: bool = True
    level: str | None = None
    nodes: NodeRange = NodeRange()
    even: bool = False
    prefers: bool = False


def _asked(round_: Round) -> Sequence[_Asked] | None:
    """Return what each job asks beside certain nodes; ``None`` where no job asks for more, as in most rounds."""
    if _BESIDE_NODES.isdisjoint(round_.used_fields):
        return None
    return [
        _Asked(
            starts=not waits and not (job.stays_put and not is_lost(round_, position)),
            level=None if job.within is None else job.within.level,
            nodes=job.nodes or _ANY_NUMBER,
            even=job.even,
            prefers=job.within is not None and not job.within.required,
        )
        for position, (job, waits) in enumerate(zip(round_.jobs, round_.waits_by_order.tolist(), strict=True))
    ]


def _apart(may: NDArray[np.bool_], types: Ints, units: Ints, same: dict[bytes, Ints]) -> list[tuple[Ints, ...]]:
    """Return for each row the nodes of each GPU type and unit on which a job may start, in the order of first nodes.

    ``may[k, s]`` says whether those of row k may start on node s, which is in the unit ``units[k, s]``. Equal sets are
    one array, that which is the ``same``.

    >>> may, types, units = np.ones((1, 4), dtype=np.bool_), np.array([1, 0, 1, 0]), np.zeros((1, 4), dtype=int)
    >>> [some.tolist() for some in _apart(may, types, units, {})[0]]
    [[0, 2], [1, 3]]
    """
    row, node = may.nonzero()
    code = (row * (int(types.max(initial=0)) + 1) + types[node]) * (int(units.max(initial=0)) + 2) + units[row, node]
    if (np.diff(code) < 0).any():
        line = np.argsort(code, kind="stable")
        row, node, code = row[line], node[line], code[line]
    starts = np.flatnonzero(np.diff(code, prepend=-2))
    in_turn = np.lexsort((node[starts], row[starts]))
    starts, ends = starts[in_turn], np.append(starts[1:], len(node))[in_turn]
    first, alike = unlike_runs(node, starts, ends)
    sets = []
    for start, end in zip(starts[first].tolist(), ends[first].tolist(), strict=True):
        nodes = node[start:end]
        sets.append(same.setdefault(nodes.tobytes(), nodes))
    each = [sets[at] for at in alike.tolist()]
    last = np.cumsum(np.bincount(row[starts], minlength=len(may))).tolist()
    return [tuple(each[start:end]) for start, end in pairwise([0, *last])]
