# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A record in several files is judged and exported like one in a single file."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip('rosbags', reason='bags are written by an independent implementation')
from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.evidence.export.export import export_runs
from boundary_env_ros.storage.contract_file import LoadedContract
from boundary_env_ros.storage.mcap_log import McapLog
from boundary_env_ros.storage.recovery import recover
from support.bag_maker import make_tape, Tape, wire, write_to
from support.record_maker import Bench

FILES = 4


def write(folder: Path, tape: Tape, size: int = 0) -> McapLog:
    """Write a bag that nobody has closed, and repeat its contract as a recorder does."""
    log = McapLog(folder, compress=False, split_size=size)
    for sent in write_to(log, tape):
        if sent.topic == '/boundary/contract':
            log.keep(sent.topic, '/environment', wire(sent), sent.publish_time)
    return log


@pytest.fixture(scope='module')
def split(
    tmp_path_factory: pytest.TempPathFactory, loaded: LoadedContract, task: Task
) -> tuple[Path, Path]:
    """Return one record as one file, and as several."""
    tape = make_tape(Bench, loaded, task, seed=5)
    folder = tmp_path_factory.mktemp('bags')
    one = write(folder / 'one', tape)
    one.close()
    write(folder / 'several', tape, int(one.size / FILES)).close()
    assert len(list((folder / 'several').glob('*.mcap'))) == FILES
    return folder / 'one', folder / 'several'


def test_audit_finds_the_same(split: tuple[Path, Path]) -> None:
    one, several = (audit_path(path) for path in split)
    assert several.counts == one.counts == {}, f'\n{several}'
    assert several.not_applied == one.not_applied
    assert several.episodes == one.episodes == 3


def test_export_has_the_same_steps(split: tuple[Path, Path], tmp_path: Path) -> None:
    one, several = (export_runs([path], tmp_path / path.name, 'jsonl').counts for path in split)
    # Each further file begins with the contract.
    contracts = 'ContractDescription'
    assert {k: v for k, v in several.items() if k != contracts} == {
        k: v for k, v in one.items() if k != contracts
    }


def test_contract_is_found_in_every_file(split: tuple[Path, Path], loaded: LoadedContract) -> None:
    _, several = split
    for number in range(FILES):
        report = audit_path(several / f'several_{number}.mcap')
        assert report.contract == 'warehouse_cart 1.0.0'


def test_recovered_record_is_audited_as_one_that_was_cut_off(
    loaded: LoadedContract, task: Task, tmp_path: Path
) -> None:
    tape = make_tape(Bench, loaded, task, seed=5)
    times = [sent.log_time for sent in tape]
    middle = (min(times) + max(times)) // 2
    log = write(tmp_path / 'bag', [sent for sent in tape if sent.log_time < middle])
    log.flush()
    text = (log.path.read_bytes(), (tmp_path / 'bag/metadata.yaml').read_bytes())
    torn = audit_path(tmp_path / 'bag')
    log.close()
    log.path.write_bytes(text[0])
    (tmp_path / 'bag/metadata.yaml').write_bytes(text[1])
    recover(tmp_path / 'bag')
    recovered = audit_path(tmp_path / 'bag')
    assert recovered.counts == torn.counts
    assert 'record-closed' in recovered.counts
