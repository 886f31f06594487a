# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which topics seem to command the robot, and drafts of the groups of an action for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import re

from boundary_env_ros.core.contract.grammar import TOPIC, TYPE
from boundary_env_ros.core.contract.model import implied_interface
from boundary_env_ros.core.sources.message_parts import ARRAYS
from boundary_env_ros.evidence.infer_contract.feedback import feedback_of, FeedbackDraft
from boundary_env_ros.evidence.infer_contract.field_draft import Line, relative
from boundary_env_ros.evidence.infer_contract.fields import field_drafts, field_name, Unfit
from boundary_env_ros.evidence.infer_contract.observer import JOINTS, TRAJECTORY
from boundary_env_ros.evidence.infer_contract.survey import Span, TopicSurvey
from boundary_env_ros.evidence.infer_contract.writing import (
    decide,
    guess,
    inward,
    nice,
    Page,
    Value,
)

TWIST = 'geometry_msgs/msg/Twist'
TWIST_STAMPED = 'geometry_msgs/msg/TwistStamped'

_TWISTS = {TWIST: '', TWIST_STAMPED: 'twist.'}
_TWIST_UNITS = {'linear': 'm/s', 'angular': 'rad/s'}
_TWIST_PATHS = tuple(f'{part}.{axis}' for part in _TWIST_UNITS for axis in 'xyz')
#: What a robot on wheels is driven by.
_DRIVEN = ('linear.x', 'angular.z')

_COMMANDING = re.compile(
    r'(^|[/_])(cmd|cmds|command|commands|setpoint|setpoints|target|desired)([/_]|$)|cmd_vel'
)
#: Messages of whole numbers.
_WHOLE = re.compile(r'std_msgs/msg/(Bool|Byte|Char|U?Int\d+)(MultiArray)?')
#: What of joints is commanded, and its unit if they turn.
_QUANTITIES = {'position': 'rad', 'velocity': 'rad/s', 'effort': 'N m'}
#: Units of what stays when nothing is commanded: positions. The others are rates and forces.
_PLACES = frozenset(['m', 'rad', 'deg'])

#: What a limit is, of which interface, and the seconds from rest to the limit, or, of a position,
#: through its whole range.
_LIMITS = {
    'max_velocity': ('slow on purpose: 30 s through the whole range', 'position', 30.0),
    'max_acceleration': ('slow on purpose: 5 s from rest to the limit', 'velocity', 5.0),
    'max_deceleration': ('what it can brake with', 'velocity', 0.5),
    'max_effort_rate': ('slow on purpose: 5 s from rest to the limit', 'effort', 5.0),
}
_LEAST_RATE = 0.01
#: Seconds that a driver is given at least, and periods of the contract.
_DRIVER_TIMEOUT, _DRIVER_PERIODS = 0.5, 3.0

#: The greatest number of a float32, rounded down.
_MOST = 3.4e38

_NOT_SEEN = decide('nothing was commanded while looking; until a range stands here, nothing moves')
_UNKNOWN = decide('nothing was seen of where the robot may go')
_INTERFACE = decide('position, velocity or effort; nothing in the message says it')
_SEEN = guess('what was commanded while looking, and no more')
_MEASURED = guess('where the joints were while looking, and no further')


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDraft:
    """
    A group of the action to be written.

    Attributes
    ----------
    name
        Of the group.
    topic
        What was seen of its command topic.
    lines
        Keys that say where in the message the dimensions go.
    unit
        Unit of each dimension; empty if nothing says what the numbers are.
    unit_comment
        Where they come from.
    low, high
        Limits of each dimension; empty if nothing was seen of them.
    limits_comment
        Where they come from.
    feedback
        What tells what the robot did.

    """

    name: str
    topic: TopicSurvey
    lines: tuple[Line, ...]
    unit: tuple[str, ...]
    unit_comment: str = ''
    low: tuple[float, ...]
    high: tuple[float, ...]
    limits_comment: str
    feedback: FeedbackDraft

    @property
    def stays(self) -> tuple[bool, ...]:
        """Return, for each dimension, whether it is a position, so that to stay there is safe."""
        return tuple(unit in _PLACES for unit in self.unit)

    @property
    def interface(self) -> tuple[str, ...]:
        """Return what each dimension seems to be: position, velocity or effort."""
        return tuple(
            'position' if stays else 'velocity' if unit.endswith('/s') else 'effort'
            for stays, unit in zip(self.stays, self.unit, strict=True)
        )


def is_command(topic: TopicSurvey) -> bool:
    """Return whether a topic seems to command the robot, by its type and name and its readers."""
    if not TOPIC.fits(relative(topic.name)) or not TYPE.fits(topic.type):
        return False
    if topic.type == TRAJECTORY:
        return True
    numbers = topic.type in _TWISTS or topic.type in ARRAYS
    if numbers and topic.subscribers and not topic.publishers:
        return True
    return _COMMANDING.search(topic.name.lower()) is not None


def chosen(
    commands: Sequence[TopicSurvey],
) -> tuple[tuple[TopicSurvey, ...], tuple[TopicSurvey, ...]]:
    """
    Return the topics that groups are to be made for, and the others.

    Of several twists one is chosen: the others mostly are inputs of a multiplexer. It is one with
    a reader, if that is known, and the one of the shortest name.
    """
    twists = sorted(
        (topic for topic in commands if topic.type in _TWISTS),
        key=lambda topic: (topic.subscribers == 0, len(topic.name), topic.name),
    )
    others = twists[1:]
    return tuple(topic for topic in commands if topic not in others), tuple(others)


def group_draft(topic: TopicSurvey, sensors: Sequence[TopicSurvey]) -> GroupDraft:
    """
    Return a group of the action for a command topic.

    Parameters
    ----------
    topic
        What was seen of the topic.
    sensors
        What was seen of topics that command nothing, among which the feedback is sought.

    Raises
    ------
    Unfit
        Saying why there is none.

    """
    if _WHOLE.fullmatch(topic.type):
        raise Unfit('a command is of numbers with fractions, which it has no room for')
    if topic.type in _TWISTS:
        return _twist(topic, sensors)
    if topic.type in (TRAJECTORY, JOINTS):
        return _joints(topic, sensors)
    if topic.type in ARRAYS:
        return _array(topic, sensors)
    return _paths(topic)


def _group(
    topic: TopicSurvey,
    lines: Sequence[Line],
    unit: Sequence[str],
    spans: Sequence[Span | None],
    feedback: FeedbackDraft,
    *,
    limits_comment: str = _SEEN,
    unit_comment: str = '',
) -> GroupDraft:
    limits: list[tuple[float, float]] = []
    names = unit or ('',) * len(spans)
    # To a position of which nothing is known a robot would go; a speed of zero is none.
    known = bool(spans) and not any(
        span is None and (not unit or name in _PLACES)
        for name, span in zip(names, spans, strict=True)
    )
    if not known:
        limits_comment = _UNKNOWN
    elif None in spans:
        limits_comment = _NOT_SEEN
    for name, span in zip(names, spans, strict=True) if known else ():
        low, high = (0.0, 0.0) if span is None else inward(_held(span.low), _held(span.high))
        # The safe command must be within the limits.
        stays = not unit or name in _PLACES
        limits.append((low, high) if stays else (min(0.0, low), max(0.0, high)))
    return GroupDraft(
        name=field_name(topic.name),
        topic=topic,
        lines=tuple(lines),
        unit=tuple(unit),
        unit_comment=unit_comment,
        low=tuple(low for low, _ in limits),
        high=tuple(high for _, high in limits),
        limits_comment=limits_comment,
        feedback=feedback,
    )


def _held(value: float) -> float:
    """Return a limit that a float32 can hold, as the action space does."""
    return max(-_MOST, min(_MOST, value))


def _twist(topic: TopicSurvey, sensors: Sequence[TopicSurvey]) -> GroupDraft:
    prefix = _TWISTS[topic.type]
    spans = {path: topic.spans.get(prefix + path) for path in _TWIST_PATHS}
    paths = [
        path
        for path, span in spans.items()
        if path in _DRIVEN or (span is not None and (span.moved or span.high != 0.0))
    ]
    comment = guess('what was commanded' if topic.messages else 'as for a robot on wheels')
    lines: list[Line] = [('fields', tuple(prefix + path for path in paths), comment)]
    units = [_TWIST_UNITS[path.partition('.')[0]] for path in paths]
    feedback = feedback_of(sensors, twist=tuple(paths))
    return _group(topic, lines, units, [spans[path] for path in paths], feedback)


def _joints(topic: TopicSurvey, sensors: Sequence[TopicSurvey]) -> GroupDraft:
    state = max(
        (sensor for sensor in sensors if sensor.type == JOINTS),
        key=lambda sensor: (len(set(sensor.joints) & set(topic.joints)), -len(sensor.name)),
        default=None,
    )
    names = topic.joints or (state.joints if state is not None else ())
    if not names:
        raise Unfit('nothing came on it, and no joint_states, so its joints are not known')
    comment = (
        guess('those of its messages')
        if topic.joints
        else decide('those of them that it commands, in its order')
    )
    commanded = {q: all(name in s for name in names) for q, s in topic.joint_spans.items()}
    quantity = next((q for q in _QUANTITIES if commanded.get(q)), 'position')
    seen = commanded.get(quantity, False)
    spans = topic.joint_spans.get(quantity, {}) if seen else _measured(state, quantity)
    lines: list[Line] = [('joints', names, comment)]
    if topic.type == TRAJECTORY:
        lines.append(('duration', 0.2, decide('s, in which it is to get there')))
    else:
        lines.append(('quantity', quantity, guess('that is what it was commanded')))
    return _group(
        topic,
        lines,
        [_QUANTITIES[quantity]] * len(names),
        [spans.get(name) for name in names],
        feedback_of(sensors, joints=names, quantity=quantity),
        limits_comment=_SEEN if seen else _MEASURED,
        unit_comment=guess('as of joints that turn; m, m/s or N of those that slide'),
    )


def _measured(state: TopicSurvey | None, quantity: str) -> Mapping[str, Span]:
    """Return where joints were; how fast they were is no limit for how fast they may be."""
    if state is None or quantity != 'position':
        return {}
    return state.joint_spans.get(quantity, {})


def _array(topic: TopicSurvey, sensors: Sequence[TopicSurvey]) -> GroupDraft:
    path = ARRAYS[topic.type]
    lengths = topic.lengths.get(path)
    states = [sensor for sensor in sensors if sensor.type == JOINTS and sensor.joints]
    size = lengths.most if lengths is not None and lengths.least == lengths.most else 0
    state = next((state for state in states if size in (0, len(state.joints))), None)
    lines: list[Line]
    if state is not None:
        length = len(state.joints)
        lines = [('joints', state.joints, decide('those that it commands, in its order'))]
    else:
        length = size
        lines = [('array', path, '')]
        lines.append(
            ('length', size, guess('it always had so many'))
            if size
            else ('length', '', decide('how many it takes'))
        )
    joints = () if state is None else state.joints
    quantity = _quantity(topic)
    spans = [topic.spans.get(f'{path}[{index}]') for index in range(length)]
    seen = None not in spans
    if not seen and quantity:
        measured = _measured(state, quantity)
        spans = [measured.get(name) for name in joints] or [None] * length
    return _group(
        topic,
        lines,
        [_QUANTITIES[quantity]] * max(1, length) if quantity else [],
        spans,
        feedback_of(sensors, count=length)
        if state is None
        else FeedbackDraft(
            topic=state.name, type=JOINTS, lines=(), comment=guess('what those joints did')
        ),
        limits_comment=_SEEN if seen else _MEASURED,
        unit_comment=guess(f'by its name the {quantity} of joints, which turn')
        if quantity
        else decide('rad, rad/s, N m, or those of joints that slide'),
    )


def _quantity(topic: TopicSurvey) -> str:
    """Return what of its joints a topic commands, by its name; empty if that does not say it."""
    return next((quantity for quantity in _QUANTITIES if quantity in topic.name.lower()), '')


def _paths(topic: TopicSurvey) -> GroupDraft:
    if not topic.messages:
        raise Unfit('nothing came on it, so what it commands is not known')
    draft = field_drafts(topic, set())[0]
    lines = {key: (value, comment) for key, value, comment in draft.lines}
    paths = _texts(lines.get('fields', ((), ''))[0])
    units = _texts(lines.get('unit', ((), ''))[0])
    if not paths or any('[' in path for path in paths):
        raise Unfit('a contract cannot command what it is made of')
    if not all(units):
        quantity = _quantity(topic)
        units = (_QUANTITIES[quantity],) if quantity else ()
    return _group(
        topic,
        [('fields', paths, lines['fields'][1])],
        units if len(units) == len(paths) else units * len(paths),
        [topic.spans.get(path) for path in paths],
        feedback_of((), count=len(paths)),
        unit_comment=lines['unit'][1],
    )


def _texts(value: Value) -> tuple[str, ...]:
    if isinstance(value, (str, int, float)):
        return (str(value),)
    return tuple(str(each) for each in value)


def write_group(page: Page, draft: GroupDraft, period: float) -> None:
    """Write a group below the section ``action`` of a contract with a period (s)."""
    topic = draft.topic
    page.section(draft.name, 1)
    page.key('topic', relative(topic.name), 2, _why(topic))
    page.key('type', topic.type, 2)
    for key, value, comment in draft.lines:
        _write(page, key, value, comment)
    known = {key: value for key, value, _ in draft.lines}
    quantity = [str(known['quantity'])] if 'quantity' in known else []
    if not draft.unit:
        page.section('interface', 2, _INTERFACE)
    elif not implied_interface(topic.type, quantity, len(draft.unit)):
        each = draft.interface
        says = each[0] if len(set(each)) == 1 else each
        page.key(
            'interface',
            says,
            2,
            guess('by the unit; a stop holds a position, and ends the others'),
        )
    _write(page, 'unit', draft.unit, draft.unit_comment)
    if topic.frames:
        page.key('frame', topic.frames[0], 2, guess('as its header says'))
    _write(page, 'low', draft.low, draft.limits_comment)
    _write(page, 'high', draft.high, '')
    page.key('out_of_bounds', 'clip', 2, decide('clip, or reject'))
    if draft.unit and draft.low:
        if all(draft.stays):
            page.key('safe', 'hold_position', 2, guess('a position stays where it is'))
        else:
            safe = tuple('hold_position' if stays else 0.0 for stays in draft.stays)
            page.key('safe', safe, 2, guess('no motion, no force'))
        for key, (comment, interface, seconds) in _LIMITS.items():
            if interface in draft.interface:
                page.key(key, _limits(draft, interface, seconds), 2, decide(comment))
    else:
        page.section('max_velocity', 2, decide('or max_acceleration, or max_effort_rate'))
    page.key(
        'driver_timeout',
        nice(max(_DRIVER_TIMEOUT, _DRIVER_PERIODS * period)),
        2,
        decide('s; stop commanding and measure after how long the driver stops by itself'),
    )
    feedback = draft.feedback
    page.section('feedback', 2, feedback.comment)
    page.key('topic', relative(feedback.topic), 3)
    page.key('type', feedback.type, 3)
    for key, value, comment in feedback.lines:
        _write(page, key, value, comment, 3)
    if any(low == high for low, high in zip(draft.low, draft.high, strict=True)):
        page.key('threshold', _LEAST_RATE, 3, decide('well above the noise'))


def _write(page: Page, key: str, value: Value, comment: str, depth: int = 2) -> None:
    """Write a key; with nothing behind it, for a person to fill in, if the value is empty."""
    if value in ('', ()):
        page.section(key, depth, comment)
    else:
        page.key(key, value, depth, comment)


def _why(topic: TopicSurvey) -> str:
    seen = f'seen {topic.messages} times' if topic.messages else 'nothing was seen on it'
    return guess(f'it seems to command, by its type and name; {seen}')


def _limits(draft: GroupDraft, interface: str, seconds: float) -> tuple[float | str, ...]:
    """Return what takes a dimension so long through its range, or from rest to its limit."""
    return tuple(
        'none'
        if one != interface
        else max(
            _LEAST_RATE,
            nice((high - low if interface == 'position' else max(-low, high)) / seconds),
        )
        for one, low, high in zip(draft.interface, draft.low, draft.high, strict=True)
    )
