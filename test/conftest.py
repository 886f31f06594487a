# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What holds for all tests: how Hypothesis searches, and that a process can be interrupted."""

from __future__ import annotations

from collections.abc import Generator
import os
import signal
import tempfile
from typing import Any

from hypothesis import HealthCheck, settings
import pytest

from boundary_env_ros.errors import MissingDependency

#: A property that a machine under load checks slowly is still the same property.
_COMMON: dict[str, Any] = {'deadline': None, 'suppress_health_check': list(HealthCheck)}
# The same cases every time, so that a change is judged and not its luck. `make nightly` looks for
# others: --hypothesis-profile=random.
settings.register_profile('fixed', derandomize=True, max_examples=25, **_COMMON)
settings.register_profile(
    'random', max_examples=600, stateful_step_count=120, print_blob=True, **_COMMON
)
settings.load_profile('fixed')


def pytest_configure(config: pytest.Config) -> None:
    """
    Let processes of the tests be interrupted.

    A shell that runs the tests in the background ignores Ctrl-C, and they would inherit that.
    """
    # A fault is to end a test with its traceback, in commands of other processes too.
    os.environ.setdefault('BOUNDARY_ENV_TRACEBACK', '1')
    # Where runs are left that name no folder: not where the tests are started.
    os.environ.setdefault('BOUNDARY_ENV_RUNS', tempfile.mkdtemp(prefix='boundary_env_runs_'))
    # Nor do they meet the keys of boundaries that the user runs.
    os.environ['ROS_HOME'] = tempfile.mkdtemp(prefix='boundary_env_ros_home_')
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Generator[None, object, object]:
    """
    Skip what needs an extra that is not installed, as `colcon test` in a workspace may.

    Where all of them are, such a skip fails the run: `.ci/allowed_skips.txt` does not list it.
    """
    try:
        return (yield)
    except MissingDependency as error:
        pytest.skip(f'lacks an extra: {error}')
