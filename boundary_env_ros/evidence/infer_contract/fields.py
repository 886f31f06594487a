# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From what was seen of a topic to drafts of fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
import math
import re

from boundary_env_ros.core.contract.grammar import TOPIC, TYPE
from boundary_env_ros.core.contract.sources import DECOMPRESSED, DEPTHS, ENCODINGS, MOST_VALUES
from boundary_env_ros.core.sources.message_parts import ARRAYS, PARTS
from boundary_env_ros.evidence.infer_contract.field_draft import (
    bounds_of,
    FieldDraft,
    Line,
    relative,
    WIDENED,
    widened,
)
from boundary_env_ros.evidence.infer_contract.observer import COMPRESSED, IMAGE, JOINTS
from boundary_env_ros.evidence.infer_contract.survey import TopicSurvey
from boundary_env_ros.evidence.infer_contract.writing import decide, guess, nice

_SCAN = 'sensor_msgs/msg/LaserScan'
_ODOMETRY = 'nav_msgs/msg/Odometry'
_BOOL = 'std_msgs/msg/Bool'
_BEAMS = 36
_MOST_PATHS = 32
#: More pixels than any camera has are no image.
_MOST_PIXELS = 2**25
#: A rotation of less is none: the robot moves in the plane.
_LEVEL = 0.02

_JOINT_UNITS = {'position': 'rad', 'velocity': 'rad/s', 'effort': 'N m'}

#: Topics that say something else than what is measured, and what to do about them.
_OTHERS = {
    'tf2_msgs/msg/TFMessage': 'a field `transform: {of: FRAME, in: FRAME}` looks transforms up',
    'std_msgs/msg/String': 'a text is no number',
    'sensor_msgs/msg/CameraInfo': 'what it says of a camera does not change in an episode',
    'rosgraph_msgs/msg/Clock': 'it is the clock',
    'sensor_msgs/msg/PointCloud2': 'a field `points: N, channels: [x, y, z]` takes N of them',
}


class Unfit(ValueError):
    """Raised when no field can be made of a topic; says why."""


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
        replace(part, name=_free_name(topic.name, suffix, taken))
        for suffix, part in _made(topic).items()
    )


def field_name(topic: str) -> str:
    """Return a name for what comes on a topic."""
    name = re.sub(r'[^a-z0-9]+', '_', topic.lower()).strip('_')
    return name if re.match(r'[a-z]', name) else f'topic_{name}'.rstrip('_')


def _free_name(topic: str, suffix: str, taken: set[str]) -> str:
    first = name = field_name(f'{topic}_{suffix}')
    number = 2
    while name in taken:
        name = f'{first}_{number}'
        number += 1
    taken.add(name)
    return name


def _made(topic: TopicSurvey) -> Mapping[str, FieldDraft]:
    """Return fields without a name, by the end of the name that they are to have."""
    if topic.type in (IMAGE, COMPRESSED):
        return {'': _image(topic)}
    if topic.type == _SCAN:
        return {'': _scan(topic)}
    if topic.type == JOINTS:
        return {'': _joints(topic)}
    if topic.type in ARRAYS:
        return {'': _array(topic, ARRAYS[topic.type])}
    if topic.type == _ODOMETRY:
        return _odometry(topic)
    if topic.type in PARTS:
        return {'': _ready(topic, tuple(PARTS[topic.type]))}
    return {'': _paths(topic)}


def _draft(
    topic: TopicSurvey,
    lines: Sequence[Line],
    bounds: Iterable[tuple[float, float]] = (),
    *,
    bounds_comment: str = WIDENED,
    notes: tuple[str, ...] = (),
    frame: str | None = None,
    may_end: bool = True,
) -> FieldDraft:
    pairs = tuple(bounds)
    return FieldDraft(
        name='',
        topic=topic,
        lines=tuple(lines),
        low=tuple(low for low, _ in pairs),
        high=tuple(high for _, high in pairs),
        bounds_comment=bounds_comment,
        notes=notes,
        frame=frame,
        may_end=may_end,
    )


def _odometry(topic: TopicSurvey) -> Mapping[str, FieldDraft]:
    """Return its pose and its velocity apart, since they are in different frames."""
    made: dict[str, FieldDraft] = {}
    # That of the velocity is the robot's, which the header does not name.
    for name, parts, frame in (
        ('pose', ('position', 'orientation'), None),
        ('velocity', ('linear', 'angular'), ''),
    ):
        try:
            made[name] = _ready(topic, parts, frame)
        except Unfit:
            if name == 'velocity' and not made:
                raise
    return made


# Numbers by path ---------------------------------------------------------------------------------


def _ready(topic: TopicSurvey, parts: Sequence[str], frame: str | None = None) -> FieldDraft:
    """Return the parts of a message with a ready adapter, less what never moved."""
    known = PARTS[topic.type]
    paths: list[str] = []
    units: list[str] = []
    for part in parts:
        turned = _rotation(topic, known[part].paths)
        paths += turned or known[part].paths
        units += ['rad'] * len(turned) if turned else known[part].unit
    unit_of = dict(zip(paths, units, strict=True))
    kept, notes = _kept(topic, paths)
    if topic.type == _BOOL:
        return _draft(
            topic,
            [('fields', kept, ''), ('unit', '', '')],
            [(0.0, 1.0)],
            bounds_comment='false, true',
        )
    return _numbers(topic, kept, [unit_of[path] for path in kept], '', notes, frame)


def _paths(topic: TopicSurvey) -> FieldDraft:
    """Return the numbers of any message, less what never moved."""
    quaternions = {
        path.partition('(')[2].rstrip(')') for path in topic.spans if path.startswith('yaw(')
    }
    paths: list[str] = []
    for path in topic.spans:
        parent, _, last = path.rpartition('.')
        if 'covariance' in path or '(' in path or path in topic.lengths:
            continue
        if parent in quaternions:
            if last == 'x':
                paths += _rotation(topic, tuple(f'{parent}.{axis}' for axis in 'xyzw'))
            continue
        paths.append(path)
    kept, notes = _kept(topic, paths)
    units = ['rad' if '(' in path else '' for path in kept]
    notes += tuple(decide(f'left out: {text}.') for text in _sequences(topic))
    comment = decide('nobody but its definition knows the units; say which')
    return _numbers(topic, kept, units, comment, notes)


def _sequences(topic: TopicSurvey) -> Iterator[str]:
    """Yield what a field of paths has no room for, and how it is observed."""
    for path, lengths in topic.lengths.items():
        if 'covariance' in path or not lengths.most:
            continue
        if lengths.most > MOST_VALUES:
            way = f'more than the {MOST_VALUES} that a field can have'
        else:
            way = f'which a field of its own observes (`array: {path}`)'
        yield f'{path}, a sequence of {lengths.most} numbers, {way}'


def _numbers(
    topic: TopicSurvey,
    paths: Sequence[str],
    units: Sequence[str],
    comment: str,
    notes: tuple[str, ...],
    frame: str | None = None,
) -> FieldDraft:
    if not paths:
        more = '; '.join(_sequences(topic))
        raise Unfit(f'it has no number that a field could name{more and f", but {more}"}')
    lines: list[Line] = [
        ('fields', tuple(paths), guess('what was not constant') if notes else ''),
        ('unit', units[0] if len(set(units)) == 1 else tuple(units), comment),
    ]
    bounds = [bounds_of(path, topic.spans.get(path)) for path in paths]
    return _draft(topic, lines, bounds, notes=notes, frame=frame)


def _rotation(topic: TopicSurvey, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return the angles that stand for a quaternion; nothing if the paths are none."""
    parent = paths[0].rpartition('.')[0]
    if paths != tuple(f'{parent}.{axis}' if parent else axis for axis in 'xyzw') or not parent:
        return ()
    tilts = [topic.spans.get(f'{name}({parent})') for name in ('roll', 'pitch')]
    if all(tilt is None or max(abs(tilt.low), abs(tilt.high)) < _LEVEL for tilt in tilts):
        return (f'yaw({parent})',)
    return tuple(f'{name}({parent})' for name in ('roll', 'pitch', 'yaw'))


def _kept(topic: TopicSurvey, paths: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the paths worth observing, and sentences about the others."""
    known = [path for path in paths if path in topic.spans]
    moved = [path for path in known if topic.spans[path].moved]
    kept, notes = (moved or known), []
    constant = [path for path in known if path not in kept]
    unknown = [path for path in paths if path not in topic.spans]
    if constant:
        notes.append(guess(f'left out, since it never changed: {", ".join(constant)}.'))
    if unknown:
        notes.append(guess(f'left out, since it never had a finite value: {", ".join(unknown)}.'))
    if len(kept) > _MOST_PATHS:
        notes.append(decide(f'there is more: {", ".join(kept[_MOST_PATHS:])}.'))
    odd = [path for path in kept[:_MOST_PATHS] if topic.spans[path].odd]
    if odd:
        notes.append(decide(f'not always finite: {", ".join(odd)}.'))
    return tuple(kept[:_MOST_PATHS]), tuple(notes)


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
    notes = (decide('some of its scans had a range_max that is not finite.'),) if reach.odd else ()
    reason = guess('up to the range_max of its scans')
    bounds = [(0.0, nice(reach.high))]
    return _draft(topic, lines, bounds, bounds_comment=reason, notes=notes)


def _joints(topic: TopicSurvey) -> FieldDraft:
    quantities = [
        quantity
        for quantity, spans in topic.joint_spans.items()
        if all(joint in spans for joint in topic.joints)
    ]
    if not topic.joints or not quantities:
        raise Unfit('no names of joints, or nothing measured of all of them, came')
    spans = [topic.joint_spans[q][joint] for q in quantities for joint in topic.joints]
    units = [_JOINT_UNITS[q] for q in quantities for _ in topic.joints]
    lines: list[Line] = [
        ('joints', topic.joints, guess('all of them, in the order of the message')),
        ('quantity', tuple(quantities), guess('all that is measured')),
        ('unit', tuple(units), guess('as of joints that turn; m, m/s and N of those that slide')),
    ]
    return _draft(topic, lines, [widened(span) for span in spans])


def _array(topic: TopicSurvey, path: str) -> FieldDraft:
    lengths = topic.lengths.get(path)
    if lengths is None or not lengths.most:
        raise Unfit('only empty arrays came')
    if lengths.least != lengths.most:
        raise Unfit(f'its length varied, {lengths.least} to {lengths.most}')
    if lengths.most > MOST_VALUES:
        raise Unfit(f'{lengths.most} numbers are more than a field can have ({MOST_VALUES})')
    whole = topic.spans.get(path)
    if whole is not None:
        bounds = [widened(whole)]
    else:
        spans = [topic.spans.get(f'{path}[{index}]') for index in range(lengths.most)]
        bounds = [bounds_of(path, span) for span in spans]
    lines: list[Line] = [
        ('array', path, ''),
        ('length', lengths.most, guess('it always had so many')),
        ('unit', '', decide('the units, one, or one for each')),
    ]
    return _draft(topic, lines, bounds)


def _image(topic: TopicSurvey) -> FieldDraft:
    form = topic.image
    if form is None or not form.height or not form.width:
        raise Unfit('the size of its images cannot be told; of compressed ones Pillow tells it')
    lines: list[Line] = []
    encoding = form.encoding
    if form.compressed or topic.type == COMPRESSED:
        kind = form.compressed.lower()
        if 'compresseddepth' in kind:
            raise Unfit('compressedDepth images have a head that is no image; decompress them')
        said = form.compressed.partition(';')[0].strip()
        encoding = said if said in DECOMPRESSED else encoding
        compressed = 'png' if 'png' in kind else 'jpeg' if 'jp' in kind else ''
        if not compressed or not encoding:
            raise Unfit(f'its format {form.compressed!r} is neither jpeg nor png of known pixels')
        lines.append(('compressed', compressed, guess(f'its format says {form.compressed!r}')))
    if encoding not in ENCODINGS:
        raise Unfit(f'its encoding {encoding!r} is none that a contract knows')
    shape = (form.height, form.width, ENCODINGS[encoding][0])
    if math.prod(shape) > _MOST_PIXELS:
        raise Unfit(f'{form.width}x{form.height} is no size of an image')
    lines.append(('shape', shape, ''))
    lines.append(('encoding', encoding, ''))
    notes = (decide('some images were not like the first.'),) if form.changed else ()
    if encoding not in DEPTHS or topic.type == COMPRESSED:
        if encoding in DEPTHS:
            raise Unfit('what its pixels measure cannot be told without decompressing them')
        return _draft(topic, lines, notes=notes, may_end=False)
    is_float = encoding == '32FC1'
    lines.append(('unit', 'm' if is_float else 'mm', guess('as REP-118 has it')))
    high = 10.0 if is_float else 10_000.0
    reason = decide('how far the camera sees')
    return _draft(topic, lines, [(0.0, high)], bounds_comment=reason, notes=notes, may_end=False)
