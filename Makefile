# One target per concern; CI runs `make test`, so a red CI is reproduced by its name.
SHELL := /bin/bash
.DEFAULT_GOAL := help
BIN := .venv/bin
STAMP := .venv/.installed
export PYTHONPATH :=

.PHONY: help venv check lint types layers tidy docs test demo demo-down bench simulate wheel clean

help: ## Show the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

venv: $(STAMP) ## Make .venv from the constraints file

$(STAMP): constraints.txt pyproject.toml
	@demo/venv.sh .venv "$(CURDIR)[test,s3]"
	@touch $(STAMP)

check: lint types layers tidy docs ## Lint, types, layers, tidy, docs

lint: $(STAMP)
	$(BIN)/ruff format --check . && $(BIN)/ruff check .
types: $(STAMP)
	$(BIN)/mypy
layers: $(STAMP)
	PYTHONPATH=.:provider $(BIN)/lint-imports
tidy: $(STAMP)
	$(BIN)/pytest -q tests/test_tidy.py
docs: $(STAMP)
	$(BIN)/pytest -q tests/docs

simulate: $(STAMP) ## Commit and expiry under random faults for BUDGET_S seconds
	BUDGET_S=$(or $(BUDGET_S),60) $(BIN)/pytest -q -s --timeout=0 tests/simulation
