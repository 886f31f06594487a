# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which topics gate and environment listen to under a contract, and what they read there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from boundary_env_ros.core.contract.model import (
    Acknowledgement,
    Contract,
    Feedback,
    FieldSpec,
    OnStale,
    Qos,
)
from boundary_env_ros.core.contract.paths import Message
from boundary_env_ros.core.contract.safety import Operator, STOP_TYPE
from boundary_env_ros.core.contract.sources import (
    JOINTS,
    Joints,
    Lookup,
    Paths,
    publishers_of,
    value_names,
)
from boundary_env_ros.core.records.decision import ALIVE, EMERGENCY_STOP, FEEDBACK, OPERATOR
from boundary_env_ros.core.sources.readers import adapter, frame_of, measured, reader, stamp_of
from boundary_env_ros.core.sources.reading import is_measured, not_measured, RANGES, Reading
from boundary_env_ros.core.timebase import Stamp
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import BoundaryError, OfAnother, RecordError, WRONG_INPUT
from boundary_env_ros.frozen import frozen, replace

#: Before the name of a group: what its driver says that it applied.
ACKNOWLEDGEMENT = 'acknowledgement'

#: The inputs of transforms, and what they come in; a static one once and for all.
TF, TF_STATIC, TF_TYPE = '/tf', '/tf_static', 'tf2_msgs/msg/TFMessage'


class Purpose(Enum):
    """What is read for: the rules of the gate, or what of the environment."""

    GATE = 'gate'
    FIELD = 'field'
    FEEDBACK = 'feedback'
    #: What drivers acknowledge, and transforms.
    ENVIRONMENT = 'environment'
    #: What a record has of the gate, and of the emergency stop.
    COMMAND = 'command'
    DOCUMENT = 'document'
    EMERGENCY = 'emergency'


@frozen(kw_only=False, eq=False)
class Input:
    """
    One use of one topic.

    Attributes
    ----------
    purpose, name
        What the reading is for: a field of the contract, a group of the action, or an input of the
        gate's rules.
    topic, type
        Relative topic and ROS type.
    read
        From the message to the reading, without its instants.
    at
        What the topic is called where it is listened to; empty: it is not there.
    qos
        How the topic is listened to.
    infinite
        How many of its values, from the first one on, may be infinite.
    publishers
        How many nodes may publish the topic.
    frames
        Those that a header may name; empty if any may come.

    """

    purpose: Purpose
    name: str
    topic: str
    type: str
    read: Callable[[Message], Reading]
    at: str = ''
    qos: Qos = Qos()
    infinite: int = 0
    publishers: int = 1
    frames: frozenset[str] = frozenset()

    @property
    def label(self) -> str:
        """What nothing else of the agent is called: ``field pose``."""
        return f'{self.purpose.value} {self.name}'

    @property
    def is_each(self) -> bool:
        """
        Whether every message counts, in the order in which they come; else the newest.

        Of several publishers each says something else, and a person's device and the emergency
        stop what they say once.
        """
        if self.purpose is Purpose.GATE:
            return self.publishers > 1 or self.name in (OPERATOR, EMERGENCY_STOP)
        return self.purpose is not Purpose.FIELD

    def reading(
        self,
        message: Message,
        captured: Stamp | None = None,
        published: Stamp | None = None,
        arrived: Stamp | None = None,
    ) -> Reading:
        """
        Return what it reads from a message, with these instants and a frame that may not come.

        Raises
        ------
        OfAnother
            If the message is of another publisher, and says nothing of this.
        Exception
            Whatever the message leads to, if it cannot be read.

        """
        frame = self.other_frame(message) if self.frames else ''
        reading = self.read(message)
        if not (frame or captured or published or arrived):
            return reading
        return replace(
            reading,
            captured=captured,
            published=published,
            arrived=arrived,
            frame=frame,
        )

    def other_frame(self, message: Message) -> str:
        """
        Return the frame in the header of a message if it is none of those that may come.

        What a message has of its ``child_frame_id``, as the velocity of an odometry, is in that.
        """
        frame = frame_of(message)
        known = not frame or self.frames & {frame, getattr(message, 'child_frame_id', frame)}
        return '' if known else frame


def field_inputs(contract: Contract, topics: Mapping[str, str]) -> tuple[Input, ...]:
    """
    Return the inputs of the fields of observation, state and privileged.

    Parameters
    ----------
    contract
        The contract.
    topics
        Resolved name of each relative topic, which image references carry.

    """
    return tuple(
        _input(
            s.name,
            s,
            adapter(s, topics[s.topic]),
            Purpose.FIELD,
            qos=s.qos,
            infinite=infinite_values(s),
            frames=_frames(s, contract),
        )
        for s in contract.fields
        if s.topic
    )


def feedback_inputs(contract: Contract) -> tuple[Input, ...]:
    """Return the inputs that tell what the robot did, one for each group of the action."""
    return tuple(_measured(g.name, g.feedback, Purpose.FEEDBACK) for g in contract.action)


def acknowledgement_inputs(contract: Contract) -> tuple[Input, ...]:
    """Return the inputs that tell which command a driver applied, of the groups that have one."""
    return tuple(
        _measured(f'{ACKNOWLEDGEMENT}.{group.name}', group.acknowledgement, Purpose.ENVIRONMENT)
        for group in contract.action
        if group.acknowledgement is not None
    )


def _measured(name: str, what: Feedback | Acknowledgement, purpose: Purpose) -> Input:
    read, publishers = measured(what.source, what.type), publishers_of(what.source)
    return _input(name, what, read, purpose, publishers=publishers)


def gate_inputs(contract: Contract) -> tuple[Input, ...]:
    """
    Return the inputs of the gate's rules, which the gate subscribes itself.

    A message that cannot be read gives a reading without values, which the rules cannot go by: of
    another frame than that which the contract declares for the sensor of an obstacle or a place
    (the same numbers would bound something else), without a joint, of another size, or with a
    header that was never stamped (its age is unknown). Only of the operator's device such
    a message raises :class:`RecordError`, and is passed over: a person may let go of it at any
    time.
    """
    inputs = [
        replace(i, purpose=Purpose.GATE, name=f'{FEEDBACK}.{i.name}', read=_or_nothing(i.read))
        for i in feedback_inputs(contract)
    ]
    safety = contract.safety
    for rule in safety.rules:
        publishers = publishers_of(getattr(rule, 'source', None))
        read = _or_nothing(_in_frame(rule.reader(), rule, contract))
        inputs.append(_input(rule.input, rule, read, publishers=publishers))
    if safety.operator is not None:
        inputs.append(_input(OPERATOR, safety.operator, _dated(_operator(safety.operator))))
    inputs += [
        _input(f'{ALIVE}.{s.name}', s, _alive(s), qos=s.qos, publishers=publishers_of(s.source))
        for s in (*contract.observation, *contract.state)
        if s.on_stale is OnStale.STOP
    ]
    if contract.heartbeat is not None:
        pressed = _or_nothing(_read(reader(Paths(paths=('data',)))))
        stop = safety.emergency_stop
        inputs.append(Input(Purpose.GATE, EMERGENCY_STOP, stop, STOP_TYPE, pressed))
    return tuple(inputs)


def image_fields(contract: Contract) -> tuple[FieldSpec, ...]:
    """Return the fields that a client has to resolve to images itself."""
    return tuple(spec for spec in contract.observation if spec.is_image)


def sensor_topics(contract: Contract) -> Mapping[str, str]:
    """
    Return the type of every sensor topic of the contract, by relative name.

    Commands are not among them, nor is the emergency stop.
    """
    found = {s.topic: s.type for s in contract.fields if s.topic}
    found.update({i.topic: i.type for i in gate_inputs(contract) if i.name != EMERGENCY_STOP})
    found.update({i.topic: i.type for i in acknowledgement_inputs(contract)})
    if any(isinstance(spec.source, Lookup) for spec in contract.fields):
        found.update(dict.fromkeys(contract.tf_topics, TF_TYPE))
    return found


def robot_topics(contract: Contract) -> Mapping[str, str]:
    """
    Return the type of each topic that the robot itself has to send on, every agent's.

    Of the sensor topics, the transforms come from other nodes too, and a person's commands from
    their device.
    """
    others = {*contract.tf_topics}
    if contract.safety.operator is not None:
        others.add(contract.safety.operator.topic)
    return {
        contract.topic_of(agent, topic): kind
        for agent in contract.agents
        for topic, kind in sensor_topics(contract).items()
        if topic not in others
    }


def _input(
    name: str,
    what: Any,
    read: Callable[[Message], Reading],
    purpose: Purpose = Purpose.GATE,
    **more: Any,
) -> Input:
    """Return the input of something of the contract that names its topic and type."""
    return Input(purpose, name, what.topic, what.type, read, **more)


def _alive(spec: FieldSpec) -> Callable[[Message], Reading]:
    """
    Return a reader of one value, 1, for a message in which a field was measured.

    What was not measured is returned as it came, which no rule can go by, with what is wrong.
    """
    if spec.is_image:
        # What is in it is for the policy to see, and takes longer than the gate has.
        return _or_nothing(_read(lambda message: (1.0,)))
    read, infinite = adapter(spec, spec.topic), infinite_values(spec)

    def alive(message: Message) -> Reading:
        reading = read(message)
        if is_measured(reading.values, infinite=infinite):
            return Reading(values=(1.0,))
        what = not_measured(reading.values, value_names(spec.source), infinite=infinite)
        problem = reading.problem or (
            f'{spec.name} is not usable (expected finite values, got {what}); let the driver '
            'leave out what it could not measure.'
        )
        return Reading(values=reading.values, problem=problem)

    return _or_nothing(alive)


def infinite_values(spec: FieldSpec) -> int:
    """Return how many values of a field may be infinite: all of ranges, none of anything else."""
    return spec.size if spec.type in RANGES else 0


def _or_nothing(read: Callable[[Message], Reading]) -> Callable[[Message], Reading]:
    """Return a reader that gives no values for a message that cannot be read, whatever it is."""
    read = _dated(read)

    def read_or_nothing(message: Message) -> Reading:
        try:
            return read(message)
        except OfAnother:
            raise  # nothing that it should have said is missing
        except (BoundaryError, *WRONG_INPUT) as error:
            problem = str(error) if isinstance(error, BoundaryError) else repr(error)
            return Reading(problem=problem)

    return read_or_nothing


def _dated(read: Callable[[Message], Reading]) -> Callable[[Message], Reading]:
    """Return a reader that refuses a message whose header was never stamped."""

    def read_dated(message: Message) -> Reading:
        reading = read(message)
        if hasattr(message, 'header') and stamp_of(message) is None:
            raise RecordError(
                'The stamp in the header is 0. Let the driver stamp what it measures.'
            )
        return reading

    return read_dated


def _read(values: Callable[[Message], Vector]) -> Callable[[Message], Reading]:
    return lambda message: Reading(values=values(message))


def _in_frame(
    read: Callable[[Message], Reading], rule: Any, contract: Contract
) -> Callable[[Message], Reading]:
    """Return a reader that refuses a message of another frame than that of a rule."""
    frames = _frames(rule, contract)
    if not frames:
        return read

    def checked(message: Message) -> Reading:
        actual = frame_of(message)
        if actual and actual not in frames:
            raise RecordError(
                f'Wrong frame in the header of {rule.topic} ({rule.input}; expected '
                f'{rule.frame!r}, got {actual!r}). Such a message is not used. Let it be '
                'published in the frame of the contract, or change `frame` there and all that '
                'it bounds.'
            )
        return read(message)

    return checked


def _frames(it: Any, contract: Contract) -> frozenset[str]:
    """
    Return the frames that a header may name; none if any may come.

    A message without a frame does not contradict the contract, and the header of joints says
    nothing of their positions. Of several agents each may put its name before its frames.
    """
    frame, source = getattr(it, 'frame', ''), getattr(it, 'source', None)
    if not frame or it.type == JOINTS or isinstance(source, Joints):
        return frozenset()
    prefixes = contract.agents if len(contract.agents) > 1 else ()
    # A velocity is in the child frame, which the message may leave out.
    paths = getattr(source, 'paths', ())
    unnamed = ('',) if any('twist' in path for path in paths) else ()
    return frozenset((*unnamed, frame, *(f'{agent}/{frame}' for agent in prefixes)))


def _operator(spec: Operator) -> Callable[[Message], Reading]:
    """Return the reader of a command in command units, and, as the last value, of the switch."""
    values, switch = reader(spec.source), reader(Paths(paths=(spec.enable,)))

    def read(message: Message) -> Reading:
        command = tuple(v * scale for v, scale in zip(values(message), spec.scale, strict=True))
        return Reading(values=(*command, *switch(message)))

    return read
