# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A run in Rerun's viewer: written by the command, and read back by Rerun."""

from __future__ import annotations

from pathlib import Path
import subprocess
import sys

import pytest

pytest.importorskip('rerun', reason='needs Rerun, which the extra rerun brings')
from boundary_env_ros.cli.main import main
from support.export_runs import driven_by_hand


def test_rerun_reads_images_actions_and_what_the_gate_did(tmp_path: Path) -> None:
    run, out = driven_by_hand(tmp_path / 'bag'), tmp_path / 'run.rrd'
    assert main(['report', str(run.bag), '--rrd', str(out)]) == 0
    shown = subprocess.run(
        [sys.executable, '-m', 'rerun', 'rrd', 'print', str(out)],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    ).stdout
    for path in ('observation/front', 'action/requested', 'action/commanded', 'gate', 'reward'):
        assert f'/cart/{path}' in shown
    assert [path.name for path in tmp_path.iterdir()] == ['bag', 'run.rrd']
