# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A signal may come at any moment of a round of an executor, and ends it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import signal
import sys
from types import FrameType
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

from boundary_env_ros.ros import executors
from boundary_env_ros.ros.executors import Round

pytestmark = pytest.mark.ros

#: Lines that a round runs through, and more.
_MOMENTS = range(20)


@contextmanager
def signals(handler: Any) -> Iterator[None]:
    """Let a handler take SIGUSR1; where it waits for ever, SIGALRM ends the test."""

    def hangs(*_: object) -> None:
        raise TimeoutError('the handler of the signal waits for the thread that it interrupted')

    before = {number: signal.getsignal(number) for number in (signal.SIGUSR1, signal.SIGALRM)}
    signal.signal(signal.SIGUSR1, handler)
    signal.signal(signal.SIGALRM, hangs)
    signal.setitimer(signal.ITIMER_REAL, 10.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        for number, known in before.items():
            signal.signal(number, known)


@pytest.mark.parametrize('moment', _MOMENTS)
def test_a_signal_before_any_line_of_a_round_ends_it(moment: int) -> None:
    round_, told, lines = Round(), [], 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal lines
        if frame.f_code.co_filename != executors.__file__:
            return None
        if event == 'line':
            lines += 1
            if lines == moment + 1:
                signal.raise_signal(signal.SIGUSR1)
        return trace

    with signals(lambda *_: round_.end()):
        tracing = sys.gettrace()
        sys.settrace(trace)
        try:
            round_.add_done_callback(told.append)
            round_.end()
            round_.remove_done_callback(told.append)
        finally:
            sys.settrace(tracing)
    assert set(told) == {round_}
    # One that was ended before it began ends at once.
    later: list[Round] = []
    round_.add_done_callback(later.append)
    assert later == [round_]
