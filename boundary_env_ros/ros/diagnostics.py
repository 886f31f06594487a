# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the nodes say of themselves on ``/diagnostics``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

from boundary_env_ros.core.environment.step_timing import StepTiming
from boundary_env_ros.core.records.decision import GateState, GateStatus, Reason, Verdict

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR

_WORDS = {
    GateState.DISARMED: 'disarmed: nothing is published',
    GateState.ARMED: 'armed, and the episode does not run yet',
    GateState.RUNNING: 'commands are let through',
    GateState.STOPPING: 'the robot is stopped',
    GateState.EMERGENCY_STOPPED: Reason.EMERGENCY_STOP.text,
    GateState.PROBING: 'the timeout of the driver is measured',
    GateState.INACTIVE: 'not active: nothing is published',
}


def condition(
    name: str, level: bytes, message: str, values: Mapping[str, object], agent: str = ''
) -> DiagnosticStatus:
    """Return the condition of one part of a node, ``NODE: PART``."""
    return DiagnosticStatus(
        name=name,
        level=level,
        message=message,
        hardware_id=agent,
        values=[KeyValue(key=key, value=str(value)) for key, value in values.items()],
    )


def of_steps(name: str, agent: str, timing: StepTiming) -> DiagnosticStatus:
    """Return whether the steps of an agent keep their times, since the node is active."""
    values = {
        'steps': timing.steps,
        'overruns': timing.overruns,
        'late ticks': timing.late,
        'missed periods': timing.missed,
        'latest tick, s': f'{timing.worst:.4f}',
        **{f'{stage} over budget': number for stage, number in timing.over_budget.items()},
    }
    trouble = timing.trouble
    return condition(
        f'{name}: steps',
        WARN if trouble else OK,
        trouble or 'the steps keep their times',
        values,
        agent,
    )


def of_gate(
    name: str,
    status: GateStatus,
    *,
    groups: Sequence[str],
    decisions: Mapping[Verdict, int],
    latest: float,
    undelivered: str = '',
) -> DiagnosticStatus:
    """
    Return the condition of a gate.

    Parameters
    ----------
    name
        Name of the node.
    status
        Its state.
    groups
        Names of the groups of the action.
    decisions
        How many there were of each verdict since the node is active.
    latest
        Longest time between two runs of the protecting timer since the last diagnostics, s.
    undelivered
        Which commands reach no driver; empty if all do.

    """
    level, message = _summary(status)
    if undelivered and level != ERROR:
        level, message = WARN, f'{message}. {undelivered}'
    values = {
        'state': status.state.name,
        'holder': status.holder or 'none',
        'episode': status.episode_id or 'none',
        'teleoperated': status.teleoperated,
        'foreign publishers': status.foreign_publishers,
        'longest time between two runs of the timer, s': f'{latest:.4f}',
        **{f'decisions {v.name}': decisions.get(v, 0) for v in Verdict},
        **{
            f'measured driver timeout of {group}, s': f'{seconds:.4f}'
            for group, seconds in zip(groups, status.driver_timeouts, strict=False)
            if not math.isnan(seconds)
        },
    }
    return condition(f'{name}: commands', level, message, values, status.agent)


def _summary(status: GateStatus) -> tuple[bytes, str]:
    if status.foreign_publishers:
        return ERROR, 'another node publishes commands, which pass no gate'
    message = _WORDS[status.state]
    if status.state is GateState.EMERGENCY_STOPPED:
        return ERROR, message
    if status.state is GateState.STOPPING and status.reasons:
        why = '; '.join(reason.text for reason in status.reasons)
        return WARN, f'{message}: {why}'
    return OK, message
