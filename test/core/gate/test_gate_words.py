# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the log says of a rule."""

from __future__ import annotations

import math

import pytest

from boundary_env_ros.core.gate.explain import sentence, unusable, worst_of
from boundary_env_ros.core.records.decision import Measurement, Reason, RuleResult, Verdict
from boundary_env_ros.storage.contract_file import load

DIMENSIONS = ('base/linear.x', 'base/angular.z')


def test_a_sentence_names_rule_dimension_and_by_how_much() -> None:
    result = RuleResult(
        rule='rate', outcome=Verdict.LIMITED, reason=Reason.RATE_LIMIT, dimension=1,
        before=1.5, after=0.4, value=15.0, limit=4.0, unit='rad/s^2',
    )  # fmt: skip
    assert sentence(result, DIMENSIONS) == (
        'LIMITED by rate: the command would change faster than the contract allows; '
        'base/angular.z from 1.5 to 0.4 (15, limit 4 rad/s^2)'
    )


def test_numbers_that_a_float32_brought_apart_are_told_apart() -> None:
    above = 0.30000001192092896
    result = RuleResult(
        rule='bounds', outcome=Verdict.LIMITED, reason=Reason.OUT_OF_BOUNDS, dimension=0,
        before=above, after=0.3, value=above, limit=0.3, unit='m/s',
    )  # fmt: skip
    told = sentence(result, DIMENSIONS)
    assert told.endswith('base/linear.x from 0.300000012 to 0.3 (0.300000012, limit 0.3 m/s)')


def test_what_is_not_known_is_left_out() -> None:
    result = RuleResult(
        rule='emergency_stop', outcome=Verdict.STOPPED, reason=Reason.EMERGENCY_STOP
    )
    assert sentence(result, DIMENSIONS) == (
        'STOPPED by emergency_stop: the emergency stop is latched; release it, then run '
        '`boundary-env operator --release`'
    )
    late = RuleResult(
        rule='environment', outcome=Verdict.STOPPED, reason=Reason.ENVIRONMENT_TIMEOUT,
        limit=0.4, unit='s',
    )  # fmt: skip
    assert '(' not in sentence(late, DIMENSIONS)


@pytest.mark.parametrize('dimension', [-1, 2, 99])
def test_a_dimension_that_is_none_is_not_named(dimension: int) -> None:
    result = RuleResult(
        rule='bounds', outcome=Verdict.REJECTED, reason=Reason.OUT_OF_BOUNDS, dimension=dimension
    )
    assert 'base' not in sentence(result, DIMENSIONS)


def test_every_reason_has_words() -> None:
    for reason in Reason:
        result = RuleResult(rule='rule', outcome=Verdict.STOPPED, reason=reason)
        assert reason.text in sentence(result, DIMENSIONS)


def test_of_many_dimensions_the_one_that_changed_most_is_told_and_the_others_are_counted() -> None:
    results = [
        RuleResult(
            rule='rate', outcome=Verdict.LIMITED, reason=Reason.RATE_LIMIT, dimension=i % 2,
            before=change, after=0.0,
        )
        for i, change in enumerate((0.1, -0.9, 0.3))
    ]  # fmt: skip
    stop = RuleResult(rule='bounds', outcome=Verdict.LIMITED, reason=Reason.OUT_OF_BOUNDS)
    told = [sentence(result, DIMENSIONS, others) for result, others in worst_of([*results, stop])]
    assert told == [
        (
            'LIMITED by rate: the command would change faster than the contract allows; '
            'base/angular.z from -0.9 to 0, and 2 others'
        ),
        'LIMITED by bounds: the value lies outside the bounds of the contract',
    ]


@pytest.mark.parametrize(
    ('name', 'values', 'words'),
    [
        ('feedback.base', (0.1, math.nan), 'base/angular.z is nan'),
        ('alive.pose', (math.inf, math.nan, 0.0), 'x is inf, and 1 other'),
        ('alive.scan', (math.inf, math.nan), 'value 1 is nan'),
        ('alive.pose', (), 'a message that cannot be read'),
        ('feedback.base', (0.1, 0.2), ''),
    ],
)
def test_what_came_of_a_sensor_is_told_by_the_names_of_the_contract(
    name: str, values: tuple[float, ...], words: str
) -> None:
    contract = load('warehouse_cart').contract
    assert unusable(Measurement(name=name, topic='t', values=values, age=0.0), contract) == words
