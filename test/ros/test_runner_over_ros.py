# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A slow policy that infers while the cart moves: what comes late, and what the record says."""

from __future__ import annotations

from collections.abc import Iterator
import json
from pathlib import Path
import time
from typing import Any, TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from boundary_env_ros.cli.main import main
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.facade.runner import EpisodeResult, Plan, Runner
from boundary_env_ros.ros.world import RosWorld
from boundary_env_ros.storage.record_reader import open_records
from support.policy_server import serving
from support.ros_world import PATIENT, seek_goal, SOON, World

if TYPE_CHECKING:
    from conftest import MakeWorld

pytestmark = pytest.mark.ros

#: Steps of an episode, and the most actions of a chunk.
STEPS, HORIZON, EXECUTE = 50, 10, 3


@pytest.fixture(scope='module')
def world(make_world: MakeWorld) -> Iterator[World]:
    """Return a world in realtime for chunks; in the end its record is clean."""
    changes = {**PATIENT, 'chunk': {'horizon': HORIZON}}
    # A busy machine may take its time to reset; nothing here is about that.
    episode = {'time_limit': STEPS * 0.1, 'reset': {'deadline': 40.0}}
    made = make_world(recorder=True, changes={**changes, 'episode': episode})
    yield made
    made.drain()
    made.processes['recorder'].stop()
    report = audit_path(made.run)
    # On a machine without a free core a command may leave later than it was decided on, and its
    # time step is then not what the audit makes of it; that is not what is tested here.
    assert {finding.rule for finding in report.findings} <= {'inputs-recomputed'}, str(report)


@pytest.fixture
def link(world: World) -> Iterator[RosWorld]:
    """Return a link that is closed, and its episode ended, after the test."""
    made = RosWorld(world.loaded, domain_id=world.domain_id)
    yield made
    made.close()
    world.end_episode()


def run(world: World, link: RosWorld, plan: Plan, seconds: float) -> EpisodeResult:
    """Run an episode of a policy that takes so long for every chunk."""

    def policy(observation: Any) -> Any:
        time.sleep(seconds)
        return np.tile(seek_goal(observation) * 0.2, (HORIZON + 4, 1))

    runner = Runner(world.loaded.contract, link, policy, plan)
    result = runner.episode(3, {'scenario': 'far'})
    runner.close()
    return result


def steps_of(world: World, result: EpisodeResult) -> list[Transition]:
    """Return the recorded steps of an episode, as soon as the last one is there."""
    deadline = time.monotonic() + SOON
    while True:
        found = [
            entry.record
            for entry in open_records(world.run).entries(Transition)
            if isinstance(entry.record, Transition)
            and entry.record.id.episode_id == result.episode_id
        ]
        if found and found[-1].ending:
            return found
        assert time.monotonic() < deadline, 'Expect the end of the episode in the record.'
        time.sleep(0.1)


def said(steps: list[Transition], key: str) -> list[str]:
    requests = [step.request for step in steps if step.request is not None]
    return [item.value for asked in requests for item in asked.metadata if item.key == key]


@pytest.mark.timed
def test_late_chunks_are_spliced_and_the_record_says_so(world: World, link: RosWorld) -> None:
    # Asked for one step before the last chunk ends, it takes seven: late every time.
    plan = Plan(asynchronous=True, execute=EXECUTE, lead=1)
    result = run(world, link, plan, seconds=0.7)
    steps = steps_of(world, result)
    assert result.chunks_late >= 1
    assert result.chunks_dropped == 0
    assert set(said(steps, 'chunk_late')) == {'spliced'}
    requests = dict.fromkeys(
        d.request for s in steps for d in s.decisions if d.request is not None
    )
    late = [r for r in requests if any(item.key == 'chunk_late' for item in r.metadata)]
    assert late
    for request in requests:
        assert request.id.step == request.observed_step + request.skipped + 1
        answered = steps[request.observed_step]
        assert answered.id.step == request.observed_step
        assert request.observed == answered.closed
    # More than what the lead alone leaves out: the steps that passed meanwhile.
    assert all(request.skipped > plan.lead for request in late)
    assert any(step.overrun for step in steps), 'nobody had anything to do meanwhile'
    assert result.steps == len(steps) - 1


@pytest.mark.timed
def test_the_next_chunk_is_asked_for_as_early_as_the_last_inferences_took(
    world: World, link: RosWorld
) -> None:
    # Longer than a step, so that two steps ahead is the least that is in time.
    result = run(world, link, Plan(asynchronous=True, execute=6), seconds=0.12)
    steps = steps_of(world, result)
    assert result.ending == 'time_limit'
    requests = dict.fromkeys(
        d.request for s in steps for d in s.decisions if d.request is not None
    )
    in_time = [r for r in requests if r.skipped and not r.metadata]
    assert in_time, 'none was there when the chunk before it was over'
    assert all(request.skipped >= 2 for request in in_time)


def test_the_command_drives_the_nodes(
    make_world: MakeWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    world = make_world(pacing='lockstep', changes=PATIENT)
    words = ['--contract', str(world.file), '--world-option', f'domain_id={world.domain_id}']
    words += ['--pacing', 'lockstep', '--policy', 'scripted', '--client', 'commanded']
    assert main(['run', *words, '--option', 'scenario=clear', '--json']) == 0
    told = json.loads(capsys.readouterr().out)
    (episode,) = told['episodes']
    (group,) = told['summary']['groups']
    assert (told['world'], group['pacing'], told['failure']) == ('ros', 'lockstep', '')
    assert (episode['ending'], episode['left']) == ('success', '')


@pytest.mark.nightly
def test_a_server_that_is_too_slow_loses_its_episode_and_the_next_one_is_run(
    make_world: MakeWorld, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    safety = {**PATIENT['safety'], 'policy_timeout': 2.0}
    episode = {'time_limit': 4.0, 'reset': {'deadline': 40.0}}
    world = make_world(changes={**PATIENT, 'safety': safety, 'episode': episode})
    # One answer for the check, one to warm up, three to drive.
    plan = ['well'] * 5 + ['slow', 'well']
    mapping = '{observation: {state: {fields: pose}}}'
    with serving('openpi', plan, tmp_path / 'log') as address:
        words = ['--contract', str(world.file), '--world-option', f'domain_id={world.domain_id}']
        words += ['--policy', f'openpi:{address}', '--policy-option', f'mapping={mapping}']
        assert main(['run', *words, '--client', 'served', '--episodes', '2', '--json']) == 0
    out, err = capsys.readouterr()
    lost, whole = json.loads(out)['episodes']
    assert (lost['ending'], lost['declared_by']) == ('policy_lost', 'environment')
    assert 'expected an answer, got nothing within 2 s' in err
    assert (whole['ending'], whole['left']) == ('time_limit', '')


HANGING = """
import os, signal, threading

def make(contract, pid):
    calls = []
    def policy(observation):
        calls.append(0)
        if len(calls) == 6:
            os.kill(pid, signal.SIGSTOP)
            threading.Timer(4.0, os.kill, (pid, signal.SIGCONT)).start()
        return [0.0, 0.0]
    return policy
"""


@pytest.mark.nightly
def test_an_environment_that_hangs_for_a_while_loses_its_episode_and_runs_the_next(
    make_world: MakeWorld, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    safety = {**PATIENT['safety'], 'environment_timeout': 0.8}
    episode = {'time_limit': 3.0, 'reset': {'deadline': 40.0}}
    world = make_world(recorder=True, changes={**PATIENT, 'safety': safety, 'episode': episode})
    (tmp_path / 'hanging.py').write_text(HANGING)
    words = ['--contract', str(world.file), '--world-option', f'domain_id={world.domain_id}']
    words += ['--policy', f'{tmp_path}/hanging.py:make', '--client', 'hanging']
    words += ['--policy-option', f'pid={world.processes["environment"].process.pid}']
    assert main(['run', *words, '--episodes', '2', '--json']) == 0
    out, err = capsys.readouterr()
    lost, whole = json.loads(out)['episodes']
    assert 'environment_lost' in f'{lost["ending"]} {err}'
    assert (whole['ending'], whole['left']) == ('time_limit', '')
