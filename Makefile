# Two commands do everything on a fresh machine: `make demo` and `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-full check bench format clean

help: ## Show what there is to make
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

setup: $(STAMP) ## Put the package and its tools into .venv

$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=python3.12 setup" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

demo: setup ## Show a grounded terminal world beside real bash
	$(BIN)/python examples/demo.py

test: setup ## Run the core tests
	$(BIN)/pytest -m 'not full' -n auto --dist loadfile --max-worker-restart 0

test-full: setup ## Run every test, the long ones too
	$(BIN)/pytest -rs

check: setup ## Lint, check formatting and types
	$(BIN)/ruff check src tests examples scripts
	$(BIN)/ruff format --check src tests examples scripts
	$(BIN)/mypy

bench: setup ## Print the fidelity table of the test split
	$(BIN)/worldline bench real --domain terminal

format: setup ## Format the code
	$(BIN)/ruff check --fix src tests examples scripts
	$(BIN)/ruff format src tests examples scripts

clean: ## Remove everything that was made
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
