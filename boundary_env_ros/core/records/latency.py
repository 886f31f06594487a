# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How long a step took, in stages; :mod:`.instants` makes them of the instants of the step."""

from __future__ import annotations

from boundary_env_ros.frozen import frozen

STAGES = ('capture', 'transport', 'inference', 'gate', 'actuation', 'reaction')

#: Those that are measured on the steady clock in lockstep, where no budget holds for them.
STEADY_IN_LOCKSTEP = ('transport', 'inference', 'gate')


@frozen
class LatencyStage:
    """
    One stage of a step.

    Attributes
    ----------
    duration
        Seconds; None if unknown.
    clock_offset, uncertainty
        Seconds that were added for the clocks of two hosts, and what that may be wrong by; None if
        never measured.
    budget
        Seconds that the contract allows; None if it says nothing.

    """

    duration: float | None = None
    clock_offset: float | None = 0.0
    uncertainty: float | None = 0.0
    budget: float | None = None

    @property
    def over_budget(self) -> bool:
        """Return whether the stage is known to have taken longer than the contract allows."""
        if self.duration is None or self.budget is None or self.uncertainty is None:
            return False
        return self.duration - self.uncertainty > self.budget

    @property
    def impossible(self) -> bool:
        """Return whether the stage is known to have taken less than no time."""
        if self.duration is None or self.uncertainty is None:
            return False
        return self.duration + self.uncertainty < 0.0


@frozen
class Latency:
    """The stages of one step; in realtime they add up to ``reaction``."""

    capture: LatencyStage = LatencyStage()
    transport: LatencyStage = LatencyStage()
    inference: LatencyStage = LatencyStage()
    gate: LatencyStage = LatencyStage()
    actuation: LatencyStage = LatencyStage()
    reaction: LatencyStage = LatencyStage()
