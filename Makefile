# Each target sets up what it needs, once: a stamp in .venv marks what is installed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
INPUTS := pyproject.toml constraints.txt

.PHONY: demo test types units setup bench docs clean

demo: $(VENV)/.run
	rm -rf runs/demo
	$(BIN)/vrba solve burgers --minutes 2 --out runs/demo

# Types are checked while tests run: each leaves a core idle at times.
test: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(MAKE) --no-print-directory --jobs 2 types units

types:
	$(BIN)/pyright

units:
	$(BIN)/pytest

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
