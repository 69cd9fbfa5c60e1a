"""Run all benchmarks and print their tables."""

from benchmarks import model_building, rounds

for benchmark in (model_building, rounds):
    benchmark.main()
    print()
