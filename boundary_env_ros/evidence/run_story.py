# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the picture of a run shows, gathered in one pass over its record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
import math

from boundary_env_ros.core.contract import Contract, FieldSpec
from boundary_env_ros.core.decision import Verdict
from boundary_env_ros.core.latency import LatencyStage, STAGES
from boundary_env_ros.core.observation import ObservationField
from boundary_env_ros.core.sources import Vector
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.core.transition import (
    ActuationEvidence,
    EvaluatorRecord,
    Kind,
    Transition,
)
from boundary_env_ros.evidence.late import late_stages, Waiting
from boundary_env_ros.evidence.statistics import Quantiles

#: Episodes whose path is drawn; those after them are only counted.
PATHS = 60

#: Bins of the latency, from and to s, so many for each power of ten.
SHORTEST, LONGEST, BINS = 1e-5, 10.0, 12

Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """
    Names of the fields whose first two values are a position in the plane.

    Attributes
    ----------
    position, goal
        Of the observation; empty if there is none.
    truth
        Of the evaluator; empty if there is none.
    unit, frame
        Of all three.

    """

    position: str = ''
    goal: str = ''
    truth: str = ''
    unit: str = 'm'
    frame: str = ''


#: What is drawn without a contract.
UNKNOWN_PLACES = Places(position='pose', goal='goal', truth='true_pose')


def places_of(contract: Contract) -> Places:
    """
    Return the fields to draw in the plane, found by their units and frames.

    The position is the first field that a topic gives and whose values begin with two lengths; the
    goal is a field of the task like that in the same frame, and the truth one of the evaluator.
    """

    def planar(spec: FieldSpec) -> bool:
        return len(spec.unit) >= 2 and tuple(spec.unit[:2]) == ('m', 'm') and len(spec.shape) == 1

    position = next((s for s in contract.observation if planar(s) and s.topic), None)
    if position is None:
        return Places()

    def alike(specs: Sequence[FieldSpec]) -> str:
        return next((s.name for s in specs if planar(s) and s.frame == position.frame), '')

    return Places(
        position=position.name,
        goal=alike([spec for spec in contract.observation if spec.task]),
        truth=alike(contract.evaluator),
        frame=position.frame,
    )


@dataclass(slots=True)
class Path:
    """The way of one episode."""

    episode_id: str
    drawn: bool = True
    client: str = ''
    cause: str = ''
    observed: list[Point] = field(default_factory=list)
    truth: list[Point] = field(default_factory=list)
    goal: Point | None = None


@dataclass(slots=True)
class Course:
    """The actions of one episode over time."""

    episode_id: str
    client: str = ''
    cause: str = ''
    began: int = 0
    seconds: list[float] = field(default_factory=list)
    requested: list[Vector] = field(default_factory=list)
    published: list[Vector] = field(default_factory=list)
    measured: list[Vector] = field(default_factory=list)
    reasons: list[tuple[float, str]] = field(default_factory=list)

    @property
    def interest(self) -> tuple[int, int]:
        """Return how much there is to see: kinds of interventions first, then their number."""
        return len({reason for _, reason in self.reasons}), len(self.reasons)


@dataclass(slots=True)
class StageCounts:
    """Durations of one stage in logarithmic bins."""

    bins: Counter[int] = field(default_factory=Counter)
    quantiles: Quantiles = field(default_factory=Quantiles)
    budget: float | None = None

    def add(self, seconds: float) -> None:
        """Count one duration; what is shorter or longer than the bins is in the outermost."""
        self.quantiles.add(seconds)
        inside = min(max(seconds, SHORTEST), LONGEST * 0.999)
        self.bins[math.floor(math.log10(inside / SHORTEST) * BINS)] += 1


@dataclass(slots=True)
class Story:
    """
    What the picture shows.

    Attributes
    ----------
    paths
        Of the first episodes.
    episodes
        Number of all.
    course
        Actions of the episode with the most to see; None if no episode had a step.
    stages
        Latency by stage.
    endings
        Number of endings by client and cause.

    """

    title: str = ''
    paths: list[Path] = field(default_factory=list)
    episodes: int = 0
    course: Course | None = None
    stages: dict[str, StageCounts] = field(
        default_factory=lambda: {stage: StageCounts() for stage in STAGES}
    )
    endings: dict[str, Counter[str]] = field(default_factory=dict)


def tell(records: Iterable[object], places: Places) -> Story:
    """Gather what the picture shows; see :class:`Story`."""
    teller = _Teller(places)
    for record in records:
        if isinstance(record, Transition):
            teller.step(record)
        elif isinstance(record, EvaluatorRecord):
            teller.truth(record)
        elif isinstance(record, ActuationEvidence):
            teller.evidence(record)
    teller.finish()
    return teller.story


class _Teller:
    def __init__(self, places: Places) -> None:
        self.story = Story()
        self._places = places
        self._path: dict[str, Path] = {}
        self._course: dict[str, Course] = {}
        self._early: tuple[str, Point] | None = None
        self._waiting: Waiting[None] = Waiting()

    def step(self, now: Transition) -> None:
        agent = now.id.agent
        path = self._path.get(agent)
        if path is None or path.episode_id != now.id.episode_id:
            self._close(agent)
            path = self._begin(now)
        course = self._course[agent]
        for decision in now.decisions:
            if decision.request is not None and not path.client:
                path.client = course.client = decision.request.client
        where = point_in(now.after, self._places.position)
        if where is not None and path.drawn:
            path.observed.append(where)
        path.goal = path.goal or point_in(now.after, self._places.goal)
        path.cause = course.cause = now.cause
        if now.kind is Kind.STEP:
            self._actions(course, now)
            self._latency(now)

    def _begin(self, now: Transition) -> Path:
        self.story.title = self.story.title or f'{now.contract} {now.contract_version}'
        self.story.episodes += 1
        drawn = len(self.story.paths) < PATHS
        path = Path(episode_id=now.id.episode_id, drawn=drawn)
        if drawn:
            self.story.paths.append(path)
        if self._early is not None and self._early[0] == path.episode_id and drawn:
            path.truth.append(self._early[1])
        self._path[now.id.agent] = path
        self._course[now.id.agent] = Course(episode_id=now.id.episode_id, began=now.closed.steady)
        return path

    def _close(self, agent: str) -> None:
        path, course = self._path.pop(agent, None), self._course.pop(agent, None)
        if path is None or course is None:
            return
        endings = self.story.endings.setdefault(path.client, Counter())
        endings[path.cause or 'no ending'] += 1
        best = self.story.course
        if course.seconds and (best is None or course.interest > best.interest):
            self.story.course = course

    def finish(self) -> None:
        for agent in tuple(self._path):
            self._close(agent)

    def _actions(self, course: Course, now: Transition) -> None:
        moment = (now.closed.steady - course.began) / NANOSECONDS
        course.seconds.append(moment)
        course.requested.append(now.requested_action)
        published = (d.command for d in reversed(now.decisions) if d.published)
        course.published.append(next(published, ()))
        course.measured.append(now.measured_action)
        reasons = {
            result.reason.name
            for decision in now.decisions
            if decision.verdict is not Verdict.ADMITTED
            for result in decision.rules
        }
        course.reasons += [(moment, reason) for reason in sorted(reasons)]

    def _latency(self, now: Transition) -> None:
        for name, counts in self.story.stages.items():
            stage: LatencyStage = getattr(now.latency, name)
            counts.budget = stage.budget if counts.budget is None else counts.budget
            if stage.duration is not None:
                counts.add(stage.duration)
        self._waiting.add(now, None)

    def evidence(self, evidence: ActuationEvidence) -> None:
        found = self._waiting.take(evidence)
        if found is None:
            return
        for name, stage in late_stages(found[0], evidence, {}).items():
            if stage.duration is not None:
                self.story.stages[name].add(stage.duration)

    def truth(self, record: EvaluatorRecord) -> None:
        where = point_in(record.fields, self._places.truth)
        if where is None:
            return
        path = self._path.get(record.id.agent)
        if path is not None and path.episode_id == record.id.episode_id:
            if path.drawn:
                path.truth.append(where)
        else:
            # It may come just before the step that it is about, the first of an episode.
            self._early = (record.id.episode_id, where)


def point_in(fields: Iterable[ObservationField], name: str) -> Point | None:
    """Return the place in the plane that a field tells; None if there is none."""
    for found in fields:
        if found.name == name and len(found.values) >= 2:
            x, y = found.values[:2]
            return (x, y) if math.isfinite(x) and math.isfinite(y) else None
    return None
