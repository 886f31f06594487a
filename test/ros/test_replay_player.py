# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a replay publishes next, and when: rate, pause, steps; no ROS is needed."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from boundary_env_ros.ros.replaying_player import AHEAD, in_order, Player, Recorded

MS = 1_000_000
TRANSITION = 'boundary_env_ros/msg/Transition'


def message(time: int, topic: str = '/odom', kind: str = 'x/msg/X') -> Recorded:
    return Recorded(topic, kind, time * MS, time * MS, str(time).encode())


RECORD = [
    message(0, '/contract'),
    message(0),
    message(100),
    message(150, '/transition', TRANSITION),
    message(200, '/status'),
    message(200),
    message(300),
    message(350, '/transition', TRANSITION),
    message(400, '/status'),
    message(1000),
]
LATCHED = {'/contract': 50, '/status': 1}


def player(
    begin: int = 0, *, rate: float = 1.0, paused: bool = False, transition: str = TRANSITION
) -> Player:
    return Player(
        lambda: iter(RECORD),
        begin * MS,
        rate=rate,
        paused=paused,
        latched=LATCHED,
        transition=transition,
    )


def times(messages: Iterable[Recorded]) -> list[int]:
    return [m.time // MS for m in messages]


# Time --------------------------------------------------------------------------------------------


@pytest.mark.parametrize('rate', [1.0, 0.5, 4.0])
def test_each_message_is_due_at_its_time_and_only_once(rate: float) -> None:
    one = player(rate=rate)
    at = {0: [0, 0], 99: [], 100: [100], 250: [150, 200, 200], 999: [300, 350, 400], 1000: [1000]}
    for time, expected in at.items():
        assert times(one.due(round(7 + time * MS / rate) + 1)) == expected, time
    assert one.over
    assert one.wait(0) == float('inf')


def test_it_says_how_long_nothing_is_due() -> None:
    one = player(rate=2.0)
    times(one.due(0))
    assert one.wait(10 * MS) == pytest.approx(0.04)
    assert one.wait(90 * MS) == 0.0


def test_a_pause_takes_no_time_of_the_record() -> None:
    one = player()
    times(one.due(0))
    one.set_paused(True, 120 * MS)
    assert times(one.due(5000 * MS)) == []
    assert one.wait(5000 * MS) == float('inf')
    one.set_paused(False, 9000 * MS)
    assert times(one.due(9029 * MS)) == [100]
    assert times(one.due(9030 * MS)) == [150]


# Beginning and steps -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('place', 'latched', 'following'),
    [(250, [0, 200], 300), (50, [0], 100), (0, [0], 0), (900, [0, 400], 1000)],
)
def test_what_was_latched_before_the_beginning_is_latched_again(
    place: int, latched: list[int], following: int
) -> None:
    one = player(begin=place, transition='', paused=True)
    assert one.wait(0) == 0.0
    assert times(one.due(0)) == latched
    assert times(one.step(0)) == [following]


def test_the_way_to_the_beginning_takes_no_time_of_the_record() -> None:
    one = player(begin=250)
    # However long the record was read for that.
    assert times(one.due(9000 * MS)) == [0, 200]
    assert times(one.due(9050 * MS)) == [300]


def test_a_step_is_all_up_to_the_next_transition() -> None:
    one = player(paused=True)
    # What a node said once, when it began, is there at once.
    assert [m.topic for m in one.due(0)] == ['/contract']
    assert times(one.due(0)) == []
    assert times(one.step(0)) == [0, 100, 150]
    assert one.position(0) == 150 * MS
    assert times(one.step(0)) == [200, 200, 300, 350]
    # Without another one it is all that is left.
    assert times(one.step(0)) == [400, 1000]
    assert times(one.step(0)) == []
    assert one.over


def test_a_step_where_no_transitions_are_published_is_a_message() -> None:
    one = player(paused=True, transition='')
    times(one.due(0))
    assert times(one.step(0)) == [0]
    assert times(one.step(0)) == [100]


def test_a_step_pauses_what_runs() -> None:
    one = player()
    times(one.due(0))
    assert times(one.step(50 * MS)) == [100, 150]
    assert one.paused
    assert times(one.due(9000 * MS)) == []


# Order -------------------------------------------------------------------------------------------


def test_messages_come_in_the_order_in_which_they_were_sent() -> None:
    sent = {1: 90, 2: 80, 3: 120, 4: 100}
    record = [Recorded('/x', 'x', (200 + n) * MS, time * MS, b'') for n, time in sent.items()]
    assert times(in_order(record)) == [80, 90, 100, 120]


def test_what_was_sent_long_before_or_in_the_future_stands_where_it_was_received() -> None:
    now = AHEAD // MS
    record = [
        Recorded('/x', 'x', (now * 3) * MS, 5 * MS, b'latched'),
        Recorded('/x', 'x', (now * 3 + 1) * MS, (now * 3 - 1) * MS, b''),
        Recorded('/x', 'x', (now * 3 + 2) * MS, (now * 3 + 7) * MS, b'of another clock'),
    ]
    assert times(in_order(record)) == [now * 3 - 1, now * 3, now * 3 + 2]


def test_of_equal_times_the_order_of_the_record_stays() -> None:
    record = [Recorded('/x', 'x', 5, 5, bytes([n])) for n in range(20)]
    assert list(in_order(record)) == record
