# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From a message to the reading of a field: values, stamp and confidence."""

from __future__ import annotations

from dataclasses import replace
import math

from hypothesis import given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.contract.model import Confidence
from boundary_env_ros.core.sources.readers import adapter, probability_within, stamp_of
from boundary_env_ros.errors import RecordError
from support.core_messages import odometry
from support.core_world import Message, shipped, stamped

CONTRACT = shipped()
SPECS = {spec.name: spec for spec in CONTRACT.fields}


def test_a_stamp_that_was_never_set_is_unknown_not_zero() -> None:
    assert stamp_of(stamped(0.0)) is None
    assert stamp_of(Message(data=1)) is None
    assert stamp_of(stamped(12.5)) == 12_500_000_000


# Fields with a confidence ------------------------------------------------------------------------


def test_a_pose_is_read_with_its_stamp_and_confidence() -> None:
    message, spec = odometry(), SPECS['pose']
    assert stamp_of(message) == 12_500_000_000
    reading = adapter(spec, '/pose_detections')(message)
    assert reading.values == (1.0, 2.0, pytest.approx(0.5))
    assert reading.confidence == pytest.approx(math.erf(0.1 / math.sqrt(0.02)))


@pytest.mark.parametrize('variance', [-1.0, math.nan, math.inf])
def test_the_confidence_of_an_unknown_variance_is_unknown(variance: float) -> None:
    assert probability_within(0.1, variance) is None


@given(st.floats(1e-6, 1e3), st.floats(0.0, 1e3))
def test_a_confidence_is_a_probability(tolerance: float, variance: float) -> None:
    found = probability_within(tolerance, variance)
    assert found is not None
    assert 0.0 <= found <= 1.0


def test_a_confidence_field_is_read_as_it_is() -> None:
    spec = replace(SPECS['contact'], confidence=Confidence(field='score'))
    assert adapter(spec, '/contact')(Message(data=True, score=0.25)).confidence == 0.25


@pytest.mark.parametrize('score', [math.nan, -0.1, 1.1, math.inf, -1])
def test_a_confidence_that_is_no_probability_is_unknown(score: float) -> None:
    spec = replace(SPECS['contact'], confidence=Confidence(field='score'))
    reading = adapter(spec, '/contact')(Message(data=True, score=score))
    assert (reading.values, reading.confidence) == ((1.0,), None)


@pytest.mark.parametrize(
    'source', [Confidence(field='who'), Confidence(variance='who', tolerance=1.0)]
)
def test_a_confidence_that_is_no_number_is_refused_by_its_path(source: Confidence) -> None:
    spec = replace(SPECS['contact'], confidence=source)
    with pytest.raises(RecordError, match="The field 'who' is not a number .got str"):
        adapter(spec, '/contact')(Message(data=True, who='me'))


def test_a_message_without_a_header_has_a_value() -> None:
    reading = adapter(SPECS['contact'], '/contact')(Message(data=True))
    assert (reading.values, reading.confidence) == ((1.0,), None)
