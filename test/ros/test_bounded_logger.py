# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whoever is in the domain cannot make a node fill a disk with its log."""

from __future__ import annotations

import time
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.logging import LoggingSeverity

from boundary_env_ros.ros.bounded_logger import BoundedLogger

pytestmark = pytest.mark.ros


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    texts: list[str] = []

    def log(_: Any, message: str, severity: Any, **__: Any) -> bool:
        texts.append(message)
        return True

    monkeypatch.setattr(RcutilsLogger, 'log', log)
    return texts


def test_long_texts_without_end_are_cut_and_left_out_and_counted(
    logged: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(time, 'monotonic', lambda: now)
    logger = BoundedLogger('gate')
    for now in range(100):  # noqa: B007 - the clock
        for _ in range(100):
            logger.error('x' * 300_000)
    assert sum(map(len, logged)) < 250_000
    assert sum('texts were left out' in text for text in logged) > 10
    logger.fatal('y' * 5_000)
    assert logged[-1].startswith('y' * 5_000)


def test_what_a_node_says_of_itself_is_logged_as_it_is(logged: list[str]) -> None:
    logger = BoundedLogger('gate')
    texts = [f'step {number}' for number in range(500)]
    for text in texts:
        logger.info(text)
    assert logged == texts


def test_it_tells_the_lines_of_code_apart() -> None:
    logger = BoundedLogger('gate')
    logger.set_level(LoggingSeverity.INFO)  # whatever other tests of this process left
    for first in (True, False):
        assert logger.info('one', throttle_duration_sec=100.0) is first
        assert logger.info('other', throttle_duration_sec=100.0) is first
