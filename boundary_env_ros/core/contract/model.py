# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The contract: what crosses the boundary between a policy and a robot, as frozen values.

:mod:`boundary_env_ros.storage.contract.parser` makes a :class:`Contract` from plain data and finds
everything that is wrong with it; after that, nothing here is checked again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum
import math
from typing import Annotated, ClassVar, TypeAlias

from boundary_env_ros.core.contract.grammar import (
    FLOATS,
    NAME,
    PATH,
    SERVICE,
    SERVICE_TYPE,
    TOPIC,
    TYPE,
    UNIT,
    VERSION,
    WORD,
)
from boundary_env_ros.core.contract.key import (
    BREAKING,
    COSMETIC,
    DIMENSIONS,
    Key,
    Section,
)
from boundary_env_ros.core.contract.paths import split_call
from boundary_env_ros.core.contract.safety import Safety
from boundary_env_ros.core.contract.sources import (
    Derived,
    JOINTS,
    OF_ADAPTER,
    OF_VALUE,
    Paths,
    Picture,
    Source,
    TRAJECTORY,
    value_names,
)
from boundary_env_ros.core.records.endings import EndingKind
from boundary_env_ros.core.records.latency import STAGES
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import frozen, replace

Units: TypeAlias = Annotated[
    tuple[str, ...], Key(spelt=UNIT, shown='list of texts', same_as=OF_ADAPTER), BREAKING
]


class OnStale(Enum):
    """
    What a stale field does.

    ``MARK``: nothing but to say so. ``STOP``: the gate stops the robot for as long as it lasts.
    ``TRUNCATE``: the episode ends as ``sensor_lost``.
    """

    MARK = 'mark'
    STOP = 'stop'
    TRUNCATE = 'truncate'


class OutOfBounds(Enum):
    """What a value outside its declared bounds does."""

    CLIP = 'clip'
    TRUNCATE = 'truncate'
    REJECT = 'reject'


@frozen
class Confidence:
    """
    Where the confidence of a field comes from.

    Attributes
    ----------
    field
        A number in [0, 1] in the message.
    variance
        Instead: a variance, from which the [confidence](#confidence) is derived.
    tolerance
        With ``variance``, the error that would still be good enough.

    """

    field: Annotated[str, Key(spelt=PATH, required=True, one_of=True)] = ''
    variance: Annotated[str, Key(spelt=PATH, required=True, one_of=True)] = ''
    tolerance: Annotated[float, Key(unit=OF_VALUE, above=0.0, required=True)] = 0.0


@frozen
class Qos:
    """
    Quality of service that a sensor topic is listened to with.

    Attributes
    ----------
    reliable
        Best effort is compatible with every publisher.
    transient_local
        ``transient_local`` also hears the last message of a publisher that latches.
    depth
        Messages kept until they are read.

    """

    reliable: Annotated[bool, Key('reliability', words=('best_effort', 'reliable'))] = False
    transient_local: Annotated[bool, Key('durability', words=('volatile', 'transient_local'))] = (
        False
    )
    depth: Annotated[int, Key(least=1, most=100_000)] = 10


@frozen
class FieldSpec:
    """
    One field of the observation, of the rest of the state, or of what no policy may see.

    Attributes
    ----------
    name
        Its key in the observation; it stands once in the whole contract.
    topic
        Relative name. No command topic, and for one topic the same ``type`` everywhere.
    type
        ``package/msg/Name``. ``sensor_msgs/msg/Image`` and ``CompressedImage`` make it an image
        field.
    source
        Where in the message its values are; None for one of the task and a derived one.
    shape
        Of an array, in place of ``length``: its sides, row-major. Of an image: height, width,
        channels. A message of another size is refused.
    unit
        One for each value, for each of a row, or one for all; ``''`` if dimensionless. Of an image
        only with ``16UC1`` and ``32FC1``.
    frame
        Coordinate frame of the values, which are recorded under it. Nothing is transformed: a
        message whose header names another frame is read as it comes, and the node ``environment``
        warns of it once. Only rules of ``safety`` refuse it.
    low
        Lower bound, part of the space; one for each value, for each of a row, or one for all.
        Images without a unit have those of their type.
    high
        Upper bound, not below ``low``.
    dtype
        Element type in the Gymnasium space. That of an image follows from its encoding.
    out_of_bounds
        ``clip``: a value outside its bounds is brought inside, and the field says ``clipped``.
        ``truncate``: the episode ends as ``sensor_lost`` as well. A sample with a NaN is passed
        over, and the field ages. Pixels are always brought inside.
    max_age
        Up to this age *since capture* a field is FRESH, then STALE, as is one without a stamp.
        Without the key a field does not age.
    on_stale
        ``mark``: the field says STALE and keeps its last values. ``stop``: the gate stops the
        robot for as long as it lasts. ``truncate``: the episode ends as ``sensor_lost``, or as
        ``robot_lost`` if every sensor is silent. The last two need ``max_age``; privileged fields
        only mark.
    skew
        For several cameras: of the fields that declare one, those captured more than this before
        the newest are STALE.
    qos
        How the topic is listened to, in realtime; in lockstep always reliably.
    confidence
        Where the confidence of the field comes from. That of a scan or point cloud is the fraction
        that was measured. Not for images.
    schema
        Of a ``std_msgs/msg/String`` with JSON: its JSON Schema (draft 2020-12), written out here.
        The field is a document then; a message that the schema does not admit is refused. Besides
        only ``max_age``, ``on_stale``, ``skew`` and ``qos``.
    task
        The field comes from the task, under this name, sampled at the reset; then only ``unit``,
        ``low``, ``high``, ``frame`` and ``dtype`` go with it. It does not age.
    derived
        The field is a pure function of fields of observation and state; shape, unit, frame and
        bounds follow from them. It is as stale as the stalest of them, and captured when the
        oldest was.

    """

    name: Annotated[str, Key(''), BREAKING]
    topic: Annotated[str, Key(spelt=TOPIC, required=True)] = ''
    type: Annotated[str, Key(spelt=TYPE, required=True)] = ''
    source: Annotated[Source | None, Key(''), BREAKING] = None
    shape: Annotated[tuple[int, ...], Key(shown='whole numbers'), BREAKING]
    unit: Units
    frame: Annotated[str, Key(), BREAKING] = ''
    low: Annotated[Vector, Key(unit=OF_VALUE, required=True), BREAKING] = ()
    high: Annotated[Vector, Key(unit=OF_VALUE, required=True), BREAKING] = ()
    dtype: Annotated[str, Key(choices=FLOATS), BREAKING] = 'float32'
    out_of_bounds: Annotated[OutOfBounds, Key(choices=('clip', 'truncate'))] = OutOfBounds.CLIP
    max_age: Annotated[float | None, Key(unit='s', above=0.0)] = None
    on_stale: Annotated[OnStale, Key()] = OnStale.MARK
    skew: Annotated[float | None, Key(unit='s', above=0.0)] = None
    qos: Annotated[Qos, Key()] = Qos()
    confidence: Annotated[Confidence | None, Key()] = None
    schema: Annotated[Mapping[str, object], Key(one_of=True), BREAKING] = field(
        default_factory=dict
    )
    task: Annotated[str, Key(spelt=NAME, one_of=True), BREAKING] = ''
    derived: Annotated[Derived | None, Key('derive'), BREAKING] = None

    @property
    def is_image(self) -> bool:
        """Return whether it is an image, which travels by reference."""
        return isinstance(self.source, Picture)

    @property
    def is_document(self) -> bool:
        """Return whether it is a JSON document."""
        return bool(self.schema)

    @property
    def angles(self) -> tuple[int, ...]:
        """Return which of its values are angles of a quaternion, ``yaw(...)`` and the others."""
        paths = self.source.paths if isinstance(self.source, Paths) else ()
        return tuple(i for i, path in enumerate(paths) if split_call(path)[0])

    @property
    def size(self) -> int:
        """Return the number of its values."""
        return math.prod(self.shape)


@frozen
class Feedback:
    """
    What tells what the robot did.

    Attributes
    ----------
    topic
        A sensor topic; its messages need a stamp to be evidence.
    type
        Of its messages.
    source
        Where the measured value of each dimension of the command is found; of joints, without a
        key that says it, in those that are commanded.
    threshold
        A change towards the command by this much, past the command before it, is evidence of its
        execution. A command that changes by less than twice this gives none. Choose it well above
        the noise.

    """

    topic: Annotated[str, Key(spelt=TOPIC)]
    type: Annotated[str, Key(spelt=TYPE)]
    source: Annotated[Source, Key(''), BREAKING]
    threshold: Annotated[
        Vector,
        Key(
            unit=OF_VALUE,
            above=0.0,
            same_as='a twentieth of `high - low`, at most a quarter of what a period can change',
        ),
    ]


@frozen
class Acknowledgement:
    """
    Where a driver says which command it applied.

    Attributes
    ----------
    topic
        A topic of the driver, not the command topic.
    type
        Of its messages. They need a stamp in a header: when the command was applied.
    source
        Where the command that was applied is found; of joints, without a key that says it, in
        those that are commanded.

    """

    topic: Annotated[str, Key(spelt=TOPIC)]
    type: Annotated[str, Key(spelt=TYPE)]
    source: Annotated[Source, Key('')]


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


#: What a command is, where its type alone says it; that of joints says it by its quantity.
IMPLIED = {
    TRAJECTORY: Interface.POSITION,
    **{
        f'geometry_msgs/msg/{name}{stamped}': interface
        for interface, names in (
            (Interface.VELOCITY, ('Twist',)),
            (Interface.POSITION, ('Pose', 'Point', 'Quaternion', 'Transform')),
            (Interface.EFFORT, ('Wrench',)),
        )
        for name in names
        for stamped in ('', 'Stamped')
    },
}


def implied_interface(
    type_name: str, quantities: Sequence[str], size: int
) -> tuple[Interface, ...]:
    """
    Return what each dimension of a command is, where its type says it; empty where it does not.

    Parameters
    ----------
    type_name
        Type of its message.
    quantities
        Of joints, what of them is commanded.
    size
        Number of dimensions.

    """
    if type_name == JOINTS and quantities:
        each = size // len(quantities)
        return tuple(Interface(quantity) for quantity in quantities for _ in range(each))
    known = IMPLIED.get(type_name)
    return () if known is None else (known,) * size


@frozen
class ActionSpec:
    """
    One group of the action: the fields of one command topic.

    Attributes
    ----------
    name
        Of the group.
    topic
        Command topic, relative. Only the safety gate publishes it; no sensor and no other group
        may use it.
    type
        Of its messages. If it has a header, the gate fills in stamp and ``frame``. A
        ``trajectory_msgs/msg/JointTrajectory`` gets one point for ``joints``, at ``duration``.
    source
        Command topic, its ROS type, and where in the message the dimensions of the command go.
    kind
        What the policy chooses. ``continuous``: the command itself. ``delta``: a difference to the
        last command. ``discrete``: one of ``choices``. ``multi_discrete``: one of its ``levels``
        for each dimension. The gate's rules work on the resulting command.
    max_delta
        For ``delta``: the most that one action may ask for, either way.
    choices
        For ``discrete``: at least two commands by name, within the bounds; the action is an index
        into them.
    levels
        For ``multi_discrete``: at least two values for each dimension; the action is an index into
        each.
    interface
        What the command does to the robot, for all dimensions or for each. A stop holds a
        position, and takes a velocity or an effort to ``safe``. Left out where the type says it: a
        ``Twist`` is a velocity, a ``Wrench`` an effort, a ``Pose``, ``Point``, ``Quaternion``,
        ``Transform`` or ``JointTrajectory`` a position, a ``JointState`` what its ``quantity``
        says.
    unit
        One for each dimension of the command, or one for all.
    frame
        Frame of the command, written to its header.
    low
        Lower bound of the command. A bound of 0 is a bound.
    high
        Upper bound, not below ``low``.
    out_of_bounds
        ``clip``: an action outside the bounds is limited, with a reason. ``reject``: it is
        rejected whole, and nothing is published. An index that names nothing is always rejected.
    safe
        The command that every stop ends at, within the bounds: a number of a velocity or an
        effort; of a position ``hold_position`` only, for all or for one dimension: the last
        command is repeated. A pose to begin in belongs to the reset.
    max_velocity
        Greatest velocity of the commands; required of a position. Of a velocity it is short for
        ``low`` and ``high``. In a group of several interfaces, ``none`` stands for a dimension
        without that limit.
    max_acceleration
        Greatest acceleration of the commands; required of a velocity. With it on a position, or
        with ``max_jerk``, the command follows a
        [profile](nodes/safety_gate.md#velocity-acceleration-jerk), which needs the extra
        ``motion``.
    max_jerk
        Greatest jerk of the commands.
    max_deceleration
        Greatest deceleration in a stop. It takes a velocity to ``safe``. A position runs on by
        v^2 / 2a and never turns back; without ``max_acceleration`` it is held at once, and with it
        this is not less than that.
    max_effort_rate
        Most that an effort may change, in a stop too; required of an effort.
    max_tracking_error
        Where the last command and the measured state differ by more than this, the limits [start
        from the measured state](nodes/safety_gate.md#where-the-limits-begin). The gate then needs
        the feedback: silence stops the robot. Choose it well above the normal lag.
    rotation
        The four dimensions of the group that are x, y, z and w of one unit quaternion: turned as a
        whole, at most ``max_velocity`` (rad/s, the same for the four); bounds -1 to 1. Only
        ``continuous``.
    scale_together
        Dimensions of the group that are scaled together when one is limited: a twist keeps its
        curvature.
    wrap
        Dimensions of the group that are angles of a joint without end stops: positions in rad,
        with at least two turns (12.5) from ``low`` to ``high``. An action means the same angle by
        the number nearest to the last command (from 3.1 to -3.1 goes by 3.18); what is published
        never jumps by a turn. Feedback may be wrapped; after a reset that may move the robot, and
        a deactivation, the sequence starts from the number that it has. Only ``continuous`` and
        ``delta``.
    driver_timeout_probe
        A small command by which the gate [measures
        ``driver_timeout``](nodes/safety_gate.md#the-probe-of-the-driver) before the first arming.
        Realtime only.
    driver_timeout
        After so long without a command the driver stops by itself: what stops the robot when the
        gate dies. Without ``driver_timeout_probe`` it is taken on trust; of a velocity or an
        effort ``boundary-env contract check`` says so. ``none``: the driver NEVER STOPS BY
        ITSELF, and the robot keeps moving when the gate dies.
    driver_timeout_acknowledged
        Must be true for ``driver_timeout: none``.
    acknowledgement
        Where the driver says which command it applied, if it does: evidence of execution that
        goes before that of `feedback`, once the message has the values of the command. Where they
        are in it is said as for `feedback`.
    feedback
        What measures what the robot did: the measured action, the start of the limits, the
        evidence of execution. Where the measured value of each dimension is, in the unit of the
        command, is said as for a field.

    """

    name: Annotated[str, Key(''), BREAKING]
    topic: Annotated[str, Key(spelt=TOPIC)]
    type: Annotated[str, Key(spelt=TYPE)]
    source: Annotated[Source, Key(''), BREAKING]
    kind: Annotated[ActionKind, Key(), BREAKING] = ActionKind.CONTINUOUS
    max_delta: Annotated[
        Vector, Key(unit=OF_VALUE, above=0.0, required=True, when=('kind', 'delta')), BREAKING
    ] = ()
    choices: Annotated[
        tuple[tuple[str, Vector], ...],
        Key(unit=OF_VALUE, item='choice', required=True, when=('kind', 'discrete')),
        BREAKING,
    ] = ()
    levels: Annotated[
        tuple[Vector, ...],
        Key(
            unit=OF_VALUE,
            required=True,
            when=('kind', 'multi_discrete'),
            shown='lists of numbers, in `unit`',
        ),
        BREAKING,
    ] = ()
    interface: Annotated[tuple[Interface, ...], Key(same_as='what the type says'), BREAKING]
    unit: Units
    frame: Annotated[str, Key(), BREAKING] = ''
    low: Annotated[Vector, Key(unit=OF_VALUE), BREAKING]
    high: Annotated[Vector, Key(unit=OF_VALUE), BREAKING]
    out_of_bounds: Annotated[OutOfBounds, Key(choices=('clip', 'reject'))] = OutOfBounds.CLIP
    safe: Annotated[
        Vector,
        Key(
            unit=OF_VALUE,
            words=('hold_position',),
            same_as='0 of a velocity, `hold_position` of a position',
        ),
    ]
    max_velocity: Annotated[Vector, Key(unit='m/s or rad/s', above=0.0, words=('none',))] = ()
    max_acceleration: Annotated[
        Vector, Key(unit='m/s^2 or rad/s^2', above=0.0, words=('none',))
    ] = ()
    max_jerk: Annotated[Vector, Key(unit='m/s^3 or rad/s^3', above=0.0, words=('none',))] = ()
    max_deceleration: Annotated[
        Vector,
        Key(unit='m/s^2 or rad/s^2', above=0.0, words=('none',), same_as='max_acceleration'),
    ] = ()
    max_effort_rate: Annotated[Vector, Key(unit='N/s or N m/s', above=0.0, words=('none',))] = ()
    max_tracking_error: Annotated[Vector, Key(unit=OF_VALUE, above=0.0)] = ()
    rotation: Annotated[tuple[int, ...], Key(shown=DIMENSIONS)] = ()
    scale_together: Annotated[tuple[int, ...], Key(shown=DIMENSIONS)] = ()
    wrap: Annotated[tuple[int, ...], Key(shown=DIMENSIONS)] = ()
    driver_timeout_probe: Annotated[Vector, Key(unit=OF_VALUE)] = ()
    driver_timeout: Annotated[float | None, Key(unit='s', above=0.0, words=('none',))]
    driver_timeout_acknowledged: ClassVar[Annotated[bool, Key()]] = False
    feedback: Annotated[Feedback, Key()]
    acknowledgement: Annotated[Acknowledgement | None, Key()] = None

    @property
    def size(self) -> int:
        """Return the number of dimensions of the command."""
        return len(self.low)

    @property
    def action_size(self) -> int:
        """Return the number of dimensions of the action."""
        return 1 if self.kind is ActionKind.DISCRETE else self.size

    @property
    def action_bounds(self) -> tuple[Vector, Vector]:
        """Return the bounds of an action of numbers: of the command, or of a difference to it."""
        if self.kind is ActionKind.DELTA:
            return tuple(-most for most in self.max_delta), self.max_delta
        return self.low, self.high

    @property
    def rate(self) -> Vector:
        """Return the limits on the first difference of the command, unit/s."""
        return self._limits(self.max_velocity, self.max_acceleration, self.max_effort_rate)

    @property
    def acceleration(self) -> Vector:
        """Return the limits on the second difference of the command, unit/s^2; inf: none."""
        return self._limits(self.max_acceleration, self.max_jerk, ())

    @property
    def jerk(self) -> Vector:
        """Return the limits on the third difference of the command, unit/s^3; inf: none."""
        return self._limits(self.max_jerk, (), ())

    @property
    def stop(self) -> Vector:
        """Return the limits on the first difference of the command in a stop, unit/s."""
        return self._limits(self.max_velocity, self.max_deceleration, self.max_effort_rate)

    @property
    def deceleration(self) -> Vector:
        """Return the limits on the second difference of a position in a stop; inf: no motion."""
        return self._limits(self.max_deceleration, (), ())

    def _limits(self, position: Vector, velocity: Vector, effort: Vector) -> Vector:
        by = {Interface.POSITION: position, Interface.VELOCITY: velocity, Interface.EFFORT: effort}
        return tuple(by[one][i] if by[one] else math.inf for i, one in enumerate(self.interface))

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
        """
        Return a name for each dimension of the command: ``base/linear.x``, ``legs/FL_hip``.

        A sequence of numbers without names takes those of the joints that it is measured by.
        """
        names = dimension_names(self.source, self.feedback.source, self.size)
        return tuple(f'{self.name}/{name}' for name in names)


def dimension_names(command: Source, feedback: Source, size: int) -> tuple[str, ...]:
    """Return the names of the dimensions of a group: of the command, or of what measures it."""
    names = value_names(command) or value_names(feedback)
    return names if len(names) == size else tuple(map(str, range(size)))


def slices_of(groups: Iterable[ActionSpec]) -> Iterator[tuple[ActionSpec, slice]]:
    """Yield the groups of an action, each with the part of the command that is its own."""
    end = 0
    for group in groups:
        start, end = end, end + group.size
        yield group, slice(start, end)


@frozen
class DocumentGroup:
    """
    One group of documents that a policy may send: JSON in place of numbers.

    Attributes
    ----------
    name
        Of the group.
    topic
        Relative topic on which the gate publishes what it admits, a ``std_msgs/msg/String`` with
        JSON. No sensor, command or other group may use it.
    schema
        JSON Schema (draft 2020-12) of the documents, written out here: nothing is fetched from
        elsewhere. The gate rejects a document that it does not admit, and says where. It needs
        the extra ``documents``.
    types
        With it a document is an object whose ``type`` is one of these.
    max_rate
        Most documents in a second; one that comes sooner is rejected. Without it there is no such
        limit.

    """

    name: Annotated[str, Key(''), BREAKING]
    topic: Annotated[str, Key(spelt=TOPIC)]
    schema: Annotated[Mapping[str, object], Key(), BREAKING]
    types: Annotated[
        tuple[str, ...], Key(spelt=WORD, unique=True, shown='list of words'), BREAKING
    ] = ()
    max_rate: Annotated[float | None, Key(unit='1/s', above=0.0)] = None


@frozen
class WorldStep:
    """
    Ask a ``ResetWorld`` service (relative name) for the sampled state of the world.

    Attributes
    ----------
    service
        A ``ResetWorld`` service, which is given seed and sampled state; once at most.
    deadline
        Of every step but ``publish``; not more than that of the reset.

    """

    service: Annotated[str, Key('world', spelt=SERVICE, one_of=True)]
    deadline: Annotated[float, Key(unit='s', above=0.0, same_as='that of the reset')]


@frozen
class CallStep:
    """
    Call a service, by relative name and type, with a request of plain data.

    Attributes
    ----------
    service
        Any service; one that answers ``success: false`` fails the reset.
    request
        Fields of its request, by name.
    type
        For ``call`` and ``publish``.
    deadline
        Of every step but ``publish``; not more than that of the reset.

    """

    service: Annotated[str, Key('call', spelt=SERVICE, one_of=True)]
    request: Annotated[Mapping[str, object], Key()] = field(default_factory=dict)
    type: Annotated[str, Key(spelt=SERVICE_TYPE, shown='service or message type')]
    deadline: Annotated[float, Key(unit='s', above=0.0, same_as='that of the reset')]


@frozen
class PublishStep:
    """
    Publish one message of plain data to a topic, by relative name and type.

    Attributes
    ----------
    topic
        One message is published; never on a command topic.
    message
        Its fields, by name.
    type
        For ``call`` and ``publish``.

    """

    topic: Annotated[str, Key('publish', spelt=TOPIC, one_of=True)]
    message: Annotated[Mapping[str, object], Key()] = field(default_factory=dict)
    type: Annotated[str, Key(spelt=TYPE)]


@frozen
class WaitStep:
    """
    Wait until a field has a value.

    Attributes
    ----------
    field
        Until this field of observation, state or privileged is within ``tolerance`` of ``target``
        or ``sampled``. In lockstep the world advances meanwhile.
    target
        The value that it is to have.
    sampled
        Instead: the name of the sampled value that it is to have.
    tolerance
        One for each value of the field, or one for all.
    wrap
        Which values of the field are angles (rad), so that 3.14 is near -3.14; ``roll(...)``,
        ``pitch(...)`` and ``yaw(...)`` need not be listed.
    deadline
        Of every step but ``publish``; not more than that of the reset.

    """

    field: Annotated[str, Key('wait', spelt=NAME, shown='name of a field', one_of=True)]
    target: Annotated[Vector, Key(unit=OF_VALUE, one_of=True)]
    sampled: Annotated[str, Key(expected='the name of a sampled value', shown='name', one_of=True)]
    tolerance: Annotated[Vector, Key(unit=OF_VALUE, least=0.0)]
    wrap: Annotated[tuple[int, ...], Key()] = ()
    deadline: Annotated[float, Key(unit='s', above=0.0, same_as='that of the reset')]


@frozen
class ConfirmStep:
    """
    Ask a person to do something and to confirm it.

    Attributes
    ----------
    prompt
        What a person is to do. It stands in ``EpisodeStatus.message`` until the service
        ``environment/confirm_reset`` is called (``boundary-env operator``); the record has the
        name.
    deadline
        Of every step but ``publish``; not more than that of the reset.

    """

    prompt: Annotated[
        str,
        Key(
            'confirm',
            spelt=WORD,
            expected='what a person is to do, then to confirm',
            one_of=True,
            shown='text',
        ),
    ]
    deadline: Annotated[float, Key(unit='s', above=0.0, same_as='that of the reset')]


ResetStep: TypeAlias = WorldStep | CallStep | PublishStep | WaitStep | ConfirmStep


@frozen
class ResetProcedure:
    """
    How the world is reset.

    Attributes
    ----------
    service_alone
        A ``boundary_env_ros/srv/ResetWorld`` of the robot or its simulation: short for a procedure
        of one step, ``world``.
    steps
        Instead of ``service``: what is done, one after the other. Each step has one of ``world``,
        ``call``, ``publish``, ``wait``, ``confirm``. Where all of them only ``wait``, the robot is
        assumed not to have moved; if a person moves it, add a ``confirm``.
    settle
        Time for the world to come to rest before the first observation; in lockstep at least one
        period.
    deadline
        For the whole reset, on the steady clock. Then the episode ends as ``reset_failed``, and
        says what was still missing.
    tolerance
        Greatest difference between sampled and achieved state, by name of the sampled value. One
        that is not listed is not compared.
    wrap
        By name of a sampled value with a tolerance: which places are angles (rad), so that 3.14 is
        near -3.14: ``{start: [2]}``.

    """

    service_alone: ClassVar[
        Annotated[str, Key('service', spelt=SERVICE, required=True, one_of=True)]
    ] = ''
    steps: Annotated[
        tuple[ResetStep, ...], Key('procedure', item='step', one_of=True, shown='list of steps')
    ]
    settle: Annotated[float, Key(unit='s', least=0.0)] = 0.0
    deadline: Annotated[float, Key(unit='s', above=0.0)] = 60.0
    tolerance: Annotated[Mapping[str, Vector], Key(unit=OF_VALUE, least=0.0, item='value')] = (
        field(default_factory=dict)
    )
    wrap: Annotated[Mapping[str, tuple[int, ...]], Key(item='value')] = field(default_factory=dict)

    @property
    def service(self) -> str:
        """Return the ``ResetWorld`` service; empty if the procedure asks none."""
        return next((step.service for step in self.steps if isinstance(step, WorldStep)), '')

    @property
    def moves_robot(self) -> bool:
        """Whether the robot may stand elsewhere after it; who only waits moves nothing."""
        return not all(isinstance(step, WaitStep) for step in self.steps)


@frozen
class EpisodeRules:
    """
    How episodes end.

    Attributes
    ----------
    time_limit
        At most ``round(time_limit / period)`` steps; the last one is truncated as ``time_limit``.
        There is no other time limit.
    endings
        Endings of your own, and what each is. A built-in ending may be repeated, not changed.
    on_stop
        Stops of the gate that end the episode, and the ending that each stands for, by
        [reason](nodes/safety_gate.md#reasons) in lower case; all others do not.
    instructions
        What a policy may be told to do, in words: each episode has one of them, drawn by its seed,
        unless its reset has the option ``instruction``.
    reset
        How the world is reset.

    """

    time_limit: Annotated[float, Key(unit='s', above=0.0)]
    endings: Annotated[
        Mapping[str, EndingKind], Key(item='ending', choices=('terminated', 'truncated')), BREAKING
    ] = field(default_factory=dict)
    on_stop: Annotated[Mapping[str, str], Key(item='reason', shown='ending')] = field(
        default_factory=dict
    )
    instructions: Annotated[
        tuple[str, ...],
        Key(spelt=WORD, listed='instruction', unique=True, shown='list of texts'),
    ] = ()
    reset: Annotated[ResetProcedure, Key()]


@frozen
class TaskSpec:
    """
    The task: an installed entry point and its parameters; the code itself is never in a contract.

    Without a name there is none: the reward is 0, and episodes end by the time limit, by a stop,
    or by the loss of a part.
    ``distribution`` and ``version`` are those of the package that the entry point comes from.

    Attributes
    ----------
    name
        An entry point of the group ``boundary_env_ros.tasks``, see [tasks](tasks.md). Its
        distribution and version are part of the digest.
    parameters
        Given to the task, which checks them itself when a node is configured.
    distribution, version
        Those of the package that the entry point comes from.

    """

    name: Annotated[str, Key(expected='the name of an installed task', shown='name'), BREAKING]
    parameters: Annotated[Mapping[str, object], Key()] = field(default_factory=dict)
    distribution: str = ''
    version: str = ''


@frozen
class Contract:
    """
    The whole boundary.

    Attributes
    ----------
    name
        Name of the contract: lower-case letters, digits, ``_``. Part of every record.
    version
        Three numbers, ``1.0.0``. Part of every record.
    period
        One step. In realtime the environment closes a step every period; in lockstep the world
        advances by one.
    rate
        In place of ``period``: whole steps a second.
    sim_time
        ``ros``: the system clock. ``sim``: ``/clock``; the nodes then set ``use_sim_time``
        themselves.
    pacing
        ``realtime``: the policy is not waited for. ``lockstep``: the world stands still until the
        gate has decided. Nodes and facade can choose another one; that changes the digest.
    agents
        Who acts. [Several](agents.md) share one world; each has its topics in the namespace of its
        name.
    agent_order
        All agents, in the order in which they [act one after the other](agents.md#in-turn), one in
        each step. Without it all act at once. A round must be over before ``safety.hold_timeout``,
        and there are no chunks.
    observation
        What the policy sees: one key a field, in the order of the observation.
    state
        What environment and task know besides: fields as in ``observation``. They are recorded
        (``Transition.state``) and sent to no policy.
    privileged
        What is recorded and known to neither policy nor task: fields as in ``observation``, from
        topics and tf only.
    action
        What the policy may ask for: one key a group, in the order of the action. A group is one
        command topic. Where in its message the dimensions go is said as for a field: ``fields``
        (names only, no index), ``parts``, ``joints``, or ``array`` with its ``length`` or
        ``shape``. A dimension is named by group and name: ``base/linear.x``, ``legs/FL_hip``; an
        array without ``joints`` takes the names of its feedback.
    documents
        What the policy may send besides numbers: one key a group of JSON documents with a schema.
        With it ``action`` may be left out. Not with chunks.
    safety
        What the gate enforces beyond the bounds of the action. Every timeout has a default.
    latency_budget
        What each stage of a step may take.
    task
        Reward, endings and resets. Without it the reward is 0, and an episode ends by its time
        limit, a stop of the gate, the operator, or the loss of a part.
    episode
        How episodes begin and end.
    chunk
        Whether one request may cover several steps.
    lockstep
        How long lockstep waits.
    recorder
        Whether a recorder is required.
    robot
        Whose clock stamps the sensors, and where its transforms are.
    reaction_of
        The field of the observation whose capture is ``captured`` of a step.
    horizon
        Most steps that one request covers: [chunks](nodes/safety_gate.md#chunks). Not with
        ``discrete`` or ``multi_discrete`` groups.
    lockstep_deadline
        Longest wait in lockstep, on the steady clock. Then the episode ends (``robot_lost``,
        ``gate_lost``, ``policy_lost``).
    recorder_required
        Whether an episode waits for a recorder before it runs, and ends when it is lost.
    robot_host
        Host whose clock stamps the sensor messages, if not that of the nodes. How far its clock is
        off is [measured](deploy.md#clocks).
    robot_tf
        Topic of the transforms of a robot that has them in its namespace (``tf``) or under another
        name; those that never change are on the same with ``_static`` behind it.

    """

    name: Annotated[str, Key('contract', spelt=NAME)]
    version: Annotated[str, Key(spelt=VERSION), COSMETIC] = '0.1.0'
    period: Annotated[float, Key(unit='s', above=0.0, one_of=True)]
    rate: ClassVar[Annotated[int, Key(unit='1/s', least=1, one_of=True)]]
    sim_time: Annotated[bool, Key('clock', words=('ros', 'sim'))] = False
    pacing: Annotated[Pacing, Key()] = Pacing.REALTIME
    agents: Annotated[tuple[str, ...], Key(spelt=NAME, listed='agent', unique=True), BREAKING] = (
        'robot',
    )
    agent_order: Annotated[tuple[str, ...], Key(spelt=NAME), BREAKING] = ()
    observation: Annotated[tuple[FieldSpec, ...], Key(item='field'), BREAKING]
    state: Annotated[tuple[FieldSpec, ...], Key(item='field')] = ()
    privileged: Annotated[tuple[FieldSpec, ...], Key(item='field')] = ()
    action: Annotated[tuple[ActionSpec, ...], Key(item='group', one_of=True), BREAKING]
    documents: Annotated[tuple[DocumentGroup, ...], Key(item='group'), BREAKING] = ()
    safety: Annotated[Safety, Key(same_as='from `period`')]
    latency_budget: Annotated[Mapping[str, float], Key(choices=STAGES, unit='s', above=0.0)] = (
        field(default_factory=dict)
    )
    chunk: ClassVar[Annotated[Section, Key()]] = Section()
    lockstep: ClassVar[Annotated[Section, Key()]] = Section()
    recorder: ClassVar[Annotated[Section, Key()]] = Section()
    robot: ClassVar[Annotated[Section, Key()]] = Section()
    task: Annotated[TaskSpec, Key(same_as='no task')]
    episode: Annotated[EpisodeRules, Key()]
    reaction_of: Annotated[
        str,
        Key(
            'latency_budget.of',
            spelt=NAME,
            shown='name of a field',
            same_as='the first field of a topic',
        ),
        BREAKING,
    ]
    horizon: Annotated[int, Key('chunk.horizon', least=1)] = 1
    lockstep_deadline: Annotated[float, Key('lockstep.deadline', unit='s', above=0.0)] = 10.0
    recorder_required: Annotated[bool, Key('recorder.required')] = True
    robot_host: Annotated[str, Key('robot.host')] = ''
    robot_tf: Annotated[str, Key('robot.tf', spelt=TOPIC)] = '/tf'

    @property
    def tf_topics(self) -> tuple[str, str]:
        """Return the topics of transforms, and of those that never change."""
        return self.robot_tf, f'{self.robot_tf}_static'

    @property
    def max_steps(self) -> int:
        """Return the greatest number of steps of an episode."""
        return round(self.episode.time_limit / self.period)

    @property
    def fields(self) -> tuple[FieldSpec, ...]:
        """Return all fields: of the observation, of the rest of the state, privileged ones."""
        return (*self.observation, *self.state, *self.privileged)

    @property
    def action_size(self) -> int:
        """Return the number of dimensions of the action."""
        return sum(group.action_size for group in self.action)

    @property
    def command_size(self) -> int:
        """Return the number of dimensions of the command."""
        return sum(group.size for group in self.action)

    @property
    def command_topics(self) -> tuple[str, ...]:
        """The topics of commands and documents, which only the gate publishes."""
        actions = (group.topic for group in self.action)
        return (*actions, *(group.topic for group in self.documents))

    def flat(self, attribute: str) -> Vector:
        """Return an attribute of all action groups in their order, for example ``flat('low')``."""
        return tuple(value for group in self.action for value in getattr(group, attribute))

    @property
    def is_lockstep(self) -> bool:
        """Return whether the world stands still until a step was asked for."""
        return self.pacing is Pacing.LOCKSTEP

    @property
    def heartbeat(self) -> float | None:
        """
        Return the silence of the emergency stop, s, after which the robot stops; None: it may be.

        In lockstep the world stands still between two requests, however long that takes.
        """
        return None if self.is_lockstep else self.safety.emergency_stop_heartbeat

    @property
    def angles(self) -> frozenset[int]:
        """Return the dimensions of the command that are angles and wrap."""
        return frozenset(
            part.start + i for group, part in slices_of(self.action) for i in group.wrap
        )

    @property
    def interfaces(self) -> tuple[Interface, ...]:
        """Return what each dimension of the command does to the robot."""
        return tuple(one for group in self.action for one in group.interface)

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
        return self.agent_order[(step - 1) % len(self.agent_order)] if self.agent_order else ''

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

        """
        if pacing is self.pacing:
            return self
        return replace(self, pacing=pacing, sim_time=pacing is Pacing.LOCKSTEP)
