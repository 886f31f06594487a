# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The record of one process: whole, in the order of cause and effect, and the same every time."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from boundary_env_ros.core.records.decision import ActionRequest, GateDecision
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.serialization import to_json
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.evidence.audit.findings import AuditOutcome
from boundary_env_ros.facade import BoundaryEnv
from boundary_env_ros.facade.embedded_world import EmbeddedWorld
from boundary_env_ros.storage.record_reader import open_records
from boundary_env_ros.storage.records import RECORD_CLASSES
from support.shipped import changed

#: As doc/architecture.md lists them: steady readings, random ids; this host is the same.
DIFFERS = frozenset(
    {
        'steady', 'received_steady', 'since_request', 'since_environment', 'duration',
        'episode_id', 'lease_id', 'lease_episode',
    }
)  # fmt: skip


@pytest.fixture
def records() -> list[Any]:
    """Return all records of one episode of some steps, one of them wild."""
    kept: list[Any] = []
    env = BoundaryEnv(world='embedded', pacing='lockstep', sink=kept.append)
    env.reset(seed=3, options={'scenario': 'clear'})
    for action in ([0.4, 0.0], [9.0, -9.0], [0.0, 0.3]):
        env.step(np.array(action, dtype=np.float32))
    env.close()
    return kept


# Whole, in order --------------------------------------------------------------------------------


def test_every_request_is_in_the_record_as_it_is_in_its_decision(records: list[Any]) -> None:
    requests = [record for record in records if isinstance(record, ActionRequest)]
    assert [request.sequence for request in requests] == [1, 2, 3]
    assert [request.action for request in requests[1:2]] == [(9.0, -9.0)]
    answered = [
        decision.request
        for decision in records
        if isinstance(decision, GateDecision) and decision.request is not None
    ]
    for request, summary in zip(requests, answered, strict=True):
        assert (summary.lease_id, summary.sequence) == (request.lease_id, request.sequence)


def test_what_follows_from_something_comes_after_it(records: list[Any]) -> None:
    order = [
        (type(record).__name__, record.id.step)
        for record in records
        if isinstance(record, (ActionRequest, GateDecision, Transition))
    ]
    for step in (1, 2, 3):
        asked, decided, closed = (
            order.index((kind, step)) for kind in ('ActionRequest', 'GateDecision', 'Transition')
        )
        assert order.index(('Transition', step - 1)) < asked < decided < closed


# The same every time ----------------------------------------------------------------------------


def canonical(record: object) -> bytes:
    """Return a record as bytes, without what may differ."""

    def strip(item: Any) -> Any:
        if isinstance(item, dict):
            return {key: strip(value) for key, value in item.items() if key not in DIFFERS}
        return [strip(value) for value in item] if isinstance(item, list) else item

    return json.dumps([type(record).__name__, strip(to_json(record))], sort_keys=True).encode()


def serialised(name: str, seed: int) -> str:
    """Return the hash of all that two episodes leave, in its order."""
    digest = hashlib.sha256()
    world = EmbeddedWorld(changed(name), sink=lambda record: digest.update(canonical(record)))
    low, high = (np.array(changed(name).contract.flat(bound)) for bound in ('low', 'high'))
    actions = np.random.default_rng(seed)
    for episode in range(2):
        world.reset(seed=seed + episode, options={}, wrappers=('Mine()',))
        for _ in range(3):
            action = tuple(actions.uniform(low - 0.2, high + 0.2).tolist())
            world.step(dict.fromkeys(world.agents, action))
    world.close()
    return digest.hexdigest()


@pytest.mark.parametrize('name', ['warehouse_cart', 'door_arm'])
def test_equal_seeds_leave_equal_bytes_here_and_in_another_process(name: str) -> None:
    first = serialised(name, 7)
    assert serialised(name, 7) == first
    assert serialised(name, 8) != first
    elsewhere = subprocess.run(
        [sys.executable, '-c', _ELSEWHERE, name],
        env={'PYTHONHASHSEED': '1', 'PATH': '', 'PYTHONPATH': os.pathsep.join(sys.path)},
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert elsewhere.stdout.strip() == first


_ELSEWHERE = """
import sys
from test_embedded_record import serialised
print(serialised(sys.argv[1], 7))
"""


def test_only_what_is_listed_differs_between_two_runs(records: list[Any]) -> None:
    # Were a name listed that is nowhere, or the same every time, the list would say too much.
    text = b''.join(json.dumps(to_json(record)).encode() for record in records)
    for name in DIFFERS:
        assert f'"{name}"'.encode() in text, name


# A folder ---------------------------------------------------------------------------------------


def test_a_record_goes_to_a_run_folder_that_the_audit_believes(tmp_path: Path) -> None:
    kept: list[Any] = []
    path = tmp_path / 'run'
    env = BoundaryEnv(world='embedded', pacing='lockstep', record=path, sink=kept.append)
    for seed in (1, 2):
        env.reset(seed=seed, options={'scenario': 'clear'})
        for _ in range(3):
            env.step(np.array([0.4, 0.1], dtype=np.float32))
            # A step is with the kernel when it has returned, whatever happens next.
            assert list(open_records(path).transitions())[-1] == env.last.transition  # type: ignore[union-attr]
    env.close()
    written = list(open_records(path).transitions())
    assert written == [record for record in kept if isinstance(record, Transition)]
    # All that a run over ROS has of the boundary, in its order, behind the contract.
    description, *records = open_records(path).records()
    assert (description.role, description.digest) == ('embedded', written[0].id.digest)
    assert records == [record for record in kept if type(record) in RECORD_CLASSES]
    assert [t.ending for t in written if t.truncated] == ['abandoned', 'abandoned']
    report = audit_path(path)
    assert report.counts == {}, str(report)
    assert report.outcome is AuditOutcome.CONSISTENT
    assert report.chain['confirmed'] == report.chain['messages']


def test_a_record_is_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / 'run'
    path.mkdir()
    (path / 'note').write_text('mine')
    env = BoundaryEnv(world='embedded', pacing='lockstep', record=str(path))
    with pytest.raises(RecordError, match='exists already, not overwritten'):
        env.reset(seed=1)
    env.close()
    assert [file.name for file in path.iterdir()] == ['note']
