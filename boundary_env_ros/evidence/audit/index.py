# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The index of a run folder, compared with the records that it is an index of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
import math
from pathlib import Path

from boundary_env_ros.core.records.endings import ENVIRONMENT_LOST
from boundary_env_ros.core.records.episode import EpisodeLabel, EpisodeStatus
from boundary_env_ros.core.records.parts import StepId
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.record_difference import close, Mismatch, number
from boundary_env_ros.frozen import replace
from boundary_env_ros.storage.episode_index import (
    EndingStands,
    EpisodeIndex,
    EpisodeRow,
    status_of,
)
from boundary_env_ros.storage.episode_store import EpisodeStore
from boundary_env_ros.storage.records import Record


class IndexCheck:
    """
    Takes the records of a run, and compares its index with the one that follows from them.

    Parameters
    ----------
    path
        The index.

    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._made = EpisodeIndex()
        self._contract = ''
        self._last: dict[tuple[str, str], StepId] = {}
        # Of the endings of each episode: what they say, and the first and last instant of one.
        self._endings: dict[tuple[str, str], tuple[set[str], int, int]] = {}
        self._clients: dict[tuple[str, str], set[str]] = {}
        self._labels: dict[tuple[str, str], dict[EpisodeLabel, None]] = {}

    def add(self, record: Record) -> None:
        """Take the next record."""
        if isinstance(record, EpisodeLabel):
            self._label(record)
            return
        if not isinstance(record, (Transition, EpisodeStatus)) or not record.id.episode_id:
            return
        key = record.id.episode_id, record.id.agent
        clients = self._clients.setdefault(key, set())
        status = record if isinstance(record, EpisodeStatus) else status_of(record)
        if status.state.over and status.stamp is not None:
            at = status.stamp.ros.nanoseconds
            messages, first, last = self._endings.get(key, (set(), at, at))
            self._endings[key] = {*messages, status.message}, min(first, at), max(last, at)
        # As for the recorder, the first ending stands.
        with suppress(RecordError):
            if isinstance(record, EpisodeStatus):
                clients.add(record.client)
                self._made.update(record, environment='', now=0)
            else:
                self._contract, self._last[key] = record.contract, record.id
                requests = (decision.request for decision in record.decisions)
                clients.update(request.client for request in requests if request is not None)
                try:
                    self._made.add_step(record, now=0)
                except EndingStands:
                    again = replace(record, terminated=False, truncated=False)
                    self._made.add_step(again, now=0)

    def _label(self, label: EpisodeLabel) -> None:
        key = label.id.episode_id, label.id.agent
        # As the recorder: one on an episode that nothing else names is not kept.
        if key in self._made.rows:
            self._labels.setdefault(key, {})[label] = None

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
        for key, made in self._made.rows.items():
            row, last = rows.pop(key, None), self._last.get(key)
            # There may be others: people label an episode when its bag is closed, too.
            known = None if row is None else row.labels
            for label in self._labels.get(key, ()):
                if known is not None and label not in known:
                    expected = f'the label {label.label.name} by {label.user!r}, as in the records'
                    yield self._differs(expected, 'none of it'), last
            if row is not None:
                compare = self._ending if last is None else self._row
                for mismatch in compare(row, made, torn=torn):
                    yield mismatch, last
            elif last is not None:
                yield self._differs('a row for each episode', 'none for this one'), last
        for episode, _ in () if torn else rows:
            yield self._differs('no episode that the records do not have', repr(episode)), None

    def _ending(self, row: EpisodeRow, made: EpisodeRow, *, torn: bool) -> Iterator[Mismatch]:
        if made.done:
            if _ending_text(row) != _ending_text(made) and not _is_lost(row, made):
                yield self._differs(_ending_text(made), _ending_text(row))
        elif row.success and not torn:
            yield self._differs('an ending in the records', _ending_text(row))
        if row.step_count < made.step_count or (row.step_count > made.step_count and not torn):
            yield self._differs(f'{made.step_count} steps', str(row.step_count))

    def _row(self, row: EpisodeRow, made: EpisodeRow, *, torn: bool) -> Iterator[Mismatch]:
        yield from self._ending(row, made, torn=torn)
        if torn and not made.done:
            return
        # Who acts stands in no record before the first request: until then any client is one.
        clients: set[object] = {*(self._clients[made.key] - {''} or {row.state.client}), ''}
        facts: tuple[tuple[str, object, set[object]], ...] = (
            ('digest', row.digest, {made.digest}),
            ('seed', row.seed, {made.seed}),
            ('pacing', row.state.pacing.name, {made.state.pacing.name}),
            ('version', row.version, {made.version}),
            ('software', row.software_version, {made.software_version}),
            ('client', row.state.client, clients),
            ('environment', row.environment, {self._contract}),
            ('interventions', row.interventions, {made.interventions}),
        )
        for name, indexed, known in facts:
            if indexed not in known:
                yield self._differs(f'{name} {" or ".join(map(repr, known))}', repr(indexed))
        if row.rewarded != made.rewarded and not torn:
            yield self._differs(f'rewards up to step {made.rewarded}', str(row.rewarded))
        if made.done and not torn and not _is_lost(row, made):
            yield from self._ended(row, made)
        total, returned = (
            math.nan if one.episode_return is None else one.episode_return for one in (made, row)
        )
        if not close(total, returned):
            yield self._differs(f'a return of {number(total)}', number(returned))

    def _ended(self, row: EpisodeRow, made: EpisodeRow) -> Iterator[Mismatch]:
        """Yield where the row has its ending of none of the statuses and steps that have it."""
        state, (messages, first, last) = row.state, self._endings[made.key]
        if state.id.step != made.state.id.step:
            yield self._differs(f'an ending at step {made.state.id.step}', str(state.id.step))
        if state.message not in messages:
            yield self._differs(' or '.join(map(repr, sorted(messages))), repr(state.message))
        at = None if state.stamp is None else state.stamp.ros.nanoseconds
        if at is None or not first <= at <= last:
            yield self._differs(f'an ending at {first} to {last} ns', str(at))

    def _differs(self, expected: str, actual: str) -> Mismatch:
        return Mismatch(self._path.name, expected, actual)


def _is_lost(row: EpisodeRow, made: EpisodeRow) -> bool:
    # An environment that hung and woke up says so itself, after the recorder has.
    return made.done and row.ending == made.ending == ENVIRONMENT_LOST


def _ending_text(row: EpisodeRow) -> str:
    if not row.done:
        return 'no ending'
    return f'{row.ending_kind.lower()} by {row.declared_by!r} for {row.ending!r}'
