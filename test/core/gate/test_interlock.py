# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A robot stands while a door is open or a motor is hot, and while nobody knows."""

from __future__ import annotations

import math

import pytest

from boundary_env_ros.core.gate.explain import sentences
from boundary_env_ros.core.records.decision import Reason, Verdict
from boundary_env_ros.errors import ContractError
from boundary_env_ros.storage.contract_types import problems_of
from support.core_world import shipped
from support.gate_bench import Bench

DOOR = {
    'topic': 'door',
    'type': 'std_msgs/msg/Bool',
    'field': 'data',
    'low': 1,
    'max_age': 1.0,
}
MOTOR = {
    'topic': 'motor',
    'type': 'sensor_msgs/msg/Temperature',
    'field': 'temperature',
    'low': -10.0,
    'high': 80.0,
    'unit': 'degC',
    'max_age': 1.0,
}
CONTRACT = shipped({('safety', 'interlock'): {'door': DOOR, 'motor': MOTOR}})
CLOSED, COOL = {'data': True}, {'temperature': 40.0, 'variance': 0.0}


@pytest.fixture
def bench() -> Bench:
    """Return a gate whose robot drives behind a closed door, with a cool motor."""
    bench = Bench(CONTRACT)
    bench.messages |= {'interlock.door': CLOSED, 'interlock.motor': COOL}
    bench.start()
    assert bench.ask(0.1, 0.0).verdict is Verdict.ADMITTED
    return bench


def test_an_open_door_stops_the_robot_by_the_next_timer(bench: Bench) -> None:
    bench.messages['interlock.door'] = {'data': False}
    [decision, *_] = bench.wait(0.1)
    assert decision.verdict is Verdict.STOPPED
    assert [(r.rule, r.value, r.limit) for r in decision.rules] == [('interlock.door', 0.0, 1.0)]


@pytest.mark.parametrize(('heat', 'limit'), [(80.5, 80.0), (-11.0, -10.0)])
def test_the_bound_that_is_broken_is_told_in_its_unit(
    bench: Bench, heat: float, limit: float
) -> None:
    bench.messages['interlock.motor'] = {'temperature': heat, 'variance': 0.0}
    bench.pulse()
    [sentence] = sentences(bench.ask(0.1, 0.0), CONTRACT)
    assert sentence == (
        'STOPPED by interlock.motor: a value is outside of its range '
        f'({heat:g}, limit {limit:g} degC)'
    )


def test_a_bound_itself_is_allowed(bench: Bench) -> None:
    bench.messages['interlock.motor'] = {'temperature': 80.0, 'variance': 0.0}
    bench.pulse()
    assert bench.ask(0.1, 0.0).verdict is Verdict.ADMITTED


def test_a_number_that_is_none_or_never_comes_stops_the_robot(bench: Bench) -> None:
    bench.messages['interlock.motor'] = {'temperature': math.nan, 'variance': 0.0}
    del bench.messages['interlock.door']
    bench.wait(1.2)
    assert {(r.rule, r.reason) for r in bench.ask(0.1, 0.0).rules} == {
        ('sensors.interlock.door', Reason.OBSERVATION_TIMEOUT),
        ('sensors.interlock.motor', Reason.SENSOR_INVALID),
    }


@pytest.mark.parametrize(
    ('change', 'problem'),
    [
        ({'low': None, 'high': None}, r'motor\.low.*expected `low`, `high` or both, got neither'),
        ({'low': 90.0}, r'motor\.high.*expected a value not below low \(90\), got 80'),
        ({'field': 'data['}, r'motor\.field.*expected a field path'),
    ],
)
def test_a_range_that_bounds_nothing_is_refused(change: dict[str, object], problem: str) -> None:
    with pytest.raises(ContractError, match=problem):
        shipped({('safety', 'interlock'): {'motor': {**MOTOR, **change}}})


def test_a_field_that_the_message_does_not_have_is_found_before_a_robot_is_there() -> None:
    wrong = shipped({('safety', 'interlock'): {'motor': {**MOTOR, 'field': 'heat'}}})
    [problem] = problems_of(wrong).problems
    assert problem.path == ('safety', 'interlock', 'motor', 'field')
