# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Records are written as an independent implementation writes them, byte by byte."""

from __future__ import annotations

from functools import cache

from hypothesis import given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.transition import Transition
from boundary_env_ros.errors import RecordError
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


@pytest.mark.parametrize('cls', RECORDS.values(), ids=lambda cls: cls.__name__)
def test_messages_of_this_package_are_known_without_ros(
    cls: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('AMENT_PREFIX_PATH', '')
    monkeypatch.setattr('sys.prefix', '/nowhere')
    text, type_hash = known_definition(type_of(cls))
    assert type_hash.startswith('RIHS01_')
    assert RecordEncoder(cls, type_of(cls), text)
