# What can be done here, each in an environment of its own (.venv) that is made when needed
# from the pinned requirements/. Only python3 (3.11 or newer), its venv module and make must be
# there. Another interpreter: `make demo PYTHON=python3.12`.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
.NOTPARALLEL:
SHELL := /bin/sh

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
INSTALL := $(PIP) install --quiet --require-hashes --requirement
INSTALL_SELF := $(PIP) install --quiet --no-deps --no-build-isolation --editable .
LINTED := src tests $(wildcard benchmarks) conftest.py
UV := uv==0.13.9

# Another activated environment or a user's own settings must not leak into .venv.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV
export PIP_USER := 0
export PIP_REQUIRE_VIRTUALENV := 0

# A copied or moved checkout, or an interpreter that is gone: .venv is made anew.
ifneq ($(shell cat .venv/here 2>/dev/null),$(CURDIR))
.venv/here: FORCE
else ifeq ($(wildcard $(BIN)/python),)
.venv/here: FORCE
endif

.PHONY: help demo test lint format soak bench pins clean FORCE

help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "make %-6s %s\n", $$1, $$2}' Makefile

demo: .venv/demo ## run the demonstration on real data; sets itself up
	@$(BIN)/interlace demo

test: lint ## everything that CI checks: lint, then all tests and examples
	$(BIN)/python -m pytest

lint: .venv/dev ## style, types and the one-way imports
	$(BIN)/ruff check $(LINTED)
	$(BIN)/ruff format --check $(LINTED)
	$(BIN)/mypy $(LINTED)
	$(BIN)/lint-imports

format: .venv/dev ## put the code into the form that lint asks for, where that needs no thought
	$(BIN)/ruff check --fix-only $(LINTED)
	$(BIN)/ruff format $(LINTED)

soak: .venv/dev ## all tests, with the long races, and searches many times as long
	$(BIN)/python -m pytest -m "soak or not soak" --hypothesis-profile=soak

bench: .venv/dev ## measure: run every benchmark, one after the other
	@set -e; for file in $(filter-out benchmarks/_%,$(wildcard benchmarks/*.py)); do \
		name=$$(basename "$$file" .py); echo "== $$name"; $(BIN)/python -m "benchmarks.$$name"; \
	done

.venv/here:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "Interlace needs Python 3.11 or newer, and '$(PYTHON)' is" \
			"$$($(PYTHON) --version 2>/dev/null || echo not there). Say which to take:" \
			"make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@echo "Making .venv with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv --clear .venv || { \
		echo "'$(PYTHON) -m venv' failed: install your system's venv package" \
			"(Debian and Ubuntu: python3-venv)" >&2; exit 1; }
	@pwd -P > .venv/here

.venv/demo: .venv/here requirements/demo.txt pyproject.toml src/interlace/__init__.py
	@echo "Installing what the demonstration needs"
	@$(INSTALL) requirements/demo.txt
	@$(INSTALL_SELF)
	@touch .venv/demo

# The pins of dev hold those of demo, at the same versions.
.venv/dev: .venv/here requirements/dev.txt pyproject.toml src/interlace/__init__.py
	@echo "Installing what the tests need"
	@$(INSTALL) requirements/dev.txt
	@$(INSTALL_SELF)
	@touch .venv/demo .venv/dev

pins: ## rewrite requirements/ from pyproject.toml; `make pins UPGRADE=1` takes the newest
	@rm -rf .venv/pins && $(PYTHON) -m venv .venv/pins
	@.venv/pins/bin/python -m pip install --quiet --disable-pip-version-check $(UV)
	$(COMPILE) --extra dev --output-file requirements/dev.txt
	$(COMPILE) --extra demo --constraint requirements/dev.txt --output-file requirements/demo.txt
	$(COMPILE) --constraint requirements/dev.txt --output-file requirements/base.txt
	@rm -rf .venv/pins

# No index and no header, so that a pin holds wherever the packages come from.
COMPILE = .venv/pins/bin/uv pip compile --quiet --no-config --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-header --no-annotate \
	$(if $(UPGRADE),--upgrade) --group build pyproject.toml

clean: ## remove .venv and everything else that was made
	rm -rf .venv build dist __pycache__ .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find $(LINTED) -name __pycache__ -type d -prune -exec rm -rf {} +
