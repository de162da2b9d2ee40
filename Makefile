# Each target sets up what it needs, once: a stamp in .venv marks what is installed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
INPUTS := pyproject.toml constraints.txt

.PHONY: demo test test-all lint types units setup bench docs clean

demo: $(VENV)/.run
	rm -rf runs/demo
	$(BIN)/vrba solve burgers --minutes 2 --out runs/demo

# Lint, types, import rules and all tests but those marked slow. Types are checked while
# tests run: each leaves a core idle at times.
test: $(VENV)/.test
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory --jobs 2 types units

# Only the tests marked slow: processes that are killed, the paper, peers, the browser.
test-all: $(VENV)/.test
	$(BIN)/pytest -m slow

lint:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types:
	$(BIN)/pyright

units:
	$(BIN)/pytest -m "not slow"

setup: $(VENV)/.test

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

docs: $(VENV)/.test
	$(BIN)/python docs/write_reference.py

clean:
	rm -rf $(VENV) .jax_cache

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "vrba needs Python 3.11 or newer; say which with: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.run: $(VENV)/.created $(INPUTS)
	@echo "Installing vrba into $(VENV) ..."
	$(PIP) --editable .
	@touch $@

$(VENV)/.bench: $(VENV)/.created $(INPUTS)
	@echo "Installing vrba and the peers it is measured against into $(VENV) ..."
	$(PIP) --editable '.[bench]'
	@touch $@

$(VENV)/.test: $(VENV)/.created $(INPUTS)
	@echo "Installing vrba and its test tools into $(VENV) ..."
	$(PIP) --editable '.[bench,test]'
	@touch $@
