# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The tutorial `doc/own_robot.md`, followed as a new user does: driver, nodes, policy, record."""

from __future__ import annotations

from contextlib import ExitStack
import os
from pathlib import Path
import shutil
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from ros_world import PATIENT, reserved_domain
import yaml

from boundary_env_ros.ros.processes import isolated_environment

pytestmark = pytest.mark.ros

ROVER = Path(__file__).parents[2] / 'examples/rover'
BOUNDARY_ENV = (sys.executable, '-m', 'boundary_env_ros.cli.main')


def test_a_robot_of_ones_own_is_driven_and_its_record_is_believed(tmp_path: Path) -> None:
    folder = tmp_path / 'rover'
    shutil.copytree(ROVER, folder)
    contract = yaml.safe_load((folder / 'rover.yaml').read_text())
    contract['episode']['time_limit'] = 2.0
    # This machine is busy otherwise; the tutorial's own contract is checked below.
    names = ('pose', 'speed')
    contract['observation'] = {
        name: contract['observation'][name] | {'max_age': 3.0} for name in names
    }
    contract['safety'] = {k: v for k, v in PATIENT['safety'].items() if k != 'recorder_timeout'}
    (folder / 'patient.yaml').write_text(yaml.safe_dump(contract, sort_keys=False))
    with reserved_domain() as domain, ExitStack() as stack:
        environment = {**os.environ, **isolated_environment(domain)}

        def start(*words: str) -> subprocess.Popen[bytes]:
            output = stack.enter_context((folder / f'{words[-1]}.log').open('wb'))
            process = subprocess.Popen(
                words, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        def call(*words: str) -> tuple[int, str]:
            done = subprocess.run(
                [*BOUNDARY_ENV, *words],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            return done.returncode, done.stdout + done.stderr

        start(sys.executable, 'driver.py')
        code, told = call('contract', 'init', 'draft.yaml', '--seconds', '3')
        assert code == 0, told
        assert 'nav_msgs/msg/Odometry' in (folder / 'draft.yaml').read_text()
        assert call('contract', 'check', 'rover.yaml')[0] == 0
        up = start(*BOUNDARY_ENV, 'up', 'patient.yaml', '--run', 'run1')
        log = folder / 'run1.log'
        deadline = time.monotonic() + 60.0
        while b'All nodes are active' not in log.read_bytes():
            assert up.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        for policy in ('random', 'policy.py:make'):
            code, told = call('run', '--policy', policy, '--contract', 'patient.yaml')
            assert code == 0, told
            assert 'time_limit' in told
        up.send_signal(signal.SIGINT)
        assert up.wait(60) == 0, log.read_text()
        code, told = call('audit', 'run1')
        assert code in (0, 3), told
        assert call('replay', '--check', 'run1')[0] == 0
        assert call('report', 'run1', '-o', 'report.html')[0] == 0
