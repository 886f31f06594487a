# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The interface of a simulated robot.

The ROS node and the embedded world drive the same object, so both worlds have the same robot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from boundary_env_ros.core.environment.reset import ResetWorld, WorldReset
from boundary_env_ros.core.records.lockstep import SimStepResponse
from boundary_env_ros.core.records.parts import StepId
from boundary_env_ros.core.timebase import NANOSECONDS, RosTime
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import frozen
from boundary_env_ros.simulation.messages import Fields, FRAMES, header
from boundary_env_ros.simulation.readings import SensorReading


@frozen
class Emission:
    """
    One message that the robot sends, or was to send.

    Attributes
    ----------
    topic
        One of the robot's ``topics``.
    fields
        The message as nested mappings; None if it was dropped on purpose.

    """

    topic: str
    fields: Fields | None

    @property
    def stamp(self) -> int:
        """What its header says, ns, of transforms that of the last; 0 if it has none."""
        fields = self.fields or {}
        stamped = fields.get('transforms') or [fields]
        stamp = stamped[-1].get('header', {}).get('stamp')
        return 0 if stamp is None else int(stamp['sec'] * NANOSECONDS + stamp['nanosec'])


def emission(reading: SensorReading, topic: str) -> Emission:
    """Return a reading as a message on a topic."""
    fields = reading.fields
    if fields is not None and reading.sensor != 'contact':  # a Bool has no header
        frame = FRAMES.get(reading.sensor, '')
        fields = {'header': header(reading.captured_ns, frame), **fields}
    return Emission(topic=topic, fields=fields)


class SimulatedRobot(Protocol):
    """
    A robot that knows time only as an argument, nanoseconds of the caller's clock.

    Topics are relative; with several agents each is ``<agent>/<topic>``, as
    :meth:`~boundary_env_ros.core.contract.model.Contract.topic_of` says.
    """

    #: Type of each topic that it sends on.
    topics: Mapping[str, str]

    def reset(self, request: ResetWorld, at: int) -> WorldReset:
        """Bring the world into a state; a failure is an answer, not an exception."""

    def command(self, topic: str, values: Vector, arrived: int) -> None:
        """
        Take a command of one group of the action.

        Parameters
        ----------
        topic
            The command topic.
        values
            Its dimensions, in the order and units of the contract.
        arrived
            When, ns.

        """

    def advance(self, until: int) -> tuple[Emission, ...]:
        """Let the world run and return what was sent on the way, in order."""


def report_of(
    id_: StepId,
    emissions: Sequence[Emission],
    error: str,
    resolved: Mapping[str, str] | None = None,
    *,
    info: str = '',
) -> SimStepResponse:
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
    info
        What the robot has to say to the policy of that agent.

    """
    published: dict[str, int] = {}
    dropped: dict[str, int] = {}
    last: dict[str, Emission] = {}
    for emission in emissions:
        topic = emission.topic if resolved is None else resolved[emission.topic]
        count = dropped if emission.fields is None else published
        count[topic] = count.get(topic, 0) + 1
        if emission.fields is not None:
            last[topic] = emission
    topics = tuple(sorted({*published, *dropped}))
    return SimStepResponse(
        id=id_,
        success=not error,
        message=error,
        topics=topics,
        published=tuple(published.get(topic, 0) for topic in topics),
        last_stamp=tuple(RosTime(last[t].stamp if t in last else 0) for t in topics),
        dropped=tuple(dropped.get(topic, 0) for topic in topics),
        info=info,
    )
