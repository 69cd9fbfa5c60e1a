"""What a replay is judged by: completion times, waiting and its causes, use of the cluster."""
