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
import math
from typing import TypeAlias

from boundary_env_ros.core.causes import Ending
from boundary_env_ros.core.paths import split_call
from boundary_env_ros.core.safety import Safety
from boundary_env_ros.core.sources import (
    Derived,
    Joints,
    Lookup,
    Paths,
    Picture,
    Source,
    Trajectory,
    Vector,
)
from boundary_env_ros.errors import ContractError, Problem


class Pacing(IntEnum):
    """
    Who waits for whom.

    ``REALTIME``: nobody; the environment ticks at the contract's period. ``LOCKSTEP``: the world,
    for the gate's decision.
    """

    REALTIME = 1
    LOCKSTEP = 2


class WhenStale(Enum):
    """
    What a stale field does.

    ``MARK``: nothing but to say so. ``HOLD``: the gate holds the robot at the safe command for as
    long as it lasts. ``TRUNCATE``: the episode ends as ``sensor_lost``.
    """

    MARK = 'mark'
    HOLD = 'hold'
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
class Qos:
    """
    Quality of service that a sensor topic is listened to with.

    Attributes
    ----------
    reliable
        Or else best effort, which is compatible with every publisher.
    transient_local
        Whether the publisher keeps its last messages for whoever comes later.
    depth
        Messages that are kept until they are read.

    """

    reliable: bool = False
    transient_local: bool = False
    depth: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldSpec:
    """
    One field of the observation, of the rest of the state, or of what only the evaluator sees.

    Attributes
    ----------
    topic, type
        Relative topic and ROS type that it comes from; empty for one of the task, a derived one,
        and one that tf looks up.
    source
        Where in the message its values are; None for one of the task and a derived one.
    task
        Name under which the task supplies it.
    derived
        What it is computed from.
    shape, dtype
        Shape and NumPy type of the field in the space.
    unit, frame
        Unit of each value (flattened row-major), and coordinate frame; an image of depths has one
        unit, other images have none.
    low, high
        Bounds, one for each value; one for all of an image of depths.
    beyond
        What a value outside them does.
    max_age
        Seconds since capture up to which it is fresh; None: it does not age.
    when_stale
        What it does when it is older.
    skew
        Seconds by which it may have been captured before the newest of all fields that declare a
        skew; more, and it is stale. None: it goes with no other.
    qos
        How its topic is listened to.
    confidence
        Where its confidence comes from.

    """

    name: str
    topic: str = ''
    type: str = ''
    source: Source | None = None
    task: str = ''
    derived: Derived | None = None
    shape: tuple[int, ...]
    dtype: str
    unit: tuple[str, ...]
    frame: str = ''
    low: Vector = ()
    high: Vector = ()
    beyond: Beyond = Beyond.CLIP
    max_age: float | None = None
    when_stale: WhenStale = WhenStale.MARK
    skew: float | None = None
    qos: Qos = Qos()
    confidence: Confidence | None = None

    @property
    def is_image(self) -> bool:
        """Return whether it is an image, which travels by reference."""
        return isinstance(self.source, Picture)

    @property
    def angles(self) -> tuple[int, ...]:
        """Return which of its values are angles of a quaternion, ``yaw(...)`` and the others."""
        paths = self.source.paths if isinstance(self.source, Paths) else ()
        return tuple(i for i, path in enumerate(paths) if split_call(path)[0])

    @property
    def size(self) -> int:
        """Return the number of its values."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """
    What tells what the robot did.

    Attributes
    ----------
    topic, type, source
        Where the measured value of each dimension of the command is found.
    threshold
        For each dimension, the change towards the command that counts as its execution (command
        units); a step whose command changes by less gives no evidence.

    """

    topic: str
    type: str
    source: Source
    threshold: Vector


class ActionKind(Enum):
    """
    What a policy chooses.

    ``CONTINUOUS``: the command itself, a number for each of its dimensions. ``DELTA``: by how much
    it shall differ from the last one. ``DISCRETE``: one of the named commands.
    ``MULTI_DISCRETE``: for each dimension, one of its levels.
    """

    CONTINUOUS = 'continuous'
    DELTA = 'delta'
    DISCRETE = 'discrete'
    MULTI_DISCRETE = 'multi_discrete'


class Interface(Enum):
    """
    What a command does to the robot, which decides what it is to stop.

    A position is held; a velocity or an effort moves the robot for as long as it is in force, and
    is taken to its safe value.
    """

    VELOCITY = 'velocity'
    POSITION = 'position'
    EFFORT = 'effort'


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionSpec:
    """
    One group of the action: the fields of one command topic.

    Attributes
    ----------
    topic, type, source
        Command topic, its ROS type, and where in the message the dimensions of the command go.
    interface
        What each dimension of the command does to the robot.
    unit, frame
        Unit of each dimension of the command; frame that it is expressed in.
    low, high
        Bounds of each dimension of the command.
    beyond
        ``CLIP`` limits an action outside them and says so; ``REJECT`` refuses it whole.
    safe
        The command that is always right; NaN in a position, which is to stay where it is.
    rate, stop
        Most that the command may change, unit/s: normally, and while stopping.
    acceleration, jerk
        Most that the rate of the command may change, unit/s^2, and that in turn, unit/s^3; empty
        if that is not limited.
    depart
        Greatest difference of each dimension between the last command and what the robot did,
        beyond which the limits begin anew from there; empty: there is none.
    rotation
        Dimensions that are the x, y, z and w of one unit quaternion, which is turned as a whole;
        its rate is that of the first of them, rad/s.
    curvature
        Dimensions that are scaled together when one is limited, as a twist that keeps its
        curvature.
    wrap
        Dimensions that are angles (rad) of a joint that turns on and on: it takes the short way.
    probe
        A small command, and back to the safe one by falling silent, by which the driver's timeout
        is measured before the first arming; empty: it is not.
    driver_timeout
        Seconds after which the driver stops by itself when no command comes; None if it never does
        (which the contract must acknowledge).
    feedback
        What tells what the robot did.
    kind
        What the policy chooses.
    most
        For ``DELTA``, the most that one action may ask the command to differ, each dimension.
    choices
        For ``DISCRETE``, the commands by name; the action is an index into them.
    levels
        For ``MULTI_DISCRETE``, the values that each dimension can be set to; the action is an
        index into each.

    """

    name: str
    topic: str
    type: str
    source: Source
    interface: tuple[Interface, ...]
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
    kind: ActionKind = ActionKind.CONTINUOUS
    most: Vector = ()
    choices: tuple[tuple[str, Vector], ...] = ()
    levels: tuple[Vector, ...] = ()
    acceleration: Vector = ()
    jerk: Vector = ()
    depart: Vector = ()
    rotation: tuple[int, ...] = ()
    curvature: tuple[int, ...] = ()
    wrap: tuple[int, ...] = ()
    probe: Vector = ()

    @property
    def size(self) -> int:
        """Return the number of dimensions of the command."""
        return len(self.low)

    @property
    def action_size(self) -> int:
        """Return the number of dimensions of the action."""
        return 1 if self.kind is ActionKind.DISCRETE else self.size

    @property
    def options(self) -> tuple[tuple[object, ...], ...]:
        """
        Return what each index of an action of choices may name; empty for other actions.

        For ``DISCRETE`` these are the commands, for ``MULTI_DISCRETE`` the levels of each
        dimension.
        """
        if self.kind is ActionKind.DISCRETE:
            return (tuple(command for _, command in self.choices),)
        return self.levels

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Return a name for each dimension of the command: its path, or its joint."""
        source = self.source
        if isinstance(source, Paths):
            return source.paths
        if isinstance(source, Joints) and len(source.quantities) > 1:
            return tuple(f'{n} {quantity}' for quantity in source.quantities for n in source.names)
        if isinstance(source, (Joints, Trajectory)):
            return source.names
        return tuple(f'{self.name}[{index}]' for index in range(self.size))


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldStep:
    """Ask a ``ResetWorld`` service (relative name) for the sampled state of the world."""

    service: str
    deadline: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStep:
    """Call a service, by relative name and type, with a request of plain data."""

    service: str
    type: str
    request: Mapping[str, object]
    deadline: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishStep:
    """Publish one message of plain data to a topic, by relative name and type."""

    topic: str
    type: str
    message: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitStep:
    """
    Wait until a field has a value.

    Attributes
    ----------
    field
        A field of the observation, of the rest of the state, or of the evaluator.
    target, sampled
        The value, or the name of the sampled value that it is to have.
    tolerance
        Greatest difference of each value, in its unit.
    wrap
        Which of the values are angles (rad), that differ by half a turn at most.

    """

    field: str
    target: Vector
    sampled: str
    tolerance: Vector
    deadline: float
    wrap: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmStep:
    """Ask a person to do something and to confirm it."""

    prompt: str
    deadline: float


ResetStep: TypeAlias = WorldStep | CallStep | PublishStep | WaitStep | ConfirmStep


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetProcedure:
    """
    How the world is reset.

    Attributes
    ----------
    steps
        What is done, one after the other, each with a deadline of its own (s, steady).
    settle
        Seconds to let the world come to rest before the first observation.
    deadline
        Seconds, steady, for the whole reset.
    tolerance
        Greatest difference between sampled and achieved, by name of the sampled value.
    wrap
        Which of its values are angles (rad), that differ by half a turn at most.

    """

    steps: tuple[ResetStep, ...]
    settle: float
    deadline: float
    tolerance: Mapping[str, Vector]
    wrap: Mapping[str, tuple[int, ...]]

    @property
    def service(self) -> str:
        """Return the ``ResetWorld`` service; empty if the procedure asks none."""
        return next((step.service for step in self.steps if isinstance(step, WorldStep)), '')


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
    turns
        The agents in the order in which they act one after the other, a period each; empty: all
        act at once.
    observation, state, evaluator
        Fields that the policy sees, in order; fields that environment and task know besides, and
        that derived fields are made from; and fields that only the evaluator sees.
    action
        The groups of the action, in order.
    horizon
        Most steps that one request may cover: the length of a chunk of actions, 1 without chunks.
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
    state: tuple[FieldSpec, ...]
    evaluator: tuple[FieldSpec, ...]
    action: tuple[ActionSpec, ...]
    horizon: int
    safety: Safety
    latency_budget: Mapping[str, float]
    reaction_of: str
    task: TaskSpec
    episode: EpisodeRules
    recorder_required: bool
    robot_host: str = ''
    turns: tuple[str, ...] = ()

    @property
    def max_steps(self) -> int:
        """Return the greatest number of steps of an episode."""
        return round(self.episode.time_limit / self.period)

    @property
    def fields(self) -> tuple[FieldSpec, ...]:
        """Return all fields: of the observation, of the rest of the state, of the evaluator."""
        return (*self.observation, *self.state, *self.evaluator)

    @property
    def action_size(self) -> int:
        """Return the number of dimensions of the action."""
        return sum(group.action_size for group in self.action)

    @property
    def command_size(self) -> int:
        """Return the number of dimensions of the command."""
        return sum(group.size for group in self.action)

    def flat(self, attribute: str) -> Vector:
        """Return an attribute of all action groups in their order, for example ``flat('low')``."""
        return tuple(value for group in self.action for value in getattr(group, attribute))

    @property
    def angles(self) -> frozenset[int]:
        """Return the dimensions of the command that are angles and wrap."""
        found: set[int] = set()
        start = 0
        for group in self.action:
            found.update(start + i for i in group.wrap)
            start += group.size
        return frozenset(found)

    @property
    def command_unit(self) -> tuple[str, ...]:
        """Return the unit of each dimension of the command."""
        return tuple(unit for group in self.action for unit in group.unit)

    @property
    def command_dimensions(self) -> tuple[str, ...]:
        """Return a name for each dimension of the command."""
        return tuple(name for group in self.action for name in group.dimensions)

    def turn_of(self, step: int) -> str:
        """
        Return whose turn a step is; empty if all act at once.

        It follows from the number of the step alone, which counts from 1: gates, environment and
        clients need not tell one another, and whose episode is over keeps its place.
        """
        return self.turns[(step - 1) % len(self.turns)] if self.turns else ''

    def has_turn(self, agent: str, step: int) -> bool:
        """Return whether an agent may act in a step."""
        return self.turn_of(step) in ('', agent)

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

        Raises
        ------
        ContractError
            If a field is looked up by tf, which lockstep could not wait for.

        """
        if pacing is self.pacing:
            return self
        looked_up = [field.name for field in self.fields if isinstance(field.source, Lookup)]
        if pacing is Pacing.LOCKSTEP and looked_up:
            problem = Problem(
                path=('pacing',),
                line=None,
                expected='realtime, with fields that tf looks up',
                actual=f'lockstep, with {", ".join(looked_up)}',
                hint='Nobody can tell in lockstep whether all transforms have come.',
            )
            raise ContractError([problem], self.name)
        return replace(self, pacing=pacing, sim_time=pacing is Pacing.LOCKSTEP)
