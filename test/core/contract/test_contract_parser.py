# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Contracts from plain data: what is read, and what is refused, by key path, with the way out."""

from __future__ import annotations

from copy import deepcopy
import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.contract.model import OnStale, OutOfBounds, TaskSpec
from boundary_env_ros.core.contract.sources import Array, Beams, Joints
from boundary_env_ros.core.gate.rules.obstacles import Obstacle
from boundary_env_ros.core.records.endings import BUILT_IN, EndingKind
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.errors import ContractError, Problem
from boundary_env_ros.storage.contract.parser import parse
from support.core_world import drop, put, shipped, shipped_data, TASKS

Path = tuple[str | int, ...]
MISSING = object()


def problems_of(changes: dict[Path, object], **arguments: Any) -> tuple[Problem, ...]:
    """Return what is wrong with the shipped contract after some changes."""
    data = shipped_data()
    for path, value in changes.items():
        if value is MISSING:
            drop(data, path)
        else:
            put(data, path, value)
    with pytest.raises(ContractError) as caught:
        parse(data, tasks=TASKS, **arguments)
    return caught.value.problems


# What is read ------------------------------------------------------------------------------------


def test_the_shipped_contract_says_what_its_file_says() -> None:
    contract = shipped()
    data: dict[str, Any] = shipped_data()
    assert contract.name == data['contract'] == 'warehouse_cart'
    assert contract.period == data['period']
    assert contract.pacing is Pacing.REALTIME
    assert not contract.sim_time
    assert [f.name for f in contract.observation] == list(data['observation'])
    assert [f.name for f in contract.privileged] == list(data['privileged'])
    assert contract.flat('low') == (-0.3, -1.5)
    assert contract.action_size == 2
    assert contract.command_unit == ('m/s', 'rad/s')
    assert contract.action[0].out_of_bounds is OutOfBounds.CLIP
    assert contract.observation[0].on_stale is OnStale.TRUNCATE
    assert contract.observation[2].source == Beams(count=36)
    assert contract.observation[2].low == (0.0,) * 36
    assert contract.observation[3].is_image
    assert contract.observation[3].shape == (48, 64, 3)
    assert contract.observation[3].dtype == 'uint8'
    assert contract.observation[4].task == 'goal'
    assert contract.safety.recorder_timeout == 2.0
    assert contract.reaction_of == 'pose'
    assert contract.task.distribution == 'boundary_env_ros'
    assert contract.episode.on_stop['OBSTACLE_STOP'] == 'safety_stop'
    assert contract.max_steps == round(contract.episode.time_limit / contract.period)


@pytest.mark.parametrize(
    ('path', 'attribute', 'default'),
    [
        (('clock',), 'sim_time', False),
        (('pacing',), 'pacing', Pacing.REALTIME),
        (('privileged',), 'privileged', ()),
        (('lockstep',), 'lockstep_deadline', 10.0),
        (('recorder',), 'recorder_required', True),
        (('latency_budget',), 'latency_budget', {}),
        (('latency_budget', 'of'), 'reaction_of', 'pose'),
    ],
)
def test_what_is_left_out_has_its_default(path: Path, attribute: str, default: object) -> None:
    data = shipped_data()
    drop(data, path)
    assert getattr(parse(data), attribute) == default


def test_one_number_stands_for_all_dimensions() -> None:
    contract = shipped({('action', 'base', 'max_acceleration'): 4.0})
    assert contract.flat('rate') == (4.0, 4.0)


def test_a_declared_ending_goes_before_the_verdicts_of_the_task_and_after_losses() -> None:
    contract = shipped({('episode', 'endings'): {'dropped_load': 'terminated'}})
    order = list(contract.episode.endings)
    assert order.index('policy_lost') < order.index('dropped_load') < order.index('failure')
    assert contract.episode.endings['dropped_load'] is EndingKind.TERMINATED
    assert set(order) == {*BUILT_IN, 'dropped_load'}


def test_a_built_in_ending_may_be_written_out_as_it_is() -> None:
    contract = shipped({('episode', 'endings'): {'success': 'terminated'}})
    assert list(contract.episode.endings) == list(BUILT_IN)


def test_a_driver_without_a_timeout_must_be_acknowledged() -> None:
    contract = shipped(
        {
            ('action', 'base', 'driver_timeout'): 'none',
            ('action', 'base', 'driver_timeout_acknowledged'): True,
        }
    )
    assert contract.action[0].driver_timeout is None


def test_a_robot_without_an_emergency_stop_may_say_so() -> None:
    without = shipped_data()
    drop(without, ('safety', 'emergency_stop'))
    contract = shipped({('safety', 'emergency_stop'): 'none'})
    assert contract.safety.emergency_stop == ''
    assert contract == parse(without, tasks=TASKS)


def test_a_safe_command_need_not_be_zero() -> None:
    contract = shipped({('action', 'base', 'safe'): [0.0, -0.2]})
    assert contract.flat('safe') == (0.0, -0.2)


def test_lockstep_with_simulated_time_is_read() -> None:
    contract = shipped({('pacing',): 'lockstep', ('clock',): 'sim'})
    assert contract.pacing is Pacing.LOCKSTEP


def test_parsing_does_not_change_the_data() -> None:
    data = shipped_data()
    before = deepcopy(data)
    parse(data)
    assert data == before


# What is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('path', 'hint'),
    [
        (('perid',), "Did you mean 'period'?"),
        (('action', 'base', 'max_decelerations'), "Did you mean 'max_deceleration'?"),
        (('safety', 'obstacles', 'scan', 'slow_distanc'), "Did you mean 'slow_distance'?"),
        (('observation', 'pose', 'maxage'), "Did you mean 'max_age'?"),
    ],
)
def test_an_unknown_key_suggests_the_one_that_is_meant(path: Path, hint: str) -> None:
    known: Path = (*path[:-1], hint.split("'")[1])
    data = shipped_data()
    value = 1.0
    drop(data, known)
    put(data, path, value)
    with pytest.raises(ContractError) as caught:
        parse(data)
    [problem] = [p for p in caught.value.problems if p.path == path]
    assert (problem.expected, problem.actual, problem.hint) == ('', 'unknown key', hint)


def test_an_unknown_key_with_nothing_near_lists_what_is_known() -> None:
    [problem] = problems_of({('recorder', 'colour'): 'red'})
    assert problem.path == ('recorder', 'colour')
    assert problem.hint == 'Known here: required.'


def test_a_wrong_word_suggests_the_nearest() -> None:
    [problem] = problems_of({('task', 'name'): 'go_to_gaol'})
    assert problem.hint == "Did you mean 'go_to_goal'?"


@pytest.mark.parametrize(
    ('key', 'written', 'meant'),
    [('topic', '/odom', 'odom'), ('type', 'nav_msgs/Odometry', 'nav_msgs/msg/Odometry')],
)
def test_a_name_of_another_spelling_is_told_as_it_is_to_be_written(
    key: str, written: str, meant: str
) -> None:
    [problem] = problems_of({('observation', 'pose', key): written})
    assert problem.hint == f'Write {meant!r}.'


def test_a_message_that_is_to_be_transformed_is_told_to_be_published_as_a_frame() -> None:
    [problem] = problems_of(
        {
            ('observation', 'seen'): {
                'topic': 'detection',
                'type': 'geometry_msgs/msg/PoseStamped',
                'transform': {'of': 'camera', 'in': 'base'},
                'parts': ['translation'],
                'low': -1.0,
                'high': 1.0,
            }
        }
    )
    assert problem.path == ('observation', 'seen', 'topic')
    assert 'on /tf' in problem.hint


def test_a_topic_that_cannot_be_read_is_no_missing_default_of_a_budget() -> None:
    data = shipped_data()
    seen: Any = data['observation']
    data['observation'] = {'pose': {**seen['pose'], 'topic': '/odom'}}
    drop(data, ('latency_budget', 'of'))
    with pytest.raises(ContractError) as caught:
        parse(data)
    assert ('latency_budget', 'of') not in {problem.path for problem in caught.value.problems}


@pytest.mark.parametrize('deep', ['a[' + '1' * 5000 + ']', 'yaw(' * 5000 + 'q' + ')' * 5000])
def test_a_path_without_end_is_refused(deep: str) -> None:
    [problem] = problems_of({('observation', 'velocity', 'fields'): [deep, 'b']})
    assert problem.path == ('observation', 'velocity', 'fields', 0)


def test_every_problem_is_told_at_once() -> None:
    problems = problems_of(
        {
            ('period',): -1,
            ('colour',): 'red',
            ('observation', 'pose', 'max_age'): 'long',
            ('action', 'base', 'low'): [9.0, 'x'],
            ('safety', 'hold_timeout'): 'soon',
            ('episode', 'reset', 'service'): '/absolute',
        }
    )
    assert {problem.path for problem in problems} >= {
        ('period',),
        ('colour',),
        ('observation', 'pose', 'max_age'),
        ('action', 'base', 'low', 1),
        ('action', 'base', 'high', 0),
        ('safety', 'hold_timeout'),
        ('episode', 'reset', 'service'),
    }


def test_one_mistake_is_told_once() -> None:
    [problem] = problems_of({('action', 'base', 'max_acceleration'): ['slow', 4.0]})
    assert problem.path == ('action', 'base', 'max_acceleration', 0)
    assert problem.actual == "'slow'"


def test_the_error_reads_as_a_list_of_sentences() -> None:
    with pytest.raises(ContractError) as caught:
        data = shipped_data()
        put(data, ('period',), 0)
        put(data, ('colour',), 'red')
        parse(data, source='cart.yaml', lines={('period',): 4, ('colour',): 9})
    text = str(caught.value)
    assert text.startswith('cart.yaml: 2 problems\n')
    assert 'period (line 4): expected a finite number (s) greater than 0, got 0.' in text
    assert text.index('line 4') < text.index('line 9')


def test_a_contract_without_a_task_has_one_that_judges_nothing() -> None:
    data = shipped_data()
    drop(data, ('task',))
    drop(data, ('observation', 'goal'))
    assert parse(data).task == TaskSpec(name='', parameters={})


@pytest.mark.parametrize(
    ('period', 'deadman', 'hold_timeout'),
    [(0.01, 0.1, 0.015), (0.02, 0.1, 0.03), (0.1, 0.3, 0.15), (0.4, 0.5, 0.45)],
)
def test_the_timeouts_follow_from_the_period(
    period: float, deadman: float, hold_timeout: float
) -> None:
    data = shipped_data()
    put(data, ('period',), period)
    put(data, ('action', 'base', 'driver_timeout'), 1.0)
    drop(data, ('safety',))
    safety = parse(data).safety
    for name in ('command', 'sensor'):
        assert getattr(safety, f'{name}_timeout') == pytest.approx(deadman), name
    assert safety.environment_timeout == pytest.approx(max(0.25, deadman))
    assert safety.max_action_age == pytest.approx(deadman)
    assert safety.gate_timeout == safety.robot_timeout == pytest.approx(max(0.5, 4 * period))
    assert safety.hold_timeout == pytest.approx(hold_timeout)
    assert safety.policy_timeout == pytest.approx(max(1.0, 10 * period))
    assert safety.gate_period == pytest.approx(min(0.02, period))


def test_an_array_command_takes_the_names_of_its_joints_and_is_measured_by_them() -> None:
    data = shipped_data()
    legs = {
        'topic': 'legs/commands',
        'type': 'std_msgs/msg/Float64MultiArray',
        'joints': ['FL_hip', 'FR_hip'],
        'interface': 'position',
        'unit': 'rad',
        'low': -1.0,
        'high': 1.0,
        'max_velocity': 2.0,
        'driver_timeout': 0.5,
        'feedback': {'topic': 'joint_states', 'type': 'sensor_msgs/msg/JointState'},
    }
    put(data, ('action', 'legs'), legs)
    base, group = parse(data).action
    assert base.dimensions == ('base/linear.x', 'base/angular.z')
    assert group.source == Array(path='data', length=2, names=('FL_hip', 'FR_hip'))
    assert group.dimensions == ('legs/FL_hip', 'legs/FR_hip')
    assert group.feedback.source == Joints(names=('FL_hip', 'FR_hip'), quantities=('position',))
    assert group.feedback.threshold == pytest.approx((0.05, 0.05))
    assert all(map(math.isnan, group.safe))
    # A length alone is named by the joints that it is measured by.
    del legs['joints']
    legs |= {'length': 2, 'feedback': legs['feedback'] | {'joints': ['FL_hip', 'FR_hip']}}
    assert parse(data).action[1].dimensions == ('legs/FL_hip', 'legs/FR_hip')
    legs['feedback'] = {'topic': 'told', 'type': legs['type'], 'length': 2}
    assert parse(data).action[1].dimensions == ('legs/0', 'legs/1')


def test_a_missing_key_points_at_the_line_of_its_section() -> None:
    data = shipped_data()
    drop(data, ('action', 'base', 'max_acceleration'))
    with pytest.raises(ContractError) as caught:
        parse(data, lines={(): 1, ('action', 'base'): 70})
    assert caught.value.problems[0].line == 70


@pytest.mark.parametrize('data', [None, [], 'contract', 3, float('nan'), {}, {1: 2}])
def test_what_is_no_contract_at_all_is_refused(data: object) -> None:
    with pytest.raises(ContractError):
        parse(data)


@pytest.mark.parametrize(
    'value', [float('nan'), float('inf'), object(), {1, 2}, b'bytes', {'deep': [float('nan')]}]
)
def test_parameters_of_the_task_are_plain_data_or_refused(value: object) -> None:
    [problem] = problems_of({('task', 'parameters', 'radius'): value})
    assert problem.path[:3] == ('task', 'parameters', 'radius')
    assert 'plain data' in problem.expected


def test_parameters_of_the_task_that_hold_themselves_are_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    problems = problems_of({('task', 'parameters', 'radius'): endless})
    assert problems[0].path[:3] == ('task', 'parameters', 'radius')


# Whatever comes ----------------------------------------------------------------------------------

leaf = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=6),
    st.sampled_from(['none', 'sim', 'lockstep', 'odom', 'a.b', 'yaw(q)', 10**400, -1, 0.0]),
)  # fmt: skip
anything = st.recursive(
    leaf,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=6) | st.integers(), inner, max_size=3)
    ),
    max_leaves=12,
)


def paths(data: object, at: Path = ()) -> list[Path]:
    """Return every key path of nested data."""
    found: list[Path] = [at] if at else []
    items = (
        data.items()
        if isinstance(data, dict)
        else enumerate(data)
        if isinstance(data, list)
        else ()
    )
    for key, item in items:
        found += paths(item, (*at, key))
    return found


ALL_PATHS = paths(shipped_data())


@given(data=anything)
def test_arbitrary_data_is_refused_by_name(data: object) -> None:
    with pytest.raises(ContractError):
        parse(data)


@given(
    changes=st.lists(st.tuples(st.sampled_from(ALL_PATHS), anything), min_size=1, max_size=3),
    dropped=st.lists(st.sampled_from(ALL_PATHS), max_size=2),
)
def test_a_damaged_contract_is_read_or_refused_by_name(
    changes: list[tuple[Path, object]], dropped: list[Path]
) -> None:
    data = shipped_data()
    for path, value in changes:
        try:
            put(data, path, value)
        except (KeyError, TypeError, IndexError):
            continue  # a change before took the place away
    for path in dropped:
        try:
            drop(data, path)
        except (KeyError, TypeError, IndexError):
            continue
    try:
        contract = parse(data)
    except ContractError as refused:
        problems = refused.problems
    else:
        assert contract.action_size > 0
        assert contract.max_steps > 0
        return
    assert problems
    assert all(problem.expected or problem.actual for problem in problems)


@pytest.mark.parametrize(
    ('key', 'type_name'),
    [('beams', 'sensor_msgs/msg/LaserScan'), ('points', 'sensor_msgs/msg/PointCloud2')],
)
@pytest.mark.parametrize('place', [('action', 'base'), ('action', 'base', 'feedback')])
def test_nothing_commands_a_sensor(place: Path, key: str, type_name: str) -> None:
    problems = problems_of({(*place, 'type'): type_name, (*place, key): 2})
    assert any(p.path == (*place, key) and p.actual == 'unknown key' for p in problems)


@pytest.mark.parametrize(
    ('changes', 'path', 'expected'),
    [
        ({('observation', 'scan', 'beams'): 10**12}, ('observation', 'scan', 'beams'), '16384'),
        (
            {
                ('observation', 'joy'): {
                    'topic': 'joy',
                    'type': 'sensor_msgs/msg/Joy',
                    'length': 10**12,
                    'unit': '',
                    'low': -1,
                    'high': 1,
                }
            },
            ('observation', 'joy', 'length'),
            'from 1 to 16384',
        ),
        (
            {('observation', 'front', 'shape'): [10**6, 10**6, 3]},
            ('observation', 'front', 'shape'),
            'at most 33554432 values',
        ),
        (
            {
                ('observation', 'past'): {
                    'derive': {'function': 'history', 'of': 'scan', 'count': 10**12}
                }
            },
            ('observation', 'past', 'derive'),
            'at most 16384 values',
        ),
        ({('period',): 1e-300}, ('period',), 'a time (s) from 1e-09'),
        ({('episode', 'time_limit'): 1e300}, ('episode', 'time_limit'), 'a time (s) from 1e-09'),
    ],
)
@pytest.mark.timeout(10)
def test_what_no_machine_could_hold_is_refused_before_it_is_made(
    changes: dict[Path, object], path: Path, expected: str
) -> None:
    assert any(p.path == path and expected in p.expected for p in problems_of(changes))


def test_the_order_of_keys_in_parameters_of_a_task_reaches_nobody() -> None:
    data = shipped_data()
    task = data['task']
    assert isinstance(task, dict)
    scenarios = task['parameters']['scenarios']
    task['parameters']['scenarios'] = dict(reversed(scenarios.items()))
    one, other = (parse(d, tasks=TASKS).task.parameters for d in (shipped_data(), data))
    assert list(one['scenarios']) == list(other['scenarios']) == sorted(scenarios)  # type: ignore[call-overload]
    assert list(one) == list(other)


NAMED = 'the name of a dimension (base/linear.x, base/angular.z)'


def test_a_dimension_is_called_by_its_name() -> None:
    place = ('safety', 'obstacles', 'scan', 'dimension')
    together = ('action', 'base', 'scale_together')
    contract = shipped({together: ['linear.x', 'base/angular.z']})
    assert contract.safety.of(Obstacle)[0].dimension == 0
    assert contract.action[0].scale_together == (0, 1)
    [problem] = problems_of({place: 'base/linear.X'})
    assert (problem.path, problem.expected) == (place, NAMED)
    assert problem.hint == "Did you mean 'base/linear.x'?"
    [problem] = problems_of({place: 0})
    assert (problem.path, problem.expected) == (place, NAMED)
    assert len(problems_of({together: [0, 1]})) == 2
    [problem] = problems_of({together: ['linear.x', 'angular']})
    assert problem.path == (*together, 1)
