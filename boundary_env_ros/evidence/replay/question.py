# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is asked of a record: its own verdict again, or that under another contract."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from boundary_env_ros.errors import BoundaryError, RecordError
from boundary_env_ros.evidence.replay.comparable import in_the_way
from boundary_env_ros.evidence.replay.report import VerdictReport
from boundary_env_ros.evidence.replay.rerun import Rerun
from boundary_env_ros.evidence.run_files import Run
from boundary_env_ros.storage.contract_file import load, loads, make_task
from boundary_env_ros.storage.records import Unreadable

#: Records that cannot be read and are named.
_NAMED = 5


class Question:
    """
    A record, and what is asked of it.

    Parameters
    ----------
    path
        Run folder, bag, ``.mcap`` file.
    contract
        Another contract to judge it under; the one that it was made under may be given for a
        record that has none.

    Attributes
    ----------
    recorded
        The contract that the record was made under.

    Raises
    ------
    RecordError
        If there is no step, the steps were imported, or their contract is unknown.
    ContractError
        If a contract is not valid, or its task is not installed.
    BoundaryError
        If the record has not what the other contract asks for.

    """

    def __init__(self, path: Path, contract: Path | None = None) -> None:
        self._run = Run(path)
        first = self._run.first_recorded()
        if first is None:
            raise RecordError(f'{path} has no step.')
        text = self._run.contract_text()
        recorded = other = None
        if text:
            recorded = loads(text, source=f'the contract of {path}', pacing=first.pacing)
        if contract is not None:
            other = load(contract, pacing=first.pacing)
            if other.digest == first.id.digest:
                recorded, other = other, None
        if recorded is None:
            raise RecordError(
                f'The contract of {path} ({first.id.digest}) is not in the record, nor given. '
                'Name the run folder or the bag, or give it as --contract.'
            )
        if other is not None:
            found = in_the_way(recorded.contract, other.contract)
            if found:
                raise BoundaryError(
                    f'{contract}: the record cannot be judged under it.\n  ' + '\n  '.join(found)
                )
        self.recorded = recorded
        self._other = other
        self._digest = first.id.digest
        self._task = make_task((other or recorded).contract)

    def answer(
        self, progress: Callable[[int, int | None], None] = lambda done, total: None
    ) -> VerdictReport:
        """
        Run the record again.

        Parameters
        ----------
        progress
            Is told how many records were read, and of how many, if that is known.

        """
        rerun = Rerun(
            (self._other or self.recorded).contract,
            self._task,
            digest=self._digest if self._other is not None else self.recorded.digest,
            counterfactual=self._other is not None,
        )
        unreadable: list[str] = []
        total = self._run.records
        for done, entry in enumerate(self._run.entries(), start=1):
            if isinstance(entry, Unreadable):
                if len(unreadable) < _NAMED:
                    unreadable.append(f'{entry.place}: {entry.why}')
            else:
                rerun.add(entry.record, entry.topic)
            progress(done, total)
        asked = ''
        if self._other is not None:
            contract = self._other.contract
            asked = f'Under {contract.name} {contract.version} ({self._other.digest[:15]})'
        return VerdictReport(
            question=asked,
            episodes=rerun.finish(),
            unreadable=unreadable,
            notes=self._notes(),
        )

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if self._run.source.tear:
            notes.append(f'the record is torn ({self._run.source.tear}); what is there was run')
        if self._other is None and self.recorded.digest != self._digest:
            notes.append(
                'the contract has another digest than the steps: another file, or another '
                'version of its task is installed'
            )
        return tuple(notes)
