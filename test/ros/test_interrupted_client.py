# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""However a client ends, its episode ends with it, and no thread is left behind."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from boundary_env_ros.core.records.episode import EpisodeState
from boundary_env_ros.errors import RequestRejected, ResultCode
from boundary_env_ros.ros import names
from boundary_env_ros.ros.interfaces import srv
from support.ros_world import PATIENT, SOON

if TYPE_CHECKING:
    from conftest import MakeWorld

    from support.ros_world import World

pytestmark = pytest.mark.ros


@pytest.fixture(scope='module')
def world(make_world: MakeWorld) -> World:
    return make_world(changes={**PATIENT, 'episode': {'reset': {'deadline': 60.0}}})


def rests(world: World) -> None:
    def ended() -> bool:
        status = world.probe.last(names.EPISODE_STATUS)
        return EpisodeState(status.state) is EpisodeState.TRUNCATED

    world.probe.until(ended, SOON, 'the end of the episode')
    status = world.probe.last(names.EPISODE_STATUS)
    assert (status.ending, status.declared_by) == ('abandoned', status.client)
    world.gate_rests()


def test_ctrl_c_ends_the_episode_and_the_robot_rests(world: World) -> None:
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
    rests(world)


@pytest.mark.parametrize(
    ('last', 'code'),
    [
        pytest.param('', 0, marks=pytest.mark.nightly),
        ("raise ValueError('a mistake of the user')", 1),
        pytest.param('sys.exit(3)', 3, marks=pytest.mark.nightly),
        ('raise KeyboardInterrupt', -signal.SIGINT),
    ],
)
def test_a_script_that_never_closes_ends_as_any_other_and_so_does_its_episode(
    world: World, last: str, code: int
) -> None:
    client = subprocess.run(
        [sys.executable, '-c', _CARELESS + last, str(world.file), str(world.domain_id)],
        capture_output=True,
        text=True,
        timeout=120.0,
        check=False,
    )
    assert 'terminate called' not in client.stderr
    assert client.returncode == code, client.stderr
    assert client.stdout.strip() == 'stepped'
    rests(world)


def test_an_episode_that_has_ended_is_not_named_as_the_one_that_runs(world: World) -> None:
    env = world.environment(startup_timeout=60.0)
    env.reset(seed=1, options={'scenario': 'clear'})
    ended = env.episode_id
    world.end_episode()
    request = srv.EndEpisode.Request(
        digest=world.loaded.digest, episode_id=ended, client='test', ending='abandoned'
    )
    answer = world.probe.call(srv.EndEpisode, names.END_EPISODE, request)
    assert answer.result.code == ResultCode.UNKNOWN_EPISODE
    assert f'expected none, since none runs, got {ended} (abandoned ended it)' in (
        answer.result.message
    )


def test_a_policy_that_is_killed_in_lockstep_leaves_its_episode_to_the_next(
    make_world: MakeWorld,
) -> None:
    world = make_world(pacing='lockstep', changes={**PATIENT, 'lockstep': {'deadline': 5.0}})
    client = subprocess.Popen(
        [sys.executable, '-u', '-c', _CLIENT, str(world.file), str(world.domain_id), 'lockstep'],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert client.stdout is not None
    try:
        assert client.stdout.readline().strip() == 'stepping'
    finally:
        client.kill()
        client.wait()
    env = world.environment(startup_timeout=60.0)
    refusals = []

    def began() -> bool:
        try:
            env.reset(seed=1, options={'scenario': 'clear'})
        except RequestRejected as refusal:
            refusals.append(str(refusal))
            return False
        return True

    world.probe.until(began, SOON, 'an episode of the next client')
    assert all('it ends as policy_lost 5 s after the last step' in each for each in refusals)
    last = [t for t in world.probe.messages(names.TRANSITION) if t.ending][-1]
    assert (last.ending, last.declared_by) == ('policy_lost', 'environment')
    *_, terminated, truncated, _ = env.step(np.zeros(2, dtype=np.float32))
    assert not terminated
    assert not truncated


_CARELESS = """
import sys
import numpy as np
from boundary_env_ros.facade import BoundaryEnv
env = BoundaryEnv(sys.argv[1], world='ros', domain_id=int(sys.argv[2]), startup_timeout=60.0)
env.reset(seed=1, options={'scenario': 'clear'})
env.step(np.zeros(2, dtype=np.float32))
print('stepped')
"""

_CLIENT = """
import sys, threading
import numpy as np
from boundary_env_ros.facade import BoundaryEnv
try:
    pacing = dict(enumerate(sys.argv)).get(3)
    domain = int(sys.argv[2])
    with BoundaryEnv(
        sys.argv[1], world='ros', pacing=pacing, domain_id=domain, startup_timeout=60.0
    ) as env:
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
