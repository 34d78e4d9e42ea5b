# `make run` shows a demo; `make test` runs the tests.
PYTHON ?= python3
BIN := .venv/bin
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Where the environment forbids it, each of a thousand processes would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup run test check counted driven lint schema docs pictures site package bench crash slow hosts holdtest matrix server mutate lock system clean

setup: .venv/ready

# uv needs a quarter of the processor time of pip, which comes after it if uv finds no index: uv does
# not know the settings of pip.
.venv/ready: pyproject.toml requirements.lock
	@echo "Setting up in .venv; the first time this takes a minute …"
	@$(PYTHON) -m venv .venv
	@awk '/^[^ ]/ { wanted = /^uv==/ } wanted' requirements.lock > .venv/uv.lock
	@$(PIP) --require-hashes --only-binary :all: -r .venv/uv.lock \
		&& $(BIN)/uv pip install --quiet --system-certs --python $(BIN)/python --require-hashes -r requirements.lock \
		|| $(PIP) --require-hashes -r requirements.lock
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

run: setup
	@$(BIN)/gate demo

test: setup system check

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

ITS_CACHE = -o cache_dir=.pytest_cache/$@

# The make of macOS (3.81) has no --output-sync, which keeps the lines of two jobs apart.
WHOLE_LINES := $(if $(filter output-sync,$(.FEATURES)),-Oline)

check: setup
	rm -rf .coverage .coverage.* .pytest_cache
	$(MAKE) -j3 $(WHOLE_LINES) lint counted driven
	$(BIN)/coverage report --include='src/gatebell/domain/*' --skip-covered --fail-under=100
	$(BIN)/coverage report --include='src/gatebell/services/*' --skip-covered --fail-under=95

# Compiles changed tests once, not in each worker; if it fails, the next one says why.
.venv/collected: .venv/ready $(shell find tests -name '*.py')
	-$(BIN)/pytest --collect-only -p no:cacheprovider $(DRIVEN) >/dev/null
	touch $@

# In one process, with line coverage.
counted:
	$(BIN)/coverage run -m pytest $(ITS_CACHE) tests/contract tests/domain tests/service

# Real programs, and the tests of the project's own files, which need no coverage.
# More workers than processors, because these tests mostly wait.
# The files run in this order: short ones come last, so that all workers end together.
DRIVEN = tests/agents tests/crash tests/security tests/journeys tests/test_*.py tests/faces
driven: .venv/collected
	$(BIN)/pytest -n 5 --dist loadfile --no-loadscope-reorder $(ITS_CACHE) $(DRIVEN)

# Programs that some tests need. If one cannot be installed, its tests are skipped with a message.
system:
	@updated=; for wanted in strace tmux patch jq npm git-lfs chromium chromium-headless-shell dunst dbus-run-session:dbus notify-send:libnotify-bin Xvfb:xvfb xdotool zenity systemd-analyze:systemd; do \
	  program=$${wanted%%:*}; package=$${wanted##*:}; \
	  command -v $$program >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	    && { test "$$updated" || { apt-get update -qq && updated=1; }; } \
	    && apt-get install -y -qq $$package >/dev/null; } \
	  || echo "!! $$program is missing: tests that need it will be skipped"; done
	@$(PYTHON) -c 'import tkinter' 2>/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	  && apt-get install -y -qq python3-tk >/dev/null && $(PYTHON) -c 'import tkinter'; } \
	  || echo "!! this Python has no tkinter: tests of windows will be skipped"

# After a new migration: the script that makes new stores.
schema: setup
	$(BIN)/python -m tests.support.new_schema

docs: setup
	$(BIN)/python docs/reference.py
	$(BIN)/python docs/wrap.py

# Screenshots and a recording of the web inbox in a real browser; look at them before you commit them.
pictures: setup
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/recording.py

# The pages as a site, in build/site; it fails if a page would load anything from elsewhere.
site: setup
	$(BIN)/python docs/site.py

# The wheel and the sdist in dist/, installed in every way that README and docs name: five minutes.
package: setup
	$(BIN)/python deploy/try_packages.py

# Everything, or some: make bench NAMES=server
bench: setup
	$(BIN)/python -m bench $(NAMES)

STORM = tests/crash/test_crash_postgres.py
CHAOS = tests/crash/test_crash_engines.py
# Every crash point, the planted bugs, a thousand kills, the long model test, 10,000 histories with
# rules, a thousand restarts of PostgreSQL, and every engine on two hosts under overlapping faults:
# takes an hour.
crash: setup system
	$(BIN)/python -m pytest -n 3 tests/crash tests/contract/test_model.py \
		tests/service/test_standing_rules.py -p no:cacheprovider --whole \
		--ignore $(STORM) --ignore $(CHAOS)
	# Alone, so that PostgreSQL starts again quickly, and that the progress is shown.
	$(BIN)/python -m pytest $(STORM) -p no:cacheprovider --whole
	$(BIN)/python -m pytest $(CHAOS) -p no:cacheprovider --whole

# Answers that come after minutes, every broken gate, many races, every attack through git behind
# both layers: takes half an hour. The results are in tests/agents/slow.txt and docs/fail-closed.md.
slow: setup system
	$(BIN)/python -m pytest tests/agents tests/security/test_git_isolation.py --whole

# Every host on the PATH, or in the cache of the tests, with every broken gate.
CACHED = $${XDG_CACHE_HOME:-$$HOME/.cache}/gatebell-tests
holdtest: setup
	PATH="$$(printf '%s:' $(CACHED)/*/node_modules/.bin)$$PATH" $(BIN)/gate holdtest --output docs/hold-test.md

# The gates of gemini, opencode and copilot with the real programs from npm (640 MB).
hosts: setup system
	$(BIN)/python -m pytest tests/hosts -p no:cacheprovider

# The cases of all folders that `make test` leaves out.
matrix: setup system
	$(BIN)/python -m pytest -n 3 --dist loadfile -p no:cacheprovider -m matrix

# Tests of faces a second time, with a server between the commands and the store.
# tests/faces/not_through_server.txt has those that are left out, with reasons.
server: setup system
	GATE_TESTS_THROUGH=server $(BIN)/python -m pytest -n 3 --dist loadfile -p no:cacheprovider tests/faces

mutate: setup
	$(BIN)/python -m tests.mutation

lock:
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --group dev --all-extras pyproject.toml -o requirements.lock

clean:
	rm -rf .venv build dist .coverage .coverage.*
