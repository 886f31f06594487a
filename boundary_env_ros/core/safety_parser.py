# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The section ``safety`` of a contract."""

from __future__ import annotations

from boundary_env_ros.core.contract_reader import Reader, said
from boundary_env_ros.core.obstacle_parser import parse_obstacles
from boundary_env_ros.core.safety import Operator, Safety
from boundary_env_ros.core.source_parser import parse_source
from boundary_env_ros.core.sources import COMMAND_FORMS
from boundary_env_ros.core.workspace_parser import parse_workspaces


def parse_safety(key: Reader, size: int, period: float) -> Safety:
    """
    Return what the gate enforces.

    Parameters
    ----------
    key
        The section.
    size
        Dimensions of the command.
    period
        Seconds between two actions of one agent, from which the defaults follow.

    """
    # What stops the robot comes first; what ends an episode has more patience.
    silence, ending = max(0.1, min(3.0 * period, 0.5)), max(0.5, 4.0 * period)
    command_timeout = key.value(Safety, 'command_timeout', default=silence)
    usual = {
        'gate_period': min(0.02, period),
        'hold_after': min(1.5 * period, (period + command_timeout) / 2.0),
        'policy_timeout': max(1.0, 10.0 * period),
        'environment_timeout': silence,
        'gate_timeout': ending,
        'robot_timeout': ending,
        'sensor_timeout': silence,
        'max_action_age': silence,
    }
    safety = key.make(
        Safety,
        command_timeout=command_timeout,
        **{name: key.value(Safety, name, default=value) for name, value in usual.items()},
        emergency_stop=''  # said to be none
        if key.is_word('emergency_stop', 'none')
        else key.value(Safety, 'emergency_stop'),
        obstacles=parse_obstacles(key, size),
        workspaces=parse_workspaces(key, size),
        operator=_operator(key.section('operator'), size) if key.has('operator') else None,
    )
    if safety.emergency_stop_heartbeat is not None and not safety.emergency_stop:
        key.problem(('emergency_stop_heartbeat',), 'a topic under `emergency_stop`', said('none'))
    rule = safety.overruns
    if rule is not None and rule.exceeded > rule.of:
        key.problem(('overruns', 'exceeded'), f'at most `of` ({rule.of})', rule.exceeded)
    key.finish()
    return safety


def _operator(key: Reader, size: int) -> Operator:
    type_name = key.value(Operator, 'type')
    values = parse_source(key, type_name, COMMAND_FORMS)
    if values.count != size:
        key.problem(
            ('fields',),
            f'{size} values, one for each dimension of the command',
            said(f'{values.count}'),
        )
    operator = key.make(Operator, count=size, type=type_name, source=values.source)
    key.finish()
    return operator
