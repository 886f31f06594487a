# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command that runs a policy: what it prints, what it leaves, how it ends."""

from __future__ import annotations

from dataclasses import replace
import json
import os
from pathlib import Path
import signal
import subprocess
import sys

import pytest

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from boundary_env_ros import __version__
from boundary_env_ros.cli.main import main
from boundary_env_ros.cli.run_report import line_of
from boundary_env_ros.core.records.decision import Verdict
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.facade.runner import EpisodeResult
from boundary_env_ros.storage.contract_file import load
from boundary_env_ros.storage.episode_store import EpisodeStore
from boundary_env_ros.storage.run_folder import RunFolder
from support.storage_wire import transition

Output = pytest.CaptureFixture[str]

CART = ('--world', 'embedded', '--option', 'scenario=clear')


def test_it_runs_episodes_and_prints_a_line_for_each_and_a_table(capsys: Output) -> None:
    assert main(['run', '--policy', 'scripted', *CART, '--episodes', '2', '--seed', '4']) == 0
    text = capsys.readouterr().out
    first, second, *table = [' '.join(line.split()) for line in text.splitlines() if line]
    assert first.startswith('seed 4 ')
    assert second.startswith('seed 5 ')
    assert 'terminated success' in first
    assert 'episodes 2' in table
    assert any(row.startswith('success, a truncation as failure 100 %') for row in table)
    assert any(row.startswith('success of the terminated 100 %') for row in table)
    assert 'success 2' in table
    assert any(row.startswith('inference p50, p99, greatest') for row in table)


def test_json_holds_plan_figures_and_episodes(capsys: Output) -> None:
    words = ['--policy', 'no-op', *CART, '--warm-up', '3', '--json']
    assert main(['run', *words]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told['plan']['warm_up'] == 3
    (episode,) = told['episodes']
    assert (episode['ending'], episode['steps'], episode['success']) == ('time_limit', 60, False)
    (group,) = told['summary']['groups']
    assert group['endings'] == {'time_limit': 1}
    assert told['inference']['inferences'] == 60
    assert group['stages']['inference']['p50'] > 0.0, 'real time, in lockstep'


def test_a_result_says_with_what_it_was_produced(tmp_path: Path, capsys: Output) -> None:
    place = tmp_path / 'run'
    words = ['--policy', 'no-op', *CART, '--seed', '7', '--client', 'no-op', '--json']
    assert main(['run', *words, '--run', str(place)]) == 0
    summary = json.loads(capsys.readouterr().out)['summary']
    (group,) = summary['groups']
    # Which environment version produced it,
    assert group['contract'] == 'warehouse_cart 1.0.0'
    assert group['digest'] == load('warehouse_cart', Pacing.LOCKSTEP).digest
    assert group['software_version'] == group['client_version'] == __version__
    assert (group['client'], group['pacing'], group['wrappers']) == (
        'no-op', 'lockstep', ['Runner()'],
    )  # fmt: skip
    # how reset sampled the initial state,
    assert group['seeds'] == [7]
    assert group['reset_options'] == ['{"scenario": "clear"}']
    assert 'goal' in str(group['reset_distribution'])
    # which action space was accepted, whether the command was clipped,
    assert group['action_space'].startswith('Box(')
    assert group['observation_space'].startswith('Dict(')
    assert (group['clipped']['count'], group['clipped']['of']) == (0, 60)
    assert group['clipped_in'] == {}
    # why the episode ended, and whether that was a termination or a truncation.
    assert group['endings'] == {'time_limit': 1}
    assert group['success']['of'] == group['truncated'] == 1
    assert group['success_of_terminated']['of'] == 0
    assert group['excluded'] == []
    # The record says the same.
    assert main(['report', '--text', '--json', str(place)]) == 0
    recorded = json.loads(capsys.readouterr().out)
    for found in (summary, recorded):
        del found['groups'][0]['stages']
    assert recorded == summary


def test_the_result_says_in_which_dimensions_actions_were_clipped(
    tmp_path: Path, capsys: Output
) -> None:
    (tmp_path / 'fast.py').write_text(
        'def make(contract):\n    return lambda observation: [9.0, 0.0]\n'
    )
    assert main(['run', '--policy', f'{tmp_path}/fast.py:make', *CART, '--json']) == 0
    told = json.loads(capsys.readouterr().out)
    steps = told['episodes'][0]['steps']
    (group,) = told['summary']['groups']
    assert group['clipped']['count'] == group['clipped']['of'] == steps
    assert group['clipped_in'] == {'base/linear.x (m/s)': steps}


def test_the_record_can_be_audited_listed_and_replayed(tmp_path: Path, capsys: Output) -> None:
    place = tmp_path / 'run'
    words = ['--policy', 'scripted', *CART, '--run', str(place), '--client', 'mine']
    assert main(['run', *words]) == 0
    report = audit_path(place)
    assert report.ok, str(report)
    # The shipped file says realtime; the record was made in lockstep.
    assert audit_path(place, load('warehouse_cart').contract).counts == report.counts
    with EpisodeStore.open(RunFolder(place).episodes) as store:
        (row,) = store.episodes()
    assert row.ending == 'success'
    capsys.readouterr()
    assert main(['run', '--policy', f'replay:{place}', *CART, '--json']) == 0
    (group,) = json.loads(capsys.readouterr().out)['summary']['groups']
    assert group['endings'] == {'success': 1}
    recorded = ['--world', 'replay', '--pacing', 'lockstep', '--world-option', f'run={place}']
    blank = ['--world-option', 'blank_images=true']
    assert main(['run', '--policy', 'no-op', *recorded, *blank, '--json']) == 0
    found = json.loads(capsys.readouterr().out)
    assert found['summary']['groups'][0]['endings'] == {'success': 1}
    assert found['inference']['other_actions_than_recorded']['count'] > 10
    assert main(['run', '--policy', 'scripted', *recorded, *blank]) == 0
    told = ' '.join(capsys.readouterr().out.split())
    assert f'other actions than recorded 0 % (0 of {row.step_count};' in told
    assert 'all else is what was recorded' in told
    assert main(['run', *words]) == 2, 'not written over'
    assert 'exists already, not overwritten' in capsys.readouterr().err


def test_options_are_read_as_yaml(tmp_path: Path, capsys: Output) -> None:
    (tmp_path / 'mine.py').write_text(
        'def make(contract, gains, name):\n'
        '    assert gains == [1, 2.5] and name == "x"\n'
        '    return lambda observation: [0.0, 0.0]\n'
    )
    words = ['--policy', f'{tmp_path}/mine.py:make', '--policy-option', 'gains=[1, 2.5]']
    assert main(['run', *words, '--policy-option', 'name=x', *CART]) == 0


@pytest.mark.parametrize(
    ('words', 'says'),
    [
        (['--policy', 'none'], 'Unknown policy (expected no-op, random, scripted'),
        (
            ['--policy', 'no-op', '--n-action-steps', '3'],
            'A chunk has other actions to execute (expected 1 to 1, got 3)',
        ),
        (['--policy', 'no-op', '--contract', 'none'], 'none'),
        (['--policy', 'no-op', '--policy-option', 'x'], "expected NAME=VALUE, got 'x'"),
        (['--policy', 'no-op', '--world', 'ros', '--run', 'x'], 'the recorder leaves'),
        (['--policy', 'no-op', '--world-option', 'domain_id=7'], "'embedded' takes (robot, "),
        (['--policy', 'no-op', '--world-option', 'robot=mine'], 'robot=MyRobot()'),
        (['--policy', 'no-op', '--option', 'scenario=nowhere'], 'scenario'),
        ([], "Missing option '--policy'"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_is(
    words: list[str], says: str, capsys: Output
) -> None:
    assert main(['run', '--world', 'embedded', *words]) == 2
    output = capsys.readouterr()
    assert says in output.err
    assert 'Record:' not in output.err
    assert output.out == ''


def test_a_line_says_of_a_policy_that_is_always_too_late_that_it_is() -> None:
    without = replace(transition(1), overrun=True, verdict=None)
    rejected = replace(transition(2), overrun=False, verdict=Verdict.REJECTED)
    ended = EpisodeResult(seed=1, steps=3, ending='time_limit', truncated=True)
    assert line_of(ended).endswith('truncated  time_limit')
    late = replace(ended, transitions=[without, rejected, replace(without, ending='time_limit')])
    told = line_of(late).split('time_limit')[1].strip()
    assert told == 'steps without an action in time 2  rejected actions 1'


@pytest.mark.parametrize(
    ('calls', 'steps'),
    [(0, []), (20, [19]), (80, [60, 19])],
    ids=['at once', 'in the first episode', 'in the second episode'],
)
def test_a_policy_that_fails_breaks_the_run_off_and_what_was_done_is_reported(
    tmp_path: Path, capsys: Output, calls: int, steps: list[int]
) -> None:
    (tmp_path / 'mine.py').write_text(
        'def make(contract):\n    calls = []\n    def policy(observation):\n'
        f'        calls.append(0)\n        if len(calls) > {calls}:\n'
        '            raise RuntimeError("broken")\n        return [0.0, 0.0]\n'
        '    return policy\n'
    )
    assert main(['run', '--policy', f'{tmp_path}/mine.py:make', *CART, '--episodes', '9']) == 1
    output = capsys.readouterr()
    assert f'RuntimeError: broken ({tmp_path}/mine.py, line 6)' in output.err
    told = [line.split() for line in output.out.splitlines() if line.startswith('seed ')]
    assert [int(words[2]) for words in told] == steps
    assert ('left: broken off' in output.out) == bool(steps)
    assert ('inferences' in output.out) == bool(steps), 'the table of what was done'
    assert 'No transitions' not in output.out


def test_a_policy_that_fails_at_its_end_takes_nothing_away_of_what_was_done(
    tmp_path: Path, capsys: Output
) -> None:
    (tmp_path / 'mine.py').write_text(
        'class Policy:\n'
        '    def __init__(self, contract): pass\n'
        '    def __call__(self, observation): return [0.0, 0.0]\n'
        '    def close(self): raise RuntimeError("no farewell")\n'
    )
    words = ['--policy', f'{tmp_path}/mine.py:Policy', *CART, '--run', str(tmp_path / 'run')]
    assert main(['run', *words, '--json']) == 1
    told = json.loads(capsys.readouterr().out)
    assert 'for close(): RuntimeError: no farewell (' in told['failure']
    assert [episode['ending'] for episode in told['episodes']] == ['time_limit']
    assert audit_path(tmp_path / 'run').ok


@pytest.mark.parametrize(('number', 'code'), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_episode_in_order(
    number: signal.Signals, code: int, tmp_path: Path
) -> None:
    # It says when it is in the midst of an episode, and takes its time.
    (tmp_path / 'slow.py').write_text(
        'import pathlib, time\n'
        'def make(contract):\n'
        '    def policy(observation):\n'
        f'        pathlib.Path({str(tmp_path / "begun")!r}).touch()\n'
        '        time.sleep(0.05)\n'
        '        return [0.0, 0.0]\n'
        '    return policy\n'
    )
    place = tmp_path / 'run'
    words = ['--policy', 'slow.py:make', '--warm-up', '0', '--run', str(place)]
    process = subprocess.Popen(
        [sys.executable, '-m', 'boundary_env_ros.cli.main', 'run', *CART, *words],
        cwd=tmp_path,
        env={**os.environ, 'PYTHONPATH': os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while not (tmp_path / 'begun').exists() and process.poll() is None:
            signal.sigtimedwait([], 0.02)
        process.send_signal(number)
        output, errors = process.communicate(timeout=60.0)
    finally:
        process.kill()
    assert process.returncode == code, errors
    assert 'left: interrupted' in output
    with EpisodeStore.open(RunFolder(place).episodes) as store:
        (row,) = store.episodes()
    assert row.ending == 'abandoned'
    assert audit_path(place).ok
