# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A transition as JSON: exact and strict."""

from __future__ import annotations

from dataclasses import replace
import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.record_reader import open_records
from boundary_env_ros.storage.transition_json import read_transition, transition_text
from support.storage_wire import records, transition


@pytest.fixture(scope='module')
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp('json') / 't.json'


@given(record=records(Transition))
def test_any_transition_survives_the_round_trip(file: Path, record: Transition) -> None:
    file.write_bytes(transition_text(record))
    assert read_transition(file) == record


@given(text=st.sampled_from(['nan', 'inf', '-inf']))
def test_numbers_that_are_not_finite_are_strings(file: Path, text: str) -> None:
    file.write_bytes(transition_text(replace(transition(1), reward=float(text))))
    assert json.loads(file.read_bytes(), parse_constant=pytest.fail)['reward'] == text
    assert str(read_transition(file).reward) == text


TEXT = transition_text(transition(1)).rstrip()


def _without(key: str) -> bytes:
    data = json.loads(TEXT)
    del data[key]
    return json.dumps(data).encode()


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        (TEXT[:-1], 'strict JSON'),
        (TEXT + b' {}', 'one transition'),
        (b'[]', r'an object \(Transition\)'),
        (_without('ending'), "expected the field 'ending', "),
        (TEXT[:-1] + b',"extra":1}', "got 'extra'"),
        (TEXT.replace(b'"1.1"', b'"2.1"'), 'records of another format .expected 1, got 2'),
        (TEXT.replace(b'"1.1"', b'1.1'), "expected a format such as '1.0', got 1.1"),
        (TEXT[:-1] + b',"ending":""}', "the key 'ending' is there twice"),
        (TEXT.replace(b'"reward": 0.5', b'"reward": NaN'), 'NaN is not JSON'),
        (TEXT.replace(b'"reward": 0.5', b'"reward": 1e999'), '1e999 is not a number of 64 bits'),
        (TEXT.replace(b'"reward": 0.5', b'"reward": 1' + b'0' * 400), 'expect'),
        (TEXT.replace(b'"kind": "STEP"', b'"kind": "JUMP"'), 'one of RESET, STEP'),
        (b'[' * 100_000, 'strict JSON'),
        (b'\xff\xfe', 'strict JSON'),
    ],
)
def test_what_is_no_transition_is_named_with_its_file(
    tmp_path: Path, text: bytes, said: str
) -> None:
    path = tmp_path / 't.json'
    path.write_bytes(text)
    with pytest.raises(RecordError, match=said) as error:
        list(open_records(path).records())
    assert str(error.value).startswith('t.json')
