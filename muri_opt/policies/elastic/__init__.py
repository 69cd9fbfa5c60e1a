"""Elastic shares by the published rules: AFS with and without lengths, and what it is compared with."""

from muri_opt.policies.elastic.afs import AfsPolicy
from muri_opt.policies.elastic.afs_unknown import UnknownLengthPolicy
from muri_opt.policies.elastic.base import ElasticPolicy
from muri_opt.policies.elastic.baselines import MaxMinPolicy, OptimusPolicy, ShortestFirstPolicy

ELASTIC: dict[str, type[ElasticPolicy]] = {
    kind.own_name: kind for kind in (AfsPolicy, UnknownLengthPolicy, OptimusPolicy, MaxMinPolicy, ShortestFirstPolicy)
}

__all__ = [
    "ELASTIC",
    "AfsPolicy",
    "ElasticPolicy",
    "MaxMinPolicy",
    "OptimusPolicy",
    "ShortestFirstPolicy",
    "UnknownLengthPolicy",
]
