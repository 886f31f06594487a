# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What goes into the safety gate and what comes out of it, as values.

They mirror ``ActionRequest``, ``RuleInput``, ``RuleResult``, ``Measurement``, ``GateDecision`` and
``GateStatus`` field by field.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from boundary_env_ros.core.records.parts import KeyValue, StepId
from boundary_env_ros.core.timebase import ClockReading, Stamp
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import frozen


class Source(IntEnum):
    """Who chose an action."""

    POLICY = 1
    OPERATOR = 2
    REPLAY = 3


class Verdict(IntEnum):
    """
    What the gate made of an action, from the mildest to the strictest.

    ``ADMITTED``: published as requested. ``LIMITED``: published, at least one dimension changed.
    ``HELD``: the previous command again. ``STOPPED``: a step of the stop profile towards the safe
    command. ``REJECTED``: not a command; nothing was published because of it.
    """

    ADMITTED = 1
    LIMITED = 2
    HELD = 3
    STOPPED = 4
    REJECTED = 5


class Trigger(IntEnum):
    """
    What made the gate decide.

    ``REQUEST``: a request came. ``TIMER``: the gate's own timer. ``CHUNK``: the turn of a later
    action of a chunk that was admitted before. ``OPERATOR``: a command of the human source.
    ``PROBE``: the measurement of a driver's timeout.
    """

    REQUEST = 1
    TIMER = 2
    CHUNK = 3
    OPERATOR = 4
    PROBE = 5


class Reason(IntEnum):
    """Why a rule touched an action; ``text`` says so."""

    text: str

    def __new__(cls, value: int, text: str) -> Reason:
        """Return a reason with its number and its text."""
        member = int.__new__(cls, value)
        member._value_ = value
        member.text = text
        return member

    NOT_FINITE = 1, 'the action holds a number that is not finite'
    WRONG_SHAPE = 2, 'the action has another shape than the contract declares'
    WRONG_DIGEST = 3, 'the action was made under another contract'
    WRONG_AGENT = 4, 'the action is for another agent'
    WRONG_EPISODE = 5, 'the action is for another episode'
    WRONG_LEASE = 6, 'the sender does not hold the lease'
    OUT_OF_ORDER = 7, 'the action repeats, precedes or leaps ahead, or is out of turn'
    NOT_ARMED = 8, 'the gate is not armed, or the episode does not run yet'
    ACTION_TOO_OLD = 9, 'the action, or the observation that it answers, is too old'
    OUT_OF_BOUNDS = 10, 'the value lies outside the bounds of the contract'
    RATE_LIMIT = 11, 'the command would change faster than the contract allows'
    ACCELERATION_LIMIT = 12, 'the rate of the command would change too fast'
    JERK_LIMIT = 13, 'the acceleration of the command would change too fast'
    WORKSPACE = 14, 'the robot would leave its workspace'
    OBSTACLE_SLOW = 15, 'an obstacle is inside the slow-down distance'
    OBSTACLE_STOP = 16, 'an obstacle is inside the stop distance'
    SENSOR_INVALID = 17, 'a sensor that a rule needs gives no usable value'
    OBSERVATION_TIMEOUT = 18, 'a sensor that a rule needs has been silent for too long'
    COMMAND_LATE = 19, 'no new action came in time; the last command is held'
    COMMAND_TIMEOUT = 20, 'the policy has been silent for too long'
    ENVIRONMENT_TIMEOUT = 21, 'the environment has been silent for too long'
    EMERGENCY_STOP = (
        22,
        'the emergency stop is latched; release it, then run `boundary-env operator --release`',
    )
    EPISODE_OVER = 23, 'the episode is over, or its lease has ended'
    FOREIGN_PUBLISHER = 24, 'another publisher was found on a topic that only one may have'
    LATENCY_BUDGET = 25, 'the latency budget was exceeded too often'
    GATE_LATE = 26, "the gate's own timer came too late"
    OPERATOR = 27, 'an operator has taken over'
    CLOCK = 28, 'the ROS clock jumped, went backwards or stood still'
    DEACTIVATED = 29, 'the gate is being deactivated'
    TIME_TO_COLLISION = 30, 'an obstacle would be reached too soon at that speed'
    REPUBLISHED = 31, 'the command in force is sent again, on its way to what was asked for'
    NOT_A_ROTATION = 32, 'four of the numbers are not a unit quaternion'
    SCALED_TOGETHER = 33, 'scaled together with another dimension that was limited'
    DRIVER_TIMEOUT_PROBE = 34, 'the timeout of the driver is measured'
    STILL_STOPPED = 35, 'it was stopped, and nothing acceptable was asked for since'


#: Why a request is refused that is not of the holder of the lease.
UNAUTHORIZED = (Reason.WRONG_DIGEST, Reason.WRONG_AGENT, Reason.WRONG_EPISODE, Reason.WRONG_LEASE)

#: The same, or of an old one, which is no new action.
NOT_CONSIDERED = (*UNAUTHORIZED, Reason.OUT_OF_ORDER)

#: Name of the rule that holds the robot while a step is the turn of another agent (lockstep).
TURN = 'turn'

#: Names of the measurements that no rule with a sensor of its own declares; of a group or field
#: its name follows.
FEEDBACK = 'feedback'
ALIVE = 'alive'
OPERATOR = 'operator'
EMERGENCY_STOP = 'emergency_stop'


@frozen
class ActionRequest:
    """
    What a policy asks the robot to do.

    Attributes
    ----------
    id
        The step that the action is meant for.
    lease_id
        Lease that the gate granted.
    sequence
        Counts the requests of one lease from 1.
    action
        Shape ``(horizon * n,)``, action space of the contract.
    observed, delivered, requested
        When the observation that it answers was frozen, when the policy process had it, and when
        it sent this.
    unresolved
        Image fields that could not be resolved in time.
    observed_step
        Step of the observation that it answers.
    skipped
        Actions that the policy left out before the first one here, since their step was over.
    blended
        Predictions that the first action is the weighted mean of; 0: not said.
    metadata
        Whatever the policy says of its action.
    payload
        JSON object with a document for each group of documents that is sent one; empty: none.
    authentication
        Who sent it, and which of theirs it is; empty: the sender has no key.

    """

    id: StepId
    lease_id: str
    sequence: int
    action: Vector
    observed: ClockReading | None
    delivered: ClockReading | None
    requested: ClockReading | None
    source: Source = Source.POLICY
    client: str = ''
    client_version: str = ''
    horizon: int = 1
    unresolved: tuple[str, ...] = ()
    observed_step: int = 0
    skipped: int = 0
    blended: int = 0
    metadata: tuple[KeyValue, ...] = ()
    payload: str = ''
    authentication: bytes = b''

    def action_for(self, step: int) -> Vector:
        """Return the action of a step; of one that is no chunk all that was sent."""
        if self.horizon <= 1:
            return self.action
        size, index = len(self.action) // self.horizon, step - self.id.step
        return self.action[index * size : (index + 1) * size]


@frozen
class RuleResult:
    """
    What one rule did, and the numbers that made it do so.

    Attributes
    ----------
    rule
        Name of the rule.
    outcome
        The verdict that this rule alone asked for.
    reason
        Why.
    dimension
        Index into the command; -1 if the rule concerns the whole action.
    before, after
        The value of that dimension before and after the rule, command space.
    value, limit, unit
        The number that triggered the rule and the limit it was compared with.

    """

    rule: str
    outcome: Verdict
    reason: Reason
    dimension: int = -1
    before: float | None = None
    after: float | None = None
    value: float | None = None
    limit: float | None = None
    unit: str = ''


@frozen
class Measurement:
    """
    One sensor value that the gate used, subscribed by the gate itself.

    Attributes
    ----------
    values
        As the rule used them; empty if nothing was received.
    captured
        Stamp of the source.
    received_steady
        Gate's steady clock when it had the message, nanoseconds.
    age
        Steady seconds from there to the decision; None if nothing was received.

    """

    name: str
    topic: str
    values: Vector = ()
    captured: Stamp | None = None
    received_steady: int = 0
    age: float | None = None


@frozen
class RuntimeLimits:
    """
    Limits that were made stricter than the contract's while the gate runs.

    Attributes
    ----------
    low, high, rate
        For each dimension of the command; empty: as in the contract.
    command_timeout
        Seconds; None: as in the contract.

    """

    low: Vector = ()
    high: Vector = ()
    rate: Vector = ()
    command_timeout: float | None = None


@frozen
class SentCommand:
    """
    A command that the robot may still be acting on.

    Attributes
    ----------
    age
        Seconds since it was sent; it was in force until the next one was.
    command
        The command.

    """

    age: float
    command: Vector


@frozen
class ForeignPublishers:
    """
    Publishers on a topic that a rule reads, beyond those that there may be.

    Attributes
    ----------
    topic
        The topic.
    count
        How many there are too many.

    """

    topic: str
    count: int


@frozen
class RuleInput:
    """
    All that a decision depends on besides contract and request.

    Attributes
    ----------
    trigger
        What made the gate decide.
    time_step
        Seconds for the rate limits.
    previous_command
        Command before this one; empty if neither a command nor a measured state is known.
    seeded
        It was taken from the measured state.
    previous_rate, previous_acceleration
        Rate of change of the emitted commands up to there, unit/s, and of that, unit/s^2; empty
        for none.
    recent_commands
        What was sent and may still be under way, the oldest first, for the rules about places.
        Empty: ``previous_command`` is all that matters.
    lease_id, lease_episode
        The lease that the gate had granted, and for which episode; empty if it was not armed.
    running
        The episode of the lease runs, and its holder may ask for something.
    last_sequence
        Sequence of the last request that was accepted under the lease, or waits for its sensors.
    last_step
        The last step that an action was taken for or that the world has made (lockstep), or that
        the environment has closed (realtime).
    since_step
        Steady seconds since then (realtime); None if unknown.
    since_documents
        Seconds since each group of documents of the contract was sent one; infinite if it was not.
    emergency_stop, over, deactivated
        The emergency stop is latched; the lease has ended; the gate is being deactivated.
    stopped
        The robot was stopped, and nothing that may be published was asked for since.
    others_turn
        In lockstep, the step is the turn of another agent: the robot is held, under all rules.
    since_request, since_environment
        Steady seconds since the last acceptable request and the last heartbeat of the
        environment.
    since_tick
        Steady seconds between the last two runs of the protecting timer; None before there were
        two.
    clock_error
        Seconds by which ROS time has moved further than steady time between the two; of simulated
        time, how far it is behind.
    foreign_commands
        Publishers on the command topics that are not the gate.
    foreign_publishers
        Publishers beyond one on the topics that the gate reads.
    overruns
        How many of the last requests were over the latency budget.
    measurements
        Sensor values, as far as the rules need them.

    """

    trigger: Trigger
    time_step: float
    previous_command: Vector = ()
    seeded: bool = False
    previous_rate: Vector = ()
    previous_acceleration: Vector = ()
    recent_commands: tuple[SentCommand, ...] = ()
    lease_id: str = ''
    lease_episode: str = ''
    running: bool = False
    last_sequence: int = 0
    last_step: int = 0
    since_step: float | None = None
    since_documents: Vector = ()
    emergency_stop: bool = False
    over: bool = False
    deactivated: bool = False
    stopped: bool = False
    others_turn: bool = False
    since_request: float | None = None
    since_environment: float | None = None
    since_tick: float | None = None
    clock_error: float | None = None
    foreign_commands: int = 0
    foreign_publishers: tuple[ForeignPublishers, ...] = ()
    overruns: int = 0
    measurements: tuple[Measurement, ...] = ()

    @property
    def armed(self) -> bool:
        """Return whether there is a lease."""
        return bool(self.lease_id)

    @property
    def foreign(self) -> int:
        """Return how many publishers there are that there must not be."""
        return foreign_count(self.foreign_commands, self.foreign_publishers)


def foreign_count(commands: int, others: Iterable[ForeignPublishers]) -> int:
    """Return how many publishers there are on command topics and those that the gate reads."""
    return commands + sum(each.count for each in others)


def measurement_of(measurements: Iterable[Measurement], name: str) -> Measurement | None:
    """Return the value of an input; None if it is not among them."""
    for each in measurements:  # a handful
        if each.name == name:
            return each
    return None


@frozen
class GateDecision:
    """
    One decision of the gate, with all that is needed to compute it again.

    ``command`` is what reached the command topic at ``commanded``; it is empty if nothing did. It
    holds until the next decision that publishes one, or until the driver's own timeout.
    ``requested_command`` is what was asked for in command space, before any rule. ``decided`` is
    when it was decided: what the rules go by is as old as it was then.
    """

    id: StepId
    sequence: int
    verdict: Verdict
    decided: ClockReading
    inputs: RuleInput
    request: ActionRequest | None = None
    received: ClockReading | None = None
    commanded: ClockReading | None = None
    admitted_action: Vector = ()
    requested_command: Vector = ()
    command: Vector = ()
    rules: tuple[RuleResult, ...] = ()
    runtime_limits: RuntimeLimits = RuntimeLimits()
    software_version: str = ''
    authentication: bytes = b''

    @property
    def trigger(self) -> Trigger:
        """Return what made the gate decide."""
        return self.inputs.trigger

    @property
    def requested_action(self) -> Vector:
        """Return the action that was asked for; of a chunk that of the step in ``id``."""
        return () if self.request is None else self.request.action_for(self.id.step)

    @property
    def wanted(self) -> Vector | None:
        """Return what the rules were asked about: an action or a command; None if nothing."""
        if self.trigger in (Trigger.REQUEST, Trigger.CHUNK):
            return self.requested_action
        return self.requested_command or None

    @property
    def published(self) -> bool:
        """Return whether a command went out with this decision."""
        return bool(self.command)

    @property
    def clipped(self) -> bool:
        """Return whether the action was out of bounds and limited for that."""
        return any(
            r.reason is Reason.OUT_OF_BOUNDS and r.outcome is Verdict.LIMITED for r in self.rules
        )


def holds_for_another(decision: GateDecision) -> bool:
    """Return whether a decision was made because a step is the turn of another (lockstep)."""
    return any(r.rule == TURN and r.outcome is not Verdict.REJECTED for r in decision.rules)


class GateState(IntEnum):
    """State of the gate towards its agent."""

    DISARMED = 1
    ARMED = 2
    RUNNING = 3
    STOPPING = 4
    EMERGENCY_STOPPED = 5
    PROBING = 6
    INACTIVE = 7


@frozen
class GateStatus:
    """
    State of the gate, as it latches it for the others.

    ``teleoperated`` says whether a person has; ``driver_timeouts`` is what the probe
    measured, for each group, seconds, NaN where it was not measured; ``refused`` how many messages
    and calls bore no right authentication; ``released_by`` who last released the emergency stop.
    """

    digest: str
    agent: str
    state: GateState
    lease_id: str = ''
    episode_id: str = ''
    holder: str = ''
    teleoperated: bool = False
    sequence: int = 0
    command: Vector = ()
    reasons: tuple[Reason, ...] = ()
    foreign_publishers: int = 0
    driver_timeouts: Vector = ()
    runtime_limits: RuntimeLimits = RuntimeLimits()
    stamp: ClockReading | None = None
    refused: int = 0
    released_by: str = ''
    authentication: bytes = b''
