# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What two runs are compared in: families of numbers, each one number for every episode."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
import math
from typing import TypeAlias

from boundary_env_ros.core.contract.model import Contract, FieldSpec
from boundary_env_ros.core.latency import STAGES
from boundary_env_ros.evidence.episodes import LATE_STAGES

#: By family and label, the number of one episode.
Values: TypeAlias = Mapping[str, Mapping[str, float]]

#: What is compared, in the order in which it is told.
SECTIONS: Mapping[str, str] = {
    'reset': 'Resets',
    'observations': 'Observations',
    'privileged': 'Privileged fields',
    'latency': 'Latency by stage',
    'rates': 'Clips, interventions, overruns',
    'outcome': 'Endings, success, return',
    'divergence': 'Open-loop divergence',
    'response': 'Response to commands',
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """
    Numbers that are tested together, as one question.

    Attributes
    ----------
    name
        ``<section>.<what>``.
    what
        What each of its numbers is, in an episode.
    units, spans
        By label: unit, and how far the contract lets the quantity reach; what has no entry has
        none that is declared.
    absent
        What an episode has that says nothing of a label.
    turns
        Labels whose numbers are angles on a full circle.

    """

    name: str
    what: str
    units: Mapping[str, str] = field(default_factory=dict)
    spans: Mapping[str, float] = field(default_factory=dict)
    absent: float = math.nan
    turns: frozenset[str] = frozenset()

    @property
    def section(self) -> str:
        """Return the key of its section."""
        return self.name.partition('.')[0]


def families(contract: Contract) -> dict[str, Family]:
    """Return what runs under a contract can be compared in, by name and in order."""
    found = [
        *_of_resets(contract),
        *_of_fields(contract),
        *_of_latency(contract),
        *_of_rates(),
        *_of_outcome(),
        *_of_commands(contract),
    ]
    return {family.name: family for family in found}


def section_of(contract: Contract, spec: FieldSpec) -> str:
    """Return the section that a field belongs to: what no policy sees is apart."""
    return 'privileged' if spec in contract.privileged else 'observations'


def labels_of(spec: FieldSpec) -> tuple[str, ...]:
    """Return a label for each number of a field; none for an image."""
    if spec.is_image:
        return ()
    if spec.size == 1:
        return (spec.name,)
    return tuple(f'{spec.name}[{index}]' for index in range(spec.size))


def turning(spec: FieldSpec) -> tuple[bool, ...]:
    """Return which numbers of a field are angles on a full circle."""
    if len(spec.unit) != spec.size or len(spec.low) != spec.size:
        return (False,) * spec.size
    return tuple(
        unit == 'rad' and low <= -3.14 and high >= 3.14 and high - low < 6.5
        for unit, low, high in zip(spec.unit, spec.low, spec.high, strict=True)
    )


def command_spans(contract: Contract) -> tuple[float, ...]:
    """Return how far each dimension of the command reaches; infinite where nothing says it."""
    spans: list[float] = []
    for group in contract.action:
        if len(group.low) == len(group.high) == group.size:
            spans += [h - low for low, h in zip(group.low, group.high, strict=True)]
        else:
            spans += [math.inf] * group.size
    return tuple(spans)


def _of_resets(contract: Contract) -> Iterator[Family]:
    tolerances = {
        f'{name}[{index}]': value
        for name, values in contract.episode.reset.tolerance.items()
        for index, value in enumerate(values)
    }
    yield Family(name='reset.sampled', what='value that the task sampled, and how far it scatters')
    yield Family(name='reset.error', what='achieved minus sampled value', spans=tolerances)
    yield Family(name='reset.duration', what='time that the reset took', units={'duration': 's'})


#: What is told of the numbers of a field, and what it is.
_OF_NUMBERS: Mapping[str, str] = {
    'level': 'mean value',
    'spread': 'standard deviation',
    'noise': 'what jumps from step to step (robust, of second differences)',
    'at_reset': 'first value after the reset, against what the reset achieved if that tells more',
}


def _of_fields(contract: Contract) -> Iterator[Family]:
    for spec in contract.fields:
        start = f'{section_of(contract, spec)}.{spec.name}'
        labels = labels_of(spec)
        turns = frozenset(
            label for label, turn in zip(labels, turning(spec), strict=False) if turn
        )
        for name, what in _OF_NUMBERS.items() if labels else ():
            yield Family(
                name=f'{start}.{name}',
                what=what,
                units=dict(zip(labels, spec.unit, strict=False)),
                spans=_spans(spec),
                turns=turns if name in ('level', 'at_reset') else frozenset(),
            )
        if spec.topic:
            yield Family(name=f'{start}.age', what='mean age', units={'age': 's'})
            yield Family(
                name=f'{start}.doubtful',
                what='share of steps',
                spans={'stale': 1.0, 'missing': 1.0, 'clipped': 1.0},
            )


def _spans(spec: FieldSpec) -> dict[str, float]:
    """Return how far each number of a field reaches, where its bounds say it."""
    bounds = zip(labels_of(spec), spec.low, spec.high, strict=False)
    return {label: high - low for label, low, high in bounds if math.isfinite(high - low)}


def _of_latency(contract: Contract) -> Iterator[Family]:
    for stage in STAGES:
        budget = contract.latency_budget.get(stage)
        late = ', longer where no feedback shows it' if stage in LATE_STAGES else ''
        yield Family(
            name=f'latency.{stage}',
            what=f'time of a step{late}',
            units={'median': 's', 'p90': 's'},
            spans={} if budget is None else {'median': budget, 'p90': budget},
        )
    yield Family(
        name='latency.unseen',
        what='share of commands that changed enough, and whose execution no feedback shows',
        spans={'actuation': 1.0},
    )


def _of_rates() -> Iterator[Family]:
    for name, what in (
        ('clipped', 'share of steps whose action was out of bounds and limited'),
        ('intervened', 'share of steps in which the gate did not simply admit'),
        ('by_hand', 'share of steps in which a person moved the robot'),
        ('overruns', 'share of steps that were closed without an action'),
    ):
        yield Family(name=f'rates.{name}', what=what, spans={name: 1.0})
    yield Family(name='rates.reasons', what='share of steps with this reason', absent=0.0)


def _of_outcome() -> Iterator[Family]:
    for name, what in (
        ('success', 'a truncation counts as failure'),
        ('success_of_terminated', 'of the episodes that terminated'),
    ):
        yield Family(name=f'outcome.{name}', what=what, spans={'success': 1.0})
    yield Family(name='outcome.endings', what='share of episodes with this ending', absent=0.0)
    yield Family(name='outcome.return', what='sum of rewards')
    yield Family(name='outcome.reward_terms', what='sum of this term', absent=0.0)
    yield Family(name='outcome.length', what='duration', units={'length': 's'})


def _of_commands(contract: Contract) -> Iterator[Family]:
    for spec in contract.fields:
        if spec.topic and not spec.is_image:
            yield Family(
                name=f'divergence.{spec.name}',
                what='root mean square distance from the simulation under the same commands',
                units=dict(zip(labels_of(spec), spec.unit, strict=False)),
                spans=_spans(spec),
            )
    labels = contract.command_dimensions
    periods = dict.fromkeys(labels, contract.period)
    reach = dict(zip(labels, command_spans(contract), strict=True))
    for name, what, units, spans in (
        ('delay', 'mean time behind the command', dict.fromkeys(labels, 's'), periods),
        ('settling', 'time to 80 % of a step', dict.fromkeys(labels, 's'), periods),
        ('gain', 'final measured over commanded', {}, dict.fromkeys(labels, 1.0)),
        (
            'residual',
            'root mean square of what a linear response leaves',
            dict(zip(labels, contract.command_unit, strict=True)),
            {label: span for label, span in reach.items() if math.isfinite(span)},
        ),
    ):
        yield Family(name=f'response.{name}', what=what, units=units, spans=spans)
