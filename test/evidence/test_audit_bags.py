# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Bags with every topic: what is forged consistently is told from what the sensors said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip('rosbags', reason='bags are written by an independent implementation')
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.records.decision import GateDecision, Verdict
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.evidence.audit.findings import AuditOutcome
from boundary_env_ros.storage.contract_file import load, LoadedContract, make_task
from boundary_env_ros.storage.record_reader import open_records
from support.bag_forgeries import FORGERIES, Forgery
from support.bag_forging import Forge
from support.bag_maker import make_tape, Tape, write_bag
from support.lockstep_maker import LockstepBench
from support.record_maker import Bench
from support.storage_wire import typestore


@pytest.fixture(scope='module')
def tape(loaded: LoadedContract, task: Task) -> Tape:
    """Return what an honest recorder had of three episodes."""
    return make_tape(Bench, loaded, task, seed=1)


@pytest.fixture(scope='module')
def lockstep_tape() -> Tape:
    """Return the same in lockstep."""
    loaded = load('warehouse_cart', Pacing.LOCKSTEP)
    return make_tape(LockstepBench, loaded, make_task(loaded.contract), seed=1)


@pytest.mark.parametrize('seed', [1, 2, 3])
def test_honest_bag_is_clean(
    tmp_path: Path, loaded: LoadedContract, task: Task, seed: int
) -> None:
    write_bag(tmp_path / 'bag', make_tape(Bench, loaded, task, seed))
    report = audit_path(tmp_path / 'bag')
    assert report.counts == {}, f'\n{report}'
    assert report.not_checked == ()
    assert report.excused == {}
    assert report.outcome is AuditOutcome.SUPPORTED
    assert all(count > 50 for count in report.from_topics.values()), report.from_topics


def test_honest_lockstep_bag_is_clean(tmp_path: Path, lockstep_tape: Tape) -> None:
    write_bag(tmp_path / 'bag', lockstep_tape)
    report = audit_path(tmp_path / 'bag')
    assert report.counts == {}, f'\n{report}'
    assert report.not_checked == ()
    assert report.outcome is AuditOutcome.SUPPORTED


@pytest.mark.parametrize(
    ('plugin', 'mode'),
    [
        (StoragePlugin.SQLITE3, CompressionMode.NONE),
        (StoragePlugin.SQLITE3, CompressionMode.FILE),
        (StoragePlugin.MCAP, CompressionMode.FILE),
    ],
    ids=lambda value: value.name,
)
def test_honest_bag_is_clean_as_others_store_it(
    tmp_path: Path, tape: Tape, plugin: StoragePlugin, mode: CompressionMode
) -> None:
    write_bag(tmp_path / 'own', tape)
    bag = Writer(tmp_path / 'bag', version=9, storage_plugin=plugin)
    bag.set_compression(mode, CompressionFormat.ZSTD)
    with bag as writer:
        topics = {}
        for message in open_records(tmp_path / 'own').messages():
            topic, kind = message.topic, message.type
            if topic not in topics:
                topics[topic] = writer.add_connection(topic, kind, typestore=typestore())
            writer.write(topics[topic], message.log_time, message.data)
    report = audit_path(tmp_path / 'bag')
    assert report.counts == {}, f'\n{report}'
    assert report.transitions > 50
    assert report.not_checked == ()


@pytest.mark.parametrize('forgery', FORGERIES, ids=lambda forgery: forgery.name)
def test_consistent_forgery_is_named_by_its_rules(
    forgery: Forgery, tape: Tape, contract: Contract, task: Task, tmp_path: Path
) -> None:
    forge = Forge(list(tape), contract, task)
    forgery.forge(forge)
    write_bag(tmp_path / 'bag', forge.tape)
    report = audit_path(tmp_path / 'bag')
    seen = AuditOutcome.CONTRADICTED if forgery.rules else AuditOutcome.SUPPORTED
    assert report.outcome is seen, f'\n{report}'
    assert set(forgery.rules) <= set(report.counts), f'\n{report}'


@pytest.mark.parametrize('payload', ['[1]', '{"speech":{"volume":1e400}}', 'garbage'])
def test_payload_without_documents_is_named_and_the_record_is_read_on(
    payload: str, tape: Tape, contract: Contract, task: Task, tmp_path: Path
) -> None:
    forge = Forge(list(tape), contract, task)
    asked = forge.decision(lambda d: d.request is not None and d.verdict is Verdict.ADMITTED)

    def changed(value: Any) -> Any:
        if isinstance(value, GateDecision) and value.sequence == asked.sequence:
            return replace(
                value, request=value.request and replace(value.request, payload=payload)
            )
        return value

    forge.everywhere(changed)
    write_bag(tmp_path / 'bag', forge.tape)
    report = audit_path(tmp_path / 'bag')
    assert report.counts['record-complete'] == 1, f'\n{report}'
    assert f'decision {asked.sequence}.request.payload' in str(report)


def test_there_are_many_forgeries_each_of_its_own() -> None:
    assert len({forgery.name for forgery in FORGERIES}) == len(FORGERIES)
    assert len(FORGERIES) > 30
