# Two commands on a fresh machine: `make run` and `make test`. All that they make is in .venv and .run of this clone.
PYTHON ?= python3
PORT   ?= 8050
VENV   := .venv
BIN    := $(VENV)/bin
WORKERS ?= 2
SOAK_S ?= 600
SOAK_KILLS ?= 1000

.DEFAULT_GOAL := help
.PHONY: help setup run test test-gpu lint format bench soak docs lock dist clean dev-setup system-packages

help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

setup: ## make .venv from requirements.lock and install GPU Ledger into it
	@$(PYTHON) deploy/environment.py run

run: setup ## start GPU Ledger on http://127.0.0.1:8050 (PORT=N for another port); its data is in .run/
	@exec $(BIN)/gpuledger up --data .run --port $(PORT)

test: dev-setup system-packages lint ## set up what the tests need and run them all (INSTALL=1 as root on Debian: by apt too)
	@$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadgroup -m "not gpu" $(ARGS)

test-gpu: dev-setup ## the tests that need an NVIDIA GPU
	@$(BIN)/python -m pytest -q -m gpu $(ARGS)

lint: dev-setup ## ruff, mypy, import-linter
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo --cache-dir $(VENV)/.cache/import_linter

format: dev-setup ## let ruff format and fix what it can
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: dev-setup ## run all benchmarks and write docs/benchmarks.md
	@$(BIN)/python -m benchmarks

soak: dev-setup system-packages ## kills (1,000 at least), fuzzing, long simulations, SOAK_S seconds each (600); writes docs/soak.md
	@$(BIN)/python -m pytest -q -m soak --soak-s $(SOAK_S) --soak-kills $(SOAK_KILLS) --soak-report docs/soak.md $(ARGS)

docs: dev-setup ## write the reference pages of docs/ from the code
	@$(BIN)/python -m docs.reference

lock: dev-setup ## resolve requirements.lock and requirements-dev.lock anew for every Python and both architectures
	@$(BIN)/python deploy/lock.py

dist: dev-setup ## build the wheel into dist/
	@$(BIN)/python -m pip wheel -q --no-deps --no-build-isolation --no-index -w dist .

clean: ## remove .venv, build outputs and caches; .run, which holds data, stays
	@rm -rf $(VENV) build dist tests/fakenvml/build .hypothesis

dev-setup:
	@$(PYTHON) deploy/environment.py dev

system-packages: dev-setup
	@$(BIN)/python tests/system_packages.py
