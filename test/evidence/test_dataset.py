# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Exported data sets: lossless, whole or not there, and audited like the run itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
import json
import math
from pathlib import Path

import pytest
from record_maker import Piece

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.errors import MissingDependency, RecordError
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.evidence.audit.rules.base import same
from boundary_env_ros.evidence.export.dataset import FORMATS, open_dataset, write_dataset
from boundary_env_ros.evidence.summary.runs import summarise_path
from boundary_env_ros.storage.contract_file import LoadedContract
from boundary_env_ros.storage.records import Entry


def entries_of(record: list[Piece]) -> Iterator[Entry]:
    return (Entry(p, f'/{type(p).__name__}', i, Path('bag'), i) for i, p in enumerate(record))


@pytest.fixture(params=FORMATS)
def kind(request: pytest.FixtureRequest) -> str:
    """Return each format, if what it needs is installed."""
    if request.param == 'parquet':
        pytest.importorskip('pyarrow')
    return str(request.param)


def export(path: Path, kind: str, record: list[Piece], loaded: LoadedContract) -> None:
    write_dataset(path, kind, entries_of(record), contract=loaded.text)


def test_every_record_comes_back_as_it_was_in_its_order(
    tmp_path: Path, kind: str, record: list[Piece], loaded: LoadedContract
) -> None:
    odd = next(p for p in record if isinstance(p, Transition) and p.reset is None)
    odd = replace(
        odd, reward=math.nan, requested_action=(math.inf, -math.inf, math.nan), seed=2**64 - 1
    )
    whole = [*record, odd]
    export(tmp_path / 'set', kind, whole, loaded)
    dataset = open_dataset(tmp_path / 'set')
    assert dataset is not None
    back = list(dataset.entries())
    assert len(back) == len(whole)
    for entry, piece, i in zip(back, whole, range(len(whole)), strict=True):
        assert same(entry.record, piece)
        assert (entry.topic, entry.log_time) == (f'/{type(piece).__name__}', i)


def test_honest_data_set_is_clean_and_says_what_was_not_checked(
    tmp_path: Path, kind: str, record: list[Piece], loaded: LoadedContract
) -> None:
    export(tmp_path / 'set', kind, record, loaded)
    report = audit_path(tmp_path / 'set')
    assert report.counts == {}, f'\n{report}'
    assert report.episodes == 5
    assert report.contract == 'warehouse_cart 1.0.0'
    assert 'values-from-sensors' in report.not_applied
    assert 'the record has no raw messages: audit the bag' in str(report)
    assert 'task-recomputed' not in report.not_applied


def test_damage_in_a_data_set_is_named(
    tmp_path: Path, kind: str, record: list[Piece], loaded: LoadedContract
) -> None:
    damaged = [
        replace(p, reward=p.reward + 1.0) if isinstance(p, Transition) and p.ending else p
        for p in record
    ]
    export(tmp_path / 'set', kind, damaged, loaded)
    assert 'reward-sum' in audit_path(tmp_path / 'set').counts


def test_data_set_can_be_summed_up(
    tmp_path: Path, kind: str, record: list[Piece], loaded: LoadedContract
) -> None:
    export(tmp_path / 'set', kind, record, loaded)
    assert 'goal_seeking' in str(summarise_path(tmp_path / 'set'))


def test_nothing_is_overwritten(
    tmp_path: Path, kind: str, record: list[Piece], loaded: LoadedContract
) -> None:
    (tmp_path / 'set').mkdir()
    with pytest.raises(RecordError, match='exists already, not overwritten'):
        export(tmp_path / 'set', kind, record, loaded)


def test_half_a_data_set_is_none(
    tmp_path: Path, kind: str, record: list[Piece], loaded: LoadedContract
) -> None:
    def broken() -> Iterator[Entry]:
        yield from list(entries_of(record))[:100]
        raise RecordError('Expect a whole record, actually: it is torn.')

    with pytest.raises(RecordError, match='it is torn'):
        write_dataset(tmp_path / 'set', kind, broken(), contract=loaded.text)
    assert list(tmp_path.iterdir()) == []


def test_file_that_is_gone_or_shorter_is_told(
    tmp_path: Path, kind: str, record: list[Piece], loaded: LoadedContract
) -> None:
    export(tmp_path / 'set', kind, record, loaded)
    manifest = tmp_path / 'set' / 'dataset.json'
    data = json.loads(manifest.read_text())
    data['records']['PrivilegedObservation'] += 1
    manifest.write_text(json.dumps(data))
    report = audit_path(tmp_path / 'set')
    assert 'record-complete' in report.counts
    (tmp_path / 'set' / f'gate_decisions.{kind}').unlink()
    assert 'Export the run again' in str(audit_path(tmp_path / 'set'))


def test_rubbish_is_told_in_words(
    tmp_path: Path, kind: str, record: list[Piece], loaded: LoadedContract
) -> None:
    export(tmp_path / 'set', kind, record, loaded)
    (tmp_path / 'set' / f'transitions.{kind}').write_bytes(b'rubbish\n')
    assert 'record-complete' in audit_path(tmp_path / 'set').counts


@pytest.mark.parametrize('text', ['', '[]', '{"dataset": 2}', '{"dataset": 1, "format": "csv"}'])
def test_manifest_of_another_version_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / 'dataset.json').write_text(text)
    with pytest.raises(RecordError, match='This version cannot read the data set'):
        audit_path(tmp_path)


def test_without_pyarrow_parquet_says_what_to_install(
    tmp_path: Path,
    record: list[Piece],
    loaded: LoadedContract,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(__import__('sys').modules, 'pyarrow', None)
    with pytest.raises(MissingDependency, match='`pip install pyarrow`'):
        export(tmp_path / 'set', 'parquet', record, loaded)
    assert list(tmp_path.iterdir()) == []


def test_data_set_of_a_torn_record_says_so(
    tmp_path: Path,
    record: list[Piece],
    loaded: LoadedContract,
    contract: Contract,
    task: Task,
) -> None:
    write_dataset(
        tmp_path / 'set',
        'jsonl',
        entries_of(record),
        contract=loaded.text,
        tear=lambda: 'bag_0.mcap is torn at byte 7',
    )
    assert 'record-closed' in audit_path(tmp_path / 'set').counts
