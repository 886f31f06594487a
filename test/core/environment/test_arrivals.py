# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How far the world may advance, and what is waited for afterwards: what was announced."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.environment.arrivals import refuse_long
from boundary_env_ros.core.records.lockstep import awaited, SimStepRequest, SimStepResponse
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.timebase import RosTime
from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.contract_file import load
from support.core_world import step_id

TOPICS = ('/pose', '/scan', '/camera')


def report(published: tuple[int, ...], last: tuple[int, ...]) -> SimStepResponse:
    return SimStepResponse(
        id=step_id(1), success=True, message='', topics=TOPICS, published=published,
        last_stamp=tuple(map(RosTime, last)), dropped=(0, 0, 0),
    )  # fmt: skip


def test_what_was_published_and_is_not_here_is_waited_for() -> None:
    assert awaited(report((1, 1, 1), (5, 5, 5)), TOPICS, {}) == TOPICS
    assert awaited(report((1, 1, 1), (5, 5, 5)), TOPICS, {'/scan': 5}) == ('/pose', '/camera')


def test_the_last_message_is_waited_for_not_the_first() -> None:
    assert awaited(report((2, 0, 0), (9, 0, 0)), TOPICS, {'/pose': 4}) == ('/pose',)
    assert awaited(report((2, 0, 0), (9, 0, 0)), TOPICS, {'/pose': 9}) == ()


def test_what_was_dropped_or_not_due_is_not_waited_for() -> None:
    assert awaited(report((0, 0, 0), (5, 5, 5)), TOPICS, {}) == ()


def test_what_nobody_is_interested_in_is_not_waited_for() -> None:
    assert awaited(report((1, 1, 1), (5, 5, 5)), {'/scan'}, {}) == ('/scan',)


def test_messages_without_a_stamp_cannot_be_waited_for() -> None:
    assert awaited(report((1, 1, 1), (0, 5, 0)), TOPICS, {}) == ('/scan',)


counts = st.tuples(*[st.integers(0, 2)] * 3)
stamps = st.tuples(*[st.integers(0, 5)] * 3)


@given(
    published=counts, last=stamps, seen=st.dictionaries(st.sampled_from(TOPICS), st.integers(0, 5))
)
def test_nothing_is_waited_for_once_everything_announced_has_come(
    published: tuple[int, ...], last: tuple[int, ...], seen: dict[str, int]
) -> None:
    answer = report(published, last)
    for topic in awaited(answer, TOPICS, seen):
        seen[topic] = last[TOPICS.index(topic)]
    assert awaited(answer, TOPICS, seen) == ()


@pytest.mark.parametrize('duration', [0, 1, 100_000_000])
def test_the_world_may_advance_by_up_to_a_period(duration: int) -> None:
    refuse_long(wish(duration), load('warehouse_cart', Pacing.LOCKSTEP).contract)


@pytest.mark.parametrize('duration', [-1, 100_000_001 * 10, 2**63 - 1])
def test_the_world_goes_neither_back_nor_away(duration: int) -> None:
    with pytest.raises(RecordError, match=r'expected 0 to .* s, .*, got -?[\de.+-]+ s'):
        refuse_long(wish(duration), load('warehouse_cart', Pacing.LOCKSTEP).contract)


def wish(duration: int) -> SimStepRequest:
    return SimStepRequest(id=step_id(1), duration=duration, command_stamp=RosTime(0))
