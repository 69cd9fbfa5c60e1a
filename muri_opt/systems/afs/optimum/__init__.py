"""The least total completion time of elastic jobs whose shares may change at any moment, with its proof."""
