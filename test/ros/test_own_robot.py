# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The tutorials on robots, followed as a new user does: driver, nodes, policy, record."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, ExitStack
import os
from pathlib import Path
import shutil
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

import yaml

from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.ros.processes import isolated_environment
from boundary_env_ros.storage.record_reader import open_records
from support.ros_world import PATIENT, reserved_domain

pytestmark = pytest.mark.ros

REPOSITORY = Path(__file__).parents[2]
ROVER = REPOSITORY / 'examples/rover'
STAND_INS = REPOSITORY / 'examples/stand_ins/driver.py'
BOUNDARY_ENV = (sys.executable, '-m', 'boundary_env_ros.cli.main')


class Cell:
    """A folder and a ROS domain of one robot, and terminals in them."""

    def __init__(self, folder: Path, domain: int, stack: ExitStack) -> None:
        self.folder = folder
        self._environment = {
            **os.environ,
            **isolated_environment(domain),
            'PYTHONFAULTHANDLER': '1',
        }
        self._stack = stack

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """Start a command; its output is in a file with the name of its last word."""
        output = self._stack.enter_context((self.folder / f'{words[-1]}.log').open('wb'))
        process = subprocess.Popen(
            words, cwd=self.folder, env=self._environment, stdout=output, stderr=subprocess.STDOUT
        )
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return process

    def call(self, *words: str) -> tuple[int, str]:
        """Return exit code and output of a command of `boundary-env`."""
        done = subprocess.run(
            [*BOUNDARY_ENV, *words],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    @contextmanager
    def up(self, contract: str, run: str) -> Iterator[None]:
        """Keep the nodes up that record into a folder; they end cleanly."""
        process = self.start(*BOUNDARY_ENV, 'up', contract, '--run', run)
        log = self.folder / f'{run}.log'
        deadline = time.monotonic() + 60.0
        while b'All nodes are active' not in log.read_bytes():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        yield
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(60) == 0, log.read_text()
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)  # it writes where its threads are
            process.wait(60)
            pytest.fail(f'up did not end within 60 s:\n{log.read_text()}')

    def drive(self, policy: str) -> None:
        """Let a policy drive an episode to its time limit."""
        code, told = self.call('run', '--policy', policy, '--contract', 'patient.yaml')
        assert code == 0, told
        assert 'time_limit' in told

    def judge(self, run: str) -> None:
        """Check that the record is believed, computed again and shown."""
        code, told = self.call('audit', run)
        assert code in (0, 3), told
        # The last decision, of a gate that is deactivated and publishes nothing, has no instant.
        assert 'on no clock of the record' not in told
        assert self.call('replay', '--check', run)[0] == 0
        assert self.call('report', run, '-o', 'report.html')[0] == 0


def patient(path: Path) -> dict[str, Any]:
    """Return a contract for a machine that is busy otherwise, whose episodes are short."""
    contract: dict[str, Any] = yaml.safe_load(path.read_text())
    contract['episode']['time_limit'] = 2.0
    for field in contract['observation'].values():
        field['max_age'] = 3.0
    contract['safety'] = {k: v for k, v in PATIENT['safety'].items() if k != 'recorder_timeout'}
    return contract


@pytest.fixture
def cell(tmp_path: Path) -> Iterator[Cell]:
    with reserved_domain() as domain, ExitStack() as stack:
        yield Cell(tmp_path, domain, stack)


def test_a_robot_of_ones_own_is_driven_and_its_record_is_believed(cell: Cell) -> None:
    shutil.copytree(ROVER, cell.folder, dirs_exist_ok=True)
    contract = patient(ROVER / 'rover.yaml')
    (cell.folder / 'patient.yaml').write_text(yaml.safe_dump(contract, sort_keys=False))
    cell.start(sys.executable, 'driver.py')
    code, told = cell.call('contract', 'init', 'draft.yaml', '--seconds', '3')
    assert code == 0, told
    assert 'nav_msgs/msg/Odometry' in (cell.folder / 'draft.yaml').read_text()
    assert cell.call('contract', 'check', 'rover.yaml')[0] == 0
    with cell.up('patient.yaml', 'run1'):
        cell.drive('random')
        cell.drive('policy.py:make')
    cell.judge('run1')


@pytest.mark.nightly
def test_a_driver_with_topics_of_other_types_is_told_of_as_such(cell: Cell) -> None:
    shutil.copytree(ROVER, cell.folder, dirs_exist_ok=True)
    contract = patient(ROVER / 'rover.yaml')
    contract['episode']['reset']['deadline'] = 9.0
    contract['observation']['where'] = {
        'topic': 'cmd_vel/applied',
        'type': 'geometry_msgs/msg/PoseStamped',
        'fields': ['pose.position.x'],
        'unit': 'm',
        'low': -10.0,
        'high': 10.0,
    }
    (cell.folder / 'patient.yaml').write_text(yaml.safe_dump(contract, sort_keys=False))
    cell.start(sys.executable, 'driver.py')
    with cell.up('patient.yaml', 'run1'):
        # A second one is refused, and the first does not notice.
        code, told = cell.call('up', 'patient.yaml', '--run', 'run2')
        assert code == 2, told
        assert 'Nodes of that name run already' in told
        code, told = cell.call('run', '--policy', 'no-op', '--contract', 'patient.yaml')
    assert code == 1, told
    assert (
        'where (/cmd_vel/applied: published as geometry_msgs/msg/TwistStamped, the contract says '
        'geometry_msgs/msg/PoseStamped)'
    ) in told
    log = (cell.folder / 'run1.log').read_text()
    assert 'No such transition' not in log
    assert 'Nobody listens' not in log


def test_a_driver_whose_clock_and_frame_are_wrong_is_told_of_as_such(cell: Cell) -> None:
    driver = (ROVER / 'driver.py').read_text()
    for right, wrong in (
        ('import rclpy\n', 'import rclpy\nfrom rclpy.duration import Duration\n'),
        (
            'message.header.stamp = self.get_clock().now()',
            'message.header.stamp = (self.get_clock().now() + Duration(seconds=60))',
        ),
        ("message.header.frame_id = 'odom'", "message.header.frame_id = 'hall'"),
    ):
        assert right in driver
        driver = driver.replace(right, wrong)
    (cell.folder / 'driver.py').write_text(driver)
    contract = patient(ROVER / 'rover.yaml')
    contract['episode']['reset']['deadline'] = 9.0
    (cell.folder / 'patient.yaml').write_text(yaml.safe_dump(contract, sort_keys=False))
    cell.start(sys.executable, 'driver.py')
    with cell.up('patient.yaml', 'run1'):
        operator = cell.start(*BOUNDARY_ENV, 'operator', '--user', 'ada', '--yes')
        code, told = cell.call('run', '--policy', 'no-op', '--contract', 'patient.yaml')
        operator.send_signal(signal.SIGINT)
        assert operator.wait(60) == 0
    assert code == 1, told
    end = told.splitlines()[-1]
    assert 'still missing: the arming of the safety gate' in end
    assert 'Refused by the safety gate (arm): Sensors that the gate needs are missing' in end
    assert 's in the future' in end
    assert 'synchronise the clocks' in end
    assert 'No transitions' not in told
    assert 'inferences' not in told
    # Only the age of what is missing changes.
    assert 1 <= told.count('reset() waits for') <= 5, told
    # Once for each field of the episode that was waited for, though the driver ran before `up`.
    assert (cell.folder / 'run1.log').read_text().count('Wrong frame in the header of odom') == 1
    # A person can confirm nothing of this.
    said = (cell.folder / '--yes.log').read_text()
    assert said.count('The reset waits for the arming of the safety gate') == 1, said
    assert 'asks: ' not in said
    assert 'Not taken' not in said


@pytest.mark.nightly
def test_a_driver_that_says_what_it_applied_shows_when_a_command_was_executed(cell: Cell) -> None:
    shutil.copytree(ROVER, cell.folder, dirs_exist_ok=True)
    contract = patient(ROVER / 'rover.yaml')
    contract['action']['base']['acknowledgement'] = {
        'topic': 'cmd_vel/applied',
        'type': 'geometry_msgs/msg/TwistStamped',
        'fields': ['twist.linear.x', 'twist.angular.z'],
    }
    (cell.folder / 'patient.yaml').write_text(yaml.safe_dump(contract, sort_keys=False))
    cell.start(sys.executable, 'driver.py')
    with cell.up('patient.yaml', 'run1'):
        cell.drive('random')
    cell.judge('run1')
    # Not every step of a machine that is busy otherwise has an action.
    steps = [entry.record for entry in open_records(cell.folder / 'run1').entries(Transition)]
    step = next(step.id.step for step in steps if step.actuated is not None)
    _, told = cell.call('inspect', 'run1', '--step', str(step))
    assert 'Execution was seen on /cmd_vel/applied' in told, told


@pytest.mark.parametrize(
    'name',
    [
        'turtlebot4',
        *(pytest.param(name, marks=pytest.mark.nightly) for name in ('quadruped', 'ur5e')),
    ],
)
def test_the_contract_of_a_real_robot_drives_the_stand_in_of_its_driver(
    cell: Cell, name: str
) -> None:
    contract = patient(REPOSITORY / f'config/{name}.yaml')
    if name == 'quadruped':
        contract['period'] = 0.1  # a busy machine does not hold 50 Hz
        contract['action']['legs']['driver_timeout'] = 0.5
    if name == 'ur5e':  # as doc/ur5e.md says
        home = {'call': 'move_to_start', 'type': 'std_srvs/srv/Trigger'}
        contract['episode']['reset']['procedure'].insert(0, home)
    (cell.folder / 'patient.yaml').write_text(yaml.safe_dump(contract, sort_keys=False))
    cell.start(sys.executable, str(STAND_INS), name)
    with cell.up('patient.yaml', 'run1'):
        cell.drive('random' if name == 'turtlebot4' else 'no-op')
        cell.drive('random')
    cell.judge('run1')
