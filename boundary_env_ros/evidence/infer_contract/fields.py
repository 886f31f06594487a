# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Drafts of the fields of a contract, from what was seen of a topic."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
import math
import re

from boundary_env_ros.core.contract.grammar import TOPIC, TYPE
from boundary_env_ros.core.contract.sources import DEPTHS, ENCODINGS, MOST_VALUES
from boundary_env_ros.core.sources.message_parts import ARRAYS, PARTS
from boundary_env_ros.evidence.infer_contract.observer import IMAGE, JOINTS
from boundary_env_ros.evidence.infer_contract.survey import Span, TopicSurvey
from boundary_env_ros.evidence.infer_contract.writing import (
    decide,
    guess,
    nice,
    outward,
    Page,
    Value,
)

WIDER = 0.25
"""By how much of its length an observed range is widened, at each end."""

PERIODS = 5.0
"""How many periods of its topic a field may be old."""

_SCAN = 'sensor_msgs/msg/LaserScan'
_ODOMETRY = 'nav_msgs/msg/Odometry'
_BEAMS = 36
_MOST_PATHS = 32
#: More pixels than any camera has are no image.
_MOST_PIXELS = 2**25
#: A rotation of less is none: the robot moves in the plane.
_LEVEL = 0.02

#: Rotations have these bounds whatever was seen.
_TURNS = {'roll': (-3.1416, 3.1416), 'pitch': (-1.5708, 1.5708), 'yaw': (-3.1416, 3.1416)}

_JOINT_UNITS = {'position': 'rad', 'velocity': 'rad/s', 'effort': 'N m'}

#: Why there is no field of such a topic.
_OTHERS = {
    'tf2_msgs/msg/TFMessage': 'a field `transform: {of: FRAME, in: FRAME}` looks transforms up',
    'std_msgs/msg/String': 'a text is no number',
    'sensor_msgs/msg/CameraInfo': 'what it says of a camera does not change in an episode',
    'sensor_msgs/msg/CompressedImage': 'a field with `compressed:` and `shape:` takes its images',
    'rosgraph_msgs/msg/Clock': 'it is the clock',
    'sensor_msgs/msg/PointCloud2': 'a field `points: N, channels: [x, y, z]` takes N of them',
}

WIDENED = guess(f'what was seen, wider by {WIDER:g} of its length at each end')

Line = tuple[str, Value, str]


class Unfit(ValueError):
    """Raised when no field can be made of a topic; says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDraft:
    """
    A field to be written.

    Attributes
    ----------
    name
        Of the field.
    topic
        What was seen of its topic.
    lines
        Keys with values and comments that say where the values are and what they are.
    low, high
        Bounds; empty if it has none.
    bounds_comment
        Where they come from.
    notes
        Sentences to stand above it.
    frame
        Its frame; None: that of the header.
    may_end
        Whether the episode may end when it is stale.

    """

    name: str = ''
    topic: TopicSurvey
    lines: tuple[Line, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    bounds_comment: str = WIDENED
    notes: tuple[str, ...] = ()
    frame: str | None = None
    may_end: bool = True


def field_drafts(topic: TopicSurvey, taken: set[str]) -> tuple[FieldDraft, ...]:
    """
    Return the fields that can be made of a topic.

    Parameters
    ----------
    topic
        What was seen of it.
    taken
        Names of fields so far; those of the new ones are added.

    Raises
    ------
    Unfit
        Saying why there are none.

    """
    if topic.type in _OTHERS:
        raise Unfit(_OTHERS[topic.type])
    if not TOPIC.fits(relative(topic.name)) or not TYPE.fits(topic.type):
        raise Unfit('a contract cannot name it')
    if topic.trouble:
        raise Unfit(topic.trouble)
    if not topic.messages:
        raise Unfit('nothing came on it while looking')
    return tuple(
        replace(part, name=free_name(f'{topic.name}_{suffix}', taken))
        for suffix, part in _made(topic).items()
    )


def relative(name: str) -> str:
    """Return a topic as it stands in a contract."""
    return name.lstrip('/')


def free_name(topic: str, taken: set[str]) -> str:
    """Return a name for what comes on a topic that is not taken, and take it."""
    name = re.sub(r'[^a-z0-9]+', '_', topic.lower()).strip('_')
    first = name = name if re.match(r'[a-z]', name) else f'topic_{name}'.rstrip('_')
    number = 2
    while name in taken:
        name, number = f'{first}_{number}', number + 1
    taken.add(name)
    return name


def _made(topic: TopicSurvey) -> Mapping[str, FieldDraft]:
    """Return fields without a name, by the end of the name that they are to have."""
    if topic.type == IMAGE:
        return {'': _image(topic)}
    if topic.type == _SCAN:
        return {'': _scan(topic)}
    if topic.type == JOINTS:
        return _joints(topic)
    if topic.type in ARRAYS:
        return {'': _array(topic, ARRAYS[topic.type])}
    if topic.type == _ODOMETRY:
        # Apart, since they are in different frames; the header does not name the robot's.
        pose, velocity = ('position', 'orientation'), ('linear', 'angular')
        return {
            'pose': _ready(topic, pose),
            'velocity': replace(_ready(topic, velocity), frame=''),
        }
    if topic.type in PARTS:
        return {'': _ready(topic, tuple(PARTS[topic.type]))}
    return {'': _paths(topic)}


def _draft(
    topic: TopicSurvey, lines: Sequence[Line], bounds: Iterable[tuple[float, float]]
) -> FieldDraft:
    pairs = tuple(bounds)
    low, high = tuple(low for low, _ in pairs), tuple(high for _, high in pairs)
    return FieldDraft(topic=topic, lines=tuple(lines), low=low, high=high)


# Numbers by path ---------------------------------------------------------------------------------


def _ready(topic: TopicSurvey, parts: Sequence[str]) -> FieldDraft:
    """Return the parts of a message with a ready adapter, less what never moved."""
    known = PARTS[topic.type]
    units: dict[str, str] = {}
    for part in parts:
        turned = _rotation(topic, known[part].paths)
        units |= dict.fromkeys(turned, 'rad') or dict(
            zip(known[part].paths, known[part].unit, strict=True)
        )
    if topic.type == 'std_msgs/msg/Bool':
        draft = _draft(topic, [('fields', tuple(units), ''), ('unit', '', '')], [(0.0, 1.0)])
        return replace(draft, bounds_comment='false, true')
    return _numbers(topic, units, '')


def _paths(topic: TopicSurvey) -> FieldDraft:
    """Return the numbers of any message, less what never moved."""
    quaternions = {
        path.partition('(')[2].rstrip(')') for path in topic.spans if path.startswith('yaw(')
    }
    units: dict[str, str] = {}
    for path in topic.spans:
        parent, _, last = path.rpartition('.')
        if 'covariance' in path or '(' in path or path in topic.lengths:
            continue
        if parent not in quaternions:
            units[path] = ''
        elif last == 'x':
            turned = _rotation(topic, tuple(f'{parent}.{axis}' for axis in 'xyzw'))
            units |= dict.fromkeys(turned, 'rad')
    return _numbers(topic, units, decide('only its definition knows the units; say which'))


def _numbers(topic: TopicSurvey, units: Mapping[str, str], comment: str) -> FieldDraft:
    known = [path for path in units if path in topic.spans]
    kept = [path for path in known if topic.spans[path].moved] or known
    if not kept:
        raise Unfit('it has no number that a field could name')
    left_out = [path for path in units if path not in kept] + kept[_MOST_PATHS:]
    kept = kept[:_MOST_PATHS]
    unit = [units[path] for path in kept]
    draft = _draft(
        topic,
        [
            ('fields', tuple(kept), guess('what was not constant') if left_out else ''),
            ('unit', unit[0] if len(set(unit)) == 1 else tuple(unit), comment),
        ],
        [_bounds(path, topic.spans[path]) for path in kept],
    )
    if not left_out:
        return draft
    note = guess(f'left out, since it never changed or is too much: {", ".join(left_out)}.')
    return replace(draft, notes=(note,))


def _bounds(path: str, span: Span) -> tuple[float, float]:
    """Return the bounds that a number is given: those of a rotation, or what was seen, widened."""
    return _TURNS.get(path.partition('(')[0]) or _widened(span)


def _around(spans: Collection[Span]) -> Span:
    """Return the span of all of some numbers."""
    return Span(low=min(s.low for s in spans), high=max(s.high for s in spans))


def _widened(span: Span) -> tuple[float, float]:
    """Return an observed range, wider by a quarter at each end and rounded outward."""
    length = span.high - span.low
    # What stood still all the time says nothing about how far it can go.
    margin = WIDER * length if length > 0.0 else max(WIDER * abs(span.high), 1.0)
    return outward(span.low - margin, span.high + margin)


def _rotation(topic: TopicSurvey, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return the angles that stand for a quaternion; nothing if the paths are none."""
    parent = paths[0].rpartition('.')[0]
    if paths != tuple(f'{parent}.{axis}' if parent else axis for axis in 'xyzw') or not parent:
        return ()
    tilts = [topic.spans.get(f'{name}({parent})') for name in ('roll', 'pitch')]
    if all(tilt is None or max(abs(tilt.low), abs(tilt.high)) < _LEVEL for tilt in tilts):
        return (f'yaw({parent})',)
    return tuple(f'{name}({parent})' for name in ('roll', 'pitch', 'yaw'))


# Messages with a form of their own ---------------------------------------------------------------


def _scan(topic: TopicSurvey) -> FieldDraft:
    lengths, reach = topic.lengths.get('ranges'), topic.spans.get('range_max')
    if lengths is None or not lengths.least or reach is None or reach.high <= 0.0:
        raise Unfit('a scan without beams, or without a range_max, came')
    beams = min(_BEAMS, lengths.least)
    lines: list[Line] = [
        ('beams', beams, guess(f'the nearest return of each of {beams} sectors of the scan')),
        ('unit', 'm', ''),
    ]
    draft = _draft(topic, lines, [(0.0, nice(reach.high))])
    return replace(draft, bounds_comment=guess('up to the range_max of its scans'))


def _joints(topic: TopicSurvey) -> Mapping[str, FieldDraft]:
    """Return a field of each quantity: so a person edits one list of joints, and no numbers."""
    found = {}
    for quantity, spans in topic.joint_spans.items():
        if not topic.joints or not all(joint in spans for joint in topic.joints):
            continue
        lines: list[Line] = [
            ('joints', topic.joints, guess('all of them, in the order of the message')),
            ('quantity', quantity, ''),
            ('unit', _JOINT_UNITS[quantity], guess('as of joints that turn')),
        ]
        found[quantity] = _draft(topic, lines, [_widened(_around(spans.values()))])
    if not found:
        raise Unfit('no names of joints, or nothing measured of all of them, came')
    return found


def _array(topic: TopicSurvey, path: str) -> FieldDraft:
    lengths = topic.lengths.get(path)
    if lengths is None or not lengths.most:
        raise Unfit('only empty arrays came')
    if lengths.least != lengths.most:
        raise Unfit(f'its length varied, {lengths.least} to {lengths.most}')
    if lengths.most > MOST_VALUES:
        raise Unfit(f'{lengths.most} numbers are more than a field can have ({MOST_VALUES})')
    spans = [span for name, span in topic.spans.items() if name.startswith(path)]
    if not spans:
        raise Unfit('it has no number that a field could name')
    lines: list[Line] = [
        ('array', path, ''),
        ('length', lengths.most, guess('it always had so many')),
        ('unit', '', decide('the units, one, or one for each')),
    ]
    return _draft(topic, lines, [_widened(_around(spans))])


def _image(topic: TopicSurvey) -> FieldDraft:
    form = topic.image
    if form is None or form.encoding not in ENCODINGS:
        encoding = '' if form is None else form.encoding
        raise Unfit(f'its encoding {encoding!r} is none that a contract knows')
    shape = (form.height, form.width, ENCODINGS[form.encoding][0])
    if not 0 < math.prod(shape) <= _MOST_PIXELS:
        raise Unfit(f'{form.width}x{form.height} is no size of an image')
    draft = _draft(topic, [('shape', shape, ''), ('encoding', form.encoding, '')], [])
    draft = replace(draft, may_end=False)
    if form.encoding not in DEPTHS:
        return draft
    unit, far = ('m', 10.0) if form.encoding == '32FC1' else ('mm', 10_000.0)
    return replace(
        draft,
        lines=(*draft.lines, ('unit', unit, guess('as REP-118 has it'))),
        low=(0.0,),
        high=(far,),
        bounds_comment=decide('how far the camera sees'),
    )


# Writing -----------------------------------------------------------------------------------------


def write_field(page: Page, draft: FieldDraft, *, privileged: bool = False) -> None:
    """Write a field below its section."""
    topic = draft.topic
    for sentence in draft.notes:
        page.note(sentence, 1)
    page.section(draft.name, 1)
    rate = '' if topic.rate is None else f', {topic.rate:.3g} Hz'
    offers = f', {topic.reliability}' if topic.reliability else ''
    page.key('topic', relative(topic.name), 2, f'seen {topic.messages} times{rate}{offers}')
    page.key('type', topic.type, 2)
    for key, value, comment in draft.lines:
        page.key(key, value, 2, comment)
    frame = draft.frame if draft.frame is not None else topic.frame
    if frame:
        page.key('frame', frame, 2, guess('as its header says'))
    if draft.low:
        for key, values in (('low', draft.low), ('high', draft.high)):
            one = values[0] if len(set(values)) == 1 else values
            page.key(key, one, 2, draft.bounds_comment if key == 'low' else '')
    if not topic.stamped:
        page.note(
            decide(
                'its messages do not say when they were captured, so their age is unknown and '
                'max_age would make it stale for ever'
            ),
            2,
        )
    elif topic.rate is None:
        page.note(decide('it came once only: a max_age, if it is to come again'), 2)
    else:
        comment = guess(f's, {PERIODS:g} periods at {topic.rate:.3g} Hz')
        page.key('max_age', max_age(topic.rate), 2, comment)
        if draft.may_end and not privileged:
            page.key('on_stale', 'truncate', 2, decide('mark, stop or truncate'))
    if topic.durability == 'transient_local':
        page.raw('qos: {reliability: reliable, durability: transient_local}', 2)


def max_age(rate: float) -> float:
    """Return the age up to which a field with so many messages a second is fresh, s."""
    return nice(PERIODS / rate)
