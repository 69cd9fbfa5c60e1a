"""What a replay is judged by: completion times, waiting and its causes, use of the cluster."""

from muri_opt.replay.metrics.comparison import ComparisonRow, compared
from muri_opt.replay.metrics.jobs import job_table
from muri_opt.replay.metrics.summary import Summary, summary
from muri_opt.replay.metrics.tenants import TenantSummary, by_tenant, evenness

__all__ = ["ComparisonRow", "Summary", "TenantSummary", "by_tenant", "compared", "evenness", "job_table", "summary"]
