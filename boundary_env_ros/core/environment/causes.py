# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Why an episode ends, and whether that ends the task or cuts it off."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum

SUCCESS = 'success'
FAILURE = 'failure'
TIME_LIMIT = 'time_limit'
SAFETY_STOP = 'safety_stop'
OPERATOR_STOP = 'operator_stop'
ABANDONED = 'abandoned'
SENSOR_LOST = 'sensor_lost'
POLICY_LOST = 'policy_lost'
GATE_LOST = 'gate_lost'
ENVIRONMENT_LOST = 'environment_lost'
RECORDER_LOST = 'recorder_lost'
ROBOT_LOST = 'robot_lost'
SIMULATION_FAILED = 'simulation_failed'
TASK_FAILED = 'task_failed'
RESET_FAILED = 'reset_failed'


class Ending(IntEnum):
    """
    The two ways an episode ends.

    ``TERMINATED``: the task ended, so no value follows it. ``TRUNCATED``: something outside the
    task cut it off, so a learner must bootstrap and a success rate must say how it counts it.
    """

    TERMINATED = 1
    TRUNCATED = 2


#: What each built-in cause is, and, by the order, which of several at one instant is *the* cause:
#: a failure of the machinery before a verdict of the task, since a verdict on broken evidence is
#: none; the time limit comes last.
BUILT_IN: Mapping[str, Ending] = {
    ENVIRONMENT_LOST: Ending.TRUNCATED,
    RESET_FAILED: Ending.TRUNCATED,
    SIMULATION_FAILED: Ending.TRUNCATED,
    TASK_FAILED: Ending.TRUNCATED,
    ROBOT_LOST: Ending.TRUNCATED,
    GATE_LOST: Ending.TRUNCATED,
    RECORDER_LOST: Ending.TRUNCATED,
    OPERATOR_STOP: Ending.TRUNCATED,
    ABANDONED: Ending.TRUNCATED,
    SAFETY_STOP: Ending.TRUNCATED,
    SENSOR_LOST: Ending.TRUNCATED,
    POLICY_LOST: Ending.TRUNCATED,
    FAILURE: Ending.TERMINATED,
    SUCCESS: Ending.TERMINATED,
    TIME_LIMIT: Ending.TRUNCATED,
}


def foremost(present: Iterable[str], precedence: Iterable[str]) -> str | None:
    """Return the cause that the declared precedence puts first; None if none is present."""
    found = set(present)
    return next((cause for cause in precedence if cause in found), None)
