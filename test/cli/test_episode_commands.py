# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Episodes are listed, filtered, shown and labelled, and the two verdicts stay apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
import json
from pathlib import Path
import re
import shutil
import time

import pytest

from boundary_env_ros.cli.main import main
from boundary_env_ros.core.records.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.storage.episode_store import EpisodeStore
from support.storage_wire import instant, step_id, transition

Output = pytest.CaptureFixture[str]

#: 2026-11-22 12:00:00 UTC.
NOON = 1_795_348_800 * 1_000_000_000
MINUTE = 60 * 1_000_000_000

WON = '0a000000-7d0c-4a55-8e42-0d0f3c1f9c11'
LATE = '0b000000-7d0c-4a55-8e42-0d0f3c1f9c11'
RUNS = '1c000000-7d0c-4a55-8e42-0d0f3c1f9c11'
OTHER = '2d000000-7d0c-4a55-8e42-0d0f3c1f9c11'


def add(
    store: EpisodeStore,
    episode: str,
    begun: int,
    steps: int,
    *,
    environment: str = 'warehouse_cart',
    client: str = 'go_to_goal',
    agent: str = 'cart',
    **ending: object,
) -> None:
    def named(step: int):
        return replace(step_id(step), episode_id=episode, agent=agent)

    running = EpisodeStatus(
        id=named(0), state=EpisodeState.RUNNING, pacing=Pacing.REALTIME, client=client, seed=7
    )
    store.index.update(replace(running, stamp=instant()), environment=environment, now=begun)
    for step in range(1, steps + 1):
        store.index.add_step(replace(transition(step), id=named(step)), now=begun + step)
    if ending:
        over = replace(running, id=named(steps), **ending)  # type: ignore[arg-type]
        store.index.update(over, environment=environment, now=begun + MINUTE)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Return a folder of two runs, one of them still being written."""
    for name in ('monday', 'tuesday'):
        (tmp_path / name).mkdir()
    with EpisodeStore.create(tmp_path / 'monday' / 'episodes.sqlite') as store:
        add(store, WON, NOON, 12, state=EpisodeState.TERMINATED, ending='success',
            declared_by='environment', message='The goal is reached.')  # fmt: skip
        add(store, LATE, NOON + MINUTE, 40, client='no_op', state=EpisodeState.TRUNCATED,
            ending='time_limit', declared_by='environment')  # fmt: skip
        add(store, RUNS, NOON + 2 * MINUTE, 3)
    with EpisodeStore.create(tmp_path / 'tuesday' / 'episodes.sqlite') as store:
        add(store, OTHER, NOON + 24 * 60 * MINUTE, 2, environment='door_arm',
            agent='arm', state=EpisodeState.TRUNCATED, ending='safety_stop',
            declared_by='environment')  # fmt: skip
    return tmp_path


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv('TZ', 'UTC')
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def listed(capsys: Output, *arguments: str | Path) -> list[str]:
    """Return the short ids of the episodes that are listed, in their order."""
    assert main(['episodes', 'list', *map(str, arguments)]) == 0
    lines = capsys.readouterr().out.splitlines()
    return [line.split()[0] for line in lines[2 : lines.index('')]] if '' in lines else []


def test_one_run_is_a_table_without_columns_that_tell_nothing(runs: Path, capsys: Output) -> None:
    assert main(['episodes', 'list', str(runs / 'monday')]) == 0
    assert (
        capsys.readouterr().out
        == """\
EPISODE   BEGUN                CLIENT      STEPS  RETURN  STATE       ENDING
────────  ───────────────────  ──────────  ─────  ──────  ──────────  ──────────
0a000000  2026-11-22 12:00:00  go_to_goal     12   +6.00  terminated  success
0b000000  2026-11-22 12:01:00  no_op          40  +20.00  truncated   time_limit
1c000000  2026-11-22 12:02:00  go_to_goal      3   +1.50  running     -

go_to_goal: 2 episodes, 1 without an ending, success 1 of 1 ended.
no_op: 1 episode, success 0 of 1 ended, 0 of 0 without the 1 truncated.
"""
    )


def test_without_a_task_no_success_is_told(runs: Path, capsys: Output) -> None:
    contract = Path(__file__).parents[1] / 'storage/good_contracts/without_task.yaml'
    shutil.copy(contract, runs / 'tuesday' / 'contract.yaml')
    assert main(['episodes', 'list', str(runs / 'tuesday')]) == 0
    assert '\n1 episode, no task: no success is defined.\n' in capsys.readouterr().out


def test_what_another_policy_or_contract_did_is_never_one_figure(
    runs: Path, capsys: Output
) -> None:
    assert main(['episodes', 'list', str(runs)]) == 0
    *_, first, second, third = capsys.readouterr().out.splitlines()
    assert first.startswith('go_to_goal on warehouse_cart sha256:')
    assert second.startswith('no_op on warehouse_cart sha256:')
    assert third.startswith('go_to_goal on door_arm sha256:')


def test_many_runs_are_one_table_the_oldest_first(runs: Path, capsys: Output) -> None:
    assert main(['episodes', 'list', str(runs)]) == 0
    head, _, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == [
        'EPISODE', 'RUN', 'ENVIRONMENT', 'AGENT', 'BEGUN', 'CLIENT', 'STEPS', 'RETURN', 'STATE',
        'ENDING',
    ]  # fmt: skip
    assert [line.split()[:2] for line in lines[:4]] == [
        ['0a000000', 'monday'],
        ['0b000000', 'monday'],
        ['1c000000', 'monday'],
        ['2d000000', 'tuesday'],
    ]
    assert listed(capsys, runs / 'tuesday', runs / 'monday') == [
        '0a000000', '0b000000', '1c000000', '2d000000',
    ]  # fmt: skip


@pytest.mark.parametrize(
    ('arguments', 'expected'),
    [
        (['--success'], [WON]),
        (['--failure'], [LATE, OTHER]),
        (['--ending', 'time_limit', '--ending', 'safety_stop'], [LATE, OTHER]),
    ],
)
def test_episodes_are_found_by_what_is_known_of_them(
    runs: Path, capsys: Output, arguments: list[str], expected: list[str]
) -> None:
    assert main(['episodes', 'list', str(runs), '--json', *arguments]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one['episode_id'] for one in found] == expected


def test_nothing_found_is_said(runs: Path, capsys: Output) -> None:
    assert main(['episodes', 'list', str(runs), '--ending', 'robot_lost']) == 0
    assert capsys.readouterr().out == 'No such episode.\n'


def test_mark_against_the_environment_is_seen_in_the_table(runs: Path, capsys: Output) -> None:
    run = str(runs / 'monday')
    for who, episode, verdict in (
        ('ada', '0a', 'failure'),
        ('ada', '0a', 'success'),
        ('bob', '0a', 'unclear'),
        ('bob', '0b', 'success'),
        ('ada', '1c', 'success'),
        ('bob', '1c', 'failure'),
    ):
        assert main(['episodes', 'label', run, episode, verdict, '--user', who]) == 0
    capsys.readouterr()
    assert main(['episodes', 'list', run]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].endswith('  success by ada')
    assert lines[3].endswith('  success (!) by bob')
    assert lines[4].endswith('  success by ada, failure by bob')
    assert main(['episodes', 'list', run, '--json']) == 0
    shown = next(e for e in json.loads(capsys.readouterr().out) if e['episode_id'] == WON)
    assert (shown['success'], shown['label'], len(shown['labels'])) == (True, 'SUCCESS', 3)


def test_last_is_the_episode_that_was_begun_last(runs: Path, capsys: Output) -> None:
    assert (
        main(['episodes', 'label', str(runs / 'monday'), 'last', 'unclear', '--user', 'ada']) == 0
    )
    assert capsys.readouterr().out.startswith('1c000000 of cart (no ending yet): unclear')


def test_mark_counts_for_every_agent_of_an_episode_or_for_one(
    tmp_path: Path, capsys: Output
) -> None:
    with EpisodeStore.create(tmp_path / 'episodes.sqlite') as store:
        for agent in ('left', 'right'):
            add(store, WON, NOON, 1, agent=agent)
    assert main(['episodes', 'label', str(tmp_path), '0a', 'success', '--user', 'ada']) == 0
    assert (
        main(
            [
                'episodes',
                'label',
                str(tmp_path),
                '0a',
                'failure',
                '--user',
                'bob',
                '--agent',
                'left',
            ]
        )
        == 0
    )
    with EpisodeStore.open(tmp_path / 'episodes.sqlite') as store:
        assert [[m.user for m in row.labels] for row in store.episodes()] == [
            ['ada', 'bob'],
            ['ada'],
        ]


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (
            ['episodes', 'label', '{runs}/monday', '0', 'success', '--user', 'ada'],
            'expected one episode that begins with .0., got',
        ),
        (
            ['episodes', 'label', '{runs}/monday', 'ff', 'success', '--user', 'ada'],
            'got none of 3',
        ),
        (['episodes', 'list', '{runs}/nothing'], 'got nothing'),
        (['episodes', 'list', '{runs}/empty'], 'got a folder without one'),
        (
            ['episodes', 'label', '{runs}/monday', '0', 'success', '--user', 'ada'],
            'Give more of its id',
        ),
        (['episodes', 'label', '{runs}', '0a', 'success', '--user', 'ada'], 'expected one, got 2'),
        (
            ['episodes', 'label', '{runs}/monday', '0a', 'success', '--user', ' '],
            'expected the name of a person',
        ),
        (
            ['episodes', 'label', '{runs}/monday', '0a', 'good', '--user', 'ada'],
            "'good' is not one of",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_way_out(
    runs: Path, capsys: Output, arguments: list[str], message: str
) -> None:
    (runs / 'empty').mkdir()
    assert main([word.replace('{runs}', str(runs)) for word in arguments]) == 2
    assert re.search(message, capsys.readouterr().err)


def test_one_index_that_cannot_be_read_hides_no_other(runs: Path, capsys: Output) -> None:
    (runs / 'tuesday' / 'episodes.sqlite').write_text('no database at all, but rather long ' * 50)
    assert listed(capsys, runs) == ['0a000000', '0b000000', '1c000000']
    assert main(['episodes', 'list', str(runs / 'tuesday')]) == 2


def test_index_is_listed_while_it_is_written(tmp_path: Path, capsys: Output) -> None:
    with EpisodeStore.create(tmp_path / 'episodes.sqlite') as store:
        add(store, WON, NOON, 3)
        store.flush()
        assert listed(capsys, tmp_path) == ['0a000000']
        assert main(['episodes', 'label', str(tmp_path), 'last', 'success', '--user', 'ada']) == 0
        add(store, LATE, NOON + 1, 3)
        assert [len(row.labels) for row in store.episodes()] == [1, 0]
