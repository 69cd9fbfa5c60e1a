# Everything runs in .venv, which the first target that needs it creates. Python 3.11 or newer and make are all it takes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# mkdocs-material tells of its successor with every build.
export NO_MKDOCS_2_WARNING := 1
# Tests start hundreds of processes, which read what the first of them compiled; some machines are told not to keep it.
export PYTHONDONTWRITEBYTECODE :=
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
# One more than cores: tests of servers, killed processes and real schedulers wait for an eighth of their time.
WORKERS := $(shell echo $$(($(CORES) + 1)))

.PHONY: help demo test test-all check bench ledger docs clean

help:
	@echo "make demo      solve a shipped round, print the decision with its proof, write a picture; installs the runtime only"
	@echo "make test      run all tests but the slow studies; with COVER=--cov branch coverage too, in twice the time"
	@echo "make test-all  run the slow studies too, on examples drawn anew"
	@echo "make check     ruff, mypy --strict, import-linter, docs build"
	@echo "make bench     run the benchmarks and print their ratios"
	@echo "make ledger    measure this version and write its row into docs/benchmarks.md"
	@echo "make docs      build the documentation into site/"

# What a user gets from `pip install muri-opt`, and nothing more.
$(VENV)/installed-runtime: pyproject.toml
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'muri-opt needs Python 3.11 or newer')"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

# The tools of development, into the same place.
$(VENV)/installed: $(VENV)/installed-runtime
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@

# What only the benchmarks compare with.
$(VENV)/installed-bench: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[bench]"
	@touch $@

demo: $(VENV)/installed-runtime
	@mkdir -p demo-output
	$(BIN)/muri-opt solve instances/toy/eight-gangs.json --policy srtf --method auto --output demo-output/result.json
	$(BIN)/muri-opt verify instances/toy/eight-gangs.json demo-output/result.json
	$(BIN)/muri-opt show instances/toy/eight-gangs.json demo-output/result.json --picture demo-output/round.svg

test: $(VENV)/installed
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(COVER)

test-all: $(VENV)/installed
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "slow or not slow" --hypothesis-profile=fresh --cov

check: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/mkdocs build --strict --quiet

bench: $(VENV)/installed-bench
	$(BIN)/python -m benchmarks

ledger: $(VENV)/installed
	$(BIN)/python -m benchmarks.ledger --write

docs: $(VENV)/installed
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) site demo-output .coverage* .mypy_cache .pytest_cache .ruff_cache .hypothesis
