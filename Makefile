# On a fresh Debian machine, `make quickstart` and `make test` install everything that they need.
VENV ?= .venv
export VENV
BIN := $(VENV)/bin
# Lets Python keep compiled modules, even if the environment disables this, because the tests start asct hundreds of times.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: quickstart test test-all lint unit test-machines chaos mutants bench bench-memory bench-storage bench-hosts bench-start \
	bench-judge pictures index schemas setup-run setup-test setup-all clean

quickstart: setup-run ## measure this machine and write a report
	$(BIN)/asct apply plans/quickstart.yaml

test: lint unit ## run all checks and the fast tests; prints how many slow tests it skips

test-all: setup-all lint ## run all checks and all tests, and record the commit in .ci/passed
	$(BIN)/pytest -n auto tests
	$(BIN)/python -m tests.chaos --faults 60
	$(BIN)/python -m tests.changed --record

lint: setup-test
	$(BIN)/ruff format --check asct tests
	$(BIN)/ruff check asct tests
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

unit: setup-test
	$(BIN)/pytest -n auto --tier fast tests

test-machines: setup-all ## run only the tests on emulated guests
	$(BIN)/pytest -n 0 tests/machines

chaos: setup-test ## inject faults into runs at random moments, and resume the runs (root); FAULTS=1000 injects more, SEED=1 repeats a sequence
	$(BIN)/python -m tests.chaos $(FAULTS:%=--faults %) $(SEED:%=--seed %) $(if $(TRANSPORTS),--transports $(TRANSPORTS))

mutants: setup-test ## insert mistakes into important lines, and show which of them the fast tests catch; FILES="verdict guard" selects files
	$(BIN)/python -m tests.mutants $(FILES)

bench: setup-test ## measure the speed of the harness, of the default latency sweep and of the report page; ROWS="page" selects rows
	$(BIN)/python -m tests.bench $(ROWS)

bench-memory: setup-test ## compare memory results with physical limits and with other programs; ROWS="l1 dram" selects rows
	@.ci/setup peers
	$(BIN)/python -m tests.bench.memory $(ROWS)

bench-storage: setup-test ## compare storage results with those of fio run manually, on throttled loop devices (root); ROWS="cliff" selects rows
	$(BIN)/python -m tests.bench.storage $(ROWS)

bench-hosts: setup-test ## measure runs on many loopback hosts (root); ROWS="hundred plan" selects rows
	$(BIN)/python -m tests.bench.hosts $(ROWS)

bench-start: setup-run ## measure how long --help, list, explain, completion and check take; BASE=path/.venv/bin/asct compares with that asct
	$(BIN)/python -m tests.bench.start

bench-judge: setup-test ## measure how often the baseline gate fails with and without a change (root, 40 min); ROWS="simulated" selects rows
	$(BIN)/python -m tests.bench.judge $(ROWS)

pictures: setup-test ## create the pictures in docs/pictures from a synthetic run
	$(BIN)/python -m tests.browser.pictures

index: setup-run ## update what help, list and explain show about benchmarks (asct/benchmarks/index.json)
	$(BIN)/python -m asct.registry

schemas: setup-run ## write the JSON Schemas of stored documents and events to results_schema/
	$(BIN)/python -m asct.engine.event_schema results_schema

setup-run:
	@.ci/setup run

setup-test:
	@.ci/setup test

setup-all: setup-test # also builds the images that the guests boot
	@$(BIN)/python -m tests.machines.image

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
