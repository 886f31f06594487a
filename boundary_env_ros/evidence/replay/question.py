# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is asked of a record: its own verdict again, or that under another contract or policy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from boundary_env_ros.core.imported import imported_from
from boundary_env_ros.errors import BoundaryError, RecordError
from boundary_env_ros.evidence.replay.comparable import in_the_way
from boundary_env_ros.evidence.replay.report import VerdictReport
from boundary_env_ros.evidence.replay.rerun import Propose, Rerun
from boundary_env_ros.evidence.run_files import Run
from boundary_env_ros.storage.contract_file import load, LoadedContract, loads, make_task
from boundary_env_ros.storage.records import RecordSource, Unreadable

#: Records that cannot be read and are named.
_NAMED = 5


class Question:
    """
    A record, and what is asked of it.

    Parameters
    ----------
    path
        Run folder, bag, ``.mcap`` or ``.jsonl`` file.
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
        first = self._run.first_transition()
        if first is None:
            raise RecordError(f'{path} has no step.')
        made_from = imported_from(first)
        if made_from:
            raise RecordError(
                f'The steps were made of the bag {made_from} afterwards. '
                'No gate decided and no environment judged there: there '
                'is no verdict to come to again.'
            )
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

    @property
    def source(self) -> RecordSource | None:
        """The bag, with its raw messages; None for what has none."""
        return self._run.source if self._run.topics else None

    @property
    def loaded(self) -> LoadedContract:
        """The contract that the record is judged under."""
        return self._other or self.recorded

    def answer(
        self,
        *,
        policy: str = '',
        propose: Propose | None = None,
        only: int | None = None,
        progress: Callable[[int, int | None], None] = lambda done, total: None,
    ) -> VerdictReport:
        """
        Run the record again.

        Parameters
        ----------
        policy, propose
            Name of another policy, and what asks it.
        only
            Number of the one episode to run, from 1; None: all.
        progress
            Is told how many records were read, and of how many, if that is known.

        Raises
        ------
        RecordError
            If there is no such episode.
        PolicyFailed
            If the policy cannot be asked, or gives no action.

        """
        rerun = Rerun(
            self.loaded.contract,
            self._task,
            digest=self._digest if self._other is not None else self.recorded.digest,
            counterfactual=self._other is not None,
            propose=propose,
            only=only,
        )
        unreadable: list[str] = []
        total = self._run.records
        for done, entry in enumerate(self._run.entries(), start=1):
            if isinstance(entry, Unreadable):
                if len(unreadable) < _NAMED:
                    unreadable.append(f'{entry.place}: {entry.why}')
            else:
                rerun.add(entry.record, entry.log_time, entry.topic)
            progress(done, total)
        episodes = rerun.finish()
        if only is not None and not episodes:
            raise RecordError(
                f'There is no such episode (expected 1 to {rerun.begun}, got {only}).'
            )
        return VerdictReport(
            question=self._asked(policy),
            episodes=episodes,
            unreadable=unreadable,
            notes=self._notes(),
        )

    def _asked(self, policy: str) -> str:
        asked = []
        if self._other is not None:
            contract = self._other.contract
            asked.append(f'under {contract.name} {contract.version} ({self._other.digest[:15]})')
        if policy:
            asked.append(f'with the policy {policy}')
        text = ' and '.join(asked)
        return text[:1].upper() + text[1:]

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if self._run.tear:
            notes.append(f'the record is torn ({self._run.tear}); what is there was run')
        if self._other is None and self.recorded.digest != self._digest:
            notes.append(
                'the contract has another digest than the steps: another file, or another '
                'version of its task is installed'
            )
        return tuple(notes)
