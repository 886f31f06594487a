# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One honest record for all tests of the evidence, made by the real core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.evidence.audit.findings import AuditReport
from boundary_env_ros.storage.contract_file import load, LoadedContract, make_task
from support.record_maker import make_record, Piece, Sent, transitions_of


@pytest.fixture(scope='session')
def loaded() -> LoadedContract:
    """Return the contract of the warehouse cart."""
    return load('warehouse_cart')


@pytest.fixture(scope='session')
def contract(loaded: LoadedContract) -> Contract:
    """Return the contract of the warehouse cart."""
    return loaded.contract


@pytest.fixture(scope='session')
def task(contract: Contract) -> Task:
    """Return its task."""
    return make_task(contract)


@pytest.fixture(scope='session')
def record(loaded: LoadedContract, task: Task) -> list[Piece]:
    """Return everything that was published in a run of five episodes."""
    return make_record(loaded.contract, loaded.digest, task)


@pytest.fixture(scope='session')
def transitions(record: list[Piece]) -> list[Transition]:
    """Return the transitions of the run."""
    return list(transitions_of(record))


@pytest.fixture
def audited(tmp_path: Path) -> Callable[[Sequence[Sent]], AuditReport]:
    """Return a function that writes a bag and audits it."""

    def audited(tape: Sequence[Sent]) -> AuditReport:
        from support.bag_maker import write_bag  # needs rosbags

        place = tmp_path / f'bag{len(list(tmp_path.iterdir()))}'
        write_bag(place, tape)
        return audit_path(place)

    return audited
