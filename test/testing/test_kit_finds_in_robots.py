# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The kit finds what is wrong with a simulated robot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from boundary_env_ros.core.environment.reset import ResetWorld, WorldReset
from boundary_env_ros.core.records.parts import NamedValues
from boundary_env_ros.core.timebase import to_nanoseconds
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.simulation.messages import Fields
from boundary_env_ros.simulation.robot import Emission
from boundary_env_ros.testing import RobotTests
from support.kit_faults import must_find
from support.small_world import Point, write

TOPICS = 'test_robot_sends_on_every_topic_of_the_contract'
MESSAGES = 'test_robot_sends_messages_that_the_contract_can_read'
STAMPS = 'test_robot_stamps_in_order_and_never_from_the_future'
REPEATS = 'test_robot_repeats_itself_for_equal_seeds_and_commands'
FORGETS = 'test_robot_forgets_everything_at_a_reset'
PIECES = 'test_robot_advances_in_pieces_as_in_one_go'
BACKWARDS = 'test_robot_lets_no_time_run_backwards'
MOVES = 'test_robot_moves_as_it_is_commanded'
RESTS = 'test_robot_comes_to_rest_without_commands'
REACHES = 'test_robot_reaches_what_the_task_samples'


class Mute(Point):
    topics: Mapping[str, str] = {k: v for k, v in Point.topics.items() if k != 'truth'}


class OtherType(Point):
    topics: Mapping[str, str] = {**Point.topics, 'odom': 'geometry_msgs/msg/TwistStamped'}


class Dropping(Point):
    def emission(self, topic: str, at: int, fields: Fields) -> Emission:
        kept = super().emission(topic, at, fields)
        return replace(kept, fields=None) if topic == 'pose' else kept


class Incomplete(Point):
    def odometry(self, at: int) -> Fields:
        fields = super().odometry(at)
        del fields['twist']['twist']['angular']
        return fields


class OtherEmission(Point):
    def emission(self, topic: str, at: int, fields: Fields) -> Emission:
        return super().emission('elsewhere' if topic == 'truth' else topic, at, fields)


class Prophet(Point):
    def sense(self, at: int) -> list[Emission]:
        later = at + to_nanoseconds(0.05)
        return [self.emission('odom', later, self.odometry(later)), *super().sense(at)[1:]]


class OutOfOrder(Point):
    def advance(self, until: int) -> tuple[Emission, ...]:
        return tuple(reversed(super().advance(until)))


class Noisy(Point):
    def generator(self, seed: int) -> np.random.Generator:
        return np.random.default_rng()


class Haunted(Point):
    """Its noise goes on where the episode before left it."""

    def generator(self, seed: int) -> np.random.Generator:
        self.only = getattr(self, 'only', np.random.default_rng(7))
        return self.only


class PerCall(Point):
    """Its drift depends on how often it is asked."""

    def advance(self, until: int) -> tuple[Emission, ...]:
        self.state[0] += 0.001
        return super().advance(until)


class Timeless(Point):
    def advance(self, until: int) -> tuple[Emission, ...]:
        self.now = min(self.now, until)
        return super().advance(until)


class Swapped(Point):
    def command(self, topic: str, values: Vector, arrived: int) -> None:
        super().command(topic, (-values[0], *values[1:]), arrived)


class Stuck(Point):
    def command(self, topic: str, values: Vector, arrived: int) -> None:
        super().command(topic, values, arrived)
        self.commands.clear()


class Runaway(Point):
    def is_silent(self) -> bool:
        return False


class Missing(Point):
    def reset(self, request: ResetWorld, at: int) -> WorldReset:
        answer = super().reset(request, at)
        reached = tuple(
            NamedValues(name=a.name, values=(a.values[0] + 0.1, *a.values[1:]), unit=a.unit)
            for a in answer.achieved
        )
        return replace(answer, achieved=reached)


class Early(Point):
    def reset(self, request: ResetWorld, at: int) -> WorldReset:
        return replace(super().reset(request, at), completed=at - 1)


@pytest.mark.parametrize(
    ('robot', 'method', 'says'),
    [
        (Mute, TOPICS, r"topics\['truth'\]: expected geometry_msgs.*, got no such topic"),
        (OtherType, TOPICS, r"topics\['odom'\]: expected nav_msgs/msg/Odometry, got geometry"),
        (Dropping, TOPICS, 'expected a message on every sensor topic .*, got none on pose'),
        (Incomplete, MESSAGES, "odom: expected a message that the feedback of 'base' can be read"),
        (OtherEmission, MESSAGES, 'elsewhere: expected a topic that is among `topics`'),
        (Prophet, STAMPS, r'odom at \d+ ns: expected no stamp from the future'),
        (OutOfOrder, STAMPS, r'at \d+ ns: expected no stamp before the last one'),
        (Noisy, REPEATS, r'equal messages from equal seeds .*got emissions\[\d+\]\.fields\.pose'),
        (Haunted, FORGETS, 'the same messages after a reset with the same seed and target'),
        (PerCall, PIECES, 'expected the same messages in pieces as in one go, got emissions'),
        (Timeless, BACKWARDS, 'expected BoundaryError for the past, got none was raised'),
        (
            Swapped,
            MOVES,
            r'cmd_vel \(base/linear.x\): expected to follow the command by more than',
        ),
        (Stuck, MOVES, 'expected to follow the command by more than 0.03 m/s, got 0'),
        (Runaway, RESTS, r'expected to rest at 0 within 0.03 m/s [\d.]+ s after the last command'),
        (Missing, REACHES, "expected a state within the tolerance, got 'start'"),
        (Early, REACHES, r'expected `completed` at \d+ ns \(when it was asked for\) or later'),
    ],
)
def test_a_fault_of_a_robot_is_found(
    tmp_path: Path, robot: type[Point], method: str, says: str
) -> None:
    must_find(_kit(write(tmp_path), robot), method, says)


@pytest.mark.parametrize('method', [name for name in dir(RobotTests) if name.startswith('test_')])
def test_an_honest_robot_passes(tmp_path: Path, method: str) -> None:
    getattr(_kit(write(tmp_path), Point), method)()


def _kit(file: Path, robot: type[Point]) -> RobotTests:
    class Kit(RobotTests):
        def contract(self) -> Path:
            return file

        def robot(self) -> Point:
            return robot(self.loaded().contract, self.start)

    return Kit()
