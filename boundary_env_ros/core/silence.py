# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Who has been silent for too long, as the environment hears it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from boundary_env_ros.core import causes
from boundary_env_ros.core.contract import Contract, Pacing
from boundary_env_ros.core.timebase import Instant, NANOSECONDS


@dataclass(slots=True, kw_only=True)
class Heard:
    """
    Steady time (ns) of the last sign of life of each party; None before the first.

    Attributes
    ----------
    gate, recorder, robot, policy
        The parties.
    own
        When the environment last did what it waits for the others to let it do.

    """

    gate: int | None = None
    recorder: int | None = None
    robot: int | None = None
    policy: int | None = 0
    own: int = 0


def robot_silent(contract: Contract, heard: Heard, now: Instant) -> bool:
    """Return whether every sensor has been silent for too long."""
    return _too_long(heard.robot, contract.safety.robot_timeout, now)


def silent(
    contract: Contract, heard: Heard, now: Instant, *, advancing: bool
) -> Mapping[str, str]:
    """
    Return which parties have been silent for too long: one sentence for each cause.

    Parameters
    ----------
    advancing
        Whether, in lockstep, the world was asked to advance and has not answered.

    """
    safety = contract.safety
    found: dict[str, str] = {}
    if _too_long(heard.gate, safety.gate_timeout, now):
        found[causes.GATE_LOST] = 'the safety gate is silent'
    if contract.recorder_required and _too_long(heard.recorder, safety.recorder_timeout, now):
        found[causes.RECORDER_LOST] = 'the recorder is silent'
    if contract.pacing is Pacing.REALTIME:
        # Whoever was stopped itself has heard nobody: the others have given it up, and are not to
        # blame.
        if _too_long(heard.own, safety.environment_timeout + contract.period, now):
            found[causes.ENVIRONMENT_LOST] = 'the environment stood still'
        if robot_silent(contract, heard, now):
            found[causes.ROBOT_LOST] = 'every sensor is silent'
        if _too_long(heard.policy, safety.policy_timeout, now):
            found[causes.POLICY_LOST] = 'the policy is silent'
    elif _too_long(heard.own, contract.lockstep_deadline, now):
        if advancing:
            found[causes.ROBOT_LOST] = 'the world did not advance in time'
        else:
            found[causes.POLICY_LOST] = 'the policy is silent'
    return found


def _too_long(since: int | None, limit: float, now: Instant) -> bool:
    return since is None or now.steady - since > limit * NANOSECONDS
