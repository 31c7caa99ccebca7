# signoff: everything a person or a machine does with this repository. `make help` lists it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
UV := $(BIN)/uv
LOCKS := requirements/run.txt requirements/dev.txt requirements/uv.txt

ORACLE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/signoff-oracle

FUZZ := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/signoff-fuzz
TARGET ?= shell

ACP_PEERS := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/signoff-acp-peers

.DEFAULT_GOAL := help
.PHONY: help setup demo test check fuzz bench soak bench-memory oracle acp-peers docs pictures figures golden acp-schema requirements lock clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1\t\2/' | awk -F'\t' '{printf "  make %-14s %s\n", $$1, $$2}'

setup: $(READY) ## Leave a ready .venv with the program at .venv/bin/signoff

$(READY): pyproject.toml hatch_build.py $(LOCKS)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing locked requirements into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	@$(UV) pip sync --quiet --python $(BIN)/python --require-hashes requirements/uv.txt requirements/dev.txt
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q -j 0 $(VENV)/lib src || true
	@touch $@

demo: setup ## A scripted agent works, misbehaves and is held: needs no account
	@$(BIN)/signoff demo

test: setup ## Set everything up and pass the tests
	@$(BIN)/python -m pytest -n 2 --cache-clear || $(BIN)/python -m tests.again $$?

check: setup ## Format, lint, types, import rule, dead code, duplicates
	@$(BIN)/ruff format --check --quiet . || { echo "run: .venv/bin/ruff format ."; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache > $(VENV)/imports.txt || { cat $(VENV)/imports.txt; exit 1; }
	@! $(BIN)/vulture | grep -v '^src/signoff/domain/' | grep -E 'unused (function|class|method|property|import)|unreachable'
	@! $(BIN)/symilar --duplicates 10 --ignore-comments --ignore-docstrings --ignore-imports --ignore-signatures $$(git ls-files 'src/*.py') | grep -A 12 'similar lines in'

fuzz: ## Feed a parser strange bytes for a while: make fuzz [TARGET=shell] [SECONDS=60]
	@test -x $(FUZZ)/venv/bin/python || $(PYTHON) -m venv $(FUZZ)/venv
	@$(FUZZ)/venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/run.txt
	@$(FUZZ)/venv/bin/python -m pip install --quiet --disable-pip-version-check atheris==3.0.0
	@PYTHONPATH=src:. nice -n 19 $(FUZZ)/venv/bin/python -m tests.fuzz $(TARGET) $(or $(SECONDS),60) $(FUZZ)

bench: setup ## Measure every figure of the README against its reference
	@$(BIN)/python -m benchmarks

soak: setup ## Run everything that runs for long, and watch what it holds: make soak [SECONDS=3600]
	@SECONDS='$(SECONDS)' $(BIN)/python -m benchmarks.soak

oracle: ## Fetch the program whose rule language ours is compared with, into the cache directory
	@mkdir -p $(ORACLE) && cd $(ORACLE) && npm pack --silent @openai/codex@0.98.0 > name.txt \
	  && tar -xzf $$(cat name.txt) --wildcards --no-anchored "*/$$(uname -m)-unknown-linux-musl/codex/codex" --transform 's|.*/||' \
	  && rm $$(cat name.txt) name.txt && chmod a+rx codex && echo "$(ORACLE)/codex"

acp-peers: ## Fetch the ACP programs of others that ours is tried with, into the cache directory
	@mkdir -p $(ACP_PEERS) && cd $(ACP_PEERS) && npm install --no-audit --no-fund --silent \
	  node@22.23.3 @agentclientprotocol/sdk@2.4.0 acpx@0.19.1 && echo "$(ACP_PEERS)"

bench-memory: setup ## Measure what memory finds: make bench-memory [DATA=FILE]
	@DATA='$(DATA)' $(BIN)/python -m benchmarks.memory_quality

docs: setup ## Write the command reference in docs/cli.md anew, from the commands
	@$(BIN)/python scripts/generate_cli.py

pictures: setup ## Make the pictures of the docs anew, from the program as it is
	@$(BIN)/python scripts/pictures.py

figures: setup ## Copy the measured figures of the README into its translation
	@$(BIN)/python scripts/readme_figures.py

golden: setup ## Write the golden files and the tools' descriptions anew; read the diff before committing
	@$(BIN)/python -c "import sys; from signoff.tools.describe import described; sys.stdout.buffer.write(described())" > $(VENV)/descriptions.json && mv $(VENV)/descriptions.json src/signoff/tools/descriptions.json
	@$(BIN)/python -m pytest -q -n 2 --update-golden

acp-schema: setup ## Write the types of the Agent Client Protocol anew: make acp-schema [FROM=DIRECTORY]
	@$(BIN)/python scripts/generate_acp.py $(FROM)

requirements: setup ## Show which clauses are proved, open, or changed by a decision
	@$(BIN)/python -m tests.clauses

lock: $(BIN)/python ## Resolve requirements/*.in anew, with hashes
	@for name in uv run dev; do $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header requirements/$$name.in -o requirements/$$name.txt; done

clean: ## Remove what the other targets made
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .hypothesis
