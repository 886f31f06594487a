# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What a simulated robot is to whoever runs it, and the warehouse cart as one.

The ROS node and the embedded link drive the same object, so both worlds have the same robot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from boundary_env_ros.core.contract import Vector
from boundary_env_ros.core.decision import StepId
from boundary_env_ros.core.lockstep import WorldAdvanced
from boundary_env_ros.core.reset import by_name, ResetWorld, WorldReset
from boundary_env_ros.core.timebase import RosTime
from boundary_env_ros.core.transition import NamedValues
from boundary_env_ros.errors import ResetFailed
from boundary_env_ros.simulation.config import CartConfig
from boundary_env_ros.simulation.messages import Fields, message_fields, WIRE
from boundary_env_ros.simulation.warehouse_cart import ResetTarget, WarehouseCart


@dataclass(frozen=True, slots=True, kw_only=True)
class Emission:
    """
    One message that the robot sends, or was to send.

    Attributes
    ----------
    topic, type
        Relative topic and ROS type.
    stamp
        What its ``header.stamp`` is, nanoseconds; 0 if the type has none.
    fields
        The message as nested mappings; None if it was dropped on purpose.

    """

    topic: str
    type: str
    stamp: int
    fields: Fields | None


class SimulatedRobot(Protocol):
    """A robot that knows time only as an argument, nanoseconds of the caller's clock."""

    topics: Mapping[str, str]
    """Type of each relative topic that it sends on."""

    def reset(self, request: ResetWorld, at: int) -> WorldReset:
        """Bring the world into a state; a failure is an answer, not an exception."""
        ...

    def command(self, command: Vector, arrived: int) -> None:
        """Take a command, in the order of the contract's command fields."""
        ...

    def advance(self, until: int) -> tuple[Emission, ...]:
        """Let the world run and return what was sent on the way, in order."""
        ...


class CartRobot:
    """The cart as a :class:`SimulatedRobot`; its command is (forward m/s, turn rad/s)."""

    topics: Mapping[str, str] = dict(WIRE.values())

    def __init__(self, config: CartConfig | None = None, start: int = 0) -> None:
        self._cart = WarehouseCart(config, start)

    def reset(self, request: ResetWorld, at: int) -> WorldReset:
        """Put the cart at ``start`` (x, y, yaw: m, rad, frame hall) and mark ``goal`` (x, y)."""
        values = by_name(request.target)
        start, goal = values.get('start', ()), values.get('goal', ())
        if len(start) != 3 or len(goal) != 2:
            return WorldReset(
                error='Expect a reset target with start (x, y, yaw) and goal (x, y), actually: '
                f'{ {name: list(v) for name, v in values.items()} }.'
            )
        x, y, yaw = start
        try:
            achieved = self._cart.reset(
                ResetTarget(x=x, y=y, yaw=yaw, goal_x=goal[0], goal_y=goal[1]), request.seed, at
            )
        except ResetFailed as error:
            return WorldReset(error=str(error))
        return WorldReset(
            achieved=(
                NamedValues(
                    name='start',
                    values=(achieved.x, achieved.y, achieved.yaw),
                    unit=('m', 'm', 'rad'),
                ),
                NamedValues(name='goal', values=goal, unit=('m', 'm')),
            ),
            completed=at,
            confirmed_by='simulated_robot',
        )

    def command(self, command: Vector, arrived: int) -> None:
        """Take a command; the actuator executes it after its declared delay."""
        linear, angular = command
        self._cart.command(linear, angular, arrived)

    def advance(self, until: int) -> tuple[Emission, ...]:
        """Let the cart run until then."""
        emissions = []
        for reading in self._cart.advance(until):
            topic, type_name = WIRE[reading.sensor]
            fields = None if reading.dropped else message_fields(reading)
            stamped = type_name != 'std_msgs/msg/Bool'
            emissions.append(
                Emission(
                    topic=topic,
                    type=type_name,
                    stamp=reading.captured_ns if stamped else 0,
                    fields=fields,
                )
            )
        return tuple(emissions)


def report_of(
    id_: StepId,
    emissions: Sequence[Emission],
    error: str,
    resolved: Mapping[str, str] | None = None,
) -> WorldAdvanced:
    """
    Return the report of an advance.

    Parameters
    ----------
    id_
        The step.
    emissions
        What was sent and dropped on the way.
    error
        What failed; empty if nothing did.
    resolved
        Fully qualified name of each relative topic; None: the topics stand for themselves.

    """
    published: dict[str, int] = {}
    dropped: dict[str, int] = {}
    last: dict[str, int] = {}
    for emission in emissions:
        topic = emission.topic if resolved is None else resolved[emission.topic]
        count = dropped if emission.fields is None else published
        count[topic] = count.get(topic, 0) + 1
        if emission.fields is not None:
            last[topic] = emission.stamp
    topics = tuple(sorted({*published, *dropped}))
    return WorldAdvanced(
        id=id_,
        success=not error,
        message=error,
        topics=topics,
        published=tuple(published.get(topic, 0) for topic in topics),
        last_stamp=tuple(RosTime(last.get(topic, 0)) for topic in topics),
        dropped=tuple(dropped.get(topic, 0) for topic in topics),
    )
