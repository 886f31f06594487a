# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of how an episode ends, and of what it was worth."""

from __future__ import annotations

from boundary_env_ros.core.contract.model import Contract, OnStale
from boundary_env_ros.core.environment.endings import (
    BUILT_IN,
    EndingKind,
    foremost,
    SENSOR_LOST,
    TIME_LIMIT,
)
from boundary_env_ros.core.environment.observation import FieldStatus, lost
from boundary_env_ros.core.gate.decision import Verdict
from boundary_env_ros.evidence.audit.rules import catalogue
from boundary_env_ros.evidence.audit.rules.base import (
    declared,
    Found,
    known,
    Mismatch,
    of_step,
    Scene,
    unlike,
)
from boundary_env_ros.evidence.audit.rules.imported import if_complete, never

GATE = 'safety_gate'


@of_step(catalogue.ENDING_DECLARED)
def _ending_declared(scene: Scene) -> Found:
    now, ended = scene.now, scene.ended
    if now.terminated and now.truncated:
        yield Mismatch('terminated, truncated', 'at most one of the two', 'both')
    for name in ('ending', 'declared_by'):
        if bool(getattr(now, name)) is not ended:
            expected = f'{"one" if ended else "none"}, as the flags say'
            yield Mismatch(name, expected, repr(getattr(now, name)))
    if not now.ending or not ended:
        return
    table = scene.terms.contract.episode.endings if scene.terms is not None else BUILT_IN
    if now.ending in table:
        actual = EndingKind.TERMINATED if now.terminated else EndingKind.TRUNCATED
        yield from unlike(actual.name.lower(), table[now.ending], actual, f'for {now.ending!r}')
    elif scene.terms is not None:  # Without the contract an ending of its own cannot be judged.
        yield Mismatch('ending', f'one of {", ".join(table)}', repr(now.ending))


@of_step(catalogue.ENDING_JUSTIFIED, contract=True)
def _ending_justified(scene: Scene) -> Found:
    now, contract = scene.now, known(scene.terms).contract
    limit = contract.max_steps
    if now.id.step > limit:
        yield Mismatch('id.step', f'at most {limit} steps', f'step {now.id.step}')
    elif now.id.step == limit and not scene.ended:
        yield Mismatch('truncated', f'an ending at step {limit}', 'a running episode')
    if now.ending == TIME_LIMIT and now.id.step < limit:
        yield Mismatch('ending', f'{TIME_LIMIT!r} not before step {limit}', f'step {now.id.step}')
    specs, fields = (*contract.observation, *contract.state), (*now.after, *now.state)
    if now.ending == SENSOR_LOST and len(fields) == len(specs) and not lost(specs, fields):
        yield Mismatch('ending', 'a field that is lost', 'every field is there')


@of_step(catalogue.ENDING_JUSTIFIED, contract=True, imports=if_complete)
def _stale_ends_episode(scene: Scene) -> Found:
    for place, spec, field, frozen in () if scene.ended else declared(scene):
        stale = spec.on_stale is OnStale.TRUNCATE and field.status is not FieldStatus.FRESH
        if stale and frozen is not None:
            actual = f'{field.status.name} in a running episode'
            yield Mismatch(f'{place}.status', 'FRESH, or an ending', actual)


@of_step(catalogue.ENDING_JUSTIFIED, contract=True, imports=never)
def _stop_ends_episode(scene: Scene) -> Found:
    now, contract = scene.now, known(scene.terms).contract
    stops = {
        ending
        for decision in now.decisions
        for result in decision.rules
        if result.outcome is Verdict.STOPPED
        and (ending := contract.episode.on_stop.get(result.reason.name))
    }
    yield from ends_by(stops, now.ending, contract)
    if now.declared_by == GATE and now.ending not in stops:
        expected = f'one of {", ".join(stops) or "no"} stops of the gate'
        yield Mismatch('ending', expected, repr(now.ending))


def ends_by(present: set[str], ending: str, contract: Contract) -> Found:
    """Yield a mismatch unless the episode ended by the foremost ending, or one before it."""
    if present:
        order = tuple(contract.episode.endings)
        yield from unlike('ending', foremost({*present, ending} - {''}, order), ending)
