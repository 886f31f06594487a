# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Summing up what lies on disk: a run folder, a bag, an MCAP or JSON lines file."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

from boundary_env_ros.evidence.run_files import labels_in_index, read_all, Run
from boundary_env_ros.evidence.summary.figures import Summary
from boundary_env_ros.evidence.summary.summary import summarise


def summarise_path(path: Path) -> Summary:
    """
    Sum up a record; what cannot be read is passed over, since it is the audit that names it.

    Raises
    ------
    RecordError
        If there are no records at the path at all.

    """
    run = Run(path)
    records = chain(read_all(run), labels_in_index(path))
    return summarise(records, run.terms().contract)
