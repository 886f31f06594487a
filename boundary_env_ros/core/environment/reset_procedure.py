# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A reset that goes on: the declared procedure, step by step.

Answers come in, what is to be asked for comes out. Every step has a deadline; whoever calls
:meth:`Resetting.overdue` often enough hears of it.
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
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.environment.observation import Sample
from boundary_env_ros.core.environment.reset import by_name, outside, ResetWorld, WorldReset
from boundary_env_ros.core.timebase import ClockReading, NANOSECONDS
from boundary_env_ros.core.transition import NamedValues

#: What is asked for: of the robot, or as the step itself says.
ResetEffect: TypeAlias = ResetWorld | CallStep | PublishStep | ConfirmStep
ResetEffects: TypeAlias = tuple[ResetEffect, ...]


class Resetting:
    """
    One run of a reset procedure.

    Parameters
    ----------
    procedure
        The procedure.
    seed, sampled
        Seed of the episode, and what the task sampled from it.
    asked
        When the reset was asked for.
    angles
        By name of a field, which of its values are angles.
    options
        Reset options of the client, a JSON object or empty.
    missing
        Says of a field that has no value yet which it is, and why.

    Attributes
    ----------
    answer
        The world's answer; None until it has come, or if the procedure asks no world.
    started
        Whether the first step was begun.
    finished
        When the last step was done; None until then.

    """

    def __init__(
        self,
        procedure: ResetProcedure,
        *,
        seed: int,
        sampled: tuple[NamedValues, ...],
        asked: ClockReading,
        angles: Mapping[str, Collection[int]] | None = None,
        options: str = '',
        missing: Callable[[str], str] = repr,
    ) -> None:
        self._procedure = procedure
        self._angles = angles or {}
        self._options = options
        self._missing = missing
        self.seed = seed
        self.sampled = sampled
        self.asked = asked
        self.answer: WorldReset | None = None
        self.started = False
        self.finished: ClockReading | None = None
        self._confirmed: list[str] = []
        self._index = 0
        self._since = asked.steady
        self._seen: Sample | None = None

    @property
    def step(self) -> ResetStep | None:
        """The step that goes on; None before the first, and when all are done."""
        steps = self._procedure.steps
        return steps[self._index] if self.started and self._index < len(steps) else None

    @property
    def prompt(self) -> str:
        """What a person is asked to do now; empty if nothing."""
        return self.step.prompt if isinstance(self.step, ConfirmStep) else ''

    @property
    def confirmed_by(self) -> str:
        """Who says that the world was reset."""
        own = () if self.answer is None else (self.answer.confirmed_by,)
        return ', '.join(filter(None, (*own, *self._confirmed)))

    def start(self, now: ClockReading) -> ResetEffects:
        """Begin with the first step."""
        self.started = True
        return self._enter(now)

    def _next(self, now: ClockReading) -> ResetEffects:
        self._index += 1
        return self._enter(now)

    def _enter(self, now: ClockReading) -> ResetEffects:
        """Begin the step that is due, and every one that takes no time before it."""
        effects: list[ResetEffect] = []
        while (step := self.step) is not None:
            self._since, self._seen = now.steady, None
            if isinstance(step, WorldStep):
                effects.append(
                    ResetWorld(seed=self.seed, target=self.sampled, options=self._options)
                )
            elif not isinstance(step, WaitStep):
                effects.append(step)
            if isinstance(step, PublishStep):
                self._index += 1
                continue
            return tuple(effects)
        self.finished = now
        if self.answer is None:
            # Only the procedure itself says that the world was reset.
            self.answer = WorldReset(completed=now.ros.nanoseconds)
        return tuple(effects)

    # Answers -------------------------------------------------------------------------------------

    def world(self, answer: WorldReset, now: ClockReading) -> ResetEffects:
        """Take the world's answer."""
        if not isinstance(self.step, WorldStep):
            return ()
        self.answer = answer
        return self._next(now)

    def calls(self, service: str) -> bool:
        """Return whether the step that goes on is the call of a service."""
        return isinstance(self.step, CallStep) and self.step.service == service

    def called(self, service: str, now: ClockReading) -> ResetEffects:
        """Take the answer of a service that was called."""
        if not self.calls(service):
            return ()
        self._confirmed.append(service)
        return self._next(now)

    def confirmed(self, user: str, now: ClockReading) -> ResetEffects:
        """Take a person's word that it is done."""
        if not isinstance(self.step, ConfirmStep):
            return ()
        self._confirmed.append(user)
        return self._next(now)

    def seen(self, latest: Mapping[str, Sample], now: ClockReading) -> ResetEffects:
        """Look whether what is waited for has come."""
        step = self.step
        if not isinstance(step, WaitStep):
            return ()
        self._seen = latest.get(step.field)
        if self._off(step):
            return ()
        self._confirmed.append(f'field {step.field}')
        return self._next(now)

    def _target(self, step: WaitStep) -> Vector:
        return by_name(self.sampled).get(step.sampled, ()) if step.sampled else step.target

    def _off(self, step: WaitStep) -> str:
        """Return in words how the field differs from what it is to be; empty if it does not."""
        target = self._target(step)
        if self._seen is None:
            return f'a value of {self._missing(step.field)}'
        values = self._seen.values
        if len(values) != len(target):
            return f'{len(target)} values of the field {step.field!r}, which has {len(values)}'
        off = outside(values, target, step.tolerance, self._wrap(step))
        if not off:
            return ''
        first, *others = off
        tolerance = step.tolerance[first if len(step.tolerance) > 1 else 0]
        more = f', and {len(others)} more' if others else ''
        return (
            f'{step.field}[{first}] within {tolerance:g} of {target[first]:g}, '
            f'which is {values[first]:g}{more}'
        )

    def _wrap(self, step: WaitStep) -> Collection[int]:
        return {*step.wrap, *self._angles.get(step.field, ())}

    # Deadlines -----------------------------------------------------------------------------------

    def waiting_for(self) -> str:
        """Return in words what the step that goes on waits for; empty when all are done."""
        if not self.started:
            return 'the safety gate to bring the robot to rest'
        match self.step:
            case WorldStep(service=service) | CallStep(service=service):
                return f'the answer of the service {service}'
            case WaitStep() as step:
                return self._off(step) or f'the field {step.field!r}'
            case ConfirmStep(prompt=prompt):
                return f'a person to confirm: {prompt}'
        return ''

    def overdue(self, now: ClockReading) -> str:
        """Return one sentence if the step that goes on is past its deadline; else empty."""
        step = self.step
        if step is None or isinstance(step, PublishStep):
            return ''
        if now.steady - self._since <= step.deadline * NANOSECONDS:
            return ''
        return (
            f'A step of the reset timed out after {step.deadline:g} s '
            f'(expected {self.waiting_for()})'
        )
