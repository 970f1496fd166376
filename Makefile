# One command for each thing a person wants. `make help` lists them.
SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
RUN_READY := $(VENV)/.stamp-run
TEST_READY := $(VENV)/.stamp-test
FUZZ_READY := $(VENV)/.stamp-fuzz

.DEFAULT_GOAL := help
.PHONY: help run chat test check format bench fuzz crash lock clean

help: ## list the commands
	@printf 'Gerbang: the trusted runtime between a language model and everything it could change or leak.\n\n'
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(RUN_READY) ## set up, then show the main job on a sample workspace (offline once set up)
	@$(BIN)/gerbang demo

chat: $(RUN_READY) ## talk to the embedded model
	@$(BIN)/gerbang chat

test: $(TEST_READY) ## set up and run all tests
	@$(BIN)/python -m pytest -n auto --dist loadfile

check: $(TEST_READY) ## lint, format, types, layers, documents
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tools/check_docs.py
	$(BIN)/python tools/gen_dialect_table.py --check
	$(BIN)/python tools/check_docstrings.py

format: $(TEST_READY) ## put the code into the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(TEST_READY) ## measure, and write docs/benchmarks.md
	$(BIN)/python tools/bench.py

fuzz: $(FUZZ_READY) ## fuzz each target for SECONDS_EACH (default 60), and run 20 times as many property examples
	@for target in fuzz/*_target.py; do \
		echo "fuzz: $$target"; \
		$(BIN)/python $$target -max_total_time=$(or $(SECONDS_EACH),60) -rss_limit_mb=2048 || exit 1; \
	done
	@GERBANG_FUZZ=20 $(BIN)/python -m pytest tests/parse/render/test_round_trip.py

crash: $(TEST_READY) ## kill processes a thousand times on each store, and check what is left (takes long)
	$(BIN)/python -m tests.crash.long

lock: ## take newer versions of what we install (needs uv)
	tools/lock.sh

clean: ## remove the environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .import_linter_cache .hypothesis .pytest_cache build dist
	find src tests tools examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(RUN_READY): requirements/run.txt requirements/embedded.txt pyproject.toml tools/setup.sh
	@tools/setup.sh run
	@touch $@

$(TEST_READY): $(RUN_READY) requirements/test.txt requirements/test-data.txt
	@tools/setup.sh test
	@touch $@

$(FUZZ_READY): $(TEST_READY) requirements/fuzz.txt
	@tools/setup.sh fuzz
	@touch $@
