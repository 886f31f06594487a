# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0

# make demo       run the demonstration         make demo ARGS='--episodes 3'
# make quick      lint, and the tests of core and contract, in a minute
# make test       run all tests                 make test ARGS='test/core -k hold'
# make lint       run the static checks
# make nightly    run what takes long           make nightly-mutations runs one part; see NIGHTLY
# make campaign   flood the core of the gate    make campaign ARGS='--commands 100000000 --seed 7'
# make mutations  take each invariant out: its tests must notice
# make honest     audit a thousand honest records: none may be contradicted
# make faults     break the boundary over DDS   make faults ARGS='--trials 2 --kinds kill_gate'
# make bench      measure against the bare thing  make bench ARGS='--json build/bench.json'
# make reference  make schema and tables of the contract again, from core/contract/model.py and its kind
# make docs       build the site in build/docs; a broken link is an error
# make env        only make the environment     make env PYTHON=python3.12
# make constraints  renew the versions that the environment has: .ci/constraints.txt
# make clean      remove the environment and every build
#
# Everything runs in an environment of its own, .venv, which the first call makes: real ROS 2 from
# PyPI and this package, editable, with built messages. It needs Linux x86-64, Python 3.10 to 3.13
# and a compiler. PYTHON chooses the Python, BOUNDARY_ENV_ROS_DISTRO=kilted another ROS 2.

PYTHON ?=
ARGS ?=
DISTRO := $(or $(BOUNDARY_ENV_ROS_DISTRO),jazzy)
export BOUNDARY_ENV_ROS_DISTRO := $(DISTRO)

VENV := .venv
RUN := $(VENV)/bin/python
# Tools use what the tests share.
TOOL = PYTHONPATH=$(CURDIR)/test $(RUN) -m tools.
PIP := $(RUN) -m pip --disable-pip-version-check --quiet
UV := $(VENV)/bin/uv pip install --quiet --python $(RUN)

# A stamp is written when its step has succeeded; a step that failed is done again. Another Python
# or another ROS 2 has another stamp, so that it gets a new environment.
MADE := $(VENV)/.made-$(DISTRO)-$(or $(subst /,_,$(PYTHON)),python3)
FETCHED := $(MADE)-fetched
BUILT := $(MADE)-built

EXTRAS := docs,lint,report,ros,sim,test
# What is not ROS, in the versions that these checks passed with; without the file, the newest.
CONSTRAINTS := $(addprefix --constraint ,$(wildcard .ci/constraints.txt))
INTERFACES := $(wildcard msg/*.msg srv/*.srv)
SHARED := $(shell find config launch -type f -not -name '*.pyc' 2>/dev/null)
BUILD_FILES := CMakeLists.txt package.xml pyproject.toml setup.py $(wildcard build_backend/*.py cmake/* cmake/*/* cmake/*/*/*)

# Neither a sourced workspace nor another environment may leak in.
unexport AMENT_PREFIX_PATH COLCON_PREFIX_PATH CMAKE_PREFIX_PATH PYTHONPATH PYTHONHOME
unexport LD_LIBRARY_PATH VIRTUAL_ENV _ROS_WHEELS_BOOTSTRAP_COMPLETE
# Images set it; then each of some hundred nodes of the tests would compile what it imports anew.
unexport PYTHONDONTWRITEBYTECODE
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: bench campaign clean constraints demo docs env faults help honest learners lint mutations nightly \
  quick reference test

help:
	@sed -n '4,/^$$/s/^# \{0,1\}//p' Makefile

demo: $(BUILT)
	@$(VENV)/bin/boundary-env demo $(ARGS)

# The parts of all tests, and the minutes after which each is ended. Only what is judged against the
# wall clock (timed) runs alone. All parts run, whatever the first ones said. Parts are folders, so
# that each process imports what it runs and nothing else. A test over ROS that failed beside another
# or found the machine late is decided alone; .ci/judge.py counts and tells such tests, and failures.
RESULTS := build/checks
PARTS := plain ros packaging timed
plain := 25m -n 2 --dist worksteal -m 'not nightly' test --ignore=test/ros --ignore=test/packaging
ros := 25m -n 2 --dist loadfile -m 'not (timed or nightly)' test/ros
packaging := 15m -m 'not nightly' test/packaging
timed := 10m -m 'timed and not nightly' test/ros
again := 5m
TESTS = timeout --signal=INT --kill-after=60 $(firstword $($(1))) $(RUN) -m pytest -q --durations=10 \
  --junitxml=$(RESULTS)/$(1).xml $(wordlist 2,99,$($(1)))

test: $(BUILT)
ifdef ARGS
	@$(RUN) -m pytest $(ARGS)
else
	@rm -rf $(RESULTS); failed=; \
	$(foreach part,$(PARTS),echo '== $(part)'; $(call TESTS,$(part)) || test $$? = 1 || failed=1;) \
	again=$$($(RUN) .ci/judge.py $(RESULTS) --again); \
	test -z "$$again" || { echo '== again, alone'; eval $(call TESTS,again) $$again; }; \
	$(RUN) .ci/judge.py $(RESULTS) $(PARTS) && test -z "$$failed"
endif

# The contract is read and checked in storage. What floods the core takes as long as all else, and
# what is decided again is decided by the same rules.
QUICK := $(filter-out %campaign.py %machine.py %any_contract.py %fuzz.py %replay.py,\
  $(wildcard test/core/test_*.py test/core/*/test_*.py test/storage/test_*contract*.py))

reference: $(BUILT)
	@$(RUN) .ci/write_reference.py

quick: lint
	@$(RUN) -m pytest -q -n 2 --dist worksteal -m 'not (ros or nightly)' $(QUICK)

# What takes long, in parts of at most an hour: make nightly-faults runs one of them.
NIGHTLY := docs dependencies tests properties campaign honest mutations faults bench soak learners \
  python3.10 newest kilted workspace
SEED := $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')

nightly: $(BUILT)
	@failed=; \
	for part in $(NIGHTLY); do \
	  echo "== nightly-$$part"; timeout --kill-after=60 60m $(MAKE) nightly-$$part || failed="$$failed $$part"; \
	done; \
	test -z "$$failed" || { echo "Failed:$$failed. One alone: make nightly-<part>"; exit 1; }

# What `make test` leaves out.
nightly-tests: $(BUILT)
	@$(RUN) -m pytest -m nightly $(ARGS)

# The same properties as in `make test`, with cases of their own every night.
nightly-properties: $(BUILT)
	@$(RUN) -m pytest -q -n 2 --dist worksteal -m 'not (ros or packaging)' \
	  --hypothesis-profile=random $(ARGS)

nightly-campaign: $(BUILT)
	@echo 'Seed: $(SEED)' && $(TOOL)gate_campaign --commands 10000000 --seed $(SEED)

nightly-honest: $(BUILT)
	@echo 'Seed: $(SEED)' && $(TOOL)honest_records --seed $(SEED)

nightly-docs: docs

nightly-mutations: mutations

nightly-faults: $(BUILT)
	@echo 'Seed: $(SEED)' && $(TOOL)faults --trials 10 --seed $(SEED)

nightly-bench: bench

nightly-soak: $(BUILT)
	@$(RUN) -m bench.recording_soak --duration 1200

# What the environment is made of, as CycloneDX in build/nightly-dependencies/sbom.json, and whether
# PyPI knows a vulnerability of a version in .ci/constraints.txt. Without a network the second fails:
# what could not be looked up is no clean bill. ROS 2's wheels are in the first alone.
nightly-dependencies: TOOLS := build/nightly-dependencies/tools
nightly-dependencies: $(BUILT)
	@rm -rf build/$@ && $(VENV)/bin/uv venv --quiet $(TOOLS) && \
	UV_SYSTEM_CERTS=1 $(VENV)/bin/uv pip install --quiet --python $(TOOLS)/bin/python cyclonedx-bom pip-audit && \
	$(TOOLS)/bin/cyclonedx-py environment --pyproject pyproject.toml --output-file build/$@/sbom.json $(RUN) && \
	$(TOOLS)/bin/pip-audit --strict --disable-pip --no-deps --progress-spinner off -r .ci/constraints.txt

# What policies learn with, and films are made with: gigabytes that no other check needs, in a clone
# with an environment of its own of the Python that LeRobot asks for. PyTorch's build for the CPU
# where there is no GPU (uv asks the machine); from an index without it the default, which brings CUDA.
nightly-learners:
	@rm -rf build/$@ && git clone -q . build/$@ && \
	PATH="$${PATH#*:}" $(MAKE) -C build/$@ learners PYTHON=$(or $(PYTHON),python3.12)

learners: $(BUILT)
	@fetch() { $(UV) "$$@" duckdb 'lerobot[smolvla]' moviepy torchrl \
	  --requirements pyproject.toml --extra sb3 --extra lerobot --extra rerun; }; \
	{ fetch --torch-backend "$${UV_TORCH_BACKEND:-auto}" || \
	  { echo "That was PyTorch's own index; now only the configured one"; fetch; }; } && \
	$(UV) --no-deps --editable lerobot_robot_boundary && \
	$(RUN) -m pytest -q test/facade test/docs test/evidence/test_export_loaders.py \
	  test/evidence/test_rerun_recording.py test/lerobot_robot test/ros/test_lerobot_over_ros.py

# All tests, in a clone with an environment of its own: with another Python,
nightly-python3.%:
	@$(call ELSEWHERE,$@) PYTHON=python3.$*

# with the newest Python and what a user gets who installs today,
nightly-newest:
	@$(call ELSEWHERE,$@,&& git -C build/$@ rm -q .ci/constraints.txt) PYTHON=python3.13

# and with another ROS 2, on the Python of its Ubuntu.
nightly-kilted:
	@$(call ELSEWHERE,$@) BOUNDARY_ENV_ROS_DISTRO=kilted PYTHON=$(or $(PYTHON),python3.12)

# `colcon test` with Python and versions of Ubuntu 24.04 and nothing that package.xml does not
# declare; no nodes: wheels lack tf2_msgs and launch_ros.
UBUNTU := click==8.1.6 hypothesis==6.98.15 Jinja2==3.1.2 jsonschema==4.10.3 numpy==1.26.4 \
  pytest==7.4.4 pytest-timeout==2.2.0 PyYAML==6.0.1
nightly-workspace: $(BUILT)
	@rm -rf build/$@ && mkdir -p build/$@/src && git clone -q . build/$@/src/boundary_env_ros && \
	$(VENV)/bin/uv venv --quiet --python python3.12 build/$@/env && \
	BOUNDARY_ENV_ROS_INTERFACES=off UV_SYSTEM_CERTS=1 $(VENV)/bin/uv pip install --quiet \
	  --python build/$@/env/bin/python 'setuptools<80' wheel mcap-ros2-support $(UBUNTU) \
	  $$($(RUN) build_backend/ros_distributions.py) '.[ros,sim]' && \
	$(VENV)/bin/uv pip uninstall --quiet --python build/$@/env/bin/python boundary_env_ros && \
	cd build/$@ && export AMENT_PREFIX_PATH=$$PWD/env VIRTUAL_ENV=$$PWD/env PATH=$$PWD/env/bin:$$PATH && \
	colcon build --base-paths src --event-handlers console_stderr- && \
	colcon test --base-paths src --ctest-args -E '^ros$$' && colcon test-result --verbose

ELSEWHERE = rm -rf build/$(1) && git clone -q . build/$(1) $(2) && \
  PATH="$${PATH\#*:}" $(MAKE) -C build/$(1) test

campaign: $(BUILT)
	@$(TOOL)gate_campaign $(ARGS)

honest: $(BUILT)
	@$(TOOL)honest_records $(ARGS)

mutations: $(BUILT)
	@$(TOOL)mutations $(ARGS)

docs: $(BUILT)
	@$(RUN) -m sphinx -q -W --keep-going -n -b html doc build/docs && echo build/docs/README.html

# All of them, whatever the first one says.
lint: $(BUILT)
	@failed=; \
	check() { echo "== $$*"; "$$@" || failed="$$failed $$1"; }; \
	cd $(CURDIR) && \
	check ruff check . && \
	check ruff format --check --quiet . && \
	check mypy && \
	check lint-imports --no-logo && \
	check python .ci/check_metadata.py && \
	check python -m tools.mutations --check && \
	test -z "$$failed" || { echo "Failed:$$failed"; exit 1; }

# Two hosts need root, iproute2 and /dev/net/tun; without these their kinds are skipped, and say so.
faults: $(BUILT)
	@$(TOOL)faults $(ARGS)

bench: $(BUILT)
	@test -d bench || { echo 'The folder bench/ is missing.'; exit 1; }
	@$(RUN) -m bench $(ARGS)

env: $(BUILT)

# For every Python that is supported, by markers. ROS 2 is pinned in build_backend/.
constraints: $(FETCHED)
	@printf '%s\n' cmake lark-parser ninja wheel | BOUNDARY_ENV_ROS_INTERFACES=off UV_SYSTEM_CERTS=1 \
	  $(VENV)/bin/uv pip compile --quiet --upgrade --universal --python-version 3.10 --no-annotate \
	  --custom-compile-command 'make constraints' --extra docs --extra lint --extra report --extra sim \
	  --extra test pyproject.toml - --output-file .ci/constraints.txt
	@git diff --stat .ci/constraints.txt

clean:
	rm -rf $(VENV) build lerobot_robot_boundary/build dist install log .hypothesis .mypy_cache .pytest_cache .ruff_cache
	rm -rf *.egg-info .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# PATH as the user has it: the Python of an environment that is about to be replaced is none.
$(MADE): PATH := $(patsubst $(CURDIR)/$(VENV)/bin:%,%,$(PATH))
$(MADE):
	@python=$$(.ci/check-machine $(PYTHON)) && \
	  echo "[1/3] New environment in $(VENV), of $$($$python -V) ($$python)" && \
	  rm -rf $(VENV) && $$python -m venv $(VENV)
	@touch $@

$(FETCHED): $(MADE) setup.py pyproject.toml build_backend/ros_distributions.py \
  $(wildcard .ci/constraints.txt)
	@echo '[2/3] ROS 2 $(DISTRO), MuJoCo and tools from PyPI (about 600 MB unpacked; 1 to 3 minutes)'
	@$(PIP) install $(CONSTRAINTS) uv
	@tools="setuptools>=68 wheel $$($(RUN) build_backend/ros_distributions.py)" || exit 1; \
	  export BOUNDARY_ENV_ROS_INTERFACES=off UV_SYSTEM_CERTS=1; \
	  fetch() { "$$@" $(CONSTRAINTS) $$tools && "$$@" $(CONSTRAINTS) --editable '.[$(EXTRAS)]'; }; \
	  fetch $(UV) || { echo 'That was uv; now pip, which is slower but knows pip.conf'; fetch $(PIP) install; }
	@touch $@

$(BUILT): $(FETCHED) $(INTERFACES) $(SHARED) $(BUILD_FILES)
	@echo '[3/3] Building $(words $(INTERFACES)) messages and services (1 to 2 minutes if they changed)'
	@BOUNDARY_ENV_ROS_INTERFACES=on $(PIP) install --no-build-isolation --no-deps --editable .
	@touch $@
