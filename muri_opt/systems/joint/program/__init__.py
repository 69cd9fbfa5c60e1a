"""The exact program of the joint round, and the one over classes of jobs."""
