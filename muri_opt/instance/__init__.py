"""What is given: nodes, tenants, jobs, plans, the round, and its files."""

from muri_opt.instance.cluster import Cluster, Node, Tenant
from muri_opt.instance.files import parse_round, read_round, write_round
from muri_opt.instance.job import Guarantee, Job, Plan
from muri_opt.instance.round import Round, canonical_json

__all__ = [
    "Cluster",
    "Guarantee",
    "Job",
    "Node",
    "Plan",
    "Round",
    "Tenant",
    "canonical_json",
    "parse_round",
    "read_round",
    "write_round",
]
