# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Records as Parquet and as JSON lines: lossless, and whole or not there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
import json
import math
from pathlib import Path
from typing import Any

import pytest

from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.serialization import from_json, to_json
from boundary_env_ros.errors import MissingDependency, RecordError
from boundary_env_ros.evidence.export.dataset import write_dataset
from boundary_env_ros.evidence.export.formats import FORMATS, OF_RECORDS
from boundary_env_ros.evidence.export.writer import DatasetWriter, RecordWriter, StepWriter
from boundary_env_ros.evidence.record_difference import same
from boundary_env_ros.storage.contract_file import LoadedContract
from boundary_env_ros.storage.records import Entry
from support.record_maker import Piece


def entries_of(record: list[Piece]) -> Iterator[Entry]:
    return (Entry(p, f'/{type(p).__name__}', i) for i, p in enumerate(record))


@pytest.fixture(params=OF_RECORDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Return each format, if what it needs is installed."""
    if request.param == 'parquet':
        pytest.importorskip('pyarrow')
    return str(request.param)


def export(path: Path, kind: str, record: list[Piece], loaded: LoadedContract) -> dict[str, int]:
    return write_dataset(path, kind, entries_of(record), contract=loaded.text)


@pytest.fixture(scope='module')
def odd(record: list[Piece]) -> list[Piece]:
    """Return the record, and a step with numbers that a format may not hold."""
    step = next(p for p in record if isinstance(p, Transition) and p.reset is None)
    action = (math.inf, -math.inf, math.nan)
    return [*record, replace(step, reward=math.nan, requested_action=action, seed=2**64 - 1)]


def test_every_line_is_its_record(
    tmp_path: Path, odd: list[Piece], loaded: LoadedContract
) -> None:
    counts = export(tmp_path / 'set', 'jsonl', odd, loaded)
    assert sum(counts.values()) == len(odd)
    lines = (tmp_path / 'set' / 'transitions.jsonl').read_text().splitlines()
    steps = [p for p in odd if isinstance(p, Transition)]
    assert len(lines) == len(steps)
    for line, step in zip(lines, steps, strict=True):
        assert same(from_json(Transition, json.loads(line), 'line'), step)


def test_every_row_has_its_record_and_where_it_stood(
    tmp_path: Path, odd: list[Piece], loaded: LoadedContract
) -> None:
    pytest.importorskip('pyarrow')
    from pyarrow import parquet

    export(tmp_path / 'set', 'parquet', odd, loaded)
    rows = parquet.read_table(tmp_path / 'set' / 'transitions.parquet').to_pylist()
    steps = [(i, p) for i, p in enumerate(odd) if isinstance(p, Transition)]
    assert len(rows) == len(steps)
    for row, (order, step) in zip(rows, steps, strict=True):
        place = [row.pop(name) for name in ('_order', '_log_time', '_topic')]
        assert place == [order, order, '/Transition']
        assert equal(row, to_json(step))


def equal(row: Any, data: Any) -> bool:
    """Return whether a row says what a line says, in which numbers that are none are texts."""
    if isinstance(row, dict) and isinstance(data, dict):
        return row.keys() == data.keys() and all(equal(row[name], data[name]) for name in row)
    if isinstance(row, list) and isinstance(data, list):
        return len(row) == len(data) and all(map(equal, row, data))
    if isinstance(row, float) and not math.isfinite(row):
        return isinstance(data, str)
    return (isinstance(row, (bytes, int)) and not isinstance(row, bool)) or bool(row == data)


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
        raise RecordError('the record is torn')

    with pytest.raises(RecordError, match='is torn'):
        write_dataset(tmp_path / 'set', kind, broken(), contract=loaded.text)
    assert list(tmp_path.iterdir()) == []


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
    tmp_path: Path, record: list[Piece], loaded: LoadedContract
) -> None:
    write_dataset(
        tmp_path / 'set',
        'jsonl',
        entries_of(record),
        contract=loaded.text,
        tear=lambda: 'bag_0.mcap is torn at byte 7',
    )
    said = json.loads((tmp_path / 'set' / 'dataset.json').read_text())
    assert said['tear'] == 'bag_0.mcap is torn at byte 7'


@pytest.mark.parametrize('name', FORMATS)
def test_every_format_has_a_writer_of_the_one_interface(name: str) -> None:
    """What the format needs is imported when a writer is made, not before."""
    interface = StepWriter if FORMATS[name].of_steps else RecordWriter
    assert interface in FORMATS[name].writer().__mro__
    assert DatasetWriter in interface.__mro__
