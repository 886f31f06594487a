# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether the steps of an episode keep their times, counted as they come."""

from __future__ import annotations

from collections import Counter, deque
import math

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.records.latency import STAGES
from boundary_env_ros.core.records.transition import Kind, Transition

#: A tick is late if it comes later than this share of the period.
LATE = 0.1

# Steps that rates and stages are computed from.
_WINDOW = 50


class StepTiming:
    """
    Counts what was late, and by whom.

    Parameters
    ----------
    contract
        Has the period.

    Attributes
    ----------
    steps
        Steps that were closed.
    overruns
        Of these, steps that were closed without an action: the policy was late.
    late
        Steps whose tick came later than a tenth of the period: the environment was late.
    missed
        Periods in which the environment did not tick at all.
    over_budget
        Steps in which a stage took longer than its budget, by stage.
    worst
        The largest tick error, s.

    """

    def __init__(self, contract: Contract) -> None:
        self._period = contract.period
        self._recent: deque[Transition] = deque(maxlen=_WINDOW)
        self.steps = self.overruns = self.late = self.missed = 0
        self.over_budget: Counter[str] = Counter()
        self.worst = 0.0

    def add(self, transition: Transition) -> None:
        """Take the next transition of an agent; a reset begins again."""
        if transition.kind is Kind.RESET:
            self._recent.clear()
            return
        self._recent.append(transition)
        self.steps += 1
        self.overruns += transition.overrun
        self.over_budget.update(over_budget(transition))
        error = transition.tick_error or 0.0
        self.late += error > LATE * self._period
        # The environment lets whole periods pass rather than tick twice in one.
        self.missed += max(0, round(error / self._period))
        self.worst = max(self.worst, error)

    @property
    def trouble(self) -> str:
        """What is wrong with the steps of late, in words; empty if they keep their times."""
        recent = self._recent
        overruns = sum(each.overrun for each in recent)
        late = sum((each.tick_error or 0.0) > LATE * self._period for each in recent)
        slow = Counter(stage for each in recent for stage in over_budget(each))
        found = {'without an action': overruns, 'with a late tick': late}
        found |= {f'with {stage} over budget': count for stage, count in slow.items()}
        counts = ', '.join(f'{count} {what}' for what, count in found.items() if count)
        return f'of the last {len(recent)} steps {counts}' if counts else ''

    @property
    def rate(self) -> float:
        """Steps per second of late; NaN before the second."""
        times = [each.closed.steady for each in self._recent]
        passed = (times[-1] - times[0]) / 1e9 if len(times) > 1 else 0.0
        return (len(times) - 1) / passed if passed > 0.0 else math.nan

    def stage(self, name: str) -> tuple[float, float, float]:
        """Return the last, the median and the longest of late of a stage, s; NaN if unknown."""
        known = [
            duration
            for each in self._recent
            if (duration := getattr(each.latency, name).duration) is not None
        ]
        if not known:
            return math.nan, math.nan, math.nan
        last = getattr(self._recent[-1].latency, name).duration
        return math.nan if last is None else last, sorted(known)[len(known) // 2], max(known)


def over_budget(transition: Transition) -> tuple[str, ...]:
    """Return the stages of a step that took longer than the contract allows."""
    return tuple(name for name in STAGES if getattr(transition.latency, name).over_budget)
