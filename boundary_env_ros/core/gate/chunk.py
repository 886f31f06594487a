# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is left of a request that covers several steps."""

from __future__ import annotations

from boundary_env_ros.core.records.decision import ActionRequest
from boundary_env_ros.core.timebase import ClockReading, NANOSECONDS
from boundary_env_ros.frozen import frozen, replace


@frozen(kw_only=False)
class Chunk:
    """A request, and which of its actions is next; ``due`` is the steady time of its turn."""

    request: ActionRequest
    received: ClockReading
    index: int
    due: int

    @property
    def step(self) -> int:
        """The step that the next action is meant for."""
        return self.request.id.step + self.index

    def next(self, period: float) -> Chunk | None:
        """Return what is left after the next action; None if that was the last."""
        if self.index + 1 >= self.request.horizon:
            return None
        return replace(self, index=self.index + 1, due=self.due + round(period * NANOSECONDS))
