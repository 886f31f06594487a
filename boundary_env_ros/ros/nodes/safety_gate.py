# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The node ``safety_gate``: the only publisher on the command topics of its agent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
import sys
from typing import Any
import uuid

from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from boundary_env_ros import __version__
from boundary_env_ros.core.commands import message_fields
from boundary_env_ros.core.contract import Pacing
from boundary_env_ros.core.decision import ActionRequest, GateDecision
from boundary_env_ros.core.episode import EpisodeStatus
from boundary_env_ros.core.gate import Decisions, Gate
from boundary_env_ros.core.inputs import gate_inputs, Input
from boundary_env_ros.errors import BoundaryError, Refused
from boundary_env_ros.ros import names
from boundary_env_ros.ros.clock import not_before
from boundary_env_ros.ros.contract_node import ContractNode, run
from boundary_env_ros.ros.conversions import (
    advanced_from,
    fill,
    from_msg,
    message_class,
    set_time,
    to_msg,
)
from boundary_env_ros.ros.executors import fastest_executor
from boundary_env_ros.ros.interfaces import msg, srv


class SafetyGate(ContractNode):
    """
    Carries messages to the gate of the core, and its decisions out.

    The command goes first, then the decision that explains it.
    """

    def __init__(self) -> None:
        super().__init__('safety_gate', 'safety_gate')
        self._gate: Gate | None = None

    def configure(self) -> None:
        """Make the gate and what it listens to; commands go out only while the node is active."""
        contract, topics = self.contract, self.topics()
        self._gate = Gate(
            contract,
            digest=self.loaded.digest,
            agent=self.agent,
            topics={item.name: topics[item.topic] for item in gate_inputs(contract)},
            software_version=__version__,
        )
        self._pressed = False
        self._commands = [
            self.own(
                self.destroy_publisher,
                self.create_lifecycle_publisher(message_class(g.type), g.topic, names.COMMAND),
            )
            for g in contract.action
        ]
        self._decisions = self.speak(msg.GateDecision, names.GATE_DECISION, names.RECORD)
        self._status = self.speak(msg.GateStatus, names.GATE_STATUS, names.LATCHED)
        lockstep = contract.pacing is Pacing.LOCKSTEP
        for item in gate_inputs(contract):
            qos = names.sensor(item.qos, contract.pacing)
            self.listen(message_class(item.type), item.topic, self._sensor(item), qos)
        self.listen(msg.ActionRequest, names.ACTION_REQUEST, self._on_request, names.RECORD)
        self.listen(msg.EpisodeStatus, names.EPISODE_STATUS, self._on_episode, names.LATCHED)
        if lockstep:
            self.listen(msg.WorldAdvanced, names.WORLD_ADVANCED, self._on_advanced, names.RECORD)
        if contract.safety.emergency_stop:
            # However a press is offered, and if it was latched before this node was here, one of
            # these hears it. That most are heard more than once changes nothing; that some do not
            # fit a publisher is no reason to warn.
            stop, heard = contract.safety.emergency_stop, self._on_emergency_stop
            for qos in (names.RECORD, names.LATCHED_MANY, names.SENSOR):
                self.listen(Bool, stop, heard, qos, warn=False)
        for service, name, callback in (
            (srv.Arm, '~/arm', self._on_arm),
            (Trigger, '~/emergency_stop', self._on_stop_service),
            (Trigger, '~/clear_emergency_stop', self._on_clear_service),
        ):
            self.serve(service, name, callback)

    def activate(self) -> None:
        """Start the protecting timer, on the steady clock."""
        safety = self.contract.safety
        self.every(safety.gate_period, self._on_timer)
        self.every(min(self.contract.period, safety.gate_timeout / 4.0), self._say)
        self.every(1.0, self._look_for_competitors)
        self._active = True
        self._say()

    def deactivate(self) -> None:
        """Fall silent: the driver's own timeout stops the robot."""
        self._active = False

    def cleanup(self) -> None:
        """Let go of the gate."""
        self._gate = None

    _active = False
    _pressed = False

    @property
    def gate(self) -> Gate:
        """The gate of the core."""
        if self._gate is None:
            raise BoundaryError(
                'Expect a configured gate, actually: it is not. Configure it first.'
            )
        return self._gate

    # Events --------------------------------------------------------------------------------------

    def _sensor(self, item: Input) -> Callable[[Any], None]:
        host = self.contract.robot_host

        def on_message(message: Any) -> None:
            now = self.clock.now()
            reading = self.read(item, message)
            if reading is None:
                return
            captured = self.clock.captured(reading.stamp, host)
            self._send(self.gate.measure(item.name, reading.values, captured, now))

        return on_message

    def _on_request(self, message: Any) -> None:
        if not self._active:
            return
        received = self.clock.now()
        request = from_msg(ActionRequest, message)
        if request.requested is not None:
            received = not_before(received, request.requested)
        self._send(self.gate.request(request, received))

    def _on_episode(self, message: Any) -> None:
        before = self.gate.status(self.clock.now()).state
        self._send(self.gate.heard(from_msg(EpisodeStatus, message), self.clock.now()))
        if self.gate.status(self.clock.now()).state is not before:
            self._say()

    def _on_advanced(self, message: Any) -> None:
        self._send(self.gate.advanced(advanced_from(message), self.clock.now()))

    def _on_emergency_stop(self, message: Any) -> None:
        self._pressed = message.data
        self._emergency_stop(pressed=message.data)

    def _emergency_stop(self, *, pressed: bool) -> None:
        decisions = self.gate.emergency_stop(pressed, self.clock.now())
        if pressed:
            self.get_logger().warning('emergency stop', throttle_duration_sec=1.0)
        self._send(decisions)
        self._say()

    def _on_timer(self) -> None:
        self._send(self.gate.tick(self.clock.now()))

    # Decisions -----------------------------------------------------------------------------------

    def _send(self, decisions: Decisions) -> None:
        if not self._active:
            return
        for decision in decisions:
            self._send_one(decision)

    def _send_one(self, decision: GateDecision) -> None:
        if decision.published:
            commanded = self.clock.now()
            if decision.received is not None:
                commanded = not_before(commanded, decision.received)
            decision = replace(decision, commanded=commanded)
            start = 0
            for group, publisher in zip(self.contract.action, self._commands, strict=True):
                values = decision.command[start : start + group.size]
                command = fill(message_class(group.type)(), message_fields(group, values))
                if hasattr(command, 'header'):
                    set_time(command.header.stamp, commanded.ros.nanoseconds)
                    command.header.frame_id = group.frame
                publisher.publish(command)
                start += group.size
        self._decisions.publish(to_msg(decision, decision.commanded or self.clock.now()))

    def _say(self) -> None:
        now = self.clock.now()
        self._status.publish(to_msg(self.gate.status(now), now))

    def _look_for_competitors(self) -> None:
        mine = (self.get_name(), self.get_namespace())
        others = [
            (group.topic, info.node_namespace.rstrip('/') + '/' + info.node_name)
            for group in self.contract.action
            for info in self.get_publishers_info_by_topic(self.resolve_topic_name(group.topic))
            if (info.node_name, info.node_namespace) != mine
        ]
        self.gate.competing(len(others))
        for topic, name in others:
            self.get_logger().error(
                f'Expect no other publisher on {topic}, actually: {name}. '
                'Stop it: what it sends passes no gate.',
                throttle_duration_sec=10.0,
            )

    # Services ------------------------------------------------------------------------------------

    def _on_arm(self, request: Any, response: Any) -> Any:
        if not self._active:
            response.result.code = msg.Result.NOT_ACTIVE
            response.result.message = (
                'Expect an active safety gate, actually: it is not. Activate it.'
            )
            return response
        limits = self.contract
        try:
            lease = self.gate.arm(
                digest=request.digest,
                agent=request.agent,
                episode_id=request.episode_id,
                client=request.client,
                lease_id=str(uuid.uuid4()),
                now=self.clock.now(),
            )
        except Refused as refusal:
            response.result.code = int(refusal.code)
            response.result.message = str(refusal)
            return response
        response.lease_id = lease.lease_id
        response.low = list(limits.flat('low'))
        response.high = list(limits.flat('high'))
        self._say()
        return response

    def _on_stop_service(self, request: Any, response: Any) -> Any:
        self._emergency_stop(pressed=True)
        # A service is a knock, not a switch: it stays pressed only where the topic says so.
        self.gate.emergency_stop(self._pressed, self.clock.now())
        response.success = True
        response.message = 'The emergency stop is latched. ~/clear_emergency_stop releases it.'
        return response

    def _on_clear_service(self, request: Any, response: Any) -> Any:
        try:
            self.gate.clear_emergency_stop()
            response.success = True
            response.message = 'Released. Arm the gate for a new episode.'
        except Refused as refusal:
            response.message = str(refusal)
        self._say()
        return response


def main() -> int:
    """Run the node ``safety_gate``."""
    return run(SafetyGate, fastest_executor)


if __name__ == '__main__':
    sys.exit(main())
