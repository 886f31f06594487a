# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A message of a plugin comes whole within its time, or there is an error in its place."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from boundary_env_ros.simulation.plugin_wire import packed, receive


def test_a_message_in_pieces_is_one_message() -> None:
    here, there = socket.socketpair()
    message = {'call': 'step', 'arguments': {'text': 'x' * 100_000}}

    def say() -> None:
        data = packed(message)
        for start in range(0, len(data), 7_000):
            there.sendall(data[start : start + 7_000])

    with here, there:
        speaker = threading.Thread(target=say)
        speaker.start()
        assert receive(here, 30.0) == message
        speaker.join()


@pytest.mark.parametrize('length', [0, 2, 4, 20], ids='{}B'.format)
def test_a_message_that_never_becomes_whole_is_not_waited_for(length: int) -> None:
    here, there = socket.socketpair()
    with here, there:
        there.sendall(packed({'call': 'a call of many letters'})[:length])
        with pytest.raises(TimeoutError):
            receive(here, 0.05)


def test_what_drips_is_not_waited_for_beyond_the_deadline() -> None:
    here, there = socket.socketpair()
    over = threading.Event()

    def drip() -> None:
        for byte in packed({'call': 'x' * 100_000}):
            if over.wait(0.01):
                return
            there.sendall(bytes([byte]))

    with here, there:
        speaker = threading.Thread(target=drip)
        speaker.start()
        begun = time.monotonic()
        with pytest.raises(TimeoutError):
            receive(here, 0.3)
        waited = time.monotonic() - begun
        over.set()
        speaker.join()
    assert waited < 30.0


def test_an_end_in_the_middle_of_a_message_is_an_end() -> None:
    here, there = socket.socketpair()
    with here:
        with there:
            there.sendall(packed({'call': 'step'})[:9])
        with pytest.raises(EOFError):
            receive(here, 30.0)


@pytest.mark.parametrize(
    'data', [b'[]', b'7', b'{', b'[' * 60_000], ids=['list', 'number', 'torn', 'nested']
)
def test_what_is_no_object_is_refused(data: bytes) -> None:
    here, there = socket.socketpair()
    with here, there:
        there.sendall(len(data).to_bytes(4, 'big') + data)
        with pytest.raises(ValueError, match='a message that is|Expecting'):
            receive(here, 30.0)


def test_a_length_that_no_answer_has_is_refused_unread() -> None:
    here, there = socket.socketpair()
    with here, there:
        there.sendall(b'\xff\xff\xff\xff')
        with pytest.raises(ValueError, match='a message of 4294967295 bytes'):
            receive(here, 30.0)
