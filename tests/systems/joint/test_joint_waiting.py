"""Why jobs of a joint round wait, told for all at once, against asking of each by itself."""

from bound_joint_rounds import with_all
from joint_rounds import large_joint_round
from seeds import seed_by_seed

from muri_opt import Cluster, Job, Node, Plan, Round, Tenant, policy_from, solve_round
from muri_opt.systems.capacity.binding_rules import BindingRules
from muri_opt.systems.capacity.decision import left_by
from muri_opt.systems.capacity.free_capacity import entries
from muri_opt.systems.capacity.holders import Holders
from muri_opt.systems.joint import decision as of_groups


@seed_by_seed(8, 16)
def test_all_at_once_are_told_what_each_is_told(seed, monkeypatch):
    round_ = with_all(large_joint_round(seed, jobs=70, nodes=4), seed, 1 + seed % 3)
    told, real = [], of_groups.group_decision

    def seen(given, groups, *, of, left, **more):
        decision = real(given, groups, of=of, left=left, **more)
        told.append((given, groups, left.asks, decision))
        return decision

    monkeypatch.setattr(of_groups, "group_decision", seen)
    policy_from("joint-s").decide(round_, 0)
    ((given, groups, asks, decision),) = told
    of = entries([group.share for group in groups])
    place = {job.id: at for at, job in enumerate(given.jobs)}
    assert len(decision.waiting) > 20
    for waits in decision.waiting:
        left = left_by(given, groups, of, asks)  # anew for each: nothing is known of any other
        holders = Holders.of_entries(given, [group.jobs for group in groups], of)
        alone = BindingRules(given, left, holders, consolidate=False).of(place[waits.job])
        assert (waits.reason, waits.detail, waits.remedy) == (alone.reason, alone.detail, alone.remedy)


def test_jobs_with_plans_are_told_all_rules_that_bind():
    said = {"remaining_iterations": 100, "iteration_seconds": 1.0}
    stays = {"state": "running", "placement": {"n0": 1}, "preemptible": False}
    plans = (Plan(name="dp2", gpus=2, nodes=2, throughput=2.0),)
    nodes, tenants = (Node(id="n0", gpus=2), Node(id="n1", gpus=1)), (Tenant(id="red", quota_gpus=2),)
    jobs = (
        Job(id="a", gpus=1, tenant="red", **stays, **said),
        Job(id="b", gpus=1, **stays, **said),
        Job(id="c", gpus=2, tenant="red", plans=plans, **said),
    )
    round_ = Round(cluster=Cluster(nodes=nodes, tenants=tenants), jobs=jobs, format="muri-opt/round/2")
    (wait,) = solve_round(round_, "joint-s", "heuristic").decision.waiting
    assert wait.detail == (
        "its plans need 2 GPUs or more; tenant 'red' has 1 left of its quota of 2; 1 are free where it may start"
    )
    assert wait.remedy == (
        "free 1 GPU of tenant 'red', or raise its quota by as many "
        "and free 1 more GPU where it may start, on 2 nodes in all"
    )
