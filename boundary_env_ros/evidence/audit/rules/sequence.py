# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules about the order of the steps, and about how an episode begins."""

from __future__ import annotations

import json
import math

import numpy as np

from boundary_env_ros.core.contract.model import PublishStep
from boundary_env_ros.core.environment.endings import RESET_FAILED
from boundary_env_ros.core.environment.reset import by_name
from boundary_env_ros.core.environment.task import sample
from boundary_env_ros.core.timebase import Clock, elapsed
from boundary_env_ros.core.transition import Kind
from boundary_env_ros.errors import BoundaryError, WRONG_INPUT
from boundary_env_ros.evidence.audit.rules import catalogue
from boundary_env_ros.evidence.audit.rules.base import (
    close,
    Found,
    known,
    Mismatch,
    number,
    of_step,
    ROUNDING,
    Scene,
    unlike,
    vector,
)
from boundary_env_ros.evidence.audit.rules.imported import never


@of_step(catalogue.STEPS_IN_ORDER, near=True)
def _step_continuous(scene: Scene) -> Found:
    now, earlier = scene.now, scene.earlier
    expected = 0 if earlier is None else earlier.id.step + 1
    if now.id.step != expected:
        yield Mismatch('id.step', f'step {expected}', f'step {now.id.step}')


@of_step(catalogue.RESET_AS_CONTRACT, near=True)
def _reset_first(scene: Scene) -> Found:
    now = scene.now
    if (now.id.step == 0) != (now.kind is Kind.RESET):
        expected = 'RESET at step 0 and STEP at every other'
        yield Mismatch('kind', expected, f'{now.kind.name} at step {now.id.step}')
    if scene.earlier is None and now.kind is not Kind.RESET:
        yield Mismatch('kind', 'an episode that begins with its reset', now.kind.name)
    if (now.kind is Kind.RESET) != (now.reset is not None):
        actual = f'{"none" if now.reset is None else "one"} in a {now.kind.name}'
        yield Mismatch('reset', 'a reset record exactly in the reset', actual)


#: What there is in no reset.
_NEUTRAL = {
    **dict.fromkeys(('before', 'reward_terms'), ()),
    **dict.fromkeys(('requested_action', 'admitted_action', 'commanded_action'), ()),
    'reward': 0.0,
    'verdict': None,
    'decision': -1,
    'overrun': False,
    'held_by': '',
}


@of_step(catalogue.RESET_AS_CONTRACT)
def _reset_neutral(scene: Scene) -> Found:
    now = scene.now
    if now.kind is not Kind.RESET:
        return
    if now.terminated or (now.truncated and now.ending != RESET_FAILED):
        expected = f'neither, unless it is {RESET_FAILED!r}'
        yield Mismatch('terminated, truncated', expected, f'an ending by {now.ending!r}')
    for name, nothing in _NEUTRAL.items():
        yield from unlike(name, nothing, getattr(now, name), 'in a reset')


@of_step(catalogue.RESET_AS_CONTRACT, imports=never)
def _reset_verdict(scene: Scene) -> Found:
    reset = scene.now.reset
    if reset is None:
        return
    sampled, achieved = by_name(reset.sampled), by_name(reset.achieved)
    # Which values are angles only the contract says: without it, all of them may be.
    wrap = None if scene.terms is None else scene.terms.contract.episode.reset.wrap
    within = True
    turned = wrap is None and reset.within_tolerance
    for item in reset.tolerance:
        target, reached = sampled.get(item.name), achieved.get(item.name)
        if target is None or reached is None or len(target) != len(reached):
            within = False
            continue
        limits = item.values if len(item.values) == len(target) else item.values * len(target)
        angles = (wrap or {}).get(item.name, range(len(target)) if turned else ())
        for i, (wanted, got, limit) in enumerate(zip(target, reached, limits, strict=False)):
            off = abs(got - wanted)
            if i in angles and math.isfinite(off):
                off = abs(math.remainder(off, math.tau))
            within = within and off <= limit + ROUNDING
    why = 'from sampled, achieved and tolerance'
    yield from unlike('reset.within_tolerance', within, reset.within_tolerance, why)


@of_step(catalogue.RESET_AS_CONTRACT, contract=True, imports=never)
def _reset_as_contract(scene: Scene) -> Found:
    reset = scene.now.reset
    if reset is None:
        return
    declared = known(scene.terms).contract.episode.reset.tolerance
    recorded = by_name(reset.tolerance)
    for name in dict.fromkeys((*declared, *recorded)):
        expected, actual = (tuple(of.get(name, ())) for of in (declared, recorded))
        yield from unlike(f'reset.tolerance.{name}', expected, actual)
    if not reset.within_tolerance and scene.now.ending != RESET_FAILED:
        yield Mismatch('reset.within_tolerance', 'an episode begun within', 'False')


@of_step(catalogue.TASK_RECOMPUTED, contract=True, task=True, imports=never)
def _reset_recomputed(scene: Scene) -> Found:
    reset, task = scene.now.reset, scene.task
    if reset is None or task is None:
        return
    try:
        options = json.loads(reset.options)
        sampled = sample(
            task, known(scene.terms).contract, np.random.default_rng(reset.seed), options
        )
    except (BoundaryError, *WRONG_INPUT) as error:
        yield Mismatch('reset.options', 'a seed and options to sample from', str(error))
        return
    ours, theirs = by_name(sampled), by_name(reset.sampled)
    for name in dict.fromkeys((*ours, *theirs)):
        expected, actual = ours.get(name, ()), theirs.get(name, ())
        if len(expected) != len(actual) or not all(map(close, expected, actual)):
            yield Mismatch(f'reset.sampled.{name}', vector(expected), vector(actual))


@of_step(catalogue.RESET_AS_CONTRACT, imports=never)
def _reset_confirmed(scene: Scene) -> Found:
    reset = scene.now.reset
    if reset is None:
        return
    # A procedure that only publishes needs no confirmation.
    asks = scene.terms is None or not all(
        isinstance(step, PublishStep) for step in scene.terms.contract.episode.reset.steps
    )
    if asks and not reset.confirmed_by and scene.now.ending != RESET_FAILED:
        yield Mismatch('reset.confirmed_by', 'a node, a service, a field or a person', 'none')
    if reset.duration is not None and reset.duration < 0:
        yield Mismatch('reset.duration', 'at least 0 s', number(reset.duration))
    try:
        options = json.loads(reset.options)
    except ValueError:
        options = None
    if not isinstance(options, dict):
        yield Mismatch('reset.options', 'a JSON object', repr(reset.options[:40]))


@of_step(catalogue.STEPS_IN_ORDER)
def _one_after_another(scene: Scene) -> Found:
    last, earlier, now = scene.last, scene.earlier, scene.now
    if scene.reopened:
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
