# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules about how an episode ends, and about what it was worth."""

from __future__ import annotations

import math

from boundary_env_ros.core import causes
from boundary_env_ros.core.causes import BUILT_IN, Ending
from boundary_env_ros.evidence.rules import catalogue
from boundary_env_ros.evidence.rules.base import (
    close,
    Found,
    known,
    Mismatch,
    number,
    of_step,
    Scene,
)
from boundary_env_ros.evidence.rules.imported import if_judged


def ended(scene: Scene) -> bool:
    """Return whether the step ends its episode."""
    return scene.now.terminated or scene.now.truncated


@of_step(catalogue.ENDING_DECLARED)
def _ending_exclusive(scene: Scene) -> Found:
    if scene.now.terminated and scene.now.truncated:
        yield Mismatch('terminated, truncated', 'at most one of the two', 'both')


@of_step(catalogue.ENDING_DECLARED)
def _ending_cause(scene: Scene) -> Found:
    cause = scene.now.cause
    if ended(scene) and not cause:
        yield Mismatch('cause', 'the cause of the ending', 'nothing')
    if cause and not ended(scene):
        yield Mismatch('cause', 'none while neither flag is set', repr(cause))


@of_step(catalogue.ENDING_DECLARED)
def _ending_declarer(scene: Scene) -> Found:
    declarer = scene.now.declared_by
    if ended(scene) and not declarer:
        yield Mismatch('declared_by', 'the node that declared it', 'nothing')
    if declarer and not ended(scene):
        yield Mismatch('declared_by', 'nobody while neither flag is set', repr(declarer))


@of_step(catalogue.ENDING_DECLARED)
def _cause_mapping(scene: Scene) -> Found:
    now = scene.now
    if not now.cause or not ended(scene):
        return
    table = scene.terms.contract.episode.causes if scene.terms is not None else BUILT_IN
    if now.cause not in table:
        # Without the contract a cause of its own cannot be judged.
        if scene.terms is not None:
            yield Mismatch('cause', f'one of {", ".join(table)}', repr(now.cause))
        return
    expected = table[now.cause]
    actual = Ending.TERMINATED if now.terminated else Ending.TRUNCATED
    if expected is not actual:
        yield Mismatch(
            'terminated' if now.terminated else 'truncated',
            f'{now.cause!r} to be {expected.name.lower()}',
            actual.name.lower(),
        )


@of_step(catalogue.ENDING_JUSTIFIED, contract=True)
def _time_limit(scene: Scene) -> Found:
    now, limit = scene.now, known(scene.terms).contract.max_steps
    if now.id.step > limit:
        yield Mismatch('id.step', f'at most {limit} steps', f'step {now.id.step}')
    elif now.id.step == limit and not ended(scene):
        yield Mismatch('truncated', f'an ending at step {limit}', 'a running episode')
    if now.cause == causes.TIME_LIMIT and now.id.step < limit:
        yield Mismatch(
            'cause', f"'time_limit' not before step {limit}", f'it at step {now.id.step}'
        )


@of_step(catalogue.REWARD_SUM, imports=if_judged)
def _reward_sum(scene: Scene) -> Found:
    now = scene.now
    total = math.fsum(term.value for term in now.reward_terms)
    if not math.isfinite(now.reward):
        yield Mismatch('reward', 'a finite number', number(now.reward))
    elif not close(now.reward, total):
        yield Mismatch('reward', f'{number(total)}, the sum of its terms', number(now.reward))
