# The two commands: `make demo` runs the shipped training job, `make test` passes the tests.
# Both set up .venv first. PYTHON=/path/to/python3 picks the interpreter, VENV=dir the folder.
VENV ?= .venv
BIN = $(VENV)/bin
PEERS ?= $(CURDIR)/.venv-peers
export VENV PYTHON
# Tests wait for processes a part of their time: one worker more than there are cores.
WORKERS ?= $(shell echo $$(($$(nproc) + 1)))
# Byte code of the tests is kept, whatever the user's shell says: compiling them takes ten seconds a worker.
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

.PHONY: demo test check static battery bless generate pictures bench clean demo-env dev-env

demo: demo-env
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh scripts/demo.sh

test: dev-env
	$(PYTEST) -m "not battery" --durations=20 $(ARGS)

# What CI runs: formatting, lint, types, import rules, generated files, then the tests.
check: static test

static: dev-env
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m dsec_cli.code.knowledge.generate --check
	$(BIN)/python -m dsec_cli.contract.generate --check
	$(BIN)/python -m dsec_cli.lint.generate --check
	$(BIN)/python -m dsec_cli.reference --check

# What takes longer: the pages of the documentation, whole jobs, fuzzing, chaos, kill loops, and each property
# with new examples.
# ARGS="--part 3/12" takes a part, ARGS="--seconds 900" starts no test later than that.
battery: dev-env
	DSEC_TEST_EXAMPLES=new $(PYTEST) -m "battery or hypothesis" $(ARGS)

# Rewrites golden files; read the diff like code.
bless: dev-env
	DSEC_BLESS=1 $(BIN)/python -m pytest -q -n 0 -k "golden or seed" tests $(ARGS) || true
	git --no-pager diff --stat -- tests/golden

generate: dev-env
	$(BIN)/python -m dsec_cli.code.knowledge.generate
	$(BIN)/python -m dsec_cli.contract.generate
	$(BIN)/python -m dsec_cli.lint.generate
	$(BIN)/python -m dsec_cli.reference

# The pictures of the README: runs the example and asks Chromium to draw its page.
pictures: demo-env dev-env
	$(BIN)/python scripts/pictures.py

# Each prints its targets; one that is missed does not keep the others from being measured.
bench: dev-env
	$(BIN)/python -m compileall -q dsec_cli runtime
	@missed=; for one in "lint.py --peers $(PEERS) --install" "graph.py --peers $(PEERS) --install" \
	    "top.py --peers $(PEERS) --install --check" executor.py worker_call.py editor.py schedule.py placement.py \
	    simulate.py marks.py netcheck.py "state.py --peers $(PEERS)-state --install" "plan.py --check" \
	    "store.py --peers $(PEERS) --install --check" "fingerprint.py --check" \
	    "snapshot.py --check"; do \
	    echo "== $$one"; $(BIN)/python benchmarks/$$one || missed="$$missed $${one%% *}"; \
	done; test -z "$$missed" || { echo "targets missed:$$missed" >&2; exit 1; }

demo-env:
	@sh scripts/environment.sh demo

dev-env:
	@sh scripts/environment.sh dev

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .hypothesis .import_linter_cache
