# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The state of the safety gate as a ``DiagnosticArray``, for ``/diagnostics``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from boundary_env_ros.core.gate.decision import GateState, GateStatus, REASON_TEXT, Verdict

_WORDS = {
    GateState.DISARMED: 'disarmed: nothing is published',
    GateState.ARMED: 'armed, and the episode does not run yet',
    GateState.RUNNING: 'commands are let through',
    GateState.STOPPING: 'the robot is stopped',
    GateState.EMERGENCY_STOPPED: 'the emergency stop is latched',
    GateState.PROBING: 'the timeout of the driver is measured',
    GateState.INACTIVE: 'not active: nothing is published',
}


def diagnostics(
    status: GateStatus,
    *,
    name: str,
    contract: str,
    groups: Sequence[str],
    decisions: Mapping[Verdict, int],
    latest: float,
    refused: int,
) -> Any:
    """
    Return the diagnostics of a gate.

    Parameters
    ----------
    status
        Its state.
    name
        Fully qualified name of the node.
    contract
        Name and version of the contract.
    groups
        Names of the groups of the action.
    decisions
        How many there were of each verdict since the node is active.
    latest
        Longest time between two runs of the protecting timer since the last diagnostics, s.
    refused
        How many messages could not be read since the process began.

    """
    level, message = _summary(status)
    values = {
        'contract': contract,
        'digest': status.digest,
        'agent': status.agent,
        'state': status.state.name,
        'holder': status.holder or 'nobody',
        'episode': status.episode_id or 'none',
        'teleoperated': str(status.teleoperated),
        'foreign publishers': str(status.foreign_publishers),
        'longest time between two runs of the timer, s': f'{latest:.4f}',
        **{f'decisions {v.name}': str(decisions.get(v, 0)) for v in Verdict},
        'messages that could not be read': str(refused),
        **{
            f'measured driver timeout of {group}, s': f'{seconds:.4f}'
            for group, seconds in zip(groups, status.driver_timeouts, strict=False)
            if not math.isnan(seconds)
        },
    }
    runtime_limits = status.runtime_limits
    for limit in ('low', 'high', 'rate'):
        if getattr(runtime_limits, limit):
            values[f'runtime limit {limit}'] = ' '.join(
                f'{v:g}' for v in getattr(runtime_limits, limit)
            )
    if runtime_limits.command_timeout is not None:
        values['runtime limit command_timeout, s'] = f'{runtime_limits.command_timeout:g}'
    entry = DiagnosticStatus(
        level=level,
        name=f'{name.lstrip("/")}: commands',
        message=message,
        hardware_id=status.agent,
        values=[KeyValue(key=key, value=value) for key, value in values.items()],
    )
    return DiagnosticArray(status=[entry])


def _summary(status: GateStatus) -> tuple[bytes, str]:
    if status.foreign_publishers:
        return DiagnosticStatus.ERROR, 'somebody else publishes commands, which pass no gate'
    message = _WORDS[status.state]
    if status.state is GateState.EMERGENCY_STOPPED:
        return DiagnosticStatus.ERROR, message
    if status.state is GateState.STOPPING and status.reasons:
        why = '; '.join(REASON_TEXT[reason] for reason in status.reasons)
        return DiagnosticStatus.WARN, f'{message}: {why}'
    return DiagnosticStatus.OK, message
