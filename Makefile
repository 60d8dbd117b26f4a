# The same targets serve a person and .ci/run. `make help` lists them.

PYTHON ?= python3
HOST ?= 127.0.0.1
PORT ?= 8000
URL ?= http://$(HOST):$(PORT)
VENV := .venv
BIN := $(VENV)/bin

# Nobody has configured anything: a developer's machine. A deployment sets SECRET_KEY (see README.md).
ifeq ($(SECRET_KEY)$(DEBUG),)
export DEBUG := 1
endif

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run test bench chaos screens scenarios lint messages install reset e2e-deps postgres

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: install ## Install, set up the database with a demo, and serve on http://127.0.0.1:8000 (HOST, PORT)
	$(BIN)/python manage.py migrate --verbosity 0
	$(BIN)/python manage.py seed_demo
	@echo "Switchback is on http://$(HOST):$(PORT)/ - stop it with Ctrl+C."
	@exec $(BIN)/python -m uvicorn chatapp.asgi:application --host $(HOST) --port $(PORT) \
		--lifespan on --timeout-graceful-shutdown 5

test: $(VENV)/.installed-test e2e-deps postgres ## Install what is needed and run all tests, those in a browser included
	$(BIN)/python -m pytest -n 3 --ignore tests/e2e
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder tests/e2e
	$(BIN)/python -m tests.postgres $(BIN)/python -m pytest -n 3 tests/branching tests/chatapp/test_asgi.py

bench: $(VENV)/.installed-test postgres ## Measure the speed, beside what it is compared with in the same run
	$(BIN)/python -m tests.bench

scenarios: $(VENV)/.installed-test e2e-deps ## Play scenarios (FILES) in a browser on the server that runs (URL); see docs/scenarios.md
	$(BIN)/python manage.py run_scenarios $(FILES) --url $(URL)

screens: $(VENV)/.installed-test e2e-deps ## Take pictures of every page and state into docs/screens/
	$(BIN)/python -m tests.screens

chaos: $(VENV)/.installed-test ## Kill the server under load 50 times (KILLS, SEED) and see that nothing is lost
	$(BIN)/python -m tests.chaos

lint: $(VENV)/.installed-test ## Check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

messages: $(VENV)/.installed-test ## Collect the texts to translate, and compile the translations
	$(BIN)/python -m tests.messages

install: $(VENV)/.installed ## Make the virtual environment and install what the app runs on

reset: install ## Delete a developer's data: all accounts and conversations. Asks first
	$(BIN)/python manage.py reset

e2e-deps: ## See to it that there is a Chromium for the browser tests
	@.ci/need chromium

postgres: ## See to it that there is a PostgreSQL for the tests
	@.ci/need postgres

# pip comes last: where it is, the environment is whole.
$(BIN)/pip:
	@.ci/need python $(PYTHON)
	$(PYTHON) -m venv --clear $(VENV)

# The stamps: installing again only when a list of requirements has changed.
$(VENV)/.installed: requirements.txt | $(BIN)/pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

$(VENV)/.installed-test: requirements-test.txt requirements.txt | $(BIN)/pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-test.txt
	@touch $@ $(VENV)/.installed
