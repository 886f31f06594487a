# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Everything that a record says of one step, found by the number of its episode and its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from boundary_env_ros.core.contract import Contract
from boundary_env_ros.core.decision import StepId
from boundary_env_ros.core.episode import EpisodeStatus
from boundary_env_ros.core.events import EnvironmentEvent, Events
from boundary_env_ros.core.mark import EpisodeMark
from boundary_env_ros.core.serialization import to_json
from boundary_env_ros.core.transition import ActuationEvidence, EvaluatorRecord, Transition
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.late import Waiting
from boundary_env_ros.evidence.report.columns import Json
from boundary_env_ros.evidence.report.signs import Sign, signs_of
from boundary_env_ros.evidence.run_files import marks_in_index, read_all, Run

#: The last episode, or the last step of one.
LAST = 'last'


@dataclass(slots=True, kw_only=True)
class OneStep:
    """
    One step and all that belongs to it.

    Attributes
    ----------
    number, episodes
        Place of its episode in the record, from 1, and how many there are.
    last_step
        Of its episode, as far as the record goes.
    client
        Who asked for the episode's actions; empty if nobody did.
    contract
        None if it is not known.
    evaluator
        What only an evaluator sees of it.
    late
        Evidence of execution that came after it was closed.
    statuses
        States of the episode that were told while this was its last step.
    events, marks
        What happened in it, and what people say of its episode.

    """

    transition: Transition
    number: int
    episodes: int = 0
    last_step: int = 0
    client: str = ''
    contract: Contract | None = None
    evaluator: EvaluatorRecord | None = None
    late: ActuationEvidence | None = None
    statuses: list[EpisodeStatus] = field(default_factory=list)
    events: list[EnvironmentEvent] = field(default_factory=list)
    marks: list[EpisodeMark] = field(default_factory=list)

    @property
    def signs(self) -> tuple[Sign, ...]:
        """Return why one might look at it."""
        return signs_of(self.transition, self.contract)

    def to_json(self) -> dict[str, Json]:
        """Return all of it as plain data, each record as it stands in the log."""
        return {
            'episode': self.number,
            'episodes': self.episodes,
            'last_step': self.last_step,
            'client': self.client,
            'transition': to_json(self.transition),
            'evaluator': to_json(self.evaluator) if self.evaluator else None,
            'late_evidence': to_json(self.late) if self.late else None,
            'statuses': [to_json(status) for status in self.statuses],
            'events': [to_json(event) for event in self.events],
            'marks': [to_json(mark) for mark in self.marks],
            'signs': [{'kind': sign.kind, 'why': sign.why} for sign in self.signs],
        }


def find_step(
    path: Path, episode: str, step: str, told: Callable[[str], None] = lambda text: None
) -> OneStep:
    """
    Find one step.

    Parameters
    ----------
    path
        Run folder, bag, ``.mcap`` or ``.jsonl`` file, or folder of an exported data set.
    episode
        Number in the order of the record, from 1; the first digits of its id, at least four; or
        ``last``.
    step
        Its number, 0 for the reset; or ``last``.
    told
        Is told how far it is, now and then.

    Raises
    ------
    RecordError
        If there are no records, no such episode or no such step.

    """
    run = Run(path)
    search = _Search(run.terms().contract, episode, step)
    for number, record in enumerate(chain(read_all(run), marks_in_index(path))):
        if number % 500 == 0:
            told(f'reading: {number} records')
        search.add(record)
    return search.finish()


class _Search:
    def __init__(self, contract: Contract | None, episode: str, step: str) -> None:
        self._contract, self._episode = contract, episode
        self._step = -1 if step == LAST else _number(step, 'the number of a step, from 0')
        self._keys: dict[tuple[str, str], int] = {}
        self._key: tuple[str, str] | None = None
        self._steps: tuple[int, int] | None = None
        self._now: StepId | None = None
        self._found: OneStep | None = None
        self._waiting: Waiting[None] = Waiting()
        self._events: Events | None = None
        self._happened: list[EnvironmentEvent] = []
        self._early: EvaluatorRecord | None = None
        self._client = ''
        self._marks: dict[EpisodeMark, None] = {}

    def add(self, record: object) -> None:
        if isinstance(record, Transition):
            self._transition(record)
        elif isinstance(record, EpisodeMark):
            self._marks[record] = None
        elif isinstance(record, EvaluatorRecord):
            if self._found is not None and record.id == self._found.transition.id:
                self._found.evaluator = record
            else:
                self._early = record  # it may come just before its step
        elif isinstance(record, ActuationEvidence):
            taken = self._waiting.take(record)
            if taken is not None and self._found and taken[0] is self._found.transition:
                self._found.late = record
        elif isinstance(record, EpisodeStatus):
            self._status(record)

    def finish(self) -> OneStep:
        if self._key is None:
            raise RecordError(self._no_episode())
        first, last = self._steps or (0, 0)
        found = self._found
        if found is None:
            raise RecordError(
                f'Expect a step from {first} to {last} that the record has of episode '
                f'{self._keys[self._key]}, actually: {self._step}.'
            )
        found.episodes, found.last_step, found.client = len(self._keys), last, self._client
        found.events = [e for e in self._happened if e.id.step == found.transition.id.step]
        found.marks = [m for m in self._marks if (m.id.agent, m.id.episode_id) == self._key]
        return found

    def _no_episode(self) -> str:
        if not self._keys:
            return 'Expect a record with episodes, actually: it holds no transition.'
        return (
            f'Expect an episode from 1 to {len(self._keys)}, the first digits of an id, or '
            f'"last", actually: {self._episode!r}. `boundary-env report` lists them.'
        )

    def _wanted(self, key: tuple[str, str]) -> bool:
        if self._episode == LAST:
            return True
        if self._episode.isdecimal() and len(self._episode) < 8:
            return self._keys[key] == int(self._episode)
        # The first that fits; an id has so many digits that a few tell it from the others.
        return len(self._episode) >= 4 and key[1].startswith(self._episode) and self._key is None

    def _transition(self, now: Transition) -> None:
        key = (now.id.agent, now.id.episode_id)
        if key not in self._keys:
            self._keys[key] = len(self._keys) + 1
            if self._wanted(key):
                self._begin(key, now)
        if key != self._key:
            return
        self._now = now.id
        low, high = self._steps or (now.id.step, now.id.step)
        self._steps = (min(low, now.id.step), max(high, now.id.step))
        for decision in now.decisions:
            if decision.request is not None and not self._client:
                self._client = decision.request.client
        if self._events is not None:
            self._happened += self._events.transition(now)
        if self._step in (-1, now.id.step):
            self._found = OneStep(transition=now, number=self._keys[key], contract=self._contract)
            self._waiting.add(now, None)
            if self._early is not None and self._early.id == now.id:
                self._found.evaluator = self._early

    def _begin(self, key: tuple[str, str], now: Transition) -> None:
        self._key, self._steps, self._found, self._client = key, None, None, ''
        self._happened.clear()
        if self._contract is not None:
            self._events = Events(self._contract, now.id.digest)

    def _status(self, status: EpisodeStatus) -> None:
        if (status.id.agent, status.id.episode_id) != self._key:
            return
        self._client = self._client or status.client
        if self._events is not None:
            self._happened += self._events.status(status)
        found = self._found
        if found is not None and found.transition.id == self._now:
            told = [(one.state, one.message) for one in found.statuses]
            if (status.state, status.message) not in told:
                found.statuses.append(status)


def _number(text: str, what: str) -> int:
    if not text.isdecimal():
        raise RecordError(f'Expect {what}, or "last", actually: {text!r}.')
    return int(text)
