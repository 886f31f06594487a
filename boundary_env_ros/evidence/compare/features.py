# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From the record of an episode to the numbers that it is compared in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
import math
from typing import TypeAlias
import warnings

import numpy as np
import numpy.typing as npt

from boundary_env_ros.core.contract.model import Contract, FieldSpec
from boundary_env_ros.core.records.latency import STAGES, STEADY_IN_LOCKSTEP
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.evidence.compare.episode_record import EpisodeRecord, FieldTrack
from boundary_env_ros.evidence.episodes import LATE_STAGES
from boundary_env_ros.evidence.response import Fit

Array = npt.NDArray[np.float64]

#: Mean, and what jumps from step to step.
_FIGURES = ('level', 'noise')

#: Of normal noise: its standard deviation, over the median of second differences' size.
_ROBUST = 1.4826 / math.sqrt(6.0)

#: Scatter below this share of the values is that of rounding.
_ROUNDING = 1e-12


#: By family (``<section>.<what>``) and label, a number of one episode.
Values: TypeAlias = Mapping[str, Mapping[str, float]]


def features(record: EpisodeRecord, contract: Contract) -> Values:
    """Return the numbers of one episode."""
    return {
        **dict(_fields(record, contract)),
        **dict(_latency(record, contract)),
        **dict(_rates(record)),
        **dict(_outcome(record, contract)),
        **_response(record, contract),
    }


def units_of(contract: Contract) -> dict[str, Mapping[str, str]]:
    """Return the unit of each label of a family that has one."""
    labels = contract.command_dimensions
    units: dict[str, Mapping[str, str]] = {
        'outcome.length': {'length': 's'},
        'response.delay': dict.fromkeys(labels, 's'),
        **{f'latency.{stage}': {'median': 's', 'p90': 's'} for stage in STAGES},
    }
    for spec in contract.fields:
        start = _family(contract, spec)
        units[f'{start}.age'] = {'age': 's'}
        for name in _FIGURES:
            units[f'{start}.{name}'] = dict(zip(_labels(spec), spec.unit, strict=False))
    return units


def _family(contract: Contract, spec: FieldSpec) -> str:
    """Return how the families of a field begin: what no policy sees is apart."""
    section = 'privileged' if spec in contract.privileged else 'observations'
    return f'{section}.{spec.name}'


def _labels(spec: FieldSpec) -> tuple[str, ...]:
    """Return a label for each number of a field; none for an image."""
    if spec.is_image:
        return ()
    if spec.size == 1:
        return (spec.name,)
    return tuple(f'{spec.name}[{index}]' for index in range(spec.size))


def _turning(spec: FieldSpec) -> tuple[bool, ...]:
    """Return which numbers of a field are angles on a full circle."""
    if len(spec.unit) != spec.size or len(spec.low) != spec.size:
        return (False,) * spec.size
    return tuple(
        unit == 'rad' and low <= -3.14 and high >= 3.14 and high - low < 6.5
        for unit, low, high in zip(spec.unit, spec.low, spec.high, strict=True)
    )


def _matrix(values: Sequence[Vector], size: int) -> Array:
    """Return vectors as rows, shape (n, size); NaN where one is missing or not finite."""
    rows = np.full((len(values), size), np.nan)
    for row, value in zip(rows, values, strict=True):
        if len(value) == size:
            row[:] = value
    rows[~np.isfinite(rows)] = np.nan
    return rows


def _fields(
    record: EpisodeRecord, contract: Contract
) -> Iterator[tuple[str, Mapping[str, float]]]:
    for spec in contract.fields:
        track = record.fields.get(spec.name) or record.truth.get(spec.name)
        if track is None or not track.values:
            continue
        start = _family(contract, spec)
        labels = _labels(spec)
        if labels:
            for name, numbers in _figures(track, spec).items():
                yield f'{start}.{name}', dict(zip(labels, map(float, numbers), strict=True))
        if spec.topic:
            if track.ages:
                yield f'{start}.age', {'age': float(np.mean(track.ages))}
            count = len(track.values)
            yield (
                f'{start}.doubtful',
                {
                    'stale': track.stale / count,
                    'missing': track.missing / count,
                    'clipped': track.clipped / count,
                },
            )


def _figures(track: FieldTrack, spec: FieldSpec) -> dict[str, Array]:
    values = _matrix(track.values, spec.size)
    turns = np.array(_turning(spec))
    bends = np.diff(values, n=2, axis=0)
    # What crosses the end of a circle has not jumped.
    bends = np.where(turns, (bends + math.pi) % (2.0 * math.pi) - math.pi, bends)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', RuntimeWarning)  # of columns without any value
        # The mean of directions says nothing.
        level = np.where(turns, np.nan, np.nanmean(values, axis=0))
        noise = _ROBUST * np.nanmedian(np.abs(bends), axis=0)
        # The order of a sum gives what is constant a noise.
        least = _ROUNDING * np.nanmax(np.abs(values), axis=0)
    return dict(zip(_FIGURES, (level, np.where(noise <= least, 0.0, noise)), strict=True))


def _latency(
    record: EpisodeRecord, contract: Contract
) -> Iterator[tuple[str, Mapping[str, float]]]:
    missed, expected = _unseen(record, contract)
    if expected:
        yield 'latency.unseen', {'actuation': missed / expected}
    for stage, durations in record.stages.items():
        if contract.is_lockstep and stage in STEADY_IN_LOCKSTEP:
            # How busy the computer was; the world waited.
            continue
        if stage in LATE_STAGES:
            # What was not seen took longer than what was: left out, it would make a slow robot
            # look quick.
            known = np.array([*durations, *[math.inf] * missed])
            middle = float(np.quantile(known, 0.5, method='higher')) if len(known) else math.inf
            if math.isfinite(middle):
                yield f'latency.{stage}', {'median': middle}
        elif durations:
            median, high = np.quantile(durations, [0.5, 0.9])
            yield f'latency.{stage}', {'median': float(median), 'p90': float(high)}


def _unseen(record: EpisodeRecord, contract: Contract) -> tuple[int, int]:
    """
    Return how many executions were not seen that should have been, and how many should.

    They should where the command changed by more than the contract's threshold of evidence.
    """
    threshold = np.array([t for group in contract.action for t in group.feedback.threshold])
    before = np.zeros(0)
    expected = missed = 0
    for step, command in record.answers:
        now = np.array(command)
        if len(before) == len(now) == len(threshold) and (np.abs(now - before) > threshold).any():
            expected += 1
            missed += step not in record.seen
        before = now
    return missed, expected


def _rates(record: EpisodeRecord) -> Iterator[tuple[str, Mapping[str, float]]]:
    # Where no gate was, nothing is known of what it would have done.
    steps = record.episode.steps
    if steps and not record.imported:
        for name in ('clipped', 'intervened', 'by_hand', 'overruns'):
            yield f'rates.{name}', {name: record.episode.counts[name] / steps}
        yield 'rates.reasons', {n: count / steps for n, count in record.reasons.items()}


def _outcome(
    record: EpisodeRecord, contract: Contract
) -> Iterator[tuple[str, Mapping[str, float]]]:
    episode = record.episode
    yield 'outcome.endings', {episode.ending: 1.0}
    yield 'outcome.length', {'length': episode.steps * contract.period}
    if not episode.judged:
        return
    if contract.task.name:
        success = float(episode.is_success)
        yield 'outcome.success', {'success': success}
        if not episode.truncated:
            yield 'outcome.success_of_terminated', {'success': success}
    yield 'outcome.return', {'return': episode.total}
    yield 'outcome.reward_terms', record.terms


def _response(record: EpisodeRecord, contract: Contract) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    labels = contract.command_dimensions
    fits: dict[int, Fit] = {}
    record.motion.fit(fits, contract)
    for index, fit in fits.items():
        response = fit.response()
        if response is not None:
            for name in ('delay', 'gain'):
                found.setdefault(f'response.{name}', {})[labels[index]] = getattr(response, name)
    return found
