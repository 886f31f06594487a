# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Records as Parquet: one file for each kind, a column for each field, nested as the record is.

Nothing is lost: what is unknown is null, what is not a number is NaN, an enum is its name. The
schema follows from the type hints of the record classes. pyarrow is imported where it is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from boundary_env_ros.core.serialization import plain_writer
from boundary_env_ros.core.type_hints import walker
from boundary_env_ros.errors import needed, RecordError
from boundary_env_ros.evidence.export.writer import NumberedEntry, RecordWriter
from boundary_env_ros.storage.records import Record

#: Columns beside those of the record: its place among all records, and when and where it came.
ORDER, LOG_TIME, TOPIC = '_order', '_log_time', '_topic'

#: Rows that are held at a time as records.
_ROWS = 256

#: Bytes of a row group: the end of a file describes each column of each group, so many small ones
#: would need memory of their own.
_GROUP = 2 * 2**20

#: Numbers that are 64 bits without a sign in the messages.
_UNSIGNED = frozenset({'seed', 'sequence', 'decision_sequence', 'step'})


def arrow_library() -> Any:
    """
    Return pyarrow, with its part for Parquet.

    Raises
    ------
    MissingDependency
        If it is not installed.

    """
    with needed('pyarrow is needed for Parquet', 'pip install pyarrow'):
        import pyarrow as pa
        import pyarrow.parquet
    return pa


class ParquetWriter(RecordWriter):
    """
    A file of records of one kind that is being written.

    Parameters
    ----------
    path
        The file; made here.
    cls
        The class of the records.

    Raises
    ------
    MissingDependency
        If pyarrow is not installed.

    """

    def __init__(self, path: Path, cls: type[Record]) -> None:
        arrow = arrow_library()
        self.path = path
        self._schema = schema_of(cls)
        self._plain = plain_writer(cls)
        self._rows: list[dict[str, Any]] = []
        self._batches: list[Any] = []
        self._arrow = arrow
        self._file = arrow.parquet.ParquetWriter(
            path, self._schema, compression='zstd', write_statistics=[ORDER, LOG_TIME]
        )

    def write(self, item: NumberedEntry, /) -> None:
        """
        Write one record.

        Raises
        ------
        RecordError
            If a number has more than 64 bits.

        """
        order, entry = item
        row = self._plain(entry.record)
        row[ORDER], row[LOG_TIME], row[TOPIC] = order, entry.log_time, entry.topic
        self._rows.append(row)
        if len(self._rows) >= _ROWS:
            self._flush()

    def _flush(self) -> None:
        if not self._rows:
            return
        try:
            batch = self._arrow.RecordBatch.from_pylist(self._rows, schema=self._schema)
        except (self._arrow.ArrowException, OverflowError) as error:
            raise RecordError(
                f'The records do not fit the columns of {self.path.name}: {error}.'
            ) from error
        self._rows.clear()
        self._batches.append(batch)
        if sum(kept.nbytes for kept in self._batches) >= _GROUP:
            self._write_group()

    def _write_group(self) -> None:
        if self._batches:
            table = self._arrow.Table.from_batches(self._batches)
            self._batches.clear()
            self._file.write_table(table, row_group_size=len(table))

    def finish(self) -> None:
        """Write what is left."""
        self._flush()
        self._write_group()

    def release(self) -> None:
        """Write the end of the file, and close it."""
        self._file.close()


def schema_of(cls: type[Record]) -> Any:
    """Return the columns of a kind of record."""
    arrow = arrow_library()
    plain = {
        int: arrow.int64(),
        float: arrow.float64(),
        bool: arrow.bool_(),
        str: arrow.string(),
        bytes: arrow.binary(),
    }

    def column(kind: Any) -> Any:
        return arrow.field('item', kind, nullable=False)

    def record(_: Any, parts: Mapping[str, Any]) -> Any:
        named = [part.with_name(name) for name, part in parts.items()]
        return column(
            arrow.struct(
                each.with_type(arrow.uint64()) if each.name in _UNSIGNED else each
                for each in named
            )
        )

    columns = walker(
        optional=lambda inner: inner.with_nullable(True),
        sequence=lambda element: column(arrow.list_(element)),
        record=record,
        enum=lambda _: column(arrow.string()),
        plain=lambda kind: column(plain[kind]),
    )
    where = {ORDER: arrow.int64(), LOG_TIME: arrow.int64(), TOPIC: arrow.string()}
    return arrow.schema(
        [*(column(kind).with_name(name) for name, kind in where.items()), *columns(cls).type]
    )
