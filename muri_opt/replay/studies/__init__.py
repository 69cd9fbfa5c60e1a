"""Many replays: where they run, what is kept of them, and how they compare."""
