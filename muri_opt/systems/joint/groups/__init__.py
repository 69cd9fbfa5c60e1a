"""Who shares GPUs with whom, and how many, at a price of a GPU."""
