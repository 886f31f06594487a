# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules about the order of the steps, and about how an episode begins and ends."""

from __future__ import annotations

from boundary_env_ros.core.contract.model import PublishStep
from boundary_env_ros.core.records.endings import (
    BUILT_IN,
    EndingKind,
    RESET_FAILED,
    SUCCESS,
    TIME_LIMIT,
)
from boundary_env_ros.core.records.transition import Kind
from boundary_env_ros.core.timebase import Clock, elapsed
from boundary_env_ros.evidence.audit.rules.base import (
    Found,
    Mismatch,
    of_step,
    StepContext,
    unlike,
)
from boundary_env_ros.evidence.record_difference import number

_FLAGS = 'terminated, truncated'

#: Who alone declares an ending: the task, whatever its name, or the environment.
_DECLARERS = {SUCCESS: 'task:', TIME_LIMIT: 'environment'}


@of_step('steps-in-order', near=True)
def _step_continuous(context: StepContext) -> Found:
    now, earlier = context.now, context.earlier
    expected = 0 if earlier is None else earlier.id.step + 1
    if now.id.step != expected and not (context.alone and now.id.step > 0):
        yield Mismatch('id.step', f'step {expected}', f'step {now.id.step}')


@of_step('reset-as-contract', near=True)
def _reset_first(context: StepContext) -> Found:
    if context.earlier is None and not context.alone and context.now.kind is not Kind.RESET:
        yield Mismatch('kind', 'an episode that begins with its reset', context.now.kind.name)


@of_step('reset-as-contract')
def _reset_at_its_step(context: StepContext) -> Found:
    now = context.now
    if (now.id.step == 0) != (now.kind is Kind.RESET):
        expected = 'RESET at step 0 and STEP at every other'
        yield Mismatch('kind', expected, f'{now.kind.name} at step {now.id.step}')
    if (now.kind is Kind.RESET) != (now.reset is not None):
        actual = f'{"none" if now.reset is None else "one"} in a {now.kind.name}'
        yield Mismatch('reset', 'a reset record exactly in the reset', actual)


@of_step('reset-as-contract')
def _reset_confirmed(context: StepContext) -> Found:
    reset = context.now.reset
    if reset is None:
        return
    # A procedure that only publishes needs no confirmation.
    asks = context.terms is None or not all(
        isinstance(step, PublishStep) for step in context.terms.contract.episode.reset.steps
    )
    if asks and not reset.confirmed_by and context.now.ending != RESET_FAILED:
        yield Mismatch('reset.confirmed_by', 'a node, a service, a field or a person', 'none')
    if reset.duration is not None and reset.duration < 0:
        yield Mismatch('reset.duration', 'at least 0 s', number(reset.duration))


@of_step('steps-in-order')
def _one_after_another(context: StepContext) -> Found:
    last, earlier, now = context.last, context.earlier, context.now
    if context.reopened:
        yield Mismatch('id.episode_id', 'an episode that was not left', now.id.episode_id)
    if earlier is not None and (earlier.terminated or earlier.truncated):
        expected = f'no step after the ending {earlier.ending!r} at step {earlier.id.step}'
        yield Mismatch('id.step', expected, f'step {now.id.step}')
    steady = None if last is None else elapsed(last.closed, now.closed)
    if steady is not None and steady <= 0.0:
        yield Mismatch('closed.steady', 'after that of the step before', f'{steady} s')
    if earlier is None:
        return
    old, new = earlier.closed.ros, now.closed.ros
    passed = new.nanoseconds - old.nanoseconds
    # Simulated time stands still while an ending is declared from outside.
    least = 0 if new.clock is Clock.ROS else 1
    if old.clock is new.clock and old.host == new.host and passed < least:
        yield Mismatch('closed.ros', 'after that of the step before', f'{passed} ns')


@of_step('steps-in-order')
def _decisions_of_step(context: StepContext) -> Found:
    now = context.now.id
    for link in context.links:
        of = link.decision.id
        # A request may be for a later step; timer and operator know of none.
        if (
            link.decision.request is None
            and of.episode_id == now.episode_id
            and of.step > now.step
        ):
            yield Mismatch(f'{link.place}.id.step', f'at most step {now.step}', f'step {of.step}')


@of_step('ending-declared')
def _one_ending(context: StepContext) -> Found:
    now = context.now
    flags = tuple(kind for kind in EndingKind if getattr(now, kind.name.lower()))
    if len(flags) > 1:
        yield Mismatch(_FLAGS, 'one of them at most', 'both')
    for name in ('ending', 'declared_by'):
        value = getattr(now, name)
        if bool(value) != bool(flags):
            expected = 'a name, for the episode ends' if flags else 'none, for no flag says an end'
            yield Mismatch(name, expected, repr(value))
    ending, terms = now.ending, context.terms
    if not ending:
        return
    kinds = BUILT_IN if terms is None else terms.contract.episode.endings
    if ending in kinds:
        yield from unlike(_FLAGS, (kinds[ending],), flags, f'as {ending!r} is')
    elif terms is not None:
        yield Mismatch('ending', f'one of {", ".join(kinds)}', repr(ending))
    if not now.declared_by.startswith(_DECLARERS.get(ending, '')):
        yield Mismatch(
            'declared_by', f'{_DECLARERS[ending]} for {ending!r}', repr(now.declared_by)
        )
    if now.kind is Kind.RESET and ending != RESET_FAILED:
        yield Mismatch('ending', f'none but {RESET_FAILED} in a reset', repr(ending))
