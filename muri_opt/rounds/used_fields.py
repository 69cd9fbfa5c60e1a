"""Which fields of format 2 a round uses: those that a policy, and the rules it is checked by, must know of."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter, mod
from typing import TYPE_CHECKING, Any, Final

from muri_opt.errors import RefusalError
from muri_opt.rounds.error_text import shown
from muri_opt.rounds.job_demands import DEMANDS, demanding
from muri_opt.rounds.kept_by_object import KeptByObject

if TYPE_CHECKING:
    from muri_opt.rounds.cluster import Cluster
    from muri_opt.rounds.job import Job, Plan
    from muri_opt.rounds.round import Round

FORMAT_2: Final = "muri-opt/round/2"
ABSENT: Final[Mapping[str, Mapping[str, object]]] = {
    "node": {"labels": (), "state": "up", "available_until": None},
    "tenant": {
        "parent": None,
        "weight": 1.0,
        "quota_by_type": None,
        "borrow_gpus": None,
        "lend_gpus": None,
        "used_gpu_seconds": None,
    },
    "job": DEMANDS,
}
"""What stands in each field where it is not said."""
_types_of_plan, _gpus_of_plan, _nodes_of_plan = attrgetter("gpu_types"), attrgetter("gpus"), attrgetter("nodes")
LEVELS, GPU_TYPES, TOGETHER = "cluster.levels", "node.gpu_type", "round.together"
PLAN_TYPES, PLAN_NODES = "plan.gpu_types", "plan.nodes"
FIELDS: Final = (
    LEVELS,
    GPU_TYPES,
    *(f"{kind}.{field}" for kind, fields in ABSENT.items() for field in fields),
    PLAN_TYPES,
    PLAN_NODES,
    TOGETHER,
)
"""All fields that say more than format 1 can. ``node.gpu_type`` stands for what format 2 makes of it: no gang mixes.

``plan.nodes`` is used where the GPUs of a plan do not divide by it: its parts are then not equal.
"""
_PLANS_SAY: Final = KeptByObject[tuple[str, ...]]()
INFORMATION: Final = frozenset({LEVELS, "node.labels", "job.model", "job.time_limit_seconds", PLAN_TYPES, PLAN_NODES})
"""Fields that ask for nothing by themselves: another field has to refer to them, or a policy has to read plans."""


def used_fields(round_: Round) -> dict[str, str]:
    """Return the fields of format 2 that a round uses, each with the first place where it is."""
    return fields_in(round_.cluster, round_.jobs, together=bool(round_.together), two=round_.format == FORMAT_2)


def fields_in(cluster: Cluster, jobs: Sequence[Job], *, together: bool = False, two: bool = False) -> dict[str, str]:
    """Return the fields of format 2 that a cluster and jobs use, each with the first place where it is.

    Where any is used, or format 2 is said (``two``), nodes of several GPU types count as a field.
    """
    found = cluster.used_fields | _uses("job", "jobs", jobs, demanding(jobs))
    for at, fields in enumerate(_plans_say([job.plans or () for job in jobs])):
        for field in fields:
            found.setdefault(field, _place("jobs", jobs, at))
    if together:
        found[TOGETHER] = "round"
    if (found or two) and cluster.another_type is not None:
        found[GPU_TYPES] = cluster.another_type
    return {field: found[field] for field in FIELDS if field in found}


def cluster_fields(cluster: Cluster) -> dict[str, str]:
    """Return the fields of format 2 that a cluster alone uses, each with the first place where it is."""
    found = {LEVELS: "cluster"} if cluster.levels else {}
    found |= _uses("node", "cluster.nodes", cluster.nodes, range(len(cluster.nodes)))
    return found | _uses("tenant", "cluster.tenants", cluster.tenants, range(len(cluster.tenants)))


def another_type(cluster: Cluster) -> str | None:
    """Return the place of the first node whose GPUs are of another type than those of the first, if there is one."""
    nodes = cluster.nodes
    other = next((at for at, node in enumerate(nodes) if node.gpu_type != nodes[0].gpu_type), None)
    return None if other is None else _place("cluster.nodes", nodes, other)


def _plans_say(every: Sequence[Sequence[Plan]]) -> Iterator[tuple[str, ...]]:
    """Yield the fields that plans of each job use: they list GPU types, or have parts of two sizes.

    Every round that is made asks for it, and jobs of a session keep their plans.
    """
    _PLANS_SAY.expect(len(every))
    for plans, known in zip(every, _PLANS_SAY.get_all(every), strict=True):
        if known is not None or not plans:
            yield known or ()
            continue
        uneven = any(map(mod, map(_gpus_of_plan, plans), map(_nodes_of_plan, plans)))
        said = (PLAN_TYPES,) * any(map(_types_of_plan, plans)) + (PLAN_NODES,) * uneven
        _PLANS_SAY.put(plans, None, said)
        yield said


def unhonoured(used: Iterable[str], honours: Container[str]) -> str | None:
    """Return the first field that is used and not honoured, or ``None``."""
    return next((field for field in used if field not in honours), None)


def refusal(used: Mapping[str, str], field: str, who: str, others: Iterable[str]) -> RefusalError:
    """Return the refusal of what uses a field that ``who`` would ignore; ``others`` would not."""
    able = ", ".join(others)
    remedy = f"a round without the field (muri-opt convert --without {field})" + f"; or what honours it: {able}" * bool(
        able
    )
    return RefusalError(field, f"it in {used[field]}; {who} does not honour it", remedy)


def _uses(kind: str, path: str, items: Sequence[Any], places: Iterable[int]) -> dict[str, str]:
    """Return the fields that some of the items at these places say, with the first that does."""
    absent = ABSENT[kind]
    open_, found = [*absent], dict[str, str]()
    values, nothing = _asked(open_), tuple(absent.values())
    for position in places:
        said = values(items[position])
        if said == nothing:
            continue
        new = {field for field, one, none in zip(open_, said, nothing, strict=True) if one != none}
        found |= {f"{kind}.{field}": _place(path, items, position) for field in open_ if field in new}
        open_ = [field for field in open_ if field not in new]
        if not open_:
            break
        values, nothing = _asked(open_), tuple(absent[field] for field in open_)
    return found


def _asked(fields: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return what gives the values of some fields of an item."""
    if len(fields) == 1:
        only = attrgetter(fields[0])
        return lambda item: (only(item),)
    return attrgetter(*fields)


def _place(path: str, items: Sequence[Any], position: int) -> str:
    return f"{path}[{position}] ({shown(items[position].id)})"
