# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which topics seem to command the robot, and drafts of the groups of an action for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import re
from typing import Final

from boundary_env_ros.core.contract.grammar import TOPIC, TYPE
from boundary_env_ros.core.contract.model import implied_interface
from boundary_env_ros.core.sources.message_parts import ARRAYS
from boundary_env_ros.evidence.infer_contract.fields import free_name, Line, relative, Unfit
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

#: Twists that are commanded, and those that tell what a robot did: where the twist is in them.
_TWISTS: Final = {'geometry_msgs/msg/Twist': '', 'geometry_msgs/msg/TwistStamped': 'twist.'}
_MEASURED_TWISTS: Final = {
    'nav_msgs/msg/Odometry': 'twist.twist.',
    'geometry_msgs/msg/TwistWithCovarianceStamped': 'twist.twist.',
    'geometry_msgs/msg/TwistStamped': 'twist.',
}
_TWIST_UNITS: Final = {'linear': 'm/s', 'angular': 'rad/s'}
_TWIST_PATHS: Final = tuple(f'{part}.{axis}' for part in _TWIST_UNITS for axis in 'xyz')
#: What a robot on wheels is commanded, if nothing was heard.
_DRIVEN: Final = ('linear.x', 'angular.z')

#: Names of topics that command.
_COMMANDING = re.compile(
    r'(^|[/_])(cmd|cmds|command|commands|setpoint|setpoints|target|desired)([/_]|$)|cmd_vel'
)
_UNITS: Final = {'position': 'rad', 'velocity': 'rad/s', 'effort': 'N m'}

#: What a limit is, of which interface, and the seconds from rest to the limit, or, of a position,
#: through the whole range.
_LIMITS: Final = {
    'max_velocity': ('slow on purpose: 30 s through the whole range', 'position', 30.0),
    'max_acceleration': ('slow on purpose: 5 s from rest to the limit', 'velocity', 5.0),
    'max_deceleration': ('what it can brake with', 'velocity', 0.5),
    'max_effort_rate': ('slow on purpose: 5 s from rest to the limit', 'effort', 5.0),
}
_SEEN: Final = guess('what was commanded while looking, and no more')
_LEAST_RATE, _DRIVER_TIMEOUT, _DRIVER_PERIODS = 0.01, 0.5, 3.0


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
    interface, unit
        Of each dimension; empty if nothing says what the numbers are.
    spans
        What was seen of each dimension; None of those of which nothing was.
    seen
        Where that comes from.
    feedback
        Type and topic that tell what the robot did, and the keys that say where in the message.

    """

    name: str
    topic: TopicSurvey
    lines: tuple[Line, ...]
    interface: tuple[str, ...]
    unit: tuple[str, ...]
    spans: tuple[Span | None, ...]
    seen: str = _SEEN
    feedback: tuple[TopicSurvey, tuple[Line, ...]] | None

    @property
    def limits(self) -> tuple[tuple[float, float], ...]:
        """Return the limits of each dimension; empty if nothing was seen of where it may go."""
        found = []
        interfaces = self.interface or ('position',) * len(self.spans)
        for interface, span in zip(interfaces, self.spans, strict=True):
            if interface == 'position':
                if span is None:
                    return ()
                found.append(inward(span.low, span.high))
            else:
                # Zero, the safe command, must be within the limits; a speed of zero is none.
                low, high = (0.0, 0.0) if span is None else inward(span.low, span.high)
                found.append((min(0.0, low), max(0.0, high)))
        return tuple(found)


def is_command(topic: TopicSurvey) -> bool:
    """Return whether a topic seems to command the robot, by its type and name and its readers."""
    if not TOPIC.fits(relative(topic.name)) or not TYPE.fits(topic.type):
        return False
    numbers = topic.type in _TWISTS or topic.type in ARRAYS
    if topic.type == TRAJECTORY or (numbers and topic.subscribers and not topic.publishers):
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


def group_draft(topic: TopicSurvey, sensors: Sequence[TopicSurvey], taken: set[str]) -> GroupDraft:
    """
    Return a group of the action for a command topic.

    Parameters
    ----------
    topic
        What was seen of the topic.
    sensors
        What was seen of topics that command nothing, among which the feedback is sought.
    taken
        Names of groups so far; the new one is added.

    Raises
    ------
    Unfit
        Saying why there is none.

    """
    if topic.type in _TWISTS:
        return _twist(topic, sensors, taken)
    states = [s for s in sensors if s.type == JOINTS and s.joint_spans.get('position')]
    if topic.type in (TRAJECTORY, JOINTS):
        return _joints(topic, states, taken)
    if topic.type in ARRAYS and 'Float' in topic.type:
        return _array(topic, states, taken)
    raise Unfit('its numbers are to be named by hand, with `fields`')


def _twist(topic: TopicSurvey, sensors: Sequence[TopicSurvey], taken: set[str]) -> GroupDraft:
    prefix = _TWISTS[topic.type]
    spans = {path: topic.spans.get(prefix + path) for path in _TWIST_PATHS}
    paths = tuple(
        path
        for path, span in spans.items()
        if path in _DRIVEN or (span is not None and (span.moved or span.high != 0.0))
    )
    comment = guess('what was commanded' if topic.messages else 'as for a robot on wheels')
    measured = next((s for s in sensors if s.type in _MEASURED_TWISTS and s.messages), None)
    feedback = None
    if measured is not None:
        inside = _MEASURED_TWISTS[measured.type]
        feedback = (measured, (('fields', tuple(inside + path for path in paths), ''),))
    return GroupDraft(
        name=free_name(topic.name, taken),
        topic=topic,
        lines=(('fields', tuple(prefix + path for path in paths), comment),),
        interface=('velocity',) * len(paths),
        unit=tuple(_TWIST_UNITS[path.partition('.')[0]] for path in paths),
        spans=tuple(spans[path] for path in paths),
        feedback=feedback,
    )


def _joints(topic: TopicSurvey, states: Sequence[TopicSurvey], taken: set[str]) -> GroupDraft:
    state = max(
        states,
        key=lambda state: (len(set(state.joints) & set(topic.joints)), -len(state.name)),
        default=None,
    )
    names = topic.joints or (state.joints if state is not None else ())
    if not names:
        raise Unfit('nothing came on it, and no joint_states, so its joints are not known')
    comment = guess('those of its messages') if topic.joints else decide('those that it commands')
    commanded = [q for q, spans in topic.joint_spans.items() if all(n in spans for n in names)]
    quantity = commanded[0] if commanded else 'position'
    last: Line = ('duration', 0.2, decide('s, in which it is to get there'))
    if topic.type == JOINTS:
        last = ('quantity', quantity, guess('that is what it was commanded'))
    lines = (('joints', names, comment), last)
    return _jointed(topic, lines, quantity, names, topic.joint_spans.get(quantity), state, taken)


def _array(topic: TopicSurvey, states: Sequence[TopicSurvey], taken: set[str]) -> GroupDraft:
    path = ARRAYS[topic.type]
    lengths = topic.lengths.get(path)
    size = lengths.most if lengths is not None and lengths.least == lengths.most else 0
    state = next((s for s in states if size in (0, len(s.joints))), None)
    quantity = next((word for word in _UNITS if word in topic.name.lower()), '')
    if state is not None:
        names: tuple[str, ...] = state.joints
        lines: tuple[Line, ...] = (
            ('joints', names, decide('those that it commands, in its order')),
        )
    else:
        names = tuple(map(str, range(size)))
        comment = guess('it always had so many') if size else decide('how many it takes')
        lines = (('array', path, ''), ('length', size or '', comment))
    spans = {
        name: span
        for index, name in enumerate(names)
        if (span := topic.spans.get(f'{path}[{index}]')) is not None
    }
    return _jointed(topic, lines, quantity, names, spans, state, taken)


def _jointed(
    topic: TopicSurvey,
    lines: tuple[Line, ...],
    quantity: str,
    names: Sequence[str],
    spans: Mapping[str, Span] | None,
    state: TopicSurvey | None,
    taken: set[str],
) -> GroupDraft:
    """Return a group of joints, whose limits are those of their commands or of where they were."""
    seen, measured = _SEEN, {} if state is None else state.joint_spans['position']
    if not spans and quantity == 'position':
        spans, seen = measured, guess('where the joints were while looking, and no further')
    feedback = None
    if state is not None and all(name in measured for name in names):
        feedback = (state, (('joints', tuple(names), ''), ('quantity', 'position', '')))
        if quantity and all(name in state.joint_spans.get(quantity, {}) for name in names):
            feedback = (state, (('joints', tuple(names), ''), ('quantity', quantity, '')))
    return GroupDraft(
        name=free_name(topic.name, taken),
        topic=topic,
        lines=lines,
        interface=(quantity,) * len(names) if quantity else (),
        unit=(_UNITS[quantity],) * len(names) if quantity else (),
        spans=tuple((spans or {}).get(name) for name in names),
        seen=seen,
        feedback=feedback,
    )


# Writing -----------------------------------------------------------------------------------------


def write_group(page: Page, draft: GroupDraft, period: float) -> None:
    """Write a group below the section ``action`` of a contract with a period (s)."""
    topic, interface, limits = draft.topic, draft.interface, draft.limits
    seen = f'seen {topic.messages} times' if topic.messages else 'nothing was seen on it'
    page.section(draft.name, 1)
    comment = guess(f'it seems to command, by its type and name; {seen}')
    page.key('topic', relative(topic.name), 2, comment)
    page.key('type', topic.type, 2)
    for key, value, comment in draft.lines:
        _write(page, key, value, comment)
    known = {key: value for key, value, _ in draft.lines}
    quantity = [str(known['quantity'])] if 'quantity' in known else []
    if not interface:
        comment = decide('position, velocity or effort; nothing in the message says it')
        page.section('interface', 2, comment)
    elif not implied_interface(topic.type, quantity, len(interface)):
        page.key('interface', interface[0], 2, guess('by the name of the topic'))
    _write(page, 'unit', draft.unit, guess('as of wheels, and of joints that turn'))
    if topic.frame:
        page.key('frame', topic.frame, 2, guess('as its header says'))
    comment = draft.seen
    if not limits:
        comment = decide('nothing was seen of where the robot may go')
    elif None in draft.spans:
        comment = decide(
            'nothing was commanded while looking; nothing moves until a range is here'
        )
    _write(page, 'low', tuple(low for low, _ in limits), comment)
    _write(page, 'high', tuple(high for _, high in limits), '')
    page.key('out_of_bounds', 'clip', 2, decide('clip, or reject'))
    if interface and limits:
        if interface[0] == 'position':
            page.key('safe', 'hold_position', 2, guess('a position stays where it is'))
        else:
            page.key('safe', (0.0,) * len(limits), 2, guess('no motion, no force'))
        for key, (why, kind, seconds) in _LIMITS.items():
            if kind == interface[0]:
                rates = [
                    nice((high - low if kind == 'position' else max(-low, high)) / seconds)
                    for low, high in limits
                ]
                page.key(key, tuple(max(_LEAST_RATE, rate) for rate in rates), 2, decide(why))
    else:
        page.section('max_velocity', 2, decide('or max_acceleration, or max_effort_rate'))
    page.key(
        'driver_timeout',
        nice(max(_DRIVER_TIMEOUT, _DRIVER_PERIODS * period)),
        2,
        decide('s; stop commanding and measure after how long the driver stops by itself'),
    )
    _write_feedback(page, draft)
    if any(low == high for low, high in limits):
        page.key('threshold', _LEAST_RATE, 3, decide('well above the noise'))


def _write_feedback(page: Page, draft: GroupDraft) -> None:
    if draft.feedback is None:
        said = 'nothing that was heard tells what the robot did; name the topic that does'
        page.section('feedback', 2, decide(said))
        page.key('topic', 'feedback', 3)
        page.key('type', 'std_msgs/msg/Float64MultiArray', 3)
        page.key('array', 'data', 3)
        _write(page, 'length', len(draft.spans) or '', 'a value for each dimension', 3)
        return
    topic, lines = draft.feedback
    page.section('feedback', 2, guess('what the robot did'))
    page.key('topic', relative(topic.name), 3)
    page.key('type', topic.type, 3)
    for key, value, comment in lines:
        page.key(key, value, 3, comment)


def _write(page: Page, key: str, value: Value, comment: str, depth: int = 2) -> None:
    """Write a key; with nothing behind it, for a person to fill in, if the value is empty."""
    if value in ('', ()):
        page.section(key, depth, comment)
    else:
        page.key(key, value, depth, comment)
