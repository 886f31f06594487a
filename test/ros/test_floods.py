# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""However much arrives, the gate's timer and the emergency stop come first, and nodes live on."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import Transition as Lifecycle
from lifecycle_msgs.srv import ChangeState
from nav_msgs.msg import Odometry
import numpy as np
from rcl_interfaces.srv import GetParameters, ListParameters, SetParametersAtomically
from rclpy.event_handler import PublisherEventCallbacks
from rclpy.parameter import Parameter
from std_msgs.msg import Bool

from boundary_env_ros.core.records.decision import (
    ActionRequest,
    GateDecision,
    GateState,
    Reason,
    Trigger,
)
from boundary_env_ros.core.records.parts import StepId
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.errors import RequestRejected
from boundary_env_ros.facade.steps import StepRequest
from boundary_env_ros.ros import names
from boundary_env_ros.ros.bring_up import BringUp
from boundary_env_ros.ros.conversions import to_bytes, to_msg
from boundary_env_ros.ros.interfaces import msg
from boundary_env_ros.ros.message_guard import MOST_BYTES, most_of_request
from support.flooding import flood
from support.ros_world import PATIENT, World

if TYPE_CHECKING:
    from conftest import MakeWorld

pytestmark = pytest.mark.ros

_SOON = 20.0


@pytest.fixture(scope='module')
def world(make_world: MakeWorld) -> World:
    # The episode goes on however long the flood takes, and whatever it takes the place of: a gate
    # without a lease says nothing.
    lasting = ('policy_timeout', 'robot_timeout', 'environment_timeout', 'gate_timeout')
    safety = {**PATIENT['safety'], **dict.fromkeys(lasting, 60.0)}
    return make_world(changes={**PATIENT, 'safety': safety, 'episode': {'time_limit': 60.0}})


def reasons(decision: GateDecision) -> set[Reason]:
    return {result.reason for result in decision.rules}


def test_a_giant_request_is_refused_unread_and_the_next_honest_one_is_decided(
    world: World,
) -> None:
    env = world.environment()
    env.reset(seed=3, options={'scenario': 'clear'})
    world.probe.subscribe(names.DIAGNOSTICS, DiagnosticArray, names.RECORD)
    most = most_of_request(world.loaded.contract)
    # As of a policy whose action is an image.
    giant = ActionRequest(
        id=StepId(digest=world.loaded.digest, agent='cart', episode_id='', step=1),
        lease_id='none', sequence=1, action=(0.0,) * 921_600,
        observed=None, delivered=None, requested=None,
    )  # fmt: skip
    data = to_bytes(giant)
    begun = time.monotonic_ns()
    with world.probe.publisher(msg.ActionRequest, names.ACTION_REQUEST, names.RECORD) as stranger:
        stranger.publish(data)
        told = f'{names.ACTION_REQUEST}: the message is too large (expected at most {most} bytes, '
        log = world.processes['safety_gate'].log
        world.probe.until(lambda: told in log.read_text(), _SOON, 'a refusal')
    decided = time.monotonic_ns()
    *_, terminated, truncated, info = env.step(np.array([0.1, 0.0], dtype=np.float32))
    assert not terminated
    assert not truncated, info['ending']
    requests = [d.request for d in world.decisions(begun) if d.request is not None]
    assert 'none' not in {request.lease_id for request in requests}
    assert [d for d in world.decisions(decided) if d.trigger is Trigger.REQUEST and d.published]

    def counted() -> bool:
        said = world.probe.messages(names.DIAGNOSTICS)
        values = [
            value.value
            for array in said
            for status in array.status
            if status.name.endswith('safety_gate: node')
            for value in status.values
            if value.key == 'messages that could not be read'
        ]
        return '1' in values

    world.probe.until(counted, _SOON, 'a count of what was refused')
    world.end_episode()


def test_a_giant_message_of_a_sensor_is_refused_unread(world: World) -> None:
    # A million names take the gate half a second to decode.
    giant = Odometry(child_frame_id='x' * (1 << 20))
    with world.probe.publisher(Odometry, 'odom', names.RECORD) as stranger:
        stranger.publish(giant)
        log = world.processes['safety_gate'].log
        told = 'odom: the message is too large (expected at most 1048576 bytes, '
        world.probe.until(lambda: told in log.read_text(), _SOON, 'a refusal')


def test_a_client_does_not_send_what_would_be_refused_unread(world: World) -> None:
    env = world.environment()
    env.reset(seed=3, options={'scenario': 'clear'})
    assert env._world is not None
    begun = time.monotonic_ns()
    asked = StepRequest(action=(0.1, 0.0), metadata={'said': 'x' * MOST_BYTES})
    with pytest.raises(RequestRejected, match=r'too large .*Shorten its metadata'):
        env._world.step({'cart': asked})
    *_, truncated, info = env.step(np.array([0.1, 0.0], dtype=np.float32))
    assert not truncated, info['ending']
    requests = [d.request for d in world.decisions(begun) if d.trigger is Trigger.REQUEST]
    assert [request.sequence for request in requests if request is not None] == [1]
    world.end_episode()


@pytest.mark.timed
def test_a_flood_of_requests_holds_up_neither_timer_nor_emergency_stop(world: World) -> None:
    env = world.environment()
    stop = world.loaded.contract.safety.emergency_stop
    # As of somebody who has seen one: it can be read, and is refused by the lease.
    request = ActionRequest(
        id=StepId(digest=world.loaded.digest, agent='cart', episode_id='', step=1),
        lease_id='none', sequence=1, action=(0.0, 0.0),
        observed=None, delivered=None, requested=None,
    )  # fmt: skip
    env.reset(seed=3, options={'scenario': 'clear'})
    with (
        world.probe.publisher(Bool, stop, names.RECORD) as button,
        flood(to_msg(request), names.ACTION_REQUEST, 3.0) as flooding,
    ):
        begun = time.monotonic_ns()
        # Decisions are counted, not read: there are thousands, and the probe is to keep up.
        world.probe.until(
            lambda: len(world.probe.heard(names.GATE_DECISION, begun)) > 100,
            _SOON,
            'a flood that is decided on',
        )
        pressed = time.monotonic_ns()

        def stopped() -> bool:
            # As buttons do, it repeats itself: the flood takes the place of some in the sockets.
            button.publish(Bool(data=True))
            return world.gate_state() is GateState.EMERGENCY_STOPPED

        world.probe.until(stopped, _SOON, 'an emergency stop in the middle of a flood')
        told = time.monotonic_ns()
        button.publish(Bool(data=False))
    stops = [d for d in world.decisions(pressed) if Reason.EMERGENCY_STOP in reasons(d)]
    # Its decision may be one of those that the flood took the place of; its state is latched.
    heard = [d.commanded or d.received for d in stops]
    took = (
        min((instant.steady for instant in heard if instant is not None), default=told) - pressed
    )
    ticks = [
        d.inputs.since_tick for d in world.decisions(begun) if d.inputs.since_tick is not None
    ]
    print(f'{flooding}: stopped after {took / NANOSECONDS:.3f} s, ticks {max(ticks):.3f} s apart')
    assert took / NANOSECONDS < 1.0
    assert max(ticks) < 1.0
    assert world.processes['safety_gate'].alive


def test_a_flood_of_contracts_is_logged_now_and_then_and_blocks_no_activation(
    world: World,
) -> None:
    world.end_episode()
    gate = world.processes['safety_gate']
    bring_up = BringUp(domain_id=world.domain_id)
    try:
        foreign = msg.ContractDescription(node='/gone', digest='sha256:0')

        def logged() -> int:
            return gate.log.read_text(encoding='utf-8').count('/gone has another contract')

        with flood(foreign, names.CONTRACT, 2.0):
            world.probe.until(logged, _SOON, 'a log of the foreign contract')
        assert logged() <= 3
        for transition in (Lifecycle.TRANSITION_DEACTIVATE, Lifecycle.TRANSITION_ACTIVATE):
            bring_up.change(gate, transition, time.monotonic() + _SOON)
    finally:
        bring_up.close()


def test_parameters_are_dumped_and_the_clock_stays(world: World) -> None:
    """As `ros2 param dump` asks: for all that there are."""
    listed = world.probe.call(
        ListParameters, 'safety_gate/list_parameters', ListParameters.Request()
    )
    wanted = list(listed.result.names)
    assert 'stricter.low' in wanted
    answer = world.probe.call(
        GetParameters, 'safety_gate/get_parameters', GetParameters.Request(names=wanted)
    )
    assert len(answer.values) == len(wanted)
    for name in world.processes:
        parameter = Parameter('use_sim_time', value=True).to_parameter_msg()
        result = world.probe.call(
            SetParametersAtomically,
            f'{name}/set_parameters_atomically',
            SetParametersAtomically.Request(parameters=[parameter]),
        ).result
        assert not result.successful
        assert 'use_sim_time of a configured node cannot change' in result.reason


def test_nodes_live_through_many_lives(world: World) -> None:
    """While publishers whose QoS does not fit come and go, as rclpy#1644 needs it to crash."""
    world.end_episode()
    bring_up = BringUp(domain_id=world.domain_id)
    names_ = ('environment', 'safety_gate', 'simulated_robot')
    try:
        for life in range(int(os.environ.get('BOUNDARY_ENV_TEST_LIVES', '3'))):
            strangers = [
                world.probe.node.create_publisher(
                    kind,
                    topic,
                    names.SENSOR,
                    event_callbacks=PublisherEventCallbacks(use_default_callbacks=False),
                )
                for kind, topic in (
                    (msg.ActionRequest, names.ACTION_REQUEST),
                    (msg.EpisodeStatus, names.EPISODE_STATUS),
                    (msg.GateDecision, names.GATE_DECISION),
                    (msg.GateStatus, names.GATE_STATUS),
                )
            ]
            for transition in (
                Lifecycle.TRANSITION_DEACTIVATE,
                Lifecycle.TRANSITION_CLEANUP,
                Lifecycle.TRANSITION_CONFIGURE,
                Lifecycle.TRANSITION_ACTIVATE,
            ):
                for name in names_:
                    bring_up.change(world.processes[name], transition, time.monotonic() + _SOON)
            for stranger in strangers:
                world.probe.node.destroy_publisher(stranger)
            assert all(process.alive for process in world.processes.values()), life
    finally:
        bring_up.close()


def test_a_publisher_whose_qos_does_not_fit_is_named(world: World) -> None:
    stranger = world.probe.node.create_publisher(
        msg.ActionRequest,
        names.ACTION_REQUEST,
        names.SENSOR,
        event_callbacks=PublisherEventCallbacks(use_default_callbacks=False),
    )
    log = world.processes['safety_gate'].log
    try:
        world.probe.until(
            lambda: f'nothing of /{world.probe.node.get_name()} is heard' in log.read_text(),
            _SOON,
            'a word on a publisher that is not heard',
        )
    finally:
        world.probe.node.destroy_publisher(stranger)


def test_calls_that_are_logged_do_not_fill_a_disk(world: World) -> None:
    node = world.processes['environment']
    request = ChangeState.Request(transition=Lifecycle(label='x' * 300_000))
    before = node.log.stat().st_size
    for _ in range(20):
        assert not world.probe.call(ChangeState, 'environment/change_state', request).success
    assert 'No such transition' in node.last_output(1000)
    assert node.log.stat().st_size - before < 1_000_000
