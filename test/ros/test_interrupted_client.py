# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A client that is interrupted by Ctrl-C ends its episode, and leaves no thread."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from ros_world import PATIENT

from boundary_env_ros.core.episode import EpisodeState
from boundary_env_ros.ros import names

if TYPE_CHECKING:
    from conftest import MakeWorld

pytestmark = pytest.mark.ros


def test_ctrl_c_ends_the_episode_and_the_robot_rests(make_world: MakeWorld) -> None:
    world = make_world(changes={**PATIENT, 'episode': {'reset': {'deadline': 60.0}}})
    client = subprocess.Popen(
        [sys.executable, '-u', '-c', _CLIENT, str(world.file), str(world.domain_id)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert client.stdout is not None
    try:
        first = client.stdout.readline().strip()
        assert first == 'stepping', client.communicate(timeout=30.0)[1]
        client.send_signal(signal.SIGINT)
        out, err = client.communicate(timeout=30.0)
    finally:
        client.kill()
    assert client.returncode == -signal.SIGINT, err
    assert err.strip().endswith('KeyboardInterrupt')
    assert out.split('\n')[0] == "['MainThread']"
    world.gate_rests()
    status = world.probe.last(names.EPISODE_STATUS)
    assert EpisodeState(status.state) is EpisodeState.TRUNCATED
    assert (status.cause, status.declared_by) == ('abandoned', status.client)


_CLIENT = """
import sys, threading
import numpy as np
from boundary_env_ros.facade import BoundaryEnv
try:
    domain = int(sys.argv[2])
    with BoundaryEnv(sys.argv[1], link='ros', domain_id=domain, startup_timeout=60.0) as env:
        env.reset(seed=1, options={'scenario': 'clear'})
        for number in range(10**6):
            *_, terminated, truncated, _ = env.step(np.zeros(2, dtype=np.float32))
            if terminated or truncated:
                env.reset(options={'scenario': 'clear'})
            if number == 2:
                print('stepping')
finally:
    print([thread.name for thread in threading.enumerate()])
"""
