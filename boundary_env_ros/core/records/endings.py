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

#: What is said in place of a rate of success under a contract without a task.
NO_TASK = 'no task: no success is defined'


def time_is_over(time_limit: float) -> str:
    """Return what is said of an episode that its time limit (s) ended."""
    return f'{time_limit:g} s are over'


class EndingKind(IntEnum):
    """
    The two ways an episode ends.

    ``TERMINATED``: the task ended, so no value follows it. ``TRUNCATED``: something outside the
    task cut it off, so a learner must bootstrap and a success rate must say how it counts it.
    """

    TERMINATED = 1
    TRUNCATED = 2


#: What each built-in ending is. By the order, the first of several at one instant counts: a
#: failure of the machinery before a verdict of the task, which rests on broken evidence then; the
#: time limit comes last.
BUILT_IN: Mapping[str, EndingKind] = {
    ending: EndingKind.TERMINATED if ending in (FAILURE, SUCCESS) else EndingKind.TRUNCATED
    for ending in (
        *(ENVIRONMENT_LOST, RESET_FAILED, SIMULATION_FAILED, TASK_FAILED, ROBOT_LOST, GATE_LOST),
        *(RECORDER_LOST, OPERATOR_STOP, ABANDONED, SAFETY_STOP, SENSOR_LOST, POLICY_LOST),
        *(FAILURE, SUCCESS, TIME_LIMIT),
    )
}

#: The episode ended because somebody who takes part in it was not there any more.
LOST = frozenset(
    {ENVIRONMENT_LOST, ROBOT_LOST, GATE_LOST, RECORDER_LOST, SENSOR_LOST, POLICY_LOST}
)
#: It ended by a failure of the machinery, and says nothing of the policy.
OF_MACHINERY = LOST | {RESET_FAILED, SIMULATION_FAILED, TASK_FAILED}


def foremost(present: Iterable[str], precedence: Iterable[str]) -> str | None:
    """Return the ending that the declared precedence puts first; None if none is present."""
    found = set(present)
    return next((ending for ending in precedence if ending in found), None)
