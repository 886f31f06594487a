# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""``boundary-env contract init`` writes a draft, overwrites nothing, and speaks in sentences."""

from __future__ import annotations

from pathlib import Path
import sys

import pytest

from boundary_env_ros.cli import contract_commands
from boundary_env_ros.cli.main import main
from support.infer_contract_messages import cart_and_arm, write_bag


@pytest.fixture(scope='module')
def bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bag(tmp_path_factory.mktemp('bags') / 'drive', cart_and_arm())


def test_draft_is_written_and_told_what_to_do_with(
    bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / 'mine.yaml'
    assert main(['contract', 'init', str(out), '--bag', str(bag)]) == 0
    text = out.read_text()
    said = capsys.readouterr()
    assert f'with {text.count("GUESS:")} guesses (GUESS)' in said.out
    assert f'boundary-env contract check {out}' in said.out
    assert said.err == ''


@pytest.mark.parametrize('there', ['file', 'folder', 'dangling link'])
def test_nothing_is_ever_overwritten(
    bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], there: str
) -> None:
    out = tmp_path / 'mine.yaml'
    if there == 'file':
        out.write_text('precious')
    elif there == 'folder':
        out.mkdir()
    else:
        out.symlink_to(tmp_path / 'nowhere')
    assert main(['contract', 'init', str(out), '--bag', str(bag)]) == 2
    assert capsys.readouterr().err == (
        f'boundary-env: {out} exists already, not overwritten. Choose another place for '
        'a new file, or move the old one away.\n'
    )
    assert there != 'file' or out.read_text() == 'precious'
    assert not (tmp_path / 'nowhere').exists()


def test_file_that_appears_meanwhile_is_not_overwritten(
    bag: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / 'mine.yaml'
    draft = contract_commands._of_bag

    def slow(path: Path) -> str:
        out.write_text('precious')
        return draft(path)

    monkeypatch.setattr(contract_commands, '_of_bag', slow)
    assert main(['contract', 'init', str(out), '--bag', str(bag)]) == 2
    assert 'exists already, not overwritten' in capsys.readouterr().err
    assert out.read_text() == 'precious'


def test_place_that_cannot_be_written_is_named(
    bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / 'no' / 'such' / 'folder.yaml'
    assert main(['contract', 'init', str(out), '--bag', str(bag)]) == 2
    assert capsys.readouterr().err == (
        f'boundary-env: {out} cannot be written: there is no folder {out.parent}. Make it.\n'
    )


def test_bag_that_cannot_be_read_leaves_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / 'mine.yaml'
    assert main(['contract', 'init', str(out), '--bag', str(tmp_path / 'gone')]) == 2
    assert 'gone does not exist' in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    ('arguments', 'says'),
    [
        (['--seconds', '0'], '0.0 is not in the range 0<x<=3600'),
        (['--seconds', 'nan'], "expected a finite number, got 'nan'"),
        (['--seconds', 'soon'], "'soon' is not a valid number"),
        (['--domain-id', '233'], '233 is not in the range 0<=x<=232'),
        (['--domain-id', '-1'], '-1 is not in the range'),
        (['--domain-id', '²'], "'²' is not a valid integer"),
    ],
)
def test_wrong_argument_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    assert main(['contract', 'init', str(tmp_path / 'mine.yaml'), *arguments]) == 2
    assert says in capsys.readouterr().err


def test_without_ros_the_live_robot_needs_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [n for n in sys.modules if n.split('.')[0] == 'rclpy']:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, 'rclpy', None)
    monkeypatch.delitem(sys.modules, 'boundary_env_ros.ros.graph_survey', raising=False)
    assert main(['contract', 'init', str(tmp_path / 'mine.yaml'), '--seconds', '1']) == 2
    assert 'Or draft from a bag with --bag.' in capsys.readouterr().err
