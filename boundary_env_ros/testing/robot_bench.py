# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A simulated robot on a bench: who commands it, what it sends, what its feedback shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
from typing import Any

from boundary_env_ros.core.contract.model import ActionSpec, Contract
from boundary_env_ros.core.environment.reset import (
    out_of_tolerance,
    ResetWorld,
    tolerances,
)
from boundary_env_ros.core.records.parts import NamedValues
from boundary_env_ros.core.sources.inputs import feedback_inputs, Input, Purpose, sensor_topics
from boundary_env_ros.core.sources.listener import inputs_of
from boundary_env_ros.core.timebase import to_nanoseconds
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import frozen, replace
from boundary_env_ros.simulation.messages import Fields, PlainMessage
from boundary_env_ros.simulation.robot import Emission, SimulatedRobot
from boundary_env_ros.testing.verdicts import fail, must_return


def uses_of(contract: Contract) -> Mapping[str, Sequence[tuple[Input, int | None]]]:
    """
    Return every reading that gate and environment make of each topic of every agent.

    Beside each stands the size of its values, if that is known.
    """
    sizes = {(Purpose.FEEDBACK, group.name): group.size for group in contract.action}
    sizes |= {(Purpose.FIELD, s.name): 0 if s.is_image else s.size for s in contract.fields}
    uses: dict[str, list[tuple[Input, int | None]]] = {}
    for agent in contract.agents:
        topics = {topic: contract.topic_of(agent, topic) for topic in sensor_topics(contract)}
        for item in inputs_of(contract, topics):
            uses.setdefault(item.at, []).append((item, sizes.get((item.purpose, item.name))))
    return uses


@frozen
class ActionChannel:
    """One group of the action of one agent: its topic, and how its feedback is read."""

    group: ActionSpec
    topic: str
    feedback: Input


class Bench:
    """
    A robot that is reset, commanded and advanced, period after period.

    Parameters
    ----------
    robot, contract
        The robot, and what it is tested under.
    start
        Present time, ns.

    """

    def __init__(self, robot: SimulatedRobot, contract: Contract, start: int) -> None:
        self.robot = robot
        self.contract = contract
        self.now = start
        self.channels = tuple(
            ActionChannel(
                group=group,
                topic=contract.topic_of(agent, group.topic),
                feedback=replace(item, at=contract.topic_of(agent, item.topic)),
            )
            for agent in contract.agents
            for group, item in zip(contract.action, feedback_inputs(contract), strict=True)
        )
        #: What the feedback of each command topic showed, in order.
        self.shown: dict[str, list[Vector]] = {c.topic: [] for c in self.channels}

    def reset(self, seed: int, target: tuple[NamedValues, ...]) -> None:
        """Reset the robot to a target that it has to reach; an exception fails the test."""
        request, where = ResetWorld(seed=seed, target=target), f'reset with seed {seed}'
        answer = must_return(
            lambda: self.robot.reset(request, self.now),
            'an answer, with `error` if it failed',
            where='reset',
            way_out='A reset that fails ends the episode as reset_failed; an exception ends the '
            'process.',
        )
        for values in self.shown.values():
            values.clear()
        if answer.error:
            fail('a target that the task samples to be reached', answer.error, where=where)
        procedure = self.contract.episode.reset
        missed = out_of_tolerance(target, answer.achieved, tolerances(procedure), procedure.wrap)
        if missed:
            fail('a state within the tolerance', '; '.join(missed), where=where)
        if answer.completed < self.now:
            fail(
                f'`completed` at {self.now} ns (when it was asked for) or later',
                answer.completed,
                where=where,
                way_out='Values captured before it are taken for those of the old world.',
            )

    def advance(self, seconds: float) -> tuple[Emission, ...]:
        """Let the robot run, and take note of its feedback."""
        return self.advance_to(self.now + to_nanoseconds(seconds))

    def advance_to(self, until: int) -> tuple[Emission, ...]:
        """Let the robot run until a time, ns, and take note of its feedback."""
        self.now = until
        emissions = tuple(self.robot.advance(until))
        for emission in emissions:
            if emission.fields is None:
                continue
            for channel in self.channels:
                if emission.topic == channel.feedback.at:
                    self.shown[channel.topic].append(_read(channel, emission.fields))
        return emissions

    def settle(self) -> tuple[Emission, ...]:
        """Let the robot come to rest after a reset, as the environment does."""
        procedure = self.contract.episode.reset
        return self.advance(max(procedure.settle, self.contract.period))

    def measured(self, channel: ActionChannel) -> Vector:
        """Return what the feedback of a channel showed last."""
        if not self.shown[channel.topic]:
            fail(
                'feedback after the settling time',
                'none came',
                where=f'{channel.feedback.at} after a reset',
                way_out='Without it no episode begins.',
            )
        return self.shown[channel.topic][-1]

    def drive(self, seconds: float) -> tuple[Emission, ...]:
        """
        Command every dimension as fast as the contract allows to its farther bound.

        Returns
        -------
        tuple
            What was sent meanwhile.

        """
        contract = self.contract
        start = {channel.topic: self.measured(channel) for channel in self.channels}
        sent: list[Emission] = []
        for step in range(1, max(1, round(seconds / contract.period)) + 1):
            for channel in self.channels:
                values = ramp(channel.group, start[channel.topic], step * contract.period)
                self.robot.command(channel.topic, values, self.now)
            sent += self.advance(contract.period)
        return tuple(sent)


def _read(channel: ActionChannel, fields: Fields) -> Vector:
    return must_return(
        lambda: channel.feedback.reading(PlainMessage(fields)),
        f'a message that the feedback of {channel.group.name!r} can be read from',
        where=channel.feedback.at,
    ).values


def ramp(group: ActionSpec, start: Vector, seconds: float) -> Vector:
    """Return the command so long after a start, on the way to the farther bound."""
    return tuple(
        min(max(value + math.copysign(rate * seconds, direction), low), high)
        for value, direction, rate, low, high in zip(
            start, directions(group, start), group.rate, group.low, group.high, strict=True
        )
    )


def directions(group: ActionSpec, start: Vector) -> Vector:
    """Return the way of each dimension to its farther bound, with its sign."""
    return tuple(
        high - value if high - value >= value - low else low - value
        for value, low, high in zip(start, group.low, group.high, strict=True)
    )


def timeless(value: Any) -> Any:
    """Return the fields of a message without any time in them."""
    if isinstance(value, Mapping):
        if set(value) == {'sec', 'nanosec'}:
            return 'a time'
        return {name: timeless(item) for name, item in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        return [timeless(item) for item in value]
    return value
