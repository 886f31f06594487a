# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The contract as a value: what it derives from what it says, and its digest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, FrozenInstanceError, is_dataclass, replace
from enum import Enum
import math
import re
from types import ModuleType
from typing import Any

import pytest
import yaml

from boundary_env_ros.core.contract import digest as digest_module
from boundary_env_ros.core.contract import model as contract_module
from boundary_env_ros.core.contract import safety as safety_module
from boundary_env_ros.core.contract import sources as sources_module
from boundary_env_ros.core.contract.digest import digest_of
from boundary_env_ros.core.contract.model import Contract, DocumentGroup
from boundary_env_ros.core.contract.safety import Corridor, Operator, Overruns, Side
from boundary_env_ros.core.contract.sources import Paths
from boundary_env_ros.core.gate.rules.battery import Battery
from boundary_env_ros.core.gate.rules.interlock import Interlock
from boundary_env_ros.core.gate.rules.obstacles import Obstacle
from boundary_env_ros.core.gate.rules.stopping import SENSOR_RULES
from boundary_env_ros.core.gate.rules.workspace import Moves, Workspace
from boundary_env_ros.core.records import endings
from boundary_env_ros.core.records.endings import EndingKind
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.storage.contract.parser import parse
from support.core_world import drop, Path_, put, rich, rich_data, shipped, shipped_data, TASKS

CONTRACT = shipped()


def test_a_contract_does_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        CONTRACT.period = 0.2


def test_with_one_agent_topics_are_as_they_stand_with_several_each_has_its_own() -> None:
    assert CONTRACT.topic_of('cart', 'cmd_vel') == 'cmd_vel'
    two = replace(CONTRACT, agents=('left', 'right'))
    assert two.topic_of('left', 'cmd_vel') == 'left/cmd_vel'


@pytest.mark.parametrize(
    ('limit', 'period', 'steps'), [(8.0, 0.1, 80), (0.3, 0.1, 3), (1.0, 0.04, 25)]
)
def test_an_episode_has_as_many_steps_as_periods_fit_its_limit(
    limit: float, period: float, steps: int
) -> None:
    contract = replace(
        CONTRACT, period=period, episode=replace(CONTRACT.episode, time_limit=limit)
    )
    assert contract.max_steps == steps


def test_lockstep_brings_simulated_time_with_it_and_realtime_takes_it_away() -> None:
    lockstep = CONTRACT.paced(Pacing.LOCKSTEP)
    assert lockstep.sim_time
    assert not lockstep.paced(Pacing.REALTIME).sim_time
    assert CONTRACT.paced(Pacing.REALTIME) is CONTRACT


# Digest ------------------------------------------------------------------------------------------


def digest(data: object, tasks: Any = TASKS) -> str:
    return digest_of(parse(data, tasks=tasks))


def reversed_keys(data: object) -> object:
    """Return nested data with the keys of every mapping in the opposite order."""
    if isinstance(data, dict):
        return {key: reversed_keys(data[key]) for key in reversed(data)}
    return [reversed_keys(item) for item in data] if isinstance(data, list) else data


SHIPPED = digest(shipped_data())


def test_a_digest_is_an_algorithm_and_its_digits() -> None:
    assert re.fullmatch(r'sha256:[0-9a-f]{64}', SHIPPED)


def test_the_same_meaning_has_the_same_digest_every_time() -> None:
    assert digest(shipped_data()) == SHIPPED


ORDERLESS: list[Path_] = [
    ('safety',), ('episode',), ('action', 'base'), ('observation', 'pose'), ('task', 'parameters'),
    ('latency_budget',), ('safety', 'obstacles'), ('episode', 'on_stop'), ('episode', 'reset'),
]  # fmt: skip


@pytest.mark.parametrize('path', ORDERLESS, ids='.'.join)
def test_the_order_of_keys_makes_no_difference(path: tuple[str, ...]) -> None:
    data = shipped_data()
    section: Any = data
    for key in path:
        section = section[key]
    put(data, path, reversed_keys(section))
    assert digest(data) == SHIPPED


def test_the_order_of_the_sections_makes_no_difference() -> None:
    data = shipped_data()
    assert digest({key: data[key] for key in reversed(data)}) == SHIPPED


@pytest.mark.parametrize(
    ('path', 'default'),
    [
        (('observation', 'scan', 'dtype'), 'float32'),
        (('observation', 'front', 'on_stale'), 'mark'),
        (('observation', 'velocity', 'out_of_bounds'), 'clip'),
        (('safety', 'obstacles', 'scan', 'min_valid'), 0.5),
        (('safety', 'obstacles', 'scan', 'type'), 'sensor_msgs/msg/LaserScan'),
        (('action', 'base', 'driver_timeout_acknowledged'), False),
        (('episode', 'endings'), {'success': 'terminated', 'time_limit': 'truncated'}),
    ],
)
def test_a_default_that_is_written_out_makes_no_difference(path: Path_, default: object) -> None:
    data = shipped_data()
    put(data, path, default)
    assert digest(data) == SHIPPED


@pytest.mark.parametrize(
    'path', [('pacing',), ('clock',), ('lockstep',), ('recorder',), ('safety', 'recorder_timeout')]
)
def test_a_default_that_is_left_out_makes_no_difference(path: Path_) -> None:
    data = shipped_data()
    drop(data, path)
    assert digest(data) == SHIPPED


def test_an_ending_that_is_built_in_later_counts_where_a_stop_is_declared_to_be_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data, naming = shipped_data(), shipped_data()
    put(naming, ('episode', 'on_stop', 'clock'), 'clock_lost')
    later = {'clock_lost': EndingKind.TRUNCATED, **endings.BUILT_IN}
    for module in (endings, digest_module):
        monkeypatch.setattr(module, 'BUILT_IN', later)
    assert 'clock_lost' in parse(data, tasks=TASKS).episode.endings
    assert digest(data) == SHIPPED
    put(data, ('episode', 'on_stop', 'clock'), 'abandoned')
    assert len({digest(naming), digest(data), SHIPPED}) == 3


def test_one_and_one_point_zero_mean_the_same() -> None:
    data = shipped_data()
    put(data, ('action', 'base', 'safe'), [0, 0])
    put(data, ('observation', 'scan', 'high'), [8] * 36)
    assert digest(data) == SHIPPED


def test_comments_and_layout_of_the_file_make_no_difference() -> None:
    plain = yaml.safe_dump(shipped_data(), sort_keys=False)
    flow = yaml.safe_dump(shipped_data(), sort_keys=False, default_flow_style=True, width=9999)
    assert '#' not in plain
    assert digest(yaml.safe_load(plain)) == digest(yaml.safe_load(flow)) == SHIPPED


MEANING: list[tuple[Path_, object]] = [
    (('contract',), 'other_cart'),
    (('version',), '1.0.1'),
    (('period',), 0.11),
    (('clock',), 'sim'),
    (('agents',), ['wagon']),
    (('observation', 'pose', 'max_age'), 0.51),
    (('observation', 'pose', 'frame'), 'map'),
    (('observation', 'pose', 'unit'), ['cm', 'm', 'rad']),
    (('observation', 'pose', 'on_stale'), 'mark'),
    (('observation', 'pose', 'confidence', 'tolerance'), 0.2),
    (('observation', 'pose', 'low'), [-5.5, -4.5, -3.2]),
    (('observation', 'scan', 'beams'), 35),
    (('observation', 'scan', 'topic'), 'lidar/scan'),
    (('observation', 'front', 'encoding'), 'bgr8'),
    (('privileged', 'true_pose', 'max_age'), 0.3),
    (('action', 'base', 'fields'), ['twist.linear.x', 'twist.angular.y']),
    (('action', 'base', 'high'), [0.79, 1.5]),
    (('action', 'base', 'out_of_bounds'), 'reject'),
    (('action', 'base', 'safe'), [0.0, 0.1]),
    (('action', 'base', 'max_acceleration'), [1.01, 4.0]),
    (('action', 'base', 'max_deceleration'), [2.01, 8.0]),
    (('action', 'base', 'driver_timeout'), 0.26),
    (('action', 'base', 'feedback', 'threshold'), [0.031, 0.15]),
    (('safety', 'gate_period'), 0.019),
    (('safety', 'command_timeout'), 0.31),
    (('safety', 'emergency_stop'), 'stop'),
    (('safety', 'obstacles', 'scan', 'stop_distance'), 0.51),
    (('safety', 'obstacles', 'scan', 'min_valid'), 0.6),
    (('latency_budget', 'gate'), 0.02),
    (('latency_budget', 'of'), 'scan'),
    (('lockstep', 'deadline'), 11.0),
    (('recorder', 'required'), False),
    (('robot',), {'host': 'cart-7'}),
    (('task', 'parameters', 'radius'), 0.31),
    (('episode', 'time_limit'), 7.9),
    (('episode', 'endings'), {'tipped_over': 'terminated'}),
    (('episode', 'on_stop', 'sensor_invalid'), 'safety_stop'),
    (('episode', 'reset', 'settle'), 0.31),
    (('episode', 'reset', 'tolerance', 'start'), [0.05, 0.05, 0.06]),
]  # fmt: skip


@pytest.mark.parametrize(
    ('path', 'value'), MEANING, ids=['.'.join(map(str, path)) for path, _ in MEANING]
)
def test_any_change_of_meaning_changes_the_digest(path: Path_, value: object) -> None:
    data = shipped_data()
    put(data, path, value)
    assert digest(data) != SHIPPED


def changed(value: object, at: str) -> Iterator[tuple[str, object]]:
    """Yield a value as many times as there is something in it to change, once changed in each."""
    if is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            inner = f'{type(value).__name__}.{field.name}'
            for where, other in changed(getattr(value, field.name), inner):
                yield where, replace(value, **{field.name: other})
    elif isinstance(value, dict):
        for key in value:
            for where, other in changed(value[key], at):
                yield where, {**value, key: other}
        yield at, {**value, 'added': 0}
    elif isinstance(value, (tuple, list)):
        for index, item in enumerate(value):
            for where, other in changed(item, at):
                yield where, type(value)((*value[:index], other, *value[index + 1 :]))
        yield at, type(value)((*value, *(value[-1:] or [0])))
    elif isinstance(value, Enum):
        yield from ((at, member) for member in type(value) if member is not value)
    elif isinstance(value, bool):
        yield at, not value
    elif isinstance(value, (int, float)):
        yield at, 0.5 if math.isnan(value) else value + 1
    elif isinstance(value, str):
        yield at, f'{value}x'
    else:
        assert value is None, f'{at} holds {value!r}'
        yield at, 1


RICH = rich()


def everything() -> Contract:
    """Return a contract with every part that one can have."""
    [scan] = RICH.safety.of(Obstacle)
    place = Workspace(
        name='floor', topic='odom', type='nav_msgs/msg/Odometry',
        source=Paths(paths=('x', 'y', 'h')), unit=('m', 'm', 'rad'), frame='odom',
        moves=Moves.BODY, dimensions=(4,), turn=5, low=(0.0, None), high=(5.0, 4.0),
        polygon=((0.0, 0.0), (5.0, 0.0), (0.0, 5.0)),
        keep_out=(('stairs', ((1.0, 1.0), (2.0, 1.0), (1.0, 2.0))),), margin=0.4, delay=0.1,
        braking=(2.0, 8.0),
    )  # fmt: skip
    hand = Operator(
        topic='joy', type='sensor_msgs/msg/Joy', source=Paths(paths=('axes[0]',)), scale=(1.0,),
        enable='buttons[0]', timeout=0.3,
    )  # fmt: skip
    safety = replace(
        RICH.safety, republish_period=0.05, overruns=Overruns(exceeded=2, of=10),
        operator=hand,
        rules=(
            scan,
            replace(scan, name='bumper', zone=Side.BEHIND, time_to_collision=2.0),
            replace(scan, name='depth', zone=Corridor(half_width=0.4, bottom=0.1, top=1.0)),
            place,
            Battery(name='main', topic='battery_state', min=0.15, max_age=5.0),
            Interlock(
                name='door', topic='door', type='std_msgs/msg/Bool', field='data', low=1.0,
                high=2.0, unit='', max_age=1.0,
            ),
        ),
    )  # fmt: skip
    return replace(RICH, safety=safety)


EVERYTHING = replace(
    everything(),
    documents=(
        DocumentGroup(
            name='desk', topic='desk', schema={'type': 'object'}, types=('ask',), max_rate=2.0
        ),
    ),
)


def test_every_field_of_everything_in_a_contract_is_part_of_its_meaning() -> None:
    plain, seen = digest_of(EVERYTHING), {}
    for where, other in changed(EVERYTHING, ''):
        assert digest_of(other) != plain, f'{where} may be changed unnoticed'
        seen[where] = other
    declared = {
        f'{kind.__name__}.{field.name}'
        for kind in (*declared_in(contract_module, safety_module, sources_module), *SENSOR_RULES)
        for field in fields(kind)
    }
    # Optional parts are told by their absence, too; what is left is what this test has not seen.
    assert declared - seen.keys() == {name for name in declared if _whole(name)}


def declared_in(*modules: ModuleType) -> Iterator[Any]:
    for module in modules:
        for kind in vars(module).values():
            if (
                isinstance(kind, type)
                and is_dataclass(kind)
                and kind.__module__ == module.__name__
            ):
                yield kind


def _whole(name: str) -> bool:
    """Return whether a field only holds another dataclass, whose own fields are told."""
    held = {
        'Contract': ('safety', 'task', 'episode'),
        'EpisodeRules': ('reset',),
        'ActionSpec': ('source', 'feedback'),
        'Feedback': ('source',),
        'Acknowledgement': ('source',),
        'FieldSpec': ('qos',),
        'Operator': ('source',),
        'Safety': ('operator', 'overruns'),
        'Workspace': ('source',),
    }
    kind, _, field = name.partition('.')
    return field in held.get(kind, ())


def test_layout_makes_no_difference_to_a_contract_of_every_word() -> None:
    data: Any = rich_data()
    ordered = ('observation', 'state', 'privileged', 'action')
    mixed = reversed_keys({key: value for key, value in data.items() if key not in ordered})
    assert isinstance(mixed, dict)
    for section in ordered:
        mixed[section] = {name: reversed_keys(item) for name, item in data[section].items()}
    choices = data['action']['base']['choices']
    mixed['action']['base']['choices'] = choices  # their order is what an index means
    assert digest(mixed) == digest_of(RICH)


def test_the_order_of_choices_is_meaning() -> None:
    data: Any = rich_data()
    choices = data['action']['base']['choices']
    put(data, ('action', 'base', 'choices'), {key: choices[key] for key in reversed(choices)})
    assert digest(data) != digest_of(RICH)


def test_to_stay_has_a_digest_of_its_own_whichever_way_it_is_said() -> None:
    whole = digest_of(rich({('action', 'arm', 'safe'): 'hold_position'}))
    each = digest_of(rich({('action', 'arm', 'safe'): ['hold_position', 'hold_position']}))
    base = [g for g in RICH.action if g.name == 'base']
    other = digest_of(replace(RICH, action=(replace(base[0], safe=(0.1, 0.0)), *RICH.action)))
    assert whole == each != other
    assert whole == digest_of(
        replace(
            RICH, action=tuple(replace(g, safe=tuple(map(_another, g.safe))) for g in RICH.action)
        )
    )


def _another(value: float) -> float:
    """Return a number that is another object, as reading it from elsewhere makes."""
    return float(repr(value))


@pytest.mark.parametrize(
    ('path', 'default'),
    [
        (('observation', 'cloud', 'channels'), None),
        (('observation', 'cloud', 'qos'), {}),
        (('observation', 'cloud', 'qos'), {'reliability': 'best_effort', 'depth': 10}),
        (('observation', 'wrench', 'dtype'), 'float32'),
        (('observation', 'pads', 'array'), 'data'),
        (('observation', 'to_goal', 'dtype'), 'float32'),
        (('state', 'temperature', 'parts'), ['temperature']),
        (('privileged', 'hinge', 'quantity'), 'position'),
        (('action', 'arm', 'kind'), 'continuous'),
        (('action', 'fingers', 'array'), 'data'),
    ],
)
def test_a_default_of_the_language_that_is_written_out_makes_no_difference(
    path: Path_, default: object
) -> None:
    assert digest_of(rich({path: default})) == digest_of(RICH)


def test_the_order_of_observation_and_action_is_meaning() -> None:
    data = shipped_data()
    observation: Any = data['observation']
    put(data, ('observation',), {key: observation[key] for key in reversed(observation)})
    put(data, ('latency_budget', 'of'), 'pose')
    assert digest(data) != SHIPPED


def test_the_order_of_declared_endings_is_their_precedence_and_so_meaning() -> None:
    one, other = {'spilled': 'terminated', 'tipped': 'terminated'}, {}
    for name in reversed(one):
        other[name] = one[name]
    digests = set()
    for declared in (one, other):
        data = shipped_data()
        put(data, ('episode', 'endings'), declared)
        digests.add(digest(data))
    assert len(digests) == 2


def test_the_pacing_is_meaning() -> None:
    assert digest_of(CONTRACT.paced(Pacing.LOCKSTEP)) != digest_of(CONTRACT)


@pytest.mark.parametrize(
    'tasks', [{'go_to_goal': ('boundary_env_ros', '0.2.0')}, {'go_to_goal': ('fork', '0.1.0')}]
)
def test_the_distribution_and_the_version_of_the_task_are_meaning(tasks: object) -> None:
    assert digest(shipped_data(), tasks) != SHIPPED
