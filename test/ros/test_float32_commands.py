# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which dimensions of a command its message holds as float32, by the definition of the message."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from boundary_env_ros.core.records.decision import RuleInput

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

import rclpy
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.parameter import Parameter

from boundary_env_ros.core.contract.sources import Array, Paths, Source
from boundary_env_ros.core.gate.commands import as_sent
from boundary_env_ros.core.records.decision import GateDecision, Trigger, Verdict
from boundary_env_ros.core.records.parts import StepId
from boundary_env_ros.resources import share_file
from boundary_env_ros.ros.conversions import message_class, single_precision
from boundary_env_ros.ros.nodes.safety_gate import SafetyGate
from boundary_env_ros.ros.processes import isolated_environment
from boundary_env_ros.storage.contract_file import load
from support.ros_world import reserved_domain, write_contract

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
    assert single_precision(message_class(type_name), replace(BASE, source=source)) == single


def test_a_bound_that_no_float32_meets_is_not_exceeded_by_what_is_published() -> None:
    group = replace(BASE, high=(0.3, 0.3))
    message = message_class('std_msgs/msg/Float32')()
    message.data = as_sent(group, (0.3, 0.3), (True, True), low=group.low, high=group.high)[0]
    assert message.data <= 0.3


@pytest.mark.ros
def test_a_bound_that_a_parameter_makes_stricter_is_not_exceeded_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = {
        'type': 'std_msgs/msg/Float32MultiArray', 'fields': None, 'length': 2, 'frame': None,
        'interface': 'velocity',
    }  # fmt: skip
    file = write_contract(tmp_path / 'contract.yaml', {'action': {'base': changes}})
    with reserved_domain() as domain:
        for key, value in isolated_environment(domain).items():
            monkeypatch.setenv(key, value)
        rclpy.init(args=['--ros-args', '-p', f'contract:={file}'], domain_id=domain)
        node = SafetyGate()
        try:
            assert node.trigger_configure() is TransitionCallbackReturn.SUCCESS
            [told] = node.set_parameters([Parameter('stricter.high', value=[0.05, 1.5])])
            assert told.successful, told.reason
            sent: list[Any] = []
            [output] = node._outputs.values()
            monkeypatch.setattr(output, 'publish', lambda fields, _: sent.append(fields['data']))
            now = node.clock.now()
            decision = GateDecision(
                id=StepId(digest=node.loaded.digest, agent=node.agent, episode_id=''),
                sequence=1,
                verdict=Verdict.LIMITED,
                inputs=RuleInput(trigger=Trigger.REQUEST, time_step=0.1),
                decided=now,
                command=(0.05, 0.1),
            )
            node._send_one(decision)
            [(first, _)] = sent
            assert 0.049 < first < 0.05
        finally:
            node.finish()
            node.destroy_node()
            rclpy.shutdown()
