# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules about who made the record, under which contract, for which episode."""

from __future__ import annotations

from collections.abc import Iterator
import re
import uuid

from boundary_env_ros.core.decision import StepId, Verdict
from boundary_env_ros.evidence.rules import catalogue
from boundary_env_ros.evidence.rules.base import (
    Found,
    known,
    Mismatch,
    of_step,
    Scene,
)
from boundary_env_ros.evidence.rules.imported import never

_DIGEST = re.compile(r'sha256:[0-9a-f]{64}')


def _ids(scene: Scene) -> Iterator[tuple[str, StepId]]:
    """Yield every identity in the transition, but for those of requests that were refused."""
    yield 'id', scene.now.id
    for i, decision in enumerate(scene.now.decisions):
        if decision.verdict is not Verdict.REJECTED:
            yield f'decisions[{i}].id', decision.id


@of_step(catalogue.VERSIONS_PRESENT, imports=never)
def _versions_present(scene: Scene) -> Found:
    now = scene.now
    for name in ('contract', 'contract_version', 'software_version', 'client_version'):
        if not getattr(now, name):
            yield Mismatch(name, 'a name or version', 'nothing')
    for i, decision in enumerate(now.decisions):
        if not decision.software_version:
            yield Mismatch(f'decisions[{i}].software_version', 'a version', 'nothing')
        if decision is scene.answer and decision.request and not decision.request.client_version:
            yield Mismatch(f'decisions[{i}].request.client_version', 'a version', 'nothing')


@of_step(catalogue.EPISODE_CONSTANT)
def _versions_constant(scene: Scene) -> Found:
    now = scene.now
    for name, base in (
        ('contract', scene.first),
        ('contract_version', scene.first),
        ('software_version', scene.first),
        ('client_version', scene.start),
        ('wrappers', scene.start),
    ):
        expected, actual = getattr(base, name), getattr(now, name)
        if actual != expected:
            yield Mismatch(name, f'{expected!r} as before', repr(actual))
    for link in scene.links:
        if link.before is not None:
            expected, actual = link.before.software_version, link.decision.software_version
            if actual != expected:
                yield Mismatch(
                    f'{link.place}.software_version', f'{expected!r} as before', repr(actual)
                )


@of_step(catalogue.ONE_CONTRACT)
def _digest_well_formed(scene: Scene) -> Found:
    for place, found in _ids(scene):
        if not _DIGEST.fullmatch(found.digest):
            yield Mismatch(
                f'{place}.digest', 'sha256: and 64 hexadecimal digits', repr(found.digest)
            )


@of_step(catalogue.ONE_CONTRACT)
def _digest_constant(scene: Scene) -> Found:
    for place, found in _ids(scene):
        if found.digest != scene.first.id.digest:
            yield Mismatch(
                f'{place}.digest', f'{scene.first.id.digest} as in the first step', found.digest
            )


@of_step(catalogue.ONE_CONTRACT, contract=True)
def _digest_of_contract(scene: Scene) -> Found:
    terms, now = known(scene.terms), scene.now
    contract = terms.contract
    for field, expected, actual in (
        ('id.digest', terms.digest, now.id.digest),
        ('contract', contract.name, now.contract),
        ('contract_version', contract.version, now.contract_version),
        ('pacing', contract.pacing.name, now.pacing.name),
    ):
        if actual != expected:
            yield Mismatch(field, expected, actual or 'nothing')


@of_step(catalogue.ONE_CONTRACT)
def _agent_known(scene: Scene) -> Found:
    now = scene.now
    if scene.terms is not None and now.id.agent not in scene.terms.contract.agents:
        yield Mismatch(
            'id.agent', f'one of {", ".join(scene.terms.contract.agents)}', repr(now.id.agent)
        )
    for place, found in _ids(scene):
        if found.agent != now.id.agent:
            yield Mismatch(f'{place}.agent', repr(now.id.agent), repr(found.agent))


@of_step(catalogue.ONE_CONTRACT)
def _episode_named(scene: Scene) -> Found:
    name = scene.now.id.episode_id
    try:
        canonical = str(uuid.UUID(name)) == name
    except ValueError:
        canonical = False
    if not canonical:
        yield Mismatch('id.episode_id', 'a UUID', repr(name))


#: Wrappers that end episodes, or change actions, without the record knowing.
_UNSEEN = {
    'TimeLimit': 'time limits live in the contract',
    'ClipAction': 'the gate limits actions, and says so',
}

#: Wrappers that count what others, which stand outside of them, may change.
_COUNT = ('RecordEpisodeStatistics',)
_CHANGE = ('NormalizeReward', 'TransformReward', 'ClipReward')


@of_step(catalogue.WRAPPER_ORDER, imports=never)
def _wrapper_order(scene: Scene) -> Found:
    names = [re.split(r'[<(]', name)[0].rpartition('.')[2] for name in scene.now.wrappers]
    if scene.now is not scene.start:
        return  # Once for an episode; that they stay the same is looked at elsewhere.
    for i, name in enumerate(names):
        if name in _UNSEEN:
            yield Mismatch(f'wrappers[{i}]', f'none: {_UNSEEN[name]}', repr(name))
        if name in _COUNT and any(later in _CHANGE for later in names[i + 1 :]):
            yield Mismatch(
                f'wrappers[{i}]',
                f'inside of {", ".join(w for w in names[i + 1 :] if w in _CHANGE)}',
                f'{name!r} outside of it',
            )
