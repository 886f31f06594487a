# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is waited for after an advance: what was announced, of interest, and not here yet."""

from __future__ import annotations

from core_world import step_id
from hypothesis import given
from hypothesis import strategies as st

from boundary_env_ros.core.lockstep import awaited, WorldAdvanced
from boundary_env_ros.core.timebase import RosTime

TOPICS = ('/pose', '/scan', '/camera')


def report(published: tuple[int, ...], last: tuple[int, ...]) -> WorldAdvanced:
    return WorldAdvanced(
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
