"""Why an answer is not better: what each rule of a published algorithm costs against the optimum."""

from muri_opt.explain.elastic_gap import ElasticGap, RuleOutcome, best_speed, elastic_gap
from muri_opt.explain.grouping_loss import CAUSES, GroupingLoss, LossStep, grouping_loss

__all__ = [
    "CAUSES",
    "ElasticGap",
    "GroupingLoss",
    "LossStep",
    "RuleOutcome",
    "best_speed",
    "elastic_gap",
    "grouping_loss",
]
