# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One episode over time, as the page draws it: bounded, however long the episode is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
import math
from typing import NamedTuple

from boundary_env_ros.core.gate.explain import sentence
from boundary_env_ros.core.records.decision import (
    GateDecision,
    Reason,
    RuleResult,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.records.environment_event import EventKind
from boundary_env_ros.core.records.imported import imported_from
from boundary_env_ros.core.records.latency import STAGES
from boundary_env_ros.core.records.observation import FieldStatus, ImageReference, ObservationField
from boundary_env_ros.core.records.transition import Kind, ResetRecord, Transition
from boundary_env_ros.core.timebase import Clock, NANOSECONDS
from boundary_env_ros.evidence.episodes import EpisodeStep
from boundary_env_ros.evidence.report.columns import Band, Columns, Json, rounded
from boundary_env_ros.evidence.report.labels import Labels

#: Values of one unit that are drawn as lines; of more the least and the greatest of all are drawn.
LINES = 8

#: What was commanded in a step, if it was not because of the step's action.
OTHERWISE = 'sent otherwise'

#: Times that rules stepped in that are listed one by one; more are joined.
SPANS = 400

_VERDICTS = {
    Verdict.ADMITTED: 'A',
    Verdict.LIMITED: 'L',
    Verdict.HELD: 'H',
    Verdict.STOPPED: 'S',
    Verdict.REJECTED: 'R',
}
_STATUS = {FieldStatus.FRESH: 'F', FieldStatus.STALE: 'S', FieldStatus.MISSING: 'M'}
#: From the mildest to the strictest; of a column the strictest is shown.
_STRICTNESS = '.ALHSR'
_WORST = '.FSM'
_ACTIONS = ('requested', 'admitted', 'commanded', 'measured')


@dataclass(slots=True)
class _Span:
    """Steps after each other in which one rule did the same."""

    reason: Reason
    outcome: Verdict
    first: int
    last: int
    text: str
    count: int = 1


@dataclass(slots=True)
class _Chart:
    """Lines that share an axis."""

    group: str
    name: str
    unit: str
    limit: float | None = None
    lines: dict[str, Band] = field(default_factory=dict)


class TimelinePicture(NamedTuple):
    """A camera image that a step saw: of which field and step, when that was, and which."""

    field: str
    step: int
    log_time: int
    reference: ImageReference


class Timeline:
    """
    Takes the steps of one episode, whose number is known, and shows them in few columns.

    Parameters
    ----------
    records
        Number of its transitions, that of the reset among them.
    most
        Columns that there may be.
    labels
        Names of the numbers.
    message
        Why it ended, besides its name.

    """

    def __init__(self, records: int, most: int, labels: Labels, message: str = '') -> None:
        self._columns = Columns(records, most)
        self._labels, self._message = labels, message
        count = self._columns.count
        self._index = -1
        self._zero: int | None = None
        self._return = 0.0
        self._time: list[float | int | None] = [None] * count
        self._first: list[int | None] = [None] * count
        self._last: list[int | None] = [None] * count
        self._verdicts = ['.'] * count
        self._overruns = [0] * count
        self._charts: dict[tuple[str, str], _Chart] = {}
        self._status: dict[str, list[str]] = {}
        self._spans: list[_Span] = []
        self._growing: dict[tuple[Reason, Verdict], _Span] = {}
        self._events: list[Json] = []
        self._pictures: dict[tuple[str, int], TimelinePicture] = {}

    # Taking --------------------------------------------------------------------------------------

    def add(self, taken: EpisodeStep) -> None:
        """Take the next step."""
        now = taken.transition
        self._index += 1
        column = self._columns.of(self._index)
        step, time = now.id.step, self._moment(now)
        self._time[column] = round(time, 4)
        self._last[column] = step
        if self._first[column] is None:
            self._first[column] = step
        verdict = _verdict(now)
        self._verdicts[column] = _worse(
            self._verdicts[column], _VERDICTS[verdict] if verdict else '.', _STRICTNESS
        )
        self._overruns[column] += now.overrun
        self._observation(now, column, taken.log_time)
        for decision in now.decisions:
            self._rules(decision, step)
        if now.kind is Kind.STEP:
            self._actions(now, column)
            for name in STAGES:
                stage = taken.stage(name, self._labels.budget)
                if stage.duration is not None:
                    duration, budget = _ms(stage.duration), _ms(stage.budget)
                    self._line('latency', name, '', 'ms', column, duration, budget)
            if now.tick_error is not None:
                self._line('latency', 'tick late', '', 'ms', column, 1000 * now.tick_error)
            self._return += now.reward
            self._line('reward', 'reward', 'reward', '', column, now.reward)
            self._line('reward', 'return', 'sum of rewards', '', column, self._return)
            if len(now.reward_terms) > 1:
                for term in now.reward_terms:
                    self._line('reward', 'terms', term.name, '', column, term.value)
        if now.reset is not None:
            self.event(step, 'reset', _reset(now, now.reset))
        for found in taken.truth.fields if taken.truth else ():
            self._values('privileged', found, column)
        for event in taken.events:
            if event.kind is EventKind.OPERATOR:
                self.event(event.id.step, 'operator', event.reason)
            elif event.kind is EventKind.TERMINATION:
                kind = 'truncation' if event.truncated else 'termination'
                why = f': {self._message}' if self._message else ''
                self.event(event.id.step, kind, event.reason + why)

    def event(self, step: int, kind: str, text: str) -> None:
        """Take something that happened in a step that was closed already, or is the next."""
        known = [
            (last, time)
            for last, time in zip(self._last, self._time, strict=True)
            if last is not None and time is not None
        ]
        at = next((time for last, time in known if last >= step), known[-1][1] if known else 0.0)
        self._events.append({'step': step, 'time': float(at), 'kind': kind, 'text': text})

    @property
    def pictures(self) -> Iterable[TimelinePicture]:
        """Return the last camera image of each field in each column."""
        return self._pictures.values()

    def _moment(self, now: Transition) -> float:
        # Simulated time is the time of the world; the system clock may be set, the steady may not.
        simulated = now.closed.ros.clock is Clock.ROS
        nanoseconds = now.closed.ros.nanoseconds if simulated else now.closed.steady
        if self._zero is None:
            self._zero = nanoseconds
        return (nanoseconds - self._zero) / NANOSECONDS

    def _observation(self, now: Transition, column: int, log_time: int) -> None:
        for found in now.after:
            if found.image is not None:
                self._pictures[found.name, column] = TimelinePicture(
                    found.name, now.id.step, log_time, found.image
                )
            self._values('observation', found, column)
            statuses = self._status.setdefault(found.name, ['.'] * self._columns.count)
            statuses[column] = _worse(statuses[column], _STATUS[found.status], _WORST)
            # What the task says does not age.
            if found.age is not None and not found.source.startswith('task:'):
                limit = self._labels.max_age(found.name)
                self._line('age', found.name, '', 'ms', column, 1000 * found.age, _ms(limit))
            if found.confidence is not None:
                self._line('confidence', found.name, '', '', column, found.confidence)
        for found in now.state:
            self._values('state', found, column)

    def _values(self, group: str, found: ObservationField, column: int) -> None:
        labels = self._labels.of_values(found.name, len(found.values))
        charts: dict[str, list[int]] = {}
        for index, label in enumerate(labels):
            charts.setdefault(label.chart, []).append(index)
        for chart, indices in charts.items():
            unit = labels[indices[0]].unit
            if len(indices) <= LINES:
                for index in indices:
                    self._line(group, chart, labels[index].name, unit, column, found.values[index])
            else:
                values = [v for i in indices if math.isfinite(v := found.values[i])]
                if values:
                    name = f'all {len(indices)} values'
                    self._line(group, chart, name, unit, column, min(values))
                    self._line(group, chart, name, unit, column, max(values))

    def _actions(self, now: Transition, column: int) -> None:
        shown = {name: getattr(now, f'{name}_action') for name in _ACTIONS}
        if not now.commanded_action:
            # The gate itself, or a person, may have sent something all the same.
            sent = (d.command for d in reversed(now.decisions) if d.published)
            shown[OTHERWISE] = next(sent, ())
        for name, values in shown.items():
            is_action = name in _ACTIONS[:2] and not self._labels.direct
            label_of = self._labels.of_action if is_action else self._labels.of_command
            for index, value in enumerate(values):
                label = label_of(index)
                self._line('action', label.chart, name, label.unit, column, value)

    def _line(
        self,
        group: str,
        chart: str,
        name: str,
        unit: str,
        column: int,
        value: float | None,
        limit: float | None = None,
    ) -> None:
        found = self._charts.get((group, chart))
        if found is None:
            found = self._charts[group, chart] = _Chart(group, chart, unit, limit)
        if name not in found.lines:
            found.lines[name] = Band(self._columns.count)
        found.lines[name].add(column, value)

    def _rules(self, decision: GateDecision, step: int) -> None:
        names = [label.chart for label in self._labels.command]
        by_hand = decision.trigger is Trigger.OPERATOR
        for result in decision.rules:
            # That an operator's command is one is no news; an event shows the takeover.
            if result.reason is Reason.REPUBLISHED or (
                by_hand and result.outcome is Verdict.ADMITTED
            ):
                continue
            self._rule(result, step, names)

    def _rule(self, result: RuleResult, step: int, names: list[str]) -> None:
        key = (result.reason, result.outcome)
        grown = self._growing.get(key)
        # Steps that share a column are drawn as one; of too many spans the last ones grow, so that
        # what a rule did late is drawn too.
        apart = self._columns.width if len(self._spans) < SPANS else step
        if grown is not None and step - grown.last <= apart:
            grown.count += step > grown.last
            grown.last = step
            return
        text = sentence(result, names)
        span = self._growing[key] = _Span(result.reason, result.outcome, step, step, text)
        self._spans.append(span)

    # As data -------------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Json]:
        """Return what is drawn, as plain data."""
        count = self._columns.of(self._index) + 1
        return {
            'steps_per_column': self._columns.width,
            'time': self._time[:count],
            'first_step': self._first[:count],
            'last_step': self._last[:count],
            'verdicts': ''.join(self._verdicts[:count]),
            'overruns': self._overruns[:count],
            'status': {name: ''.join(s[:count]) for name, s in self._status.items()},
            'charts': [self._chart(chart) for chart in self._charts.values()],
            'rules': [
                {**asdict(span), 'reason': span.reason.name, 'outcome': span.outcome.name}
                for span in self._spans
            ],
            'events': self._events,
        }

    def _chart(self, chart: _Chart) -> dict[str, Json]:
        data: dict[str, Json] = {'group': chart.group, 'name': chart.name, 'unit': chart.unit}
        if chart.limit is not None:
            data['limit'] = rounded(chart.limit)
        data['lines'] = [
            {'name': name, **band.to_json()} for name, band in chart.lines.items() if band.known
        ]
        return data


def _reset(now: Transition, reset: ResetRecord) -> str:
    if imported_from(now):
        return 'begun by the import; the bag has no reset'
    done = f'confirmed by {reset.confirmed_by}' if reset.confirmed_by else 'not completed'
    off = '' if reset.within_tolerance else ', NOT within tolerance'
    return f'reset with seed {now.seed}, {done}{off}'


def _verdict(now: Transition) -> Verdict | None:
    """Return what the gate said of a step: its last word if that was a stop, else its answer."""
    verdicts = [d.verdict for d in now.decisions if d.verdict is not Verdict.REJECTED]
    if verdicts and (verdicts[-1] is Verdict.STOPPED or now.verdict is None):
        return verdicts[-1]
    return now.verdict


def _worse(one: str, other: str, order: str) -> str:
    return max(one, other, key=order.index)


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else 1000 * seconds
