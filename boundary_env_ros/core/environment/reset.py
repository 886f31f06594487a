# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Resets: asking the world for a state, and judging whether it was reached.

The declared procedure goes on step by step: answers come in, what is to be asked for comes out.
Every step has a deadline; a caller of :meth:`Resetting.overdue` gets it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

from boundary_env_ros.core.contract.model import (
    CallStep,
    ConfirmStep,
    PublishStep,
    ResetProcedure,
    ResetStep,
    WaitStep,
    WorldStep,
)
from boundary_env_ros.core.records.parts import NamedValues, StepId
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.core.timebase import ClockReading, NANOSECONDS
from boundary_env_ros.core.vectors import all_near, Vector
from boundary_env_ros.frozen import frozen, replace


@frozen
class ResetWorld:
    """
    Asks the robot, or its simulation, for a state of the world; see ``ResetWorld.srv``.

    Attributes
    ----------
    target
        The state to reach, as the task sampled it.
    options
        Reset options of the client, a JSON object or empty.

    """

    seed: int
    target: tuple[NamedValues, ...]
    options: str = ''


@frozen
class WorldReset:
    """
    The answer to :class:`ResetWorld`.

    Attributes
    ----------
    error
        What failed; empty if nothing did.
    achieved
        State by the robot's own account.
    completed
        ROS time in nanoseconds; sensor values captured before it are of the old world.
    confirmed_by
        Who says so.
    info
        What the world says of itself, a JSON object or empty; of several agents by agent.

    """

    error: str = ''
    achieved: tuple[NamedValues, ...] = ()
    completed: int = 0
    confirmed_by: str = ''
    info: str = ''


@frozen
class SavedState:
    """
    The state of a world as a plugin gave it, from which a reset can begin it again.

    Attributes
    ----------
    id
        The last step before.
    state
        A JSON object.

    """

    id: StepId
    state: str


def by_name(values: tuple[NamedValues, ...]) -> Mapping[str, Vector]:
    """Return named values as a mapping."""
    return {item.name: item.values for item in values}


def tolerances(procedure: ResetProcedure) -> tuple[NamedValues, ...]:
    """Return the declared tolerances in the form of the record."""
    return tuple(NamedValues(name=n, values=v) for n, v in procedure.tolerance.items())


def outside(
    actual: Vector, target: Vector, tolerance: Vector, wrap: Collection[int] = ()
) -> tuple[int, ...]:
    """Return which values are farther off than their tolerance; one may stand for all."""
    each = tolerance * len(target) if len(tolerance) == 1 else tolerance
    pairs = zip(all_near(actual, target, wrap), target, each, strict=True)
    return tuple(i for i, (a, b, most) in enumerate(pairs) if not abs(a - b) <= most)


def out_of_tolerance(
    sampled: tuple[NamedValues, ...],
    achieved: tuple[NamedValues, ...],
    tolerance: tuple[NamedValues, ...],
    wrap: Mapping[str, Collection[int]] | None = None,
) -> tuple[str, ...]:
    """
    Return one sentence for each value that is missing, or farther off than its tolerance.

    Parameters
    ----------
    sampled, achieved, tolerance
        What was asked for, what came of it, and how far they may differ.
    wrap
        By name, which values are angles; see ``ResetProcedure``.

    """
    targets, reached = by_name(sampled), by_name(achieved)
    sentences = []
    for item in tolerance:
        target, actual = targets.get(item.name), reached.get(item.name)
        if target is None or actual is None or len(target) != len(actual):
            sentences.append(f'The robot does not say what it achieved of {item.name!r}')
            continue
        if len(item.values) not in (1, len(target)):
            sentences.append(
                f'Wrong tolerance of {item.name!r} '
                f'(expected {len(target)} values, got {len(item.values)})'
            )
            continue
        if outside(actual, target, item.values, (wrap or {}).get(item.name, ())):
            sentences.append(
                f'{item.name!r} is out of tolerance (expected within {list(item.values)} of '
                f'{list(target)}, got {list(actual)})'
            )
    return tuple(sentences)


# One reset that goes on --------------------------------------------------------------------------

#: What is asked for: of the robot, or as the step itself says.
ResetOutput: TypeAlias = ResetWorld | CallStep | PublishStep | ConfirmStep
ResetOutputs: TypeAlias = tuple[ResetOutput, ...]


@frozen
class Resetting:
    """
    One run of a reset procedure.

    Attributes
    ----------
    procedure
        The procedure.
    seed, sampled
        Seed of the episode, and what the task sampled from it.
    requested
        When the reset was asked for.
    angles
        By name of a field, which of its values are angles.
    options
        Reset options of the client, a JSON object or empty.
    answer
        The world's answer; None until it has come, or if the procedure asks no world.
    started, index, since
        Whether the first step was begun; which step goes on, and since when (steady time, ns).
    newest
        The last value of the field that this step waits for.
    confirmed
        Who says that the steps before it are done.
    finished
        When the last step was done; None until then.
    supplied
        Whether the task has supplied its fields.
    delayed_by
        What the start of the episode waits for besides, in words: other agents of the world.

    """

    procedure: ResetProcedure
    seed: int
    sampled: tuple[NamedValues, ...]
    requested: ClockReading
    angles: Mapping[str, Collection[int]]
    options: str
    answer: WorldReset | None = None
    started: bool = False
    index: int = 0
    since: int = 0
    newest: Reading | None = None
    confirmed: tuple[str, ...] = ()
    finished: ClockReading | None = None
    supplied: bool = False
    delayed_by: str = ''

    @property
    def step(self) -> ResetStep | None:
        """The step that goes on; None before the first, and when all are done."""
        steps = self.procedure.steps
        return steps[self.index] if self.started and self.index < len(steps) else None

    @property
    def prompt(self) -> str:
        """What a person is asked to do now; empty if nothing."""
        return self.step.prompt if isinstance(self.step, ConfirmStep) else ''

    @property
    def confirmed_by(self) -> str:
        """Who says that the world was reset."""
        own = () if self.answer is None else (self.answer.confirmed_by,)
        return ', '.join(filter(None, (*own, *self.confirmed)))

    @property
    def wrong(self) -> tuple[str, ...]:
        """What the world says that it achieved, where that is out of tolerance, in words."""
        achieved = () if self.answer is None else self.answer.achieved
        procedure = self.procedure
        return out_of_tolerance(self.sampled, achieved, tolerances(procedure), procedure.wrap)

    def start(self, now: ClockReading) -> tuple[Resetting, ResetOutputs]:
        """Begin with the first step."""
        return _entered(replace(self, started=True), now)

    def next(self, now: ClockReading, confirmed_by: str = '') -> tuple[Resetting, ResetOutputs]:
        """Go on to the next step: what this one waits for has come, as ``confirmed_by`` says."""
        confirmed = (*self.confirmed, *filter(None, (confirmed_by,)))
        return _entered(replace(self, index=self.index + 1, confirmed=confirmed), now)

    def poll(
        self, latest: Mapping[str, Reading], now: ClockReading
    ) -> tuple[Resetting, ResetOutputs]:
        """Go on, if the value of a field that is waited for has come."""
        step = self.step
        if not isinstance(step, WaitStep):
            return self, ()
        newest = latest.get(step.field)
        reset = replace(self, newest=newest)
        if newest is None or self._off(step, newest.values):
            return reset, ()
        return reset.next(now, f'field {step.field}')

    def _off(self, step: WaitStep, values: Vector) -> str:
        """Return in words how the field differs from what it is to be; empty if it does not."""
        target = by_name(self.sampled).get(step.sampled, ()) if step.sampled else step.target
        if len(values) != len(target):
            return f'{len(target)} values of the field {step.field!r}, which has {len(values)}'
        wrap = {*step.wrap, *self.angles.get(step.field, ())}
        off = outside(values, target, step.tolerance, wrap)
        if not off:
            return ''
        first, *others = off
        tolerance = step.tolerance[first if len(step.tolerance) > 1 else 0]
        more = f', and {len(others)} more' if others else ''
        return (
            f'{step.field}[{first}] within {tolerance:g} of {target[first]:g}, '
            f'which is {values[first]:g}{more}'
        )

    # Deadlines -----------------------------------------------------------------------------------

    def waiting_for(self, missing: Callable[[str], str]) -> str:
        """
        Return in words what the step that goes on waits for; empty when all are done.

        Parameters
        ----------
        missing
            Says of a field that has no value yet which it is, and why.

        """
        if not self.started:
            return 'the safety gate to bring the robot to rest'
        match self.step:
            case WorldStep(service=service) | CallStep(service=service):
                return f'the answer of the service {service}'
            case WaitStep() as step:
                if self.newest is None:
                    return f'a value of {missing(step.field)}'
                return self._off(step, self.newest.values) or f'the field {step.field!r}'
            case ConfirmStep(prompt=prompt):
                return f'a person to confirm: {prompt}'
        return ''

    def overdue(self, now: ClockReading, missing: Callable[[str], str]) -> str:
        """Return one sentence if the step that goes on is past its deadline; else empty."""
        step = self.step
        if step is None or isinstance(step, PublishStep):
            return ''
        if (now.steady - self.since) / NANOSECONDS <= step.deadline:
            return ''
        return (
            f'A step of the reset timed out after {step.deadline:g} s '
            f'(expected {self.waiting_for(missing)})'
        )


def _entered(reset: Resetting, now: ClockReading) -> tuple[Resetting, ResetOutputs]:
    """Begin the step that is due, and every one that takes no time before it."""
    outputs: list[ResetOutput] = []
    while (step := reset.step) is not None:
        reset = replace(reset, since=now.steady, newest=None)
        if isinstance(step, WorldStep):
            outputs.append(
                ResetWorld(seed=reset.seed, target=reset.sampled, options=reset.options)
            )
        elif not isinstance(step, WaitStep):
            outputs.append(step)
        if not isinstance(step, PublishStep):
            return reset, tuple(outputs)
        reset = replace(reset, index=reset.index + 1)
    # Where no world was asked, only the procedure itself says that it was reset.
    answer = reset.answer or WorldReset(completed=now.ros.nanoseconds)
    return replace(reset, finished=now, answer=answer), tuple(outputs)
