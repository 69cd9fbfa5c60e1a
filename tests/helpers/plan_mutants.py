"""Ways to break a right answer of a policy of plans: each mutant names the rule that must be found broken."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from alterations import changed_first, decided, job_of, replace, with_assignments, with_duals
from mutants import MUTANTS, Break, Mutant
from plan_rounds import rules_for

from muri_opt import Assignment, Node, Result, Round, WaitingReason
from muri_opt.systems.plans.plan_parts import Entry, entries_of, may_run

OF_ANY_POLICY = (
    "job_runs_twice",
    "job_runs_and_waits",
    "running_job_dropped",
    "waiting_job_dropped",
    "waiting_job_listed_twice",
    "unknown_job_runs",
    "unknown_job_waits",
    "cpus_on_a_node_without_gpus",
    "more_cpus_than_a_float_can_count",
    "a_milli_cpu_too_many",
    "half_a_gpu",
    "no_gpu_on_a_listed_node",
    "fewer_than_no_gpus",
    "two_gangs_on_the_same_gpus",
    "gpus_of_nobody",
    "order_that_starts_at_one",
    "order_of_two_for_one",
    "plan_that_does_not_exist",
    "wrong_period",
    "wrong_waiting_reason",
    "value_one_too_high",
    "value_left_out",
    "value_of_no_decision",
    "bound_below_the_value",
    "bound_below_the_optimum",
    "heuristic_called_optimal",
    "optimal_with_an_open_gap",
    "optimal_without_a_bound",
    "feasible_without_a_decision",
    "infeasible_with_a_decision",
    "wrong_gap",
    "gap_left_out",
    "gap_without_a_bound",
    "result_of_another_round",
    "price_of_a_quota_without_limit",
)
PLAN_MUTANTS = [mutant for mutant in MUTANTS if mutant.name in OF_ANY_POLICY]


def breaks(rule: str) -> object:
    """Register a function as a mutant that breaks ``rule``."""

    def register(function: Break) -> Break:
        PLAN_MUTANTS.append(Mutant(name=function.__name__, rule=rule, broken=function))
        return function

    return register


def shaped(round_: Round, assignment: Assignment) -> list[Entry]:
    """Return the plans of its job that have the name, the parts and the GPUs of an assignment."""
    return [
        entry
        for entry in entries_of(job_of(round_, assignment))
        if entry.plan.name == assignment.plan and list(assignment.gpus.values()) == [entry.part.gpus] * entry.plan.nodes
    ]


def nodes_of(round_: Round, assignment: Assignment) -> list[Node]:
    return [node for node in round_.cluster.nodes if node.id in assignment.gpus]


def entry_of(round_: Round, assignment: Assignment) -> Entry:
    """Return the plan that a right assignment runs by."""
    types = {node.gpu_type for node in nodes_of(round_, assignment)}
    (entry,) = (
        entry
        for entry in shaped(round_, assignment)
        if (entry.plan.gpu_type is None or types == {entry.plan.gpu_type})
        and all(round(assignment.cpus.get(node, 0.0) * 1000) == entry.part.milli for node in assignment.gpus)
    )
    return entry


def run_by(round_: Round, job: str, entry: Entry, nodes: tuple[Node, ...]) -> Assignment:
    """Return the assignment of a job to a plan on some nodes, as the plan says."""
    names = [node.id for node in nodes]
    cpus = dict.fromkeys(names, entry.part.milli / 1000) if entry.part.milli else {}
    return Assignment(jobs=(job,), plan=entry.plan.name, gpus=dict.fromkeys(names, entry.part.gpus), cpus=cpus)


def is_for(entry: Entry, node: Node) -> bool:
    return entry.plan.gpu_type is None or entry.plan.gpu_type == node.gpu_type


def others(round_: Round, result: Result, *, typed: bool) -> Iterator[tuple[Assignment, Entry, Result]]:
    """Yield every assignment with every plan of its job on every set of nodes, of the plan's type or not all so."""
    assignments = decided(result).assignments
    for place, assignment in enumerate(assignments):
        for entry in entries_of(job_of(round_, assignment)):
            for nodes in combinations(round_.cluster.nodes, entry.plan.nodes):
                if all(is_for(entry, node) for node in nodes) == typed:
                    other = run_by(round_, assignment.jobs[0], entry, nodes)
                    yield other, entry, with_assignments(result, *assignments[:place], other, *assignments[place + 1 :])


def overfull(round_: Round, result: Result, axis: int) -> bool:
    """Return whether a node gives more GPUs (0), CPUs (1) or memory (2) than it has."""
    used = {node.id: 0 for node in round_.cluster.nodes}
    for assignment in decided(result).assignments:
        for node in assignment.gpus:
            used[node] += entry_of(round_, assignment).part[axis]
    has = [
        (node.gpus, node.cpus and round(node.cpus * 1000), node.memory_gib and round(node.memory_gib * 1024))[axis]
        for node in round_.cluster.nodes
    ]
    return any(limit is not None and taken > limit for taken, limit in zip(used.values(), has, strict=True))


def crowded(round_: Round, result: Result, axis: int) -> Result | None:
    """Return the result with one job elsewhere, or by another plan it may run by, where too much is taken."""
    change = rules_for(result.policy).change
    for other, entry, moved in others(round_, result, typed=True):
        if may_run(job_of(round_, other), entry.plan, change) and overfull(round_, moved, axis):
            return moved
    return None


@breaks("gpu-capacity")
def plan_where_gpus_are_short(round_: Round, result: Result) -> Result | None:
    return crowded(round_, result, 0)


@breaks("cpu-capacity")
def plan_where_cpus_are_short(round_: Round, result: Result) -> Result | None:
    return crowded(round_, result, 1)


@breaks("memory-capacity")
def plan_where_memory_is_short(round_: Round, result: Result) -> Result | None:
    return crowded(round_, result, 2)


@breaks("gpu-type")
def plan_on_gpus_of_another_type(round_: Round, result: Result) -> Result | None:
    for other, entry, moved in others(round_, result, typed=False):
        same = [twin for twin in shaped(round_, other) if twin.part.milli == entry.part.milli]
        if not any(all(is_for(twin, node) for node in nodes_of(round_, other)) for twin in same):
            return moved
    return None


@breaks("guarantee")
def promise_broken(round_: Round, result: Result) -> Result | None:
    for other, entry, moved in others(round_, result, typed=True):
        promise = job_of(round_, other).guarantee
        if promise is not None and entry.plan.throughput < promise.throughput:
            return moved
    return None


@breaks("change")
def plan_the_policy_may_not_change_to(round_: Round, result: Result) -> Result | None:
    change = rules_for(result.policy).change
    for other, entry, moved in others(round_, result, typed=True):
        if not may_run(replace(job_of(round_, other), guarantee=None), entry.plan, change):
            return moved
    return None


@breaks("quota")
def promise_beyond_a_quota(round_: Round, result: Result) -> Result | None:
    decision = decided(result)
    change = rules_for(result.policy).change
    for wait in decision.waiting:
        job = round_.jobs[round_.job_index[wait.job]]
        for entry in entries_of(job) if wait.reason is WaitingReason.QUOTA else ():
            nodes = [node for node in round_.cluster.nodes if is_for(entry, node)][: entry.plan.nodes]
            started = run_by(round_, job.id, entry, tuple(nodes))
            if len(nodes) == entry.plan.nodes and may_run(job, entry.plan, change):
                waiting = tuple(other for other in decision.waiting if other is not wait)
                return with_assignments(result, *decision.assignments, started, waiting=waiting)
    return None


@breaks("plan")
def plan_left_out(round_: Round, result: Result) -> Result | None:
    return changed_first(result, plan=None) if decided(result).assignments else None


def first_without_such_a_plan(round_: Round, result: Result, changed: list[dict[str, object]]) -> Result | None:
    """Return the result with the fields of an assignment changed, the first that make it run by no plan of its own."""
    assignments = decided(result).assignments
    for place, (assignment, fields) in enumerate(zip(assignments, changed, strict=True)):
        other = replace(assignment, **fields)
        if fields and not shaped(round_, other):
            return with_assignments(result, *assignments[:place], other, *assignments[place + 1 :])
    return None


@breaks("plan")
def name_of_another_plan(round_: Round, result: Result) -> Result | None:
    names = [
        next((p.name for p in job_of(round_, a).plans or () if p.name != a.plan), a.plan)
        for a in decided(result).assignments
    ]
    return first_without_such_a_plan(round_, result, [{"plan": name} for name in names])


@breaks("plan")
def one_gpu_too_many_on_a_node(round_: Round, result: Result) -> Result | None:
    more = [{**a.gpus, (node := min(a.gpus)): a.gpus[node] + 1} for a in decided(result).assignments]
    return first_without_such_a_plan(round_, result, [{"gpus": gpus} for gpus in more])


@breaks("plan")
def one_gpu_moved_between_parts(round_: Round, result: Result) -> Result | None:
    moved = [
        {**a.gpus, (low := min(a.gpus)): a.gpus[low] + 1, (high := max(a.gpus)): a.gpus[high] - 1}
        if len(a.gpus) > 1 and min(a.gpus.values()) > 1
        else a.gpus
        for a in decided(result).assignments
    ]
    return first_without_such_a_plan(round_, result, [{"gpus": gpus} for gpus in moved])


@breaks("plan")
def part_missing(round_: Round, result: Result) -> Result | None:
    changed = []
    for a in decided(result).assignments:
        kept = sorted(a.gpus)[1:]
        less = {"gpus": {node: a.gpus[node] for node in kept}, "cpus": {n: a.cpus[n] for n in kept if n in a.cpus}}
        changed.append(less)
    return first_without_such_a_plan(round_, result, changed)


@breaks("plan")
def part_too_many(round_: Round, result: Result) -> Result | None:
    changed = []
    for a in decided(result).assignments:
        node = next((node.id for node in round_.cluster.nodes if node.id not in a.gpus), None)
        known = min(a.gpus)
        cpus = {**a.cpus, node: a.cpus[known]} if known in a.cpus else {}
        changed.append({} if node is None else {"gpus": {**a.gpus, node: a.gpus[known]}, "cpus": cpus})
    return first_without_such_a_plan(round_, result, changed)


@breaks("known-node")
def part_on_an_unknown_node(round_: Round, result: Result) -> Result | None:
    for assignment in decided(result).assignments[:1]:
        return changed_first(result, gpus={"nowhere": 1, **assignment.gpus})
    return None


@breaks("cpus-with-gpus")
def cpus_of_a_plan_left_out(round_: Round, result: Result) -> Result | None:
    assignments = decided(result).assignments
    for place, assignment in enumerate(assignments):
        bare = replace(assignment, cpus={})
        if assignment.cpus and not any(entry.part.milli == 0 for entry in shaped(round_, bare)):
            return with_assignments(result, *assignments[:place], bare, *assignments[place + 1 :])
    return None


@breaks("evidence")
def price_of_a_job_too_many(round_: Round, result: Result) -> Result | None:
    return with_duals(result, once=(0,) * (len(round_.jobs) + 1))


@breaks("evidence")
def job_with_a_negative_price(round_: Round, result: Result) -> Result | None:
    return with_duals(result, once=(-1,) * len(round_.jobs))


@breaks("evidence")
def quota_with_a_price_too_many(round_: Round, result: Result) -> Result | None:
    return with_duals(result, quota=(0,) * (len(round_.cluster.tenants) + 1))


@breaks("evidence")
def price_of_what_has_none(round_: Round, result: Result) -> Result | None:
    return with_duals(result, gpus=(0,) * len(round_.cluster.nodes))


@breaks("evidence")
def prices_over_nothing(round_: Round, result: Result) -> Result | None:
    return with_duals(result, denominator=0, once=(0,) * len(round_.jobs))
