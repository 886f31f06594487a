# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The table, and the JSON, at the end of ``boundary-env run``."""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
from itertools import chain
from typing import Any

import numpy as np

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.records.decision import Verdict
from boundary_env_ros.evidence.summary.figures import Summary
from boundary_env_ros.evidence.summary.statistics import Proportion
from boundary_env_ros.evidence.summary.summary import summarise
from boundary_env_ros.facade.runner import EpisodeResult
from boundary_env_ros.terminal import table as aligned


def line_of(result: EpisodeResult) -> str:
    """Return an episode in one line."""
    ended = f'{_kind(result):<10} {result.ending}' if result.ending else f'left: {result.left}'
    verdicts = [transition.verdict for transition in result.transitions]
    late = ''.join(
        f'  {name} {count}'
        for name, count in (
            ('steps without an action in time', sum(t.overrun for t in result.transitions)),
            ('rejected actions', verdicts.count(Verdict.REJECTED)),
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


def summary_of(contract: Contract, results: Sequence[EpisodeResult]) -> Summary:
    """Return the figures of a run, as ``boundary-env report --text`` tells them of its record."""
    return summarise(chain.from_iterable(result.transitions for result in results), contract)


def inference_of(results: Sequence[EpisodeResult]) -> dict[str, Any]:
    """Return what no record holds: how the policy was asked, and how long it took."""
    times = [seconds for result in results for seconds in result.inferences]
    return {
        'requests': sum(result.requests for result in results),
        'inferences': len(times),
        'inference_seconds': {
            'p50': float(np.quantile(times, 0.5)) if times else None,
            'p99': float(np.quantile(times, 0.99)) if times else None,
            'greatest': max(times, default=None),
        },
        'chunks_late': sum(result.chunks_late for result in results),
        'chunks_dropped': sum(result.chunks_dropped for result in results),
        'actions_skipped': sum(result.skipped for result in results),
        'other_actions_than_recorded': _other_actions(results).to_json(),
    }


def _other_actions(results: Sequence[EpisodeResult]) -> Proportion:
    return Proportion(
        count=sum(result.other_actions for result in results),
        of=sum(result.compared for result in results),
    )


def as_json(contract: Contract, results: Sequence[EpisodeResult]) -> dict[str, Any]:
    """Return the figures of a run and its episodes, for JSON."""
    return {
        'summary': summary_of(contract, results).to_json(),
        'inference': inference_of(results),
        'episodes': [
            {
                field.name: getattr(result, field.name)
                for field in dataclasses.fields(result)
                if field.name != 'transitions'  # that is what the record is for
            }
            | {'success': result.success if contract.task.name else None}
            for result in results
        ],
    }


def table(contract: Contract, results: Sequence[EpisodeResult]) -> str:
    """Return the figures of a run as a table."""
    found = inference_of(results)
    times, others = found.pop('inference_seconds'), _other_actions(results)
    del found['other_actions_than_recorded'], found['requests']
    rows = [(name.replace('_', ' '), str(count)) for name, count in found.items()]
    texts = ('none' if t is None else f'{1e3 * t:.3g} ms' for t in times.values())
    rows.insert(1, ('inference p50, p99, greatest', ', '.join(texts)))
    if others.of:
        rows += [
            ('other actions than recorded', str(others)),
            ('  all else is what was recorded', 'the record does not react'),
        ]
    lines = [str(summary_of(contract, results)), '', *aligned(rows)]
    if not contract.is_lockstep:
        lines += [
            '',
            'Actuation and reaction are of what was seen before a step was closed: at short',
            'periods that is the fast part. The report of the record has all.',
        ]
    return '\n'.join(lines)
