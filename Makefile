# Each target sets up everything it needs in .venv; a second run takes seconds.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: demo test lint types contracts docs pins clean

demo: $(INSTALLED)
	@$(BIN)/kvaudit demo

test: lint types contracts $(INSTALLED)
	$(BIN)/python -m pytest -q -n 2

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED)
	$(BIN)/mypy

contracts: $(INSTALLED)
	$(BIN)/lint-imports

# Writes the README's outputs and the generated pages of docs/ anew, from real runs.
docs: $(INSTALLED)
	$(BIN)/python docs/refresh.py

# Pins the newest packages that the ranges allow; then look at what `make test` says to them.
pins:
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	{ sed -n '/^#/p' constraints.txt; $(BIN)/python -m pip freeze --exclude-editable | sed 's/+cpu$$//'; } > constraints.new
	mv constraints.new constraints.txt
	@touch $(INSTALLED)

# The stamp is made last, so an install that failed or was interrupted is done again.
$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kvaudit needs Python 3.11 or newer; say which: make PYTHON=python3.11")'
	@echo "setting up $(VENV): a minute or two, once" >&2
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
