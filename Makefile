# Two commands do all the set-up on a fresh Debian machine: `make quickstart` and `make test`.
VENV ?= .venv
export VENV
BIN := $(VENV)/bin
# Tests start asct hundreds of times: none of them has to compile its modules again, also where the environment says so.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: quickstart test test-all lint unit test-machines chaos mutants bench bench-memory bench-storage bench-hosts bench-start bench-judge index setup-run setup-test \
	setup-all clean

quickstart: setup-run ## measure this machine and write a report
	$(BIN)/asct apply plans/quickstart.yaml

test: lint unit ## all checks and the fast tests; says which tests it leaves to test-all

test-all: setup-all lint ## all checks and all tests; records the commit in .ci/passed
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

test-machines: setup-all ## the tests on guests with several NUMA nodes alone
	$(BIN)/pytest -n 0 tests/machines

chaos: setup-test ## hurts runs at random moments and resumes them (root); FAULTS=1000 for more, SEED=1 for the same again
	$(BIN)/python -m tests.chaos $(FAULTS:%=--faults %) $(SEED:%=--seed %) $(if $(TRANSPORTS),--transports $(TRANSPORTS))

mutants: setup-test ## mistakes in important lines, and whether the fast tests notice them; FILES="verdict guard" for some
	$(BIN)/python -m tests.mutants $(FILES)

bench: setup-test ## the figures: speed of the harness and of the measurements, with ratios
	$(BIN)/python -m tests.bench

bench-memory: setup-test ## the memory figures against physical limits and peers; ROWS="l1 dram" for some of them
	@.ci/setup peers
	$(BIN)/python -m tests.bench.memory $(ROWS)

bench-storage: setup-test ## the storage figures against fio by hand, on throttled loop devices (root); ROWS="cliff" for some
	$(BIN)/python -m tests.bench.storage $(ROWS)

bench-hosts: setup-test ## the figures of fleets, on loopback hosts; ROWS="hundred plan" for some
	$(BIN)/python -m tests.bench.hosts $(ROWS)

bench-start: setup-run ## how long --help, list, explain, TAB and check take; BASE=path/to/other/.venv/bin/asct for the ratio to it
	$(BIN)/python -m tests.bench.start

bench-judge: setup-test ## how often the baseline gate fails with and without a change (root, 40 min); ROWS="simulated" for some
	$(BIN)/python -m tests.bench.judge $(ROWS)

pictures: setup-test ## the pictures of the documentation (docs/pictures), taken from a made-up run
	$(BIN)/python -m tests.browser.pictures

index: setup-run ## write what help, list and explain know of benchmarks (asct/benchmarks/index.json)
	$(BIN)/python -m asct.registry

setup-run:
	@.ci/setup run

setup-test:
	@.ci/setup test

setup-all: setup-test # the images that guests boot as well
	@$(BIN)/python -m tests.machines.image

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
