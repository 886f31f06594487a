# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The first reading of a record: its figures, its list of episodes, its suspicious moments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timezone

from boundary_env_ros.core.contract import Contract
from boundary_env_ros.core.decision import Verdict
from boundary_env_ros.core.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.gate_rules.turns import intervenes
from boundary_env_ros.core.mark import EpisodeMark
from boundary_env_ros.core.observation import FieldStatus
from boundary_env_ros.core.timebase import Clock, NANOSECONDS
from boundary_env_ros.core.transition import Kind, Transition
from boundary_env_ros.evidence.figures import Summary
from boundary_env_ros.evidence.report.report import EpisodeRow, Key, MOMENTS
from boundary_env_ros.evidence.report.signs import over_time
from boundary_env_ros.evidence.report.suspicion import Moment, Suspects
from boundary_env_ros.evidence.run_files import Unreadable
from boundary_env_ros.evidence.summary import Summariser

#: Records that cannot be read, of which the page says why.
NAMED = 3


class Reading:
    """
    Looks at each record that passes through.

    Parameters
    ----------
    contract
        None if it is not known.

    Attributes
    ----------
    rows
        The episodes, in the order of the record.
    marks
        What people say of each.
    begun, pacing
        See :class:`~.report.Report`.
    unreadable, not_read
        The first records that cannot be read, and how many there are.
    summary
        The figures, after :meth:`finish`.

    """

    def __init__(self, contract: Contract | None) -> None:
        self.rows: dict[Key, EpisodeRow] = {}
        self.begun = ''
        self.pacing = ''
        self.marks: dict[Key, list[EpisodeMark]] = {}
        self.unreadable: list[Unreadable] = []
        self.not_read = 0
        self._contract = contract
        self._summariser = Summariser(contract)
        self._suspects = Suspects(contract)
        self._began: dict[Key, int] = {}
        self.summary: Summary

    def through(self, records: Iterable[object]) -> Iterator[object]:
        """Yield the records on, having looked at each."""
        for record in records:
            self._summariser.add(record)
            if isinstance(record, Transition):
                self._step(record)
            elif isinstance(record, EpisodeStatus):
                self._status(record)
            elif isinstance(record, EpisodeMark):
                self._mark(record)
            elif isinstance(record, Unreadable):
                self.not_read += 1
                if len(self.unreadable) < NAMED:
                    self.unreadable.append(record)
            yield record

    def finish(self) -> tuple[Moment, ...]:
        """Return the moments; the summary is complete then."""
        self.summary = self._summariser.summary()
        by_id = {row.episode_id: row for row in self.rows.values()}
        for client in self.summary.clients:
            for one in client.disagreements:
                row = by_id.get(one.episode_id)
                if row is not None:
                    why = f'ended: {one.ending}; people say: {"; ".join(one.marks)}'
                    self._suspects.disagreement(row.agent, row.episode_id, row.last_step, why)
        return self._suspects.foremost(MOMENTS)

    def _step(self, now: Transition) -> None:
        key = (now.id.agent, now.id.episode_id)
        row = self.rows.get(key)
        if row is None:
            row = self.rows[key] = EpisodeRow(
                number=len(self.rows) + 1,
                agent=now.id.agent,
                episode_id=now.id.episode_id,
                seed=now.seed,
            )
            self._began[key] = now.closed.steady
            self._first(now)
        for decision in now.decisions:
            if decision.request is not None and not row.client:
                row.client = decision.request.client
        row.records += 1
        row.steps += now.kind is Kind.STEP
        row.last_step = max(row.last_step, now.id.step)
        row.seconds = self._seconds(now, row, self._began[key])
        row.total += now.reward
        row.overruns += now.overrun
        row.stopped += any(d.verdict is Verdict.STOPPED for d in now.decisions)
        row.intervened += any(map(intervenes, now.decisions))
        row.stale += any(f.status is not FieldStatus.FRESH for f in now.after)
        if now.cause and not row.cause:
            row.cause, row.declared_by = now.cause, now.declared_by
            row.how = 'truncated' if now.truncated else 'terminated'
        row.message = row.message or over_time(now.cause, self._contract)
        row.suspicion = max(row.suspicion, self._suspects.add(now))

    def _first(self, now: Transition) -> None:
        if len(self.rows) > 1:
            return
        self.pacing = now.pacing.name.lower()
        if now.closed.ros.clock is Clock.SYSTEM:
            moment = datetime.fromtimestamp(now.closed.ros.nanoseconds / NANOSECONDS, timezone.utc)
            self.begun = moment.isoformat(sep=' ', timespec='seconds')

    def _seconds(self, now: Transition, row: EpisodeRow, began: int) -> float:
        if now.closed.ros.clock is Clock.ROS and self._contract is not None:
            return round(row.last_step * self._contract.period, 3)
        return round((now.closed.steady - began) / NANOSECONDS, 3)

    def _status(self, status: EpisodeStatus) -> None:
        row = self.rows.get((status.id.agent, status.id.episode_id))
        if row is None:
            return
        row.client = row.client or status.client
        if status.state.over:
            row.message = row.message or status.message
            if not row.cause:
                row.cause, row.declared_by = status.cause, status.declared_by
                truncated = status.state is EpisodeState.TRUNCATED
                row.how = 'truncated' if truncated else 'terminated'

    def _mark(self, mark: EpisodeMark) -> None:
        key = (mark.id.agent, mark.id.episode_id)
        row, marks = self.rows.get(key), self.marks.setdefault(key, [])
        if row is None or mark in marks:
            return
        marks.append(mark)
        text = f'{mark.verdict.name.lower()} by {mark.who}'
        text += f': {mark.note}' if mark.note else ''
        row.marks.append(text)
