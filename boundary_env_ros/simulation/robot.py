# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The interface of a simulated robot, and how an installed one is found.

The ROS node and the embedded world drive the same object, so both worlds have the same robot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partialmethod
from importlib.metadata import entry_points
import math
from typing import cast, Protocol

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.environment.lockstep import SimStepResponse
from boundary_env_ros.core.environment.reset import ResetWorld, WorldReset
from boundary_env_ros.core.gate.decision import StepId
from boundary_env_ros.core.timebase import NANOSECONDS, RosTime
from boundary_env_ros.errors import (
    BoundaryError,
    MissingDependency,
)
from boundary_env_ros.frozen import frozen
from boundary_env_ros.simulation.messages import Fields, FRAMES, header
from boundary_env_ros.simulation.readings import Reading

GROUP = 'boundary_env_ros.robots'

#: Worlds that are no robots, each a subclass of EnvironmentPlugin; found like robots.
PLUGINS = 'boundary_env_ros.plugins'


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


def emission(reading: Reading, topic: str) -> Emission:
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

    topics: Mapping[str, str]
    """Type of each topic that it sends on."""

    def reset(self, request: ResetWorld, at: int) -> WorldReset:
        """Bring the world into a state; a failure is an answer, not an exception."""
        ...

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
        ...

    def advance(self, until: int) -> tuple[Emission, ...]:
        """Let the world run and return what was sent on the way, in order."""
        ...


class RobotType(Protocol):
    """
    What an entry point of the group ``boundary_env_ros.robots`` is: a class of robots.

    It takes the contract, the present time (``start``, ns) and the values of its options, and
    raises BoundaryError for what it cannot be.
    """

    OPTIONS: Mapping[str, tuple[float, str]]
    """Default and description of each option."""

    def __call__(
        self, contract: Contract, *, start: int, options: Mapping[str, float]
    ) -> SimulatedRobot:
        """Return a robot."""
        ...


def robot_type(contract: Contract, name: str = '') -> RobotType:
    """
    Return an installed class of robots; a plugin's is one around its process.

    Parameters
    ----------
    contract
        The contract, whose name it has by default.
    name
        Name of its entry point, if that is another.

    """
    wanted = name or contract.name
    installed = {entry.name: entry for entry in entry_points(group=GROUP)}
    plugins = {entry.name: entry.value for entry in entry_points(group=PLUGINS)}
    if wanted not in installed and wanted in plugins:
        from boundary_env_ros.simulation.plugin_robot import PluginRobot

        # It is imported in the plugin's own process only.
        begin = partialmethod(PluginRobot.__init__, plugin=plugins[wanted])
        return cast(RobotType, type(wanted, (PluginRobot,), {'__init__': begin}))
    if wanted not in installed:
        raise BoundaryError(
            'Unknown robot (expected an installed simulated robot '
            f'({", ".join(sorted({*installed, *plugins})) or "there is none"}), got {wanted!r}). '
            'Install the package that has it, or pass your own in Python: '
            "BoundaryEnv(CONTRACT, world='embedded', robot=MyRobot())."
        )
    try:
        return cast(RobotType, installed[wanted].load())
    except MissingDependency:
        raise
    except (ImportError, AttributeError) as error:
        raise BoundaryError(
            f'The simulated robot {wanted!r} cannot be imported '
            f'({installed[wanted].value}): {error}.'
        ) from error


def make_robot(
    contract: Contract,
    start: int,
    options: Mapping[str, float] | None = None,
    name: str = '',
) -> SimulatedRobot:
    """
    Return an installed robot for a contract.

    Parameters
    ----------
    contract
        The contract.
    start
        Present time, ns.
    options
        Values of its options; what is not named is as by default.
    name
        Name of its entry point; empty: that of the contract.

    Raises
    ------
    BoundaryError
        If no such robot is installed, or it does not take the contract or the options.

    """
    made = robot_type(contract, name)
    given = dict(options or {})
    for option, value in given.items():
        if option not in made.OPTIONS:
            raise BoundaryError(
                'Unknown option of the robot (expected options of the robot '
                f'({", ".join(made.OPTIONS) or "it has none"}), got {option!r}).'
            )
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise BoundaryError(f'{option}: expected a number, got {value!r}.')
        if not math.isfinite(value):
            raise BoundaryError(f'{option}: expected a finite number, got {value}.')
    defaults = {option: default for option, (default, _) in made.OPTIONS.items()}
    return made(contract, start=start, options={**defaults, **given})


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
    last: dict[str, int] = {}
    for emission in emissions:
        topic = emission.topic if resolved is None else resolved[emission.topic]
        count = dropped if emission.fields is None else published
        count[topic] = count.get(topic, 0) + 1
        if emission.fields is not None:
            last[topic] = emission.stamp
    topics = tuple(sorted({*published, *dropped}))
    return SimStepResponse(
        id=id_,
        success=not error,
        message=error,
        topics=topics,
        published=tuple(published.get(topic, 0) for topic in topics),
        last_stamp=tuple(RosTime(last.get(topic, 0)) for topic in topics),
        dropped=tuple(dropped.get(topic, 0) for topic in topics),
        info=info,
    )
