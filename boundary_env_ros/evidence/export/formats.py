# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The formats of data sets.

A new format is a file beside this one, with a class that is a ``DatasetWriter`` of ``writer.py``,
and a row of :data:`FORMATS`. The commands list them: nothing is imported before one is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

#: Share of the steps that may be trimmed or filled, unless the user says another.
MOST_REPAIRED = 0.1


class Format(NamedTuple):
    """Module beside this one and class of the writer, and whether it writes steps or records."""

    module: str
    name: str
    of_steps: bool = False

    def writer(self) -> Any:
        """Return the class of the writer: a ``RecordWriter`` or a ``StepWriter``."""
        return getattr(import_module(f'{__package__}.{self.module}'), self.name)


FORMATS: Mapping[str, Format] = {
    'parquet': Format('parquet_records', 'ParquetWriter'),
    'jsonl': Format('dataset', 'LineWriter'),
    'lerobot': Format('lerobot', 'LeRobotWriter', of_steps=True),
    'minari': Format('minari', 'MinariWriter', of_steps=True),
}
OF_RECORDS = tuple(name for name, one in FORMATS.items() if not one.of_steps)
OF_STEPS = tuple(name for name, one in FORMATS.items() if one.of_steps)
