# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The keys that say where in a message values are, the same for a field and for a command."""

from __future__ import annotations

from collections.abc import Sequence
import math

from boundary_env_ros.core.contract.problem_text import nearest, Text
from boundary_env_ros.core.contract.sources import (
    Array,
    Beams,
    CLOUD,
    FORMS,
    JOINTS,
    Joints,
    MOST_VALUES,
    Paths,
    Points,
    SCAN,
    Source,
    TRAJECTORY,
    Trajectory,
)
from boundary_env_ros.core.sources.message_parts import ARRAYS, PARTS
from boundary_env_ros.frozen import frozen, replace
from boundary_env_ros.storage.contract.forms import integer_form
from boundary_env_ros.storage.contract.section_reader import Reader

#: What is a part of a pose is one of a transform by another name.
_ALIKE = {'position': 'translation', 'orientation': 'rotation'}
_ALIKE |= {other: one for one, other in _ALIKE.items()}


@frozen
class Values:
    """
    What the keys of a source say.

    Attributes
    ----------
    source
        Where the values are.
    shape
        Shape of the values.
    unit
        Units that the message itself declares; empty if it does not.

    """

    source: Source
    shape: tuple[int, ...]
    unit: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """Return the number of values."""
        return math.prod(self.shape)

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the field paths, if that is what the source is."""
        return self.source.paths if isinstance(self.source, Paths) else ()


def parse_source(
    key: Reader,
    type_name: str,
    forms: Sequence[str] = FORMS,
    *,
    command: bool = False,
    commanded: Joints | None = None,
) -> Values:
    """
    Return what one of the keys ``fields``, ``parts``, ``joints`` ... says.

    Without any of them, all parts of a message with a ready adapter are taken.

    Parameters
    ----------
    key
        Reader of the field, the group, or the feedback.
    type_name
        Type of its message.
    forms
        Which of the keys have a meaning here.
    command
        Whether it is a command, of which the gate is the only publisher.
    commanded
        The joints, and what of them, that it is about where no key says it.

    """
    if command and type_name == TRAJECTORY:
        trajectory = key.make(Trajectory)
        return Values(source=trajectory, shape=(max(1, len(trajectory.names)),))
    given = [form for form in forms if key.has(form)]
    if len(given) > 1:
        expected = f'only one of {", ".join(f"`{form}`" for form in forms)}'
        key.problem((given[1],), expected, Text(' and '.join(f'`{form}`' for form in given)))
    form = given[0] if given else _usual(type_name)
    if not form:
        if type_name:
            key.problem((), f'one of {", ".join(forms)}', Text('none of them'))
        return Values(source=Paths(paths=('',)), shape=(1,))
    values = (
        _joints(key, type_name, commanded) if form == 'joints' else _PARSERS[form](key, type_name)
    )
    if not command and key.has('publishers'):
        publishers = key.value(Joints, 'publishers')
        if isinstance(values.source, Joints):
            values = replace(values, source=replace(values.source, publishers=publishers))
        else:
            hint = 'Of two nodes that publish the same value the gate cannot tell which is right.'
            key.problem(('publishers',), 'nothing, but with `joints`', publishers, hint)
    if values.count > MOST_VALUES:
        key.problem((form,), f'at most {MOST_VALUES} values', values.count)
        # Nothing is to be made of so many.
        return Values(source=Paths(paths=('',)), shape=(1,))
    return values


def parse_unit(key: Reader, values: Values, model: type) -> tuple[str, ...]:
    """Return the unit of each value: what the message declares, unless the key ``unit`` does."""
    if values.unit and not key.has('unit'):
        return values.unit
    unit: tuple[str, ...] = key.value(model, 'unit')
    each = values.shape[-1]
    if key.has('unit') and len(unit) not in (1, each, values.count):
        key.problem(('unit',), f'one unit, or one for each of {each} values', Text(f'{len(unit)}'))
    return unit * (values.count // len(unit)) if len(unit) in (1, each) else unit


def _usual(type_name: str) -> str:
    """Return the key that a message is read by without any; empty if there is none."""
    if type_name in PARTS:
        return 'parts'
    if type_name in ARRAYS:
        return 'array'
    return 'joints' if type_name == JOINTS else ''


def _paths(key: Reader, type_name: str) -> Values:
    paths = key.value(Paths, 'paths')
    return Values(source=Paths(paths=paths), shape=(max(1, len(paths)),))


def _parts(key: Reader, type_name: str) -> Values:
    known = PARTS.get(type_name, {})
    wanted = key.value(Paths, 'parts') if key.has('parts') else tuple(known)
    if not known:
        expected = f'`fields`, since {type_name} has no ready adapter'
        key.problem(('parts',), expected, Text('`parts`'))
    found = []
    for index, name in enumerate(wanted):
        if name in known:
            found.append(known[name])
        elif known:
            hint = nearest(_ALIKE.get(name, name), known)
            key.problem(('parts', index), f'one of {", ".join(known)}', name, hint)
    paths = tuple(path for part in found for path in part.paths)
    unit = tuple(unit for part in found for unit in part.unit)
    return Values(source=Paths(paths=paths), shape=(max(1, len(paths)),), unit=unit)


def _joints(key: Reader, type_name: str, commanded: Joints | None) -> Values:
    usual = None if commanded is None or key.has('joints') else commanded
    names: tuple[str, ...] = () if usual is None else usual.names
    names = names or key.value(Joints, 'names')
    if type_name in ARRAYS:
        # A sequence of numbers, one for each joint in this order.
        for other in filter(key.has, ('length', 'shape')):
            key.problem((other,), f'either `joints` or `{other}`', Text('both'))
        array = Array(path=ARRAYS[type_name], length=max(1, len(names)), names=names)
        return Values(source=array, shape=(array.length,))
    if type_name not in (JOINTS, ''):
        key.problem(('joints',), f'`fields`, or the type {JOINTS}', type_name)
    quantities = key.value(Joints, 'quantities', default=usual and usual.quantities)
    source = Joints(names=names, quantities=quantities)
    return Values(source=source, shape=(max(1, len(names) * len(quantities)),))


def _beams(key: Reader, type_name: str) -> Values:
    if type_name not in (SCAN, ''):
        key.problem(('beams',), f'`fields`, or the type {SCAN}', type_name)
    source = key.make(Beams)
    return Values(source=source, shape=(source.count,))


def _points(key: Reader, type_name: str) -> Values:
    if type_name not in (CLOUD, ''):
        key.problem(('points',), f'`fields`, or the type {CLOUD}', type_name)
    channels = key.value(Points, 'channels')
    source = key.make(Points, channels=channels, count=len(channels))
    return Values(source=source, shape=(source.count, len(channels)))


def _array(key: Reader, type_name: str) -> Values:
    path = key.value(Array, 'path', default=ARRAYS.get(type_name))
    if key.has('length'):
        shape: tuple[int, ...] = (key.value(Array, 'length'),)
        if key.has('shape'):
            key.problem(('shape',), 'either `length` or `shape`', Text('both'))
    elif not key.has('shape'):
        joints = ', `joints`' if type_name in ARRAYS else ''
        key.problem(('length',), f'`length`{joints} or `shape`: how many values', Text('nothing'))
        # The bounds tell how many were meant: that they are too many is not reported.
        shape = (key.length('low', 'high'),)
    else:
        shape = key.many('shape', integer_form(1, math.inf), count=key.length('shape'))
        if not shape:
            key.problem(('shape',), 'at least one side', Text('none'))
            shape = (1,)
    return Values(source=Array(path=path, length=math.prod(shape)), shape=shape)


_PARSERS = {
    'fields': _paths,
    'parts': _parts,
    'beams': _beams,
    'points': _points,
    'array': _array,
}
