"""Gangs of several tenants in one cluster: locality, quotas, who may be moved or preempted, and what that is worth."""

from muri_opt.tenants.locality import Locality
from muri_opt.tenants.rules import TenantRules
from muri_opt.tenants.standing import Standing

__all__ = ["Locality", "Standing", "TenantRules"]
