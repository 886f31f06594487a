# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command that compares two runs: what it prints, the page that it leaves, its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from boundary_env_ros.cli.main import main
from boundary_env_ros.storage.record_reader import open_records
from support.bag_maker import write_records
from support.cart_runs import cart_contract, drive, real

Output = pytest.CaptureFixture[str]


@pytest.fixture(scope='module')
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a run, another of the same cart, and one that answers later."""
    place = tmp_path_factory.mktemp('runs')
    contract = cart_contract()
    drive(contract, range(1, 9), folder=place / 'thought')
    drive(contract, range(101, 109), folder=place / 'again')
    drive(contract, range(201, 209), options=real('actuator_delay'), folder=place / 'built')
    return place


def words(runs: Path, *names: str) -> list[str]:
    return ['compare', *(str(runs / name) for name in names)]


def test_two_runs_of_one_robot_are_no_difference_and_exit_0(runs: Path, capsys: Output) -> None:
    assert main(words(runs, 'thought', 'again')) == 0
    text = ' '.join(capsys.readouterr().out.split())
    assert 'No difference beyond chance.' in text
    assert 'corrected for their number (Holm)' in text
    assert 'an episode is one observation, however many steps it has' in text
    assert 'Success, a truncation counted as failure: A' in text
    assert 'Success, of those that terminated: A' in text


def test_a_difference_is_told_with_its_numbers_and_exit_1(runs: Path, capsys: Output) -> None:
    assert main(words(runs, 'thought', 'built')) == 1
    lines = capsys.readouterr().out.splitlines()
    (row,) = (line.split() for line in lines if 'response.delay' in line)
    assert row[1].startswith('base/')
    assert any('Contracts: The same' in line for line in lines)
    assert all(len(line) <= 160 for line in lines)


def test_json_is_the_same_comparison(runs: Path, capsys: Output) -> None:
    assert main([*words(runs, 'thought', 'built'), '--json']) == 1
    told = json.loads(capsys.readouterr().out)
    assert told['exit_code'] == 1
    assert told['contracts']['meaning'] == 'cosmetic'
    assert 'response.delay' in told['differences']
    assert told['alpha'] == 0.05
    assert set(told['differences']) < {finding['name'] for finding in told['findings']}


def test_what_cannot_be_read_is_no_comparison(runs: Path, capsys: Output) -> None:
    assert main(words(runs, 'thought', 'nowhere')) == 2
    assert 'nowhere' in capsys.readouterr().err


def test_transitions_without_a_contract_are_refused(
    runs: Path, tmp_path: Path, capsys: Output
) -> None:
    alone = tmp_path / 'alone'
    write_records(alone, open_records(runs / 'again').transitions())
    assert main(['compare', str(runs / 'thought'), str(alone)]) == 2
    assert ' has no contract' in capsys.readouterr().err


def test_wrong_arguments_exit_2(runs: Path, capsys: Output) -> None:
    assert main([*words(runs, 'thought', 'again'), '--agent', 'arm']) == 2
    assert 'not an agent of both' in capsys.readouterr().err


def test_a_client_that_is_not_there_leaves_nothing_to_compare(runs: Path, capsys: Output) -> None:
    assert main([*words(runs, 'thought', 'again'), '--clients', 'scripted', 'pilot']) == 2
    text = ' '.join(capsys.readouterr().out.split())
    assert 'NOT COMPARABLE' in text
    assert '8: it is of another client than pilot' in text
