# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The figures of a run as values, and as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
import math

from boundary_env_ros.core.records.latency import LatencyStage, STAGES
from boundary_env_ros.evidence.episodes import Origin
from boundary_env_ros.evidence.plain import fields_of, plain
from boundary_env_ros.evidence.response import MANY
from boundary_env_ros.evidence.summary.statistics import Proportion, Quantiles
from boundary_env_ros.frozen import frozen
from boundary_env_ros.terminal import many, table


@dataclass(slots=True)
class StageSummary:
    """
    One stage of the latency.

    Attributes
    ----------
    quantiles
        Seconds, of the steps that know it.
    budget
        Seconds that the contract allows; None if it says nothing.
    over
        Steps that took longer.

    """

    budget: float | None = None
    quantiles: Quantiles = field(default_factory=Quantiles)
    over: int = 0

    def add(self, stage: LatencyStage) -> None:
        """Take the stage of one step."""
        if stage.duration is not None:
            self.quantiles.add(stage.duration)
            self.over += stage.over_budget

    @property
    def known(self) -> int:
        """Return how many steps know it."""
        return self.quantiles.count

    def to_json(self) -> dict[str, float | None]:
        """Return it as plain data; the quantiles are right to within 0.5 %."""
        return {
            'known': self.known,
            'p50': self.quantiles.at(0.5),
            'p99': self.quantiles.at(0.99),
            'greatest': self.quantiles.greatest if self.known else None,
            'budget': self.budget,
            'over': self.over,
        }


@frozen
class Delay:
    """
    How far the robot is behind its commands in one dimension, estimated and not measured.

    Attributes
    ----------
    episodes
        Those to which the response of the robot was fitted.
    seconds
        Dead time, lag and the sensor's own delay together.
    uncertainty
        Half a period and twice its standard error, s.

    """

    episodes: int
    seconds: float
    uncertainty: float


@dataclass(slots=True, kw_only=True)
class Execution:
    """
    Of how many steps it is known when their command was executed.

    Attributes
    ----------
    changed
        Steps whose command is another than that before; of the others there is nothing to execute.
    measured
        Those of which evidence of the execution came: their time is in the stage ``actuation``.
    estimated
        Others, to whose commands the response of the robot could be fitted.
    delays
        What was fitted, by dimension; never in a stage.
    still
        Dimensions that never moved, though their command did many times.

    """

    changed: int = 0
    measured: int = 0
    estimated: int = 0
    delays: dict[str, Delay] = field(default_factory=dict)
    still: tuple[str, ...] = ()

    @property
    def ignored(self) -> str:
        """
        Return which commands the robot is not seen to have followed; empty if there is none.

        Where no evidence came of any, a sensor may have shown its noise.
        """
        if self.changed >= MANY and not self.measured and not self.estimated:
            return 'all'
        return ', '.join(self.still)


@frozen
class Disagreement:
    """
    One episode of which people say otherwise than the environment, or than each other.

    Attributes
    ----------
    ending, success
        Name of its ending, and whether the environment counts it a success.
    labels
        The latest word of each: who, what, and why.

    """

    episode_id: str
    ending: str
    success: bool
    labels: tuple[str, ...]


@frozen
class Excluded:
    """One episode that is in no rate of success, and why."""

    episode_id: str
    seed: int
    why: str


@dataclass(slots=True, kw_only=True)
class FigureGroup:
    """
    The figures of the episodes of one origin.

    Attributes
    ----------
    origin
        Policy, contract, pacing and versions that made them.
    action_space, observation_space, reset_distribution
        What the contract declares; empty if it is not known.
    seeds, reset_options
        Seeds of the episodes, and options of their resets as JSON, each once.
    episodes, steps
        Episodes with an ending, and steps.
    excluded
        Episodes that are in no rate of success, and why.
    endings
        Number of episodes by ending.
    success
        Proportion of successes among all ended episodes: a truncation counts as failure. One that
        was imported, and that its task could not judge, is in no rate of success.
    success_of_terminated, truncated
        Proportion of successes among the terminated episodes only, and the number that were
        truncated, apart.
    total_return, total_length
        Sum of the rewards, and of the steps, of the ended episodes; the return is NaN if a reward
        is unknown.
    imported, unjudged
        Steps that were not recorded: they were made from a bag without a gate; and those of them
        that the task could not judge.
    clipped
        Steps whose action was limited by its bounds, of those that a gate decided.
    intervened
        Steps in which the gate did anything but admit, of the same.
    by_hand, taken_over
        Steps in which a command of an operator went out, and how many times one took over.
    labelled, success_by_labels
        Ended episodes that people have labelled, and the proportion of successes among those on
        which all labels that are decided agree.
    disagreements
        Where they say otherwise than the environment, or than each other.
    stops
        How often the gate began to stop the robot, by reason.
    overruns
        Ticks that came before an action.
    verdicts, reasons
        Steps by verdict (``NONE``: no decision came), and rule results by reason.
    stages
        Latency, by stage.
    execution
        Of how many steps it is known when their command was executed.
    clipped_in
        Steps in which the gate limited a dimension of the action for any reason, by dimension.
    stale, missing
        Observations in which a field was too old, or had never come, by field.

    """

    origin: Origin
    action_space: str = ''
    observation_space: str = ''
    reset_distribution: Mapping[str, object] = field(default_factory=dict)
    seeds: list[int] = field(default_factory=list)
    reset_options: list[str] = field(default_factory=list)
    episodes: int = 0
    excluded: list[Excluded] = field(default_factory=list)
    steps: int = 0
    endings: Counter[str] = field(default_factory=Counter)
    success: Proportion = field(default_factory=Proportion)
    success_of_terminated: Proportion = field(default_factory=Proportion)
    truncated: int = 0
    total_return: float = 0.0
    total_length: int = 0
    imported: int = 0
    unjudged: int = 0
    clipped: Proportion = field(default_factory=Proportion)
    intervened: Proportion = field(default_factory=Proportion)
    by_hand: Proportion = field(default_factory=Proportion)
    taken_over: int = 0
    labelled: int = 0
    success_by_labels: Proportion = field(default_factory=Proportion)
    disagreements: list[Disagreement] = field(default_factory=list)
    stops: Counter[str] = field(default_factory=Counter)
    overruns: Proportion = field(default_factory=Proportion)
    verdicts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    stages: Mapping[str, StageSummary] = field(default_factory=dict)
    execution: Execution = field(default_factory=Execution)
    clipped_in: Counter[str] = field(default_factory=Counter)
    stale: Counter[str] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)

    @property
    def mean_return(self) -> float | None:
        """Return the mean sum of rewards of the ended episodes; None if one is unknown."""
        known = self.episodes and not math.isnan(self.total_return)
        return self.total_return / self.episodes if known else None

    @property
    def mean_length(self) -> float | None:
        """Return the mean number of steps of the ended episodes."""
        return self.total_length / self.episodes if self.episodes else None

    def to_json(self) -> dict[str, object]:
        """Return it as plain data."""
        means = {'mean_return': self.mean_return, 'mean_length': self.mean_length}
        found = fields_of(self, without=('origin', 'total_return', 'total_length'))
        return {**plain(self.origin._asdict()), **found, **means}


@frozen
class Summary:
    """
    The figures of a run.

    Attributes
    ----------
    groups
        Apart for each origin, in the order of their first episode.

    """

    groups: tuple[FigureGroup, ...]

    def __str__(self) -> str:
        return '\n'.join(_lines(self))

    def origins(self) -> tuple[dict[str, str], dict[str, list[str]]]:
        """Return what all groups share, and the client and whatever else distinguishes them."""
        shown = {
            name.replace('_', ' '): [_origin(group.origin, name) for group in self.groups]
            for name in Origin._fields
        }
        shared = {name for name, some in shown.items() if len({*some}) == 1} - {'client'}
        return (
            {name: some[0] for name, some in shown.items() if name in shared},
            {name: some for name, some in shown.items() if name not in shared},
        )

    def to_json(self) -> dict[str, object]:
        """Return the summary as plain data; a proportion has its interval beside it."""
        return fields_of(self)


# As a table --------------------------------------------------------------------------------------

#: Clients that are shown side by side.
_ABREAST = 3


def _lines(summary: Summary) -> Iterator[str]:
    groups = summary.groups
    if not groups:
        yield 'No transitions, so no figures.'
        return
    shared, apart = summary.origins()
    yield from table(shared.items())
    yield 'In brackets: how many of how many; 95 % interval in %.'
    for start in range(0, len(groups), _ABREAST):
        some = slice(start, start + _ABREAST)
        yield ''
        rows = [(name, values[some]) for name, values in apart.items()]
        yield from table((label, *cells) for label, cells in (*rows, *_rows(groups[some])))
    yield from _disagreements(groups)


def _origin(origin: Origin, name: str) -> str:
    if name == 'client':
        return origin.client or '(no request)'
    value = getattr(origin, name)
    if name == 'digest':
        return f'{value[:19]}...'
    return (', '.join(value) if name == 'wrappers' else value) or 'unknown'


def _disagreements(clients: tuple[FigureGroup, ...]) -> Iterator[str]:
    """Yield the episodes of which people say otherwise, beside what the environment says."""
    for client in clients:
        if not client.disagreements:
            continue
        yield ''
        yield (
            f'Judged otherwise by people, {len(client.disagreements)} episodes of '
            f'{_origin(client.origin, "client")}:'
        )
        for one in client.disagreements:
            yield f'  episode {one.episode_id[:8]}, {one.ending}: {"; ".join(one.labels)}'


def _rows(clients: tuple[FigureGroup, ...]) -> Iterator[tuple[str, list[str]]]:
    """Yield label and cells of each row."""
    yield 'episodes', [str(c.episodes) for c in clients]
    for ending in _union(c.endings for c in clients):
        yield f'  {ending}', [str(c.endings.get(ending, '-')) for c in clients]
    for why in _union({one.why: 0 for one in c.excluded} for c in clients):
        excluded = [sum(one.why == why for one in c.excluded) for c in clients]
        yield f'  in no rate of success: {why}', list(map(str, excluded))
    yield 'success, a truncation as failure', [str(c.success) for c in clients]
    yield 'success of the terminated', [str(c.success_of_terminated) for c in clients]
    yield '  truncated, apart', [str(c.truncated) for c in clients]
    if any(c.labelled for c in clients):
        yield 'labelled by people', [str(c.labelled) for c in clients]
        yield '  success, by their labels', [str(c.success_by_labels) for c in clients]
        yield '  judged otherwise', [str(len(c.disagreements)) for c in clients]
    yield 'return, mean', [_short(c.mean_return) for c in clients]
    yield 'steps of an episode, mean', [_short(c.mean_length) for c in clients]
    if any(c.imported for c in clients):
        yield 'steps imported from a bag, no gate', [f'{c.imported} of {c.steps}' for c in clients]
    if any(c.unjudged for c in clients):
        yield '  which the task could not judge', [f'{c.unjudged}' for c in clients]
    yield 'steps with an action out of bounds', [str(c.clipped) for c in clients]
    yield 'steps with an intervention', [str(c.intervened) for c in clients]
    if any(c.taken_over for c in clients):
        yield 'steps by the hand of an operator', [str(c.by_hand) for c in clients]
        yield '  takeovers', [str(c.taken_over) for c in clients]
    for index, reason in enumerate(_union(c.stops for c in clients)):
        if not index:
            yield 'stops of the gate, by reason', [''] * len(clients)
        label = reason.lower().replace('_', ' ')
        yield f'  {label}', [str(c.stops.get(reason, '-')) for c in clients]
    yield 'overruns of the period', [str(c.overruns) for c in clients]
    for name in _union(c.clipped_in for c in clients):
        yield f'  limited, {name}', [str(c.clipped_in.get(name, 0)) for c in clients]
    for name in _union(c.stale for c in clients):
        if any(c.stale.get(name) or c.missing.get(name) for c in clients):
            counts = [f'{c.stale.get(name, 0)}, {c.missing.get(name, 0)}' for c in clients]
            yield f'{name} too old, or missing', counts
    yield 'latency p50 / p99, ms (steps)', [''] * len(clients)
    for stage in STAGES:
        yield f'  {_stage_label(stage, clients)}', [_stage(c, stage) for c in clients]
    yield 'steps with another command than before', [str(c.execution.changed) for c in clients]
    for name in ('measured', 'estimated'):
        counts = [str(getattr(c.execution, name)) for c in clients]
        yield f'  execution {name}', counts
    if any(c.execution.ignored for c in clients):
        yield '  not followed (does the driver take them?)', [c.execution.ignored for c in clients]
    for dimension in _union(c.execution.delays for c in clients):
        cells = [_delay(c.execution.delays.get(dimension)) for c in clients]
        yield f'  estimated delay, {dimension}, ms', cells


def _union(mappings: Iterable[Mapping[str, object]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for mapping in mappings for name in mapping))


def _short(value: float | None) -> str:
    return '-' if value is None else f'{value:.3g}'


def _stage_label(stage: str, clients: tuple[FigureGroup, ...]) -> str:
    budget = clients[0].stages[stage].budget
    return stage if budget is None else f'{stage}, budget {1000 * budget:g}'


def _stage(client: FigureGroup, stage: str) -> str:
    found = client.stages[stage]
    p50, p99 = found.quantiles.at(0.5), found.quantiles.at(0.99)
    if p50 is None or p99 is None:
        return 'unknown'
    over = f', {found.over} over' if found.over else ''
    return f'{milliseconds(p50)} / {milliseconds(p99)} ({found.known}{over})'


def _delay(found: Delay | None) -> str:
    if found is None:
        return 'unknown'
    delay = f'{milliseconds(found.seconds)} ± {milliseconds(found.uncertainty)}'
    return f'{delay} ({many(found.episodes, "episode")})'


def milliseconds(seconds: float) -> str:
    """Return a duration in milliseconds, in about three digits."""
    shown = 1000 * seconds
    return f'{shown:.0f}' if abs(shown) >= 100 else f'{shown:.3g}'
