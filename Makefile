# Everything here needs only make and Python 3.11 or later: each target installs what it uses into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed-dev
STAMP_DEMO := $(VENV)/.installed
CODE := pebble graphs strategies bounds lab

.PHONY: demo test slow check format bench clean help
.DELETE_ON_ERROR:

help:
	@echo "make demo    attention's gradient under three strategies: a table, demo.csv and demo.png"
	@echo "make test    the tests that take a few minutes in all"
	@echo "make slow    the tests that take longer"
	@echo "make check   ruff and strict mypy"
	@echo "make format  let ruff mend layout and imports"
	@echo "make bench   benchmarks; speed and growth into benchmarks/curves.json and curves.png"
	@echo "make clean   remove what the other targets made"

demo: $(STAMP_DEMO)
	$(BIN)/pebble sweep attention-gradient:n=128,d=32 --strategy naive,flash,algorithm6 --memory 16:8192:x1.5 --out demo.csv --fresh --plot demo.png

test: $(STAMP)
	$(BIN)/python -m pytest -n auto

# Exit code 5 says that no test is marked slow, which is no failure.
slow: $(STAMP)
	$(BIN)/python -m pytest -n auto -m slow || test $$? -eq 5

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP)
	$(BIN)/python -m pytest benchmarks --benchmark-enable --benchmark-only --benchmark-json=benchmarks/speed.json
	$(BIN)/python benchmarks/curves.py

clean:
	rm -rf $(VENV) build dist demo.csv demo.csv.journal demo.png .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	find $(CODE) tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or later is needed; name one with: make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# A dependency group needs a pip newer than the one that Python 3.11 brings.
$(STAMP_DEMO): pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(STAMP): $(STAMP_DEMO)
	$(BIN)/python -m pip install --quiet --group dev
	@touch $@
