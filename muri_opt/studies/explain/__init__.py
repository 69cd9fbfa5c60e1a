"""Why an answer is not better: what each rule of a published algorithm costs, and which jobs the optimum changes."""

from muri_opt.studies.explain.decision_changes import Change, Comparison, compare_decisions
from muri_opt.studies.explain.differences import Difference
from muri_opt.studies.explain.elastic_gap import ElasticGap, RuleOutcome, best_speed, elastic_gap
from muri_opt.studies.explain.grouping_loss import CAUSES, GroupingLoss, LossStep, grouping_loss
from muri_opt.studies.explain.joint_gain import KINDS, GainStep, JointGain, joint_gain
from muri_opt.studies.explain.joint_gap import JointGap, explain_joint_gap
from muri_opt.studies.explain.round_gap import RoundGap, compare_results, explain_gap
from muri_opt.studies.explain.value_parts import Part, value_parts

__all__ = [
    "CAUSES",
    "KINDS",
    "Change",
    "Comparison",
    "Difference",
    "ElasticGap",
    "GainStep",
    "GroupingLoss",
    "JointGain",
    "JointGap",
    "LossStep",
    "Part",
    "RoundGap",
    "RuleOutcome",
    "best_speed",
    "compare_decisions",
    "compare_results",
    "elastic_gap",
    "explain_gap",
    "explain_joint_gap",
    "grouping_loss",
    "joint_gain",
    "value_parts",
]
