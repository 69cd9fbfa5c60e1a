"""What would change: the same round with other nodes, quotas or jobs, and when each waiting job would start."""
