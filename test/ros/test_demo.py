# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The demo as a user runs it: one command, a record that explains itself, nothing left behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import json
from pathlib import Path
import re
import signal
import subprocess
import sys

import pytest

pytest.importorskip('rclpy')

from boundary_env_ros.core.records.decision import Verdict
from boundary_env_ros.core.records.transition import Kind, Transition
from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.episode_store import EpisodeStore
from boundary_env_ros.storage.record_reader import open_records
from support.own_command import DEADLINE, OwnCommand
from support.ros_world import reserved_domain

pytestmark = pytest.mark.ros


class Demo(OwnCommand):
    """One run of the demo."""

    def __init__(self, folder: Path, domain: int, *arguments: str) -> None:
        self.run = folder / 'run'
        place = ('--run', str(self.run), '--domain-id', str(domain))
        super().__init__(folder, 'demo', *place, *arguments)

    def steps(self) -> int:
        """Return the number of steps of the first episode that are in the index."""
        try:
            with EpisodeStore.open(self.run / 'episodes.sqlite') as store:
                return max((row.step_count for row in store.episodes()), default=0)
        except RecordError:
            return 0

    def transitions(self) -> list[Transition]:
        return list(open_records(self.run).transitions())


@pytest.fixture
def start(_run: str, tmp_path: Path) -> Iterator[Callable[..., Demo]]:
    demos = []
    # One that it finds by itself may be one that is reserved, and of which nobody has a port yet.
    with reserved_domain() as domain:

        def make(*arguments: str) -> Demo:
            demos.append(Demo(tmp_path, domain, *arguments))
            return demos[-1]

        yield make
        for demo in demos:
            demo.kill()


def test_demo_leaves_a_record_that_explains_itself(start: Callable[..., Demo]) -> None:
    # In lockstep, where it is as fast as the machine; in realtime, see below.
    demo = start('--episodes', '5', '--baseline', '1', '--pacing', 'lockstep')
    assert demo.wait() == 0, demo.text
    demo.assert_gone()

    for name in (
        'bag/metadata.yaml',
        'contract.yaml',
        'first_transition.json',
        'episodes.sqlite',
        'summary.json',
        'report.html',
        'logs/nodes.log',
    ):
        assert (demo.run / name).stat().st_size > 0, name
    transitions = demo.transitions()
    assert {t.ending for t in transitions if t.ending} >= {'success', 'safety_stop', 'time_limit'}
    steps = [t for t in transitions if t.kind is Kind.STEP]
    assert any(t.verdict is Verdict.LIMITED for t in steps)
    assert any(t.requested_action != t.admitted_action for t in steps)
    assert any(t.commanded_action != t.measured_action for t in steps)
    with EpisodeStore.open(demo.run / 'episodes.sqlite') as store:
        assert sum(row.done for row in store.episodes()) == 7
    clients = {
        c['client']: c for c in json.loads((demo.run / 'summary.json').read_text())['groups']
    }
    assert clients['go_to_goal']['episodes'] == 5
    assert clients['no_op']['endings'] == {'time_limit': 1}
    assert clients['too_fast']['intervened']['value'] > 0.9
    # Execution latency is known, measured or estimated, wherever a new command was executed.
    executions = [group['execution'] for group in clients.values()]
    known = sum(found['measured'] + found['estimated'] for found in executions)
    assert known >= 0.9 * sum(found['changed'] for found in executions)
    assert clients['go_to_goal']['stages']['actuation']['known'] == executions[0]['measured']
    assert 'Audit: SUPPORTED.' in demo.text
    assert len(re.findall(r'clear +\d+ steps .* terminated +success', demo.text)) == 4
    for judge in (['audit'], ['replay', '--check']):
        judged = subprocess.run(
            [sys.executable, '-m', 'boundary_env_ros.cli.main', *judge, str(demo.run)],
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
        assert judged.returncode == 0, judged.stdout


@pytest.mark.nightly
@pytest.mark.timed
def test_in_realtime_its_record_is_as_sound(start: Callable[..., Demo]) -> None:
    demo = start('--episodes', '1', '--baseline', '0')
    assert demo.wait() == 0, demo.text
    assert 'Audit: SUPPORTED.' in demo.text


def test_interrupt_in_mid_episode_leaves_a_readable_record_and_nothing_else(
    start: Callable[..., Demo],
) -> None:
    demo = start('--episodes', '5')
    demo.wait_until(lambda: demo.steps() > 5, 'some steps')
    demo.process.send_signal(signal.SIGINT)
    assert demo.wait() == 130, demo.text
    demo.assert_gone()
    source = open_records(demo.run)
    assert source.complete
    recorded = demo.transitions()
    assert len(recorded) > 5
    assert recorded[-1].ending in ('abandoned', 'operator_stop'), recorded[-1].ending


def test_interrupt_while_starting_leaves_nothing_running(start: Callable[..., Demo]) -> None:
    demo = start('--episodes', '1')
    demo.wait_until(lambda: 'Starting' in demo.text, 'the first line')
    demo.process.send_signal(signal.SIGINT)
    assert demo.wait() == 130, demo.text
    demo.assert_gone()
    assert 'Traceback' not in demo.text


def test_nodes_end_when_the_demo_is_killed(start: Callable[..., Demo]) -> None:
    demo = start('--episodes', '5')
    demo.wait_until(lambda: demo.steps() > 0, 'a step')
    demo.process.kill()
    demo.process.wait()
    demo.assert_gone()
    assert open_records(demo.run).complete


def test_demo_refuses_a_folder_that_exists(start: Callable[..., Demo], tmp_path: Path) -> None:
    (tmp_path / 'run').mkdir()
    demo = start()
    assert demo.wait() == 2
    assert 'exists already' in demo.text
    assert 'Traceback' not in demo.text
