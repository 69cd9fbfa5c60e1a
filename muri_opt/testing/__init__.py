"""For tests of schedulers: Hypothesis strategies of valid rounds. Needs the extra ``muri-opt[testing]``."""

from muri_opt.testing.strategies import clusters, jobs, nodes, rounds

__all__ = ["clusters", "jobs", "nodes", "rounds"]
