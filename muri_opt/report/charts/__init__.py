"""Charts and pages of comparisons and replays."""
