# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Evidence of execution that came after its step had been closed, and the stages it completes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Generic, TypeVar

from boundary_env_ros.core.latency import LatencyStage, measure
from boundary_env_ros.core.transition import ActuationEvidence, Transition

#: Steps that are remembered until the evidence of their execution comes.
WINDOW = 1024

#: The stages that need it.
LATE_STAGES = ('actuation', 'reaction')

T = TypeVar('T')


class Waiting(Generic[T]):
    """Steps whose execution was not known when they were closed, each with what waits for it."""

    def __init__(self) -> None:
        self._steps: OrderedDict[tuple[str, int], tuple[Transition, T]] = OrderedDict()

    def add(self, step: Transition, whose: T) -> None:
        """Remember a step, if evidence of its execution may still come."""
        answer = step.answer
        if step.actuated is None and answer is not None and answer.published:
            self._steps[step.id.agent, answer.sequence] = (step, whose)
            if len(self._steps) > WINDOW:
                self._steps.popitem(last=False)

    def take(self, evidence: ActuationEvidence) -> tuple[Transition, T] | None:
        """Return the step that evidence is about, and forget it; None if there is none."""
        found = self._steps.pop((evidence.id.agent, evidence.decision_sequence), None)
        if found is None or found[0].commanded != evidence.commanded:
            return None
        return found


def late_stages(
    step: Transition, evidence: ActuationEvidence, budget: Mapping[str, float]
) -> dict[str, LatencyStage]:
    """Return the stages of a step that evidence completes."""
    latency = measure(
        captured=step.captured,
        observed=None,
        delivered=None,
        requested=None,
        received=None,
        commanded=step.commanded,
        actuated=evidence.actuated,
        budget=budget,
        offsets=step.clock_offsets,
    )
    return {name: getattr(latency, name) for name in LATE_STAGES}
