# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
RLDS data sets, as TensorFlow Datasets lays them out, written without TensorFlow.

One example is one whole episode: its steps, and what is said of it. A step is an observation, the
action that was applied to it, and the reward of that; the last one has an observation only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
import json
from pathlib import Path
import re
from typing import Any

import numpy as np

from boundary_env_ros.core.contract.model import FieldSpec
from boundary_env_ros.evidence.export.episodes import Head, Sight, Step
from boundary_env_ros.evidence.export.layout import ABOUT, about, choices, Column, Layout, TEXT
from boundary_env_ros.evidence.export.png import can_be_png, to_png
from boundary_env_ros.evidence.export.tf_records import example, RecordFile, Values
from boundary_env_ros.storage.atomic import write_atomically

VERSION = '1.0.0'

_SHARD = 128 * 2**20
_FEATURES = 'tensorflow_datasets.core.features'

#: What a step itself is, beside the observation; all other columns follow.
_OWN: Mapping[str, tuple[str, str]] = {
    'is_first': ('bool', 'first step of the episode'),
    'is_last': ('bool', 'last step: it has an observation, and no action'),
    'is_terminal': ('bool', 'last step, and the task ended the episode; false for a truncation'),
    'discount': ('float32', '0 with the action that terminated the episode, else 1'),
}

_Json = dict[str, Any]


def dataset_name(name: str) -> str:
    """Return the name of a data set in a folder of that name, as file names may have it."""
    return re.sub(r'\W+', '_', name).strip('_').lower() or 'dataset'


class RldsWriter:
    """
    A data set that is being written; it holds one episode at a time.

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
        If google-crc32c is not installed.

    """

    def __init__(self, folder: Path, name: str, layout: Layout) -> None:
        self._folder, self._name, self._layout = folder, dataset_name(name), layout
        self._features = dict(_features(layout))
        self._shards: list[RecordFile] = []
        self._open_shard()
        self._rows: dict[str, list[Any]] = {}
        self._head: Head | None = None

    def _open_shard(self) -> None:
        # How many there are, which is in their names, is known in the end.
        self._shards.append(RecordFile(self._folder / f'shard-{len(self._shards)}.part'))

    # Steps ---------------------------------------------------------------------------------------

    def begin(self, head: Head) -> None:
        """Begin an episode."""
        self._head = head
        self._rows = {name: [] for name in self._features}

    def step(self, step: Step) -> None:
        """Take a step; the last one of its episode writes it."""
        layout = self._layout
        first = not self._rows['is_first']
        self._add_sight(step.before, first=first, last=False, terminal=False)
        self._add('discount', 0.0 if step.terminated else 1.0)
        self._add('action', step.applied)
        for name, value in layout.step_values(step).items():
            self._add(name, value)
        if step.last:
            self._add_sight(step.after, first=False, last=True, terminal=step.terminated)
            self._add('discount', 0.0 if step.terminated else 1.0)
            # Not defined by RLDS; a number that no sum is spoilt by.
            self._add('action', np.zeros(layout.contract.action_size))
            for column in layout.of_step:
                self._add(column.name, 0.0 if column.name == 'reward' else column.fill)
            self._end(step)

    def _add_sight(self, sight: Sight, *, first: bool, last: bool, terminal: bool) -> None:
        layout = self._layout
        self._add('is_first', first)
        self._add('is_last', last)
        self._add('is_terminal', terminal)
        for name, value in (layout.observation(sight) | layout.pixels(sight)).items():
            self._add(f'observation/{name}', value)
        for name, value in layout.sight_values(sight).items():
            self._add(name, value)

    def _add(self, name: str, value: Any) -> None:
        self._rows[name].append(self._features[name].encode(value))

    # Episodes ------------------------------------------------------------------------------------

    def _end(self, last: Step) -> None:
        assert self._head is not None  # an episode begins with its head
        features: dict[str, Values] = {}
        said = about(self._head, last)
        for column in ABOUT:
            feature = _of_column(column)
            features[column.name] = feature.all_of([feature.encode(said[column.name])])
        for name, feature in self._features.items():
            features[f'steps/{name}'] = feature.all_of(self._rows[name])
        self._shards[-1].write(example(features))
        self._rows = {}
        if self._shards[-1].size >= _SHARD:
            self._shards[-1].close()
            self._open_shard()

    def release(self) -> None:
        """Let go of the files, finished or not."""
        with suppress(OSError):
            self._shards[-1].close()

    def finish(self) -> None:
        """Write what stands beside the episodes."""
        self._shards[-1].close()
        if len(self._shards) > 1 and not self._shards[-1].records:
            self._shards.pop().path.unlink()
        number = len(self._shards)
        for index, shard in enumerate(self._shards):
            name = f'{self._name}-train.tfrecord-{index:05d}-of-{number:05d}'
            shard.path.rename(self._folder / name)
        self._write_json(
            'dataset_info',
            {
                'name': self._name,
                'version': VERSION,
                'description': self._layout.description,
                'fileFormat': 'tfrecord',
                'splits': [
                    {
                        'name': 'train',
                        'filepathTemplate': '{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}',
                        'numBytes': str(sum(shard.size for shard in self._shards)),
                        'shardLengths': [str(shard.records) for shard in self._shards],
                    }
                ],
            },
        )
        self._write_json('features', self._described())

    def _write_json(self, name: str, value: object) -> None:
        text = json.dumps(value, indent=2, allow_nan=False)
        write_atomically(self._folder / f'{name}.json', text.encode())

    def _described(self) -> _Json:
        steps: _Json = {}
        observation: _Json = {}
        for name, feature in self._features.items():
            place, _, field = name.rpartition('/')
            (observation if place else steps)[field] = feature.described()
        steps['observation'] = _dictionary(observation)
        episode: _Json = {column.name: _of_column(column).described() for column in ABOUT}
        episode['steps'] = {
            'pythonClassName': f'{_FEATURES}.dataset_feature.Dataset',
            'sequence': {'feature': _dictionary(steps), 'length': '-1'},
        }
        return _dictionary(episode)


class _Feature:
    """
    One feature: how it is described, and how its values are encoded.

    Numbers of 64 bits with a point, and whole arrays, are stored as their bytes: an example knows
    no more than single precision.
    """

    def __init__(
        self, dtype: str, shape: tuple[int, ...] = (), text: str = '', *, choice: bool = False
    ) -> None:
        self._dtype, self._shape, self._text = dtype, shape, text
        self._choice = choice
        self._image = len(shape) == 3 and can_be_png(shape, dtype)
        self._as_bytes = dtype != TEXT and (bool(shape) or dtype == 'float64')

    def encode(self, value: Any) -> Any:
        if self._dtype == TEXT:
            return str(value).encode()
        if self._choice:
            value = choices(value).reshape(self._shape)
        if self._image:
            return to_png(value)
        array = np.asarray(value, self._dtype)
        if not self._as_bytes:
            return array
        return np.ascontiguousarray(array, array.dtype.newbyteorder('<')).tobytes()

    def all_of(self, encoded: list[Any]) -> Values:
        if self._dtype == TEXT or self._as_bytes:
            return encoded
        return np.asarray(encoded, self._dtype)

    def described(self) -> _Json:
        if self._dtype == TEXT:
            kind, told = 'text_feature.Text', _Json(text={})
        elif self._image:
            image = {'dtype': self._dtype, 'encodingFormat': 'png', 'shape': self._dimensions}
            kind, told = 'image_feature.Image', _Json(image=image)
        else:
            encoding = 'bytes' if self._as_bytes else 'none'
            tensor = {'dtype': self._dtype, 'encoding': encoding, 'shape': self._dimensions}
            kind, told = 'tensor_feature.Tensor', _Json(tensor=tensor)
        described: _Json = {'pythonClassName': f'{_FEATURES}.{kind}', **told}
        if self._text:
            described['description'] = self._text
        return described

    @property
    def _dimensions(self) -> _Json:
        return {'dimensions': [str(length) for length in self._shape]} if self._shape else {}


def _features(layout: Layout) -> Iterator[tuple[str, _Feature]]:
    for name, (dtype, text) in _OWN.items():
        yield name, _Feature(dtype, text=text)
    for spec in (*layout.numbers, *layout.images):
        yield f'observation/{spec.name}', _Feature(spec.dtype, spec.shape, _told(spec))
    yield 'action', _action(layout)
    for column in layout.columns:
        yield column.name, _of_column(column)


def _action(layout: Layout) -> _Feature:
    contract = layout.contract
    names = ', '.join(layout.action_names)
    text = f'The action that was applied, action space: {names}.'
    if layout.action_is_numbers or not all(group.options for group in contract.action):
        return _Feature('float64', (contract.action_size,), text)
    shape = () if contract.action_size == 1 else (contract.action_size,)
    return _Feature('int64', shape, f'{text} -1: unknown.', choice=True)


def _of_column(column: Column) -> _Feature:
    names, unit = (', '.join(words) for words in (column.names, column.unit))
    text = column.text + (f' ({names})' if names else '') + (f' [{unit}]' if unit else '')
    return _Feature(column.dtype, column.shape, text)


def _told(spec: FieldSpec) -> str:
    unit = ', '.join(dict.fromkeys(spec.unit))
    return f'unit {unit}' + (f', frame {spec.frame}' if spec.frame else '') if unit else ''


def _dictionary(features: _Json) -> _Json:
    return {
        'pythonClassName': f'{_FEATURES}.features_dict.FeaturesDict',
        'featuresDict': {'features': features},
    }
