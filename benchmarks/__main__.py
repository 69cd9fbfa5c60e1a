"""Run all benchmarks and print their tables."""

from benchmarks import afs, matching, model_building, rounds

for benchmark in (model_building, rounds, matching, afs):
    benchmark.main()
    print()
