"""Run all benchmarks and print their tables."""

from benchmarks import afs, knapsack, matching, model_building, rounds, sia

for benchmark in (model_building, rounds, matching, afs, knapsack, sia):
    benchmark.main()
    print()
