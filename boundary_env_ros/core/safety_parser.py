# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The section ``safety`` of a contract."""

from __future__ import annotations

from boundary_env_ros.core.contract_reader import Reader, said
from boundary_env_ros.core.grammar import A_PATH, A_TOPIC, A_TYPE, is_topic, is_type
from boundary_env_ros.core.obstacle_parser import parse_obstacles
from boundary_env_ros.core.paths import is_path
from boundary_env_ros.core.safety import Hold, OnCompeting, Operator, Overruns, Safety
from boundary_env_ros.core.source_parser import COMMAND_FORMS, parse_source
from boundary_env_ros.core.workspace_parser import parse_workspaces


def parse_safety(key: Reader, size: int) -> Safety:
    """
    Return what the gate enforces.

    Parameters
    ----------
    key
        The section.
    size
        Dimensions of the command.

    """

    def seconds(name: str, default: float | None = None) -> float:
        return key.number(name, unit='s', above=0.0, default=default)

    gate_period = seconds('gate_period', 0.02)
    command_timeout, sensor_timeout = seconds('command_timeout'), seconds('sensor_timeout')
    safety = Safety(
        gate_period=gate_period,
        gate_lateness=seconds('gate_lateness', command_timeout),
        republish=seconds('republish') if key.has('republish') else None,
        hold_after=seconds('hold_after'),
        hold=key.one_of('hold', Hold, default=Hold.LAST),
        command_timeout=command_timeout,
        policy_timeout=seconds('policy_timeout'),
        environment_timeout=seconds('environment_timeout'),
        gate_timeout=seconds('gate_timeout'),
        robot_timeout=seconds('robot_timeout'),
        recorder_timeout=seconds('recorder_timeout', 2.0),
        sensor_timeout=sensor_timeout,
        clock_jump=seconds('clock_jump', sensor_timeout),
        max_action_age=seconds('max_action_age'),
        overruns=_overruns(key.section('overruns')) if key.has('overruns') else None,
        obstacles=parse_obstacles(key, size),
        workspaces=parse_workspaces(key, size),
        emergency_stop=key.text('emergency_stop', default='', expected=A_TOPIC, check=is_topic),
        competing_publisher=key.one_of(
            'competing_publisher', OnCompeting, default=OnCompeting.STOP
        ),
        operator=_operator(key.section('operator'), size) if key.has('operator') else None,
    )
    key.finish()
    return safety


def _overruns(key: Reader) -> Overruns:
    rule = Overruns(exceeded=key.integer('exceeded', least=1), of=key.integer('of', least=1))
    if rule.exceeded > rule.of:
        key.problem(('exceeded',), f'at most `of` ({rule.of})', rule.exceeded)
    key.finish()
    return rule


def _operator(key: Reader, size: int) -> Operator:
    topic = key.text('topic', expected=A_TOPIC, check=is_topic)
    type_name = key.text('type', expected=A_TYPE, check=is_type)
    values = parse_source(key, type_name, COMMAND_FORMS)
    if values.count != size:
        key.problem(
            ('fields',),
            f'{size} values, one for each dimension of the command',
            said(f'{values.count}'),
        )
    operator = Operator(
        topic=topic,
        type=type_name,
        source=values.source,
        scale=key.numbers('scale', size, unit='command units for one unit of the value'),
        enable=key.text('enable', expected=A_PATH, check=is_path),
        timeout=key.number('timeout', unit='s', above=0.0),
    )
    key.finish()
    return operator
