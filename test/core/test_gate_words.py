# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the log says of a rule."""

from __future__ import annotations

import pytest

from boundary_env_ros.core.decision import Reason, REASON_TEXT, RuleResult, Verdict
from boundary_env_ros.core.gate_words import sentence

DIMENSIONS = ('base.forward', 'base.turn')


def test_a_sentence_names_rule_dimension_and_by_how_much() -> None:
    result = RuleResult(
        rule='rate', outcome=Verdict.LIMITED, reason=Reason.RATE_LIMIT, dimension=1,
        before=1.5, after=0.4, value=15.0, limit=4.0, unit='rad/s^2',
    )  # fmt: skip
    assert sentence(result, DIMENSIONS) == (
        'LIMITED by rate: the command would change faster than the contract allows; '
        'base.turn from 1.5 to 0.4 (15, limit 4 rad/s^2)'
    )


def test_what_is_not_known_is_left_out() -> None:
    result = RuleResult(
        rule='emergency_stop', outcome=Verdict.STOPPED, reason=Reason.EMERGENCY_STOP
    )
    assert sentence(result, DIMENSIONS) == (
        'STOPPED by emergency_stop: the emergency stop is latched'
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
    assert set(REASON_TEXT) == set(Reason)
    for reason in Reason:
        result = RuleResult(rule='rule', outcome=Verdict.STOPPED, reason=reason)
        assert REASON_TEXT[reason] in sentence(result, DIMENSIONS)
