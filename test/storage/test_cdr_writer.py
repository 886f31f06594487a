# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Records are written as an independent implementation writes them, byte by byte."""

from __future__ import annotations

from functools import cache

from hypothesis import given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.records.parts import StepId
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.cdr import DecodedMessage, record_decoder
from boundary_env_ros.storage.cdr_writer import RecordEncoder
from boundary_env_ros.storage.definitions import known_definition
from boundary_env_ros.storage.records import RECORDS
from support.storage_wire import (
    cdr,
    definition,
    EXCHANGED,
    records,
    transition,
    type_of,
    typestore,
)


@cache
def encoder(cls: type) -> RecordEncoder:
    return RecordEncoder(cls, type_of(cls), definition(type_of(cls))[0])


@given(st.data())
@pytest.mark.parametrize('cls', [*RECORDS.values(), *EXCHANGED], ids=lambda cls: cls.__name__)
def test_any_record_is_written_as_another_implementation_writes_it(cls: type, data) -> None:
    record = data.draw(records(cls))
    assert encoder(cls)(record) == cdr(record)


def test_header_has_the_time_that_is_asked_for() -> None:
    data = encoder(Transition)(transition(1), 1_234_567_890_123_456_789)
    message = typestore().deserialize_cdr(data, type_of(Transition))
    stamps = [part.header.stamp for part in (message, *message.decisions)]
    # What is within another message is stamped by its own instants.
    assert [(each.sec, each.nanosec) for each in stamps] == [
        (1_234_567_890, 123_456_789),
        *[(0, 0)] * len(message.decisions),
    ]
    assert len(stamps) > 1


def test_message_without_a_field_of_the_record_is_refused() -> None:
    text = definition(type_of(Transition))[0].replace('uint64 seed\n', '', 1)
    with pytest.raises(RecordError, match="has no field 'seed'"):
        RecordEncoder(Transition, type_of(Transition), text)


def test_fields_that_only_the_message_has_are_written_as_nothing() -> None:
    text = (
        'string digest\nfloat64[3] place\nuint8[2] code\nstring agent\nfloat32[] others\n'
        'string episode_id\nuint64 step\n'
    )
    step = StepId(digest='d', agent='a', episode_id='e', step=7)
    data = RecordEncoder(StepId, type_of(StepId), text)(step)
    found = record_decoder(DecodedMessage, type_of(StepId), text)(data)
    assert (list(found.place), found.code, list(found.others)) == ([0.0] * 3, b'\0\0', [])
    assert record_decoder(StepId, type_of(StepId), text)(data) == step


@pytest.mark.parametrize('cls', RECORDS.values(), ids=lambda cls: cls.__name__)
def test_messages_of_this_package_are_known_without_ros(
    cls: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('AMENT_PREFIX_PATH', '')
    monkeypatch.setattr('sys.prefix', '/nowhere')
    text, type_hash = known_definition(type_of(cls))
    assert type_hash.startswith('RIHS01_')
    assert RecordEncoder(cls, type_of(cls), text)
