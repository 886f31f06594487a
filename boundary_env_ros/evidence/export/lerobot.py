# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
LeRobot data sets, written by LeRobot.

One frame for each step: the observation before it, the action that was applied, and what came of
it. Columns of our own begin with ``boundary.``, which the policies of LeRobot pass over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
import inspect
import os
from pathlib import Path
from typing import Any

import numpy as np

from boundary_env_ros.core.contract.model import FieldSpec
from boundary_env_ros.errors import needed, RecordError
from boundary_env_ros.evidence.episodes import Episode
from boundary_env_ros.evidence.export.dataset_steps import DatasetStep
from boundary_env_ros.evidence.export.layout import ABOUT, about, Column, Layout, TEXT
from boundary_env_ros.evidence.export.writer import StepWriter

STATE, ACTION = 'observation.state', 'action'

#: Columns that a data set to learn from has of our own, and of an operator if there was one.
_LEARNING, _BY_HAND = ('time_closed',), ('intervention',)

# Frames that wait for the encoder of videos may take so many bytes; longer episodes are written to
# the disk first. LeRobot leaves out what it has no room for.
_QUEUED = 1_000_000_000

#: Relative difference of the rate of a contract and of the whole one that videos need.
_NEAR = 0.01


class LeRobotWriter(StepWriter):
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
    every_column
        Whether it has all that is known of a step, not only what policies learn from.
    as_images
        Whether images stand in the Parquet files as PNG, which loses nothing, not in videos.

    Raises
    ------
    MissingDependency
        If LeRobot is not installed.
    RecordError
        If videos cannot have the rate of the contract.

    """

    def __init__(
        self,
        folder: Path,
        name: str,
        layout: Layout,
        *,
        every_column: bool = False,
        as_images: bool = False,
    ) -> None:
        os.environ.setdefault('HF_DATASETS_DISABLE_PROGRESS_BARS', '1')
        os.environ.setdefault('SVT_LOG', '1')  # the encoder of videos reports errors alone
        with needed('LeRobot writes its data sets', 'pip install "lerobot[dataset]"'):
            from lerobot.datasets.lerobot_dataset import LeRobotDataset
        self._make: Any = LeRobotDataset.create
        self._folder, self._name, self._layout = folder, name, layout
        contract = layout.contract
        self._task = contract.task.name or contract.name
        self._as_images = as_images or not any(map(_is_picture, layout.images))
        rate = 1.0 / contract.period
        is_whole = abs(rate - round(rate)) <= _NEAR * rate
        if not (is_whole or self._as_images):
            raise RecordError(
                f'Videos have whole frames a second (expected such a period, got '
                f'{contract.period:g} s, {rate:.4g} steps a second). Export with --images.'
            )
        self._rate = round(rate) if is_whole else rate
        self._every_column = every_column
        # LeRobot wants to make the folder itself.
        self._draft = folder / 'draft'
        self._set: Any = None

    def begin(self, episodes: Sequence[Episode], *, labelled: bool) -> None:
        """Begin the data set, which is to have these episodes; people have labelled some."""
        self._features = dict(self._make_features(episodes, labelled=labelled))
        longest = max((episode.steps for episode in episodes), default=1)
        pictures = [spec for spec in self._layout.images if _is_picture(spec)]
        fits = longest * sum(spec.size for spec in pictures) <= _QUEUED
        fast: dict[str, Any] = {
            'streaming_encoding': fits,
            'encoder_queue_maxsize': longest + 1,
        }
        known = inspect.signature(self._make).parameters
        self._set = self._make(
            f'local/{self._name}',
            fps=self._rate,
            features=self._features,
            root=self._draft,
            robot_type=self._layout.contract.name,
            use_videos=not self._as_images,
            # Of images on their way to the disk.
            image_writer_threads=0 if fits and not self._as_images else 4 * len(pictures),
            **{name: value for name, value in fast.items() if name in known},
        )

    def write(self, step: DatasetStep, /) -> None:
        """Write a step; the last one of its episode ends it."""
        layout = self._layout
        values = layout.step_values(step) | layout.observation_values(step.before)
        frame = {
            ACTION: step.applied,
            'next.reward': step.transition.reward,
            'next.done': step.terminated or step.truncated,
            'next.terminated': step.terminated,
            'next.truncated': step.truncated,
            'next.success': step.is_success,
            **{f'boundary.{name}': value for name, value in values.items()},
            **{f'boundary.episode.{name}': value for name, value in about(step).items()},
        }
        parts = [value.ravel() for value in layout.observation(step.before).values()]
        if parts:
            frame[STATE] = np.concatenate(parts)
        pixels = layout.pixels(step.before)
        frame |= {_image_key(spec): pixels[spec.name] for spec in layout.images}
        typed = {name: _typed(frame[name], feature) for name, feature in self._features.items()}
        self._set.add_frame({**typed, 'task': step.instruction or self._task})
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
            if self._set is not None:
                self._set.finalize()

    def _make_features(
        self, episodes: Sequence[Episode], *, labelled: bool
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        layout, every = self._layout, self._every_column
        judged = bool(layout.contract.task.name) and all(e.judged for e in episodes)
        by_hand = any(episode.counts['by_hand'] for episode in episodes)
        own = (*_LEARNING, *(_BY_HAND if by_hand else ()))
        if layout.state_names:
            count = len(layout.state_names)
            state = _feature('float32', (count,), layout.state_names)
            yield STATE, {**state, 'info': {'unit': list(layout.state_unit)}}
        for spec in layout.images:
            kind = spec.dtype
            if _is_picture(spec):
                kind = 'image' if self._as_images else 'video'
            yield _image_key(spec), _feature(kind, spec.shape, ['height', 'width', 'channels'])
        action = _feature('float32', (len(layout.action_names),), layout.action_names)
        yield ACTION, {**action, 'info': {'unit': list(layout.action_unit)}}
        if judged or every:
            yield 'next.reward', _feature('float32')
        yield 'next.done', _feature('bool')
        if judged or labelled or every:
            yield 'next.success', _feature('bool')
        for name in ('terminated', 'truncated') if every else ():
            yield f'next.{name}', _feature('bool')
        for column in layout.columns:
            if every or column.name in own:
                yield f'boundary.{column.name}', _own_feature(column)
        for column in ABOUT if every else ():
            yield f'boundary.episode.{column.name}', _own_feature(column)


def _is_picture(spec: FieldSpec) -> bool:
    """Return whether LeRobot takes a field as an image; any other stays numbers."""
    return spec.dtype == 'uint8' and spec.shape[2] == 3


def _image_key(spec: FieldSpec) -> str:
    return f'observation.images.{spec.name}' if _is_picture(spec) else f'boundary.{spec.name}'


def _feature(
    dtype: str, shape: tuple[int, ...] = (1,), names: Sequence[str] | None = None
) -> dict[str, Any]:
    return {'dtype': dtype, 'shape': shape, 'names': None if names is None else list(names)}


def _own_feature(column: Column) -> dict[str, Any]:
    feature = _feature(column.dtype, column.shape or (1,), column.names or None)
    return {**feature, 'info': {'meaning': column.text, 'unit': list(column.unit)}}


def _typed(value: Any, feature: dict[str, Any]) -> Any:
    """Return a value as LeRobot takes it: a text, an image, or an array of just that type."""
    if feature['dtype'] in (TEXT, 'image', 'video'):
        return value
    return np.asarray(value, feature['dtype']).reshape(feature['shape'])


def upload(folder: Path, hub_id: str) -> None:
    """
    Upload a data set to the Hub, by LeRobot.

    Parameters
    ----------
    folder
        The data set.
    hub_id
        ``USER/NAME``.

    """
    with needed('LeRobot uploads its data sets', 'pip install "lerobot[dataset]"'):
        from lerobot.datasets.lerobot_dataset import LeRobotDataset
    LeRobotDataset(hub_id, root=folder).push_to_hub()
