# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The audit: whether a record kept the boundary, and if not, where, which rule and which step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
import gc
from pathlib import Path

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.records.episode import EpisodeStatus
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.audit.auditor import Auditor
from boundary_env_ros.evidence.audit.findings import AuditReport
from boundary_env_ros.evidence.audit.index import IndexCheck
from boundary_env_ros.evidence.record_difference import Mismatch
from boundary_env_ros.evidence.run_files import Progress, Run, with_task
from boundary_env_ros.frozen import replace
from boundary_env_ros.storage.record_chain import CHAIN_TYPE, ChainCheck, ChainLink
from boundary_env_ros.storage.records import Message, Record, Unreadable
from boundary_env_ros.storage.run_folder import RunFolder
from boundary_env_ros.storage.signing import is_signed


def audit(
    records: Iterable[Record], *, contract: Contract | None = None, task: Task | None = None
) -> AuditReport:
    """
    Audit records: transitions, or whatever else was published too.

    Parameters
    ----------
    records
        In the order in which they were recorded.
    contract
        Contract that they were made under; without it the rules that need one are not applied.
    task
        Its task, to judge the steps again.

    """
    auditor = Auditor(contract, task)
    for record in records:
        auditor.add(record)
    return auditor.report()


@contextmanager
def _seldom_collecting() -> Iterator[None]:
    """
    Let Python look for reference cycles seldom.

    What a record is made of has none, and looking through the last seconds of it again and again
    takes a third of the time.
    """
    thresholds = gc.get_threshold()
    gc.set_threshold(100_000, 50, 100)
    try:
        yield
    finally:
        # What is still young counts as old: else all of it is looked through at once. What a user
        # has frozen stays so.
        if not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
        gc.set_threshold(*thresholds)


@_seldom_collecting()
def audit_path(
    path: Path,
    contract: Contract | None = None,
    *,
    key: bytes = b'',
    head: str = '',
    progress: Progress | None = None,
) -> AuditReport:
    """
    Audit what a run left: its folder, its bag, an MCAP file, or its first transition.

    What cannot be read becomes a finding. In a run folder the bag is audited, and the index that
    is kept beside it is compared with it.

    Parameters
    ----------
    path
        The run folder, bag, ``.mcap`` file, or ``.json`` file of one transition.
    contract
        Contract to judge the record by, under the pacing of the record, instead of the one in
        the run folder or the bag.
    key
        Public Ed25519 key that the chain of the bag must be signed with; empty: any, or none.
    head
        Head that the chain must have, hexadecimal, as the recorder printed it; empty: any.
    progress
        Called with the number of records that were read, and of how many.

    Raises
    ------
    RecordError
        If there are no records at the path at all, or they were imported.

    """
    run = Run(path, progress)
    run.first_recorded()
    terms = run.terms() if contract is None else with_task(run.recorded(contract))
    folder = RunFolder(path)
    index = IndexCheck(folder.episodes) if folder.episodes.is_file() else None
    ours = index is not None or run.source.as_recorded or CHAIN_TYPE in run.topics.values()
    auditor = Auditor(
        terms.contract,
        terms.task,
        run.topics,
        holes=run.source.holes,
        alone=run.is_alone,
        of_another=not ours,
        missing=terms.missing,
        unlike=lambda: run.source.unlike,
    )
    if terms.problem:
        auditor.find('record-complete', Mismatch('contract', 'a valid contract', terms.problem))
    chain, damaged = ChainCheck(), False
    episodes: set[tuple[str, str]] = set()
    for piece in run.pieces(auditor.topics, chain.add):
        if chain.before:
            auditor.begins_late()
        if isinstance(piece, Message):  # most are
            auditor.message(piece)
        elif isinstance(piece, Unreadable):
            damaged = True
            auditor.unreadable(piece.place, piece.why)
        else:
            record = piece.record
            auditor.add(record, piece.log_time)
            if isinstance(record, (Transition, EpisodeStatus)) and record.id.episode_id:
                episodes.add((record.id.episode_id, record.id.agent))
            if index is not None:
                index.add(record)
    if run.source.tear:
        torn = Mismatch('record', 'a record that was closed', run.source.tear)
        auditor.find('record-closed', torn)
    if index is not None and damaged:
        # What cannot be read is named; that the index has it, too, is no other finding.
        auditor.cannot_check('index-agrees', 'a part of the record cannot be read')
    elif index is None and folder.bag.is_dir():
        auditor.cannot_check('index-agrees', 'the folder of the run has no index')
    elif index is not None:
        for mismatch, of in index.mismatches(torn=bool(run.source.tear)):
            auditor.find('index-agrees', mismatch, of)
    damaged = damaged or bool(run.source.tear or run.source.holes)
    figures = _check_chain(chain, auditor, run, len(episodes), damaged, key, head)
    report = auditor.report(torn=bool(run.source.tear))
    return replace(report, chain=figures, unlike=run.source.unlike)


def _check_chain(
    chain: ChainCheck,
    auditor: Auditor,
    run: Run,
    episodes: int,
    damaged: bool,
    key: bytes,
    head: str,
) -> Mapping[str, object]:
    """
    Note where the chain of a bag breaks, and return its figures.

    It has followed all messages of the bag, whose records are of so many episodes. Where some are
    known to be missing, what is only missing is no contradiction.
    """
    chain.finish()
    last = chain.last
    # What the topics are is read from the summary, which no chain covers.
    found = chain.types.items()
    counts = run.source.topics().items()
    topics = {topic for topic, count in counts if count and topic[1] != CHAIN_TYPE}
    wrong = found - topics if damaged else found ^ topics
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
            auditor.break_by_damage('record-unchanged')
        else:
            place = broken.topic or 'record chain'
            auditor.find('record-unchanged', Mismatch(place, broken.expected, broken.actual))
    if not damaged:
        lacking = _lacking(chain, last)
        auditor.find('record-closed', lacking)
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
