# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The example that trains a policy runs, in one process and over ROS, and both are one world."""

from __future__ import annotations

import os
from pathlib import Path
import re
import subprocess
import sys

from pages import REPOSITORY
import pytest

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')
pytest.importorskip('stable_baselines3', reason='needs boundary_env_ros[sb3]')


def run(folder: Path, *arguments: str) -> list[str]:
    """Run the example in a folder, and return the lines that it prints."""
    finished = subprocess.run(
        [sys.executable, str(REPOSITORY / 'examples/train_cart.py'), *arguments],
        env={**os.environ, 'PYTHONPATH': str(REPOSITORY)},
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.splitlines()


def endings(lines: list[str]) -> str:
    """Return what a policy made of its episodes."""
    found = re.fullmatch(r'(?:embedded|ros): \d of 2 reach the goal (\{.*\})', lines[-2])
    assert found is not None, lines
    return found[1]


@pytest.fixture(scope='module')
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return a folder with a policy that was hardly trained, and how its episodes ended."""
    folder = tmp_path_factory.mktemp('trained')
    lines = run(folder, '--steps', '128', '--carts', '2', '--episodes', '2')
    assert lines[0].startswith('trained 128 steps')
    return folder, endings(lines)


def test_it_trains_saves_and_judges(trained: tuple[Path, str]) -> None:
    folder, before = trained
    again = run(folder, '--episodes', '2')
    assert not any(line.startswith('trained') for line in again)
    assert endings(again) == before


@pytest.mark.ros
def test_the_same_policy_does_the_same_over_ros(trained: tuple[Path, str]) -> None:
    pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')
    from boundary_env_ros.evidence.audit import audit_path

    folder, before = trained
    assert endings(run(folder, '--episodes', '2', '--link', 'ros')) == before
    report = audit_path(folder / 'runs/train_cart')
    assert report.ok, str(report)
