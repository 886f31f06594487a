# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The safety gate as a process: whatever arrives, the command topic carries what it decided."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
import math
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from geometry_msgs.msg import TwistStamped
from std_msgs.msg import Bool
from std_srvs.srv import Trigger as TriggerService

from boundary_env_ros.core.records.decision import ActionRequest, GateState, Reason, Verdict
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.errors import RequestRejected, ResultCode
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.ros import names
from boundary_env_ros.ros.conversions import from_msg, to_msg
from boundary_env_ros.ros.interfaces import msg
from support.ros_world import PATIENT, seek_goal, SOON, stamp_of, World

if TYPE_CHECKING:
    from conftest import MakeWorld

pytestmark = pytest.mark.ros

STRANGE = 0.777
"""A forward speed, m/s, that only strangers ask for."""


@pytest.fixture(scope='module')
def world(make_world: MakeWorld) -> World:
    """Return one world for all tests of this module; none kills anything in it."""
    made = make_world(changes=PATIENT)
    made.probe.subscribe(names.ACTION_REQUEST, msg.ActionRequest, names.RECORD)
    return made


@pytest.fixture(scope='module')
def env(world: World) -> BoundaryEnv:
    """Return the policy's side, which holds the lease."""
    return world.environment()


@pytest.fixture(autouse=True)
def every_command_has_its_decision(world: World) -> Iterator[None]:
    """Account for every message on the command topic: a decision of equal stamp and values."""
    start = time.monotonic_ns()
    yield

    def unexplained() -> set[tuple[int, tuple[float, ...]]]:
        explained = {
            (decision.commanded.ros.nanoseconds, decision.command)
            for decision in world.decisions()
            if decision.commanded is not None
        }
        return set(world.commands(start)) - explained

    # The decision is published after its command, so the last one may still be on its way.
    world.probe.until(lambda: not unexplained(), SOON, 'a decision for every command')


def drive(env: BoundaryEnv, world: World, speed: float = 0.6) -> None:
    """Begin an episode and step straight ahead until the cart is that fast, m/s."""
    env.reset(seed=3, options={'scenario': 'far'})
    while world.speed() < speed:
        # The time limit of the episode is the deadline.
        *_, terminated, truncated, info = env.step(np.array([0.8, 0.0], dtype=np.float32))
        assert not terminated, info['ending']
        assert not truncated, info['ending']


# Who is heard -----------------------------------------------------------------------------------


def test_the_gate_is_the_only_publisher_on_the_command_topic(world: World) -> None:
    node = world.probe.node
    topic = node.resolve_topic_name(world.command_topic)

    def publishers() -> list[str]:
        return [info.node_name for info in node.get_publishers_info_by_topic(topic)]

    # Names come after the endpoints in discovery.
    world.probe.until(lambda: publishers() == ['safety_gate'], SOON, 'the gate as only publisher')


def test_a_foreign_request_never_becomes_a_command(world: World, env: BoundaryEnv) -> None:
    env.reset(seed=3, options={'scenario': 'clear'})
    for _ in range(3):
        env.step(np.array([0.1, 0.0], dtype=np.float32))
    last = from_msg(ActionRequest, world.probe.messages(names.ACTION_REQUEST)[-1])
    own = replace(last, action=(STRANGE, 0.0), sequence=last.sequence + 1000)
    start = time.monotonic_ns()
    with world.probe.publisher(
        msg.ActionRequest, names.ACTION_REQUEST, names.RECORD, readers=2
    ) as requests:
        for request, reason in (
            (replace(own, lease_id='00000000-0000-4000-8000-000000000000'), Reason.WRONG_LEASE),
            (replace(own, lease_id=''), Reason.WRONG_LEASE),
            (replace(own, sequence=last.sequence), Reason.OUT_OF_ORDER),
            (replace(own, sequence=1), Reason.OUT_OF_ORDER),
            (replace(own, action=(math.nan, 0.0)), Reason.NOT_FINITE),
            (replace(own, action=(STRANGE, -math.inf)), Reason.NOT_FINITE),
            (replace(own, action=(STRANGE,)), Reason.WRONG_SHAPE),
            (replace(own, action=()), Reason.WRONG_SHAPE),
            (replace(own, id=replace(own.id, episode_id='another')), Reason.WRONG_EPISODE),
            (replace(own, id=replace(own.id, digest='sha256:0')), Reason.WRONG_DIGEST),
            (replace(own, id=replace(own.id, agent='another')), Reason.WRONG_AGENT),
            (replace(own, observed=None), Reason.ACTION_TOO_OLD),
        ):
            before = time.monotonic_ns()
            requests.publish(to_msg(request))

            def reasons(before: int = before) -> list[tuple[Verdict, Reason, bool]]:
                return [
                    (decision.verdict, decision.rules[0].reason, decision.published)
                    for decision in world.decisions(before)
                    if decision.request is not None and decision.decided.steady > before
                ]

            world.probe.until(reasons, SOON, f'a decision on a request with {reason.name}')
            assert reasons() == [(Verdict.REJECTED, reason, False)]
    # Held or braked, what is published meanwhile comes from the policy's own last action.
    assert not [command for _, command in world.commands(start) if command[0] > 0.11]
    *_, info = env.step(np.array([0.1, 0.0], dtype=np.float32))
    assert info['verdict'] in ('ADMITTED', 'LIMITED')
    assert info['requested_action'] == pytest.approx([0.1, 0.0])


def test_a_request_after_the_end_of_the_episode_is_not_heard(
    world: World, env: BoundaryEnv
) -> None:
    drive(env, world)
    last = from_msg(ActionRequest, world.probe.messages(names.ACTION_REQUEST)[-1])
    env.reset(seed=4, options={'scenario': 'clear'})
    start = time.monotonic_ns()
    with world.probe.publisher(
        msg.ActionRequest, names.ACTION_REQUEST, names.RECORD, readers=2
    ) as requests:
        requests.publish(to_msg(replace(last, sequence=last.sequence + 1)))

        def answers() -> list[Verdict]:
            return [d.verdict for d in world.decisions(start) if d.request]

        world.probe.until(answers, SOON, 'a decision on it')
    assert answers() == [Verdict.REJECTED]


def test_another_publisher_on_the_command_topic_is_counted_and_forgotten(world: World) -> None:
    def competitors() -> int:
        count: int = world.probe.last(names.GATE_STATUS).foreign_publishers
        return count

    world.probe.until(lambda: competitors() == 0, SOON, 'a gate that is alone')
    with world.probe.publisher(TwistStamped, world.command_topic, names.COMMAND):
        world.probe.until(lambda: competitors() == 1, SOON, 'a foreign publisher in GateStatus')
    world.probe.until(lambda: competitors() == 0, SOON, 'no foreign publisher in GateStatus')


# What is published ------------------------------------------------------------------------------


@pytest.mark.parametrize('scenario', ['clear', 'blocked'])
def test_no_command_leaves_bounds_and_rates_whatever_the_policy_asks_for(
    world: World, env: BoundaryEnv, scenario: str
) -> None:
    wild = np.random.default_rng(7)
    start = time.monotonic_ns()
    observation, _ = env.reset(seed=5, options={'scenario': scenario})
    step, ended = 0, False
    while not ended:
        # Towards the goal as a rule, so that something is met; now and then anything at all.
        action = seek_goal(observation) if step % 4 else wild.uniform(-20.0, 20.0, 2)
        observation, _, terminated, truncated, _ = env.step(action.astype(np.float32))
        step, ended = step + 1, terminated or truncated
    world.gate_rests()
    world.probe.until(
        lambda: world.commands(start)[-1][1] == (0.0, 0.0), SOON, 'a safe command last'
    )
    sent = [decision for decision in world.decisions(start) if decision.commanded is not None]
    assert len(sent) > 10
    contract = world.loaded.contract
    low, high, rate, stop = (np.array(contract.flat(n)) for n in ('low', 'high', 'rate', 'stop'))
    stamps = np.array([decision.commanded.steady for decision in sent if decision.commanded])
    values = np.array([decision.command for decision in sent])
    assert np.all(np.diff(stamps) > 0)
    assert np.all((values >= low) & (values <= high))
    # The cart stood still before, but for the noise of its odometry (1 % of 0.1 rad/s at most).
    assert np.all(np.abs(values[0]) <= rate * contract.period + 0.01)
    change = np.diff(values, axis=0)
    ordinary = np.abs(change) <= rate * contract.period + 1e-9
    braking = (values[:-1] * change <= 0.0) & (values[:-1] * values[1:] >= 0.0)
    assert np.all(ordinary | (braking & (np.abs(change) <= stop * contract.period + 1e-9)))
    # Over any stretch of time, not only from one command to the next: speeding up keeps the rate,
    # by the gate's own clock. Only requests speed up, and are decided on when they come.
    came = [decision.decided.steady for decision in sent]
    first = next(i for i, at in enumerate(came) if at)  # a timer may have stopped it before
    decided = np.maximum.accumulate(came[first:]) / NANOSECONDS
    apart = decided[np.newaxis, :] - decided[:, np.newaxis]
    later = np.triu(np.ones_like(apart, dtype=bool), 1)
    for i, most in enumerate(rate):
        speeds = np.abs(values[first:, i])
        gained = speeds[np.newaxis, :] - speeds[:, np.newaxis]
        assert np.all(gained[later] <= most * apart[later] + 1e-9)


def test_the_command_on_the_wire_is_stamped_framed_and_in_its_declared_fields(
    world: World, env: BoundaryEnv
) -> None:
    env.reset(seed=3, options={'scenario': 'clear'})
    start = time.monotonic_ns()
    *_, info = env.step(np.array([0.05, -0.2], dtype=np.float32))

    def sent() -> list[TwistStamped]:
        return world.probe.messages(world.command_topic, start)

    world.probe.until(sent, SOON, 'the command of the step')
    message = sent()[0]
    assert message.header.frame_id == 'base_link'
    assert stamp_of(message.header) > 0
    assert [message.twist.linear.x, message.twist.angular.z] == info['commanded_action']
    others = (message.twist.linear.y, message.twist.linear.z, message.twist.angular.x)
    assert others == (0.0, 0.0, 0.0)


# The emergency stop -----------------------------------------------------------------------------


def is_braked_to_rest(world: World, pressed: int) -> None:
    """
    Check that from its stop on the gate only brakes, and that the cart then stands and stays.

    How soon that is, is judged in ``test_faults.py``.
    """

    def after_the_stop() -> list[tuple[float, ...]]:
        found: list[tuple[float, ...]] = []
        for decision in world.decisions(pressed):
            stops = Reason.EMERGENCY_STOP in {result.reason for result in decision.rules}
            if decision.commanded is not None and (found or stops):
                found.append(decision.command)
        return found

    world.probe.until(lambda: (0.0, 0.0) in after_the_stop(), SOON, 'a safe command')
    world.probe.until(lambda: world.speed() < 0.01, SOON, 'a cart at rest')
    rest = time.monotonic_ns()
    world.probe.until(
        lambda: world.motion(rest) and world.motion(rest)[-1][0] > rest + NANOSECONDS // 2,
        SOON,
        'ground truth for half a second',
    )
    assert all(speed < 0.01 for _, speed, _ in world.motion(rest))
    braked = np.abs(np.array(after_the_stop()))
    assert np.all(np.diff(braked, axis=0) <= 0.0), braked


def test_an_emergency_stop_on_the_topic_stops_ends_and_latches(
    world: World, env: BoundaryEnv
) -> None:
    topic = world.loaded.contract.safety.emergency_stop
    drive(env, world)
    with world.probe.publisher(Bool, topic, names.RECORD) as button:
        pressed = time.monotonic_ns()
        button.publish(Bool(data=True))
        info = step_until_the_end(env)
        assert (info['ending'], info['declared_by']) == ('operator_stop', 'safety_gate')
        is_braked_to_rest(world, pressed)

        assert not world.clears(), 'cleared while it is pressed'
        button.publish(Bool(data=False))
        # Released is not cleared.
        with pytest.raises(RequestRejected, match='latched') as caught:
            env.reset(seed=4)
        assert caught.value.code is ResultCode.EMERGENCY_STOPPED
        assert world.gate_state() is GateState.EMERGENCY_STOPPED

        world.probe.until(world.clears, SOON, 'the stop to be cleared')
    drive(env, world, speed=0.2)


def test_an_emergency_stop_by_service_stops_ends_and_latches(
    world: World, env: BoundaryEnv
) -> None:
    drive(env, world)
    pressed = time.monotonic_ns()
    assert call(world, 'emergency_stop').success
    info = step_until_the_end(env)
    assert (info['ending'], info['declared_by']) == ('operator_stop', 'safety_gate')
    is_braked_to_rest(world, pressed)
    with pytest.raises(RequestRejected, match='latched'):
        env.reset(seed=4)
    assert world.clears()
    drive(env, world, speed=0.2)


def call(world: World, service: str) -> TriggerService.Response:
    """Call a service of the gate."""
    return world.probe.call(TriggerService, f'safety_gate/{service}', TriggerService.Request())


def step_until_the_end(env: BoundaryEnv) -> dict[str, object]:
    """Step ahead until the episode ends, and return the last info."""
    deadline = time.monotonic() + SOON
    while time.monotonic() < deadline:
        *_, terminated, truncated, info = env.step(np.array([0.8, 0.0], dtype=np.float32))
        if terminated or truncated:
            assert truncated
            return info
    return pytest.fail(f'Expect the episode to end within {SOON:g} s, actually: it goes on.')
