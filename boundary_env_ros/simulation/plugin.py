# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A world that is no ROS robot, behind the boundary: a simulator or a game as a plugin.

Subclass :class:`EnvironmentPlugin`. It runs in a process of its own, which is started, asked and,
if it does not answer in time, killed by
:class:`~boundary_env_ros.simulation.plugin_robot.PluginRobot`; for contract, gate and record it is
a robot as any other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import frozen

#: Numbers of a sensor; pixels of a camera, shape ``(height, width, channels)``; a document.
PluginReading: TypeAlias = 'Vector | NDArray[np.uint8] | Mapping[str, Any] | str'


@frozen
class PluginSpace:
    """
    One sensor or actuator, and what its values can be.

    Attributes
    ----------
    name
        Its name, which is its topic in the contract; of several agents ``<agent>/<topic>``.
    values
        A name for each of its values, in their order.
    low, high
        Bounds of each value; of an actuator, those that it obeys.
    unit
        Of each value.
    shape
        Of a camera: height, width and channels (1 or 3), 8 bits each; it has no ``values`` then.
    document
        Of a text, or of what is a JSON object; the contract has its schema.

    """

    name: str
    values: tuple[str, ...] = ()
    low: Vector = ()
    high: Vector = ()
    unit: tuple[str, ...] = ()
    shape: tuple[int, ...] | None = None
    document: bool = False


@frozen
class Baseline:
    """
    What a plugin says when it has been started or reset.

    Attributes
    ----------
    sensors, actuators
        What there is.
    readings
        First reading of every sensor.
    time_step
        Seconds that an update usually takes of its world's time.
    rewards
        Names of the rewards that its updates may give; of several agents ``<agent>/<name>``.
    achieved
        The start state that it reached, by name of the sampled value.
    info
        What else the policy is told of the reset, JSON; of several agents by agent.
    static_model
        What of the world never changes (a map, masses, rules), JSON.

    """

    sensors: tuple[PluginSpace, ...]
    actuators: tuple[PluginSpace, ...]
    readings: Mapping[str, PluginReading]
    time_step: float
    rewards: tuple[str, ...] = ()
    achieved: Mapping[str, Vector] = field(default_factory=dict)
    info: Mapping[str, Any] = field(default_factory=dict)
    static_model: Mapping[str, Any] = field(default_factory=dict)


@frozen
class Update:
    """
    What became of one update.

    Attributes
    ----------
    readings
        Of the sensors that have measured since the last update; all of them, or some.
    rewards
        By name; one that is missing is 0.
    done, success
        Whether the world is at its end, and whether that is a success; of several agents also the
        names of those for which it is. Once all are done it is not updated again before a reset.
    elapsed
        Seconds that have passed in its world; None: its ``time_step``.
    info
        What else the policy is told of the step, JSON; of several agents by agent. Nothing that
        the policy must not know.

    """

    readings: Mapping[str, PluginReading]
    rewards: Mapping[str, float] = field(default_factory=dict)
    done: bool | Collection[str] = False
    success: bool | Collection[str] = False
    elapsed: float | None = None
    info: Mapping[str, Any] = field(default_factory=dict)


@frozen
class Affordance:
    """
    Something that an agent could do, and whether it can now.

    Attributes
    ----------
    name
        What it is called: ``'pick up the cup'``.
    available
        Whether it is possible now.
    reason
        Why, or why not: one sentence.
    parameters
        What to send for it, JSON: ``{'board': [4.0]}``, or the JSON Schema of that.

    """

    name: str
    available: bool = True
    reason: str = ''
    parameters: Mapping[str, Any] = field(default_factory=dict)


class EnvironmentPlugin(ABC):
    """
    A world with sensors and actuators that keeps its own time.

    It is made without arguments, in its own process. Whatever a method raises ends the episode as
    ``simulation_failed`` with the words of the error; in a reset, as ``reset_failed``. What the
    optional methods raise is told to the caller, and ends nothing.
    """

    #: Methods that a plugin may leave out; a caller of one is told so.
    OPTIONAL: ClassVar[tuple[str, ...]] = ('check', 'affordances', 'plan', 'render', 'save')

    #: Sends an event; set by the process that the plugin runs in.
    sender: Callable[[dict[str, Any]], None] | None = None

    @abstractmethod
    def start(
        self, seed: int, target: Mapping[str, Vector], options: Mapping[str, Any]
    ) -> Baseline:
        """
        Bring the world up, and say what there is.

        Parameters
        ----------
        seed
            For everything random in it: equal seeds give equal worlds.
        target
            Start state that the task sampled, by name; empty before the first episode.
        options
            Reset options of the client, JSON; a plugin that can begin where it left off takes what
            :meth:`save` returned as one of them.

        """

    def reset(
        self, seed: int, target: Mapping[str, Vector], options: Mapping[str, Any]
    ) -> Baseline:
        """Begin again; by default it is closed and started."""
        self.close()
        return self.start(seed, target, options)

    @abstractmethod
    def update(self, setpoints: Mapping[str, Vector], seconds: float) -> Update:
        """
        Let time pass under the set-points of the actuators.

        Parameters
        ----------
        setpoints
            By name of the actuator, for each that the contract commands. A document is there in
            the one update after it came.
        seconds
            What is asked for: the ``time_step`` of the baseline. It says itself how much passed.

        """

    def close(self) -> None:  # noqa: B027 - most have nothing to let go of
        """Let go of the world."""

    def push(
        self, event_type: str, delta: Mapping[str, Any], *, agent: str = '', reason: str = ''
    ) -> None:
        """
        Tell clients at once of something that happened; ignored while no episode is active.

        It may be called at any time and from any thread. Clients get it with the episode, the step
        and the action in which it came.

        Parameters
        ----------
        event_type
            Any word: ``'opponent_moved'``.
        delta
            What changed, JSON.
        agent
            Whom it concerns; empty: all.
        reason
            One sentence for a person.

        """
        if self.sender is not None:
            push = {'agent': agent, 'event_type': event_type, 'delta': delta, 'reason': reason}
            self.sender({'push': push})

    # Optional ------------------------------------------------------------------------------------

    def check(self, agent: str, setpoints: Mapping[str, Vector]) -> str:
        """
        Return why an agent may not do this now; empty if it may.

        It is asked before every action, which is then refused as InvalidAction: nothing is sent,
        no time passes.
        """
        raise NotImplementedError

    def affordances(self, agent: str) -> Sequence[Affordance]:
        """Return what an agent can do now, and what it cannot, with the reason."""
        raise NotImplementedError

    def plan(self, agent: str, query: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer a question about what to do, JSON both ways: a plan, a path, a hint."""
        raise NotImplementedError

    def render(self, agent: str, mode: str) -> NDArray[np.uint8] | str:
        """
        Return a picture of the world for an agent.

        Parameters
        ----------
        agent
            Whose view it is.
        mode
            ``'rgb_array'``: pixels, shape (height, width, 3), uint8. ``'ansi'``: text.

        """
        raise NotImplementedError

    def save(self) -> Mapping[str, Any]:
        """Return the state of the world, JSON, from which a reset can begin it again."""
        raise NotImplementedError
