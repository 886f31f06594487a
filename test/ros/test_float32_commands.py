# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which dimensions of a command its message holds as float32, by the definition of the message."""

from __future__ import annotations

from dataclasses import replace

import pytest

from boundary_env_ros.core.contract.sources import Array, Paths, Source
from boundary_env_ros.core.gate.commands import as_sent
from boundary_env_ros.resources import share_file
from boundary_env_ros.ros.conversions import held_as_float32, message_class
from boundary_env_ros.storage.contract_file import load

BASE = load(share_file('config/warehouse_cart.yaml')).contract.action[0]


@pytest.mark.parametrize(
    ('type_name', 'source', 'single'),
    [
        ('std_msgs/msg/Float32MultiArray', Array(path='data', length=2), (True, True)),
        ('std_msgs/msg/Float64MultiArray', Array(path='data', length=2), (False, False)),
        ('std_msgs/msg/Float32', Paths(paths=('data',)), (True,)),
        (
            'geometry_msgs/msg/PoseStamped',
            Paths(paths=('pose.position.x', 'yaw(pose.orientation)')),
            (False, False),
        ),
    ],
)
def test_the_definition_of_a_message_says_what_is_float32(
    type_name: str, source: Source, single: tuple[bool, ...]
) -> None:
    assert held_as_float32(message_class(type_name), replace(BASE, source=source)) == single


def test_a_bound_that_no_float32_meets_is_not_exceeded_by_what_is_published() -> None:
    group = replace(BASE, high=(0.3, 0.3))
    message = message_class('std_msgs/msg/Float32')()
    message.data = as_sent(group, (0.3, 0.3), (True, True))[0]
    assert message.data <= 0.3
