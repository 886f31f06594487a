# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What the damages to an honest record are made with.

A damage takes a list of transitions and returns another one; nothing is changed in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
import re
from typing import Any

from boundary_env_ros.core.records.decision import GateDecision, Reason, Verdict
from boundary_env_ros.core.records.instants import measure
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.records.transition import Kind, Transition
from boundary_env_ros.core.timebase import ClockReading, Stamp
from support.core_messages import changed_decision

Steps = list[Transition]
Damage = Callable[[Steps], Steps]
Where = Callable[[Transition], bool]

MS = 1_000_000


@dataclass(frozen=True)
class Case:
    """One damage and the rule that must name it."""

    name: str
    rule: str
    damage: Damage


# Tools -------------------------------------------------------------------------------------------


def put(record: Any, path: str, value: Any) -> Any:
    """Return a record with another value at a path such as ``decisions[0].request.action``."""
    match = re.match(r'(\w+)(?:\[([-.\w]+)\])?(?:\.|$)', path)
    assert match is not None
    name, index, rest = match[1], match[2], path[match.end() :]
    present = getattr(record, name)
    if index is None:
        new = put(present, rest, value) if rest else value
    else:
        at = _index(present, index)
        item = put(present[at], rest, value) if rest else value
        new = (*present[:at], item, *present[at + 1 :])
    return replace(record, **{name: new(present) if callable(new) else new})


def _index(items: tuple[Any, ...], index: str) -> int:
    if re.fullmatch(r'-?\d+', index):
        return int(index) % len(items)
    return next(i for i, item in enumerate(items) if item.name == index)


def find(steps: Steps, where: Where) -> int:
    """Return the index of the first step of some kind."""
    return next(i for i, step in enumerate(steps) if where(step))


def at(where: Where, **paths: Any) -> Damage:
    """Change values in the first step of some kind; ``__`` in a name stands for a path's dot."""

    def damage(steps: Steps) -> Steps:
        i = find(steps, where)
        step = steps[i]
        for path, value in paths.items():
            step = put(step, path, value)
        return [*steps[:i], step, *steps[i + 1 :]]

    return damage


def edit(where: Where, change: Callable[[Transition], Transition]) -> Damage:
    """Change the first step of some kind."""

    def damage(steps: Steps) -> Steps:
        i = find(steps, where)
        return [*steps[:i], change(steps[i]), *steps[i + 1 :]]

    return damage


def everywhere(change: Callable[[Transition], Transition]) -> Damage:
    """Change every step."""
    return lambda steps: [change(step) for step in steps]


def answer_of(step: Transition) -> GateDecision:
    return step.decisions[step.decision]


def with_answer(step: Transition, **changes: Any) -> Transition:
    """Return a step whose answering decision is changed, and what the step copied from it too."""
    decision = changed_decision(answer_of(step), **changes)
    index = step.decision
    return replace(
        step,
        decisions=(*step.decisions[:index], decision, *step.decisions[index + 1 :]),
        verdict=decision.verdict,
        requested_action=decision.requested_action,
        admitted_action=decision.admitted_action,
        commanded_action=decision.command,
        commanded=decision.commanded,
    )


def remeasured(step: Transition) -> Transition:
    """Return a step whose latency fits its instants."""
    budget = {
        f.name: stage.budget
        for f in fields(step.latency)
        if (stage := getattr(step.latency, f.name)).budget is not None
    }
    lockstep = step.pacing is Pacing.LOCKSTEP
    latency = measure(step, budget, lockstep=lockstep)
    return replace(step, latency=latency)


def later(instant: ClockReading | None, milliseconds: int) -> ClockReading:
    """Return a later instant, on both clocks."""
    assert instant is not None
    ros = replace(instant.ros, nanoseconds=instant.ros.nanoseconds + milliseconds * MS)
    return ClockReading(ros=ros, steady=instant.steady + milliseconds * MS)


def stamp_later(stamp: Stamp | None, milliseconds: int) -> Stamp:
    assert stamp is not None
    return replace(stamp, nanoseconds=stamp.nanoseconds + milliseconds * MS)


def scaled(values: Iterable[float], factor: float) -> tuple[float, ...]:
    return tuple(value * factor for value in values)


# Kinds of steps ----------------------------------------------------------------------------------


def is_reset(step: Transition) -> bool:
    return step.kind is Kind.RESET


def is_second_reset(steps: Steps) -> int:
    return [i for i, step in enumerate(steps) if is_reset(step)][1]


def is_clipped(step: Transition) -> bool:
    """Return whether the bounds, and nothing else, limited the action."""
    return step.decision >= 0 and [r.reason for r in answer_of(step).rules] == [
        Reason.OUT_OF_BOUNDS
    ]


def is_admitted(step: Transition) -> bool:
    """Return whether the robot was let go as it was asked to."""
    return step.verdict is Verdict.ADMITTED and step.id.step > 4 and any(step.commanded_action)


def is_rate_limited(step: Transition) -> bool:
    return step.decision >= 0 and any(r.reason is Reason.RATE_LIMIT for r in answer_of(step).rules)


def is_stopped(step: Transition) -> bool:
    return step.ending == 'safety_stop'


def is_success(step: Transition) -> bool:
    return step.ending == 'success'


def is_time_limit(step: Transition) -> bool:
    return step.ending == 'time_limit'


def is_overrun(step: Transition) -> bool:
    return step.overrun


def is_held(step: Transition) -> bool:
    return any(decision.verdict is Verdict.HELD for decision in step.decisions)


def is_rejected(step: Transition) -> bool:
    return step.verdict is Verdict.REJECTED


def is_actuated(step: Transition) -> bool:
    return step.actuated is not None


def is_seeded(step: Transition) -> bool:
    return any(decision.inputs.seeded for decision in step.decisions)
