# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reading bytes directly gives what decoding and converting gives, and no errors but our own."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from rosbags.typesys import get_types_from_msg, get_typestore, Stores

from boundary_env_ros.core.records.parts import StepId
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.cdr import DecodedMessage, record_decoder
from boundary_env_ros.storage.definitions import SEPARATOR
from boundary_env_ros.storage.records import ContractDescription, RECORDS
from support.record_messages import from_message
from support.storage_wire import cdr, definition, EXCHANGED, records, transition, type_of

STEP_ID = 'boundary_env_ros/msg/StepId'


@cache
def decoders(cls: type):
    """Return the direct way from bytes to a record, and the way to any message."""
    text, _ = definition(type_of(cls))
    return record_decoder(cls, type_of(cls), text), record_decoder(
        DecodedMessage, type_of(cls), text
    )


@given(st.data())
@pytest.mark.parametrize('cls', [*RECORDS.values(), *EXCHANGED], ids=lambda cls: cls.__name__)
def test_any_record_is_read_as_decoding_and_converting_reads_it(cls: type, data) -> None:
    record = data.draw(records(cls))
    message = cdr(record)
    direct, other = decoders(cls)
    assert direct(message) == from_message(cls, other(message)) == record


@pytest.mark.parametrize('cls', RECORDS.values(), ids=lambda cls: cls.__name__)
def test_values_have_the_types_of_their_hints(cls: type) -> None:
    direct, _ = decoders(cls)

    @settings(max_examples=5)
    @given(records(cls))
    def check(record: object) -> None:
        message = cdr(record)
        # `repr` tells 1 from 1.0 and from a member of an enum, which `==` does not.
        assert repr(direct(message)) == repr(record)

    check()


def test_message_that_is_cut_anywhere_is_a_record_error() -> None:
    direct, _ = decoders(Transition)
    message = cdr(transition(1))
    for length in range(2, len(message), 7):
        with pytest.raises(RecordError, match='expected a message with the fields of Transition'):
            direct(message[:length])


def test_message_whose_last_text_is_cut_is_a_record_error() -> None:
    direct, _ = decoders(ContractDescription)
    described = ContractDescription(
        **dict.fromkeys((field.name for field in fields(ContractDescription)), 'text')
    )
    assert direct(cdr(described)) == described
    with pytest.raises(RecordError, match='it ends 2 bytes too early'):
        direct(cdr(described)[:-2])


@given(st.data())
def test_bytes_that_are_wrong_are_a_record_or_a_record_error(data) -> None:
    direct, _ = decoders(Transition)
    message = bytearray(cdr(transition(1)))
    for _ in range(3):
        message[data.draw(st.integers(4, len(message) - 1))] = data.draw(st.integers(0, 255))
    with suppress(RecordError):
        assert isinstance(direct(bytes(message)), Transition)


def test_number_that_is_no_constant_is_a_record_error() -> None:
    direct, _ = decoders(Transition)
    message = cdr(transition(1))
    digest = message.index(b'sha256:')
    # `kind` follows the step, which is the first uint64 after agent and episode.
    position = message.index(b'\x02\x01', digest)
    wrong = message[:position] + b'\x09' + message[position + 1 :]
    with pytest.raises(RecordError, match='got 9 is not a valid constant'):
        direct(wrong)


def test_field_that_only_the_message_has_is_read_over() -> None:
    text = (
        'other/Thing[] things\nstring digest\nother/Thing one\nstring[] more\nbool[3] flags\n'
        'string agent\nfloat64[] values\nstring episode_id\nuint64 step\nint8 last\n'
        f'{SEPARATOR}\nMSG: other/Thing\nint16 x\nother/Empty nothing\n'
        f'{SEPARATOR}\nMSG: other/Empty\n'
    )
    message = (
        b'\0\1\0\0'
        b'\2\0\0\0\1\0\0\0\2\0\0\0'  # two things, an empty message is one byte and padding
        b'\2\0\0\0d\0'
        b'\3\0\0\0\0\0'  # one thing, and padding
        b'\2\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0m\0'  # more: '' and 'm'
        b'\1\0\1'
        b'\0\0\0'
        b'\2\0\0\0a\0\0\0'
        b'\0\0\0\0'  # no values
        b'\0\0\0\0'  # an empty string without its zero
        b'\5\0\0\0\0\0\0\0'
        b'\xff'
    )
    read = record_decoder(StepId, STEP_ID, text)
    assert read(message) == StepId(digest='d', agent='a', episode_id='', step=5)


def test_field_without_which_a_record_means_nothing_is_named() -> None:
    with pytest.raises(
        RecordError,
        match=r"^boundary_env_ros/StepId cannot be read \(expected the field 'agent', ",
    ):
        record_decoder(StepId, STEP_ID, 'string digest\n')


@pytest.mark.parametrize(
    ('line', 'said'),
    [
        ('string[] digest', r"expected 'digest' as str, got string\[\]"),
        ('other/Thing digest', "expected 'digest' as str, got other/msg/Thing"),
        ('float64 digest', "expected 'digest' as str, got float64"),
        ('string digest\nfloat64 step', "expected 'step' as int, got float64"),
        ('string digest\nstring step', "expected 'step' as int, got string"),
        ('wstring digest', 'expected numbers and strings'),
        ('string digest\nother/Missing extra', 'no definition of other/Missing'),
    ],
)
def test_definition_that_does_not_fit_is_a_record_error(line: str, said: str) -> None:
    text = f'{line}\nstring agent\nstring episode_id\nuint64 step\n'
    text += f'{SEPARATOR}\nMSG: other/Thing\nint16 x\n'
    with pytest.raises(RecordError, match=said):
        record_decoder(StepId, STEP_ID, text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Widened:
    """A record whose numbers are wider than those of the message."""

    values: tuple[float, ...]
    value: float
    maybe: float | None
    signed: int
    names: tuple[str, ...]
    flag: bool


def test_numbers_are_widened_to_what_the_record_holds() -> None:
    text = 'int8[] values\nuint8 value\nfloat32 maybe\nint8 signed\nstring[] names\nuint8 flag\n'
    message = b'\0\1\0\0\2\0\0\0\xff\1\7\0\0\0\xc0\x7f\xfe\0\0\0\1\0\0\0\2\0\0\0n\0\2'
    read = record_decoder(Widened, 'mine/msg/Widened', text)
    assert repr(read(message)) == repr(
        Widened(values=(-1.0, 1.0), value=7.0, maybe=None, signed=-2, names=('n',), flag=True)
    )


EVERYTHING = f"""bool flag
byte raw
char letter
int8 a
uint64 b
float32 c
string text
bool[] flags
uint8[] data
int16[3] fixed
float64[] numbers
string[2] names
mine/Part lambda
mine/Part[] parts
{SEPARATOR}
MSG: mine/Part
int32 x
mine/Nothing[2] nothing
{SEPARATOR}
MSG: mine/Nothing
"""


def test_any_message_is_what_another_implementation_wrote() -> None:
    store = get_typestore(Stores.EMPTY)
    store.register(get_types_from_msg(EVERYTHING, 'mine/msg/X'))
    nothing = [store.types['mine/msg/Nothing'](0)] * 2
    part = store.types['mine/msg/Part']
    wrote = store.types['mine/msg/X'](
        *(True, 100, 97, -3, 2**63, 0.5, 'é'),
        *(np.array([True, False]), np.arange(5, dtype=np.uint8), np.arange(-1, 2, dtype=np.int16)),
        *(np.array([1.5, -2.5]), ['', 'n'], part(7, nothing), [part(8, nothing)]),
    )
    data = bytes(store.serialize_cdr(wrote, 'mine/msg/X'))
    read = record_decoder(DecodedMessage, 'mine/msg/X', EVERYTHING)
    found = vars(message := read(data))
    assert message.__slots__ == tuple(found)
    assert message.parts[0].__slots__ == ('x', 'nothing')
    nothing = (DecodedMessage(), DecodedMessage())
    assert found.pop('lambda') == DecodedMessage(x=7, nothing=nothing)
    assert found.pop('parts') == (DecodedMessage(x=8, nothing=nothing),)
    assert [each.tolist() for each in map(found.pop, ('flags', 'fixed', 'numbers'))] == [
        [True, False],
        [-1, 0, 1],
        [1.5, -2.5],
    ]
    assert found == {
        'flag': True,
        'raw': 100,
        'letter': 97,
        'a': -3,
        'b': 2**63,
        'c': 0.5,
        'text': 'é',
        'data': bytes(range(5)),
        'names': ('', 'n'),
    }
    for length in range(4, len(data) - 1):
        with pytest.raises(RecordError, match='expected a message with its definition'):
            read(data[:length])
