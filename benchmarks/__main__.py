"""Run all benchmarks and print their tables."""

from benchmarks import matching, model_building, rounds

for benchmark in (model_building, rounds, matching):
    benchmark.main()
    print()
