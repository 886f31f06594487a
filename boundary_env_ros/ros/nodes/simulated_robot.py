# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The node ``simulated_robot``: an installed simulation, with the interface of drivers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
import json
import math
import sys
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor
from rosgraph_msgs.msg import Clock as ClockMessage
from std_msgs.msg import String

from boundary_env_ros.core.contract.model import WorldStep
from boundary_env_ros.core.environment.arrivals import refuse_long
from boundary_env_ros.core.environment.reset import ResetWorld
from boundary_env_ros.core.gate.rules.document_rules import published_documents
from boundary_env_ros.core.records.decision import GateDecision
from boundary_env_ros.core.records.lockstep import SimStepRequest
from boundary_env_ros.core.records.parts import NamedValues, StepId
from boundary_env_ros.core.sources import json_documents
from boundary_env_ros.core.sources.readers import reader, stamp_of
from boundary_env_ros.core.timebase import NANOSECONDS, to_nanoseconds
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import (
    BoundaryError,
    code_of,
    RequestRejected,
    ResultCode,
    SimulationFailed,
)
from boundary_env_ros.ros import names
from boundary_env_ros.ros.command_domain import command_domain, declare_command_domain
from boundary_env_ros.ros.contract_node import ContractNode, run
from boundary_env_ros.ros.conversions import (
    from_bytes,
    from_msg,
    message_class,
    message_writer,
    set_time,
    to_bytes,
    to_msg,
)
from boundary_env_ros.ros.executors import fastest_executor
from boundary_env_ros.ros.interfaces import msg, srv
from boundary_env_ros.ros.released_stop import ReleasedStop
from boundary_env_ros.simulation.installed_robots import make_robot, robot_type
from boundary_env_ros.simulation.plugin_robot import ask, plugin_of, PluginRobot
from boundary_env_ros.simulation.robot import Emission, report_of, SimulatedRobot

# How often the world catches up with the clock in realtime, s; sensor messages are late by up to
# that.
_REALTIME_PERIOD = 0.005
# Between two looks for what a plugin has pushed, s.
_PUSH_PERIOD = 0.05
# A world that fell behind by more than this does not catch up: its past would be simulated in one
# breath, and no command could reach it meanwhile.
_MOST_CATCHING_UP = NANOSECONDS // 2


class SimulatedRobotNode(ContractNode):
    """
    Runs a simulated robot against the clock, or in lockstep.

    In realtime the world follows the system clock. With simulated time it has a clock of its own,
    which starts at one period and is published on ``/clock``; in lockstep it moves only when it is
    asked to.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__('simulated_robot', 'robot', **options)
        self.declare(
            'robot', '', 'Installed robot to simulate (empty: the one named like the contract).'
        )
        declare_command_domain(self)
        self._robot: SimulatedRobot | None = None
        self._plugin: PluginRobot | None = None  # the same robot, if it is one around a plugin
        self._outgoing: dict[str, Any] = {}
        self._writers: dict[str, Callable[[Any], bytes]] = {}
        self._pushed: dict[str, Any] = {}
        self._pending: list[SimStepRequest] = []
        self._commanded: dict[str, float] = {}
        self._now = 0
        self._failed = ''
        self._active = False

    def configure(self) -> None:
        """Make the world, its publishers, and what the robot listens to."""
        contract = self.contract
        self._now = self._start()
        self._robot = make_robot(contract, self._now, self._options(), self.value('robot'))
        self._plugin = plugin_of(self._robot, contract)
        self._outgoing = {
            topic: self.add_publisher(message_class(kind), topic, names.SENSOR_LOCKSTEP)
            for topic, kind in self._robot.topics.items()
        }
        self._resolved = {topic: self.resolve_topic_name(topic) for topic in self._robot.topics}
        self._commanded = {}
        self._decided: dict[str, StepId | None] = dict.fromkeys(contract.agents)
        subscribe = (command_domain(self) or self).add_subscription
        for agent in contract.agents:
            for group in contract.action:
                topic = contract.topic_of(agent, group.topic)
                self._commanded[topic] = 0
                callback = partial(self._on_command, topic, reader(group.source))
                at = self.resolve_topic_name(topic)
                subscribe(message_class(group.type), at, callback, names.COMMAND)
            self._subscribe_documents(agent, subscribe)
        steps = contract.episode.reset.steps
        for service in sorted({step.service for step in steps if isinstance(step, WorldStep)}):
            self.add_service(srv.ResetWorld, service, self._on_reset)
        self.add_service(srv.AskWorld, names.ASK_WORLD, self._on_ask)
        self._pushed = {
            agent: self.publisher_of(names.PUSHED, agent)
            for agent in contract.agents
            if self._plugin is not None
        }
        self._stop = ReleasedStop(self)
        self._clock_publisher = None
        if contract.sim_time:
            self._clock_publisher = self.add_publisher(ClockMessage, '/clock', 10)
        if contract.is_lockstep:
            self._advanced = {
                agent: self.publisher_of(names.SIM_STEP_RESPONSE, agent)
                for agent in contract.agents
            }
            self.subscribe(names.SIM_STEP_REQUEST, self._on_advance)

    def _options(self) -> dict[str, float]:
        """Declare the robot's own parameters, now that the contract says which, and read them."""
        known = robot_type(self.contract, self.value('robot')).OPTIONS
        for name, (default, description) in known.items():
            if not self.has_parameter(name):
                # Dynamic: 10 means 10.0.
                descriptor = ParameterDescriptor(
                    description=description, read_only=True, dynamic_typing=True
                )
                self.declare_parameter(name, default, descriptor)
        return {name: self.value(name) for name in known}

    def _start(self) -> int:
        if self.contract.sim_time:
            return to_nanoseconds(self.contract.period)
        return int(self.get_clock().now().nanoseconds)

    def trouble(self) -> str:
        """Return why the world stands still until the next reset."""
        return self._failed

    def activate(self) -> None:
        """Let the world run: by its own timer in realtime; in lockstep when asked."""
        self._active = True
        self._steady = self.clock.now().steady
        if self._pushed:
            self.every(_PUSH_PERIOD, self._push)
        if not self.contract.is_lockstep:
            self._catch_up_to(self._target())
            self.every(_REALTIME_PERIOD, self._on_timer)
            self._stop.beat()
        else:
            # A late node must learn the time of a world that stands still.
            self.every(0.5, self._publish_time)
        self._publish_time()

    def deactivate(self) -> None:
        """Let the world stand still."""
        self._active = False

    def cleanup(self) -> None:
        """Let go of the world."""
        self._outgoing = {}
        self._writers = {}
        self._pushed = {}
        self._robot = self._plugin = None
        self._pending = []

    @property
    def robot(self) -> SimulatedRobot:
        """The robot."""
        if self._robot is None:
            raise BoundaryError('The robot is not configured. Configure it first.')
        return self._robot

    # Time ----------------------------------------------------------------------------------------

    def _target(self) -> int:
        """Return what time it should be in the world now (realtime)."""
        if not self.contract.sim_time:
            return max(int(self.get_clock().now().nanoseconds), self._now)
        steady = self.clock.now().steady
        target = self._now + steady - self._steady
        self._steady = steady
        return target

    def _on_timer(self) -> None:
        target = self._target()
        if target - self._now > _MOST_CATCHING_UP:
            self.get_logger().warning(
                f'the world fell {(target - self._now) / NANOSECONDS:.2f} s behind '
                'and leaves that out',
                throttle_duration_sec=5.0,
            )
            self._catch_up_to(target)
            return
        self._advance(target)
        self._publish_time()

    def _catch_up_to(self, target: int) -> None:
        """Bring the world to a time without showing what it measured on the way."""
        step = _MOST_CATCHING_UP
        while self._now < target:
            self._now = min(self._now + step, target)
            self._run(self._now)

    def _publish_time(self) -> None:
        if self._clock_publisher is None:
            return
        message = ClockMessage()
        set_time(message.clock, self._now)
        self._clock_publisher.publish(message)

    def _run(self, target: int) -> tuple[Emission, ...]:
        """Let the robot run; once it has failed it stands still until the next reset."""
        if self._failed:
            return ()
        try:
            return self.robot.advance(target)
        except Exception as error:  # noqa: BLE001 - the robot may be a user's
            known = isinstance(error, SimulationFailed)
            self._failed = str(error) if known else f'{type(error).__name__}: {error}'
            self.get_logger().error(self._failed)
            return ()

    def _advance(self, target: int) -> tuple[Emission, ...]:
        emissions = self._run(target)
        if self._failed:
            return ()
        self._now = target
        for emission in emissions:
            if emission.fields is not None:
                publisher = self._outgoing[emission.topic]
                if emission.topic not in self._writers:
                    made = message_writer(publisher.msg_type, emission.fields)
                    self._writers[emission.topic], _ = made
                publisher.publish(self._writers[emission.topic](emission.fields))
        return emissions

    # Commands ------------------------------------------------------------------------------------

    def _on_command(self, topic: str, read: Callable[[Any], Vector], message: Any) -> None:
        if not self._active:
            return
        try:
            self.robot.command(topic, read(message), self._arrival())
        except BoundaryError as error:
            self.get_logger().error(str(error), throttle_duration_sec=1.0)
            return
        stamp = stamp_of(message)
        # One without a stamp is the newest there can be, until the world has moved on.
        self._commanded[topic] = math.inf if stamp is None else stamp
        self._try_to_advance()

    def _subscribe_documents(self, agent: str, subscribe: Callable[..., Any]) -> None:
        """
        Subscribe to the topics of documents.

        They have no stamp that says of which step they are: in lockstep those of the decisions,
        which do, are taken.
        """
        topics = json_documents.topics(self.contract, agent)
        if not topics:
            return
        if self.contract.is_lockstep:
            self.subscribe(names.GATE_DECISION, partial(self._on_decision, topics), agent)
            return
        for topic in topics.values():
            at = self.resolve_topic_name(topic)
            subscribe(String, at, partial(self._on_document, topic), names.RECORD)

    def _on_document(self, topic: str, message: Any) -> None:
        if self._active:
            self._arrival()
            self._pass_document(topic, message.data)

    def _on_decision(self, topics: Mapping[str, str], data: bytes) -> None:
        decision = from_bytes(GateDecision, data)
        if not self._active or decision.request is None:
            return
        for name, text in published_documents(decision).items():
            self._pass_document(topics[name], text)
        self._decided[decision.id.agent] = decision.id
        self._try_to_advance()

    def _pass_document(self, topic: str, text: str) -> None:
        assert self._plugin is not None  # refused otherwise when it was configured
        try:
            self._plugin.document(topic, text)
        except BoundaryError as error:
            self.get_logger().error(str(error), throttle_duration_sec=1.0)

    def _arrival(self) -> int:
        """Return the time of a command's arrival; the world is brought up to it first."""
        if not self.contract.is_lockstep:
            self._on_timer()
        return self._now

    def _on_advance(self, data: bytes) -> None:
        """
        Take the request of one agent that the world advances.

        Of several agents each sends its command; the duration stands in the last request.
        """
        request = from_bytes(SimStepRequest, data)
        refuse_long(request, self.contract)
        if any(request.id.agent == other.id.agent or other.duration for other in self._pending):
            self._pending.clear()  # what was asked for before is not waited for any more
        self._pending.append(request)
        self._try_to_advance()

    def _try_to_advance(self) -> None:
        """
        Advance if the commands that were announced are here, on every topic.

        Else they are waited for; the caller has a deadline.
        """
        if not self._active or not self._pending or not self._pending[-1].duration:
            return
        if not all(map(self._has_command, self._pending)):
            return
        requests = tuple(self._pending)
        self._pending.clear()
        self._commanded = {
            topic: stamp if math.isfinite(stamp) else 0 for topic, stamp in self._commanded.items()
        }
        emissions = self._advance(self._now + requests[-1].duration)
        self._push()
        self._publish_time()
        for request in requests:
            self._report(request.id, emissions)

    def _has_command(self, request: SimStepRequest) -> bool:
        if (
            self.contract.documents
            and request.id.step
            and self._decided[request.id.agent] != request.id
        ):
            return False
        return not request.command_stamp or all(
            self._commanded[self.topic_of(request.id.agent, group.topic)] >= request.command_stamp
            for group in self.contract.action
        )

    def _report(self, id_: StepId, emissions: tuple[Emission, ...]) -> None:
        own = emissions
        if len(self.contract.agents) > 1:
            own = tuple(e for e in emissions if e.topic.startswith(f'{id_.agent}/'))
        info = '' if self._plugin is None else self._plugin.info(id_.agent)
        report = report_of(id_, own, self._failed, self._resolved, info=info)
        self._advanced[id_.agent].publish(to_bytes(report, self._now))

    # Reset ---------------------------------------------------------------------------------------

    def _on_reset(self, request: Any, response: Any) -> Any:
        if not self._active:
            raise RequestRejected('The robot is not active. Activate it.', ResultCode.NOT_ACTIVE)
        if not self.contract.is_lockstep:
            self._on_timer()
        self._pending.clear()
        answer = self.robot.reset(
            ResetWorld(
                seed=request.seed,
                target=tuple(from_msg(NamedValues, values) for values in request.target),
                options=request.options,
            ),
            self._now,
        )
        if answer.error:
            raise RequestRejected(answer.error, ResultCode.RESET_FAILED)
        self._failed = ''
        response.achieved = [to_msg(values) for values in answer.achieved]
        set_time(response.completed, answer.completed)
        response.info = answer.info
        return response

    # Beside the steps ----------------------------------------------------------------------------

    def _on_ask(self, request: Any, response: Any) -> Any:
        """Answer what more than its topics a robot can tell, if it can."""
        try:
            arguments = {'agent': request.agent, **json.loads(request.arguments or '{}')}
            response.answer = json.dumps(ask(self.robot, request.method, arguments))
        except BoundaryError as error:
            raise RequestRejected(str(error), code_of(error)) from error
        except (TypeError, ValueError, RecursionError) as error:
            raise RequestRejected(
                f'Wrong arguments (expected a JSON object, got {error}).'
            ) from error
        return response

    def _push(self) -> None:
        """Publish what a plugin has pushed; the policy server says in which episode and step."""
        if self._plugin is None:
            return
        for push in self._plugin.pushed():
            self._pushed[push.agent].publish(
                msg.EnvironmentEvent(
                    id=msg.StepId(agent=push.agent),
                    kind=msg.EnvironmentEvent.KIND_PLUGIN,
                    event_type=push.event_type,
                    payload=push.payload,
                    reason=push.reason,
                )
            )


def main() -> int:
    """Run the node ``simulated_robot``."""
    return run(SimulatedRobotNode, executor=fastest_executor)


if __name__ == '__main__':
    sys.exit(main())
