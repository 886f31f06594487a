# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Transitions as lines: exact, strict, and worth at most one line to a crash."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
import json
import os
from pathlib import Path
import signal
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.transition import Transition
from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.jsonl import (
    dump_line,
    load_line,
    read_jsonl,
    read_lines,
    TransitionJsonl,
)
from support.storage_wire import records, transition


def torn(path: Path) -> bool:
    """Return whether the last line of a file is torn."""
    return any(found is None for _, found in read_lines(path))


def write(path: Path, count: int) -> list[Transition]:
    written = [transition(step) for step in range(count)]
    with TransitionJsonl(path) as log:
        for record in written:
            log.append(record)
    return written


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    written = write(tmp_path / 't.jsonl', 5)
    assert list(read_jsonl(tmp_path / 't.jsonl')) == written
    assert not torn(tmp_path / 't.jsonl')
    assert [number for number, _ in read_lines(tmp_path / 't.jsonl')] == [1, 2, 3, 4, 5]


@given(records(Transition))
def test_any_transition_survives_the_round_trip(record: Transition) -> None:
    line = dump_line(record)
    assert line.endswith(b'\n')
    assert line.count(b'\n') == 1
    assert load_line(line, 'line') == record


@given(st.sampled_from(['nan', 'inf', '-inf']))
def test_numbers_that_are_not_finite_are_strings(text: str) -> None:
    line = dump_line(replace(transition(1), reward=float(text)))
    assert json.loads(line, parse_constant=pytest.fail)['reward'] == text
    assert str(load_line(line, 'line').reward) == text


def test_each_line_is_on_its_way_when_append_returns(tmp_path: Path) -> None:
    log = TransitionJsonl(tmp_path / 't.jsonl')
    for count in range(1, 4):
        log.append(transition(count))
        assert len(list(read_jsonl(tmp_path / 't.jsonl'))) == log.lines == count
    log.close()


def test_existing_file_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / 't.jsonl').write_text('mine')
    with pytest.raises(RecordError, match=r't\.jsonl exists already, not overwritten'):
        TransitionJsonl(tmp_path / 't.jsonl')
    assert (tmp_path / 't.jsonl').read_text() == 'mine'


def test_closed_file_refuses_transitions(tmp_path: Path) -> None:
    log = TransitionJsonl(tmp_path / 't.jsonl')
    log.close()
    log.close()
    with pytest.raises(RecordError, match='is closed, after 0 lines'):
        log.append(transition(0))


def test_full_disk_is_told_at_every_append(
    tmp_path: Path, limit_files: Callable[[int], None]
) -> None:
    log = TransitionJsonl(tmp_path / 't.jsonl')
    limit_files(5 * len(LINE))
    for step in range(4):
        log.append(transition(step))
    for _ in range(2):
        with pytest.raises(RecordError, match='File too large. 4 whole lines before it can be'):
            log.append(transition(4))
    log.close()
    assert len(list(read_jsonl(tmp_path / 't.jsonl'))) == 4
    assert torn(tmp_path / 't.jsonl')


@pytest.mark.parametrize('whole', [0, 1, 4])
def test_torn_last_line_is_told_apart_wherever_it_is_torn(tmp_path: Path, whole: int) -> None:
    written = write(tmp_path / 'whole.jsonl', 5)
    lines = (tmp_path / 'whole.jsonl').read_bytes().splitlines(keepends=True)
    for cut in [1, 2, 17, len(lines[whole]) // 2, len(lines[whole]) - 2]:
        place = tmp_path / 'torn.jsonl'
        place.write_bytes(b''.join(lines[:whole]) + lines[whole][:cut])
        assert list(read_jsonl(place)) == written[:whole]
        assert torn(place)


def test_last_line_without_its_end_is_whole_if_it_holds_a_record(tmp_path: Path) -> None:
    written = write(tmp_path / 't.jsonl', 2)
    text = (tmp_path / 't.jsonl').read_bytes()
    (tmp_path / 't.jsonl').write_bytes(text.rstrip(b'\n'))
    assert list(read_jsonl(tmp_path / 't.jsonl')) == written
    assert not torn(tmp_path / 't.jsonl')


def _without(key: str) -> bytes:
    data = json.loads(dump_line(transition(1)))
    del data[key]
    return json.dumps(data).encode()


LINE = dump_line(transition(1)).rstrip(b'\n')


@pytest.mark.parametrize(
    ('line', 'said'),
    [
        (b'', 'strict JSON'),
        (LINE[:-1], 'strict JSON'),
        (LINE + b' {}', 'strict JSON'),
        (b'[]', r'an object \(Transition\)'),
        (_without('ending'), "the key 'ending' is missing"),
        (LINE[:-1] + b',"extra":1}', "unknown key 'extra'"),
        (LINE[:-1] + b',"ending":""}', "the key 'ending' is there twice"),
        (LINE.replace(b'"reward":0.5', b'"reward":NaN'), 'NaN is not JSON'),
        (LINE.replace(b'"reward":0.5', b'"reward":1e999'), '1e999 is not a number of 64 bits'),
        (LINE.replace(b'"reward":0.5', b'"reward":1' + b'0' * 400), 'expect'),
        (LINE.replace(b'"kind":"STEP"', b'"kind":"JUMP"'), 'one of RESET, STEP'),
        (b'[' * 100_000, 'strict JSON'),
        (b'\xff\xfe', 'strict JSON'),
    ],
)
def test_wrong_line_is_named_with_file_and_number(tmp_path: Path, line: bytes, said: str) -> None:
    path = tmp_path / 't.jsonl'
    path.write_bytes(dump_line(transition(0)) + line + b'\n' + dump_line(transition(2)))
    found = []
    with pytest.raises(RecordError, match=said) as error:
        found.extend(read_jsonl(path))
    assert str(error.value).startswith(f'{path}:2')


def test_missing_file_is_a_record_error(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match='No such file'):
        list(read_jsonl(tmp_path / 'nothing.jsonl'))


_WRITE_FOR_EVER = """
import sys
from pathlib import Path
sys.path[:0] = {path!r}
from support.storage_wire import transition
from boundary_env_ros.storage.jsonl import TransitionJsonl
log = TransitionJsonl(Path({file!r}))
record = transition(1)
while True:
    log.append(record)
    print(log.lines, flush=True)
"""


def test_kill_minus_nine_takes_at_most_the_current_line(tmp_path: Path) -> None:
    file = tmp_path / 't.jsonl'
    program = _WRITE_FOR_EVER.format(path=sys.path, file=str(file))
    with subprocess.Popen(
        [sys.executable, '-c', program], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        for _ in range(50):
            promised = int(child.stdout.readline())
        os.kill(child.pid, signal.SIGKILL)
        rest = [line for line in child.stdout.read().splitlines(keepends=True) if line[-1] == '\n']
        promised = int(rest[-1]) if rest else promised
    assert promised <= len(list(read_jsonl(file))) <= promised + 1
