# All commands of marslab; `make` alone lists them. Works with GNU make 3.81 and newer.
#
# Paths are relative and programs run as modules of .venv's Python: the scripts in .venv/bin begin with an absolute path
# and break where a folder's name has a blank. PIP_* settings (PIP_EXTRA_INDEX_URL, ...) reach pip through the environment.

PYTHON ?= python3
export PYTHON
VENV_PYTHON = .venv/bin/python

.PHONY: help setup reproduce test test-slow lab figures lint bench clean clean-results

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' Makefile
	@echo "PYTHON=python3.12 chooses the Python (3.11 to 3.14) that .venv is made with; ARGS=... is passed on to the command."

reproduce: setup  ## run the quick experiments, draw the figures, print the ledger, write figures/index.html
	@$(VENV_PYTHON) -m marslab reproduce $(ARGS)

test: setup  ## run the quick tests
	@$(VENV_PYTHON) -m pytest -m "not slow" $(ARGS)

test-slow: setup  ## run the tests that need more time
	@$(VENV_PYTHON) -m pytest -m slow $(ARGS) || test $$? -eq 5  # 5: there are no slow tests

lab: setup  ## open the notebooks in JupyterLab, on this computer only
	@notebook=notebooks/00_tour.ipynb; test -f $$notebook || notebook=notebooks; \
	test "$$(id -u)" -ne 0 || root=--allow-root; \
	exec $(VENV_PYTHON) -m jupyterlab --ip=127.0.0.1 $$root $$notebook $(ARGS)

figures: setup  ## draw all figures from the newest results; FULL=1: the full runs
	@$(VENV_PYTHON) -m marslab figure $(if $(FULL),--full) $(ARGS)

lint: setup  ## check style and format
	@$(VENV_PYTHON) -m ruff check .
	@$(VENV_PYTHON) -m ruff format --check .

bench: setup  ## time the engine beside its rivals, which get an environment of their own (.bench-venv)
	@$(VENV_PYTHON) bench/run.py $(ARGS)

setup:  ## make .venv from the pins (the others do so by themselves)
	@sh tools/setup.sh

clean:  ## remove .venv, caches and drawn figures; computed results stay
	@rm -rf .venv .bench-venv build marslab.egg-info .pytest_cache .ruff_cache .hypothesis
	@find . -name .git -prune -o \( -name __pycache__ -o -name .ipynb_checkpoints \) -prune -exec rm -rf {} +
	@test ! -d figures || find figures -type f \( -name '*.png' -o -name '*.pdf' -o -name '*.svg' -o -name '*.html' \) ! -name idea.png -exec rm -f {} +
	@echo "Results in .marslab are kept: make clean-results removes them."

clean-results:  ## remove the computed results in .marslab (a store named by MARSLAB_STORE is left alone)
	@rm -rf .marslab
