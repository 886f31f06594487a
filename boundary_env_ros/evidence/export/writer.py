# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What every writer of a data set does; one writes records as they are, or steps."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeVar

from boundary_env_ros.evidence.episodes import Episode
from boundary_env_ros.evidence.export.dataset_steps import DatasetStep
from boundary_env_ros.storage.records import Entry

Item = TypeVar('Item', contravariant=True)


class DatasetWriter(Protocol[Item]):
    """
    Writes what a data set consists of, item by item.

    Making one raises MissingDependency if what the format needs is not installed.
    """

    @abstractmethod
    def write(self, item: Item, /) -> None:
        """Write the next item."""

    def finish(self) -> None:
        """Complete the data set; without it, it is thrown away."""

    def release(self) -> None:
        """Let go of the files, finished or not."""


class NumberedEntry(NamedTuple):
    """A record, and its place among all records of the data set."""

    order: int
    entry: Entry


class RecordWriter(DatasetWriter[NumberedEntry], Protocol):
    """Writes records of one kind as they are: made of the path of a file and their class."""


class StepWriter(DatasetWriter[DatasetStep], Protocol):
    """
    Writes steps as another project has them; the last one of its episode ends it.

    Made of an empty folder, the name of the data set, its
    :class:`~boundary_env_ros.evidence.export.layout.Layout`, and options by their names.
    """

    def begin(self, episodes: Sequence[Episode], *, labelled: bool) -> None:
        """Begin the data set, which is to have these episodes; people have labelled some."""
