# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One of the two runs, read in one pass: its episodes as numbers, in memory for these alone."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
import json

import numpy as np
import numpy.typing as npt

from boundary_env_ros.core.contract import Contract
from boundary_env_ros.core.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.transition import ActuationEvidence, EvaluatorRecord, Transition
from boundary_env_ros.evidence.comparing.features import achieved_of, features
from boundary_env_ros.evidence.comparing.open_loop import HORIZON, OpenLoop
from boundary_env_ros.evidence.comparing.quantities import Values
from boundary_env_ros.evidence.comparing.segments import Pieces, pieces_of
from boundary_env_ros.evidence.comparing.tape import FieldTrack, Tape
from boundary_env_ros.evidence.late import late_stages, Waiting
from boundary_env_ros.evidence.run_files import Unreadable

Array = npt.NDArray[np.float64]

#: Evaluator's records that wait for the step that they are about.
_EARLY = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """
    One whole episode.

    Attributes
    ----------
    key
        Seed, options and sampled state: what two episodes have in common that are a pair. Nobody
        knows those of an imported episode, which is no pair with any.
    imported, judged
        Whether it was made from a bag, and whether its task could judge it; see :class:`Tape`.
    values
        What it is compared in.
    achieved
        Each number that the reset achieved, with its unit.
    pieces
        Pieces for matching; None if there are none, or the episode was replayed.

    """

    episode_id: str
    seed: int
    options: str
    key: str
    client: str
    cause: str
    truncated: bool
    steps: int
    imported: bool
    judged: bool
    values: Values
    achieved: dict[str, tuple[float, str]]
    pieces: Pieces | None


@dataclass(slots=True, kw_only=True)
class Side:
    """
    What a run is compared by.

    Attributes
    ----------
    name
        What it is called.
    contract
        Its contract.
    drift
        Of each field, how far the episodes went off in open loop: sum of sizes and their number at
        each step, shape (2, HORIZON + 1, n).
    not_replayed
        Why episodes were not replayed, and how many.
    left_out
        Why episodes are not compared, and how many.

    """

    name: str
    contract: Contract
    episodes: list[Episode] = field(default_factory=list)
    drift: dict[str, Array] = field(default_factory=dict)
    replayed: int = 0
    not_replayed: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    unreadable: int = 0
    software: Counter[str] = field(default_factory=Counter)

    @property
    def clients(self) -> Counter[str]:
        """Return how many episodes each client had."""
        return Counter(episode.client for episode in self.episodes)

    @property
    def steps(self) -> int:
        """Return the number of steps of all episodes."""
        return sum(episode.steps for episode in self.episodes)


def read_side(
    records: Iterable[object],
    contract: Contract,
    *,
    name: str,
    agent: str,
    simulation: OpenLoop | None = None,
    client: str = '',
) -> Side:
    """
    Read a run.

    Parameters
    ----------
    records
        Everything that was recorded, in its order; what has no part in this is passed over.
    contract
        Its contract.
    name
        What it is to be called.
    agent
        Whose episodes.
    simulation
        What every episode is replayed in; None: pieces with equal commands are kept instead.
    client
        Whose episodes, if not those of all clients.

    """
    reader = _Reader(Side(name=name, contract=contract), agent, simulation, client)
    for record in records:
        reader.add(record)
    return reader.side()


class _Reader:
    def __init__(self, side: Side, agent: str, simulation: OpenLoop | None, client: str) -> None:
        self._side, self._agent, self._client = side, agent, client
        self._simulation = simulation
        self._tape: Tape | None = None
        self._waiting: Waiting[Tape] = Waiting()
        self._announced: EpisodeStatus | None = None
        self._early: OrderedDict[tuple[str, int], EvaluatorRecord] = OrderedDict()

    def add(self, record: object) -> None:
        """Take the next record."""
        if isinstance(record, Transition):
            if record.id.agent == self._agent:
                self._transition(record)
        elif isinstance(record, ActuationEvidence):
            self._evidence(record)
        elif isinstance(record, EvaluatorRecord):
            if record.id.agent == self._agent:
                self._truth(record)
        elif isinstance(record, EpisodeStatus):
            if record.id.agent == self._agent and record.state.over:
                self._announced = record
        elif isinstance(record, Unreadable):
            self._side.unreadable += 1

    def side(self) -> Side:
        """Return what was read."""
        self._close()
        return self._side

    def _transition(self, now: Transition) -> None:
        tape = self._tape
        if tape is None or tape.episode_id != now.id.episode_id:
            self._close()
            tape = self._tape = Tape(episode_id=now.id.episode_id, seed=now.seed)
            self._side.software[now.software_version] += 1
        tape.add(now)
        self._waiting.add(now, tape)
        early = self._early.pop((now.id.episode_id, now.id.step), None)
        if early is not None:
            _take(tape, early)

    def _truth(self, record: EvaluatorRecord) -> None:
        tape, step = self._tape, record.id.step
        here = tape is not None and tape.episode_id == record.id.episode_id
        if tape is not None and here and step < len(tape.closed):
            _take(tape, record)
            return
        # It may come before the step that it is about.
        self._early[record.id.episode_id, step] = record
        if len(self._early) > _EARLY:
            self._early.popitem(last=False)

    def _evidence(self, evidence: ActuationEvidence) -> None:
        found = self._waiting.take(evidence)
        if found is None:
            return
        step, tape = found
        if tape is self._tape:
            tape.seen.add(step.id.step)
            for name, stage in late_stages(step, evidence, {}).items():
                if stage.duration is not None:
                    tape.stages[name].append(stage.duration)

    def _close(self) -> None:
        tape, self._tape = self._tape, None
        if tape is None:
            return
        announced = self._announced
        if not tape.cause and announced and announced.id.episode_id == tape.episode_id:
            tape.cause = announced.cause
            tape.truncated = announced.state is EpisodeState.TRUNCATED
        why = self._why_not(tape)
        if why:
            self._side.left_out[why] += 1
            return
        values = dict(features(tape, self._side.contract))
        pieces = None
        if self._simulation is None:
            pieces = pieces_of(tape, self._side.contract)
        else:
            values.update(self._replayed(tape, self._simulation))
        reset = tape.reset
        options = reset.options if reset else ''
        start = [[s.name, list(s.values)] for s in (reset.sampled if reset else ())]
        self._side.episodes.append(
            Episode(
                episode_id=tape.episode_id,
                seed=tape.seed,
                options=options,
                key=tape.episode_id if tape.imported else json.dumps([tape.seed, options, start]),
                client=tape.client,
                cause=tape.cause,
                truncated=tape.truncated,
                steps=tape.steps,
                imported=tape.imported,
                judged=tape.judged,
                values=values,
                achieved=achieved_of(tape),
                pieces=pieces,
            )
        )

    def _why_not(self, tape: Tape) -> str:
        if self._client and tape.client != self._client:
            return f'it is of another client than {self._client}'
        if not tape.cause:
            return 'it has no ending'
        if not tape.whole:
            return 'its reset is not in the record'
        return '' if tape.steps else 'it has no step'

    def _replayed(self, tape: Tape, simulation: OpenLoop) -> Values:
        drift = simulation.replay(tape)
        if isinstance(drift, str):
            self._side.not_replayed[drift] += 1
            return {}
        self._side.replayed += 1
        for name, error in drift.errors.items():
            total = self._side.drift.setdefault(name, np.zeros((2, HORIZON + 1, error.shape[1])))
            known = np.isfinite(error)
            total[0, : len(error)] += np.where(known, np.abs(error), 0.0)
            total[1, : len(error)] += known
        return drift.values(self._side.contract)


def _take(tape: Tape, record: EvaluatorRecord) -> None:
    for found in record.fields:
        tape.truth.setdefault(found.name, FieldTrack()).add(found)
