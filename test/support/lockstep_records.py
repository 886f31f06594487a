# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Records of lockstep, compared: over ROS with those of one process.

What may differ between two runs is listed once, in ``DIFFERS``, and nowhere left out in silence.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from boundary_env_ros.core.records.transition import (
    ActuationEvidence,
    PrivilegedObservation,
    Transition,
)
from boundary_env_ros.core.serialization import to_json

DIFFERS = {
    '.steady': 'a reading of the steady clock',
    '.received_steady': 'a reading of the steady clock',
    '.since_request': 'measured on the steady clock',
    '.since_environment': 'measured on the steady clock',
    '.reset.duration': 'measured on the steady clock',
    '.latency.transport.duration': 'measured on the steady clock',
    '.latency.inference.duration': 'measured on the steady clock',
    '.latency.gate.duration': 'measured on the steady clock',
    '.published': 'a system stamp of the middleware; there is none in one process',
    '.arrived': 'a system stamp of the middleware; there is none in one process',
    '.host': 'a host',
    '.episode_id': 'a random id',
    '.lease_id': 'a random id',
    '.lease_episode': 'a random id',
    '.client': 'an id of the process',
    '.authentication': 'a tag, of which there is none in one process',
    '.reset.confirmed_by': 'over ROS the service that answered, in one process the robot',
}
"""Ends of key paths whose values may differ between two runs of one seed, and why."""

NAMES = ('source', 'topic', 'actuated_source')
"""Names of topics, which ROS resolves: compared without their leading slash."""

Records = list[Transition | PrivilegedObservation | ActuationEvidence]


def of_kinds(records: list[Any], episode_id: str) -> Records:
    """Return transitions, evaluator's records and evidence of an episode, kind after kind."""
    kinds = (Transition, PrivilegedObservation, ActuationEvidence)
    return [
        record
        for kind in kinds
        for record in records
        if isinstance(record, kind) and record.id.episode_id == episode_id
    ]


def plain(records: Records) -> list[dict[str, Any]]:
    """Return records as plain data, their times and counters from the begin of the episode on."""
    start = records[0].closed.ros.nanoseconds
    first = min(
        (d.sequence for r in records if isinstance(r, Transition) for d in r.decisions), default=0
    )

    def shifted(key: str, value: Any) -> Any:
        if isinstance(value, dict):
            found = {name: shifted(name, item) for name, item in value.items()}
            # The gate counts its decisions as long as it lives, a client its requests in a lease.
            for counter in ('sequence', 'decision_sequence'):
                if counter in found and ('inputs' in found or counter != 'sequence'):
                    found[counter] -= first
            return found
        if isinstance(value, list):
            return [shifted('', item) for item in value]
        if key in ('nanoseconds', 'stamp') and value:
            return value - start
        return value.lstrip('/') if key in NAMES else value

    return [{'kind_of_record': type(r).__name__, **shifted('', to_json(r))} for r in records]


def compared(one: Any, other: Any, where: str) -> Iterator[str]:
    """Yield where two records differ, except in what may differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        if one.keys() != other.keys():
            yield f'{where}: keys {one.keys() ^ other.keys()}'
        for key in sorted(one.keys() & other.keys()):
            if not f'{where}.{key}'.endswith(tuple(DIFFERS)):
                yield from compared(one[key], other[key], f'{where}.{key}')
    elif isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            yield f'{where}: {len(one)} items over ROS, {len(other)} in one process'
        for index, (item, its) in enumerate(zip(one, other, strict=False)):
            yield from compared(item, its, f'{where}[{index}]')
    elif one != other:
        yield f'{where}: {one!r} over ROS, {other!r} in one process'
