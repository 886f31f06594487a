# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Worlds for tests over real DDS: isolated, shared by a module, gone without a trace."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
import gc
import os
import time
from typing import Any, TYPE_CHECKING
import uuid

import pytest

if TYPE_CHECKING:
    from support.ros_world import World

    MakeWorld = Callable[..., World]


@pytest.fixture(scope='session')
def _run() -> Iterator[str]:
    """Mark every process that descends from this one, and see them all gone at the end."""
    from support.ros_world import MARK, processes_of

    run = os.environ[MARK] = uuid.uuid4().hex
    yield run
    del os.environ[MARK]
    _gone(lambda: processes_of(run), 'processes')


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """
    Say of a failure against the wall clock whether this machine could have done better.

    Where a process waited for a core longer than the bounds of the tests assume, nothing is known:
    such a test is skipped as *inconclusive*. `make test` runs it once more, alone, and
    `.ci/judge.py` counts how many stay so.
    """
    if pyfuncitem.get_closest_marker('timed') is None:
        return (yield)
    from boundary_env_ros.errors import BoundaryError
    from support.lateness import lateness

    with lateness(pyfuncitem.funcargs['_run']) as machine:
        try:
            result = yield
        except (AssertionError, BoundaryError, pytest.fail.Exception) as error:
            failure = error
        else:
            return result
    if not machine.explains(failure):
        raise failure
    words = str(failure).splitlines() or [type(failure).__name__]
    pytest.skip(f'inconclusive: a process waited {machine.worst:.2f} s for a core; {words[0]}')


@pytest.fixture(scope='module')
def make_world(_run: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeWorld]:
    """
    Return a maker of worlds, each on a domain that nobody else uses; they end with the module.

    Then no process of theirs is left, no port of their domains is held, and no shared memory was
    ever used.
    """
    from boundary_env_ros.ros.processes import isolated_environment
    from support.ros_world import ports_of, processes_of, reserved_domain, shared_memory_of, World

    domains = []
    with ExitStack() as stack:
        previous = dict(os.environ)

        def restore() -> None:
            os.environ.clear()
            os.environ.update(previous)

        stack.callback(restore)

        def make(**arguments: Any) -> World:
            domain = stack.enter_context(reserved_domain())
            domains.append(domain)
            os.environ.update(isolated_environment(domain))
            folder = tmp_path_factory.mktemp('world')
            return stack.enter_context(World(folder, domain, **arguments))

        yield make
        shared = shared_memory_of([*processes_of(_run), os.getpid()])
        assert not {name for name in shared if 'fastrtps' in name or 'fastdds' in name}
        stack.close()
    _gone(lambda: processes_of(_run), 'processes')
    # A lifecycle node of this process holds its participant until it is collected: it is part of
    # a cycle, with its state machine, and froze itself when it was activated.
    gc.unfreeze()
    for domain in domains:
        _gone(
            lambda domain=domain: (gc.collect(), ports_of([os.getpid()], domain))[1],
            f'ports of domain {domain}',
        )


def _gone(left: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + 20.0
    while left():
        assert time.monotonic() < deadline, f'Expect no {what} left, actually: {left()}.'
        time.sleep(0.02)
