# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Who sent a message: forged, changed, moved and repeated ones are refused."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.authentication import Role, Sealer, Verifier
from boundary_env_ros.core.timebase import NANOSECONDS

_KEY, _TOPIC = bytes(range(32)), '/boundary/action_request'
# A message as it is on the wire: encapsulation, body, a last field that is empty.
_MESSAGE = b'\0\1\0\0' + b'move on!' + bytes(4)
_NOW = 1_800_000_000 * NANOSECONDS


def sealer(
    key: bytes = _KEY, name: str = _TOPIC, role: Role = Role.CLIENT, sender: bytes = b'a' * 7
) -> Sealer:
    return Sealer(key, name, role, sender)


@pytest.fixture
def verifier() -> Verifier:
    return Verifier(_KEY, _TOPIC, _NOW)


def test_messages_of_a_sender_are_taken_in_their_order(verifier: Verifier) -> None:
    sender = sealer()
    # Its clock may stand still, or go back.
    for now in (_NOW, _NOW, _NOW - 1, _NOW + 5):
        assert not verifier.fault(sender.seal(_MESSAGE, now), _NOW)


@pytest.mark.parametrize(
    'forged',
    [
        _MESSAGE,
        sealer(key=bytes(32)).seal(_MESSAGE, _NOW),
        sealer(name='/boundary/episode_status').seal(_MESSAGE, _NOW),
        b'\0\0' + sealer().seal(_MESSAGE, _NOW)[2:],
        b'',
    ],
    ids=['untagged', 'another key', 'another topic', 'another byte order', 'empty'],
)
def test_what_bears_no_right_authentication_is_refused(verifier: Verifier, forged: bytes) -> None:
    assert verifier.fault(forged, _NOW)


@given(at=st.integers(4, len(_MESSAGE) + 47), flip=st.integers(1, 255))
def test_a_message_of_which_any_byte_was_changed_is_refused(at: int, flip: int) -> None:
    sealed = bytearray(sealer().seal(_MESSAGE, _NOW))
    sealed[at] ^= flip
    assert Verifier(_KEY, _TOPIC, _NOW).fault(bytes(sealed), _NOW)


def test_the_options_of_the_middleware_are_not_the_senders(verifier: Verifier) -> None:
    sealed = bytearray(sealer().seal(_MESSAGE, _NOW))
    sealed[3] = 3
    assert not verifier.fault(bytes(sealed), _NOW)


def test_a_message_that_is_sent_again_is_refused(verifier: Verifier) -> None:
    sender = sealer()
    first, second = (sender.seal(_MESSAGE, _NOW + i) for i in range(2))
    assert not verifier.fault(first, _NOW)
    assert not verifier.fault(second, _NOW)
    assert 'its number was used' in verifier.fault(first, _NOW)
    assert 'its number was used' in verifier.fault(second, _NOW)


def test_what_a_sender_said_that_is_gone_cannot_be_sent_again(verifier: Verifier) -> None:
    before = sealer(sender=b'b' * 7).seal(_MESSAGE, _NOW - 60 * NANOSECONDS)
    assert not verifier.fault(sealer().seal(_MESSAGE, _NOW), _NOW)
    assert 'its number was used' in verifier.fault(before, _NOW)


def test_what_was_recorded_before_a_receiver_began_is_none_of_its_business() -> None:
    recorded = [sealer().seal(_MESSAGE, _NOW + i) for i in range(3)]
    fresh = Verifier(_KEY, _TOPIC, _NOW + 60 * NANOSECONDS)
    for message in recorded:
        assert 'its number was used' in fresh.fault(message, _NOW + 60 * NANOSECONDS)
    assert not Verifier(_KEY, _TOPIC, _NOW).fault(recorded[0], _NOW)


def test_a_receiver_whose_clock_is_set_back_hears_those_who_were_right(verifier: Verifier) -> None:
    now = _NOW - 3600 * NANOSECONDS
    assert not verifier.fault(sealer().seal(_MESSAGE, now), now)


def test_two_clients_whose_clocks_differ_a_little_are_both_heard(verifier: Verifier) -> None:
    ahead, behind = sealer(), sealer(sender=b'b' * 7)
    for i in range(3):
        assert not verifier.fault(ahead.seal(_MESSAGE, _NOW + i), _NOW)
        assert not verifier.fault(behind.seal(_MESSAGE, _NOW + i - 5 * NANOSECONDS), _NOW)


def test_what_the_recorder_said_long_ago_is_taken_beside_the_environment() -> None:
    """Both latch the status of an episode, and a client that comes late hears both."""
    verifier = Verifier(_KEY, _TOPIC, _NOW, lasting=(Role.RECORDER,))
    said = sealer(role=Role.RECORDER, sender=b'b' * 7).seal(_MESSAGE, _NOW - 3600 * NANOSECONDS)
    assert not verifier.fault(sealer(role=Role.ENVIRONMENT).seal(_MESSAGE, _NOW), _NOW)
    assert not verifier.fault(said, _NOW)


def test_many_senders_are_remembered_and_no_more(verifier: Verifier) -> None:
    old = sealer().seal(_MESSAGE, _NOW)
    assert not verifier.fault(old, _NOW)
    for i in range(2000):
        other = sealer(sender=i.to_bytes(7, 'big'))
        now = _NOW + i * NANOSECONDS
        assert not verifier.fault(other.seal(_MESSAGE, now), now)
    assert len(verifier._last) <= 1000
    assert verifier.fault(old, _NOW), 'a sender that was forgotten is not heard again'


def test_those_that_are_refused_push_out_nobody_who_is_heard(verifier: Verifier) -> None:
    live = sealer()
    assert not verifier.fault(live.seal(_MESSAGE, _NOW), _NOW)
    for i in range(1001):
        old = sealer(sender=i.to_bytes(7, 'big')).seal(_MESSAGE, _NOW - 60 * NANOSECONDS)
        assert verifier.fault(old, _NOW)
    assert list(verifier._last.values()) == [_NOW]


def test_a_clock_that_is_ahead_locks_nobody_else_out(verifier: Verifier) -> None:
    ahead = sealer(sender=b'b' * 7).seal(_MESSAGE, _NOW + 3600 * NANOSECONDS)
    assert 'its number is ahead' in verifier.fault(ahead, _NOW)
    assert not verifier.fault(sealer().seal(_MESSAGE, _NOW), _NOW)


def test_a_call_that_was_recorded_or_kept_is_refused_by_a_gate_that_knows_nothing_of_it() -> None:
    call = sealer().seal(_MESSAGE, _NOW)
    assert not Verifier(_KEY, _TOPIC, _NOW - 1, calls=True).fault(call, _NOW)
    assert 'was recorded' in Verifier(_KEY, _TOPIC, _NOW, calls=True).fault(call, _NOW)
    late = Verifier(_KEY, _TOPIC, _NOW - 1, calls=True)
    assert 'was recorded' in late.fault(call, _NOW + 11 * NANOSECONDS)


def test_the_field_is_the_last_of_every_message_and_request_that_has_it() -> None:
    found = 0
    for path in sorted(Path(__file__).parents[2].glob('[ms][sr][gv]/*.[ms]*')):
        request = path.read_text(encoding='utf-8').split('\n---')[0]
        names = [line.split()[1] for line in request.splitlines() if line and line[0] != '#']
        if 'authentication' in names:
            found += 1
            assert names.index('authentication') == len(names) - 1, path.name
    assert found == 9
