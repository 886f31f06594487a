# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command that compares two runs: what it prints, the page that it leaves, its exit codes."""

from __future__ import annotations

from html.parser import HTMLParser
import json
from pathlib import Path

import pytest

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from cart_runs import cart_contract, drive, real

from boundary_env_ros.cli.main import main

Output = pytest.CaptureFixture[str]

MATCH = ('--simulation', 'none')


@pytest.fixture(scope='module')
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a run, another of the same cart, and one with a biased sensor."""
    place = tmp_path_factory.mktemp('runs')
    contract = cart_contract()
    drive(contract, range(1, 9), folder=place / 'thought')
    drive(contract, range(101, 109), folder=place / 'again')
    drive(contract, range(201, 209), options=real('pose_bias'), folder=place / '<b>built')
    return place


def words(runs: Path, *names: str) -> list[str]:
    return ['compare', *(str(runs / name) for name in names), *MATCH]


class Tags(HTMLParser):
    """What is in a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in ('meta', 'line', 'circle', 'polyline', 'rect', 'br'):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_two_runs_of_one_robot_are_no_difference_and_exit_0(runs: Path, capsys: Output) -> None:
    assert main(words(runs, 'thought', 'again')) == 0
    text = ' '.join(capsys.readouterr().out.split())
    assert 'No difference beyond chance.' in text
    assert 'corrected for their number (Holm)' in text
    assert 'an episode is one observation, however many steps it has' in text
    assert 'Success, a truncation counted as failure: A' in text
    assert 'Success, of those that terminated: A' in text


def test_a_difference_is_told_with_its_numbers_and_exit_1(runs: Path, capsys: Output) -> None:
    assert main(words(runs, 'thought', '<b>built')) == 1
    lines = capsys.readouterr().out.splitlines()
    (row,) = (line.split() for line in lines if 'observations.pose.at_reset' in line)
    assert row[1:4] == ['pose[0]', '-', 'start[0]']
    assert any('Contracts: The same' in line for line in lines)
    assert all(len(line) <= 160 for line in lines)


def test_json_is_the_same_comparison(runs: Path, capsys: Output) -> None:
    assert main([*words(runs, 'thought', '<b>built'), '--json']) == 1
    told = json.loads(capsys.readouterr().out)
    assert told['exit_code'] == 1
    assert told['contracts']['meaning'] == 'cosmetic'
    assert 'observations.pose.at_reset' in told['differences']
    assert told['b']['endings']['time_limit'] > 0
    assert told['alpha'] == 0.05
    assert told['tests'] == sum(map(len, told['sections'].values()))


def test_the_page_needs_nothing_else_and_names_from_outside_are_text(
    runs: Path, tmp_path: Path, capsys: Output
) -> None:
    page = tmp_path / 'gap.html'
    assert main([*words(runs, 'thought', '<b>built'), '-o', str(page)]) == 1
    assert f'Page: {page}' in capsys.readouterr().out
    text = page.read_text(encoding='utf-8')
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    kinds = {tag for tag, _ in tags.found}
    assert not kinds & {'script', 'link', 'img', 'iframe', 'object', 'b>built', 'base'}
    assert not any(name in ('src', 'href') for _, attributes in tags.found for name in attributes)
    (policy,) = (a['content'] for t, a in tags.found if a.get('http-equiv'))
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert '&lt;b&gt;built' in text
    assert 'observations.pose.at_reset' in text
    assert 'http' not in text.replace('http-equiv', '')
    # 8 episodes of each side are drawn for every difference.
    assert text.count('class="dot-a"') >= 8 <= text.count('class="dot-b"')


def test_a_page_is_not_written_over(runs: Path, tmp_path: Path, capsys: Output) -> None:
    page = tmp_path / 'gap.html'
    page.write_text('mine')
    assert main([*words(runs, 'thought', 'again'), '-o', str(page)]) == 2
    assert 'exists already, not overwritten' in capsys.readouterr().err
    assert page.read_text() == 'mine'


def test_what_cannot_be_read_is_no_comparison(runs: Path, capsys: Output) -> None:
    assert main(words(runs, 'thought', 'nowhere')) == 2
    assert 'nowhere' in capsys.readouterr().err


def test_transitions_without_a_contract_are_refused(
    runs: Path, tmp_path: Path, capsys: Output
) -> None:
    alone = tmp_path / 'alone.jsonl'
    alone.write_bytes((runs / 'again' / 'transitions.jsonl').read_bytes())
    assert main(['compare', str(runs / 'thought'), str(alone)]) == 2
    assert ' has no contract' in capsys.readouterr().err


@pytest.mark.parametrize(
    ('key', 'value', 'told'),
    [
        ('--alpha', '0', '0.0 is not in the range 0<x<1'),
        ('--alpha', '2', '2.0 is not in the range 0<x<1'),
        ('--min-effect', 'much', "'much' is not a valid number"),
        ('--agent', 'arm', 'not an agent of both'),
        ('--simulation', 'warehouse_car', 'cannot be replayed in'),
    ],
)
def test_wrong_arguments_exit_2(
    runs: Path, key: str, value: str, told: str, capsys: Output
) -> None:
    assert main([*words(runs, 'thought', 'again'), key, value]) == 2
    assert told in capsys.readouterr().err


def test_a_client_that_is_not_there_leaves_nothing_to_compare(runs: Path, capsys: Output) -> None:
    assert main([*words(runs, 'thought', 'again'), '--clients', 'scripted', 'pilot']) == 2
    text = ' '.join(capsys.readouterr().out.split())
    assert 'NOT COMPARABLE' in text
    assert '8: it is of another client than pilot' in text
