# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The recorded commands of an episode once more, in a simulation: how far its sensors drift off.

Nothing corrects the way back: no policy, no gate. Of the side that was recorded from this
simulation little is left but noise; what the other side has besides is what the simulation does
not know.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import entry_points
import math
import warnings

import numpy as np
import numpy.typing as npt

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.environment.reset import by_name, ResetWorld
from boundary_env_ros.core.sources.inputs import field_inputs
from boundary_env_ros.core.timebase import to_nanoseconds
from boundary_env_ros.errors import BoundaryError, MissingDependency, SimulationFailed
from boundary_env_ros.evidence.compare.episode_record import EpisodeRecord
from boundary_env_ros.evidence.compare.features import matrix, wrapped
from boundary_env_ros.evidence.compare.quantities import labels_of, turning, Values
from boundary_env_ros.simulation.messages import PlainMessage
from boundary_env_ros.simulation.robot import GROUP, make_robot, robot_type, SimulatedRobot

Array = npt.NDArray[np.float64]

#: Steps from the reset on that are compared; an end that came earlier ends it.
HORIZON = 30


class OpenLoop:
    """
    A simulation that recorded commands are given to.

    Parameters
    ----------
    contract
        The contract, of one agent.
    name
        Name of an installed robot.

    Raises
    ------
    BoundaryError
        If there is no such robot, it does not take the contract, or the contract has several
        agents.

    """

    def __init__(self, contract: Contract, name: str) -> None:
        if len(contract.agents) != 1:
            raise BoundaryError(
                'An open-loop replay has one agent (got '
                f'{", ".join(contract.agents)}, whose commands belong together).'
            )
        self._contract, self.name = contract, name
        self._options = {'camera_rate': 0.0} if _has_camera(contract, name) else {}
        self._fields = tuple(s for s in contract.fields if s.topic and not s.is_image)
        topics = {spec.topic: spec.topic for spec in contract.fields if spec.topic}
        self._read = {
            item.name: (item.topic, item.read)
            for item in field_inputs(contract, topics)
            if any(spec.name == item.name for spec in self._fields)
        }
        sizes = [group.size for group in contract.action]
        self._commands = [
            (group.topic, sum(sizes[:index]), sum(sizes[: index + 1]))
            for index, group in enumerate(contract.action)
        ]
        self._robot = self._made()
        self._now = to_nanoseconds(contract.period)

    def _made(self) -> SimulatedRobot:
        return make_robot(
            self._contract, to_nanoseconds(self._contract.period), self._options, self.name
        )

    def replay(self, record: EpisodeRecord) -> Values | str:
        """Return how far an episode goes off; if it cannot be replayed, why."""
        if record.reset is None or len(record.closed) < 2:
            return 'its reset is not in the record'
        period = to_nanoseconds(self._contract.period)
        settle = math.ceil(self._contract.episode.reset.settle / self._contract.period) * period
        target = record.reset.sampled
        achieved = by_name(record.reset.achieved)
        # Where the robot really stood, as far as somebody said so.
        if all(len(achieved.get(item.name, ())) == len(item.values) for item in target):
            target = record.reset.achieved
        answer = self._robot.reset(
            ResetWorld(seed=record.episode.first.seed, target=target), self._now
        )
        if answer.error:
            return f'its start cannot be simulated: {answer.error}'
        shift = self._now + settle - record.closed[0]
        latest: dict[str, Vector] = {}
        seen: list[dict[str, Vector]] = []
        instants = record.closed[: HORIZON + 1]
        last = instants[-1]
        events: list[tuple[int, int, Vector]] = [(at, 0, ()) for at in instants]
        events += [
            (at, 1, values) for at, values in record.commands if record.closed[0] <= at < last
        ]
        try:
            for at, kind, values in sorted(events, key=lambda event: event[:2]):
                self._advance(at + shift, latest)
                if kind:
                    for topic, begin, end in self._commands:
                        self._robot.command(topic, values[begin:end], self._now)
                else:
                    seen.append(dict(latest))
        except (SimulationFailed, BoundaryError) as error:
            return f'the simulation could not follow it: {error}'
        return dict(self._errors(record, seen))

    def _advance(self, until: int, latest: dict[str, Vector]) -> None:
        until = max(until, self._now)
        emissions = self._robot.advance(until)
        self._now = until
        for emission in emissions:
            if emission.fields is None:
                continue
            for name, (topic, read) in self._read.items():
                if topic == emission.topic:
                    latest[name] = read(PlainMessage(emission.fields)).values

    def _errors(
        self, record: EpisodeRecord, seen: list[dict[str, Vector]]
    ) -> Iterator[tuple[str, dict[str, float]]]:
        """Yield the root mean square distance of each number of each field, as families."""
        for spec in self._fields:
            track = record.fields.get(spec.name) or record.truth.get(spec.name)
            if track is None or len(track.values) != len(record.closed):
                continue
            recorded = matrix(track.values[: len(seen)], spec.size)
            simulated = matrix([one.get(spec.name, ()) for one in seen], spec.size)
            if spec.low and spec.high:
                simulated = np.clip(simulated, spec.low, spec.high)
            error = recorded - simulated
            error = np.where(np.array(turning(spec)), wrapped(error), error)
            with warnings.catch_warnings():
                warnings.simplefilter('ignore', RuntimeWarning)  # of numbers without any value
                sizes = np.sqrt(np.nanmean(error**2, axis=0))
            yield (
                f'divergence.{spec.name}',
                dict(zip(labels_of(spec), map(float, sizes), strict=True)),
            )


def open_loop(contract: Contract, name: str) -> OpenLoop | str:
    """Return the simulation to replay in; if there is none, why."""
    if name not in {entry.name for entry in entry_points(group=GROUP)}:
        return f'no simulated robot {name!r} is installed'
    try:
        return OpenLoop(contract, name)
    except (BoundaryError, MissingDependency) as error:
        return str(error)


def _has_camera(contract: Contract, name: str) -> bool:
    return 'camera_rate' in robot_type(contract, name).OPTIONS
