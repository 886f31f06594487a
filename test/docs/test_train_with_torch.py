# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The examples that train without Stable-Baselines3 learn from the same environment."""

from __future__ import annotations

from pathlib import Path
import re
import subprocess
import sys

import pytest

from support.pages import REPOSITORY

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')
pytest.importorskip('torch', reason='needs PyTorch')


@pytest.mark.parametrize(
    ('example', 'arguments', 'line'),
    [
        ('train_loop', ('--rollout', '128'), r' 512 steps: \d+ of \d+ episodes reached the goal'),
        ('train_torchrl', ('--batch', '256'), r' 512 steps: \d+ episodes ended, mean return \S+'),
    ],
)
def test_it_trains(example: str, arguments: tuple[str, ...], line: str, tmp_path: Path) -> None:
    if example == 'train_torchrl':
        pytest.importorskip('torchrl', reason='needs TorchRL')
    finished = subprocess.run(
        [sys.executable, REPOSITORY / f'examples/{example}.py', '--steps', '512', *arguments],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert finished.returncode == 0, finished.stderr
    assert re.search(line, finished.stdout), finished.stdout
