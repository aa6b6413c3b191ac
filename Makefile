# make demo   install, then find scenes without a cube in which the shipped model is sure of exactly one
# make test   install, then run every check, and the tests but the slow and the nightly ones
# make test-all  the same with all tests
# make wheel  install, then build wheels and sdists into dist/
# make docs   install, then build the documents as a site in site/; a warning is an error
# make develop  install what the checks and tests need
VENV := .venv
BIN := $(VENV)/bin
# The Python of .venv, or the first for which pip installs Blender. It has to start: pyenv has names that do not.
starts = $(if $(shell $(1) -c "print(1)" 2>/dev/null),$(1))
PYTHON ?= $(or $(wildcard $(BIN)/python),$(call starts,python3.13),$(call starts,python3.11))
# make demo TORCH=cpu   torch without CUDA, for a machine without an NVIDIA GPU: some 4 GB less
TORCH ?=
SUDO := $(if $(filter 0,$(shell id -u)),,sudo )
INSTALL := $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt
SDIST := $(abspath $(BIN))/python -c "import setuptools.build_meta as build, sys; build.build_sdist(sys.argv[1])"

.PHONY: demo test test-all check tests bench wheel docs develop clean

demo: $(VENV)/.base
	$(BIN)/trex find queries/demo.toml --out runs/demo

test: check tests

develop: $(VENV)/.dev

# PYTHONDONTWRITEBYTECODE: compiling the tests anew costs each process some 10 s
test-all: check
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 3 --dist worksteal -m "nightly or not nightly"

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

tests: $(VENV)/.dev
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 3 --dist worksteal -m "not nightly and not slow"

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks.run

# build/ first: setuptools would put modules into the wheel that an older build left there
wheel: $(VENV)/.dev
	rm -rf build dist *.egg-info worlds/build worlds/*.egg-info
	$(BIN)/python -m pip wheel --disable-pip-version-check --no-deps --no-build-isolation -w dist . ./worlds
	$(SDIST) dist
	cd worlds && $(SDIST) ../dist

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

$(VENV)/.base: pyproject.toml constraints.txt
	@command -v "$(PYTHON)" >/dev/null || { echo "$(or $(PYTHON),Python 3.13 or 3.11) is missing: on Debian 12 and 13, $(SUDO)apt-get install -y python3-venv brings one; or run make PYTHON=/path/to/python3.13 (docs/start/install.md)" >&2; exit 2; }
	$(PYTHON) trex/doctor/preflight.py
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV): about $(if $(filter cpu,$(TORCH)),2.4,6) GB (docs/start/install.md)" >&2
	$(if $(filter cpu,$(TORCH)),$(INSTALL) torch --index-url https://download.pytorch.org/whl/cpu)
	$(INSTALL) -e .
	-$(BIN)/trex doctor
	touch $@

$(VENV)/.dev: $(VENV)/.base
	$(INSTALL) -e '.[dev]'
	touch $@

$(VENV)/.docs: $(VENV)/.base
	$(INSTALL) -e '.[docs]'
	touch $@

clean:
	rm -rf $(VENV) build dist site *.egg-info worlds/build worlds/*.egg-info
