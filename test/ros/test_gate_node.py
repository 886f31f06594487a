# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the gate's node says and takes besides commands: plans, parameters, diagnostics, a hand."""

from __future__ import annotations

import math
import time
from typing import Any, TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import TwistStamped
from rcl_interfaces.srv import SetParametersAtomically
import rclpy
from rclpy.parameter import Parameter
from sensor_msgs.msg import Joy

from boundary_env_ros.core.records.decision import GateDecision, Reason, Trigger, Verdict
from boundary_env_ros.errors import ResultCode
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.ros import names
from boundary_env_ros.ros.conversions import from_msg
from boundary_env_ros.ros.interfaces import msg, srv
from support.ros_world import PATIENT, SOON, World

if TYPE_CHECKING:
    from conftest import MakeWorld

pytestmark = pytest.mark.ros

OPERATOR = {
    'topic': 'joy', 'type': 'sensor_msgs/msg/Joy', 'fields': ['axes[1]', 'axes[3]'],
    'enable': 'buttons[4]', 'scale': [0.8, 1.5], 'timeout': 0.5,
}  # fmt: skip
CHANGES: dict[str, Any] = {
    **PATIENT,
    'safety': {
        **PATIENT['safety'],
        # A gate that waits longer for a sensor needs more room to stop in.
        'sensor_timeout': 1.0,
        'obstacles': {'scan': {'slow_distance': 1.7, 'stop_distance': 1.1}},
        'operator': OPERATOR,
    },
    'action': {'base': {'driver_timeout_probe': [0.1, 0.0]}},
    'episode': {'time_limit': 60.0},
}


@pytest.fixture(scope='module')
def world(make_world: MakeWorld) -> World:
    """Return one world for all tests of this module, whose drivers were probed."""
    made = make_world(changes=CHANGES, gate={'probe_on_activation': True})
    made.probe.subscribe(names.DIAGNOSTICS, DiagnosticArray, names.RECORD)
    made.probe.until(
        lambda: any(seconds > 0.0 for seconds in status(made).driver_timeouts),
        SOON,
        'a measured timeout',
    )
    made.gate_rests()
    return made


@pytest.fixture(scope='module')
def env(world: World) -> BoundaryEnv:
    """Return the policy's side."""
    return world.environment()


def status(world: World) -> Any:
    """Return what the gate said last of itself."""
    return world.probe.last(names.GATE_STATUS)


def step(env: BoundaryEnv, *action: float) -> dict[str, Any]:
    """Step once, and return the info."""
    *_, terminated, truncated, info = env.step(np.array(action, dtype=np.float32))
    assert not terminated, info['ending']
    assert not truncated, info['ending']
    return info


def reasons(decision: GateDecision) -> set[Reason]:
    return {result.reason for result in decision.rules}


def reset(env: BoundaryEnv) -> None:
    env.reset(seed=3, options={'scenario': 'clear'})


# The probe ---------------------------------------------------------------------------------------


def test_the_timeout_of_the_driver_is_measured_before_anybody_arms(world: World) -> None:
    [measured] = status(world).driver_timeouts
    declared = world.loaded.contract.action[0].driver_timeout
    assert declared is not None
    # No less than what the simulated robot does; more by what it takes to slow down and be seen.
    assert declared - 0.05 < measured < declared + world.loaded.contract.safety.sensor_timeout


# Plans -------------------------------------------------------------------------------------------


def plan(world: World, actions: list[float], count: int, **changes: str) -> Any:
    request = srv.EvaluateActions.Request(
        **{'digest': world.loaded.digest, 'agent': world.loaded.contract.agents[0], **changes},
        actions=actions,
        count=count,
    )
    return world.probe.call(srv.EvaluateActions, 'safety_gate/evaluate_actions', request)


def test_a_plan_answers_and_publishes_nothing(world: World, env: BoundaryEnv) -> None:
    reset(env)
    step(env, 0.0, 0.0)
    answer = plan(world, [0.05, 0.0, 20.0, 0.0, math.nan, 0.0], 3)
    assert answer.result.code == 0
    verdicts = [from_msg(GateDecision, d).verdict for d in answer.decisions]
    # How much of the first is admitted depends on how long ago the last command was.
    assert verdicts[0] in (Verdict.ADMITTED, Verdict.LIMITED)
    assert verdicts[1:] == [Verdict.LIMITED, Verdict.REJECTED]
    assert answer.low[0] < 0.0 < answer.high[0]
    assert not [d for d in world.decisions() if d.requested_action[:1] == (20.0,)]
    assert max(c[0] for _, c in world.commands()) <= 0.11
    world.end_episode()


def test_without_an_episode_a_plan_says_that_nobody_may_ask(world: World) -> None:
    world.end_episode()
    answer = plan(world, [0.05, 0.0], 1)
    assert reasons(from_msg(GateDecision, answer.decisions[0])) == {Reason.NOT_ARMED}


@pytest.mark.parametrize(
    ('actions', 'count', 'changes', 'code'),
    [
        ([0.0, 0.0], 1, {'digest': 'sha256:0'}, ResultCode.DIGEST_MISMATCH),
        ([0.0, 0.0], 1, {'agent': 'another'}, ResultCode.UNKNOWN_AGENT),
        ([0.0], 1, {}, ResultCode.INVALID_ARGUMENT),
        ([0.0, 0.0], 2, {}, ResultCode.INVALID_ARGUMENT),
        ([], 0, {}, ResultCode.INVALID_ARGUMENT),
    ],
)
def test_a_plan_of_something_else_is_refused(
    world: World, actions: list[float], count: int, changes: dict[str, str], code: ResultCode
) -> None:
    answer = plan(world, actions, count, **changes)
    assert answer.result.code == code
    assert 'expected ' in answer.result.message
    assert list(answer.decisions) == []


# Parameters --------------------------------------------------------------------------------------


def set_stricter(world: World, **values: Any) -> Any:
    request = SetParametersAtomically.Request(
        parameters=[
            Parameter(f'stricter.{name}', value=value).to_parameter_msg()
            for name, value in values.items()
        ]
    )
    service = 'safety_gate/set_parameters_atomically'
    return world.probe.call(SetParametersAtomically, service, request).result


def test_limits_are_made_stricter_by_parameters_and_never_looser_in_an_episode(
    world: World, env: BoundaryEnv
) -> None:
    looser = set_stricter(world, high=[0.9, 1.5])
    assert not looser.successful
    assert 'is looser than the contract says (expected at most 0.8, got 0.9)' in looser.reason

    reset(env)
    assert set_stricter(world, high=[0.05, 1.5], command_timeout=0.29).successful
    for _ in range(3):
        info = step(env, 0.8, 0.0)
    assert info['commanded_action'][0] == pytest.approx(0.05)

    def tightened() -> bool:
        last = world.decisions()[-1].runtime_limits
        return (last.high, last.command_timeout) == ((0.05, 1.5), 0.29)

    world.probe.until(tightened, SOON, 'a decision that tells the limits')
    looser = set_stricter(world, high=[0.06, 1.5])
    assert not looser.successful
    assert 'while a lease is out' in looser.reason
    world.probe.until(
        lambda: tuple(status(world).runtime_limits.high) == (0.05, 1.5),
        SOON,
        'a status that tells them',
    )

    world.end_episode()
    # Refused as a whole, it must not have loosened them.
    mixed = SetParametersAtomically.Request(
        parameters=[
            Parameter('stricter.high', value=[0.8, 1.5]).to_parameter_msg(),
            Parameter('use_sim_time', value=not world.loaded.contract.sim_time).to_parameter_msg(),
        ]
    )
    answer = world.probe.call(
        SetParametersAtomically, 'safety_gate/set_parameters_atomically', mixed
    )
    assert not answer.result.successful
    world.probe.until(
        lambda: tuple(status(world).runtime_limits.high) == (0.05, 1.5), SOON, 'the same limits'
    )
    # Who sets a parameter does not say who it is.
    assert 'needs the key' in set_stricter(world, high=[0.8, 1.5]).reason
    assert not world.operator_call('loosen').code


# Diagnostics -------------------------------------------------------------------------------------


def entry(world: World, of: str = 'safety_gate: commands') -> Any:
    """Return the last diagnostics of a part of a node; None before the first."""
    found = (
        status
        for message in reversed(world.probe.messages(names.DIAGNOSTICS))
        for status in message.status
        if status.name == of
    )
    return next(found, None)


def state_of_gate(world: World) -> str | None:
    """Return the state of the gate, as its last diagnostics say it."""
    found = entry(world)
    return found and {pair.key: pair.value for pair in found.values}['state']


def test_the_state_of_the_gate_is_in_the_diagnostics(world: World) -> None:
    world.gate_rests()
    # The last may be of before.
    world.probe.until(lambda: state_of_gate(world) == 'DISARMED', SOON, 'diagnostics')
    found = entry(world)
    values = {pair.key: pair.value for pair in found.values}
    assert found.hardware_id == world.loaded.contract.agents[0]
    assert values['state'] == 'DISARMED'
    assert values['foreign publishers'] == '0'
    assert int(values['decisions STOPPED']) >= 0
    assert float(values['measured driver timeout of base, s']) > 0.0


@pytest.mark.parametrize('node', ['environment', 'safety_gate', 'simulated_robot'])
def test_every_node_says_how_it_is(world: World, node: str) -> None:
    world.probe.until(lambda: entry(world, f'{node}: node'), SOON, f'diagnostics of {node}')
    found = entry(world, f'{node}: node')
    assert (found.level, found.message) == (DiagnosticStatus.OK, 'active')
    assert {pair.key: pair.value for pair in found.values}['digest'] == world.loaded.digest


# Others who command ------------------------------------------------------------------------------


def stops_for(world: World, env: BoundaryEnv, reason: Reason) -> None:
    """Step until the gate stops for a reason, and the diagnostics say that all is not well."""
    deadline = time.monotonic() + SOON
    while True:
        last = world.probe.last(names.GATE_DECISION)
        step(env, 0.05, 0.0)
        if last is not None and reason in reasons(from_msg(GateDecision, last)):
            break
        assert time.monotonic() < deadline, f'Expect a stop for {reason.name}, actually: none.'
    world.probe.until(
        lambda: entry(world).level == DiagnosticStatus.ERROR, SOON, 'an error in /diagnostics'
    )


def recovers(world: World, env: BoundaryEnv) -> None:
    """Step until commands are let through again."""
    world.probe.until(lambda: status(world).foreign_publishers == 0, SOON, 'no foreign publisher')
    world.end_episode()
    reset(env)
    assert step(env, 0.05, 0.0)['verdict'] in ('ADMITTED', 'LIMITED')
    world.end_episode()


def test_a_foreign_publisher_stops_the_robot_until_he_is_gone(
    world: World, env: BoundaryEnv
) -> None:
    reset(env)
    with world.probe.publisher(TwistStamped, world.command_topic, names.COMMAND):
        stops_for(world, env, Reason.FOREIGN_PUBLISHER)
    recovers(world, env)


def test_a_publisher_under_the_name_of_the_gate_is_another_all_the_same(
    world: World, env: BoundaryEnv
) -> None:
    reset(env)
    # As by `--ros-args -r __node:=safety_gate`: it says nothing of itself, but commands.
    twin = rclpy.create_node('safety_gate', context=world.probe.node.context)
    try:
        twin.create_publisher(TwistStamped, world.command_topic, names.COMMAND)
        stops_for(world, env, Reason.FOREIGN_PUBLISHER)
        # Discovery may know a publisher before it knows of which node that is.
        gate = world.processes['safety_gate']
        world.probe.until(
            lambda: 'got a second /safety_gate' in gate.last_output(1000), SOON, 'its name'
        )
    finally:
        twin.destroy_node()
    recovers(world, env)


# A hand ------------------------------------------------------------------------------------------


def test_an_operator_takes_over_within_bounds_and_gives_back(
    world: World, env: BoundaryEnv
) -> None:
    reset(env)
    step(env, 0.05, 0.0)
    since = time.monotonic_ns()
    with world.probe.publisher(Joy, 'joy', names.SENSOR) as joy:

        def press(switch: int) -> None:
            message = Joy(axes=[0.0, 0.2, 0.0, 9.0], buttons=[0, 0, 0, 0, switch])
            message.header.stamp = world.probe.node.get_clock().now().to_msg()
            joy.publish(message)

        def by_hand() -> list[GateDecision]:
            return [d for d in world.decisions(since) if d.trigger is Trigger.OPERATOR]

        def taken() -> bool:
            press(1)  # as a device does, again and again: a single message may be lost
            return bool(by_hand())

        world.probe.until(taken, SOON, 'a decision on what the operator asks for')

        def refused() -> bool:
            press(1)
            return step(env, 0.8, 0.0)['verdict'] == 'REJECTED' and status(world).teleoperated

        world.probe.until(refused, SOON, 'a policy that is refused, and a gate that says why')
        high = world.loaded.contract.flat('high')
        for decision in by_hand():
            assert Reason.OPERATOR in reasons(decision)
            assert decision.requested_command == pytest.approx((0.16, 13.5))
            assert all(v <= most for v, most in zip(decision.command, high, strict=True))
        world.probe.until(lambda: not status(world).teleoperated, SOON, 'the robot given back')
    assert step(env, 0.05, 0.0)['verdict'] in ('ADMITTED', 'LIMITED')
    world.end_episode()


# What it logs ------------------------------------------------------------------------------------


def test_the_log_names_rule_and_dimension(world: World, env: BoundaryEnv) -> None:
    reset(env)
    log = world.processes['safety_gate'].log
    assert log is not None
    _, second = world.loaded.contract.command_dimensions

    def told(words: str) -> bool:
        step(env, 20.0, 30.0)  # again and again: what was told lately is not told at once
        return words in log.read_text(encoding='utf-8')

    world.probe.until(lambda: told('LIMITED by bounds'), SOON, 'a word on bounds in the log')
    most = f'{second} from 30 to 1.5'
    world.probe.until(lambda: told(most), SOON, 'the dimension that was limited most')
    world.probe.until(lambda: told(', and 1 other'), SOON, 'how many others')
    world.end_episode()


# What nobody could have meant --------------------------------------------------------------------


def test_a_message_that_cannot_be_read_ends_no_node_and_no_episode(
    world: World, env: BoundaryEnv
) -> None:
    reset(env)
    # What a plain `ros2 topic pub` sends: no source, no state, no verdict.
    for kind, topic in (
        (msg.ActionRequest, names.ACTION_REQUEST),
        (msg.EpisodeStatus, names.EPISODE_STATUS),
        (msg.GateDecision, names.GATE_DECISION),
        (msg.GateStatus, names.GATE_STATUS),
        (msg.Transition, names.TRANSITION),
    ):
        made = kind()
        if kind is msg.EpisodeStatus:
            made.id.digest = world.loaded.digest  # for who looks at that first
        with world.probe.publisher(kind, topic, names.LATCHED) as stranger:
            for _ in range(5):
                stranger.publish(made)
                step(env, 0.05, 0.0)
    # While another client looks for listeners the policy is silent; one speaks as a second gate.
    deadline = time.monotonic() + SOON
    while step(env, 0.05, 0.0)['verdict'] not in ('ADMITTED', 'LIMITED'):
        assert time.monotonic() < deadline, 'Expect commands to be let through, actually: none.'
    assert all(process.alive for process in world.processes.values())

    def counted() -> bool:
        values = {pair.key: pair.value for pair in entry(world, 'safety_gate: node').values}
        # One of each topic at least: a latched one takes the place of that before.
        return int(values['messages that could not be read']) >= 2

    world.probe.until(counted, SOON, 'a count in the diagnostics')
    for words in (
        'expected a message with the fields of ActionRequest, got 0 is not a valid',
        'ros2 topic info --verbose /boundary/action_request',
    ):
        world.probe.until(
            lambda words=words: words in world.processes['safety_gate'].last_output(1000),
            SOON,
            f'in the log: {words}',
        )
    world.end_episode()
