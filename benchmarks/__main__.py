"""Run all benchmarks and print their tables."""

from benchmarks import afs, knapsack, matching, model_building, planning, rounds, sia

for benchmark in (model_building, rounds, matching, afs, knapsack, planning, sia):
    benchmark.main()
    print()
