# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The launch files, launched: nodes come up together, and go together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
import os
from pathlib import Path
import re
import signal
import subprocess
import sys
import time

import pytest

# `launch` alone would be found without being installed: it is a folder of this repository.
pytest.importorskip('launch_ros', reason='needs launch_ros, which is on no package index')
pytest.importorskip('rosbags', reason='bags are written by an independent implementation')

import gymnasium
import numpy as np

from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.resources import share_file
from boundary_env_ros.ros.domain import free_domain
from boundary_env_ros.ros.processes import isolated_environment

pytestmark = pytest.mark.ros

_READY = 120.0
_SOON = 30.0
_NODES = ('simulated_robot', 'recorder', 'safety_gate', 'environment')
_ID = 'boundary_env_ros/WarehouseCart-v0'


class Launched:
    """
    A running launch.

    Attributes
    ----------
    process
        The launch itself.
    run
        Folder of the record.

    """

    def __init__(self, process: subprocess.Popen[bytes], log: Path, run: Path) -> None:
        self.process = process
        self.run = run
        self._log = log

    @property
    def log(self) -> str:
        """What launch and nodes said until now."""
        return self._log.read_text(errors='replace')

    def wait_for(self, condition: Callable[[], object], seconds: float) -> None:
        """Wait until something holds; what was said is in the message if it does not."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, self.log
            time.sleep(0.05)

    def active(self) -> None:
        """Wait until all nodes are active."""
        self.wait_for(lambda: 'active: ' in self.log or self.process.poll() is not None, _READY)
        assert self.process.poll() is None, self.log

    def pid(self, node: str) -> int:
        """Return the process of a node, of the one that was started last."""
        return int(re.findall(rf'{node}-\d+\]: process started with pid \[(\d+)\]', self.log)[-1])

    def left(self) -> list[int]:
        """Return the processes of nodes that still run."""
        started = re.findall(r'process started with pid \[(\d+)\]', self.log)
        return [int(pid) for pid in started if Path(f'/proc/{pid}').exists()]


@contextmanager
def _launch(folder: Path, name: str, *arguments: str) -> Iterator[Launched]:
    log, run = folder / 'launch.log', folder / 'run'
    with log.open('wb') as output:
        process = subprocess.Popen(
            [
                sys.executable,
                str(Path(__file__).parents[1] / 'support/launch_program.py'),
                str(share_file(f'launch/{name}')),
                f'run:={run}',
                *arguments,
            ],
            env={
                **os.environ,
                'ROS_LOG_DIR': str(folder),
                'OVERRIDE_LAUNCH_PROCESS_OUTPUT': 'both',
            },
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    launched = Launched(process, log, run)
    try:
        yield launched
    finally:
        for pid in (process.pid, *launched.left()):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()


@pytest.fixture
def domain(monkeypatch: pytest.MonkeyPatch) -> int:
    number = free_domain()
    for key, value in isolated_environment(number).items():
        monkeypatch.setenv(key, value)
    return number


@pytest.mark.parametrize('namespace', ['', 'cart_1'])
def test_a_policy_steps_what_was_launched_and_an_interrupt_leaves_nobody(
    tmp_path: Path, domain: int, namespace: str
) -> None:
    with _launch(tmp_path, 'simulation_launch.py', f'namespace:={namespace}') as launched:
        launched.active()
        env = gymnasium.make(_ID, world='ros', namespace=namespace, startup_timeout=_SOON)
        try:
            env.reset(seed=1, options={'scenario': 'clear'})
            env.step(env.action_space.sample())
            launched.process.send_signal(signal.SIGINT)
            assert launched.process.wait(_SOON) == 0
        finally:
            env.close()
        assert launched.left() == []
        assert 'operator_stop' in launched.log
        assert (launched.run / 'bag/metadata.yaml').is_file()


def test_a_launch_ends_with_an_error_when_the_robot_is_lost(tmp_path: Path, domain: int) -> None:
    with _launch(tmp_path, 'simulation_launch.py') as launched:
        launched.active()
        os.kill(launched.pid('simulated_robot'), signal.SIGKILL)
        assert launched.process.wait(_SOON) == 1
        assert '/simulated_robot ended (expected it to run).' in launched.log
        assert launched.left() == []


def _parent(pid: int) -> int:
    """Return the parent of a process (proc_pid_stat(5))."""
    return int(Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[1])


def test_a_gate_does_not_end_when_its_launch_is_killed(tmp_path: Path, domain: int) -> None:
    with _launch(tmp_path, 'robot_launch.py') as launched:
        launched.active()
        gate = launched.pid('safety_gate')
        launched.process.kill()
        launched.process.wait()
        # It has another parent then, and runs.
        launched.wait_for(lambda: _parent(gate) != launched.process.pid, _SOON)
        assert gate in launched.left()
        for pid in launched.left():
            os.kill(pid, signal.SIGTERM)
        launched.wait_for(lambda: not launched.left(), _SOON)
        assert (launched.run / 'bag/metadata.yaml').is_file()


def test_a_bad_contract_ends_the_launch_and_is_named(tmp_path: Path, domain: int) -> None:
    contract = tmp_path / 'contract.yaml'
    contract.write_text('contract: warehouse_cart\n')
    with _launch(tmp_path, 'robot_launch.py', f'contract:={contract}') as launched:
        assert launched.process.wait(_READY) == 1
        assert f'{contract}: ' in launched.log
        assert 'period (line 1): missing' in launched.log
        assert launched.left() == []


def test_a_node_that_refuses_ends_the_launch_and_is_named(tmp_path: Path, domain: int) -> None:
    (tmp_path / 'run').write_text('something else')
    with _launch(tmp_path, 'robot_launch.py') as launched:
        assert launched.process.wait(_READY) == 1
        assert '/recorder refused to be configured (in the state unconfigured)' in launched.log
        assert launched.left() == []


# Gazebo ------------------------------------------------------------------------------------------


@pytest.fixture
def gazebo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install what the launch file starts; the server is the one of the tests of the node."""
    pytest.importorskip(
        'ros_gz_interfaces', reason='needs ros_gz_interfaces, which is on no package index'
    )
    server = Path(__file__).parents[1] / 'support/simulator_server.py'
    programs = {
        ('ros_gz_sim', 'gzserver'): f'exec {sys.executable} {server} "" "$@"',
        # The server has the topics of ROS already.
        ('ros_gz_bridge', 'bridge_node'): 'exec sleep 1000',
    }
    for (package, name), command in programs.items():
        index = tmp_path / 'prefix/share/ament_index/resource_index/packages' / package
        program = tmp_path / 'prefix/lib' / package / name
        for path in (index, program):
            path.parent.mkdir(parents=True, exist_ok=True)
        index.touch()
        # Parameters come in files, whose names are the last of the arguments.
        program.write_text(
            f'#!/bin/sh\necho "in $GZ_PARTITION."\nfor last; do :; done\ncat "$last"\n{command}\n'
        )
        program.chmod(0o755)
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path / 'prefix'), prepend=os.pathsep)


def test_a_policy_steps_what_was_launched_with_gazebo_which_takes_the_launch_with_it(
    tmp_path: Path, domain: int, gazebo: None
) -> None:
    with _launch(tmp_path, 'gazebo_launch.py', 'pacing:=lockstep') as launched:
        launched.active()
        assert re.search(r'world_sdf_file: .*/config/gazebo/warehouse\.sdf', launched.log)
        assert re.search(r'config_file: .*/config/gazebo/bridge\.yaml', launched.log)
        # Server and bridge have one partition, which no other server has.
        (partition,) = set(re.findall(r'in (boundary_\w+)\.', launched.log))
        assert launched.log.count(f'in {partition}.') == 2
        env = BoundaryEnv('warehouse_cart', pacing='lockstep', startup_timeout=_SOON)
        try:
            env.reset(seed=1, options={'scenario': 'clear'})
            env.step(np.array([0.3, 0.0], dtype=np.float32))
        finally:
            env.close()
        os.kill(launched.pid('gzserver'), signal.SIGKILL)
        assert launched.process.wait(_SOON) == 1
        assert 'Gazebo ended (expected it to run).' in launched.log
        assert launched.left() == []
