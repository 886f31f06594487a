# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""No string of a record steers the terminal, whichever command prints it."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from enum import Enum
import io
from pathlib import Path
import re
import sys
from typing import Any

import pytest

from boundary_env_ros import resources
from boundary_env_ros.cli.command import Progress
from boundary_env_ros.cli.main import main
from boundary_env_ros.core.records.episode import EpisodeLabel, EpisodeState, EpisodeStatus, Label
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.storage.contract_file import load
from boundary_env_ros.storage.episode_store import EpisodeStore
from boundary_env_ros.storage.run_folder import RunFolder
from boundary_env_ros.terminal import printable, printing, steer
from support.bag_maker import write_records
from support.storage_wire import instant, step_id, transition

Output = pytest.CaptureFixture[str]

#: A title, a color, one in C1, a line turned around, and what no encoding has.
HOSTILE = '\x1b]0;mine\x07\x1b[31m\x9b2j\u202eevil\u2066\r\x7f'
STEERING = re.compile('[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]')


def hostile(value: Any, name: str = '') -> Any:
    """Return a record with a hostile text behind every text."""
    if isinstance(value, str):
        # What is looked up by its text is to be found.
        return value if name in ('digest', 'contract') else f'{value}{HOSTILE}'
    if isinstance(value, tuple):
        return tuple(hostile(item) for item in value)
    if is_dataclass(value) and not isinstance(value, (type, Enum)):
        return replace(
            value, **{f.name: hostile(getattr(value, f.name), f.name) for f in fields(value)}
        )
    return value


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    steps = [hostile(transition(step)) for step in range(4)]
    over = replace(steps[-1], truncated=True, ending=f'task{HOSTILE}', declared_by=HOSTILE)
    text = load('warehouse_cart').text
    folder = RunFolder(write_records(tmp_path / 'run', [*steps[:-1], over], text))
    folder.write_first_transition(steps[0])
    with EpisodeStore.create(folder.episodes) as index:
        status = EpisodeStatus(
            id=step_id(0), state=EpisodeState.RUNNING, pacing=Pacing.REALTIME, stamp=instant()
        )
        index.index.update(hostile(status), environment=HOSTILE, now=1)
        for step in steps:
            index.index.add_step(step, now=2)
        label = EpisodeLabel(
            id=step_id(1), label=Label.UNCLEAR, user='ada', note='odd', stamp=instant()
        )
        index.label(hostile(label), now=3)
    return folder


@pytest.mark.parametrize(
    'words',
    [
        ['report', '--text', 'RUN'],
        ['audit', 'RUN'],
        ['inspect', 'RUN'],
        ['inspect', 'RUN', '--step', '2'],
        ['compare', 'RUN', 'RUN'],
        ['replay', '--check', 'RUN'],
        ['episodes', 'list', 'RUN'],
        ['inspect', 'RUN', '--episode', HOSTILE],
        ['episodes', 'list', 'RUN', '--json'],
        ['episodes', 'label', 'RUN', 'last', 'success', '--user', 'ada'],
        ['episodes', 'label', 'RUN', HOSTILE, 'success', '--user', 'ada'],
        ['contract', 'show', HOSTILE],
        ['report', '--text', f'RUN/{HOSTILE}'],
        [HOSTILE],
    ],
    ids=lambda words: ' '.join(words).replace(HOSTILE, '!'),
)
def test_no_string_of_a_record_steers_the_terminal(
    run: RunFolder, words: list[str], capsys: Output
) -> None:
    main([word.replace('RUN', str(run.path)) for word in words])
    told = capsys.readouterr()
    assert told.out + told.err
    assert not STEERING.search(told.out + told.err)


def test_hostile_text_is_written_out_where_it_stands(run: RunFolder, capsys: Output) -> None:
    assert main(['inspect', str(run.path)]) == 0
    assert r'\x1b]0;mine\x07\x1b[31m\x9b2j\u202eevil\u2066\r\x7f' in capsys.readouterr().out


def test_line_ends_of_a_record_begin_no_line(run: RunFolder, capsys: Output) -> None:
    forged = 'odd\nPeople say\n  SUCCESS by eve'
    with EpisodeStore.open(run.episodes, to_label=True) as index:
        (row,) = index.episodes()
        label = replace(row.labels[0], note=forged, stamp=instant())
        index.label(label, now=4)
    assert main(['inspect', str(run.path)]) == 0
    shown = capsys.readouterr().out
    assert 'odd People say   SUCCESS by eve' in shown
    assert not any(line.lstrip().startswith('SUCCESS') for line in shown.splitlines())


def test_text_that_the_terminal_cannot_encode_is_written_out() -> None:
    assert printable('caf\u00e9 \udc80\t\n', 'ascii') == 'caf\\xe9 \\udc80\t\n'
    assert printable('caf\u00e9 \u4e2d \U0001f600') == 'caf\u00e9 \u4e2d \U0001f600'


def test_own_codes_reach_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(shown, 'isatty', lambda: True)
    monkeypatch.setattr(sys, 'stderr', shown)
    with printing():
        Progress()(f'half{HOSTILE}')
        steer(sys.stderr, '\x1b[0m')
    assert shown.getvalue().startswith('\r\x1b[Khalf\\x1b]0;')
    assert shown.getvalue().endswith('\x1b[0m')
    assert shown.getvalue().count('\x1b') == 2


def test_fault_is_one_clear_line_and_its_traceback_is_there_for_the_asking(
    monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    def fails(name: str) -> None:
        raise ZeroDivisionError(HOSTILE)

    monkeypatch.setattr(resources, 'share_file', fails)
    with pytest.raises(ZeroDivisionError):
        main(['contract', 'schema'])
    monkeypatch.delenv('BOUNDARY_ENV_TRACEBACK')
    assert main(['contract', 'schema']) == 70
    told = capsys.readouterr().err
    assert told.count('\n') == 1
    assert told.startswith('boundary-env: ZeroDivisionError: \\x1b]0;')
    assert 'set BOUNDARY_ENV_TRACEBACK=1 to see where' in told
