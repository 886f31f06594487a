# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What changed between two contracts is found, all of it, and put into the right class."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import partial
import math
import re
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints, Union

from hypothesis import given, settings
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.contract.digest import digest_of
from boundary_env_ros.core.contract.key import Meaning, parts_of
from boundary_env_ros.core.contract.model import Confidence, ConfirmStep, Contract
from boundary_env_ros.core.contract.safety import Side
from boundary_env_ros.core.contract.sources import Paths
from boundary_env_ros.core.gate.rules.obstacles import Obstacle
from boundary_env_ros.core.gate.rules.workspace import Moves, Workspace
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.evidence.contract_difference import difference
from boundary_env_ros.storage.contract.parser import parse
from support.contract_corpus import data_of, GOOD, SHIPPED

EVERY = [*SHIPPED, *GOOD]
CONTRACTS = [parse(data_of(path)) for path in EVERY]
NAMES = [path.stem for path in EVERY]


def by_name(name: str) -> Contract:
    """Return one of the contracts."""
    return CONTRACTS[NAMES.index(name)]


# Every part has a class --------------------------------------------------------------------------


def reachable(kind: Any) -> set[type]:
    """Return all dataclasses that a value of a type can be made of."""
    found: set[type] = set()
    ahead = [kind]
    while ahead:
        one = ahead.pop()
        if get_origin(one) in (Union, UnionType, tuple) or get_args(one):
            ahead.extend(get_args(one))
        elif isinstance(one, type) and is_dataclass(one) and one not in found:
            found.add(one)
            ahead.extend(get_type_hints(one).values())
    return found


def test_every_attribute_of_every_value_of_a_contract_has_a_class() -> None:
    kinds = reachable(Contract)
    assert len(kinds) >= 25
    # What has none is cosmetic.
    cosmetic = [
        (kind, field.name)
        for kind in kinds
        for field in fields(kind)
        if parts_of(kind)[field.name].meaning is Meaning.COSMETIC
    ]
    assert cosmetic == [(Contract, 'version')]


# Whatever changes is found -----------------------------------------------------------------------

Rebuild = Callable[[Any], Contract]


def changed(value: Any, build: Rebuild, where: str) -> Iterator[tuple[str, Contract]]:
    """Yield a contract for every way in which some part of it can be another."""
    if is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            inner = getattr(value, field.name)
            with_it = partial(_with_attribute, build, value, field.name)
            yield from changed(inner, with_it, f'{where}.{field.name}')
    elif isinstance(value, Mapping):
        for key in value:
            yield f'{where} without {key}', build({k: v for k, v in value.items() if k != key})
            yield from changed(value[key], partial(_with_key, build, value, key), f'{where}.{key}')
        some = next(iter(value.values()), 'x')
        yield f'{where} with more', build({**value, 'zz': some})
    elif isinstance(value, (tuple, list)):
        kind = type(value)
        if value:
            yield f'{where} without the last', build(kind(value[:-1]))
            if not hasattr(value[0], 'name'):
                yield f'{where} with its first twice', build(kind([*value, value[0]]))
        for index in {0, len(value) - 1} & set(range(len(value))):
            with_it = partial(_with_item, build, value, index)
            yield from changed(value[index], with_it, f'{where}.{index}')
    else:
        yield from ((where, build(new)) for new in others(value))


def _with_attribute(build: Rebuild, value: Any, name: str, new: Any) -> Contract:
    return build(replace(value, **{name: new}))


def _with_key(build: Rebuild, value: Mapping[str, Any], key: str, new: Any) -> Contract:
    return build({**value, key: new})


def _with_item(build: Rebuild, value: Any, index: int, new: Any) -> Contract:
    return build(type(value)([*value[:index], new, *value[index + 1 :]]))


def others(value: object) -> list[object]:
    """Return other values in place of one that has no parts."""
    match value:
        case None:
            return [0.5]
        case bool():
            return [not value]
        case Enum():
            return [member for member in type(value) if member is not value]
        case int():
            return [value + 1]
        case float() if math.isnan(value):
            return [0.0]
        case float():
            return [value + 1.0, math.nextafter(value, math.inf)]
        case str():
            return [f'{value}x', '']
    raise AssertionError(f'no other value for {value!r}')


def is_change(one: Contract, other: Contract) -> None:
    """Hold a difference against the digests."""
    found = difference(one, other)
    if found.before == found.after:
        assert not found.changes
        return
    assert found.changes
    for change in found.changes:
        assert change.before != change.after
    if all(change.path == 'version' for change in found.changes):
        assert found.meaning is Meaning.COSMETIC
    else:
        assert found.meaning > Meaning.COSMETIC


def test_a_change_of_any_part_is_found() -> None:
    # What another contract of them has as well is changed once.
    tried: set[str] = set()
    for name, contract in zip(NAMES, CONTRACTS, strict=True):
        for where, other in changed(contract, lambda new: new, ''):
            part = re.sub(r'\[[^]]*\]|\.\d+', '', where)
            if part in tried:
                continue
            tried.add(part)
            try:
                is_change(contract, other)
            except AssertionError as error:
                raise AssertionError(f'{name}, {where}: {error}') from error
    assert len(tried) > 500


@settings(max_examples=15)
@given(data=st.data())
def test_several_changes_are_found_too(data: st.DataObject) -> None:
    one = data.draw(st.sampled_from(CONTRACTS))
    other = one
    for _ in range(data.draw(st.integers(1, 4))):
        ways = list(changed(other, lambda new: new, ''))
        other = ways[data.draw(st.integers(0, len(ways) - 1))][1]
    is_change(one, other)


@pytest.mark.parametrize('one', CONTRACTS, ids=NAMES)
@pytest.mark.parametrize('other', CONTRACTS, ids=NAMES)
def test_two_contracts_differ_unless_they_are_one(one: Contract, other: Contract) -> None:
    is_change(one, other)
    assert (one is other) == (not difference(one, other).changes)


# Layout is no change -----------------------------------------------------------------------------


def test_the_order_of_keys_and_defaults_that_are_written_out_are_no_change() -> None:
    smallest = next(path for path in GOOD if path.stem == 'smallest')
    data = data_of(smallest)
    data = {
        **{key: data[key] for key in reversed(data)},
        'clock': 'ros',
        'pacing': 'realtime',
        'state': {},
        'privileged': {},
        'chunk': {'horizon': 1},
        'lockstep': {'deadline': 10},
        'recorder': {'required': True},
        'robot': {'host': ''},
        'latency_budget': {'of': 'pose'},
    }
    data['safety'] = {**data['safety'], 'gate_period': 0.02, 'recorder_timeout': 2}
    data['observation']['pose'] |= {
        'frame': '',
        'dtype': 'float32',
        'out_of_bounds': 'clip',
        'on_stale': 'mark',
        'qos': {'reliability': 'best_effort', 'durability': 'volatile', 'depth': 10},
    }
    data['action']['base'] |= {'kind': 'continuous', 'out_of_bounds': 'clip', 'frame': ''}
    data['episode'] |= {'endings': {}, 'on_stop': {}}
    data['episode']['reset'] |= {'settle': 0, 'tolerance': {}}
    written = parse(data)
    assert digest_of(written) == digest_of(by_name('smallest'))
    assert not difference(by_name('smallest'), written).changes


# The classes -------------------------------------------------------------------------------------

CART = SHIPPED[0]
CASES: list[tuple[tuple[str | int, ...], object, Meaning, str, str, str]] = [
    # key, new value, class, key path in the report, before, after
    (('version',), '2.0.0', Meaning.COSMETIC, 'version', '1.0.0', '2.0.0'),
    (('contract',), 'cart', Meaning.BEHAVIOURAL, 'contract', 'warehouse_cart', 'cart'),
    (('period',), 0.12, Meaning.BEHAVIOURAL, 'period', '0.1', '0.12'),
    (('clock',), 'sim', Meaning.BEHAVIOURAL, 'clock', 'ros', 'sim'),
    (('agents',), ['a'], Meaning.BREAKING, 'agents', '[cart]', '[a]'),
    (('chunk',), {'horizon': 4}, Meaning.BEHAVIOURAL, 'chunk.horizon', '1', '4'),
    (
        ('observation', 'pose', 'unit'),
        ['cm', 'm', 'rad'],
        Meaning.BREAKING,
        'observation.pose.unit',
        '[m, m, rad]',
        '[cm, m, rad]',
    ),
    (('observation', 'scan', 'beams'), 72, Meaning.BREAKING, 'observation.scan.beams', '36', '72'),
    (
        ('observation', 'scan', 'frame'),
        'mast',
        Meaning.BREAKING,
        'observation.scan.frame',
        'laser',
        'mast',
    ),
    (
        ('observation', 'scan', 'high'),
        [8.0] * 35 + [9.0],
        Meaning.BREAKING,
        'observation.scan.high',
        '[35] 8',
        '[35] 9',
    ),
    (
        ('observation', 'pose', 'on_stale'),
        'mark',
        Meaning.BEHAVIOURAL,
        'observation.pose.on_stale',
        'truncate',
        'mark',
    ),
    (
        ('observation', 'pose', 'qos'),
        {'reliability': 'reliable'},
        Meaning.BEHAVIOURAL,
        'observation.pose.qos.reliability',
        'best_effort',
        'reliable',
    ),
    (
        ('observation', 'pose', 'skew'),
        0.1,
        Meaning.BEHAVIOURAL,
        'observation.pose.skew',
        'none',
        '0.1',
    ),
    (
        ('observation', 'front', 'encoding'),
        'bgr8',
        Meaning.BREAKING,
        'observation.front.encoding',
        'rgb8',
        'bgr8',
    ),
    (
        ('observation', 'velocity', 'fields'),
        ['twist.twist.linear.y', 'twist.twist.angular.z'],
        Meaning.BREAKING,
        'observation.velocity.fields',
        '[twist.twist.linear.x, twist.twist.angular.z]',
        '[twist.twist.linear.y, twist.twist.angular.z]',
    ),
    (
        ('action', 'base', 'safe'),
        [0, 0.5],
        Meaning.BEHAVIOURAL,
        'action.base.safe',
        '[0, 0]',
        '[0, 0.5]',
    ),
    (
        ('action', 'base', 'high'),
        [0.7, 1.5],
        Meaning.BREAKING,
        'action.base.high',
        '[0.8, 1.5]',
        '[0.7, 1.5]',
    ),
    (
        ('action', 'base', 'feedback', 'threshold'),
        [0.05, 0.15],
        Meaning.BEHAVIOURAL,
        'action.base.feedback.threshold',
        '[0.03, 0.15]',
        '[0.05, 0.15]',
    ),
    (
        ('safety', 'obstacles', 'scan', 'slow_speed'),
        0.2,
        Meaning.BEHAVIOURAL,
        'safety.obstacles.scan.slow_speed',
        '0.25',
        '0.2',
    ),
    (
        ('latency_budget', 'gate'),
        0.02,
        Meaning.BEHAVIOURAL,
        'latency_budget.gate',
        '0.01',
        '0.02',
    ),
    (('latency_budget', 'of'), 'scan', Meaning.BREAKING, 'latency_budget.of', 'pose', 'scan'),
    (
        ('task', 'parameters', 'radius'),
        0.4,
        Meaning.BEHAVIOURAL,
        'task.parameters.radius',
        '0.3',
        '0.4',
    ),
    (('task', 'name'), 'swap_places', Meaning.BREAKING, 'task.name', 'go_to_goal', 'swap_places'),
    (
        ('episode', 'endings'),
        {'dropped': 'terminated'},
        Meaning.BREAKING,
        'episode.endings.dropped',
        'nothing',
        'terminated',
    ),
    (
        ('episode', 'on_stop', 'obstacle_stop'),
        'sensor_lost',
        Meaning.BEHAVIOURAL,
        'episode.on_stop.obstacle_stop',
        'safety_stop',
        'sensor_lost',
    ),
    (('episode', 'time_limit'), 7.0, Meaning.BEHAVIOURAL, 'episode.time_limit', '6', '7'),
    (
        ('episode', 'reset', 'tolerance', 'start'),
        [0.1, 0.05, 0.05],
        Meaning.BEHAVIOURAL,
        'episode.reset.tolerance.start',
        '[0.05, 0.05, 0.05]',
        '[0.1, 0.05, 0.05]',
    ),
    (
        ('episode', 'reset', 'service'),
        'reset_hall',
        Meaning.BEHAVIOURAL,
        'episode.reset.procedure.0.world',
        'reset_world',
        'reset_hall',
    ),
]


@pytest.mark.parametrize(
    ('key', 'value', 'meaning', 'path', 'before', 'after'),
    CASES,
    ids=['.'.join(map(str, case[0])) for case in CASES],
)
def test_a_change_is_told_by_its_key_and_class(
    key: tuple[str | int, ...], value: object, meaning: Meaning, path: str, before: str, after: str
) -> None:
    data = data_of(CART)
    place: Any = data
    for step in key[:-1]:
        place = place[step]
    place[key[-1]] = value
    found = difference(by_name('warehouse_cart'), parse(data))
    told = {change.path: change for change in found.changes}
    assert path in told
    assert (told[path].before, told[path].after, told[path].meaning) == (before, after, meaning)
    assert found.meaning is meaning
    assert all(change.path == path or change.path.endswith('.shape') for change in found.changes)


def test_the_version_of_the_task_is_behavioural() -> None:
    data = data_of(CART)
    one = parse(data, tasks={'go_to_goal': ('boundary-env-ros', '0.1.0')})
    other = parse(data, tasks={'go_to_goal': ('boundary-env-ros', '0.2.0')})
    [change] = difference(one, other).changes
    assert (change.path, change.before, change.after) == ('task.version', '0.1.0', '0.2.0')
    assert change.meaning is Meaning.BEHAVIOURAL


def test_what_a_contract_says_does_not_steer_the_terminal_and_keeps_its_case() -> None:
    data = data_of(CART)
    data['task']['parameters'] |= {'Colour\x1b[31m': 'red\x1b[0m'}
    [change] = difference(by_name('warehouse_cart'), parse(data)).changes
    assert change.path == r'task.parameters.Colour\x1b[31m'
    assert change.after == r'red\x1b[0m'


def test_another_pacing_is_behavioural() -> None:
    cart = by_name('warehouse_cart')
    found = difference(cart, cart.paced(Pacing.LOCKSTEP))
    assert {change.path for change in found.changes} == {'pacing', 'clock'}
    assert found.meaning is Meaning.BEHAVIOURAL


def test_another_order_of_fields_breaks_and_says_so() -> None:
    cart = by_name('warehouse_cart')
    other = replace(cart, observation=(*cart.observation[1:], cart.observation[0]))
    [change] = difference(cart, other).changes
    assert change.path == 'observation'
    assert change.meaning is Meaning.BREAKING
    assert change.before == '[pose, velocity, scan, front, goal]'
    assert change.after == '[velocity, scan, front, goal, pose]'


def test_another_precedence_of_endings_breaks_and_says_so() -> None:
    cart = by_name('warehouse_cart')
    endings = dict(reversed(list(cart.episode.endings.items())))
    other = replace(cart, episode=replace(cart.episode, endings=endings))
    [change] = difference(cart, other).changes
    assert (change.path, change.meaning) == ('episode.endings', Meaning.BREAKING)
    assert change.before.startswith('[environment_lost, reset_failed')


def test_what_the_evaluator_gains_is_behavioural_and_what_it_loses_breaks() -> None:
    cart = by_name('warehouse_cart')
    fewer = replace(cart, privileged=cart.privileged[:1])
    assert difference(cart, fewer).meaning is Meaning.BREAKING
    assert difference(fewer, cart).meaning is Meaning.BEHAVIOURAL


def test_the_gravest_change_comes_first() -> None:
    found = difference(by_name('warehouse_cart'), by_name('two_carts'))
    meanings = [change.meaning for change in found.changes]
    assert meanings == sorted(meanings, reverse=True)
    assert meanings[0] is Meaning.BREAKING


def test_what_comes_as_a_whole_is_told_as_a_whole() -> None:
    cart = by_name('warehouse_cart')
    other = replace(cart, safety=replace(cart.safety, rules=()))
    [change] = difference(other, cart).changes
    assert change.path == 'safety.obstacles.scan'
    assert change.before == 'nothing'
    assert change.after.startswith('{topic: scan, ')
    velocity = replace(cart.observation[1], confidence=Confidence(field='x'))
    other = replace(cart, observation=(cart.observation[0], velocity, *cart.observation[2:]))
    [change] = difference(cart, other).changes
    assert change.path == 'observation.velocity.confidence'


def test_rules_about_obstacles_are_told_by_their_names() -> None:
    cart = by_name('warehouse_cart')
    [only] = cart.safety.of(Obstacle)
    bumper = replace(only, name='bumper', topic='bumper', zone=Side.AHEAD)
    several = replace(cart.safety, rules=(bumper, replace(only, name='front')))
    nearer = replace(bumper, stop_distance=0.4, time_to_collision=2.0, zone=Side.BEHIND)
    others = replace(cart.safety, rules=(nearer, replace(only, name='rear')))
    found = difference(replace(cart, safety=several), replace(cart, safety=others))
    assert [(change.path, change.before, change.after) for change in found.changes] == [
        ('safety.obstacles.bumper', 'ahead', 'behind'),
        ('safety.obstacles.bumper.stop_distance', '0.5', '0.4'),
        ('safety.obstacles.bumper.time_to_collision', 'none', '2'),
        ('safety.obstacles.front', found.changes[3].before, 'nothing'),
        ('safety.obstacles.rear', 'nothing', found.changes[4].after),
    ]
    assert found.meaning is Meaning.BEHAVIOURAL
    assert 'topic: scan, ' in found.changes[3].before


def test_what_the_gate_alone_reads_breaks_no_policy() -> None:
    """Of a field of the observation, another path is another quantity."""
    cart = by_name('warehouse_cart')
    place = Workspace(
        name='floor', topic='odom', type='nav_msgs/msg/Odometry',
        source=Paths(paths=('pose.pose.position.x',)), unit=('m',), frame='odom',
        moves=Moves.AXES, dimensions=(0,), turn=None, low=(0.0,), high=(5.0,), polygon=(),
        keep_out=(), margin=0.1, delay=0.1, braking=(1.0,),
    )  # fmt: skip
    other = replace(place, source=Paths(paths=('pose.pose.position.y',)))
    one, two = (
        replace(cart, safety=replace(cart.safety, rules=(item,))) for item in (place, other)
    )
    [change] = difference(one, two).changes
    assert (change.path, change.meaning) == (
        'safety.workspace.floor.fields',
        Meaning.BEHAVIOURAL,
    )


def test_another_step_of_a_reset_is_told_by_its_place() -> None:
    cart = by_name('warehouse_cart')
    steps = (*cart.episode.reset.steps, ConfirmStep(prompt='Ready.', deadline=60.0))
    reset = replace(cart.episode.reset, steps=steps)
    other = replace(cart, episode=replace(cart.episode, reset=reset))
    [change] = difference(cart, other).changes
    assert change.path == 'episode.reset.procedure.1'
    assert change.after == '{confirm: Ready., deadline: 60}'


def test_documents_are_told_by_their_names() -> None:
    desk = by_name('documents')
    first, *others = desk.documents
    slower = replace(desk, documents=(replace(first, max_rate=0.125), *others))
    [change] = difference(desk, slower).changes
    assert (change.path, change.after) == (f'documents.{first.name}.max_rate', '0.125')
    assert change.meaning is Meaning.BEHAVIOURAL
