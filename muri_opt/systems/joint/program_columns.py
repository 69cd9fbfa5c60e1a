"""The columns of the exact program: every group with every number of GPUs that its jobs can have, staying or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from muri_opt.errors import RefusalError
from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.memoise import last_recalled
from muri_opt.rounds.sharing_now import Held, homes_now
from muri_opt.systems.joint.group_value import group_value
from muri_opt.systems.joint.job_model import Models, models_of
from muri_opt.systems.joint.places import held_on
from muri_opt.systems.joint.rules import JointRules
from muri_opt.systems.joint.worth import Worth, worth_of

MOST_COLUMNS = 200_000
Key = tuple[tuple[int, ...], int, int]
"""Members in ascending order, GPUs, and the number of the seat, -1 for anywhere."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JointColumns:
    """Columns by their keys, with their values; ``entries`` are (column, member) of all memberships.

    ``seats`` are the places where a group may stay, as GPUs per node.
    """

    keys: tuple[Key, ...]
    value: Ints
    entries: tuple[Ints, Ints]
    gpus: Ints
    seats: tuple[Held, ...]
    models: Models
    worth: Worth

    @classmethod
    def of(cls, round_: Round, rules: JointRules) -> JointColumns:
        """Return the columns of a round; too many are refused. The last ones asked for are kept."""
        return _columns(round_, rules)

    def held_on(self, round_: Round, seat: int) -> Ints:
        """Return GPUs per node of a seat."""
        return held_on(round_, self.seats[seat])


@last_recalled
def _columns(round_: Round, rules: JointRules) -> JointColumns:
    models = models_of(round_, rules)
    worth = worth_of(round_, models, rules)
    seats: dict[Held, int] = {}
    keys, values = list[Key](), list[int]()
    for group in _groups(round_, models, rules):
        for size, stay, value in _ways(round_, models, worth, rules, group):
            keys.append((group, size, -1 if stay is None else seats.setdefault(stay, len(seats))))
            values.append(value)
        if len(keys) > MOST_COLUMNS:
            found = f"more than {MOST_COLUMNS:,} groups with their GPUs"
            raise RefusalError("joint", found, "fewer jobs, group=2 or shares=powers, or the heuristic")
    return JointColumns(
        keys=tuple(keys),
        value=np.array(values, dtype=np.int64),
        entries=(
            np.array([at for at, (group, _, _) in enumerate(keys) for _ in group], dtype=np.int64),
            np.array([member for group, _, _ in keys for member in group], dtype=np.int64),
        ),
        gpus=np.array([size for _, size, _ in keys], dtype=np.int64),
        seats=tuple(seats),
        models=models,
        worth=worth,
    )


def _groups(round_: Round, models: Models, rules: JointRules) -> Iterator[tuple[int, ...]]:
    """Yield every group that may share."""
    sharers = np.flatnonzero(models.shares[models.kind]).tolist()
    most = rules.most_jobs(len(round_.resources))
    elastic = models.period[models.kind[sharers]] > 0
    each = int(elastic.all(axis=0).sum()) if len(sharers) else 0  # counts that all of them can have
    if sum(comb(len(sharers), size) for size in range(2, most + 1)) * max(1, each) > MOST_COLUMNS:
        found = f"groups of {len(sharers)} jobs"
        raise RefusalError("joint", found, f"at most {MOST_COLUMNS:,}; fewer jobs, group=2, or the heuristic")
    yield from ((job,) for job in range(len(models)))
    for size in range(2, most + 1):
        yield from combinations(sharers, size)


def _ways(
    round_: Round, models: Models, worth: Worth, rules: JointRules, group: tuple[int, ...]
) -> Iterator[tuple[int, Held | None, int]]:
    """Yield the sizes of a group, each anywhere, and where the group goes on as it is; with the value."""
    kinds = models.kind[list(group)]
    able = np.flatnonzero((models.period[kinds] > 0).all(axis=0))
    now = homes_now(round_)
    home = None if now.of[group[0]] < 0 else now.homes[now.of[group[0]]]
    goes_on = home is not None and now.goes_on(group, dict(home.held))
    for size in able.tolist():
        yield size, None, group_value(models, worth, rules, group, size, goes_on=False)
        if home is not None and goes_on and sum(gpus for _, gpus in home.held) == size:
            yield size, home.held, group_value(models, worth, rules, group, size, goes_on=True)
