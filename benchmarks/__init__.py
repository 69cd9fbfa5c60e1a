"""Measurements behind the claims in ``docs/benchmarks.md``: ratios of medians, both sides measured in one run."""
