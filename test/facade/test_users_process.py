# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Where users run an environment: notebooks, threads, programs that are interrupted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
import os
from pathlib import Path
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from boundary_env_ros.facade import BoundaryEnv
from boundary_env_ros.storage.record_reader import open_records

CLEAR = {'scenario': 'clear'}
SHARED = Path('/dev/shm')


def poses(steps: int = 3, seed: int = 1) -> list[list[float]]:
    """Return what some steps of an environment of its own show."""
    with BoundaryEnv(world='embedded', pacing='lockstep') as env:
        observation, _ = env.reset(seed=seed, options=CLEAR)
        seen = [observation['pose'].tolist()]
        for _ in range(steps):
            observation, *_ = env.step(np.array([0.5, 0.2], dtype=np.float32))
            seen.append(observation['pose'].tolist())
    return seen


def test_it_runs_under_a_running_event_loop_as_in_a_notebook() -> None:
    async def cell() -> list[list[float]]:
        assert asyncio.get_running_loop().is_running()
        return poses()

    assert asyncio.run(cell()) == poses()


def test_it_runs_in_another_thread_than_the_first() -> None:
    found: list[list[list[float]]] = []
    thread = threading.Thread(target=lambda: found.append(poses()))
    thread.start()
    thread.join(timeout=60.0)
    assert found == [poses()]


def test_environments_that_are_stepped_in_turn_do_not_know_each_other() -> None:
    envs = [BoundaryEnv(world='embedded', pacing='lockstep') for _ in range(4)]
    seen: list[list[list[float]]] = [[] for _ in envs]
    for env, own in zip(envs, seen, strict=True):
        own.append(env.reset(seed=1, options=CLEAR)[0]['pose'].tolist())
    for _ in range(3):
        for env, own in zip(envs, seen, strict=True):
            own.append(env.step(np.array([0.5, 0.2], dtype=np.float32))[0]['pose'].tolist())
    for env in envs:
        env.close()
    assert seen == [poses()] * 4


def test_an_exception_of_the_users_closes_the_environment(tmp_path: Path) -> None:
    path = tmp_path / 'run'
    with (
        pytest.raises(ZeroDivisionError),
        BoundaryEnv(world='embedded', pacing='lockstep', record=path) as env,
    ):
        env.reset(seed=1)
        _ = 1 / 0
    assert [t.ending for t in open_records(path).transitions()] == ['', 'abandoned']


# Ctrl-C -----------------------------------------------------------------------------------------


def interrupted(program: str, *arguments: str) -> tuple[int, list[str], str]:
    """
    Run a program, press Ctrl-C once it says that it steps; return its code and what it said.

    No process of its session and no shared memory is left.
    """
    before = set(SHARED.iterdir())
    process = subprocess.Popen(
        [sys.executable, '-u', '-c', program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline().strip() == 'stepping'
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60.0)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    until(lambda: not of_session(process.pid), 'the end of all processes')
    assert {path for path in SHARED.iterdir() if path.name.startswith(('psm', 'sem.'))} <= before
    return process.returncode, out.splitlines(), err


def of_session(number: int) -> list[int]:
    """Return the processes of a session that are not yet gone."""
    found = []
    for entry in Path('/proc').iterdir():
        with suppress(OSError, ValueError):
            state, _, _, session = (entry / 'stat').read_text().rpartition(') ')[2].split()[:4]
            if int(session) == number and state != 'Z':
                found.append(int(entry.name))
    return found


def until(condition: Callable[[], Any], what: str) -> None:
    deadline = time.monotonic() + 20.0
    while not condition():
        assert time.monotonic() < deadline, f'Expected {what} in time.'
        time.sleep(0.02)


def test_ctrl_c_ends_the_episode_the_record_and_the_process(tmp_path: Path) -> None:
    path = tmp_path / 'run'
    code, out, err = interrupted(_ONE, str(path))
    assert code == -signal.SIGINT
    assert err.strip().endswith('KeyboardInterrupt')
    assert out == ["['MainThread']"]
    written = list(open_records(path).transitions())
    assert len(written) > 3
    assert (written[-1].ending, written[-1].truncated) == ('abandoned', True)


_ONE = """
import sys, threading
from boundary_env_ros.facade import BoundaryEnv
try:
    with BoundaryEnv(world='embedded', pacing='lockstep', record=sys.argv[1]) as env:
        env.reset(seed=1)
        for number in range(10**6):
            *_, terminated, truncated, _ = env.step(env.action_space.sample() * 0)
            if terminated or truncated:
                env.reset()
            if number == 2:
                print('stepping')
finally:
    print([thread.name for thread in threading.enumerate()])
"""


def test_ctrl_c_ends_an_asynchronous_vector_with_all_its_processes() -> None:
    code, _, err = interrupted(_VECTOR)
    assert code != 0
    assert 'KeyboardInterrupt' in err


_VECTOR = """
import gymnasium
envs = gymnasium.make_vec(
    'boundary_env_ros:boundary_env_ros/WarehouseCart-v0', num_envs=2,
    vectorization_mode='async', world='embedded', pacing='lockstep',
)
try:
    envs.reset(seed=1)
    for number in range(10**6):
        envs.step(envs.action_space.sample() * 0)
        if number == 2:
            print('stepping')
finally:
    envs.close(terminate=True)
"""
