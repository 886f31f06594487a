# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether the steps keep their times, as a ``DiagnosticArray``, for ``/diagnostics``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from boundary_env_ros.core.step_timing import StepTiming


def step_diagnostics(timings: Mapping[str, StepTiming], *, name: str) -> Any:
    """
    Return the diagnostics of an environment, one status for each agent.

    Parameters
    ----------
    timings
        What was counted of the steps of each agent since the node is active.
    name
        Fully qualified name of the node.

    """
    return DiagnosticArray(
        status=[
            DiagnosticStatus(
                level=DiagnosticStatus.OK if not said else DiagnosticStatus.WARN,
                name=f'{name.lstrip("/")}: steps',
                message=said or 'the steps keep their times',
                hardware_id=agent,
                values=[
                    KeyValue(key=key, value=str(value))
                    for key, value in (
                        ('steps', timing.steps),
                        ('overruns', timing.overruns),
                        ('late ticks', timing.late),
                        ('missed periods', timing.missed),
                        ('latest tick, s', f'{timing.worst:.4f}'),
                        *((f'{stage} over budget', n) for stage, n in timing.over_budget.items()),
                    )
                ],
            )
            for agent, timing in timings.items()
            for said in (timing.trouble,)
        ]
    )
