# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of who made a step, under which contract, and of how steps follow each other."""

from __future__ import annotations

from collections.abc import Iterator
import re

from boundary_env_ros.core.contract.model import PublishStep
from boundary_env_ros.core.records.decision import Verdict
from boundary_env_ros.core.records.endings import (
    BUILT_IN,
    EndingKind,
    RESET_FAILED,
    SUCCESS,
    TIME_LIMIT,
)
from boundary_env_ros.core.records.transition import Kind
from boundary_env_ros.core.timebase import Clock, elapsed
from boundary_env_ros.evidence.audit.rules.audit_rule import (
    Found,
    known,
    of_step,
    StepContext,
    unlike,
)
from boundary_env_ros.evidence.audit.rules.record_checks import other_contract
from boundary_env_ros.evidence.record_difference import Mismatch, number

_DIGEST = re.compile(r'sha256:[0-9a-f]{64}')
UUID = re.compile(r'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}')


@of_step('one-contract')
def _one_contract(context: StepContext) -> Found:
    now, first = context.now.id, context.first.id
    decided = {
        f'decisions[{i}].id': decision.id
        for i, decision in enumerate(context.now.decisions)
        if decision.verdict is not Verdict.REJECTED  # which goes by the name of its request
    }
    for place, found in {'id': now, **decided}.items():
        if not _DIGEST.fullmatch(found.digest):
            expected = 'sha256: and 64 hexadecimal digits'
            yield Mismatch(f'{place}.digest', expected, repr(found.digest))
        yield from unlike(f'{place}.digest', first.digest, found.digest, 'as in the first step')
        yield from unlike(f'{place}.agent', now.agent, found.agent)
    if not UUID.fullmatch(now.episode_id):
        yield Mismatch('id.episode_id', 'a UUID', repr(now.episode_id))


@of_step('one-contract', contract=True)
def _of_contract(context: StepContext) -> Found:
    terms, now = known(context.terms), context.now
    contract = terms.contract
    yield from other_contract('id', now.id, terms)
    yield from unlike('contract', contract.name, now.contract)
    yield from unlike('contract_version', contract.version, now.contract_version)
    yield from unlike('pacing', contract.pacing, now.pacing)


@of_step('versions-present')
def _versions_present(context: StepContext) -> Found:
    now, answer = context.now, context.now.answer
    names = ('contract', 'contract_version', 'software_version', 'client_version')
    found = {name: getattr(now, name) for name in names}
    for i, decision in enumerate(now.decisions):
        found[f'decisions[{i}].software_version'] = decision.software_version
    if answer is not None and answer.request is not None:
        found['request.client_version'] = answer.request.client_version
    if context.now is context.start:  # that they stay through an episode is looked at elsewhere
        found['wrappers'] = ' '.join(now.wrappers)
    for name, version in found.items():
        if not version:
            yield Mismatch(name, 'a name or version', 'nothing')


@of_step('episode-constant')
def _episode_constant(context: StepContext) -> Found:
    for place, expected, actual in _constants(context):
        yield from unlike(place, expected, actual, 'as before')


def _constants(context: StepContext) -> Iterator[tuple[str, object, object]]:
    """Yield what must be the same as before: its place, what it was and what it is."""
    now, earlier = context.now, context.earlier
    for base, names in (
        (context.first, ('contract', 'contract_version', 'software_version')),
        (context.start, ('client_version', 'wrappers', 'seed')),
    ):
        for name in names:
            yield name, getattr(base, name), getattr(now, name)
    answer = now.answer
    if answer is not None and answer.verdict is not Verdict.REJECTED and answer.request:
        versions = now.client_version, answer.request.client_version
        if all(versions):  # that there are any is looked at elsewhere
            yield 'request.client_version', *versions
    for link in context.links:
        if link.before is not None:
            version = link.decision.software_version
            yield f'{link.place}.software_version', link.before.software_version, version
    if earlier is None:
        return
    yield 'closed.ros.host', earlier.closed.ros.host, now.closed.ros.host
    old_ones, new_ones = (*earlier.after, *earlier.state), (*now.after, *now.state)
    for old, new in zip(old_ones, new_ones, strict=False):
        if old.name != new.name:
            continue
        if old.source != new.source:
            yield f'after.{new.name}.source', old.source, new.source
        for name in ('captured', 'published', 'arrived'):
            one, other = getattr(old, name), getattr(new, name)
            if one is not None and other is not None and one.host != other.host:
                yield f'after.{new.name}.{name}.host', one.host, other.host


#: Wrappers that end episodes, or change actions, without the record knowing.
_HIDING = {
    'TimeLimit': 'time limits live in the contract',
    'ClipAction': 'the gate limits actions, and says so',
}


@of_step('no-hidden-wrapper')
def _no_hidden_wrapper(context: StepContext) -> Found:
    for i, name, base in _wrappers(context):
        if base in _HIDING:
            yield Mismatch(f'wrappers[{i}]', f'none: {_HIDING[base]}', repr(name))


@of_step('versions-present')
def _wrappers_known(context: StepContext) -> Found:
    for i, name, base in _wrappers(context):
        if base not in _HIDING and (':' in name or base == 'TransformAction'):
            expected = 'one that is known to change no actions and flags'
            yield Mismatch(f'wrappers[{i}]', expected, repr(name))


def _wrappers(context: StepContext) -> Iterator[tuple[int, str, str]]:
    """Yield place, name and, of one of somebody's own, the known class that each wrapper is."""
    # That they stay through an episode is looked at elsewhere.
    for i, wrapper in enumerate(context.now.wrappers if context.now is context.start else ()):
        name = re.split(r'[<(]', wrapper)[0]
        yield i, name, name.rpartition(':')[2].rpartition('.')[2]


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
