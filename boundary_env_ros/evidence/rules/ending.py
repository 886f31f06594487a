# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules about how an episode ends, and about what it was worth."""

from __future__ import annotations

import math

from boundary_env_ros.core import causes
from boundary_env_ros.core.causes import BUILT_IN, Ending
from boundary_env_ros.evidence.rules.base import (
    close,
    Found,
    known,
    Mismatch,
    number,
    Rule,
    rule,
    Scene,
)


def ended(scene: Scene) -> bool:
    """Return whether the step ends its episode."""
    return scene.now.terminated or scene.now.truncated


@rule(
    'ending-exclusive',
    'An ending is terminated or truncated, never both.',
    'Find the wrapper that sets the second flag: time limits live in the contract, not around it.',
)
def _ending_exclusive(scene: Scene) -> Found:
    if scene.now.terminated and scene.now.truncated:
        yield Mismatch(
            field='terminated, truncated', expected='at most one of the two', actual='both'
        )


@rule(
    'ending-cause',
    'Every ending has one cause, and a running episode has none.',
    'Look at the environment that wrote it: it names a cause of the contract whenever it sets a '
    'flag.',
)
def _ending_cause(scene: Scene) -> Found:
    cause = scene.now.cause
    if ended(scene) and not cause:
        yield Mismatch(field='cause', expected='the cause of the ending', actual='nothing')
    if cause and not ended(scene):
        yield Mismatch(
            field='cause', expected='none while neither flag is set', actual=repr(cause)
        )


@rule(
    'ending-declarer',
    'Every ending says which node declared it, and a running episode names nobody.',
    'Look at the environment that wrote it: whoever ends an episode signs the ending.',
)
def _ending_declarer(scene: Scene) -> Found:
    declarer = scene.now.declared_by
    if ended(scene) and not declarer:
        yield Mismatch(field='declared_by', expected='the node that declared it', actual='nothing')
    if declarer and not ended(scene):
        yield Mismatch(
            field='declared_by', expected='nobody while neither flag is set', actual=repr(declarer)
        )


@rule(
    'cause-mapping',
    'A cause is one of the contract, and terminates or truncates as the contract says.',
    'Compare `episode: causes:` in the contract; a time limit or a loss is never a termination.',
)
def _cause_mapping(scene: Scene) -> Found:
    now = scene.now
    if not now.cause or not ended(scene):
        return
    table = scene.terms.contract.episode.causes if scene.terms is not None else BUILT_IN
    if now.cause not in table:
        # Without the contract a cause of its own cannot be judged.
        if scene.terms is not None:
            yield Mismatch(
                field='cause', expected=f'one of {", ".join(table)}', actual=repr(now.cause)
            )
        return
    expected = table[now.cause]
    actual = Ending.TERMINATED if now.terminated else Ending.TRUNCATED
    if expected is not actual:
        yield Mismatch(
            field='terminated' if now.terminated else 'truncated',
            expected=f'{now.cause!r} to be {expected.name.lower()}',
            actual=actual.name.lower(),
        )


@rule(
    'time-limit',
    'No step is beyond the limit of the contract; the last one allowed ends the episode, and '
    '`time_limit` is declared there only.',
    'Compare `episode: time_limit:` and `period:` in the contract with the steps of the record.',
    needs_contract=True,
)
def _time_limit(scene: Scene) -> Found:
    now, limit = scene.now, known(scene.terms).contract.max_steps
    if now.id.step > limit:
        yield Mismatch(
            field='id.step', expected=f'at most {limit} steps', actual=f'step {now.id.step}'
        )
    elif now.id.step == limit and not ended(scene):
        yield Mismatch(
            field='truncated', expected=f'an ending at step {limit}', actual='a running episode'
        )
    if now.cause == causes.TIME_LIMIT and now.id.step < limit:
        yield Mismatch(
            field='cause',
            expected=f"'time_limit' not before step {limit}",
            actual=f'it at step {now.id.step}',
        )


@rule(
    'reward-sum',
    'The reward is a finite number and the sum of its terms.',
    'Look at the task that made the terms, and at whoever changed the reward afterwards.',
)
def _reward_sum(scene: Scene) -> Found:
    now = scene.now
    total = math.fsum(term.value for term in now.reward_terms)
    if not math.isfinite(now.reward):
        yield Mismatch(field='reward', expected='a finite number', actual=number(now.reward))
    elif not close(now.reward, total):
        yield Mismatch(
            field='reward',
            expected=f'{number(total)}, the sum of its terms',
            actual=number(now.reward),
        )


RULES: tuple[Rule, ...] = (
    _ending_exclusive,
    _ending_cause,
    _ending_declarer,
    _cause_mapping,
    _time_limit,
    _reward_sum,
)
