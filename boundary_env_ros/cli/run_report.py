# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The table, and the JSON, at the end of ``boundary-env run``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
import dataclasses
from typing import Any

import numpy as np

from boundary_env_ros.core.latency import STAGES
from boundary_env_ros.evidence.summary.statistics import Proportion
from boundary_env_ros.facade.run_result import EpisodeResult, INTERRUPTED
from boundary_env_ros.terminal import table as aligned

#: How the ending of an episode is called that was left before it.
LEFT = 'left'


def line_of(result: EpisodeResult) -> str:
    """Return an episode in one line."""
    ended = f'{_kind(result):<10} {result.ending}' if result.ending else f'left: {result.left}'
    late = ''.join(
        f'  {name} {count}'
        for name, count in (
            ('late inferences', result.late_inferences),
            ('late chunks', result.chunks_late),
            ('dropped chunks', result.chunks_dropped),
        )
        if count
    )
    return (
        f'seed {result.seed:<6} {result.steps:>4} steps  return {result.total:+8.2f}  '
        f'{ended:<24}{late}'
    ).rstrip()


def _kind(result: EpisodeResult) -> str:
    return 'terminated' if result.terminated else 'truncated'


def figures(results: Sequence[EpisodeResult]) -> dict[str, Any]:
    """Return the figures of a run, for JSON."""
    # What somebody broke off says nothing of the policy.
    ended = [result for result in results if result.left != INTERRUPTED]
    succeeded = sum(result.success for result in ended)
    finished = sum(result.terminated for result in ended)
    times = [seconds for result in results for seconds in result.inferences]
    steps = sum(result.steps for result in results)
    return {
        'episodes': len(results),
        'success': _proportion(succeeded, len(ended)),
        'success_of_terminated': _proportion(succeeded, finished),
        'endings': dict(Counter(result.ending or LEFT for result in results).most_common()),
        'mean_return': float(np.mean([r.total for r in ended])) if ended else None,
        'mean_steps': float(np.mean([r.steps for r in ended])) if ended else None,
        'steps': steps,
        'steps_with_an_intervention': _proportion(sum(r.intervened for r in results), steps),
        'steps_without_an_action': sum(result.verdicts['NONE'] for result in results),
        'requests': sum(result.requests for result in results),
        'inferences': len(times),
        'inference_seconds': _quantiles(times),
        'latency_seconds': {
            stage: _quantiles([s for result in results for s in result.latency[stage]])
            for stage in STAGES
        },
        'clipped': dict(sum((result.clipped for result in results), Counter())),
        'excluded': [
            {'seed': result.seed, 'episode_id': result.episode_id, 'why': result.left}
            for result in results
            if result.left == INTERRUPTED
        ],
        'late_inferences': sum(result.late_inferences for result in results),
        'chunks_late': sum(result.chunks_late for result in results),
        'chunks_dropped': sum(result.chunks_dropped for result in results),
        'actions_skipped': sum(result.skipped for result in results),
        'other_actions_than_recorded': _proportion(
            sum(result.other_actions for result in results),
            sum(result.compared for result in results),
        ),
    }


def _quantiles(seconds: Sequence[float]) -> dict[str, float | None]:
    return {
        'p50': float(np.quantile(seconds, 0.5)) if seconds else None,
        'p99': float(np.quantile(seconds, 0.99)) if seconds else None,
        'greatest': max(seconds, default=None),
    }


def _proportion(count: int, of: int) -> dict[str, Any]:
    found = Proportion(count=count, of=of)
    return {'count': count, 'of': of, 'value': found.value, 'interval': found.interval}


def as_json(results: Sequence[EpisodeResult]) -> list[dict[str, Any]]:
    """Return the episodes, for JSON."""
    return [
        {
            field.name: getattr(result, field.name)
            for field in dataclasses.fields(result)
            if field.name != 'latency'  # of each step: that is what the record is for
        }
        | {'success': result.success}
        for result in results
    ]


def table(results: Sequence[EpisodeResult]) -> str:
    """Return the figures of a run as a table."""
    found = figures(results)
    seconds = found['inference_seconds']
    rows = [
        ('episodes', str(found['episodes'])),
        ('success, a truncation counted as failure', _told(found['success'])),
        ('success, of those that terminated', _told(found['success_of_terminated'])),
        *((f'  ended by {ending}', str(count)) for ending, count in found['endings'].items()),
        ('mean return', _number(found['mean_return'])),
        ('mean steps', _number(found['mean_steps'])),
        ('steps with an intervention of the gate', _told(found['steps_with_an_intervention'])),
        *((f'  clipped in {name}', str(count)) for name, count in found['clipped'].items()),
        ('steps without an action', str(found['steps_without_an_action'])),
        ('inferences', str(found['inferences'])),
        ('inference p50, p99, greatest', ', '.join(map(_milliseconds, seconds.values()))),
        ('inferences later than the deadline', str(found['late_inferences'])),
        ('chunks not ready in time', str(found['chunks_late'])),
        ('chunks dropped', str(found['chunks_dropped'])),
        ('actions skipped', str(found['actions_skipped'])),
    ]
    if found['other_actions_than_recorded']['of']:
        told = _told(found['other_actions_than_recorded'])
        rows += [
            ('other actions than recorded', told),
            ('  all else is what was recorded', 'the record answers nobody'),
        ]
    return '\n'.join(aligned(rows))


def _told(proportion: dict[str, Any]) -> str:
    return str(Proportion(count=proportion['count'], of=proportion['of']))


def _number(value: float | None) -> str:
    return 'none' if value is None else f'{value:.4g}'


def _milliseconds(seconds: float | None) -> str:
    return 'none' if seconds is None else f'{1e3 * seconds:.3g} ms'
