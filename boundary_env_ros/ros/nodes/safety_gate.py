# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The node ``safety_gate``: the only publisher on the command topics of its agent."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from functools import partial
from itertools import chain
import sys
import time
from typing import Any
import uuid

from diagnostic_msgs.msg import DiagnosticStatus
from rcl_interfaces.msg import SetParametersResult
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy
from std_msgs.msg import Bool, String
from std_srvs.srv import Trigger

from boundary_env_ros import __version__
from boundary_env_ros.core.contract.model import slices_of
from boundary_env_ros.core.contract.safety import STOP_TYPE, STOPS_WITHIN
from boundary_env_ros.core.gate.commands import as_sent, message_fields
from boundary_env_ros.core.gate.explain import details, sentence, worst_of
from boundary_env_ros.core.gate.gate import Gate
from boundary_env_ros.core.gate.gate_events import (
    Arm,
    ClearEmergencyStop,
    CommandPublished,
    Deactivate,
    EmergencyStop,
    EpisodeStatusReceived,
    Event,
    ForeignCommand,
    Measured,
    ProbeDrivers,
    PublishersSeen,
    Request,
    Tick,
    Tighten,
    TimerStarted,
    WorldMoved,
)
from boundary_env_ros.core.gate.other_publishers import OtherPublishers, relied_on, ReliedOnTopic
from boundary_env_ros.core.gate.reducer import Decisions
from boundary_env_ros.core.gate.rules.document_rules import published_documents
from boundary_env_ros.core.records.decision import (
    ActionRequest,
    ForeignPublishers,
    GateDecision,
    GateState,
    GateStatus,
    OPERATOR,
    Reason,
    RuntimeLimits,
    Verdict,
)
from boundary_env_ros.core.records.episode import EpisodeStatus
from boundary_env_ros.core.sources.inputs import gate_inputs
from boundary_env_ros.core.sources.listener import Listener
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.errors import BoundaryError, RequestRejected, ResultCode
from boundary_env_ros.frozen import replace
from boundary_env_ros.ros import names
from boundary_env_ros.ros.clock import not_before
from boundary_env_ros.ros.command_domain import command_domain, declare_command_domain
from boundary_env_ros.ros.command_topic import CommandTopic
from boundary_env_ros.ros.contract_node import ContractNode, run
from boundary_env_ros.ros.conversions import (
    advanced_from,
    from_bytes,
    message_class,
    single_precision,
    to_bytes,
    to_msg,
)
from boundary_env_ros.ros.diagnostics import of_gate
from boundary_env_ros.ros.executors import dispatch, fastest_executor
from boundary_env_ros.ros.interfaces import srv
from boundary_env_ros.ros.message_guard import (
    most_of_sensor,
    Throttle,
)

#: Seconds between two checks for publishers that there must not be.
_POLL = 0.25

#: Seconds in which a rule is logged once.
_LOG_PERIOD = 1.0

#: Seconds in which each other publisher is logged once.
_AGAIN = 10.0

#: Candidate actions of one plan.
_MOST_CANDIDATES = 256

#: Candidate actions, or messages of a sensor, between two checks of what is urgent.
_BATCH = 16

#: Presses of the emergency stop that are taken in one tick.
_PRESSES = 10

#: Own states that are remembered, to tell those of another apart.
_STATUSES = 64

#: Limits of the command that parameters make stricter.
_STRICTER = ('low', 'high', 'rate')


class SafetyGate(ContractNode):
    """
    Carries messages to the gate of the core, and its decisions out.

    The command goes first, then the decision that explains it. With several agents each has a gate
    of its own, in the namespace of its name.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__('safety_gate', 'safety_gate', **options)
        self._gate: Gate | None = None
        self.declare(
            'agent',
            '',
            'Agent whose gate this is; the last part of the namespace is its name then (empty: '
            'the only agent of the contract).',
        )
        self.declare(
            'stricter.low',
            Parameter.Type.DOUBLE_ARRAY,
            'Least value of each dimension of the command, where it is to be stricter than the '
            'contract (empty: as there). While a lease is out it can only be raised.',
            read_only=False,
        )
        self.declare(
            'stricter.high',
            Parameter.Type.DOUBLE_ARRAY,
            'Greatest value of each dimension of the command (empty: as in the contract). While '
            'a lease is out it can only be lowered.',
            read_only=False,
        )
        self.declare(
            'stricter.rate',
            Parameter.Type.DOUBLE_ARRAY,
            'Most that each dimension of the command may change, unit/s (empty: as in the '
            'contract). While a lease is out it can only be lowered. One at which the robot could '
            'not brake for an obstacle or a workspace is refused; while the robot rests, '
            '`stricter.high` may be lowered with it.',
            read_only=False,
        )
        self.declare(
            'stricter.command_timeout',
            0.0,
            'Seconds without an action after which the robot is stopped (0: as in the contract). '
            'While a lease is out it can only be lowered.',
            read_only=False,
        )
        self.declare(
            'probe_on_activation',
            False,
            'Measure the timeouts of the drivers as soon as the node is active: the robot moves '
            'by itself then, by the command `driver_timeout_probe` of the contract.',
        )
        declare_command_domain(self)
        self.add_on_set_parameters_callback(self._on_parameters)

    @property
    def agent(self) -> str:
        """The agent whose gate this is."""
        agents, wanted = self.contract.agents, self.value('agent')
        if len(agents) == 1 and wanted in ('', agents[0]):
            return agents[0]
        place = self.get_namespace()
        if wanted not in agents or place.rpartition('/')[2] != wanted:
            raise BoundaryError(
                'The parameter agent or the namespace is wrong (expected one of '
                f'{", ".join(agents)}, in a namespace that ends with it, got {wanted!r} in '
                f'{place}). Start a gate for each agent, '
                f'for example with `--ros-args -p agent:={agents[0]} -r __ns:=/{agents[0]}`.'
            )
        return str(wanted)

    def topic_of(self, agent: str, topic: str) -> str:
        """Return a topic as it is: the gate stands in the namespace of its agent."""
        return topic

    def elsewhere(self) -> tuple[str, ...]:
        """Return where the nodes that serve all agents latch their contract."""
        above = self.get_namespace().rpartition('/')[0]
        return (f'{above}/{names.CONTRACT}',)

    def configure(self) -> None:
        """Make the gate and what it listens to; commands go out only while the node is active."""
        contract, at = self.contract, self.resolve_topic_name
        inputs = [replace(item, at=at(item.topic)) for item in gate_inputs(contract)]
        self._gate = Gate(
            contract,
            digest=self.loaded.digest,
            agent=self.agent,
            topics={item.name: item.at for item in inputs},
            software_version=__version__,
        )
        if self._latched:
            # It stopped a robot, and a person has to release it, whatever was loaded since.
            for pressed in (True, self._pressed):
                self.gate.apply(EmergencyStop(pressed=pressed, now=self.clock.now()))
        self.gate.apply(Tighten(runtime_limits=self._runtime_limits({}), now=self.clock.now()))
        self._own_statuses: deque[int] = deque(maxlen=_STATUSES)
        self._logged, self._repeated = Throttle(_LOG_PERIOD), Throttle(_AGAIN)
        domain = command_domain(self)
        commands = partial(CommandTopic, self, foreign=self._on_foreign, domain=domain)
        # On whose graph the topics of commands and documents are looked up.
        self._commanded = dict.fromkeys(contract.command_topics, domain or self)
        self._outputs = {
            group.topic: commands(
                message_class(group.type),
                group.topic,
                names.COMMAND,
                message_fields(group, group.high),
                group.frame,
            )
            for group in contract.action
        }
        self._as_float32 = {
            group.name: single_precision(message_class(group.type), group)
            for group in contract.action
        }
        self._documents = {
            group.name: commands(String, group.topic, names.RECORD, {'data': group.name})
            for group in contract.documents
        }
        self._others = OtherPublishers(
            self.get_fully_qualified_name(),
            commands=self._commanded,
            relied_on=self._relied_on(),
            patience=contract.safety.gate_timeout,
        )
        self._decisions = self.publisher_of(names.GATE_DECISION)
        self._status = self.publisher_of(names.GATE_STATUS)
        self._released_by = ''
        # Inputs of one topic that ask for another quality are listened to apart.
        self._listeners = {
            key: self.listener([i for i in inputs if (i.topic, i.qos) == key], kept=1)
            for key in dict.fromkeys((item.topic, item.qos) for item in inputs)
        }
        self._sensors = [
            self.add_subscription(
                message_class(listener.inputs[0].type),
                topic,
                partial(self._on_sensor, listener),
                names.sensor(qos, contract.pacing),
                raw=True,
                most=most_of_sensor(listener.inputs[0].type),
            )
            for (topic, qos), listener in self._listeners.items()
        ]
        self.subscribe(names.ACTION_REQUEST, self._on_request)
        self.subscribe(names.EPISODE_STATUS, self._on_episode)
        self.subscribe(names.GATE_STATUS, self._on_gate_status, qos=names.LATCHED_MANY)
        if contract.is_lockstep:
            self.subscribe(names.SIM_STEP_RESPONSE, self._on_advanced)
        # However a press is offered, and if it was latched before this node was here, one of these
        # receives it. That most come more than once changes nothing; that some do not fit a
        # publisher is no reason to warn. Of any size: what follows the value is not read.
        stop = contract.safety.emergency_stop
        self._stops = [
            self.add_subscription(Bool, stop, self._on_emergency_stop, qos, warn=False)
            for qos in (names.RECORD, names.LATCHED_MANY, names.SENSOR)
            if stop
        ]
        for service, name, callback in (
            (srv.Arm, '~/arm', self._on_arm),
            (srv.OperatorCall, '~/clear_emergency_stop', self._on_clear_service),
            (srv.OperatorCall, '~/loosen', self._on_loosen_service),
            (srv.OperatorCall, '~/probe_driver', self._on_probe_service),
        ):
            self.add_own_service(service, name, callback)
        for service, name, callback in (
            (Trigger, '~/emergency_stop', self._on_stop_service),
            (srv.EvaluateActions, '~/evaluate_actions', self._on_evaluate_actions),
        ):
            self.add_service(service, name, callback)

    def activate(self) -> None:
        """Start the protecting timer, on the steady clock."""
        safety = self.contract.safety
        self.every(safety.gate_period, self._on_timer)
        self.every(self.heartbeat(safety.gate_timeout), self._publish_status)
        self.every(_POLL, self._check_publishers)
        self.gate.apply(TimerStarted(now=self.clock.now()))
        self._tally: Counter[Verdict] = Counter()
        self._ticked = None
        self._latest = 0.0
        self._active, self._world_moves = True, False
        self._check_publishers()
        self._publish_status()
        if self.gate.to_probe and self.value('probe_on_activation') and not self._probed:
            self._probe_on_activation()
        elif self.gate.to_probe and self.gate.state.probe is None:
            self.get_logger().warning(
                'The timeout of the drivers is not measured yet: until `boundary-env up --probe` '
                'or `boundary-env operator --probe` has, the gate is not armed.'
            )

    def _probe_on_activation(self) -> None:
        """Begin the probe; a gate to which it is refused protects unprobed, and is not armed."""
        try:
            self.gate.apply(ProbeDrivers(now=self.clock.now()))
            # Once in the life of a process: who activates it again has not asked for a motion.
            self._probed = True
        except RequestRejected as refusal:
            self.get_logger().error(
                f'The drivers are not probed on activation: {refusal} Until '
                '`boundary-env operator --probe` has measured them, the gate is not armed.'
            )

    def deactivate(self) -> None:
        """Stop the robot, then fall silent and say so."""
        self._catch_up()
        if self._active:
            try:
                self._wind_down()
            finally:
                self._active = self._winding_down = False
                self._publish_status()

    def _wind_down(self) -> None:
        """Follow the stop profile to its end; what is measured meanwhile is taken note of."""
        self._winding_down = True
        safety = self.contract.safety
        until = time.monotonic() + STOPS_WITHIN
        while decisions := self.gate.apply(Deactivate(now=self.clock.now()), self.clock.now):
            self._send(decisions)
            self._publish_status()
            if time.monotonic() > until:
                self.get_logger().error(
                    f'The robot was not stopped within {STOPS_WITHIN:g} s: the last command is '
                    f'{decisions[-1].command}. What is left is up to the timeout of its driver; '
                    'let it stop before the gate is deactivated.'
                )
                return
            if not self.contract.is_lockstep:  # in lockstep the world stands still
                time.sleep(safety.gate_period)
                for subscription in (*self._stops, *self._sensors):
                    dispatch(subscription, _BATCH)

    def busy(self) -> str:
        """Return whose lease is out; empty if none is."""
        lease = None if self._gate is None else self._gate.state.lease_state.lease
        return '' if lease is None else f'{lease.holder!r} holds the lease of an episode'

    def cleanup(self) -> None:
        """Let go of the gate, but not of a latched emergency stop."""
        if self._gate is not None:
            self._latched = self._gate.state.name is GateState.EMERGENCY_STOPPED
        self._gate = None

    _active = False
    _winding_down = False
    _pressed = False
    _latched = False
    _loosened = False
    _probed = False
    _ticked: int | None = None
    # Whether the world (lockstep) answers a command: until it says how far it has come, only the
    # newest message of each sensor counts.
    _world_moves = False

    @property
    def gate(self) -> Gate:
        """The gate of the core."""
        if self._gate is None:
            raise BoundaryError('The gate is not configured. Configure it first.')
        return self._gate

    # Events --------------------------------------------------------------------------------------

    def _on_sensor(self, listener: Listener, data: bytes) -> None:
        [at] = listener.topics
        listener.on_message(at, data)
        if not self._world_moves or any(item.is_each for item in listener.inputs):
            self._poll(listener)

    def _poll(self, listener: Listener) -> None:
        """Read what waits of one topic for all that go by it."""
        now = self.clock.now()
        self._others.received(listener.inputs[0].topic, now.steady)
        for item, reading in chain(listener.poll_each(), listener.poll_newest()):
            if reading.problem and self._repeated.due((item.topic, reading.problem)):
                self.get_logger().error(f'{item.topic}: {reading.problem}')
            measured = Measured(
                name=item.name, values=reading.values, captured=reading.captured, now=now
            )
            if item.name != OPERATOR:
                self._send(self.gate.apply(measured))
            elif self._active:  # else what a person asks for would count as sent
                self._decide(measured)

    def _catch_up(self) -> None:
        """Read the newest message of each sensor that was left unread while the world moved."""
        for listener in self._listeners.values():
            if listener.pending:
                try:
                    self._poll(listener)
                except Exception as error:  # noqa: BLE001 - whatever a message leads to
                    self.refuse(listener.inputs[0].topic, error)

    def _on_request(self, data: bytes) -> None:
        if not self._active:
            return
        received = self.clock.now()
        request = from_bytes(ActionRequest, data)
        self._catch_up()
        if request.requested is not None:
            received = not_before(received, request.requested)
        self._decide(Request(request=request, now=received))

    def _on_episode(self, data: bytes) -> None:
        status, now = from_bytes(EpisodeStatus, data), self.clock.now()
        before = self.gate.state.name
        if status.declared_by != names.RECORDER:
            self._others.received(names.EPISODE_STATUS, now.steady)
        self._catch_up()
        self._send(self.gate.apply(EpisodeStatusReceived(status=status, now=now)))
        if self.gate.state.name is not before:
            self._publish_status()

    def _on_advanced(self, data: bytes) -> None:
        report = advanced_from(data)
        self._world_moves = False  # what still comes of this advance is waited for
        self._catch_up()
        self._send(self.gate.apply(WorldMoved(report=report, now=self.clock.now())))

    def _on_emergency_stop(self, message: Any) -> None:
        self._pressed = message.data
        self._emergency_stop(self.contract.safety.emergency_stop, pressed=message.data)

    def _emergency_stop(self, source: str, *, pressed: bool) -> None:
        before = self.gate.state.name
        if pressed and before is not GateState.EMERGENCY_STOPPED:
            self.get_logger().warning(f'Emergency stop, by {source}.')
        self._decide(EmergencyStop(pressed=pressed, now=self.clock.now()))
        if self.gate.state.name is not before:
            self._publish_status()

    def urgent(self) -> None:
        """Tick when that is due, whatever waits in the queue of the executor."""
        if self._active and not self._winding_down:
            self._tick(self.contract.safety.gate_period)

    def _on_timer(self) -> None:
        # It keeps its grid: it may come a moment after a tick that something else has led to.
        self._tick(self.contract.safety.gate_period / 2.0)

    def _tick(self, after: float) -> None:
        """Take a press of the emergency stop that waits, and tick, if the last one is so old."""
        if self._ticked is not None:
            since = (time.monotonic_ns() - self._ticked) / NANOSECONDS
            if since < after:
                return
            self._latest = max(self._latest, since)
            patience = self.contract.safety.environment_timeout
            usual = self.contract.safety.gate_period + patience / 2.0
            if self.contract.is_lockstep and since > usual:
                # It stood still, as beside a slow world on its executor, and has received nothing:
                # what waits is dispatched before a silence is judged.
                self._ticked = time.monotonic_ns() + round(patience * NANOSECONDS)
                return
        now = self.clock.now()
        self._ticked = now.steady
        for subscription in self._stops:
            dispatch(subscription, _PRESSES)
        before = self.gate.state.probing
        self._catch_up()
        self._decide(Tick(now=now))
        if before and not self.gate.state.probing:
            self._log_probe()

    def _on_gate_status(self, data: bytes) -> None:
        """Hear another gate of the same name; one that is not active sends no command."""
        status = from_bytes(GateStatus, data)
        own = status.stamp is not None and status.stamp.steady in self._own_statuses
        if not own and status.state is not GateState.INACTIVE:
            self._others.duplicate_seen(self.clock.now().steady)

    # Decisions -----------------------------------------------------------------------------------

    def _decide(self, event: Event) -> None:
        """Decide, and send what was decided in time."""
        self._send(self.gate.apply(event, self.clock.now))

    def _send(self, decisions: Decisions) -> None:
        if not self._active:
            return
        for decision in decisions:
            self._send_one(decision)
            self._world_moves = self.contract.is_lockstep
            self._tally[decision.verdict] += 1
            if decision.verdict is not Verdict.ADMITTED:
                self._log(decision)

    def _log(self, decision: GateDecision) -> None:
        """Say which rule did what to which dimension most, each once in a while."""
        for result, others in worst_of(decision.rules):
            if not self._logged.due((result.outcome, result.rule)):
                continue
            names = self.contract.command_dimensions
            text = sentence(result, names, others, details(result, decision, self.contract))
            grave = result.outcome in (Verdict.STOPPED, Verdict.REJECTED)
            # An episode ends, and a gate is deactivated, because it was asked to.
            if grave and result.reason not in (Reason.EPISODE_OVER, Reason.DEACTIVATED):
                self.get_logger().warning(text)
            else:
                self.get_logger().info(text)

    def _send_one(self, decision: GateDecision) -> None:
        if decision.published:
            commanded = not_before(self.clock.now(), decision.decided)
            # The command first: what it takes to explain it would make it late.
            own, limits = slices_of(self.contract.action), self.gate.state.limits
            for output, (group, part) in zip(self._outputs.values(), own, strict=True):
                values = as_sent(
                    group,
                    decision.command[part],
                    self._as_float32[group.name],
                    low=limits.low[part],
                    high=limits.high[part],
                )
                output.publish(message_fields(group, values), commanded.ros.nanoseconds)
            self.gate.apply(CommandPublished(now=commanded))
            decision = replace(decision, commanded=commanded)
        at = (decision.commanded or self.clock.now()).ros.nanoseconds
        for name, text in published_documents(decision).items():
            self._documents[name].publish({'data': text}, at)
        self._decisions.publish(to_bytes(decision, at))

    def _publish_status(self) -> None:
        now = self.clock.now()
        status = replace(
            self.gate.state.status(now),
            refused=self.incoming.forged,
            released_by=self._released_by,
        )
        if not self._active:
            # It is latched: what was true before would be read for as long as the node is there.
            status = replace(status, state=GateState.INACTIVE)
        self._own_statuses.append(now.steady)
        self._status.publish(to_bytes(status, now.ros.nanoseconds))

    def conditions(self) -> Iterator[DiagnosticStatus]:
        """Yield what ``/diagnostics`` says of the node and of its commands."""
        yield from super().conditions()
        yield of_gate(
            self.path,
            self.gate.state.status(self.clock.now()),
            groups=[group.name for group in self.contract.action],
            decisions=self._tally,
            latest=self._latest,
            undelivered=self._undelivered_commands(),
        )
        self._latest = 0.0

    def _undelivered_commands(self) -> str:
        """Return, and log, which commands of an armed gate reach no driver, and why."""
        commanding = self.gate.state.name not in (GateState.DISARMED, GateState.INACTIVE)
        if self.contract.is_lockstep or not commanding:
            return ''
        problems = []
        for group in self.contract.action:
            topic = self.resolve_topic_name(group.topic)
            listening = [
                info
                for info in self._commanded[group.topic].get_subscriptions_info_by_topic(topic)
                if info.node_name not in (self.get_name(), names.RECORDER)
            ]
            there = {info.topic_type for info in listening}
            problems += [
                f'{info.node_name} hears nothing on {topic} (expected a subscription with '
                'volatile durability, got transient local). Mend the QoS of the driver.'
                for info in listening
                if info.qos_profile.durability is DurabilityPolicy.TRANSIENT_LOCAL
            ]
            if group.type not in there:
                problems.append(
                    f'Nobody listens to {topic} (expected a subscription of {group.type}, got '
                    f'{", ".join(sorted(there)) or "none"}). Start the driver, or mend '
                    f'action.{group.name}.topic or its type.'
                )
        for problem in problems:
            if self._repeated.due(problem):
                self.get_logger().warning(problem)
        return ' '.join(problems)

    # Other publishers ----------------------------------------------------------------------------

    def _relied_on(self) -> dict[str, ReliedOnTopic]:
        """Return the topics that the gate goes by."""
        contract, found = self.contract, relied_on(self.contract)
        if contract.is_lockstep:
            patience = None
            found[names.SIM_STEP_RESPONSE] = ReliedOnTopic()
        else:
            patience = contract.safety.environment_timeout
        found[names.EPISODE_STATUS] = ReliedOnTopic(patience=patience, beside=names.RECORDER)
        return found

    def _check_publishers(self) -> None:
        """Look for publishers that there must not be, and for one that there must be."""
        found = {topic: self._found(topic) for topic in self._others.topics}
        unexpected = self._others.unexpected(found, self.clock.now().steady)
        stop = self.contract.safety.emergency_stop
        unpublished = stop and not self._found(stop, STOP_TYPE)
        self.gate.apply(
            PublishersSeen(
                foreign_commands=len(unexpected.commands),
                foreign_publishers=tuple(
                    ForeignPublishers(topic=topic, count=count)
                    for topic, count in unexpected.beyond.items()
                ),
                unpublished=self.resolve_topic_name(stop) if unpublished else '',
                now=self.clock.now(),
            )
        )
        for topic, name in unexpected.commands:
            if self._repeated.due((topic, name)):
                self.get_logger().error(
                    f'Another publisher on {topic} (expected the gate alone, got {name}). '
                    'Stop it: what it sends passes no gate.'
                )
        for topic, there in unexpected.relied_on.items():
            if self._repeated.due((topic, *there)):
                most = len(there) - unexpected.beyond[topic]
                self.get_logger().error(
                    f'Too many publishers on {topic} (expected {most}, got '
                    f'{", ".join(sorted(there))}). Stop the others: the gate cannot tell which '
                    'of them is right. A process that was killed counts until the middleware '
                    'notices that it is gone.'
                )

    def _found(self, topic: str, kind: str = '') -> dict[bytes, str]:
        """Return the node of each publisher on a topic, if need be only of those of a type."""
        return {
            bytes(info.endpoint_gid): info.node_namespace.rstrip('/') + '/' + info.node_name
            for info in self._commanded.get(topic, self).get_publishers_info_by_topic(
                self.resolve_topic_name(topic)
            )
            if kind in ('', info.topic_type)
        }

    def _on_foreign(self, topic: str, answers: bool) -> None:
        """Answer a command that is not the gate's own, so that the last word is the gate's."""
        if not self._active or self._winding_down:
            return
        now = self.clock.now()
        news = self._others.foreign_command(topic, now.steady)
        if news or answers:
            decisions = self.gate.apply(ForeignCommand(now=now), self.clock.now)
            self._send(decisions)
            output = self._outputs.get(topic)  # a document is not said again
            if not decisions and output is not None and self.gate.state.answers_foreign:
                output.repeat()
        if news:
            self._check_publishers()

    # Services ------------------------------------------------------------------------------------

    def _on_arm(self, request: Any, response: Any) -> Any:
        self._catch_up()
        try:
            self._refuse_inactive()
            self.gate.apply(
                Arm(
                    digest=request.digest,
                    agent=request.agent,
                    episode_id=request.episode_id,
                    client=request.client,
                    lease_id=str(uuid.uuid4()),
                    now=self.clock.now(),
                )
            )
        except RequestRejected as refusal:
            details: list[str] = []
            if refusal.code is ResultCode.SENSOR_MISSING:
                listeners = self._listeners.values()
                for item, why in chain(*(each.problems.items() for each in listeners)):
                    details += [f'{item.name}: {why}'] if why else []
                for item in chain(*(each.inputs for each in listeners)):
                    if problem := self.other_type(item.at, item.type):
                        details.append(f'{item.name} ({item.at}): {problem}.')
            raise RequestRejected(' '.join((str(refusal), *details)), refusal.code) from refusal
        status = self.gate.state.status(self.clock.now())
        response.lease_id = status.lease_id
        response.low, response.high = map(list, self.gate.state.bounds)
        who, episode = request.client, request.episode_id[:8]
        self.get_logger().info(f'Armed by {who!r} for the episode {episode}.')
        self._publish_status()
        return response

    def _on_stop_service(self, request: Any, response: Any) -> Any:
        self._emergency_stop('a call of ~/emergency_stop', pressed=True)
        # A service is a knock, not a switch: it stays pressed only where the topic says so.
        self.gate.apply(EmergencyStop(pressed=self._pressed, now=self.clock.now()))
        response.success = True
        response.message = (
            'The emergency stop is latched. `boundary-env operator --release` releases it.'
        )
        return response

    def _on_clear_service(self, request: Any, response: Any) -> Any:
        self.gate.apply(ClearEmergencyStop(now=self.clock.now()))
        self._released_by = request.caller
        self.get_logger().warning(f'The emergency stop is released, by {request.caller!r}.')
        self._publish_status()
        return response

    def _on_loosen_service(self, request: Any, response: Any) -> Any:
        """Forget what parameters made stricter."""
        arrays = [Parameter(f'stricter.{n}', Parameter.Type.DOUBLE_ARRAY, []) for n in _STRICTER]
        timeout = Parameter('stricter.command_timeout', Parameter.Type.DOUBLE, 0.0)
        self._loosened = True
        try:
            result = self.set_parameters_atomically([*arrays, timeout])
        finally:
            self._loosened = False
        if not result.successful:
            raise RequestRejected(result.reason, ResultCode.INVALID_ARGUMENT)
        self.get_logger().warning(f'The limits are those of the contract, by {request.caller!r}.')
        self._publish_status()
        return response

    def _on_probe_service(self, request: Any, response: Any) -> Any:
        self._refuse_inactive()
        self.gate.apply(ProbeDrivers(now=self.clock.now()))
        self.get_logger().warning(f'The drivers are probed, by {request.caller!r}.')
        self._publish_status()
        return response

    def _log_probe(self) -> None:
        problem = self.gate.state.probe_failure
        if problem:
            self.get_logger().error(f'The probe of the drivers failed: {problem}.')
        else:
            timeouts = self.gate.state.status(self.clock.now()).driver_timeouts
            measured = ', '.join(
                f'{group.name} {seconds:.3f} s'
                for group, seconds in zip(self.contract.action, timeouts, strict=True)
                if group.driver_timeout_probe
            )
            self.get_logger().info(f'The drivers brake by themselves after: {measured}.')
        self._publish_status()

    def _refuse_inactive(self) -> None:
        if not self._active:
            raise RequestRejected(
                'The safety gate is not active. Activate it.',
                ResultCode.NOT_ACTIVE,
            )

    def _on_evaluate_actions(self, request: Any, response: Any) -> Any:
        self._catch_up()
        now = self.clock.now()
        self._refuse_inactive()
        candidates = self._candidates(request)
        for i in range(0, len(candidates), _BATCH):
            self.urgent()
            decided = self.gate.evaluate_actions(candidates[i : i + _BATCH], now)
            response.decisions += [to_msg(decision, now) for decision in decided]
        low, high = self.gate.reach(now)
        response.low, response.high = list(low), list(high)
        return response

    def _candidates(self, request: Any) -> list[tuple[float, ...]]:
        """Return the actions that a plan is asked for."""
        self.gate.state.lease_state.check(request.digest, request.agent)
        size = self.contract.action_size
        if (
            not 0 < request.count <= _MOST_CANDIDATES
            or len(request.actions) != request.count * size
        ):
            raise RequestRejected(
                f'Wrong number of values (expected 1 to {_MOST_CANDIDATES} actions of {size} '
                f'each, got {len(request.actions)} values for {request.count} actions).',
                ResultCode.INVALID_ARGUMENT,
            )
        values = tuple(request.actions)
        return [values[i : i + size] for i in range(0, len(values), size)]

    # Parameters ----------------------------------------------------------------------------------

    def _runtime_limits(self, changes: dict[str, Any]) -> RuntimeLimits:
        """Return what the parameters make stricter, with some of them changed."""

        def of(name: str) -> Any:
            key = f'stricter.{name}'
            return changes[key] if key in changes else self.get_parameter_or(key).value

        return RuntimeLimits(
            **{name: tuple(of(name) or ()) for name in _STRICTER},
            command_timeout=of('command_timeout') or None,
        )

    def _on_parameters(self, parameters: list[Parameter]) -> SetParametersResult:
        """Take stricter limits, all or none."""
        changes = {p.name: p.value for p in parameters if p.name.startswith('stricter.')}
        if not changes:
            return SetParametersResult(successful=True)
        if self._gate is None:
            # Nothing is there that tells a stricter limit from a looser one.
            why = 'Configure the gate, then make its limits stricter.' if self.keyed else ''
            return SetParametersResult(successful=not why, reason=why)
        if len(changes) < len(parameters):
            # Another may be refused when these are in force.
            return SetParametersResult(
                successful=False, reason='Set the parameters stricter.* by themselves.'
            )
        try:
            self._gate.apply(
                Tighten(
                    runtime_limits=self._runtime_limits(changes),
                    # Who sets a parameter does not say who it is.
                    only_stricter=self.keyed and not self._loosened,
                    now=self.clock.now(),
                )
            )
        except RequestRejected as refusal:
            return SetParametersResult(successful=False, reason=str(refusal))
        return SetParametersResult(successful=True)


def main() -> int:
    """Run the node ``safety_gate``."""
    return run(SafetyGate, executor=fastest_executor)


if __name__ == '__main__':
    sys.exit(main())
