# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Drafts of the fields of a contract, from what was seen of a topic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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
    Page,
    rounded,
    Value,
)

WIDER = 0.25
"""By how much of its length an observed range is widened, at each end."""

PERIODS = 5.0
"""How many periods of its topic a field may be old."""

SCAN = 'sensor_msgs/msg/LaserScan'
#: Units of joints that turn.
JOINT_UNITS: Mapping[str, str] = {'position': 'rad', 'velocity': 'rad/s', 'effort': 'N m'}
_ODOMETRY = 'nav_msgs/msg/Odometry'
_BEAMS = 36
_MOST_PATHS = 32
#: More pixels than any camera has are no image.
_MOST_PIXELS = 2**25
#: A rotation of less is none: the robot moves in the plane.
_LEVEL = 0.02

#: Rotations have these bounds whatever was seen.
_TURNS = {'roll': (-3.1416, 3.1416), 'pitch': (-1.5708, 1.5708), 'yaw': (-3.1416, 3.1416)}

#: Why there is no field of such a topic.
_OTHERS = {
    'tf2_msgs/msg/TFMessage': 'a field `transform: {of: FRAME, in: FRAME}` looks transforms up',
    'std_msgs/msg/String': 'a text is no number',
    'sensor_msgs/msg/CameraInfo': 'what it says of a camera does not change in an episode',
    'sensor_msgs/msg/CompressedImage': 'a field with `compressed:` and `shape:` takes its images',
    'sensor_msgs/msg/PointCloud2': 'a field `points: N, channels: [x, y, z]` takes N of them',
}

Line = tuple[str, Value, str]


class Unfit(ValueError):
    """Raised when no field can be made of a topic; says why."""


@dataclass(frozen=True, slots=True)
class FieldDraft:
    """
    A field to be written.

    Attributes
    ----------
    name, topic
        Of the field, and what was seen of its topic.
    lines
        Keys with values and comments that say where the values are and what they are.

    """

    name: str
    topic: TopicSurvey
    lines: Sequence[Line]


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
    if not can_be_named(topic):
        raise Unfit('a contract cannot name it')
    if topic.trouble:
        raise Unfit(topic.trouble)
    if not topic.messages:
        raise Unfit('nothing came on it while looking')
    return tuple(
        FieldDraft(free_name(f'{topic.name}_{suffix}', taken), topic, lines)
        for suffix, lines in _made(topic).items()
    )


def can_be_named(topic: TopicSurvey) -> bool:
    """Return whether a contract can name a topic and its type."""
    return TOPIC.fits(relative(topic.name)) and TYPE.fits(topic.type)


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


def _made(topic: TopicSurvey) -> Mapping[str, Sequence[Line]]:
    """Return the lines of each field, by the end of the name that it is to have."""
    if topic.type == IMAGE:
        return {'': _image(topic)}
    if topic.type == SCAN:
        return {'': _scan(topic)}
    if topic.type == JOINTS:
        return _joints(topic)
    if topic.type in ARRAYS:
        return {'': _array(topic, ARRAYS[topic.type])}
    known = PARTS.get(topic.type, {})
    units = {name: dict(zip(part.paths, part.unit, strict=True)) for name, part in known.items()}
    if topic.type == _ODOMETRY:
        # Apart, since they are in different frames; the header does not name the robot's.
        return {
            'pose': [*_numbers(topic, units['position'] | units['orientation']), *_frame(topic)],
            'velocity': _numbers(topic, units['linear'] | units['angular']),
        }
    every = {path: unit for part in units.values() for path, unit in part.items()}
    if known:
        return {'': [*_numbers(topic, every), *_frame(topic)]}
    plain = (
        path
        for path in topic.spans
        if 'covariance' not in path and '(' not in path and path not in topic.lengths
    )
    unit = decide('only its definition knows the units; say which')
    return {'': [*_numbers(topic, dict.fromkeys(plain, ''), unit), *_frame(topic)]}


def _numbers(topic: TopicSurvey, units: Mapping[str, str], comment: str = '') -> list[Line]:
    """Return the numbers of a message, less what never moved; angles stand for a quaternion."""
    found: dict[str, str] = {}
    for path, unit in units.items():
        parent = path.rpartition('.')[0]
        if f'yaw({parent})' in topic.spans:
            found |= dict.fromkeys(_angles(topic, parent), 'rad')
        elif path in topic.spans:
            found[path] = unit
    kept = [path for path in found if topic.spans[path].high > topic.spans[path].low]
    kept = (kept or [*found])[:_MOST_PATHS]
    if not kept:
        raise Unfit('it has no number that a field could name')
    same = len({found[path] for path in kept}) == 1
    unit_of = found[kept[0]] if same else tuple(found[path] for path in kept)
    others = [path for path in units if path not in kept]
    bounds = [_TURNS.get(path.partition('(')[0]) or _widened([topic.spans[path]]) for path in kept]
    return [
        ('fields', tuple(kept), guess('what was not constant') if others else ''),
        ('unit', unit_of, comment),
        *_bounds(bounds),
    ]


def _angles(topic: TopicSurvey, parent: str) -> tuple[str, ...]:
    """Return the angles that stand for a quaternion: of a robot in the plane its yaw."""
    names = [f'{name}({parent})' for name in _TURNS if f'{name}({parent})' in topic.spans]
    tilts = [topic.spans[name] for name in names if not name.startswith('yaw')]
    level = all(max(abs(tilt.low), abs(tilt.high)) < _LEVEL for tilt in tilts)
    return tuple(name for name in names if name.startswith('yaw') or not level)


def _bounds(pairs: Iterable[tuple[float, float]], comment: str = '') -> list[Line]:
    seen = comment or guess(f'what was seen, wider by {WIDER:g} of its length at each end')
    low, high = zip(*pairs, strict=True)
    return [('low', _one(low), seen), ('high', _one(high), '')]


def _one(values: Sequence[float]) -> Value:
    return values[0] if len(set(values)) == 1 else values


def _widened(spans: Iterable[Span]) -> tuple[float, float]:
    """Return the range of some numbers, wider by a quarter at each end and rounded outward."""
    some = [*spans]
    low, high = min(span.low for span in some), max(span.high for span in some)
    # What stood still all the time says nothing about how far it can go.
    margin = WIDER * (high - low) if high > low else max(WIDER * abs(high), 1.0)
    return rounded(low - margin, high + margin)


def _frame(topic: TopicSurvey) -> list[Line]:
    return [('frame', topic.frame, guess('as its header says'))] if topic.frame else []


# Messages with a form of their own ---------------------------------------------------------------


def _scan(topic: TopicSurvey) -> list[Line]:
    lengths, reach = topic.lengths.get('ranges'), topic.spans.get('range_max')
    if lengths is None or not lengths.least or reach is None or reach.high <= 0.0:
        raise Unfit('a scan without beams, or without a range_max, came')
    beams = min(_BEAMS, lengths.least)
    return [
        ('beams', beams, guess(f'the nearest return of each of {beams} sectors of the scan')),
        ('unit', 'm', ''),
        *_bounds([(0.0, nice(reach.high))], guess('up to the range_max of its scans')),
        *_frame(topic),
    ]


def _joints(topic: TopicSurvey) -> Mapping[str, list[Line]]:
    """Return a field of each quantity: so a person edits one list of joints, and no numbers."""
    found = {
        quantity: [
            ('joints', topic.joints, guess('all of them, in the order of the message')),
            ('quantity', quantity, ''),
            ('unit', JOINT_UNITS[quantity], guess('as of joints that turn')),
            *_bounds([_widened(spans.values())]),
            *_frame(topic),
        ]
        for quantity, spans in topic.joint_spans.items()
        if topic.joints and all(joint in spans for joint in topic.joints)
    }
    if not found:
        raise Unfit('no names of joints, or nothing measured of all of them, came')
    return found


def _array(topic: TopicSurvey, path: str) -> list[Line]:
    lengths = topic.lengths.get(path)
    spans = [span for name, span in topic.spans.items() if name.startswith(path)]
    if lengths is None or lengths.least != lengths.most or lengths.most > MOST_VALUES:
        raise Unfit(f'its length is not constant, or more than {MOST_VALUES}')
    if not spans:
        raise Unfit('it has no number that a field could name')
    return [
        ('array', path, ''),
        ('length', lengths.most, guess('it always had so many')),
        ('unit', '', decide('the units, one, or one for each')),
        *_bounds([_widened(spans)]),
    ]


def _image(topic: TopicSurvey) -> list[Line]:
    form = topic.image
    if form is None or form.encoding not in ENCODINGS:
        encoding = '' if form is None else form.encoding
        raise Unfit(f'its encoding {encoding!r} is none that a contract knows')
    shape = (form.height, form.width, ENCODINGS[form.encoding][0])
    if not 0 < math.prod(shape) <= _MOST_PIXELS:
        raise Unfit(f'{form.width}x{form.height} is no size of an image')
    lines: list[Line] = [('shape', shape, ''), ('encoding', form.encoding, ''), *_frame(topic)]
    if form.encoding in DEPTHS:
        unit, far = ('m', 10.0) if form.encoding == '32FC1' else ('mm', 10_000.0)
        lines.append(('unit', unit, guess('as REP-118 has it')))
        lines += _bounds([(0.0, far)], decide('how far the camera sees'))
    return lines


# Writing -----------------------------------------------------------------------------------------


def write_field(page: Page, draft: FieldDraft, *, privileged: bool = False) -> None:
    """Write a field below its section."""
    topic = draft.topic
    page.section(draft.name, 1)
    rate = '' if topic.rate is None else f', {topic.rate:.3g} Hz'
    offers = f', {topic.reliability}' if topic.reliability else ''
    page.key('topic', relative(topic.name), 2, f'seen {topic.messages} times{rate}{offers}')
    page.key('type', topic.type, 2)
    for key, value, comment in draft.lines:
        page.key(key, value, 2, comment)
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
        page.key('max_age', nice(PERIODS / topic.rate), 2, comment)
        if topic.image is None and not privileged:
            page.key('on_stale', 'truncate', 2, decide('mark, stop or truncate'))
    if topic.durability == 'transient_local':
        page.raw('qos: {reliability: reliable, durability: transient_local}', 2)
