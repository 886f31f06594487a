# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules about the order of the steps, and about how an episode begins."""

from __future__ import annotations

import json
import math

import numpy as np

from boundary_env_ros.core.causes import RESET_FAILED
from boundary_env_ros.core.contract import PublishStep
from boundary_env_ros.core.reset import by_name
from boundary_env_ros.core.task import sample
from boundary_env_ros.core.timebase import Clock, elapsed
from boundary_env_ros.core.transition import Kind
from boundary_env_ros.errors import BoundaryError, WRONG_INPUT
from boundary_env_ros.evidence.rules.base import (
    close,
    Found,
    known,
    Mismatch,
    number,
    ROUNDING,
    Rule,
    rule,
    Scene,
    vector,
)


@rule(
    'step-continuous',
    'The steps of an episode are 0, 1, 2, ... with none left out and none twice.',
    'Look for lost messages (`lost` in the status of the recorder) or for lines that were taken '
    'out.',
)
def _step_continuous(scene: Scene) -> Found:
    now, earlier = scene.now, scene.earlier
    expected = 0 if earlier is None else earlier.id.step + 1
    if now.id.step != expected:
        yield Mismatch(field='id.step', expected=f'step {expected}', actual=f'step {now.id.step}')


@rule(
    'step-after-ending',
    'Nothing follows the ending of an episode.',
    'Look at the client: an ended episode is not stepped, it is reset.',
)
def _step_after_ending(scene: Scene) -> Found:
    earlier = scene.earlier
    if earlier is not None and (earlier.terminated or earlier.truncated):
        yield Mismatch(
            field='id.step',
            expected=f'no step after the ending {earlier.cause!r} at step {earlier.id.step}',
            actual=f'step {scene.now.id.step}',
        )


@rule(
    'episode-in-one-piece',
    'The steps of one episode follow one another; an agent that went on to another does not come '
    'back.',
    'Do not join or sort records; look for an episode that was copied in twice.',
)
def _episode_in_one_piece(scene: Scene) -> Found:
    if scene.reopened:
        yield Mismatch(
            field='id.episode_id',
            expected='an episode that was not left before',
            actual=scene.now.id.episode_id,
        )


@rule(
    'reset-first',
    'An episode begins with its reset, step 0; no other step is one, and the reset record is '
    'there only.',
    'Look for a first line that was taken out: without the reset nobody can repeat the episode.',
)
def _reset_first(scene: Scene) -> Found:
    now = scene.now
    if (now.id.step == 0) != (now.kind is Kind.RESET):
        yield Mismatch(
            field='kind',
            expected='RESET at step 0 and STEP at every other',
            actual=f'{now.kind.name} at step {now.id.step}',
        )
    if scene.earlier is None and now.kind is not Kind.RESET:
        yield Mismatch(
            field='kind', expected='an episode that begins with its reset', actual=now.kind.name
        )
    if (now.kind is Kind.RESET) != (now.reset is not None):
        yield Mismatch(
            field='reset',
            expected='a reset record exactly in the reset',
            actual=f'{"none" if now.reset is None else "one"} in a {now.kind.name}',
        )


@rule(
    'reset-neutral',
    'A reset is worth nothing, has no action and no observation before it, and ends nothing '
    'unless '
    'it failed.',
    'Look at who wrote the reset; what a reset costs belongs into its record, not into the '
    'reward.',
)
def _reset_neutral(scene: Scene) -> Found:
    now = scene.now
    if now.kind is not Kind.RESET:
        return
    if now.reward != 0.0 or now.reward_terms:
        yield Mismatch(field='reward', expected='0 and no terms', actual=number(now.reward))
    if now.terminated or (now.truncated and now.cause != RESET_FAILED):
        yield Mismatch(
            field='terminated, truncated',
            expected=f'neither, unless it is {RESET_FAILED!r}',
            actual=f'an ending by {now.cause!r}',
        )
    if now.before:
        yield Mismatch(field='before', expected='nothing', actual=f'{len(now.before)} fields')
    for name in ('requested_action', 'admitted_action', 'commanded_action'):
        if getattr(now, name):
            yield Mismatch(field=name, expected='no action', actual=vector(getattr(now, name)))
    if now.verdict is not None or now.decision != -1 or now.overrun or now.held_by:
        yield Mismatch(
            field='verdict, decision, overrun',
            expected='no decision that answers a reset',
            actual=f'{now.verdict.name if now.verdict else "no verdict"}, {now.decision}, '
            f'{now.overrun}',
        )


@rule(
    'seed-constant',
    'Every step carries the seed that its episode was reset with.',
    'Look at who changed one of the two; the reset can only be repeated from the true one.',
)
def _seed_constant(scene: Scene) -> Found:
    now, start = scene.now, scene.start
    if now.seed != start.seed:
        yield Mismatch(field='seed', expected=f'{start.seed} as at step 0', actual=str(now.seed))
    if now.reset is not None and now.reset.seed != now.seed:
        yield Mismatch(field='reset.seed', expected=str(now.seed), actual=str(now.reset.seed))


@rule(
    'reset-verdict',
    'A reset is within tolerance exactly if every achieved value is within the tolerance of the '
    'sampled one, recomputed from both.',
    'Trust the values, not the verdict; and do not count episodes that began somewhere else.',
)
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
    if within is not reset.within_tolerance:
        yield Mismatch(
            field='reset.within_tolerance',
            expected=f'{within}, from sampled, achieved and tolerance',
            actual=str(reset.within_tolerance),
        )


@rule(
    'reset-as-contract',
    'A reset is held against the tolerances of the contract, and an episode runs only if it is '
    'within them.',
    'Compare `episode: reset: tolerance:` in the contract; a reset that failed is repeated, not '
    'used.',
    needs_contract=True,
)
def _reset_as_contract(scene: Scene) -> Found:
    reset = scene.now.reset
    if reset is None:
        return
    declared = known(scene.terms).contract.episode.reset.tolerance
    recorded = by_name(reset.tolerance)
    for name, expected in declared.items():
        if tuple(recorded.get(name, ())) != tuple(expected):
            yield Mismatch(
                field=f'reset.tolerance.{name}',
                expected=vector(expected),
                actual=vector(recorded.get(name, ())),
            )
    for name in recorded:
        if name not in declared:
            yield Mismatch(
                field=f'reset.tolerance.{name}', expected='none', actual=vector(recorded[name])
            )
    if not reset.within_tolerance and scene.now.cause != RESET_FAILED:
        yield Mismatch(
            field='reset.within_tolerance', expected='an episode begun within', actual='False'
        )


@rule(
    'reset-recomputed',
    'The state sampled for a reset is the one that the task samples from the recorded seed and '
    'options.',
    'Install the version of the task that the contract names; if it is that one, seed or state '
    'was changed.',
    needs_contract=True,
    needs_task=True,
)
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
        yield Mismatch(
            field='reset.options', expected='a seed and options to sample from', actual=str(error)
        )
        return
    ours, theirs = by_name(sampled), by_name(reset.sampled)
    for name in dict.fromkeys((*ours, *theirs)):
        expected, actual = ours.get(name, ()), theirs.get(name, ())
        if len(expected) != len(actual) or not all(map(close, expected, actual)):
            yield Mismatch(
                field=f'reset.sampled.{name}', expected=vector(expected), actual=vector(actual)
            )


@rule(
    'reset-confirmed',
    'A reset says who confirmed it, how long it took, and with which options.',
    'Look at the environment that wrote it; somebody must have seen the world where it should be.',
)
def _reset_confirmed(scene: Scene) -> Found:
    reset = scene.now.reset
    if reset is None:
        return
    # A procedure that only publishes asks nobody.
    asks = scene.terms is None or not all(
        isinstance(step, PublishStep) for step in scene.terms.contract.episode.reset.steps
    )
    if asks and not reset.confirmed_by and scene.now.cause != RESET_FAILED:
        yield Mismatch(
            field='reset.confirmed_by',
            expected='a node, a service, a field or a person',
            actual='nobody',
        )
    if reset.duration is not None and reset.duration < 0:
        yield Mismatch(
            field='reset.duration', expected='at least 0 s', actual=number(reset.duration)
        )
    try:
        options = json.loads(reset.options)
    except ValueError:
        options = None
    if not isinstance(options, dict):
        yield Mismatch(
            field='reset.options', expected='a JSON object', actual=repr(reset.options[:40])
        )


@rule(
    'time-advances',
    'Every step closes after the one before it, on the ROS clock and on the steady clock.',
    'Look for a clock that was set back during the run, or for steps that changed places.',
)
def _time_advances(scene: Scene) -> Found:
    last, now = scene.last, scene.now
    if last is None:
        return
    steady = elapsed(last.closed, now.closed)
    if steady is not None and steady <= 0.0:
        yield Mismatch(
            field='closed.steady', expected='after that of the step before', actual=f'{steady} s'
        )
    old, new = last.closed.ros, now.closed.ros
    if old.clock is new.clock and old.host == new.host and scene.earlier is not None:
        passed = new.nanoseconds - old.nanoseconds
        # Simulated time stands still while an ending is declared from outside.
        if passed < 0 or (passed == 0 and new.clock is not Clock.ROS):
            yield Mismatch(
                field='closed.ros',
                expected='after that of the step before',
                actual=f'{passed} ns',
            )


RULES: tuple[Rule, ...] = (
    _step_continuous,
    _step_after_ending,
    _episode_in_one_piece,
    _reset_first,
    _reset_neutral,
    _seed_constant,
    _reset_verdict,
    _reset_as_contract,
    _reset_recomputed,
    _reset_confirmed,
    _time_advances,
)
