# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Entry points are looked for once, and again when something was installed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from boundary_env_ros.resources import entry_points


def names() -> list[str]:
    """Return the names of the installed entry points of a group."""
    return [entry.name for entry in entry_points('anything', name='late')]


def test_what_is_installed_while_python_runs_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.utime(tmp_path, (0, 0))  # the clock of the files is too coarse for a test
    monkeypatch.syspath_prepend(str(tmp_path))
    assert names() == []
    package = tmp_path / 'late-1.0.dist-info'
    package.mkdir()
    (package / 'METADATA').write_text('Metadata-Version: 2.1\nName: late\nVersion: 1.0\n')
    (package / 'entry_points.txt').write_text('[anything]\nlate = late:made\nother = late:made\n')
    assert names() == ['late']
    monkeypatch.undo()
    assert names() == []
