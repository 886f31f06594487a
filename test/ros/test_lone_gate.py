# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A safety gate whose robot, button and environment are a test: what it needs to be armed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, ExitStack
from functools import partial
import math
from pathlib import Path
import time
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import Transition as Lifecycle
from sensor_msgs.msg import BatteryState, JointState
from std_msgs.msg import Bool, String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from boundary_env_ros.core.records.decision import GateDecision, GateState, Reason
from boundary_env_ros.core.records.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.records.parts import Pacing, StepId
from boundary_env_ros.errors import ResultCode
from boundary_env_ros.ros import names
from boundary_env_ros.ros.bring_up import BringUp
from boundary_env_ros.ros.conversions import from_msg, to_msg
from boundary_env_ros.ros.interfaces import msg, srv
from boundary_env_ros.ros.processes import NodeProcess, NodeSpec, running
from boundary_env_ros.storage.contract_file import load
from support.ros_world import Probe, reserved_domain, SOON, write_contract

pytestmark = pytest.mark.ros

ARM = [
    *('shoulder_pan_joint', 'shoulder_lift_joint', 'elbow_joint'),
    *('wrist_pitch_joint', 'wrist_yaw_joint', 'wrist_roll_joint'),
]
TWO = {'publishers': 2}
# An arm and a gripper, whose drivers publish their joints on one topic.
CHANGES: Mapping[str, Any] = {
    'observation': {'joints': TWO, 'gripper': TWO, 'wrench': {'on_stale': 'mark'}},
    'action': {'arm': {'feedback': TWO}, 'gripper': {'feedback': TWO}},
    'safety': {
        **dict.fromkeys(('gate_lateness', 'clock_jump', 'sensor_timeout'), 3.0),
        'environment_timeout': 3.0,
    },
    'recorder': {'required': False},
}


class Lone:
    """A gate in a process of its own, and what speaks to it."""

    def __init__(self, file: Path, domain_id: int, process: NodeProcess) -> None:
        loaded = load(file)
        self.digest, self.agent = loaded.digest, loaded.contract.agents[0]
        self.domain_id, self.process = domain_id, process
        self.probe = Probe(domain_id)
        for topic, kind, qos in (
            (names.GATE_STATUS, msg.GateStatus, names.LATCHED),
            (names.GATE_DECISION, msg.GateDecision, names.RECORD),
        ):
            self.probe.subscribe(topic, kind, qos)
        self.probe.until(lambda: self.status, SOON, 'a status')
        self.episode = EpisodeState.RESETTING
        self.speaks: dict[str, Callable[[], None]] = {}

    def joints(self, publisher: Any, *joints: str) -> None:
        stamp = self.probe.node.get_clock().now().to_msg()
        made = JointState(name=list(joints), position=[0.0] * len(joints))
        made.velocity = made.position
        made.header.stamp = stamp
        publisher.publish(made)

    def tell_episode(self, publisher: Any) -> None:
        id_ = StepId(digest=self.digest, agent=self.agent, episode_id='one')
        status = EpisodeStatus(id=id_, state=self.episode, pacing=Pacing.REALTIME)
        publisher.publish(to_msg(status))

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Let all speak until something is so."""

        def look() -> object:
            for speak in self.speaks.values():
                speak()
            return condition()

        self.probe.until(look, SOON, what)

    def arm(self) -> Any:
        request = srv.Arm.Request(
            digest=self.digest, agent=self.agent, episode_id='one', client='policy'
        )
        return self.probe.call(srv.Arm, names.ARM, request).result

    def arms(self, code: ResultCode) -> bool:
        """Ask for the lease, and return whether it is answered so."""
        return int(self.arm().code) == code

    def trigger(self, service: str) -> bool:
        name = f'safety_gate/{service}'
        return bool(self.probe.call(Trigger, name, Trigger.Request()).success)

    def clears(self) -> bool:
        """Have the emergency stop released; return whether it was."""
        name = 'safety_gate/clear_emergency_stop'
        return not self.probe.call(srv.OperatorCall, name, srv.OperatorCall.Request()).result.code

    @property
    def status(self) -> Any:
        return self.probe.last(names.GATE_STATUS)

    def rules(self, since: int) -> set[tuple[str, Reason]]:
        """Return the rules and reasons of the decisions since then."""
        said = self.probe.messages(names.GATE_DECISION, since)
        decisions = [from_msg(GateDecision, one) for one in said]
        return {(result.rule, result.reason) for d in decisions for result in d.rules}


@contextmanager
def lone(folder: Path, changes: Mapping[str, Any]) -> Iterator[Lone]:
    """Run a gate, with both drivers and an episode that is being reset."""
    merged = {**CHANGES, 'safety': {**CHANGES['safety'], **changes}}
    file = write_contract(folder / 'contract.yaml', merged, 'door_arm')
    spec = NodeSpec(name='safety_gate', parameters={'contract': str(file)})
    with ExitStack() as stack:
        domain = stack.enter_context(reserved_domain())
        processes = stack.enter_context(
            running([spec], domain_id=domain, logs=folder / 'logs', timeout=2 * SOON)
        )
        made = Lone(file, domain, processes['safety_gate'])
        stack.callback(made.probe.close)
        arm, gripper = (
            stack.enter_context(made.probe.publisher(JointState, 'joint_states', names.RECORD))
            for _ in range(2)
        )
        status = stack.enter_context(
            made.probe.publisher(msg.EpisodeStatus, names.EPISODE_STATUS, names.LATCHED)
        )
        made.speaks = {
            'arm': lambda: made.joints(arm, *ARM),
            'gripper': lambda: made.joints(gripper, 'gripper_joint'),
            'environment': lambda: made.tell_episode(status),
        }
        yield made


# What does not fit on a topic ------------------------------------------------------------------


def test_a_command_that_reaches_nobody_is_told_while_the_gate_is_armed(tmp_path: Path) -> None:
    topic, kind = '/arm_controller/joint_trajectory', 'trajectory_msgs/msg/JointTrajectory'
    nobody = f'Nobody listens to {topic} (expected a subscription of {kind}, got '
    with lone(tmp_path, {}) as gate, gate.probe.publisher(Bool, 'emergency_stop', names.LATCHED):
        gate.probe.subscribe(names.DIAGNOSTICS, DiagnosticArray, names.RECORD)

        def said() -> str:
            found = gate.probe.messages(names.DIAGNOSTICS)
            told = (entry for array in reversed(found) for entry in array.status)
            return next((one.message for one in told if one.name.endswith(': commands')), nobody)

        gate.until(lambda: said() != nobody, 'diagnostics')
        assert nobody not in said(), 'it is not armed'
        gate.until(lambda: gate.arms(ResultCode.OK), 'a lease')
        gate.until(lambda: f'{nobody}none' in said(), 'a warning')
        assert 'mend action.arm.topic' in said()
        # As another process: of one participant a topic has one type.
        driver = Probe(gate.domain_id)
        try:
            driver.subscribe(topic, String, names.RECORD)
            gate.until(lambda: f'{nobody}std_msgs/msg/String' in said(), 'the other type')
        finally:
            driver.close()
        driver = Probe(gate.domain_id)
        try:
            driver.subscribe(topic, JointTrajectory, names.LATCHED)
            gate.until(lambda: f'hears nothing on {topic}' in said(), 'the QoS that does not fit')
        finally:
            driver.close()
        gate.probe.subscribe(topic, JointTrajectory, names.RECORD)
        gate.until(lambda: nobody not in said(), 'that the driver is there')
        assert gate.process.log is not None
        assert f'{nobody}none' in gate.process.log.read_text()


def test_a_sensor_of_another_type_is_told_at_arming(tmp_path: Path) -> None:
    with (
        lone(tmp_path, {'emergency_stop_heartbeat': 3.0}) as gate,
        gate.probe.publisher(String, 'emergency_stop', names.RECORD, 0),
    ):
        other = 'published as std_msgs/msg/String, the contract says std_msgs/msg/Bool'
        gate.until(
            lambda: f'emergency_stop (/emergency_stop): {other}' in gate.arm().message, 'a refusal'
        )


# The emergency stop ------------------------------------------------------------------------------


def test_a_typo_in_the_topic_of_the_emergency_stop_is_an_error_at_arming(tmp_path: Path) -> None:
    with lone(tmp_path, {'emergency_stop': 'emergency_stopp'}) as gate:
        with gate.probe.publisher(Bool, 'emergency_stop', names.LATCHED, 0) as button:
            button.publish(Bool())
            gate.until(lambda: gate.arms(ResultCode.SENSOR_MISSING), 'a refusal')
            assert 'on /emergency_stopp, got none' in gate.arm().message
        # Nor does it count who could not be understood.
        with gate.probe.publisher(String, 'emergency_stopp', names.LATCHED, 0):
            found = gate.probe.node.get_publishers_info_by_topic
            gate.until(lambda: found('/emergency_stopp'), 'the wrong publisher')
            since = time.monotonic_ns()
            said = partial(gate.probe.messages, names.GATE_STATUS, since)
            gate.until(lambda: len(said()) > 10, 'the gate to have looked again')
            assert 'on /emergency_stopp, got none' in gate.arm().message
        with gate.probe.publisher(Bool, 'emergency_stopp', names.LATCHED):
            gate.until(lambda: gate.arms(ResultCode.OK), 'a lease')


def test_a_robot_that_has_no_emergency_stop_says_so(tmp_path: Path) -> None:
    with lone(tmp_path, {'emergency_stop': 'none'}) as gate:
        gate.until(lambda: gate.arms(ResultCode.OK), 'a lease')


def test_an_emergency_stop_that_falls_silent_stops_the_robot(tmp_path: Path) -> None:
    silence = ('emergency_stop', Reason.OBSERVATION_TIMEOUT)
    with (
        lone(tmp_path, {'emergency_stop_heartbeat': 3.0}) as gate,
        gate.probe.publisher(Bool, 'emergency_stop', names.RECORD) as button,
    ):
        never = 'emergency_stop (/emergency_stop, never heard)'
        gate.until(lambda: never in gate.arm().message, 'a refusal')
        gate.speaks['button'] = lambda: button.publish(Bool())
        gate.until(lambda: gate.arms(ResultCode.OK), 'a lease')
        gate.episode = EpisodeState.RUNNING
        gate.until(lambda: gate.status.state == GateState.RUNNING, 'an episode')
        since = time.monotonic_ns()
        del gate.speaks['button']
        gate.until(lambda: silence in gate.rules(since), 'a stop')


def test_a_latched_emergency_stop_outlives_the_cleanup_of_the_gate(tmp_path: Path) -> None:
    with (
        lone(tmp_path, {}) as gate,
        gate.probe.publisher(Bool, 'emergency_stop', names.RECORD) as button,
    ):
        button.publish(Bool(data=True))
        gate.until(lambda: gate.status.state == GateState.EMERGENCY_STOPPED, 'a stop')
        bring_up = BringUp(domain_id=gate.domain_id)
        try:
            for transition in (
                Lifecycle.TRANSITION_DEACTIVATE,
                Lifecycle.TRANSITION_CLEANUP,
                Lifecycle.TRANSITION_CONFIGURE,
                Lifecycle.TRANSITION_ACTIVATE,
            ):
                bring_up.change(gate.process, transition, time.monotonic() + SOON)
        finally:
            bring_up.close()
        gate.until(lambda: gate.status.state != GateState.INACTIVE, 'an active gate')
        assert gate.status.state == GateState.EMERGENCY_STOPPED
        assert gate.arms(ResultCode.EMERGENCY_STOPPED)
        assert not gate.clears(), 'it is still pressed'
        # Again and again, as buttons do: the listener of before the cleanup may still be known.
        gate.speaks['button'] = lambda: button.publish(Bool(data=False))
        gate.until(gate.clears, 'the stop to be cleared')
        gate.until(lambda: gate.arms(ResultCode.OK), 'a lease')


# Further sensors ---------------------------------------------------------------------------------


def test_a_battery_that_runs_low_and_a_door_that_opens_stop_the_robot(tmp_path: Path) -> None:
    rules = {
        'emergency_stop': 'none',
        'battery': {'main': {'topic': 'battery_state', 'min': 0.25, 'max_age': 3.0}},
        'interlock': {
            'door': {
                'topic': 'door',
                'type': 'std_msgs/msg/Bool',
                'field': 'data',
                'low': 1,
                'max_age': 3.0,
            }
        },
    }
    with (
        lone(tmp_path, rules) as gate,
        gate.probe.publisher(BatteryState, 'battery_state', names.RECORD) as battery,
        gate.probe.publisher(Bool, 'door', names.RECORD) as door,
    ):
        state, closed = BatteryState(voltage=24.0, percentage=0.5), Bool(data=True)

        def measure() -> None:
            state.header.stamp = gate.probe.node.get_clock().now().to_msg()
            battery.publish(state)

        gate.speaks['battery'] = measure
        never = 'interlock.door (/door, never heard)'
        gate.until(lambda: never in gate.arm().message, 'a refusal')
        gate.speaks['door'] = lambda: door.publish(closed)
        gate.until(lambda: gate.arms(ResultCode.OK), 'a lease')
        gate.episode = EpisodeState.RUNNING
        gate.until(lambda: gate.status.state == GateState.RUNNING, 'an episode')
        state.percentage, closed.data = 0.125, False
        since = time.monotonic_ns()
        bounds = Reason.OUT_OF_BOUNDS
        stops = {('battery.main', bounds), ('interlock.door', bounds)}
        gate.until(lambda: stops <= gate.rules(since), 'both stops')
        state.percentage, since = math.nan, time.monotonic_ns()
        unknown = ('sensors.battery.main', Reason.SENSOR_INVALID)
        gate.until(lambda: unknown in gate.rules(since), 'a stop for a level that is not known')
        del gate.speaks['door']
        silent = ('sensors.interlock.door', Reason.OBSERVATION_TIMEOUT)
        gate.until(lambda: silent in gate.rules(since), 'a stop for a door that is silent')
        assert 'the battery is too low (0.125, limit 0.25)' in gate.process.last_output(1000)


# Several drivers ---------------------------------------------------------------------------------


def test_two_drivers_on_one_topic_are_heard_and_a_third_or_a_foreign_command_is_not(
    tmp_path: Path,
) -> None:
    with (
        lone(tmp_path, {}) as gate,
        gate.probe.publisher(Bool, 'emergency_stop', names.LATCHED),
    ):
        # Each says nothing of the joints of the other.
        gate.until(lambda: gate.arms(ResultCode.OK), 'a lease')
        assert gate.status.foreign_publishers == 0
        for kind, topic in (
            (JointState, 'joint_states'),
            (JointTrajectory, 'arm_controller/joint_trajectory'),
        ):
            with gate.probe.publisher(kind, topic, names.RECORD):
                gate.until(lambda: gate.status.foreign_publishers == 1, f'one more on {topic}')
            gate.until(lambda: gate.status.foreign_publishers == 0, 'it to be gone')
        for said in (
            'Too many publishers on joint_states (expected 2, ',
            'Another publisher on arm_controller/joint_trajectory',
        ):
            gate.until(lambda said=said: said in gate.process.last_output(1000), f'logged: {said}')
        words = gate.process.last_output(1000)
        assert 'Joints of another publisher' not in words
        assert 'The joint ' not in words
