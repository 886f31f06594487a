# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The formats of data sets, and who writes each: imported when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

_HERE = 'boundary_env_ros.evidence.export'

#: The records as they are, a file for each kind.
OF_RECORDS: Mapping[str, str] = {
    'parquet': f'{_HERE}.parquet_records:ParquetWriter',
    'jsonl': f'{_HERE}.dataset:LineWriter',
}
#: The steps as another project has them.
OF_STEPS: Mapping[str, str] = {
    'lerobot': f'{_HERE}.lerobot:LeRobotWriter',
    'minari': f'{_HERE}.minari:MinariWriter',
}
FORMATS = {**OF_RECORDS, **OF_STEPS}

#: Share of the steps that may be trimmed or filled, unless the user says another.
MOST_REPAIRED = 0.1


def writer_of(format: str) -> Any:  # noqa: A002 - the word of the command
    """Return the class that writes a format."""
    module, _, name = FORMATS[format].partition(':')
    return getattr(import_module(module), name)
