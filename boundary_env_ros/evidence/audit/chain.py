# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the chain over the messages of a bag says of it, as findings."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.audit.auditor import Auditor
from boundary_env_ros.evidence.audit.rules.base import Mismatch
from boundary_env_ros.storage.record_chain import ChainCheck, ChainLink
from boundary_env_ros.storage.signing import is_signed


def check_chain(
    chain: ChainCheck,
    auditor: Auditor,
    *,
    topics: Collection[tuple[str, str]],
    damaged: bool,
    episodes: int,
    key: bytes,
    head: str,
) -> Mapping[str, object]:
    """
    Note where the chain of a bag breaks, and return what is told of it.

    Parameters
    ----------
    chain
        The chain, which has followed all messages of the bag.
    auditor
        What gets the findings.
    topics
        Names and types of the topics that have messages, as the bag sums them up.
    damaged
        Whether messages are known to be missing: then what is only missing is no contradiction.
    episodes
        Number of episodes that the records of the bag speak of.
    key, head
        Public key of the signature and head that the chain must have; empty: any.

    """
    chain.finish()
    last = chain.last
    # What the topics are is read from the summary, which no chain covers.
    found = chain.types.items()
    wrong = found - topics if damaged else found ^ set(topics)
    for name, kind in sorted(wrong) if chain.messages else ():
        there, not_there = f'{name} ({kind}) in the summary', 'none there'
        if (name, kind) not in found:
            there, not_there = f'messages of {name} ({kind})', 'none but in the summary'
        auditor.find('record-unchanged', Mismatch('topics', there, not_there))
    auditor.has_chain = last is not None
    if last is None:
        if key or head:
            auditor.find('record-unchanged', Mismatch('record chain', 'a chain', 'none'))
        return {}
    for broken in chain.breaks:
        if broken.only_missing and damaged:
            auditor.lacks('record-unchanged')
        else:
            place = broken.topic or 'record chain'
            auditor.find('record-unchanged', Mismatch(place, broken.expected, broken.actual))
    if not damaged:
        lacking = _lacking(chain, last)
        for mismatch in lacking:
            auditor.find('record-closed', mismatch)
        if episodes < last.episodes and not lacking:
            fewer = Mismatch('record chain', f'{last.episodes} episodes', str(episodes))
            auditor.find('record-unchanged', fewer)
    if head and last.head.hex() != head.lower():
        auditor.find('record-unchanged', Mismatch('record chain', f'head {head}', last.head.hex()))
    _check_signature(last, auditor, key)
    return {
        'messages': chain.messages,
        'confirmed': chain.confirmed,
        'closed': last.closed,
        'episodes': last.episodes,
        'head': last.head.hex(),
        'public_key': last.public_key.hex(),
    }


def _lacking(chain: ChainCheck, last: ChainLink) -> list[Mismatch]:
    """Return what the chain says that the bag must have, and has not."""
    found = [
        Mismatch(topic, f'{count} messages', 'nothing of it')
        for topic, count in chain.absent.items()
    ]
    if chain.before:
        less = f'a slice of a run: {sum(chain.before.values())} messages came before it'
        found.append(Mismatch('record chain', 'the beginning of the bag', less))
    if not last.closed:
        found.append(Mismatch('record chain', 'the last link', 'nothing of it'))
    return found


def _check_signature(last: ChainLink, auditor: Auditor, key: bytes) -> None:
    signed = last.public_key.hex() or 'none'
    if key and last.public_key != key:
        expected = f'a signature with the key {key.hex()}'
        auditor.find('record-unchanged', Mismatch('record chain', expected, signed))
    if not last.public_key:
        return
    try:
        valid = is_signed(last.head, last.signature, last.public_key)
    except RecordError as error:
        auditor.cannot_check('record-unchanged', str(error))
    else:
        if not valid:
            expected = f'the signature of its head with the key {signed}'
            auditor.find('record-unchanged', Mismatch('record chain', expected, 'another'))
