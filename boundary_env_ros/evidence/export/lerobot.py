# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
LeRobot data sets, written by LeRobot.

One frame for each step: the observation before it, the action that was applied, and what came of
it. Images stand in the Parquet files as PNG, which loses nothing; there are no videos. Columns of
our own begin with ``boundary.``, which the policies of LeRobot pass over.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from boundary_env_ros.core.contract.model import FieldSpec
from boundary_env_ros.errors import needed
from boundary_env_ros.evidence.export.episodes import Step
from boundary_env_ros.evidence.export.layout import ABOUT, about, Column, Layout, TEXT

STATE, ACTION = 'observation.state', 'action'


class LeRobotWriter:
    """
    A data set that is being written; it holds one episode at a time, its images on the disk.

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
        If LeRobot is not installed.

    """

    def __init__(self, folder: Path, name: str, layout: Layout) -> None:
        with needed('LeRobot writes its data sets', 'pip install lerobot'):
            from lerobot.datasets.lerobot_dataset import LeRobotDataset
        self._folder, self._layout = folder, layout
        self._task = layout.contract.task.name or layout.contract.name
        rate = 1.0 / layout.contract.period
        self._features = _features(layout)
        # LeRobot wants to make the folder itself.
        self._draft = folder / 'draft'
        self._set = LeRobotDataset.create(
            f'local/{name}',
            fps=round(rate) if abs(rate - round(rate)) < 1e-9 else rate,
            features=self._features,
            root=self._draft,
            robot_type=layout.contract.name,
            use_videos=False,
        )

    def step(self, step: Step) -> None:
        """Write a step; the last one of its episode ends it."""
        layout = self._layout
        values = layout.step_values(step) | layout.sight_values(step.before)
        values |= {f'episode.{name}': value for name, value in about(step).items()}
        frame = {
            ACTION: step.applied,
            'next.reward': step.transition.reward,
            'next.done': step.terminated or step.truncated,
            'next.terminated': step.terminated,
            'next.truncated': step.truncated,
            'next.success': values['success'],
            **{f'boundary.{name}': value for name, value in values.items()},
        }
        parts = [value.ravel() for value in layout.observation(step.before).values()]
        if parts:
            frame[STATE] = np.concatenate(parts)
        pixels = layout.pixels(step.before)
        frame |= {_image_key(spec): pixels[spec.name] for spec in layout.images}
        typed = {name: _typed(value, self._features[name]) for name, value in frame.items()}
        self._set.add_frame({**typed, 'task': self._task})
        if step.last:
            self._set.save_episode()

    def finish(self) -> None:
        """Write what stands beside the frames."""
        self._set.finalize()
        for place in self._draft.iterdir():
            place.rename(self._folder / place.name)
        self._draft.rmdir()

    def release(self) -> None:
        """Let go of the files, finished or not."""
        with suppress(OSError):
            self._set.finalize()


def _is_picture(spec: FieldSpec) -> bool:
    """Return whether LeRobot takes a field as an image; any other stays numbers."""
    return spec.dtype == 'uint8' and spec.shape[2] == 3


def _image_key(spec: FieldSpec) -> str:
    return f'observation.images.{spec.name}' if _is_picture(spec) else f'boundary.{spec.name}'


def _features(layout: Layout) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    state = [name for spec in layout.numbers for name in _names_of_field(spec)]
    if state:
        found[STATE] = _feature('float32', (len(state),), state)
    for spec in layout.images:
        kind = 'image' if _is_picture(spec) else spec.dtype
        found[_image_key(spec)] = _feature(kind, spec.shape, ['height', 'width', 'channels'])
    found[ACTION] = _feature('float32', (layout.contract.action_size,), layout.action_names)
    found['next.reward'] = _feature('float32')
    for name in ('done', 'terminated', 'truncated', 'success'):
        found[f'next.{name}'] = _feature('bool')
    found.update((f'boundary.{column.name}', _own_feature(column)) for column in layout.columns)
    found.update((f'boundary.episode.{column.name}', _own_feature(column)) for column in ABOUT)
    return found


def _feature(
    dtype: str, shape: tuple[int, ...] = (1,), names: Sequence[str] | None = None
) -> dict[str, Any]:
    return {'dtype': dtype, 'shape': shape, 'names': None if names is None else list(names)}


def _own_feature(column: Column) -> dict[str, Any]:
    feature = _feature(column.dtype, column.shape or (1,), column.names or None)
    return {**feature, 'info': {'meaning': column.text, 'unit': list(column.unit)}}


def _typed(value: Any, feature: dict[str, Any]) -> Any:
    """Return a value as LeRobot takes it: a text, an image, or an array of just that type."""
    if feature['dtype'] in (TEXT, 'image'):
        return value
    return np.asarray(value, feature['dtype']).reshape(feature['shape'])


def _names_of_field(spec: FieldSpec) -> list[str]:
    return [spec.name] if spec.size == 1 else [f'{spec.name}.{i}' for i in range(spec.size)]
