"""Elastic shares by the published rules: AFS with and without lengths, and what it is compared with."""

from typing import TYPE_CHECKING

from muri_opt.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.policies.elastic.afs import AfsPolicy
    from muri_opt.policies.elastic.afs_unknown import UnknownLengthPolicy
    from muri_opt.policies.elastic.base import ElasticPolicy
    from muri_opt.policies.elastic.baselines import MaxMinPolicy, OptimusPolicy, ShortestFirstPolicy

__all__ = [
    "AfsPolicy",
    "ElasticPolicy",
    "MaxMinPolicy",
    "OptimusPolicy",
    "ShortestFirstPolicy",
    "UnknownLengthPolicy",
]

__getattr__, __dir__ = names_on_demand(
    __name__,
    {
        "muri_opt.policies.elastic.afs": ("AfsPolicy",),
        "muri_opt.policies.elastic.afs_unknown": ("UnknownLengthPolicy",),
        "muri_opt.policies.elastic.base": ("ElasticPolicy",),
        "muri_opt.policies.elastic.baselines": ("MaxMinPolicy", "OptimusPolicy", "ShortestFirstPolicy"),
    },
)
