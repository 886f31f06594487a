# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The index of a run folder, held against the records that it is an index of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
import math
from pathlib import Path

from boundary_env_ros.core.environment.endings import ENVIRONMENT_LOST, SUCCESS
from boundary_env_ros.core.environment.episode import EpisodeStatus
from boundary_env_ros.core.gate.decision import StepId
from boundary_env_ros.core.intervention import InterventionTracker
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.audit.rules.base import close, Mismatch, number
from boundary_env_ros.storage.episode_store import EpisodeRow, EpisodeStore
from boundary_env_ros.storage.records import Record
from boundary_env_ros.storage.run_folder import RunFolder

#: State, ending and who declared it.
_Ending = tuple[str, str, str]


@dataclass(slots=True)
class _Counted:
    """What the records say of an episode of one agent."""

    id: StepId
    step: int = -1
    total: float = 0.0
    ending: _Ending | None = None
    announced: set[_Ending] = field(default_factory=set)
    clients: set[str] = field(default_factory=set)
    seed: int = 0
    environment: str = ''
    interventions: int = 0


class IndexCheck:
    """
    Takes the records of a run, and compares its index with them.

    Parameters
    ----------
    path
        The index.

    """

    def __init__(self, path: Path) -> None:
        self._path = path
        run = RunFolder(path.parent)
        self._records = (run.bag if run.bag.exists() else run.transitions).name
        self._episodes: dict[tuple[str, str], _Counted] = {}
        self._hands: dict[str, InterventionTracker] = {}

    def add(self, record: Record) -> None:
        """Take the next record."""
        if not isinstance(record, (Transition, EpisodeStatus)) or not record.id.episode_id:
            return
        key = record.id.episode_id, record.id.agent
        counted = self._episodes.setdefault(key, _Counted(record.id))
        counted.seed = record.seed
        if isinstance(record, EpisodeStatus):
            counted.clients.add(record.client)
            if record.state.over:
                counted.announced.add((record.state.name, record.ending, record.declared_by))
            return
        counted.id = record.id
        requests = (decision.request for decision in record.decisions)
        counted.clients.update(request.client for request in requests if request is not None)
        if record.id.step > counted.step:
            counted.step = record.id.step
            counted.total += record.reward
            counted.environment = record.contract
            hands = self._hands.setdefault(record.id.agent, InterventionTracker())
            counted.interventions += sum(1 for _ in hands.follow(record))
        if record.terminated or record.truncated:
            state = 'TERMINATED' if record.terminated else 'TRUNCATED'
            counted.ending = state, record.ending, record.declared_by

    def mismatches(self, *, torn: bool) -> Iterator[tuple[Mismatch, StepId | None]]:
        """
        Yield where the index differs, each with the last step of the episode.

        Parameters
        ----------
        torn
            Whether the end of the records is missing: an episode without an ending there may be
            longer in the index, and the last ones only there.

        """
        try:
            with EpisodeStore.open(self._path) as store:
                rows = {(row.episode_id, row.agent): row for row in store.episodes()}
        except (RecordError, ValueError, RecursionError) as error:
            yield self._differs('an index that can be read', str(error)), None
            return
        for key, counted in self._episodes.items():
            row = rows.pop(key, None)
            if row is not None:
                for mismatch in self._row(row, counted, torn=torn):
                    yield mismatch, counted.id
            elif counted.step >= 0:
                yield self._differs('a row for each episode', 'none for this one'), counted.id
        for episode, _ in () if torn else rows:
            yield self._differs('no episode that the records do not have', repr(episode)), None

    def _row(self, row: EpisodeRow, counted: _Counted, *, torn: bool) -> Iterator[Mismatch]:
        said = (row.ending_kind, row.ending, row.declared_by) if row.done else None
        if row.success is not (row.ending == SUCCESS if row.done else None):
            yield self._differs('success for the ending success alone', f'for {row.ending!r}')
        if row.done and (row.state.state.name, row.state.ending) != (row.ending_kind, row.ending):
            yield self._differs(_told(said), f'{row.state.state.name} in its state')
        if counted.ending is not None:
            lost = (
                said is not None
                and said in counted.announced
                and said[1] == counted.ending[1] == ENVIRONMENT_LOST
            )
            # An environment that hung and woke up says so itself, after the recorder has.
            if said != counted.ending and not lost:
                yield self._differs(_told(counted.ending), _told(said))
        elif torn:
            return
        elif row.success or (said is not None and counted.announced - {said}):
            expected = ' or '.join(map(_told, counted.announced))
            yield self._differs(expected or 'an ending in the records', _told(said))
        # Who acts stands in no record before his first request.
        clients: set[object] = {*counted.clients, ''} if counted.clients else {row.state.client}
        facts: tuple[tuple[str, object, set[object]], ...] = (
            ('digest', row.digest, {counted.id.digest}),
            ('seed', row.seed, {counted.seed}),
            ('seed in its state', row.state.seed, {counted.seed}),
            ('client in its state', row.state.client, clients),
            ('environment', row.environment, {counted.environment}),
            ('interventions', row.interventions, {counted.interventions}),
            ('bag', row.bag, {self._records}),
        )
        for name, told, known in facts:
            if counted.step >= 0 and told not in known:
                yield self._differs(f'{name} {" or ".join(map(repr, known))}', repr(told))
        if row.step_count < counted.step:
            yield self._differs(f'{counted.step} steps', str(row.step_count))
        returned = math.nan if row.episode_return is None else row.episode_return
        if not close(counted.total, returned):
            yield self._differs(f'a return of {number(counted.total)}', number(returned))

    def _differs(self, expected: str, actual: str) -> Mismatch:
        return Mismatch(self._path.name, expected, actual)


def _told(ending: _Ending | None) -> str:
    if ending is None:
        return 'no ending'
    return f'{ending[0].lower()} by {ending[2]!r} for {ending[1]!r}'
