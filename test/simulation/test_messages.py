# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Messages without ROS: what is written as mappings reads like the message."""

from __future__ import annotations

import pytest

from boundary_env_ros.simulation.messages import header, PlainMessage, WIRE
from boundary_env_ros.simulation.readings import SensorReading
from boundary_env_ros.simulation.robot import emission


def test_nested_fields_and_lists_of_them_read_as_attributes():
    message = PlainMessage(
        {'header': header(1_500_000_000, 'hall'), 'points': [{'x': 1.0}, {'x': 2.0}], 'data': [3]}
    )
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (1, 500_000_000)
    assert [point.x for point in message.points] == [1.0, 2.0]
    assert message.data == [3]
    assert message.header is message.header


def test_a_field_that_is_not_there_is_an_attribute_that_is_not_there():
    message = PlainMessage({'data': True})
    assert not hasattr(message, 'header')
    with pytest.raises(AttributeError, match=r"field of the message \(data\), got 'range'"):
        _ = message.range


@pytest.mark.parametrize('sensor', list(WIRE))
def test_a_reading_that_was_dropped_makes_no_message(sensor):
    lost = SensorReading(
        robot=0, sensor=sensor, captured_ns=0, published_ns=0, sequence=0, fields=None
    )
    assert emission(lost, WIRE[sensor][0]).fields is None
