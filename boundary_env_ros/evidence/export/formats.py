# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The formats of data sets, and what each of their writers does.

A new format is a file beside this one, with a class that is a :class:`DatasetWriter`, and a row of
:data:`FORMATS`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple, Protocol, TypeVar

from boundary_env_ros.evidence.episodes import Episode
from boundary_env_ros.evidence.export.dataset_steps import DatasetStep
from boundary_env_ros.storage.records import Entry

Item = TypeVar('Item', contravariant=True)

#: Share of the steps that may be trimmed or filled, unless the user says another.
MOST_REPAIRED = 0.1


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


class Format(NamedTuple):
    """Module beside this one and class of the writer, and whether it writes steps or records."""

    module: str
    name: str
    of_steps: bool = False

    def writer(self) -> Any:
        """Return the class of the writer, a :class:`RecordWriter` or :class:`StepWriter`."""
        return getattr(import_module(f'{__package__}.{self.module}'), self.name)


FORMATS: Mapping[str, Format] = {
    'parquet': Format('parquet_records', 'ParquetWriter'),
    'jsonl': Format('dataset', 'LineWriter'),
    'lerobot': Format('lerobot', 'LeRobotWriter', of_steps=True),
    'minari': Format('minari', 'MinariWriter', of_steps=True),
}
OF_RECORDS = tuple(name for name, one in FORMATS.items() if not one.of_steps)
OF_STEPS = tuple(name for name, one in FORMATS.items() if one.of_steps)
