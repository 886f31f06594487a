# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The section ``action`` of a contract."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
import math

from boundary_env_ros.core.angles import ROOM
from boundary_env_ros.core.contract import ActionKind, ActionSpec, Feedback, Interface
from boundary_env_ros.core.contract_reader import Reader, said
from boundary_env_ros.core.field_parser import bounds, report_beyond_float32
from boundary_env_ros.core.grammar import COMMAND_PATH
from boundary_env_ros.core.paths import split_call
from boundary_env_ros.core.source_parser import (
    are_dimensions,
    joint_names,
    joint_values,
    parse_source,
    parse_unit,
    Values,
)
from boundary_env_ros.core.sources import (
    Array,
    COMMAND_FORMS,
    JOINTS,
    Joints,
    OF_VALUE,
    Paths,
    TRAJECTORY,
    Trajectory,
    Vector,
)

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


def parse_action(section: Reader) -> tuple[ActionSpec, ...]:
    """Return the groups of the action, in order."""
    return tuple(_group(section.section(name), name) for name in section.named())


def _group(key: Reader, name: str) -> ActionSpec:
    type_name = key.value(ActionSpec, 'type')
    values = (
        _trajectory(key)
        if type_name == TRAJECTORY
        else parse_source(key, type_name, COMMAND_FORMS, command=True)
    )
    _writable(key, values)
    count = values.count
    interface = _interface(key, type_name, values)
    low, high = bounds(key, ActionSpec, count)
    rate = key.value(ActionSpec, 'rate', count=count)
    report_beyond_float32(
        key, low, high, 'a bound that float32 can hold, as the action space does'
    )
    kind = key.value(ActionSpec, 'kind')
    feedback = key.section('feedback')
    spec = key.make(
        ActionSpec,
        count=count,
        name=name,
        type=type_name,
        source=values.source,
        interface=interface,
        unit=parse_unit(key, values, ActionSpec),
        low=low,
        high=high,
        safe=_safe(key, interface, low, high),
        rate=rate,
        stop=key.value(ActionSpec, 'stop', count=count) if key.has('stop') else rate,
        driver_timeout=_driver_timeout(key),
        feedback=_feedback(feedback, values, interface, (low, high)),
        kind=kind,
        most=key.value(ActionSpec, 'most', count=count) if kind is ActionKind.DELTA else (),
        choices=_choices(key, low, high) if kind is ActionKind.DISCRETE else (),
        levels=_levels(key, low, high) if kind is ActionKind.MULTI_DISCRETE else (),
        rotation=_indices(key, 'rotation', count, 4),
        curvature=_indices(key, 'curvature', count, None),
    )
    feedback.finish()
    key.finish()
    _inside(key, 'probe', spec.probe, low, high)
    _report_curvature(key, spec)
    _report_probe(key, spec)
    if spec.rotation:
        _report_rotation(key, spec)
    _report_wrap(key, spec)
    return spec


def _trajectory(key: Reader) -> Values:
    source = key.make(Trajectory, names=joint_names(key))
    return Values(source=source, shape=(max(1, len(source.names)),))


def _writable(key: Reader, values: Values) -> None:
    """Ask for paths that a value can be written to."""
    source = values.source
    if not isinstance(source, Paths):
        return
    for index, path in enumerate(source.paths):
        if path and not COMMAND_PATH.fits(path):
            key.problem(('fields', index), COMMAND_PATH.expected, path)
    if len(set(source.paths)) != len(source.paths):
        key.problem(('fields',), 'every path once', list(source.paths))
        return
    # Angles are written as the quaternion that they make, which then nothing else may write to.
    places = {split_call(path)[1]: path for path in source.paths}
    for index, path in enumerate(source.paths):
        place = split_call(path)[1]
        for other, holder in places.items():
            same = place == other and path != holder and not _angles(path, holder)
            if same or place.startswith(f'{other}.'):
                key.problem(('fields', index), f'a path that is not part of {holder}', path)


def _angles(*paths: str) -> bool:
    return all(split_call(path)[0] for path in paths)


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


def _interface(key: Reader, type_name: str, values: Values) -> tuple[Interface, ...]:
    """Return what each dimension of the command is: what its type says, or else its key."""
    source, count = values.source, values.count
    quantities = source.quantities if isinstance(source, Joints) else ()
    implied: tuple[Interface, ...] = ()
    if set(quantities) <= {'position', 'velocity', 'effort'}:
        implied = implied_interface(type_name, quantities, count)
    names = [interface.value for interface in Interface]
    if implied and not key.has('interface'):
        return implied
    said_so = key.texts(
        'interface',
        expected=f'one of {", ".join(names)}',
        check=lambda text: text in names,
    )
    found = tuple(Interface(text) if text in names else Interface.VELOCITY for text in said_so)
    if len(found) == 1:
        found *= count
    if len(found) != count:
        if key.has('interface'):
            key.problem(
                ('interface',),
                f'one interface, or one for each of {count} values',
                said(f'{len(found)}'),
            )
        return implied or (Interface.VELOCITY,) * count
    if implied and found != implied and all(text in names for text in said_so):
        key.problem(
            ('interface',), f'{implied[0].value}, as {type_name} says', said(' '.join(said_so))
        )
    return found


def _safe(key: Reader, interface: Sequence[Interface], low: Vector, high: Vector) -> Vector:
    """Return the safe command: NaN for a position, which is held where it is."""
    held = tuple(one is Interface.POSITION for one in interface)
    if not key.has('safe') and Interface.EFFORT not in interface:
        safe: Vector = tuple(math.nan if holds else 0.0 for holds in held)
        _inside(key, 'safe', safe, low, high)
        return safe
    if any(held) and key.is_word('safe', 'hold'):
        safe = (math.nan,) * len(low)
    else:
        safe = key.numbers(
            'safe',
            len(low),
            unit=OF_VALUE + (', or the word hold' if any(held) else ''),
            words=('hold',) if any(held) else (),
        )
        _inside(key, 'safe', safe, low, high)
    for index, (holds, value) in enumerate(zip(held, safe, strict=True)):
        if holds and not math.isnan(value):
            key.problem(
                ('safe', index),
                'hold, of a position',
                value,
                'A stop sends a robot nowhere; a pose to begin in belongs to the reset.',
            )
        elif not holds and any(held) and math.isnan(value):
            key.problem(('safe', index), f'a number, of {interface[index].value}', said('hold'))
    return tuple(math.nan if holds else value for holds, value in zip(held, safe, strict=True))


def _indices(key: Reader, name: str, count: int, number: int | None) -> tuple[int, ...]:
    """Return dimensions of the group, each once; ``number`` of them, or at least two."""
    if not key.has(name):
        return ()
    values = key.numbers(name, key.length(name), unit='dimensions of this group', least=0.0)
    wanted = 'at least 2' if number is None else f'{number}'
    right = len(values) >= 2 if number is None else len(values) == number
    if not (right and are_dimensions(values, count)):
        key.problem(
            (name,), f'{wanted} different dimensions of this group, below {count}', list(values)
        )
        return ()
    return tuple(map(int, values))


def _inside(key: Reader, name: str, values: Vector, low: Vector, high: Vector) -> None:
    for index, value in enumerate(values):
        outside = value < low[index] or value > high[index]
        if outside and low[index] <= high[index]:
            key.problem((name, index), f'a value in [{low[index]:g}, {high[index]:g}]', value)


def _report_curvature(key: Reader, spec: ActionSpec) -> None:
    """Ask for dimensions that can be scaled together, each towards 0."""
    if spec.curvature and spec.kind not in (ActionKind.CONTINUOUS, ActionKind.DELTA):
        key.problem(('kind',), 'continuous or delta, with curvature', spec.kind.value)
    for i in spec.curvature:
        if spec.low[i] > 0.0:
            key.problem(('low', i), 'at most 0, with curvature', spec.low[i])
        if spec.high[i] < 0.0:
            key.problem(('high', i), 'at least 0, with curvature', spec.high[i])


def _report_probe(key: Reader, spec: ActionSpec) -> None:
    """Ask for a probe that shows something: a robot that has to fall back from it by itself."""
    if not spec.probe:
        return
    if spec.driver_timeout is None:
        key.problem(('probe',), 'no probe, of a driver without a timeout', said('it is there'))
    if any(map(math.isnan, spec.safe)):
        key.problem(
            ('probe',),
            'no probe, in a group that stays where it is',
            said('safe: hold'),
            'How long a driver holds a place by itself cannot be seen.',
        )
    elif not any(
        abs(value - safe) > threshold
        for value, safe, threshold in zip(
            spec.probe, spec.safe, spec.feedback.threshold, strict=True
        )
    ):
        key.problem(
            ('probe',),
            'a command that differs from safe by more than feedback.threshold in some dimension',
            list(spec.probe),
        )


def _report_rotation(key: Reader, spec: ActionSpec) -> None:
    """Ask for four dimensions that can be one unit quaternion."""
    four = spec.rotation
    if spec.kind is not ActionKind.CONTINUOUS:
        key.problem(('kind',), 'continuous, with rotation', spec.kind.value)
    if set(four) & set(spec.curvature):
        key.problem(('curvature',), 'no dimension of the rotation', list(spec.curvature))
    for name, values in (('acceleration', spec.acceleration), ('jerk', spec.jerk)):
        if values:
            key.problem((name,), f'no {name}, in a group with rotation', said('it is there'))
    for name, numbers, bound in (('low', spec.low, -1.0), ('high', spec.high, 1.0)):
        for i in four:
            if numbers[i] != bound and not math.isnan(numbers[i]):
                key.problem((name, i), f'{bound:g}, of a unit quaternion', numbers[i])
    for name, numbers in (('rate', spec.rate), ('stop', spec.stop)):
        turning = [numbers[i] for i in four]
        if len(set(turning)) > 1 and not any(map(math.isnan, turning)):
            key.problem((name,), 'one number (rad/s) for all four of the rotation', turning)
    others = {spec.interface[i].value for i in four} - {Interface.POSITION.value}
    if others:
        key.problem(('interface',), 'position, of a rotation', said(' '.join(sorted(others))))


def _report_wrap(key: Reader, spec: ActionSpec) -> None:
    """Ask for angles of a joint, and for numbers that go on where a turn ends."""
    if spec.wrap and spec.kind not in (ActionKind.CONTINUOUS, ActionKind.DELTA):
        key.problem(('kind',), 'continuous or delta, with wrap', spec.kind.value)
    for i in spec.wrap:
        if spec.interface[i] is not Interface.POSITION or spec.unit[i] != 'rad':
            actual = f'{spec.interface[i].value} in {spec.unit[i] or "no unit"}'
            key.problem(('wrap',), f'positions in rad, in dimension {i}', said(actual))
        elif spec.high[i] - spec.low[i] < ROOM:
            key.problem(
                ('wrap',),
                f'at least two turns from low to high ({ROOM} rad), in dimension {i}',
                spec.high[i] - spec.low[i],
                'The numbers that are sent go on where a turn ends: from 3.1 to 3.2, not to -3.1.',
            )
    if set(spec.wrap) & set(spec.rotation):
        key.problem(('wrap',), 'no dimension of the rotation', list(spec.wrap))


def _choices(key: Reader, low: Vector, high: Vector) -> tuple[tuple[str, Vector], ...]:
    section = key.section('choices')
    found = []
    for name in section.named():
        values = section.numbers(name, len(low), unit=OF_VALUE)
        _inside(section, name, values, low, high)
        found.append((name, values))
    if len(found) < 2:
        key.problem(('choices',), 'at least two commands by name', said(f'{len(found)}'))
    seen: dict[Vector, str] = {}
    for name, values in found:
        if values in seen and not any(map(math.isnan, values)):
            # A record could not tell which of them was chosen.
            section.problem((name,), f'another command than {seen[values]!r}', list(values))
        seen.setdefault(values, name)
    return tuple(found)


def _levels(key: Reader, low: Vector, high: Vector) -> tuple[Vector, ...]:
    rows = key.rows('levels', len(low), unit=OF_VALUE)
    for dimension, values in enumerate(rows):
        if len(values) < 2:
            key.problem(('levels', dimension), 'at least two levels', said(f'{len(values)}'))
        if len(set(values)) != len(values):
            key.problem(('levels', dimension), 'every level once', list(values))
        for value in values:
            if value < low[dimension] or value > high[dimension]:
                expected = f'values in [{low[dimension]:g}, {high[dimension]:g}]'
                key.problem(('levels', dimension), expected, value)
    return rows


def _driver_timeout(key: Reader) -> float | None:
    acknowledged = key.value(ActionSpec, 'driver_timeout_acknowledged')
    if key.is_word('driver_timeout', 'none'):
        if not acknowledged:
            key.problem(
                ('driver_timeout',),
                'a number of seconds, or `none` with `driver_timeout_acknowledged: true`',
                said('none, not acknowledged'),
                'A driver without a timeout keeps moving when the gate dies.',
            )
        return None
    timeout: float = key.value(ActionSpec, 'driver_timeout')
    return timeout


def _feedback(
    key: Reader,
    command: Values,
    interface: Sequence[Interface],
    limits: tuple[Vector, Vector],
) -> Feedback:
    """
    Return what tells what the robot did.

    Of joints it is, unless the keys say otherwise, that quantity of those that are commanded.
    """
    count, source = command.count, command.source
    type_name = key.value(Feedback, 'type')
    names = source.names if isinstance(source, (Joints, Array, Trajectory)) else ()
    form = next((form for form in COMMAND_FORMS if key.has(form)), 'joints')
    if type_name == JOINTS and form == 'joints' and len(set(interface)) == 1:
        # Of joints that are named here it is the position, as wherever joints are read.
        usual = '' if key.has('joints') else interface[0].value
        if key.has('joints') or not names:
            names = joint_names(key)
        values = joint_values(key, names, usual)
        if key.has('publishers') and isinstance(values.source, Joints):
            several = key.value(Joints, 'publishers')
            values = replace(values, source=replace(values.source, publishers=several))
    else:
        values = parse_source(key, type_name, COMMAND_FORMS)
    if values.count != count:
        key.problem(
            ('joints',) if type_name == JOINTS else ('fields',),
            f'{count} values, one for each dimension of the command',
            said(f'{values.count}'),
        )
    threshold = tuple((high - low) / 20.0 for low, high in zip(*limits, strict=True))
    if key.has('threshold') or any(each <= 0.0 for each in threshold):
        threshold = key.value(Feedback, 'threshold', count=count)
    return key.make(Feedback, type=type_name, source=values.source, threshold=threshold)
