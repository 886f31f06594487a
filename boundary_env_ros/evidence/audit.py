# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The audit: whether a record kept the boundary, and if not, where, which rule and which step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import json
from pathlib import Path

from boundary_env_ros.core.contract import Contract
from boundary_env_ros.core.decision import GateDecision
from boundary_env_ros.core.serialization import from_json
from boundary_env_ros.core.task import Task
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.auditor import Auditor
from boundary_env_ros.evidence.findings import AuditReport
from boundary_env_ros.evidence.index import IndexCheck
from boundary_env_ros.evidence.rules import whole
from boundary_env_ros.evidence.rules.base import Mismatch, same
from boundary_env_ros.evidence.run_files import read_lines, Run, Unreadable, with_task
from boundary_env_ros.storage import limits
from boundary_env_ros.storage.records import Entry, Message
from boundary_env_ros.storage.run_folder import RunFolder


def audit(
    transitions: Iterable[Transition],
    *,
    contract: Contract | None = None,
    task: Task | None = None,
    decisions: Iterable[GateDecision] | None = None,
) -> AuditReport:
    """
    Audit transitions.

    Parameters
    ----------
    transitions
        In the order in which they were recorded.
    contract
        Contract that they were made under; without it the rules that need one are not applied.
    task
        Its task, to judge the steps again.
    decisions
        Decisions as the gate itself published them, in order; they are read along with the
        transitions.

    """
    auditor = Auditor(contract, task)
    pending = iter(decisions) if decisions is not None else iter(())
    reached = 0
    for transition in transitions:
        goal = max((decision.sequence for decision in transition.decisions), default=0)
        while reached < goal and (decision := next(pending, None)) is not None:
            auditor.add(decision)
            reached = decision.sequence
        auditor.add(transition)
    for decision in pending:
        auditor.add(decision)
    return auditor.report()


def audit_path(path: Path, contract: Contract | None = None) -> AuditReport:
    """
    Audit what a run left: its folder, its bag, an MCAP file, JSON lines, or an exported data set.

    What cannot be read becomes a finding. In a run folder the bag is audited, and the copies of
    its transitions are held against it.

    Parameters
    ----------
    path
        The run folder, bag, ``.mcap`` or ``.jsonl`` file, or folder of a data set.
    contract
        Contract to hold the record against instead of the one in the run folder or the bag.

    Raises
    ------
    RecordError
        If there are no records at the path at all.

    """
    run = Run(path)
    terms = run.terms() if contract is None else with_task(contract)
    auditor = Auditor(terms.contract, terms.task, run.topics)
    if terms.problem:
        auditor.find(
            whole.contract_readable,
            Mismatch(field='contract', expected='a valid contract', actual=terms.problem),
        )
    copies = _Copies(path, auditor) if run.has_copies else None
    folder = RunFolder(path)
    index = IndexCheck(folder.episodes) if folder.episodes.is_file() else None
    for piece in run.pieces(auditor.topics):
        if isinstance(piece, Unreadable):
            auditor.unreadable(piece.place, piece.why)
        elif isinstance(piece, Message):
            auditor.message(piece)
        else:
            auditor.add(piece.record, piece.log_time)
            if index is not None:
                index.add(piece.record)
            if copies is not None and isinstance(piece.record, Transition):
                copies.compare(piece.record)
    for file in run.changed():
        auditor.unreadable(file.place, file.why)
    if run.tear:
        auditor.find(
            whole.record_closed,
            Mismatch(field='record', expected='a record that was closed', actual=run.tear),
        )
    if copies is not None:
        copies.finish(torn=bool(run.tear))
    for mismatch, of in index.mismatches(torn=bool(run.tear)) if index is not None else ():
        auditor.find(whole.index_agrees, mismatch, of)
    return auditor.report(torn=bool(run.tear))


class _Copies:
    """The copies of the transitions in a run folder, held against those of its bag."""

    def __init__(self, path: Path, auditor: Auditor) -> None:
        self._run = RunFolder(path)
        self._auditor = auditor
        self._lines: Iterator[Entry | Unreadable] | None = None
        if self._run.transitions.is_file():
            self._lines = read_lines(self._run.transitions)
        self._first = True
        if self._run.contract.is_file() and not self._run.first_transition.is_file():
            auditor.find(
                whole.first_transition_saved,
                Mismatch(
                    field=self._run.first_transition.name,
                    expected='the first transition of the run',
                    actual='no such file',
                ),
            )

    def compare(self, transition: Transition) -> None:
        """Hold the next transition of the bag against its copies."""
        if self._first and self._run.first_transition.is_file():
            self._compare_first(transition)
        self._first = False
        if self._lines is None:
            return
        line = next(self._lines, None)
        copy = _transition(line)
        if copy is None or not same(copy, transition):
            self._different(transition, self._run.transitions.name, copy)
            # One line that is missing would make every later one look changed.
            if not isinstance(copy, Transition) or copy.id != transition.id:
                self._lines = None

    def _compare_first(self, transition: Transition) -> None:
        place = self._run.first_transition
        copy: Transition | Unreadable
        try:
            copy = from_json(Transition, json.loads(limits.read_file(place, limits.LINE)))
        except (RecordError, OSError, ValueError, RecursionError) as error:
            copy = Unreadable(place=place.name, why=str(error))
        if not same(copy, transition):
            self._different(transition, place.name, copy)

    def finish(self, *, torn: bool) -> None:
        """Look for what only the copies have; a bag that a crash tore may lack the last steps."""
        extra = next(self._lines, None) if self._lines is not None else None
        if extra is not None and not torn:
            self._auditor.find(
                whole.copies_agree,
                Mismatch(
                    field=self._run.transitions.name,
                    expected='as many steps as the bag has',
                    actual='more',
                ),
            )

    def _different(
        self, transition: Transition, name: str, copy: Transition | Unreadable | None
    ) -> None:
        if copy is None:
            told = 'it is missing'
        elif isinstance(copy, Unreadable):
            told = copy.why
        elif copy.id != transition.id:
            told = f'step {copy.id.step} of {copy.id.episode_id}'
        else:
            told = f'another {", ".join(_changed(copy, transition))}'
        self._auditor.find(
            whole.copies_agree,
            Mismatch(field=name, expected='the step as in the bag', actual=told),
            transition.id,
        )


def _transition(line: Entry | Unreadable | None) -> Transition | Unreadable | None:
    if isinstance(line, Entry):
        return line.record if isinstance(line.record, Transition) else None
    return line


def _changed(one: Transition, other: Transition) -> list[str]:
    names = Transition.__dataclass_fields__
    return [name for name in names if not same(getattr(one, name), getattr(other, name))]
