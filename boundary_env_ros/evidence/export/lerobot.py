# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
LeRobot data sets, version 3.0 of their layout, written without LeRobot.

One frame for each step: the observation before it, the action that was applied, and what came of
it. Images stand in the Parquet files as PNG, which loses nothing; there are no videos. Columns of
our own begin with ``boundary.``, which the policies of LeRobot pass over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
import json
from pathlib import Path
from typing import Any

import numpy as np

from boundary_env_ros.core.contract.model import FieldSpec
from boundary_env_ros.evidence.export.episodes import Head, Step
from boundary_env_ros.evidence.export.layout import ABOUT, about, Column, Layout, TEXT
from boundary_env_ros.evidence.export.moments import Moments
from boundary_env_ros.evidence.export.parquet_records import arrow_library
from boundary_env_ros.evidence.export.png import can_be_png, to_png
from boundary_env_ros.storage.atomic import write_atomically

CODEBASE_VERSION = 'v3.0'

_ROWS = 256
_EPISODES_AT_A_TIME = 64
_FILES_IN_CHUNK = 1000
_MEGABYTES = 100
_VIDEO_MEGABYTES = 200
_FILE = 'chunk-{chunk_index:03d}/file-{file_index:03d}'
_DATA, _EPISODES = f'data/{_FILE}.parquet', f'meta/episodes/{_FILE}.parquet'

STATE, ACTION = 'observation.state', 'action'


class LeRobotWriter:
    """
    A data set that is being written.

    Parameters
    ----------
    folder
        Where it goes; empty.
    name
        Name of the data set.
    layout
        Its columns.

    Raises
    ------
    MissingDependency
        If pyarrow is not installed.

    """

    def __init__(self, folder: Path, name: str, layout: Layout) -> None:
        self._arrow = arrow_library('LeRobot data sets')
        self._folder, self._layout = folder, layout
        period = 1.0 / layout.contract.period
        self._rate: int | float = round(period) if abs(period - round(period)) < 1e-9 else period
        self._pictures = tuple(s for s in layout.images if _is_picture(s))
        self._features = _features(layout, self._rate)
        self._data = _Files(self._arrow, folder, _DATA, self._schema())
        self._index: _Files | None = None
        self._rows: list[dict[str, Any]] = []
        self._index_rows: list[dict[str, Any]] = []
        self._frames = self._episodes = 0
        self._head: Head | None = None
        self._begun = self._length = 0
        self._moments = self._new_moments()
        self._all_moments = self._new_moments()

    # Steps ---------------------------------------------------------------------------------------

    def begin(self, head: Head) -> None:
        """Begin an episode."""
        self._head, self._begun, self._length = head, self._frames, 0
        self._moments = self._new_moments()
        self._data.roll()

    def step(self, step: Step) -> None:
        """Write a step; the last one of its episode ends it."""
        self._rows.append(self._row(step))
        self._frames += 1
        self._length += 1
        if len(self._rows) >= _ROWS or step.last:
            self._flush()
        if step.last:
            self._end(step)

    def _row(self, step: Step) -> dict[str, Any]:
        layout = self._layout
        observation = layout.observation(step.before)
        parts = [value.ravel().astype('float32') for value in observation.values()]
        row: dict[str, Any] = {
            ACTION: np.asarray(step.applied, 'float32'),
            'next.reward': np.float32(step.transition.reward),
            'next.done': step.terminated or step.truncated,
            'next.terminated': step.terminated,
            'next.truncated': step.truncated,
            'timestamp': np.float32(self._length / self._rate),
            'frame_index': self._length,
            'episode_index': self._episodes,
            'index': self._frames,
            'task_index': 0,
        }
        if parts:
            row[STATE] = np.concatenate(parts)
        for spec in layout.images:
            row[_image_key(spec)] = layout.pixels(step.before)[spec.name]
        values = layout.step_values(step) | layout.sight_values(step.before)
        row['next.success'] = values['success']
        row.update((f'boundary.{name}', value) for name, value in values.items())
        return row

    def _flush(self) -> None:
        if not self._rows:
            return
        columns = {}
        for key, feature in self._features.items():
            values = [row[key] for row in self._rows]
            if feature['dtype'] == 'image':
                self._add_image(key, values)
                columns[key] = [{'bytes': to_png(value), 'path': None} for value in values]
                continue
            if key in self._moments:
                self._moments[key].add(np.stack([np.atleast_1d(value) for value in values]))
            columns[key] = [_plain(value, feature['shape']) for value in values]
        self._data.write(columns)
        self._rows.clear()

    def _add_image(self, key: str, images: Sequence[Any]) -> None:
        for image in images:
            self._moments[key].add(image.reshape(-1, image.shape[-1]) / 255.0, frames=1)

    # Episodes ------------------------------------------------------------------------------------

    def _end(self, last: Step) -> None:
        assert self._head is not None  # an episode begins with its head
        chunk, file = self._data.place
        row: dict[str, Any] = {
            'episode_index': self._episodes,
            'tasks': [self._task],
            'length': self._length,
            'data/chunk_index': chunk,
            'data/file_index': file,
            'dataset_from_index': self._begun,
            'dataset_to_index': self._frames,
        }
        for key, moments in self._moments.items():
            for figure, value in moments.figures(self._shape_of_figures(key)).items():
                row[f'stats/{key}/{figure}'] = value
            self._all_moments[key].merge(moments)
        said = about(self._head, last)
        row.update((f'boundary/{name}', value) for name, value in said.items())
        self._index_rows.append(row)
        self._episodes += 1
        if len(self._index_rows) >= _EPISODES_AT_A_TIME:
            self._flush_index()

    def _flush_index(self) -> None:
        if not self._index_rows:
            return
        place = ('meta/episodes/chunk_index', 'meta/episodes/file_index')
        if self._index is None:
            first = self._index_rows[0] | dict.fromkeys(place, 0)
            self._index = _Files(self._arrow, self._folder, _EPISODES, self._index_schema(first))
        self._index.roll()
        rows = [row | dict(zip(place, self._index.place, strict=True)) for row in self._index_rows]
        self._index.write({key: [row[key] for row in rows] for key in rows[0]})
        self._index_rows.clear()

    @property
    def _task(self) -> str:
        return self._layout.contract.task.name or self._layout.contract.name

    def finish(self) -> None:
        """Write what stands beside the frames."""
        self._flush_index()
        self._close_files()
        self._write_json(
            'info',
            {
                'codebase_version': CODEBASE_VERSION,
                'robot_type': self._layout.contract.name,
                'total_episodes': self._episodes,
                'total_frames': self._frames,
                'total_tasks': 1,
                'chunks_size': _FILES_IN_CHUNK,
                'data_files_size_in_mb': _MEGABYTES,
                'video_files_size_in_mb': _VIDEO_MEGABYTES,
                'fps': self._rate,
                'splits': {'train': f'0:{self._episodes}'},
                'data_path': _DATA,
                'video_path': None,
                'features': self._features,
            },
        )
        self._write_json(
            'stats',
            {
                key: moments.figures(self._shape_of_figures(key))
                for key, moments in self._all_moments.items()
            },
        )
        self._write_tasks()

    def release(self) -> None:
        """Let go of the files, finished or not."""
        with suppress(OSError):
            self._close_files()

    def _close_files(self) -> None:
        for files in (self._data, self._index):
            if files is not None:
                files.close()

    def _write_json(self, name: str, value: object) -> None:
        text = json.dumps(value, indent=4, allow_nan=False)
        write_atomically(self._folder / 'meta' / f'{name}.json', text.encode())

    def _write_tasks(self) -> None:
        # Read with pandas, whose index the tasks are.
        arrow = self._arrow
        columns = [
            {
                'name': name,
                'field_name': name,
                'pandas_type': pandas_type,
                'numpy_type': numpy_type,
                'metadata': None,
            }
            for name, pandas_type, numpy_type in (
                ('task_index', 'int64', 'int64'),
                ('task', 'unicode', 'object'),
            )
        ]
        pandas = {'index_columns': ['task'], 'column_indexes': [], 'columns': columns}
        schema = arrow.schema(
            [('task_index', arrow.int64()), ('task', arrow.string())],
            metadata={'pandas': json.dumps(pandas)},
        )
        table = arrow.table({'task_index': [0], 'task': [self._task]}, schema=schema)
        arrow.parquet.write_table(table, self._folder / 'meta' / 'tasks.parquet')

    # Types ---------------------------------------------------------------------------------------

    def _schema(self) -> Any:
        arrow = self._arrow
        fields = []
        for key, feature in self._features.items():
            if feature['dtype'] == 'image':
                kind = arrow.struct([('bytes', arrow.binary()), ('path', arrow.string())])
            else:
                kind = _arrow_type(arrow, feature['dtype'])
                for length in reversed([] if feature['shape'] == [1] else feature['shape']):
                    # Only lists in one dimension have a length in the data sets of Hugging Face.
                    one = len(feature['shape']) == 1
                    kind = arrow.list_(kind, length if one else -1)
            fields.append(arrow.field(key, kind))
        return arrow.schema(fields)

    def _index_schema(self, row: Mapping[str, Any]) -> Any:
        arrow = self._arrow
        declared = {f'boundary/{said.name}': _arrow_type(arrow, said.dtype) for said in ABOUT}
        guessed = arrow.table({key: [value] for key, value in row.items()}).schema
        return arrow.schema([f.with_type(declared.get(f.name, f.type)) for f in guessed])

    def _new_moments(self) -> dict[str, Moments]:
        moments = {}
        for key, feature in self._features.items():
            if not key.startswith('boundary.'):
                image = feature['dtype'] == 'image'
                moments[key] = Moments(feature['shape'][2 if image else 0])
        return moments

    def _shape_of_figures(self, key: str) -> tuple[int, ...]:
        feature = self._features[key]
        shape = feature['shape']
        return (shape[2], 1, 1) if feature['dtype'] == 'image' else tuple(shape)


class _Files:
    """Parquet files that follow one another, each of about the size that the format names."""

    def __init__(self, arrow: Any, folder: Path, pattern: str, schema: Any) -> None:
        self._arrow, self._folder, self._pattern = arrow, folder, pattern
        self._schema = schema
        self._number = -1
        self._writer: Any = None
        self._path = folder

    @property
    def place(self) -> tuple[int, int]:
        """Return the chunk and the number in it of the present file."""
        return divmod(self._number, _FILES_IN_CHUNK)

    def roll(self) -> None:
        """Go on in a new file if the present one is full: an episode is in one file."""
        if self._writer is not None and self._path.stat().st_size < _MEGABYTES * 2**20:
            return
        self.close()
        self._number += 1
        chunk, file = self.place
        self._path = self._folder / self._pattern.format(chunk_index=chunk, file_index=file)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._writer = self._arrow.parquet.ParquetWriter(
            self._path, self._schema, compression='snappy'
        )

    def write(self, columns: Mapping[str, list[Any]]) -> None:
        """Write some rows."""
        self._writer.write_batch(
            self._arrow.RecordBatch.from_pydict(dict(columns), schema=self._schema)
        )

    def close(self) -> None:
        """Write the end of the present file."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()


def _is_picture(spec: FieldSpec) -> bool:
    # What has more bits is read with another range than 0 to 1, and stays numbers.
    return spec.dtype == 'uint8' and can_be_png(spec.shape, spec.dtype)


def _image_key(spec: FieldSpec) -> str:
    return f'observation.images.{spec.name}' if _is_picture(spec) else f'boundary.{spec.name}'


def _features(layout: Layout, rate: float) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    state = [name for spec in layout.numbers for name in _names_of_field(spec)]
    if state:
        found[STATE] = _feature('float32', (len(state),), state)
    for spec in layout.images:
        axes = ['height', 'width', 'channels']
        picture = _is_picture(spec)
        feature = _feature('image' if picture else spec.dtype, spec.shape, axes)
        found[_image_key(spec)] = {**feature, 'fps': rate} if picture else feature
    found[ACTION] = _feature('float32', (layout.contract.action_size,), layout.action_names)
    found['next.reward'] = _feature('float32')
    for name in ('done', 'terminated', 'truncated', 'success'):
        found[f'next.{name}'] = _feature('bool')
    for column in layout.columns:
        found[f'boundary.{column.name}'] = _own_feature(column)
    found['timestamp'] = _feature('float32')
    for name in ('frame_index', 'episode_index', 'index', 'task_index'):
        found[name] = _feature('int64')
    return found


def _feature(
    dtype: str, shape: Sequence[int] = (1,), names: Sequence[str] | None = None
) -> dict[str, Any]:
    return {'dtype': dtype, 'shape': list(shape), 'names': None if names is None else list(names)}


def _own_feature(column: Column) -> dict[str, Any]:
    feature = _feature(column.dtype, column.shape or (1,), column.names or None)
    feature['info'] = {'meaning': column.text, 'unit': list(column.unit)}
    return feature


def _names_of_field(spec: FieldSpec) -> list[str]:
    return [spec.name] if spec.size == 1 else [f'{spec.name}.{i}' for i in range(spec.size)]


def _arrow_type(arrow: Any, dtype: str) -> Any:
    return arrow.string() if dtype == TEXT else arrow.from_numpy_dtype(np.dtype(dtype))


def _plain(value: Any, shape: Sequence[int]) -> Any:
    if isinstance(value, np.ndarray):
        return value.item() if list(shape) == [1] else value.tolist()
    return value
