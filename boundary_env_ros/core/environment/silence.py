# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Who has been silent for too long, as the environment judges it."""

from __future__ import annotations

from collections.abc import Mapping

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.observation_buffer import ObservationBuffer, View
from boundary_env_ros.core.records import endings
from boundary_env_ros.core.timebase import ClockReading, NANOSECONDS
from boundary_env_ros.frozen import frozen

#: How long the environment may be silent in an episode, in `environment_timeout`s of the contract.
#: The gate stops the robot after one; the second is for an environment that is merely late.
PATIENCE = 2.0

# For what was declared to be recorded, on a busy machine, s.
_RECORDED_WITHIN = 3.0


@frozen
class Heartbeats:
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


def recorder_silent(contract: Contract, beats: Heartbeats, now: ClockReading) -> bool:
    """Return whether a recorder that is required is silent, or never sent a heartbeat."""
    return contract.recorder_required and (
        beats.recorder is None or _too_long(beats.recorder, contract.safety.recorder_timeout, now)
    )


def sensors_lost(
    contract: Contract, beats: Heartbeats, buffer: ObservationBuffer, view: View, now: ClockReading
) -> Mapping[str, str]:
    """
    Return the ending that fields which a view lacks stand for, with a sentence; empty if none.

    Where a driver dies all topics fall silent at once, and the field that may be the least old
    shows it first: it is a sign that the whole robot is gone. If its sensor alone died,
    something else has come in the meantime.
    """
    why = '; '.join(buffer.lost(view).values())
    if not why:
        return {}
    max_age = buffer.quickest(view)
    timeout = contract.safety.robot_timeout
    if max_age is not None and not contract.is_lockstep:
        timeout = min(timeout, max_age / 2.0)
    if not _too_long(beats.robot, timeout, now):
        return {endings.SENSOR_LOST: why}
    why += '; no sensor was heard meanwhile'
    if max_age is not None:
        why += ': if the driver runs, max_age is too short for the period of its sensor'
    return {endings.ROBOT_LOST: why}


def silent(
    contract: Contract, beats: Heartbeats, now: ClockReading, *, advancing: bool
) -> Mapping[str, str]:
    """
    Return which parties have been silent for too long: one sentence for each ending.

    Parameters
    ----------
    advancing
        Whether, in lockstep, the world was asked to advance and has not answered.

    """
    safety, lockstep = contract.safety, contract.is_lockstep
    found: dict[str, str] = {}
    stuck = lockstep and _too_long(beats.own, contract.lockstep_deadline, now)
    # In lockstep a silent gate holds the world still, and nothing is lost until the deadline.
    if _too_long(beats.gate, safety.gate_timeout, now) and (stuck or not lockstep):
        found[endings.GATE_LOST] = 'the safety gate is silent'
    elif beats.gate_falls_silent:
        found[endings.GATE_LOST] = 'the safety gate was deactivated'
    if recorder_silent(contract, beats, now):
        found[endings.RECORDER_LOST] = 'the recorder is silent'
    if not lockstep:
        # A node that was paused itself has received none: the others have given it up, and are
        # not to blame.
        if _too_long(beats.own, safety.environment_timeout + contract.period, now):
            found[endings.ENVIRONMENT_LOST] = 'the environment stood still'
        if _too_long(beats.robot, contract.safety.robot_timeout, now):
            found[endings.ROBOT_LOST] = 'every sensor is silent'
        if _too_long(beats.policy, safety.policy_timeout, now):
            found[endings.POLICY_LOST] = 'the policy is silent'
    elif stuck:
        if advancing:
            found[endings.ROBOT_LOST] = 'the world did not advance in time'
        else:
            found[endings.POLICY_LOST] = 'the policy is silent'
    return found


def policy_limit(contract: Contract) -> float:
    """Return the seconds after which an episode without an action ends as ``policy_lost``."""
    realtime = not contract.is_lockstep
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
    if contract.is_lockstep:
        waits.append(contract.lockstep_deadline)
    return max(waits) + _RECORDED_WITHIN


def _too_long(since: int | None, limit: float, now: ClockReading) -> bool:
    return since is None or (now.steady - since) / NANOSECONDS > limit
