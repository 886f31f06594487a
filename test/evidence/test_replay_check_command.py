# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env replay --check`` on files: what it prints, and its exit codes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip('rosbags', reason='bags are written by an independent implementation')
import yaml

from boundary_env_ros.cli.main import main
from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.records.imported import import_marks
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.resources import share_file
from boundary_env_ros.storage.contract_file import LoadedContract
from boundary_env_ros.storage.mcap_log import McapLog
from support.bag_maker import each, make_tape, of, Sent, Tape, write_bag, write_records, write_to
from support.record_maker import Bench

Output = pytest.CaptureFixture[str]


@pytest.fixture(scope='module')
def tape(loaded: LoadedContract, task: Task) -> Tape:
    """Return what an honest recorder had of three episodes."""
    return make_tape(Bench, loaded, task, seed=1)


@pytest.fixture(scope='module')
def bag(tape: Tape, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the bag of it."""
    folder = tmp_path_factory.mktemp('verdict') / 'bag'
    write_bag(folder, tape)
    return folder


def other(path: Path, change: Callable[[Any], object]) -> Path:
    data = yaml.safe_load(share_file('config/warehouse_cart.yaml').read_text('utf-8'))
    change(data)
    path.write_text(yaml.safe_dump(data, sort_keys=False), encoding='utf-8')
    return path


def slower(data: Any) -> None:
    data['action']['base']['high'][0] = 0.3


def test_an_honest_bag_is_the_same(bag: Path, capsys: Output) -> None:
    assert main(['replay', '--check', str(bag)]) == 0
    output = capsys.readouterr().out
    assert 'Same: 3 episodes, 84 steps, 117 decisions came out as they were recorded.' in output
    assert output.count('success at 43') == 2
    assert 'first difference' not in output


def test_a_reward_that_was_changed_is_named_with_its_step(
    tape: Tape, tmp_path: Path, capsys: Output
) -> None:
    victim = of(tape, Transition)[7]

    def forge(record: Any) -> Any:
        if isinstance(record, Transition) and record.id == victim.id:
            return replace(record, reward=1.0)
        return record

    write_bag(tmp_path / 'bag', each(tape, forge))
    assert main(['replay', '--check', str(tmp_path / 'bag')]) == 1
    output = capsys.readouterr().out
    assert (
        'Episode 1 (cart), first difference: step 7, reward: recorded 1, '
        f'recomputed {victim.reward:.9g}' in output
    )
    assert 'Different: of 3 episodes, 84 steps, 117 decisions, 1 came out' in output


def test_steps_alone_need_the_contract_that_they_were_made_under(
    tape: Tape, tmp_path: Path, capsys: Output
) -> None:
    path = write_records(tmp_path / 'steps', of(tape, Transition))
    assert main(['replay', '--check', str(path)]) == 2
    assert 'is not in the record, nor given' in capsys.readouterr().err
    assert main(['replay', '--check', str(path), '--contract', 'warehouse_cart']) == 0
    assert 'Same: 3 episodes' in capsys.readouterr().out
    strict = other(tmp_path / 'strict.yaml', slower)
    assert main(['replay', '--check', str(path), '--contract', str(strict)]) == 2


def test_what_was_imported_has_no_verdict(tape: Tape, tmp_path: Path, capsys: Output) -> None:
    marks = import_marks('drive', derived=('reward',), unknown=('verdict',))
    made = [replace(s, diagnostics=marks, decisions=()) for s in of(tape, Transition)[:2]]
    path = write_records(tmp_path / 'steps', made)
    assert main(['replay', '--check', str(path), '--contract', 'warehouse_cart']) == 2
    assert 'made of the bag drive afterwards' in capsys.readouterr().err


def test_a_step_that_cannot_be_read_makes_the_record_unreadable(
    tape: Tape, tmp_path: Path, capsys: Output
) -> None:
    sent = [Sent('/steps', i, i, step) for i, step in enumerate(of(tape, Transition))]
    path = tmp_path / 'bag'
    with McapLog(path) as log:
        for each in write_to(log, sent):
            if each is sent[2]:
                log.write('/steps', b'\0\1\0\0', 2, 2)
    assert main(['replay', '--check', str(path), '--contract', 'warehouse_cart']) == 2
    output = capsys.readouterr().out
    assert 'Unreadable: bag_0.mcap:/steps#4' in output
    assert 'Not proven' in output


def test_another_contract_lists_what_would_have_been(
    bag: Path, tmp_path: Path, capsys: Output
) -> None:
    strict = other(tmp_path / 'strict.yaml', slower)
    assert main(['replay', '--check', str(bag), '--contract', str(strict)]) == 1
    output = capsys.readouterr().out
    assert 'would have been' in output
    assert 'out_of_bounds' in output
    assert 'base/linear.x (m/s) -0.' in output
    assert 'on the recorded states.' in output
    assert main(['replay', '--check', str(bag), '--contract', str(strict), '--json']) == 1
    report = json.loads(capsys.readouterr().out)
    assert report['question'].startswith('Under warehouse_cart 1.0.0')
    found = report['episodes'][0]['differences'][0]
    assert found['by'] < 0.0
    assert found['recomputed'].startswith('LIMITED')


def test_a_contract_of_another_robot_is_refused(bag: Path, capsys: Output) -> None:
    assert main(['replay', '--check', str(bag), '--contract', 'door_arm']) == 2
    error = capsys.readouterr().err
    assert 'the record cannot be judged under it' in error
    assert 'action: expected the groups base as in the record, got arm, gripper' in error


def test_a_torn_bag_is_run_as_far_as_it_goes(bag: Path, tmp_path: Path, capsys: Output) -> None:
    whole = next(bag.glob('*.mcap')).read_bytes()
    torn = tmp_path / 'torn.mcap'
    torn.write_bytes(whole[: len(whole) * 2 // 3])
    assert main(['replay', '--check', str(torn)]) == 0
    output = capsys.readouterr().out
    assert 'Note: the record is torn' in output
    assert 'Same: ' in output
