# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which topics seem to command the robot, and drafts of the groups of an action for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import re
from typing import Final

from boundary_env_ros.core.contract.model import implied_interface
from boundary_env_ros.core.sources.message_parts import ARRAYS
from boundary_env_ros.evidence.infer_contract.fields import (
    can_be_named,
    free_name,
    JOINT_UNITS,
    Line,
    relative,
    Unfit,
)
from boundary_env_ros.evidence.infer_contract.observer import JOINTS, TRAJECTORY
from boundary_env_ros.evidence.infer_contract.survey import Span, TopicSurvey
from boundary_env_ros.evidence.infer_contract.writing import (
    decide,
    guess,
    nice,
    Page,
    rounded,
    Value,
)

#: Twists that are commanded, and those that tell what a robot did: where the twist is in them.
_TWISTS: Final = {'geometry_msgs/msg/Twist': '', 'geometry_msgs/msg/TwistStamped': 'twist.'}
_MEASURED_TWISTS: Final = {
    'nav_msgs/msg/Odometry': 'twist.twist.',
    'geometry_msgs/msg/TwistWithCovarianceStamped': 'twist.twist.',
    'geometry_msgs/msg/TwistStamped': 'twist.',
}
_TWIST_UNITS: Final = {
    f'{part}.{axis}': unit
    for part, unit in (('linear', 'm/s'), ('angular', 'rad/s'))
    for axis in 'xyz'
}
#: What a robot on wheels is commanded, if nothing was heard.
_DRIVEN: Final = ('linear.x', 'angular.z')

#: Names of topics that command.
_COMMANDING = re.compile(
    r'(^|[/_])(cmd|cmds|command|commands|setpoint|setpoints|target|desired)([/_]|$)|cmd_vel'
)

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
    name, topic
        Of the group, and what was seen of its command topic.
    lines
        Keys that say where in the message the dimensions go.
    quantity
        What is commanded: ``position``, ``velocity`` or ``effort``; empty if nothing says it.
    unit
        Of each dimension; empty if nothing says what the numbers are.
    spans
        What was seen of each dimension; None of those of which nothing was.
    seen
        Where that comes from.
    feedback
        Topic that tells what the robot did, and the keys that say where in the message.

    """

    name: str
    topic: TopicSurvey
    lines: Sequence[Line]
    quantity: str
    unit: tuple[str, ...]
    spans: tuple[Span | None, ...]
    seen: str = _SEEN
    feedback: tuple[TopicSurvey, Sequence[Line]] | None = None

    @property
    def limits(self) -> tuple[tuple[float, float], ...]:
        """Return the limits of each dimension; empty if nothing was seen of where it may go."""
        known = [
            (0.0, 0.0) if span is None else rounded(span.low, span.high, inward=True)
            for span in self.spans
        ]
        if self.quantity in ('position', ''):
            return () if None in self.spans else tuple(known)
        # Zero, the safe command, must be within the limits; a speed of zero is none.
        return tuple((min(0.0, low), max(0.0, high)) for low, high in known)


def is_command(topic: TopicSurvey) -> bool:
    """Return whether a topic seems to command the robot, by its type and name and its readers."""
    if not can_be_named(topic):
        return False
    numbers = topic.type in _TWISTS or topic.type in ARRAYS
    if topic.type == TRAJECTORY or (numbers and topic.subscribers and not topic.publishers):
        return True
    return _COMMANDING.search(topic.name.lower()) is not None


def is_other_input(topic: TopicSurvey, commands: Sequence[TopicSurvey]) -> bool:
    """
    Return whether a command topic seems to be another input of what drives the robot.

    Of several twists one is taken, with a reader if that is known and of the shortest name: the
    others mostly are inputs of a multiplexer.
    """
    twists = sorted(
        (topic for topic in commands if topic.type in _TWISTS),
        key=lambda topic: (topic.subscribers == 0, len(topic.name), topic.name),
    )
    return topic in twists[1:]


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
    if topic.type in (TRAJECTORY, JOINTS) or ('Float' in topic.type and topic.type in ARRAYS):
        return _jointed(topic, states, taken)
    raise Unfit('its numbers are to be named by hand, with `fields`')


def _twist(topic: TopicSurvey, sensors: Sequence[TopicSurvey], taken: set[str]) -> GroupDraft:
    prefix = _TWISTS[topic.type]
    spans = {path: topic.spans.get(prefix + path) for path in _TWIST_UNITS}
    paths = tuple(
        path
        for path, span in spans.items()
        if path in _DRIVEN or (span and (span.low, span.high) != (0.0, 0.0))
    )
    measured = next((s for s in sensors if s.type in _MEASURED_TWISTS and s.messages), None)
    feedback: tuple[TopicSurvey, Sequence[Line]] | None = None
    if measured is not None:
        inside = _MEASURED_TWISTS[measured.type]
        feedback = (measured, [('fields', tuple(inside + path for path in paths), '')])
    comment = guess('what was commanded' if topic.messages else 'as for a robot on wheels')
    return GroupDraft(
        name=free_name(topic.name, taken),
        topic=topic,
        lines=[('fields', tuple(prefix + path for path in paths), comment)],
        quantity='velocity',
        unit=tuple(_TWIST_UNITS[path] for path in paths),
        spans=tuple(spans[path] for path in paths),
        feedback=feedback,
    )


def _jointed(topic: TopicSurvey, states: Sequence[TopicSurvey], taken: set[str]) -> GroupDraft:
    """Return a group of joints, whose limits are those of their commands or of where they were."""
    path = ARRAYS.get(topic.type, '')
    lengths = topic.lengths.get(path)
    size = lengths.most if lengths is not None and lengths.least == lengths.most else 0
    fitting = [s for s in states if not path or size in (0, len(s.joints))]
    state = max(fitting, key=lambda s: len({*s.joints} & {*topic.joints}), default=None)
    names = topic.joints or (state.joints if state is not None else ())
    spans: Mapping[str, Span]
    if path:
        quantity = next((word for word in JOINT_UNITS if word in topic.name.lower()), '')
        seen = (
            (name, topic.spans.get(f'{path}[{i}]'))
            for i, name in enumerate(names or map(str, range(size)))
        )
        spans = {name: span for name, span in seen if span is not None}
    else:
        commanded = (q for q, each in topic.joint_spans.items() if all(n in each for n in names))
        quantity = next(commanded, 'position')
        spans = topic.joint_spans.get(quantity, {})
    lines: list[Line]
    if names:
        comment = (
            guess('those of its messages')
            if topic.joints
            else decide('those that it commands, in its order')
        )
        lines = [('joints', names, comment)]
    elif path:
        names = tuple(map(str, range(size)))
        comment = guess('it always had so many') if size else decide('how many it takes')
        lines = [('array', path, ''), ('length', size or '', comment)]
    else:
        raise Unfit('nothing came on it, and no joint_states, so its joints are not known')
    if topic.type == TRAJECTORY:
        lines.append(('duration', 0.2, decide('s, in which it is to get there')))
    elif topic.type == JOINTS:
        lines.append(('quantity', quantity, guess('that is what it was commanded')))
    said, measured = _SEEN, {} if state is None else state.joint_spans
    if not spans and quantity == 'position':
        spans = measured.get('position', {})
        said = guess('where the joints were while looking, and no further')
    told = [
        q for q in (quantity, 'position') if all(name in measured.get(q, {}) for name in names)
    ]
    feedback: tuple[TopicSurvey, Sequence[Line]] | None = None
    if state is not None and told:
        feedback = (state, [('joints', names, ''), ('quantity', told[0], '')])
    return GroupDraft(
        name=free_name(topic.name, taken),
        topic=topic,
        lines=lines,
        quantity=quantity,
        unit=(JOINT_UNITS[quantity],) * len(names) if quantity else (),
        spans=tuple(spans.get(name) for name in names),
        seen=said,
        feedback=feedback,
    )


# Writing -----------------------------------------------------------------------------------------


def write_group(page: Page, draft: GroupDraft, period: float) -> None:
    """Write a group below the section ``action`` of a contract with a period (s)."""
    topic, quantity, limits = draft.topic, draft.quantity, draft.limits
    seen = f'seen {topic.messages} times' if topic.messages else 'nothing was seen on it'
    page.section(draft.name, 1)
    comment = guess(f'it seems to command, by its type and name; {seen}')
    page.key('topic', relative(topic.name), 2, comment)
    page.key('type', topic.type, 2)
    for key, value, comment in draft.lines:
        page.form(key, value, 2, comment)
    if not quantity:
        comment = decide('position, velocity or effort; nothing in the message says it')
        page.section('interface', 2, comment)
    elif not implied_interface(topic.type, [quantity], len(draft.spans)):
        page.key('interface', quantity, 2, guess('by the name of the topic'))
    page.form('unit', draft.unit, 2, guess('as of wheels, and of joints that turn'))
    if topic.frame:
        page.key('frame', topic.frame, 2, guess('as its header says'))
    comment = draft.seen
    if not limits:
        comment = decide('nothing was seen of where the robot may go')
    elif None in draft.spans:
        comment = decide(
            'nothing was commanded while looking; nothing moves until a range is here'
        )
    page.form('low', tuple(low for low, _ in limits), 2, comment)
    page.form('high', tuple(high for _, high in limits), 2)
    page.key('out_of_bounds', 'clip', 2, decide('clip, or reject'))
    if quantity and limits:
        # A position stays where it is; a velocity or an effort of zero is no motion and no force.
        safe: Value = 'hold_position' if quantity == 'position' else (0.0,) * len(limits)
        page.key('safe', safe, 2, guess('no motion, no force'))
        for key, (why, kind, seconds) in _LIMITS.items():
            if kind == quantity:
                spans = [
                    high - low if kind == 'position' else max(-low, high) for low, high in limits
                ]
                rates = tuple(max(_LEAST_RATE, nice(span / seconds)) for span in spans)
                page.key(key, rates, 2, decide(why))
    else:
        page.section('max_velocity', 2, decide('or max_acceleration, or max_effort_rate'))
    timeout = nice(max(_DRIVER_TIMEOUT, _DRIVER_PERIODS * period))
    comment = decide('s; stop commanding and measure after how long the driver stops by itself')
    page.key('driver_timeout', timeout, 2, comment)
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
        page.form('length', len(draft.spans) or '', 3, 'a value for each dimension')
        return
    topic, lines = draft.feedback
    page.section('feedback', 2, guess('what the robot did'))
    page.key('topic', relative(topic.name), 3)
    page.key('type', topic.type, 3)
    for key, value, comment in lines:
        page.key(key, value, 3, comment)
