# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The contract: what crosses the boundary between a policy and a robot, as frozen values.

:mod:`boundary_env_ros.core.contract_parser` makes a :class:`Contract` from plain data and finds
everything that is wrong with it; after that, nothing here is checked again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum, IntEnum

from boundary_env_ros.core.causes import Ending

Vector = tuple[float, ...]


class Pacing(IntEnum):
    """
    Who waits for whom.

    ``REALTIME``: nobody; the environment ticks at the contract's period. ``LOCKSTEP``: the world,
    for the gate's decision.
    """

    REALTIME = 1
    LOCKSTEP = 2


class WhenStale(Enum):
    """What a stale field does: be marked, or end the episode as ``sensor_lost``."""

    MARK = 'mark'
    TRUNCATE = 'truncate'


class Beyond(Enum):
    """What a value outside its declared bounds does."""

    CLIP = 'clip'
    TRUNCATE = 'truncate'
    REJECT = 'reject'


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """
    Where the confidence of a field comes from.

    Attributes
    ----------
    field
        Field path of a number in [0, 1]; or
    variance
        field path of a variance, from which the confidence is the probability that a normally
        distributed error is within
    tolerance
        (unit of the field).

    """

    field: str = ''
    variance: str = ''
    tolerance: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldSpec:
    """
    One field of the observation, or one that only the evaluator sees.

    Attributes
    ----------
    topic, type
        Relative topic and ROS type that it comes from; empty for a field of the task.
    task
        Name under which the task supplies it; empty for a field of a topic.
    fields
        Field paths into the message, one for each value.
    beams
        For a LaserScan: number of equal sectors, from ``angle_min`` on; each is its nearest
        return.
    shape, dtype
        Shape and NumPy type of the field in the space.
    unit, frame
        Unit of each value, and coordinate frame.
    low, high
        Bounds, one for each value.
    beyond
        What a value outside them does.
    max_age
        Seconds since capture up to which it is fresh; None: it does not age.
    when_stale
        What it does when it is older.
    confidence
        Where its confidence comes from.
    encoding
        For an image, its encoding.

    """

    name: str
    topic: str = ''
    type: str = ''
    task: str = ''
    fields: tuple[str, ...] = ()
    beams: int = 0
    shape: tuple[int, ...]
    dtype: str
    unit: tuple[str, ...]
    frame: str = ''
    low: Vector = ()
    high: Vector = ()
    beyond: Beyond = Beyond.CLIP
    max_age: float | None = None
    when_stale: WhenStale = WhenStale.MARK
    confidence: Confidence | None = None
    encoding: str = ''

    @property
    def is_image(self) -> bool:
        """Return whether it is an image, which travels by reference."""
        return bool(self.encoding)


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """
    What tells what the robot did.

    Attributes
    ----------
    topic, type, fields
        Where the measured value of each dimension of the command is found.
    threshold
        For each dimension, the change towards the command that counts as its execution (command
        units); a step whose command changes by less gives no evidence.

    """

    topic: str
    type: str
    fields: tuple[str, ...]
    threshold: Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionSpec:
    """
    One group of the action: the fields of one command topic.

    Attributes
    ----------
    topic, type, fields
        Command topic, its ROS type and the field path of each dimension.
    unit, frame
        Unit of each dimension; frame that the command is expressed in.
    low, high
        Bounds of each dimension.
    beyond
        ``CLIP`` limits an action outside them and says so; ``REJECT`` refuses it whole.
    safe
        The command that is always right.
    rate, stop
        Most that the command may change, unit/s: normally, and while stopping.
    driver_timeout
        Seconds after which the driver stops by itself when no command comes; None if it never does
        (which the contract must acknowledge).
    feedback
        What tells what the robot did; None if nothing does.

    """

    name: str
    topic: str
    type: str
    fields: tuple[str, ...]
    unit: tuple[str, ...]
    frame: str
    low: Vector
    high: Vector
    beyond: Beyond
    safe: Vector
    rate: Vector
    stop: Vector
    driver_timeout: float | None
    feedback: Feedback


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """
    Obstacle distance from a laser scan, for the action's dimension along the scan's x axis.

    Attributes
    ----------
    topic, type
        The scan.
    dimension
        Index into the action of the forward speed.
    half_angle
        Half the width of the sector looked at ahead (and, backwards, behind), rad.
    slow_distance, slow_speed
        Nearer than this (m), the speed is limited to this (m/s).
    stop_distance
        Nearer than this (m), the robot stops.
    min_valid
        Least fraction of usable beams in the sector; with fewer the robot stops.

    """

    topic: str
    type: str
    dimension: int
    half_angle: float
    slow_distance: float
    slow_speed: float
    stop_distance: float
    min_valid: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Safety:
    """
    What the gate enforces beyond the bounds of the action. Times in seconds, on the steady clock.

    Attributes
    ----------
    gate_period
        Period of the gate's own timer.
    hold_after
        Time after the last action at which the gate repeats the last command.
    command_timeout
        Time after the last action at which it stops the robot.
    policy_timeout
        Time without an action after which the episode is ``policy_lost``.
    environment_timeout, gate_timeout, robot_timeout, recorder_timeout
        Silence of each after which it counts as lost.
    sensor_timeout
        Silence of a sensor that a rule needs after which the robot stops.
    max_action_age
        Greatest age of the observation that an action answers, when the gate has the action.
    obstacle
        Obstacle rule; None if there is none.
    emergency_stop
        Relative topic (``std_msgs/msg/Bool``) of the emergency stop; empty if there is none.

    """

    gate_period: float
    hold_after: float
    command_timeout: float
    policy_timeout: float
    environment_timeout: float
    gate_timeout: float
    robot_timeout: float
    recorder_timeout: float
    sensor_timeout: float
    max_action_age: float
    obstacle: Obstacle | None = None
    emergency_stop: str = ''


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetProcedure:
    """
    How the world is reset.

    Attributes
    ----------
    service
        Relative name of a ``ResetWorld`` service.
    settle
        Seconds to let the world come to rest before the first observation.
    deadline
        Seconds, steady, for the whole reset.
    tolerance
        Greatest difference between sampled and achieved, by name of the sampled value.

    """

    service: str
    settle: float
    deadline: float
    tolerance: Mapping[str, Vector]


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeRules:
    """
    How episodes end.

    Attributes
    ----------
    time_limit
        Seconds of contract time; an episode has ``round(time_limit / period)`` steps at most.
    causes
        Every cause, built in or declared, and what it is; the order is the precedence.
    on_stop
        For each reason (name of ``RuleResult.REASON_*``) of a stop that ends the episode, the
        cause.

    """

    time_limit: float
    causes: Mapping[str, Ending]
    on_stop: Mapping[str, str]
    reset: ResetProcedure


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec:
    """
    The task: an installed entry point and its parameters; the code itself is never in a contract.

    ``distribution`` and ``version`` are those of the package that the entry point comes from.
    """

    name: str
    parameters: Mapping[str, object]
    distribution: str = ''
    version: str = ''


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """
    The whole boundary.

    Attributes
    ----------
    name, version
        Of the contract.
    period
        Seconds, one step.
    sim_time
        Whether ROS time comes from ``/clock``.
    pacing
        See :class:`Pacing`.
    lockstep_deadline
        Steady seconds that anybody may be waited for in lockstep.
    agents
        Names of the agents.
    observation, evaluator
        Fields that the policy sees, in order, and fields that only the evaluator sees.
    action
        The groups of the action, in order.
    latency_budget, reaction_of
        Budget of each stage in seconds, and the field that captured, and so the reaction time,
        refers to.
    recorder_required
        Whether an episode ends when the recorder is lost.
    robot_host
        Host of the clock that stamps the sensor messages; empty: this one.

    """

    name: str
    version: str
    period: float
    sim_time: bool
    pacing: Pacing
    lockstep_deadline: float
    agents: tuple[str, ...]
    observation: tuple[FieldSpec, ...]
    evaluator: tuple[FieldSpec, ...]
    action: tuple[ActionSpec, ...]
    safety: Safety
    latency_budget: Mapping[str, float]
    reaction_of: str
    task: TaskSpec
    episode: EpisodeRules
    recorder_required: bool
    robot_host: str = ''

    @property
    def max_steps(self) -> int:
        """Return the greatest number of steps of an episode."""
        return round(self.episode.time_limit / self.period)

    @property
    def action_size(self) -> int:
        """Return the number of dimensions of the action."""
        return sum(len(group.fields) for group in self.action)

    def flat(self, attribute: str) -> Vector:
        """Return an attribute of all action groups in their order, for example ``flat('low')``."""
        return tuple(value for group in self.action for value in getattr(group, attribute))

    @property
    def action_unit(self) -> tuple[str, ...]:
        """Return the unit of each dimension of the action."""
        return tuple(unit for group in self.action for unit in group.unit)

    def topic_of(self, agent: str, topic: str) -> str:
        """
        Return the relative name of a topic (or service) of one agent.

        With one agent the contract's topics are as they stand; with several, each has a namespace
        of its own.
        """
        return topic if len(self.agents) == 1 else f'{agent}/{topic}'

    def paced(self, pacing: Pacing) -> Contract:
        """
        Return the contract under another pacing; lockstep brings simulated time with it.

        The digest changes with it, since results under the two are not the same results.
        """
        if pacing is self.pacing:
            return self
        return replace(self, pacing=pacing, sim_time=pacing is Pacing.LOCKSTEP)
