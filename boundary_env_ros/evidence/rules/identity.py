# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules about who made the record, under which contract, for which episode."""

from __future__ import annotations

from collections.abc import Iterator
import re
import uuid

from boundary_env_ros.core.decision import StepId, Verdict
from boundary_env_ros.evidence.rules.base import (
    Found,
    known,
    Mismatch,
    Rule,
    rule,
    Scene,
    Severity,
)

_DIGEST = re.compile(r'sha256:[0-9a-f]{64}')


def _ids(scene: Scene) -> Iterator[tuple[str, StepId]]:
    """Yield every identity in the transition, but for those of requests that were refused."""
    yield 'id', scene.now.id
    for i, decision in enumerate(scene.now.decisions):
        if decision.verdict is not Verdict.REJECTED:
            yield f'decisions[{i}].id', decision.id


@rule(
    'versions-present',
    'The record names the contract, its version, and the software version of environment, client '
    'and gate.',
    'Record with a facade and nodes that report their versions; a result without them cannot be '
    'repeated.',
)
def _versions_present(scene: Scene) -> Found:
    now = scene.now
    for name in ('contract', 'contract_version', 'software_version', 'client_version'):
        if not getattr(now, name):
            yield Mismatch(field=name, expected='a name or version', actual='nothing')
    for i, decision in enumerate(now.decisions):
        if not decision.software_version:
            yield Mismatch(
                field=f'decisions[{i}].software_version', expected='a version', actual='nothing'
            )
        if decision is scene.answer and decision.request and not decision.request.client_version:
            yield Mismatch(
                field=f'decisions[{i}].request.client_version',
                expected='a version',
                actual='nothing',
            )


@rule(
    'versions-constant',
    'Contract and software versions stay the same through the record, and those of the client, '
    'with its wrappers, through an episode.',
    'Do not join records of different versions into one; compare them as two.',
)
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
            yield Mismatch(field=name, expected=f'{expected!r} as before', actual=repr(actual))
    for link in scene.links:
        if link.before is not None:
            expected, actual = link.before.software_version, link.decision.software_version
            if actual != expected:
                yield Mismatch(
                    field=f'{link.place}.software_version',
                    expected=f'{expected!r} as before',
                    actual=repr(actual),
                )


@rule(
    'digest-well-formed',
    'A contract digest is "sha256:" and 64 hexadecimal digits.',
    'Look at who wrote the record: every node of this package writes the whole digest.',
)
def _digest_well_formed(scene: Scene) -> Found:
    for place, found in _ids(scene):
        if not _DIGEST.fullmatch(found.digest):
            yield Mismatch(
                field=f'{place}.digest',
                expected='sha256: and 64 hexadecimal digits',
                actual=repr(found.digest),
            )


@rule(
    'digest-constant',
    'The whole record is made under one contract: one digest in every step, decision and admitted '
    'request.',
    'Do not join records of different contracts into one; compare them as two.',
)
def _digest_constant(scene: Scene) -> Found:
    for place, found in _ids(scene):
        if found.digest != scene.first.id.digest:
            yield Mismatch(
                field=f'{place}.digest',
                expected=f'{scene.first.id.digest} as in the first step',
                actual=found.digest,
            )


@rule(
    'digest-of-contract',
    'Digest, name, version and pacing in the record are those of the contract that is shipped '
    'with '
    'it.',
    'Audit against the contract of the run (its copy lies in the run folder), with the version of '
    'the task that the run was made with installed.',
    needs_contract=True,
)
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
            yield Mismatch(field=field, expected=expected, actual=actual or 'nothing')


@rule(
    'agent-known',
    'Every step is of one agent of the contract, and so are the decisions that it carries.',
    'Keep the records of several agents apart by their namespace.',
)
def _agent_known(scene: Scene) -> Found:
    now = scene.now
    if scene.terms is not None and now.id.agent not in scene.terms.contract.agents:
        yield Mismatch(
            field='id.agent',
            expected=f'one of {", ".join(scene.terms.contract.agents)}',
            actual=repr(now.id.agent),
        )
    for place, found in _ids(scene):
        if found.agent != now.id.agent:
            yield Mismatch(
                field=f'{place}.agent', expected=repr(now.id.agent), actual=repr(found.agent)
            )


@rule(
    'episode-named',
    'An episode is named by a UUID in its canonical text form.',
    'Look at who began the episode: the environment node draws a new UUID for each.',
)
def _episode_named(scene: Scene) -> Found:
    name = scene.now.id.episode_id
    try:
        canonical = str(uuid.UUID(name)) == name
    except ValueError:
        canonical = False
    if not canonical:
        yield Mismatch(field='id.episode_id', expected='a UUID', actual=repr(name))


#: Wrappers that end episodes, or change actions, without the record knowing.
_UNSEEN = {
    'TimeLimit': 'time limits live in the contract',
    'ClipAction': 'the gate limits actions, and says so',
}

#: Wrappers that count what others, which stand outside of them, may change.
_COUNT = ('RecordEpisodeStatistics',)
_CHANGE = ('NormalizeReward', 'TransformReward', 'ClipReward')


@rule(
    'wrapper-order',
    'No wrapper of the client sets a time limit or clips actions unseen, and one that counts '
    'returns stands inside of those that change rewards.',
    'Take the wrapper away, or put it elsewhere in the chain (outermost first in the record).',
    severity=Severity.WARNING,
)
def _wrapper_order(scene: Scene) -> Found:
    names = [re.split(r'[<(]', name)[0].rpartition('.')[2] for name in scene.now.wrappers]
    if scene.now is not scene.start:
        return  # Once for an episode; that they stay the same is looked at elsewhere.
    for i, name in enumerate(names):
        if name in _UNSEEN:
            yield Mismatch(
                field=f'wrappers[{i}]', expected=f'none: {_UNSEEN[name]}', actual=repr(name)
            )
        if name in _COUNT and any(later in _CHANGE for later in names[i + 1 :]):
            yield Mismatch(
                field=f'wrappers[{i}]',
                expected=f'inside of {", ".join(w for w in names[i + 1 :] if w in _CHANGE)}',
                actual=f'{name!r} outside of it',
            )


RULES: tuple[Rule, ...] = (
    _wrapper_order,
    _versions_present,
    _versions_constant,
    _digest_well_formed,
    _digest_constant,
    _digest_of_contract,
    _agent_known,
    _episode_named,
)
