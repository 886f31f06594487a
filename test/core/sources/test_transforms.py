# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Frames are looked up as tf2 does it; what cannot be known is an error that says why."""

from __future__ import annotations

import math
from types import SimpleNamespace as Plain
from typing import Any

import pytest

from boundary_env_ros.core.sources.transforms import CACHE_TIME, TransformBuffer, TransformLink
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.errors import RecordError

Place = tuple[float, float, float]


def turn(yaw: float) -> tuple[float, float, float, float]:
    return 0.0, 0.0, math.sin(yaw / 2.0), math.cos(yaw / 2.0)


def message(
    parent: str,
    child: str,
    place: Place = (0.0, 0.0, 0.0),
    rotation: tuple[float, ...] = (0.0, 0.0, 0.0, 1.0),
    stamp: int = 1,
) -> Any:
    seconds, nanoseconds = divmod(stamp, NANOSECONDS)
    x, y, z = place
    a, b, c, d = rotation
    return Plain(
        transforms=[
            Plain(
                header=Plain(stamp=Plain(sec=seconds, nanosec=nanoseconds), frame_id=parent),
                child_frame_id=child,
                transform=Plain(
                    translation=Plain(x=x, y=y, z=z), rotation=Plain(x=a, y=b, z=c, w=d)
                ),
            )
        ]
    )


def buffer(*messages: Any, static: tuple[Any, ...] = ()) -> TransformBuffer:
    made = TransformBuffer()
    for each in messages:
        made.add(each, static=False)
    for each in static:
        made.add(each, static=True)
    return made


def yaw_of(link: TransformLink) -> float:
    _, _, z, w = link.rotation
    return 2.0 * math.atan2(z, w)


def test_a_chain_is_followed_upwards_and_downwards() -> None:
    tree = buffer(
        message('map', 'cart', (1.0, 2.0, 0.0), turn(math.pi / 2.0)),
        static=(message('cart', 'laser', (0.5, 0.0, 0.2)), message('map', 'goal', (1.0, 5.0, 0))),
    )
    seen = tree.look_up('map', 'laser')
    assert seen.translation == pytest.approx((1.0, 2.5, 0.2))
    assert yaw_of(seen) == pytest.approx(math.pi / 2.0)
    goal = tree.look_up('laser', 'goal')
    assert goal.translation == pytest.approx((2.5, 0.0, -0.2))
    assert yaw_of(goal) == pytest.approx(-math.pi / 2.0)


def test_between_two_samples_the_translation_is_linear_and_the_turn_even_the_shorter_way() -> None:
    tree = buffer(
        message('map', 'cart', (0.0, 0.0, 0.0), turn(3.0), stamp=100),
        message('map', 'cart', (4.0, 8.0, 0.0), turn(-3.0), stamp=500),
    )
    for share in (0.0, 0.25, 0.5, 1.0):
        link = tree.look_up('map', 'cart', 100 + round(400 * share))
        assert link.translation == pytest.approx((4.0 * share, 8.0 * share, 0.0))
        expected = 3.0 + share * (2.0 * math.pi - 6.0)
        assert math.remainder(yaw_of(link) - expected, 2.0 * math.pi) == pytest.approx(0.0)


def test_the_newest_pose_is_that_of_the_newest_instant_that_all_moving_links_have() -> None:
    tree = buffer(
        message('map', 'cart', (0.0, 0.0, 0.0), stamp=100),
        message('map', 'cart', (1.0, 0.0, 0.0), stamp=300),
        message('cart', 'arm', (0.0, 1.0, 0.0), stamp=200),
    )
    link = tree.look_up('map', 'arm')
    assert (link.stamp, link.translation) == (200, pytest.approx((0.5, 1.0, 0.0)))
    # The root's own way does not matter for two frames below it.
    tree.add(message('cart', 'arm', (0.0, 2.0, 0.0), stamp=900), static=False)
    assert tree.look_up('cart', 'arm').stamp == 900


def test_a_chain_of_static_links_holds_at_any_time() -> None:
    tree = buffer(static=(message('cart', 'laser', (0.5, 0.0, 0.0), stamp=0),))
    assert tree.look_up('cart', 'laser').stamp == 0
    assert tree.look_up('cart', 'laser', 12345).translation == (0.5, 0.0, 0.0)


def test_samples_may_come_out_of_order_and_the_last_word_on_an_instant_counts() -> None:
    tree = buffer(
        message('map', 'cart', (3.0, 0.0, 0.0), stamp=300),
        message('map', 'cart', (1.0, 0.0, 0.0), stamp=100),
        message('map', 'cart', (9.0, 0.0, 0.0), stamp=100),
    )
    assert tree.look_up('map', 'cart').translation == (3.0, 0.0, 0.0)
    assert tree.look_up('map', 'cart', 100).translation == (9.0, 0.0, 0.0)


def test_memory_is_bounded_whatever_comes() -> None:
    many = TransformBuffer()
    for i in range(25_000):
        many.add(message('map', 'base', stamp=NANOSECONDS + i), static=False)
    assert len(many._moving['base']) <= 20_000
    assert many.look_up('map', 'base').stamp == NANOSECONDS + 24_999
    with pytest.raises(RecordError, match='at most 4096 frames'):
        for i in range(5_000):
            many.add(message('map', f'frame_{i}'), static=bool(i % 2))


def test_nothing_is_kept_for_ever_and_a_clock_that_was_set_back_begins_anew() -> None:
    tree = buffer(*(message('map', 'cart', stamp=n * NANOSECONDS) for n in range(1, 60)))
    with pytest.raises(RecordError, match='Nothing is extrapolated'):
        tree.look_up('map', 'cart', 30 * NANOSECONDS)
    tree.look_up('map', 'cart', 59 * NANOSECONDS - CACHE_TIME)
    tree.add(message('map', 'cart', (7.0, 0.0, 0.0), stamp=NANOSECONDS), static=False)
    assert tree.look_up('map', 'cart').translation == (7.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ('frames', 'stamp', 'says'),
    [
        (('map', 'nowhere'), None, "names: cart, island, map, other_cart, got 'nowhere'"),
        (('map', 'other_cart'), None, r"not connected .*'map' and 'island'"),
        (('map', 'cart'), 99, r'expected one from 100 to 300 ns, got 99 ns'),
        (('map', 'cart'), 301, r'expected one from 100 to 300 ns, got 301 ns'),
    ],
)
def test_what_cannot_be_known_is_an_error(
    frames: tuple[str, str], stamp: int | None, says: str
) -> None:
    tree = buffer(
        message('map', 'cart', stamp=100),
        message('map', 'cart', stamp=300),
        message('island', 'other_cart', stamp=100),
    )
    with pytest.raises(RecordError, match=says):
        tree.look_up(*frames, stamp)


def test_a_loop_is_an_error() -> None:
    tree = buffer(message('a', 'b'), message('b', 'c'), message('c', 'a'))
    with pytest.raises(RecordError, match='loop'):
        tree.look_up('c', 'nowhere')


@pytest.mark.parametrize(
    ('bad', 'says'),
    [
        (message('cart', 'cart'), 'expected two frames'),
        (message('', 'cart'), 'expected two frames'),
        (message('map', ''), 'expected two frames'),
        (message('map', 'cart', (math.nan, 0.0, 0.0)), 'finite numbers'),
        (message('map', 'cart', (math.inf, 0.0, 0.0)), 'finite numbers'),
        (message('map', 'cart', rotation=(0.0, 0.0, 0.0, 0.0)), 'quaternion of length 1'),
        (message('map', 'cart', stamp=0), 'a stamp, got 0'),
    ],
)
def test_a_transform_that_cannot_be_used_is_refused_and_the_others_of_its_message_are_taken(
    bad: Any, says: str
) -> None:
    tree = TransformBuffer()
    both = Plain(transforms=[*bad.transforms, *message('map', 'board').transforms])
    with pytest.raises(RecordError, match=says):
        tree.add(both, static=False)
    tree.look_up('map', 'board')
    with pytest.raises(RecordError, match='Unknown frame'):
        tree.look_up('map', 'cart')
