"""The joint decision of a round beside that of the best single system, change by change."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from muri_opt.errors import RefusalError
from muri_opt.rounds import Decision, Limit, Limits, Reason, Result, Round, Termination
from muri_opt.solve.round import solve_round
from muri_opt.studies.explain.joint_gain import JointGain, joint_gain
from muri_opt.studies.explain.round_gap import RoundGap, compare_results
from muri_opt.systems import Policy, policy_from
from muri_opt.verify import chapter_of

_SYSTEM = "best system"


@dataclass(frozen=True, slots=True, kw_only=True)
class JointGap(RoundGap):
    """The best decision of a single system, then that of the joint round, with what each kind of choice gains."""

    gain: JointGain

    @property
    def names(self) -> tuple[str, str]:
        """What to call the two decisions."""
        return _SYSTEM, "joint optimum" if self.proved else "joint"


def explain_joint_gap(round_: Round, policy: str | Policy = "joint-s", limits: Limits | None = None) -> JointGap:
    """Return how the joint decision of a round differs from the best one of a single system, by the joint value.

    Both are verified. Where some of the round is not to be decided, the rest is looked at.
    """
    chosen = policy_from(policy)
    gain = joint_gain(round_, chosen, limits)
    round_ = chosen.decided_part(round_)
    joint = solve_round(round_, chosen, "auto", limits)
    if joint.decision is None:
        raise RefusalError("gap", f"no decision by auto: {joint.termination.detail}", "more seconds")
    found = compare_results(round_, _of_system(round_, joint, gain.decisions[0]), joint)
    return JointGap(
        first=found.first,
        second=found.second,
        total_gpus=found.total_gpus,
        values=found.values,
        differences=found.differences,
        changes=found.changes,
        same=found.same,
        moved=found.moved,
        gain=gain,
    )


def _of_system(round_: Round, joint: Result, decision: Decision) -> Result:
    """Return a decision as a result under the rules of the joint one, without a bound."""
    value = chapter_of(round_, joint.rules).value(decision)
    found = Termination(reason=Reason.FEASIBLE, limit=Limit.CLAIM, detail="columns of one system only")
    nothing = {"bound": None, "gap": None, "claimed_bound": None, "changes": None}
    stats = replace(joint.stats, changes_cost=None, changes_bound=None)
    return replace(joint, method="exact", value=value, termination=found, decision=decision, stats=stats, **nothing)
