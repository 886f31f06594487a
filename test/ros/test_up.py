# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""``boundary-env up`` as a user runs it: one terminal that holds robot and boundary."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import os
from pathlib import Path
import re
import signal
import subprocess
import sys

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from boundary_env_ros.cli.main import main
from boundary_env_ros.core.records.decision import GateDecision, Reason, Verdict
from boundary_env_ros.core.records.episode import EpisodeStatus
from boundary_env_ros.ros.clock import HOST
from boundary_env_ros.ros.contract_node import PARENT
from boundary_env_ros.ros.processes import interrupts, isolated_environment
from boundary_env_ros.ros.watch import draw
from boundary_env_ros.storage.record_reader import open_records
from boundary_env_ros.terminal import printing
from support.own_command import DEADLINE, OwnCommand
from support.ros_world import PATIENT, reserved_domain, write_contract

pytestmark = pytest.mark.ros


class Up(OwnCommand):
    """One run of the command."""

    def __init__(self, folder: Path, domain: int, *arguments: str) -> None:
        self.run = folder / 'run'
        changes = {**PATIENT, 'episode': {'time_limit': 600.0, 'reset': {'deadline': 60.0}}}
        self.contract = write_contract(folder / 'contract.yaml', changes)
        super().__init__(
            folder,
            *('up', str(self.contract), '--run', str(self.run), *arguments),
            environment=isolated_environment(domain),
        )

    def step(self, pacing: str = 'realtime') -> subprocess.Popen[str]:
        """Start a policy that steps until it is told of an ending; return it once it has begun."""
        policy = subprocess.Popen(
            [sys.executable, '-u', '-c', _POLICY, str(self.contract), pacing],
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert policy.stdout is not None
        assert policy.stdout.readline() == 'stepped\n', self.text
        return policy


_POLICY = """
import sys
import numpy as np
from boundary_env_ros.errors import LinkError
from boundary_env_ros.facade import BoundaryEnv
with BoundaryEnv(
    sys.argv[1], world='ros', pacing=sys.argv[2], startup_timeout=60.0
) as env:
    env.reset(seed=1, options={'scenario': 'far'})
    ended, steps = False, 0
    while not ended:
        # It turns where it stands, and so comes to no obstacle, however long a test looks.
        *_, terminated, truncated, info = env.step(np.array([0.0, 0.5], dtype=np.float32))
        ended = terminated or truncated
        steps += 1
        if steps == 3:
            print('stepped')
    print(info['ending'])
    if info['ending'] == 'operator_stop':
        try:
            env.reset()
        except LinkError as error:
            print(str(error).partition(' (')[0])
"""


@pytest.fixture
def start(
    _run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Up]]:
    monkeypatch.setenv('ROS_HOME', str(tmp_path / 'ros'))
    with reserved_domain() as domain:
        started = []

        def make(*arguments: str) -> Up:
            started.append(Up(tmp_path, domain, *arguments))
            return started[-1]

        yield make
        for each in started:
            each.kill()


def refused(capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return why the command starts nothing."""
    assert main(['up', *arguments]) == 2
    return capfd.readouterr().err


@pytest.mark.parametrize(
    ('arguments', 'why'),
    [
        (('robot', '--services'), 'expected no --services with'),
        (('policy', '--simulated'), 'expected no --simulated with'),
        (('policy', '--no-record', '--command-domain', '0'), '--no-record, --command-domain'),
        (('robot', '--simulated', '--one-process'), 'two machines'),
        (('robot',), 'robot.host'),
    ],
)
def test_a_side_is_not_started_with_what_is_not_its_own(
    arguments: tuple[str, ...], why: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert why in refused(capfd, 'warehouse_cart', '--on', *arguments)


def test_two_machines_of_one_name_are_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    contract = write_contract(tmp_path / 'contract.yaml', {'robot': {'host': HOST}})
    assert 'the name of the robot' in refused(capfd, str(contract), '--on', 'policy')


def test_the_policys_side_makes_no_key_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv('ROS_HOME', str(tmp_path))
    contract = write_contract(tmp_path / 'contract.yaml', {'robot': {'host': 'cart'}})
    said = refused(capfd, str(contract), '--on', 'policy', '--domain-id', '7')
    assert f'{tmp_path}/boundary_env_ros/keys/domain_7' in said
    assert not (tmp_path / 'boundary_env_ros').exists()


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_an_interrupt_where_one_is_looked_for(number: signal.Signals) -> None:
    with interrupts() as raise_if_interrupted:
        raise_if_interrupted()
        signal.raise_signal(number)
        with pytest.raises(KeyboardInterrupt):
            raise_if_interrupted()


def test_under_nohup_the_end_of_the_terminal_interrupts_nothing() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interrupts() as raise_if_interrupted:
            signal.raise_signal(signal.SIGHUP)
            raise_if_interrupted()
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.timed
def test_ctrl_c_ends_the_episode_stops_the_robot_and_leaves_a_whole_record(
    start: Callable[..., Up],
) -> None:
    up = start('--simulated')
    up.wait_until(lambda: 'All nodes are active' in up.text, 'all nodes to be active')
    policy = up.step()
    up.wait_until(lambda: bool(re.search(r'episode \w+ runs', up.text)), 'a line')
    up.process.send_signal(signal.SIGINT)
    assert up.wait() == 0, up.text
    # Who steps learns at once, and does not wait for nodes that are gone.
    told = policy.communicate(timeout=DEADLINE)[0].splitlines()
    assert told == ['operator_stop', 'The nodes were stopped']
    # What ended an episode stands in the terminal, and stays there.
    assert re.search(r'episode \w+ ended after \d+ steps: operator_stop, declared by', up.text)
    up.assert_gone()
    assert 'Traceback' not in up.text
    for line in ('The robot is stopped', 'boundary-env audit', 'boundary-env report'):
        assert line in up.text
    source = open_records(up.run)
    assert source.complete
    assert list(source.transitions())[-1].ending == 'operator_stop'
    assert (up.run / 'logs' / 'safety_gate.log').stat().st_size > 0


_TOGETHER = ('--simulated', '--one-process', '--pacing', 'lockstep')


def test_ctrl_c_ends_one_process_in_the_order_of_its_nodes(start: Callable[..., Up]) -> None:
    up = start(*_TOGETHER)
    up.wait_until(lambda: 'All nodes are active' in up.text, 'all nodes to be active')
    assert len([line for line in up.processes.values() if 'boundary_env_ros.ros.' in line]) == 1
    assert '--pacing lockstep' in up.text  # how it is stepped
    policy = up.step('lockstep')
    up.process.send_signal(signal.SIGINT)
    assert up.wait() == 0, up.text
    assert policy.communicate(timeout=DEADLINE)[0].splitlines()[0] == 'operator_stop'
    up.assert_gone()
    assert 'Traceback' not in up.text
    source = open_records(up.run)
    assert source.complete
    assert list(source.transitions())[-1].ending == 'operator_stop'
    # The gate stopped the robot after that, and the recorder closed its bag last.
    last = list(source.entries(GateDecision))[-1].record
    reasons = [rule.reason for rule in last.rules if rule.outcome is Verdict.STOPPED]
    assert reasons == [Reason.DEACTIVATED]
    log = (up.run / 'logs' / 'nodes.log').read_text()
    for node in ('recorder', 'simulated_robot', 'safety_gate', 'environment'):
        assert f'[{node}]: configured with' in log


def test_the_death_of_one_process_is_that_of_all_its_nodes(start: Callable[..., Up]) -> None:
    up = start(*_TOGETHER)
    up.wait_until(lambda: 'All nodes are active' in up.text, 'all nodes to be active')
    (pid,) = (pid for pid, line in up.processes.items() if 'ros.one_process' in line)
    os.kill(pid, signal.SIGKILL)
    assert up.wait() == 1, up.text
    for node in ('recorder', 'simulated_robot', 'safety_gate', 'environment'):
        assert f'The node {node} ended (exit code -9)' in up.text
    assert 'The others declare' not in up.text
    up.assert_gone()


def test_a_gate_does_not_depend_on_the_life_of_up(start: Callable[..., Up]) -> None:
    up = start('--simulated')
    up.wait_until(lambda: 'All nodes are active' in up.text, 'all nodes to be active')
    os.kill(up.process.pid, signal.SIGKILL)
    up.process.wait()
    (gate,) = (
        pid
        for pid in up.processes
        if b'nodes.safety_gate' in Path(f'/proc/{pid}/cmdline').read_bytes()
    )
    # A node that went by its parent would look ten times a second; this one has none to look for.
    assert f'{PARENT}=\0'.encode() in Path(f'/proc/{gate}/environ').read_bytes()
    for pid in up.processes:
        os.kill(pid, signal.SIGINT)
    up.assert_gone()


def test_the_others_declare_the_loss_of_a_node_that_dies_and_end(
    start: Callable[..., Up],
) -> None:
    node, ending = 'safety_gate', 'gate_lost'
    up = start('--simulated')
    up.wait_until(lambda: 'All nodes are active' in up.text, 'all nodes to be active')
    policy = up.step()
    (pid,) = (
        pid
        for pid in up.processes
        if f'nodes.{node}'.encode() in Path(f'/proc/{pid}/cmdline').read_bytes()
    )
    os.kill(pid, signal.SIGKILL)
    assert up.wait() == 1, up.text
    assert f'The node {node} ended (exit code -9)' in up.text
    policy.communicate(timeout=DEADLINE)
    up.assert_gone()
    statuses = [entry.record for entry in open_records(up.run).entries(EpisodeStatus)]
    assert [status.ending for status in statuses][-1] == ending


def test_ctrl_c_after_a_node_died_does_not_hide_its_death(start: Callable[..., Up]) -> None:
    up = start('--simulated')
    up.wait_until(lambda: 'All nodes are active' in up.text, 'all nodes to be active')
    (pid,) = (
        pid
        for pid in up.processes
        if b'nodes.recorder' in Path(f'/proc/{pid}/cmdline').read_bytes()
    )
    os.kill(pid, signal.SIGKILL)
    up.wait_until(lambda: 'recorder ended (exit code -9)' in up.text, 'the death to be told')
    up.process.send_signal(signal.SIGINT)
    assert up.wait() == 1, up.text
    up.assert_gone()


def test_watch_shows_states_rates_stages_and_ages(start: Callable[..., Up]) -> None:
    up = start('--simulated')
    up.wait_until(lambda: 'All nodes are active' in up.text, 'all nodes to be active')
    policy = up.step()
    expected = [
        r'^warehouse_cart 1\.\d\.\d, realtime$',
        r'^gate +running, for policy-',
        r'^recorder +recording; \d+ transitions$',
        r'^steps +\d+; [\d.]+/s of 10/s$',
        r'^policy +\d+ overruns',
        r'^ticks +\d+ late, \d+ missed',
        r'^inference +[\d.]+ ms',
        r'^pose +[\d.]+ ms +[\d.]+ ms +FRESH$',
    ]
    (folder := up.run.parent / 'watching').mkdir()
    watching = OwnCommand(folder, 'watch', environment=up.environment)
    try:
        # A picture may come before it has heard of everything.
        watching.wait_until(
            lambda: all(re.search(each, watching.text, re.MULTILINE) for each in expected),
            f'all of {expected}',
        )
    finally:
        watching.kill()
    up.process.send_signal(signal.SIGINT)
    policy.communicate(timeout=DEADLINE)
    assert up.wait() == 0, up.text


@pytest.mark.parametrize(
    ('arguments', 'problem'),
    [
        (['--no-record'], 'the contract requires a recorder, got --no-record'),
        (['--simulated', '--one-process'], 'expected --simulated and lockstep, got realtime'),
        (
            ['--one-process', '--pacing', 'lockstep'],
            'expected --simulated and lockstep, got no --simulated',
        ),
    ],
)
def test_what_cannot_run_is_refused_before_anything_starts(
    start: Callable[..., Up], arguments: list[str], problem: str
) -> None:
    up = start(*arguments)
    assert up.wait() == 2
    assert problem in up.text
    assert 'Starting' not in up.text


def test_a_picture_takes_the_place_of_the_last_and_what_a_node_says_steers_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, 'isatty', lambda: True)
    with printing():
        draw(['gate       armed, for \x1b[2J'])
        draw(['gate       running'])
    shown = capsys.readouterr().out
    assert shown.count('\x1b') == shown.count('\x1b[H\x1b[2J') * 2 == 4
    assert 'armed, for \\x1b[2J' in shown
