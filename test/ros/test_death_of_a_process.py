# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Whichever of the five processes dies or hangs in mid-episode, the cart stops within the bound.

Every bound is computed from the contract and from what the cart declares of itself, and is
measured on the steady clock of the test's own node, from just before the signal was sent to the
last ground truth that shows the cart moving. On top of a bound come, and nothing else:

- one period of the ground truth (20 ms), because rest is only seen when it is measured;
- ``NOISE`` for every process that must act on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
import os
import signal
import subprocess
import sys
import time
from typing import Any, TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')


from boundary_env_ros.core.records.decision import GateDecision, GateState, Reason, Verdict
from boundary_env_ros.core.records.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.errors import LinkError, PeerLost
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.ros import names
from boundary_env_ros.simulation.cart_config import CartConfig
from boundary_env_ros.storage.record_reader import open_records
from support import policy_process
from support.ros_world import NOISE, SOON, World

if TYPE_CHECKING:
    from conftest import MakeWorld

pytestmark = [pytest.mark.ros, pytest.mark.timed]

CHANGES: dict[str, Any] = {
    'observation': {name: {'max_age': 3.0} for name in ('pose', 'velocity', 'scan', 'front')},
    'safety': {
        # Three times as long as in the shipped contract: a machine that is a little busy is to
        # lose nobody before one is killed. The bounds grow with them, and are as sharp.
        'command_timeout': 0.9,
        'policy_timeout': 3.0,
        'environment_timeout': 1.2,
        'gate_timeout': 1.2,
        'robot_timeout': 0.6,
        'sensor_timeout': 0.75,
        'obstacles': {'scan': {'slow_distance': 1.4, 'stop_distance': 0.9}},
        # Not what is judged here.
        'max_action_age': 3.0,
        'gate_lateness': 3.0,
        'clock_jump': 3.0,
    },
    'episode': {'time_limit': 10.0},
}

REST = 0.01
"""Below this speed, m/s, the cart is at rest, as ``CartConfig.stop_bound`` declares it."""

AHEAD = np.array([0.8, 0.0], dtype=np.float32)


@pytest.fixture(scope='module')
def world(make_world: MakeWorld) -> World:
    """Return a world whose dead are raised after every test; each test begins with all alive."""
    return make_world(recorder=True, changes=CHANGES)


@pytest.fixture(autouse=True)
def _raise_the_dead(world: World) -> Iterator[None]:
    yield
    for process in world.processes.values():
        process.send(signal.SIGCONT)
    world.close_environments()
    world.revive()
    world.end_episode()


# Driving ----------------------------------------------------------------------------------------


def drive(world: World, env: BoundaryEnv) -> None:
    """Begin an episode and step ahead until the cart is near its full speed."""
    env.reset(seed=3, options={'scenario': 'far'})
    while world.speed() < 0.7:
        *_, terminated, truncated, info = env.step(AHEAD)
        assert not terminated, info['ending']
        assert not truncated, info['ending']


def reasons(decision: GateDecision) -> set[Reason]:
    return {result.reason for result in decision.rules}


def step_on(env: BoundaryEnv) -> dict[str, Any] | LinkError:
    """Step ahead until the episode ends; return the last info, or the error of the link."""
    while True:
        try:
            *_, terminated, truncated, info = env.step(AHEAD)
        except LinkError as error:
            return error
        if terminated or truncated:
            assert not terminated, info['ending']
            return info


def ended_by(info: dict[str, Any] | LinkError) -> tuple[str, str]:
    """Return ending and declarer of an episode that the facade saw end."""
    assert isinstance(info, dict), info
    return info['ending'], info['declared_by']


# Judging ----------------------------------------------------------------------------------------


def gate_bound(world: World, timeout: float) -> float:
    """Return the seconds in which the gate has the cart at rest after something fell silent."""
    contract, cart = world.loaded.contract, CartConfig()
    full_stop = contract.flat('high')[0] / contract.flat('stop')[0]
    # The lag of the wheels: what CartConfig.stop_bound declares for standing still already.
    lag = cart.stop_bound(0.0) - cart.driver_timeout
    return timeout + contract.safety.gate_period + full_stop + cart.actuator_delay + lag


def driver_bound(world: World) -> float:
    """Return the seconds in which the driver has it at rest when no command comes any more."""
    return CartConfig().stop_bound(world.loaded.contract.flat('high')[0])


def stands_within(world: World, since: int, bound: float, processes: int) -> None:
    """Check that the cart is at rest from the bound on, for half a second at least."""
    bound += 1.0 / CartConfig().ground_truth.rate + processes * NOISE
    end = since + round((bound + 0.5) * NANOSECONDS)

    def seen() -> bool:
        motion = world.motion(since)
        return bool(motion) and motion[-1][0] > end

    world.probe.until(seen, bound + 10.0, 'ground truth after the bound')
    moving = [
        ((steady - since) / NANOSECONDS, speed)
        for steady, speed, _ in world.motion(since)
        if speed >= REST
    ]
    assert moving, 'Expect a cart that moved when the signal was sent, actually: it stood.'
    last, speed = moving[-1]
    assert last <= bound, (
        f'Expect rest after {bound:.2f} s, actually: {speed:.3f} m/s at {last:.2f} s.'
    )


def recorded(world: World, kind: type[Any], belongs: Callable[[Any], bool]) -> list[Any]:
    """Return records of the run, which the recorder may still be writing, once there are some."""
    deadline = time.monotonic() + SOON
    while True:
        found = [r for r in open_records(world.run).records(kind) if belongs(r)]
        if found:
            return found
        assert time.monotonic() < deadline, f'Expect such a {kind.__name__} in {world.run}.'
        time.sleep(0.1)


def ending_in_the_record(world: World, episode: str) -> tuple[str, str, bool]:
    """Return name, declarer and truncation of an episode's one ending, as it was recorded."""
    endings = recorded(world, Transition, lambda t: t.id.episode_id == episode and bool(t.ending))
    assert len(endings) == 1
    (last,) = endings
    assert not last.terminated
    return last.ending, last.declared_by, last.truncated


# Dying ------------------------------------------------------------------------------------------


def test_the_policy_is_killed(world: World) -> None:
    command = [sys.executable, policy_process.__file__]
    arguments = [str(world.file), str(world.domain_id), '3']
    with subprocess.Popen(
        [*command, *arguments], stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    ) as policy:
        try:
            assert policy.stdout is not None
            episode = policy.stdout.readline().split()[1]
            while world.speed() < 0.7:
                line = policy.stdout.readline().split()
                assert line[:1] == ['step'], line
        finally:
            killed = time.monotonic_ns()
            policy.kill()
    safety = world.loaded.contract.safety
    # Gate and driver must act; the policy's last request was sent before it died.
    stands_within(world, killed, gate_bound(world, safety.command_timeout), 2)
    assert ending_in_the_record(world, episode) == ('policy_lost', 'environment', True)
    held = [m for m in world.probe.messages(names.GATE_DECISION, killed) if m.verdict == 3]
    assert held, 'Expect the last command to be held for a while first.'


@pytest.mark.parametrize('number', [signal.SIGKILL, signal.SIGSTOP])
def test_the_gate_is_killed_or_hangs(world: World, number: signal.Signals) -> None:
    env = world.environment()
    drive(world, env)
    since = world.kill('safety_gate', number)
    assert ended_by(step_on(env)) == ('gate_lost', 'environment')
    stands_within(world, since, driver_bound(world), 1)
    assert ending_in_the_record(world, env.episode_id) == ('gate_lost', 'environment', True)
    if number is signal.SIGSTOP:
        woken = world.kill('safety_gate', signal.SIGCONT)
        world.gate_rests()
        still(world, woken)
        drive(world, env)


@pytest.mark.parametrize('number', [signal.SIGKILL, signal.SIGSTOP])
def test_the_environment_is_killed_or_hangs(world: World, number: signal.Signals) -> None:
    env = world.environment()
    drive(world, env)
    since = world.kill('environment', number)
    error = step_on(env)
    assert isinstance(error, PeerLost)
    assert 'environment' in str(error)
    safety = world.loaded.contract.safety
    stands_within(world, since, gate_bound(world, safety.environment_timeout), 2)

    # The dead declares nothing: the recorder writes that ending, and signs it.
    (last,) = recorded(
        world, EpisodeStatus, lambda s: s.id.episode_id == env.episode_id and bool(s.ending)
    )
    assert (last.state, last.ending) == (EpisodeState.TRUNCATED, 'environment_lost')
    assert last.declared_by == 'recorder'
    if number is signal.SIGSTOP:
        woken = world.kill('environment', signal.SIGCONT)
        world.gate_rests()
        still(world, woken)
        # It may say so itself when it wakes up, but blames nobody else.
        said = [
            m.ending
            for topic in (names.TRANSITION, names.EPISODE_STATUS)
            for m in world.probe.messages(topic)
            if m.id.episode_id == env.episode_id and m.ending
        ]
        assert set(said) == {'environment_lost'}
        drive(world, env)


def test_the_recorder_is_killed(world: World) -> None:
    env = world.environment()
    drive(world, env)
    step = env.last.transition.id.step
    since = world.kill('recorder')
    assert ended_by(step_on(env)) == ('recorder_lost', 'environment')
    safety, period = world.loaded.contract.safety, world.loaded.contract.period
    # The environment looks once a period; then it, the gate and the driver must act.
    stands_within(world, since, gate_bound(world, safety.recorder_timeout + period), 3)
    # What was recorded stays readable; half a second of it may be lost.
    found = recorded(world, Transition, lambda t: t.id.episode_id == env.episode_id)
    assert [t.id.step for t in found] == list(range(len(found)))
    assert len(found) > step - 0.5 / period


def test_the_robot_is_killed(world: World) -> None:
    env = world.environment()
    drive(world, env)
    since = world.kill('simulated_robot')
    assert ended_by(step_on(env)) == ('robot_lost', 'environment')
    # Nobody measures a robot that is gone: what counts is that it is told to stop.
    contract = world.loaded.contract
    world.gate_rests()
    commands = world.probe.heard(world.command_topic, since)
    moving = [h.steady for h in commands if h.message.twist.linear.x != 0.0]
    full_stop = contract.flat('high')[0] / contract.flat('stop')[0]
    bound = contract.safety.sensor_timeout + contract.safety.gate_period + full_stop + NOISE
    assert (moving[-1] - since) / NANOSECONDS <= bound
    assert commands[-1].message.twist.linear.x == 0.0
    assert ending_in_the_record(world, env.episode_id) == ('robot_lost', 'environment', True)


@pytest.mark.parametrize(
    'how', ['SIGINT', 'SIGHUP', pytest.param('SIGTERM', marks=pytest.mark.nightly)]
)
def test_a_gate_that_is_told_to_end_stops_the_robot_first(world: World, how: str) -> None:
    env = world.environment()
    gate = world.processes['safety_gate']
    drive(world, env)

    def told() -> None:
        gate.send(signal.Signals[how])
        gate.process.wait(10.0)

    since = time.monotonic_ns()
    # The policy goes on meanwhile, or it would be the one that is lost.
    with ThreadPoolExecutor(1) as other:
        telling = other.submit(told)
        assert ended_by(step_on(env)) == ('gate_lost', 'environment')
        telling.result()

    def own() -> list[GateDecision]:
        return [d for d in world.decisions(since) if Reason.DEACTIVATED in reasons(d)]

    # What it said last may still be on its way.
    world.probe.until(
        lambda: (said := own()) and said[-1].command == (0.0, 0.0), SOON, 'the last decision'
    )
    # No part of the way is left to the timeout of the driver.
    assert own()[0].command[0] > 0.0
    assert {d.verdict for d in own()} == {Verdict.STOPPED}
    contract = world.loaded.contract
    most = contract.flat('stop')[0] * contract.period
    for one, other_ in pairwise(own()):
        assert 0.0 <= one.command[0] - other_.command[0] <= most
    began = own()[0].commanded
    assert began is not None
    stands_within(world, began.steady, gate_bound(world, 0.0), 1)
    assert [c for _, c in world.commands(since)][-1] == (0.0, 0.0)
    assert world.gate_state() is GateState.INACTIVE


def still(world: World, since: int) -> None:
    """Check that a cart which had come to rest stays there for half a second."""
    world.probe.until(
        lambda: world.motion(since) and world.motion(since)[-1][0] > since + NANOSECONDS // 2,
        10.0,
        'ground truth for half a second',
    )
    assert max(speed for _, speed, _ in world.motion(since)) < REST
