# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Minari data sets (HDF5), written without Minari.

An episode has one observation more than actions. What the columns of a step say stands in its
``infos``, one row after the action, as Gymnasium hands out the info of a step with what came of
it; row 0 is that of the reset.
"""

from __future__ import annotations

from contextlib import suppress
import json
from pathlib import Path
import re
from typing import Any

import numpy as np

from boundary_env_ros.core.contract.model import ActionKind
from boundary_env_ros.errors import MissingDependency
from boundary_env_ros.evidence.export.episodes import Head, Sight, Step
from boundary_env_ros.evidence.export.layout import about, choices, Layout, NUMBERS
from boundary_env_ros.evidence.export.spaces import action_space, observation_space
from boundary_env_ros.storage.atomic import write_atomically

#: The version whose layout this is: the first that takes images without loss.
MINARI_VERSION = '0.5.4'

_ROWS = 256
_CHUNK = 64


def dataset_id(name: str) -> str:
    """Return the id of a data set in a folder of that name; the same, if it can be one."""
    if re.fullmatch(r'[-_\w]+-v\d+', name):
        return name
    return re.sub(r'[^-_\w]', '_', name).strip('-') + '-v0'


class MinariWriter:
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
        If h5py is not installed.

    """

    def __init__(self, folder: Path, name: str, layout: Layout) -> None:
        try:
            import h5py
        except ImportError as error:
            raise MissingDependency(
                f'Minari data sets need h5py: {error}. '
                'Install it with `pip install minari h5py pyarrow`.'
            ) from error
        self._text = h5py.string_dtype()
        self._layout, self._name = layout, name
        self._folder = folder / 'data'
        self._folder.mkdir()
        self._file = h5py.File(self._folder / 'main_data.hdf5', 'x', track_order=True)
        self._episodes = self._steps = self._length = 0
        self._group: Any = None
        self._head: Head | None = None
        self._rows: dict[str, list[Any]] = {}

    # Steps ---------------------------------------------------------------------------------------

    def begin(self, head: Head) -> None:
        """Begin an episode."""
        self._head, self._length = head, 0
        self._group = self._file.create_group(f'episode_{self._episodes}')

    def step(self, step: Step) -> None:
        """Write a step; the last one of its episode ends it."""
        layout = self._layout
        if self._length == 0:
            fills = {column.name: column.fill for column in layout.of_step}
            self._see(step.before, fills)
        self._see(step.after, layout.step_values(step))
        self._add_action(step)
        self._add('rewards', step.transition.reward)
        self._add('terminations', step.terminated)
        self._add('truncations', step.truncated)
        self._length += 1
        if self._length % _ROWS == 0 or step.last:
            self._flush()
        if step.last:
            self._end(step)

    def _see(self, sight: Sight, values: dict[str, Any]) -> None:
        layout = self._layout
        for name, value in (layout.observation(sight) | layout.pixels(sight)).items():
            self._add(f'observations/{name}', value)
        for name, value in (values | layout.sight_values(sight)).items():
            self._add(f'infos/{name}', value)

    def _add_action(self, step: Step) -> None:
        groups = self._layout.contract.action
        if self._layout.action_is_numbers:
            self._add('actions', np.asarray(step.applied))
            return
        mixed = any(group.kind in NUMBERS for group in groups)
        if not mixed:
            one = len(groups) == 1 and groups[0].kind is ActionKind.DISCRETE
            found = choices(step.applied)
            self._add('actions', found[0] if one else found)
            return
        start = 0
        for group in groups:
            part = step.applied[start : start + group.action_size]
            start += group.action_size
            if group.kind in NUMBERS:
                value = np.asarray(part)
            else:
                value = choices(part)[0 if group.kind is ActionKind.DISCRETE else slice(None)]
            self._add(f'actions/{group.name}', value)

    def _add(self, name: str, value: Any) -> None:
        self._rows.setdefault(name, []).append(value)

    def _flush(self) -> None:
        for name, rows in self._rows.items():
            if name not in self._group:
                self._create(name, rows[0])
            data = self._group[name]
            data.resize(data.shape[0] + len(rows), axis=0)
            data[-len(rows) :] = rows if data.dtype.kind == 'O' else np.asarray(rows, data.dtype)
        self._rows.clear()

    def _create(self, name: str, value: Any) -> None:
        text = isinstance(value, str)
        array = np.asarray(value)
        image = array.ndim == 3
        self._group.create_dataset(
            name,
            shape=(0, *array.shape),
            maxshape=(None, *array.shape),
            dtype=self._text if text else array.dtype,
            chunks=(1 if image else _CHUNK, *array.shape),
            compression='gzip' if image else None,
            compression_opts=1 if image else None,
        )

    # Episodes ------------------------------------------------------------------------------------

    def _end(self, last: Step) -> None:
        assert self._head is not None  # an episode begins with its head
        attributes = self._group.attrs
        attributes['id'] = self._episodes
        attributes['total_steps'] = self._length
        for name, value in about(self._head, last).items():
            attributes[name] = np.uint64(value) if name == 'seed' else value
        self._steps += self._length
        self._episodes += 1

    def release(self) -> None:
        """Let go of the files, finished or not."""
        # The library says so in both ways when what is left cannot be written.
        with suppress(OSError, RuntimeError):
            self._file.close()

    def finish(self) -> None:
        """Write what stands beside the episodes."""
        self._file.close()
        layout = self._layout
        contract = layout.contract
        size = sum(file.stat().st_size for file in self._folder.iterdir())
        metadata = {
            'total_episodes': self._episodes,
            'total_steps': self._steps,
            'data_format': 'hdf5',
            'jpeg_encoding': False,
            'observation_space': json.dumps(observation_space(layout)),
            'action_space': json.dumps(action_space(layout)),
            'dataset_id': dataset_id(self._name),
            'minari_version': MINARI_VERSION,
            'dataset_size': round(size / 1e6, 1),
            'description': layout.description,
            'contract': contract.name,
            'contract_version': contract.version,
            'columns': {column.name: column.text for column in layout.columns},
        }
        text = json.dumps(metadata)
        write_atomically(self._folder / 'metadata.json', text.encode())
