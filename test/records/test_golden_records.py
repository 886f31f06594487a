# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Records that earlier versions made are read, audited, explained, exported and replayed today."""

from __future__ import annotations

from collections import Counter
import json
from pathlib import Path
import shutil
from typing import Any

import pytest

from boundary_env_ros.cli.main import main
from boundary_env_ros.storage.contract_file import installed_tasks

pytestmark = pytest.mark.skipif(
    not {'go_to_goal', 'open_door'} <= set(installed_tasks()), reason='needs the package installed'
)

GOLDEN = sorted(path.parent for path in Path(__file__).parent.glob('*/*/facts.json'))
OVER_ROS = [run for run in GOLDEN if run.name.endswith('_ros')]

Output = pytest.CaptureFixture[str]


def named(run: Path) -> str:
    """Return what a record is called here: version and run."""
    return f'{run.parent.name}/{run.name}'


@pytest.fixture
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a copy of a record: to read one must not change it, but nobody has to trust that."""
    copied: Path = shutil.copytree(request.param, tmp_path / request.param.name)
    return copied


golden = pytest.mark.parametrize('run', GOLDEN, ids=named, indirect=True)
golden_over_ros = pytest.mark.parametrize('run', OVER_ROS, ids=named, indirect=True)


def facts(run: Path) -> dict[str, Any]:
    """Return what the version that made a record read in it."""
    read: dict[str, Any] = json.loads((run / 'facts.json').read_text(encoding='utf-8'))
    return read


def json_of(capsys: Output, *arguments: str | Path, expected: int = 0) -> Any:
    """Run a command that prints JSON, and return that."""
    capsys.readouterr()
    assert main([*map(str, arguments), '--json']) == expected
    return json.loads(capsys.readouterr().out)


def test_there_are_records_of_both_robots_in_both_worlds() -> None:
    assert {run.name for run in GOLDEN} >= {
        f'{robot}_{link}'
        for robot in ('warehouse_cart', 'door_arm')
        for link in ('embedded', 'ros')
    }
    assert sum(path.stat().st_size for run in GOLDEN for path in run.rglob('*.*')) < 4e6


@golden
def test_its_first_transition_alone_passes(run: Path, capsys: Output) -> None:
    audited = json_of(capsys, 'audit', run / 'first_transition.json')
    assert (audited['transitions'], audited['outcome']) == (1, 'passed')


@golden
def test_its_episodes_are_what_they_were(run: Path, capsys: Output) -> None:
    expected = facts(run)['episodes']
    listed = json_of(capsys, 'episodes', 'list', run)
    assert [
        {key: found[key] for key in told} for found, told in zip(listed, expected, strict=True)
    ] == expected


@golden
def test_its_audit_comes_to_what_it_came_to(run: Path, capsys: Output) -> None:
    told = facts(run)
    report = json_of(capsys, 'audit', run, expected=told['audit'])
    assert report['findings'] == []


@golden
def test_gate_task_and_endings_come_out_the_same(run: Path) -> None:
    assert main(['replay', '--check', str(run)]) == 0


@golden
def test_it_is_explained_on_a_page(run: Path, tmp_path: Path) -> None:
    page = tmp_path / 'page.html'
    assert main(['report', str(run), '-o', str(page)]) == 0
    text = page.read_text(encoding='utf-8')
    assert all(episode['episode_id'][:8] in text for episode in facts(run)['episodes'])


@golden
def test_exported_lines_hold_the_same_steps(run: Path, tmp_path: Path) -> None:
    exported = tmp_path / 'cart-v0'
    assert main(['export', '--format', 'jsonl', str(run), '-o', str(exported)]) == 0
    lines = (exported / 'transitions.jsonl').read_text(encoding='utf-8').splitlines()
    steps = sum(episode['step_count'] for episode in facts(run)['episodes'])
    assert len(lines) == steps + len(facts(run)['episodes'])


@golden
def test_its_actions_asked_for_again_are_the_recorded_ones(run: Path, capsys: Output) -> None:
    count = len(facts(run)['episodes'])
    link = ['--world', 'replay', '--world-option', f'run={run}', '--pacing', 'lockstep']
    if run.name.endswith('_embedded'):
        link += ['--world-option', 'blank_images=true']  # it has none
    again = json_of(
        capsys,
        *('run', *link, '--contract', run / 'contract.yaml', '--policy', f'replay:{run}'),
        *('--warm-up', '0', '--episodes', str(count)),
    )
    told = facts(run)['episodes']
    [summary] = again['summary']['groups']
    assert summary['steps'] == sum(episode['step_count'] for episode in told)
    assert summary['endings'] == Counter(episode['ending'] for episode in told)
    assert summary['mean_return'] == pytest.approx(
        sum(episode['return'] for episode in told) / count
    )


@golden_over_ros
def test_its_raw_messages_are_imported(run: Path, tmp_path: Path, capsys: Output) -> None:
    imported = tmp_path / 'imported'
    source = ('--contract', str(run / 'contract.yaml'), '--pacing', 'lockstep')
    # What the task sampled is in no raw message: that is said.
    assert main(['bag', 'import', str(run / 'bag'), *source, '-o', str(imported)]) == 1
    (episode,) = json_of(capsys, 'episodes', 'list', imported)
    assert episode['step_count'] > 0
    assert episode['digest'] == facts(run)['episodes'][0]['digest']
    assert json_of(capsys, 'report', imported)['groups'][0]['imported'] > 0


@golden_over_ros
@pytest.mark.parametrize('tenths', [6, 7, 8, 9])
def test_of_a_torn_copy_what_is_left_is_recovered(run: Path, tenths: int, capsys: Output) -> None:
    (bag,) = (run / 'bag').glob('*.mcap')
    whole = bag.read_bytes()
    before = json_of(capsys, 'audit', run, expected=facts(run)['audit'])['transitions']
    bag.write_bytes(whole[: len(whole) * tenths // 10])
    (run / 'bag/metadata.yaml').unlink()
    assert main(['bag', 'recover', str(run)]) == 0
    # What is cut off is missing; nothing contradicts what is left.
    after = json_of(capsys, 'audit', run, expected=4)['transitions']
    assert 0 < after <= before
