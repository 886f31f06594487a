# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Drive the cart in an installed Gazebo, audit the records, and compare them with MuJoCo's.

The same policy, seeds and contract in both, in lockstep; then some episodes in Gazebo in realtime.
It runs in a workspace with this package and ``ros_gz``. Where they are not installed it says what
is missing, and exits with 2.

    python3 -m bench.gazebo --episodes 12 --out build/gazebo
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
import math
import os
from pathlib import Path
import shutil
import signal
import subprocess
import sys
import time

from ament_index_python.packages import get_package_prefix, PackageNotFoundError
import numpy as np
import numpy.typing as npt

from boundary_env_ros.core.timebase import to_nanoseconds
from boundary_env_ros.errors import MissingDependency
from boundary_env_ros.evidence.run_files import Run
from boundary_env_ros.resources import share_file
from boundary_env_ros.ros.domain import free_domain
from boundary_env_ros.ros.processes import isolated_environment
from boundary_env_ros.simulation.cart_config import CartConfig
from boundary_env_ros.simulation.cart_state import ResetTarget
from boundary_env_ros.simulation.warehouse import Warehouse
from boundary_env_ros.storage.contract_file import load

_CONTRACT = 'warehouse_cart'


def _check_installed() -> None:
    missing = [] if shutil.which('ros2') else ['the command ros2']
    for package in ('boundary_env_ros', 'ros_gz_sim', 'ros_gz_bridge', 'ros_gz_interfaces'):
        try:
            get_package_prefix(package)
        except PackageNotFoundError:
            missing.append(package)
    if missing:
        raise MissingDependency(
            f'Gazebo is driven in a ROS workspace (expected ros2, this package and ros_gz, got no '
            f'{", ".join(missing)}). apt install ros-$ROS_DISTRO-ros-gz, build the workspace and '
            'source it.'
        )


@contextmanager
def _process(command: Sequence[str], log: Path) -> Iterator[None]:
    with log.open('wb') as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
    try:
        yield
    finally:
        if process.poll() is not None:
            print(f'{command[0]} ended before its time with {process.returncode}; see {log}')
        else:
            os.killpg(process.pid, signal.SIGINT)
            try:
                process.wait(15.0)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@contextmanager
def _gazebo(run: Path, pacing: str) -> Iterator[int]:
    """Launch Gazebo and a boundary around its cart; yield the ROS domain of that."""
    logs, domain = run.with_name(f'{run.name}-logs'), free_domain()
    logs.mkdir(parents=True)
    contract = _CONTRACT if pacing == 'lockstep' else _on_simulated_time(logs)
    told = (f'run:={run.absolute()}', f'contract:={contract}', f'pacing:={pacing}')
    command = ('ros2', 'launch', 'boundary_env_ros', 'gazebo_launch.py', *told)
    os.environ.update(isolated_environment(domain))
    with _process(command, logs / 'launch.log'):
        yield domain


def _on_simulated_time(folder: Path) -> Path:
    text = share_file(f'config/{_CONTRACT}.yaml').read_text(encoding='utf-8')
    file = folder / f'{_CONTRACT}.yaml'
    file.write_text(text.replace('\nclock: ros', '\nclock: sim', 1), encoding='utf-8')
    return file


def _command(*arguments: object) -> int:
    """Run ``boundary-env``, and return its exit code."""
    words = list(map(str, arguments))
    print(f'\n$ boundary-env {" ".join(words)}', flush=True)
    return subprocess.run([sys.executable, '-m', 'boundary_env_ros.cli.main', *words]).returncode


def _apart(run: Path, actuator_delay: float) -> npt.NDArray[np.float64]:
    """
    Return where the cart of a record truly was, seen from MuJoCo's under the same commands.

    Shape (steps, 3): along the way, across, both m, and heading, rad.
    """
    period = to_nanoseconds(load(_CONTRACT).contract.period)
    apart = []
    for step in Run(run).episodes():
        record = step.transition
        seen = step.truth.fields if step.truth else ()
        true = next((field.values for field in seen if field.name == 'true_pose'), None)
        if true is None:
            continue
        if record.id.step == 0:
            hall = Warehouse(replace(CartConfig(), actuator_delay=actuator_delay))
            x, y, yaw = true
            start = ResetTarget(x=x, y=y, yaw=yaw, goal_x=0.0, goal_y=0.0)
            hall.reset([start], seed=1, at_ns=0)
            now = 0
        elif record.commanded_action:
            hall.command(0, *record.commanded_action, arrived_ns=now)
            now += period
            hall.advance(now)
            here = hall.true_state(0)
            x, y, yaw = np.subtract(true, (here.x, here.y, here.yaw))
            cos, sin = math.cos(here.yaw), math.sin(here.yaw)
            turn = math.remainder(yaw, math.tau)
            apart.append((cos * x + sin * y, cos * y - sin * x, turn))
    return np.array(apart)


def _tell_engines(run: Path) -> None:
    """Print how far the engines are apart under the commands that were recorded in Gazebo."""
    print(f'\nCommands of {run} replayed in MuJoCo; the true poses at most so far apart:')
    for delay in (CartConfig().actuator_delay, 0.0):
        apart = _apart(run, delay)
        along, across, heading = np.abs(apart).max(axis=0)
        print(
            f'  actuator_delay {delay:g} s: {along:.3f} m along the way '
            f'(mean {apart[:, 0].mean():+.3f} m), {across:.3f} m across, {heading:.3f} rad, '
            f'in {len(apart)} steps'
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Drive, audit and compare; return 1 if a run broke off or a record contradicts itself."""
    parser = argparse.ArgumentParser(
        prog='python3 -m bench.gazebo', description='Gazebo against MuJoCo.'
    )
    parser.add_argument('--episodes', type=int, default=12, help='of the comparison: 7 at least')
    parser.add_argument('--seed', type=int, default=1, help='of the first episode')
    parser.add_argument('--out', type=Path, default=Path(time.strftime('runs/gazebo-%H%M%S')))
    options = parser.parse_args(arguments)
    try:
        _check_installed()
    except MissingDependency as error:
        print(error, file=sys.stderr)
        return 2
    out: Path = options.out
    out.mkdir(parents=True)
    mujoco, *gazebo = (out / name for name in ('mujoco', 'gazebo-lockstep', 'gazebo-realtime'))
    drive = ('run', '--policy', 'scripted', '--option', 'scenario=clear', '--seed', options.seed)
    both = (*drive, '--pacing', 'lockstep', '--episodes', options.episodes)
    codes = [_command(*both, '--world', 'embedded', '--run', mujoco)]
    for run, pacing in zip(gazebo, ('lockstep', 'realtime'), strict=True):
        with _gazebo(run, pacing) as domain:
            how = both if pacing == 'lockstep' else (*drive, '--episodes', 3)
            contract = _CONTRACT if pacing == 'lockstep' else _on_simulated_time(out)
            where = (
                '--world-option',
                f'domain_id={domain}',
                '--world-option',
                'startup_timeout=60',
            )
            codes.append(_command(*how, '--contract', contract, *where))
    codes += [int(_command('audit', run) == 1) for run in (mujoco, *gazebo)]
    _command('compare', mujoco, gazebo[0])
    if not any(codes):
        _tell_engines(gazebo[0])
    return int(any(codes))


if __name__ == '__main__':
    sys.exit(main())
