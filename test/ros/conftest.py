# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Worlds for tests over real DDS: isolated, shared by a module, gone without a trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
import gc
import os
from pathlib import Path
import sys
import time
from typing import Any, TYPE_CHECKING
import uuid

import pytest

sys.path.insert(0, str(Path(__file__).parent))

if TYPE_CHECKING:
    from ros_world import World

    MakeWorld = Callable[..., World]


@pytest.fixture(scope='session')
def _run() -> Iterator[str]:
    """Mark every process that descends from this one, and see them all gone at the end."""
    from ros_world import MARK, processes_of

    run = os.environ[MARK] = uuid.uuid4().hex
    yield run
    del os.environ[MARK]
    assert processes_of(run) == {}


@pytest.fixture(scope='module')
def make_world(_run: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeWorld]:
    """
    Return a maker of worlds, each on a domain that nobody else uses; they end with the module.

    Then no process of theirs is left, no port of their domains is held, and no shared memory was
    ever used.
    """
    from ros_world import ports_of, processes_of, reserved_domain, shared_memory_of, World

    from boundary_env_ros.ros.processes import isolated_environment

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
    # a cycle, with its state machine.
    gc.collect()
    for domain in domains:
        _gone(lambda domain=domain: ports_of([os.getpid()], domain), f'ports of domain {domain}')


def _gone(left: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + 5.0
    while left():
        assert time.monotonic() < deadline, f'Expect no {what} left, actually: {left()}.'
        time.sleep(0.02)
