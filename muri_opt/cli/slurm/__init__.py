"""``muri-opt slurm``: a queue of Slurm as a round, why its jobs wait, what to do, and doing it."""
