"""The optimum of a small round by enumeration; here of gangs: every job left out, or on every set of nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from muri_opt.rounds import Job, Round
from muri_opt.verify.amounts import Need, Room, empty_rooms, need_of, smallest_node_count, times
from muri_opt.verify.demands import Asked, starts_of
from muri_opt.verify.gangs.rules import GangRules
from muri_opt.verify.gangs.staying import open_round
from muri_opt.verify.gangs.tenant_limits import TenantLimits
from muri_opt.verify.gangs.value import job_values, kept_jobs
from muri_opt.verify.gangs.wishes import wishes
from muri_opt.verify.option_search import Option, best_options


def enumerated_optimum(round_: Round, rules: GangRules, *, steps: int = 20_000) -> int | None:
    """Return the largest value of any feasible decision, or ``None`` if it takes more than ``steps`` steps."""
    values, left, asked = job_values(round_, rules), open_round(round_, rules), starts_of(round_)
    jobs = sorted(left.jobs, key=lambda job: -values[job.id])
    if asked is None:
        options, must = _anywhere(round_, rules, values, jobs), list[int]()
    else:
        rooms, wished = empty_rooms(round_), wishes(round_, rules)
        values = {job: value * (len(wished) + 1) for job, value in values.items()}
        options = [_asked(asked[job.id], need_of(job), values[job.id], rooms, rules) for job in jobs]
        for job, mine in zip(jobs, options, strict=True):
            if job.id in wished:
                mine[:] = [better for option in mine for better in _preferring(round_, wished[job.id], option)]
        must = [place for place, job in enumerate(jobs) if asked[job.id].must]
    limits = None
    if not {"tenant.borrow_gpus", "tenant.quota_by_type"}.isdisjoint(round_.used_fields):
        limits = TenantLimits(round_, left, jobs, kept_jobs(round_, rules))
    return best_options(left, jobs, options, [job.gpus for job in jobs], steps=steps, must=must, further=limits)


def _preferring(round_: Round, level: str, option: Option) -> list[Option]:
    """Return an option, and what it is inside each unit of a level, worth one more."""
    units: dict[str, set[int]] = {}
    for place, node in enumerate(round_.cluster.nodes):
        if level in node.units and option.may_use(place):
            units.setdefault(node.units[level], set()).add(place)
    if option.home:
        inside = any(nodes.issuperset(option.home) for nodes in units.values())
        return [option._replace(value=option.value + inside)]
    return [*(option._replace(value=option.value + 1, among=frozenset(nodes)) for nodes in units.values()), option]


def _anywhere(round_: Round, rules: GangRules, values: dict[str, int], jobs: Sequence[Job]) -> list[list[Option]]:
    empty = Counter(empty_rooms(round_))
    options = []
    for job in jobs:
        need = need_of(job)
        least = smallest_node_count(empty, need)
        most = least if rules.fewest_nodes else len(round_.cluster.nodes)
        unit = (1, need.milli, need.mebibytes)
        options.append([] if least is None else [Option(values[job.id], unit, need.gpus, need.gpus, most or 0)])
    return options


def _asked(asked: Asked, need: Need, value: int, rooms: Sequence[Room], rules: GangRules) -> list[Option]:
    """Return the options of a job: where it is, and inside each part of its nodes, by equal parts or not."""
    unit, gpus = (1, need.milli, need.mebibytes), need.gpus
    alone = asked.node_count(rooms, need) if rules.fewest_nodes else None
    most = asked.most if alone is None else min(asked.most, alone)
    options = []
    if asked.home is not None and (alone is None or len(asked.home) <= alone or asked.must):
        options.append(Option(value, unit, gpus, gpus, len(asked.home), home=asked.home))
    for part in map(frozenset, asked.parts):
        if asked.even:
            numbers = [number for number in asked.counts(gpus) if number <= most]
            options += [Option(value, times(unit, gpus // n), n, 1, n, among=part, least=n) for n in numbers]
        else:
            options.append(Option(value, unit, gpus, gpus, most, among=part, least=asked.fewest))
    return options
