# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Who has been silent for too long, as the environment hears it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from boundary_env_ros.core.contract.model import Contract, Pacing
from boundary_env_ros.core.environment import endings
from boundary_env_ros.core.timebase import ClockReading, NANOSECONDS

#: How long the environment may be silent in an episode, in `environment_timeout`s of the contract.
#: The gate stops the robot after one; the second is for an environment that is merely late.
PATIENCE = 2.0

# For what was declared to be recorded, on a busy machine, s.
_RECORDED_WITHIN = 3.0


@dataclass(slots=True, kw_only=True)
class Heard:
    """
    Steady time (ns) of the last heartbeat of each party; None before the first.

    Attributes
    ----------
    gate, recorder, robot, policy
        The parties.
    gate_falls_silent
        Whether the gate said that it is being, or was, deactivated.
    own
        When the environment last did what it waits for the others to let it do.

    """

    gate: int | None = None
    gate_falls_silent: bool = False
    recorder: int | None = None
    robot: int | None = None
    policy: int | None = 0
    own: int = 0


def recorder_silent(contract: Contract, heard: Heard, now: ClockReading) -> bool:
    """Return whether a recorder that is required was not heard, or not for too long."""
    return contract.recorder_required and (
        heard.recorder is None or _too_long(heard.recorder, contract.safety.recorder_timeout, now)
    )


def robot_died(contract: Contract, heard: Heard, now: ClockReading, max_age: float | None) -> bool:
    """
    Return whether a field that is too old is a sign that the whole robot is gone.

    Where a driver dies all topics fall silent at once, and the field that may be the least old
    tells of it first. If its sensor alone died, something else has come in the meantime.

    Parameters
    ----------
    max_age
        Age that the field may have; None: it is not its age that ended the episode.

    """
    if _too_long(heard.robot, contract.safety.robot_timeout, now):
        return True
    if max_age is None or contract.pacing is Pacing.LOCKSTEP:
        return False
    return _too_long(heard.robot, max_age / 2.0, now)


def silent(
    contract: Contract, heard: Heard, now: ClockReading, *, advancing: bool
) -> Mapping[str, str]:
    """
    Return which parties have been silent for too long: one sentence for each ending.

    Parameters
    ----------
    advancing
        Whether, in lockstep, the world was asked to advance and has not answered.

    """
    safety, lockstep = contract.safety, contract.pacing is Pacing.LOCKSTEP
    found: dict[str, str] = {}
    stuck = lockstep and _too_long(heard.own, contract.lockstep_deadline, now)
    # In lockstep a silent gate holds the world still, and nothing is lost until the deadline.
    if _too_long(heard.gate, safety.gate_timeout, now) and (stuck or not lockstep):
        found[endings.GATE_LOST] = 'the safety gate is silent'
    elif heard.gate_falls_silent:
        found[endings.GATE_LOST] = 'the safety gate was deactivated'
    if recorder_silent(contract, heard, now):
        found[endings.RECORDER_LOST] = 'the recorder is silent'
    if not lockstep:
        # A node that was paused itself has heard none: the others have given it up, and are not to
        # blame.
        if _too_long(heard.own, safety.environment_timeout + contract.period, now):
            found[endings.ENVIRONMENT_LOST] = 'the environment stood still'
        if _too_long(heard.robot, contract.safety.robot_timeout, now):
            found[endings.ROBOT_LOST] = 'every sensor is silent'
        if _too_long(heard.policy, safety.policy_timeout, now):
            found[endings.POLICY_LOST] = 'the policy is silent'
    elif stuck:
        if advancing:
            found[endings.ROBOT_LOST] = 'the world did not advance in time'
        else:
            found[endings.POLICY_LOST] = 'the policy is silent'
    return found


def policy_limit(contract: Contract) -> float:
    """Return the seconds after which an episode without an action ends as ``policy_lost``."""
    realtime = contract.pacing is Pacing.REALTIME
    return contract.safety.policy_timeout if realtime else contract.lockstep_deadline


def declaring_time(contract: Contract) -> float:
    """Return the seconds in which the loss of any node is declared by the others, and recorded."""
    safety = contract.safety
    waits = [
        PATIENCE * safety.environment_timeout,
        safety.gate_timeout,
        safety.robot_timeout,
        safety.recorder_timeout,
        safety.policy_timeout,
    ]
    if contract.pacing is Pacing.LOCKSTEP:
        waits.append(contract.lockstep_deadline)
    return max(waits) + _RECORDED_WITHIN


def _too_long(since: int | None, limit: float, now: ClockReading) -> bool:
    return since is None or (now.steady - since) / NANOSECONDS > limit
