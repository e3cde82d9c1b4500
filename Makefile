# Every command of the project; README.md says which ones a user needs.
SHELL := /bin/bash
PY := .venv/bin/python
FAST := tests/unit tests/plans tests/properties tests/loop

.PHONY: setup check test bench demo engine engine-stop images lock clean

setup: .venv/.ready

.venv/.ready: requirements-dev.txt pyproject.toml
	python3 -m venv .venv
	$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
	$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch .venv/.ready

check: setup
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/lint-imports --no-cache
	.venv/bin/mypy
	$(PY) -m tests.sizes
	$(PY) -m pytest -q -n 2 --dist loadgroup $(FAST)

# Everything that this machine can run. What is skipped is listed at the end with its reason; parts named in
# STEWARD_REQUIRE (docker,llamacpp,compose,registry,nvml) fail instead of being skipped.
test: check
	STEWARD_STORIES=200 $(PY) -m pytest -q -n 2 tests/properties/test_rig_properties.py
	$(PY) -m pytest -q -n 2 tests --ignore=tests/unit --ignore=tests/plans --ignore=tests/properties --ignore=tests/loop --ignore=tests/bench

bench: setup
	$(PY) -m tests.bench

demo: setup
	@.venv/bin/steward demo

# Prints the DOCKER_HOST of a private Docker engine with the test images; starts it when it does not run.
engine:
	@bash tests/engine/up.sh

engine-stop:
	@bash tests/engine/down.sh

images:
	@bash tests/engine/images.sh

# Pins every dependency with its hashes, anew from pyproject.toml (needs pip-tools in the venv).
LOCK := .venv/bin/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras --no-emit-index-url \
	--no-emit-find-links --no-emit-trusted-host --no-header --no-annotate
lock:
	$(LOCK) -o requirements.txt pyproject.toml
	$(LOCK) --extra dev -o requirements-dev.txt pyproject.toml

clean:
	rm -rf .venv dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
