# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The example that trains a policy runs, in one process and over ROS, and both are one world."""

from __future__ import annotations

from pathlib import Path
import re
import subprocess
import sys

import pytest
import yaml

from boundary_env_ros.resources import share_file
from support.pages import REPOSITORY

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')
pytest.importorskip('stable_baselines3', reason='needs boundary_env_ros[sb3]')


def run(folder: Path, *arguments: str) -> list[str]:
    """Run the example in a folder, and return the lines that it prints."""
    finished = subprocess.run(
        [sys.executable, str(REPOSITORY / 'examples/train_cart.py'), *arguments],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.splitlines()


@pytest.fixture(scope='module')
def patient(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the file of a contract in which a busy machine changes nothing."""
    data = yaml.safe_load(share_file('config/warehouse_cart.yaml').read_text(encoding='utf-8'))
    for name in ('pose', 'velocity', 'scan', 'front'):
        data['observation'][name]['max_age'] = 3.0
    for name in ('max_action_age', 'robot_timeout', 'gate_timeout', 'environment_timeout'):
        data['safety'][name] = 3.0
    data['safety'].update(gate_lateness=3.0, clock_jump=3.0)
    data['safety'].update(policy_timeout=8.0, recorder_timeout=8.0)
    path = tmp_path_factory.mktemp('contract') / 'patient.yaml'
    path.write_text(yaml.safe_dump(data, sort_keys=False), encoding='utf-8')
    return str(path)


def endings(lines: list[str]) -> str:
    """Return what a policy made of its episodes."""
    found = re.fullmatch(r'(?:embedded|ros): \d of 2 reach the goal (\{.*\})', lines[-2])
    assert found is not None, lines
    return found[1]


@pytest.fixture(scope='module')
def trained(tmp_path_factory: pytest.TempPathFactory, patient: str) -> tuple[Path, str]:
    """Return a folder with a policy that was hardly trained, and how its episodes ended."""
    folder = tmp_path_factory.mktemp('trained')
    lines = run(folder, '--steps', '128', '--carts', '2', '--episodes', '2', '--contract', patient)
    assert any(line.startswith('trained 128 steps') for line in lines)
    assert 'episodes reached the goal' in lines[0]
    return folder, endings(lines)


def test_it_trains_saves_and_judges(trained: tuple[Path, str], patient: str) -> None:
    folder, before = trained
    again = run(folder, '--episodes', '2', '--contract', patient)
    assert not any(line.startswith('trained') for line in again)
    assert endings(again) == before


@pytest.mark.ros
def test_the_same_policy_does_the_same_over_ros(trained: tuple[Path, str], patient: str) -> None:
    pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')
    from boundary_env_ros.evidence.audit.audit import audit_path

    folder, before = trained
    over_ros = run(folder, '--episodes', '2', '--world', 'ros', '--contract', patient)
    assert endings(over_ros) == before
    report = audit_path(folder / 'runs/train_cart')
    assert report.ok, str(report)
