# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The section ``safety`` of a contract, as frozen values: what the gate enforces."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from boundary_env_ros.core.sources import Source, Vector

Polygon: TypeAlias = tuple[tuple[float, float], ...]


# Obstacles ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Sector:
    """Two sectors of a laser scan, ahead and behind, each ``half_angle`` (rad) to both sides."""

    half_angle: float


class Side(Enum):
    """The one side that a ``sensor_msgs/msg/Range`` looks at."""

    AHEAD = 'ahead'
    BEHIND = 'behind'


@dataclass(frozen=True, slots=True, kw_only=True)
class Corridor:
    """
    What of a point cloud is in the way, in the frame of the cloud with x forward and z up.

    Attributes
    ----------
    half_width
        Greatest distance from the x axis, to the left and to the right, m.
    bottom, top
        Least and greatest z, m.

    """

    half_width: float
    bottom: float
    top: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """
    Distance to obstacles along the forward axis of a sensor, and what it means for one dimension.

    Attributes
    ----------
    name
        Of the rule, where there are several; empty for the only one.
    topic, type
        The sensor.
    frame
        Frame that its header has to name; empty: any.
    zone
        What of its message is in the way.
    dimension
        Index into the command of the forward speed.
    slow_distance, slow_speed
        Nearer than this (m), the speed is limited to this (m/s).
    stop_distance
        Nearer than this (m), the robot stops.
    time_to_collision
        The speed is limited to what would take so long (s) to the stop distance; None: it is not.
    min_valid
        Least fraction of usable beams or points; with fewer the robot stops.

    """

    name: str = ''
    topic: str
    type: str
    frame: str = ''
    zone: Sector | Side | Corridor
    dimension: int
    slow_distance: float
    slow_speed: float
    stop_distance: float
    time_to_collision: float | None = None
    min_valid: float

    @property
    def input(self) -> str:
        """Return the name of what the gate measures for it."""
        return f'obstacle.{self.name}' if self.name else 'obstacle'


# Workspace ---------------------------------------------------------------------------------------


class Moves(Enum):
    """
    How a command moves a place.

    ``AXES``: each dimension is the speed along one axis of the place, as for joints, or for a
    robot that moves in the frame of the place. ``BODY``: the dimensions are the speed forward and,
    if there is a second, to the left, in the frame of a robot whose heading is the last value of
    the place (x, y, yaw).
    """

    AXES = 'axes'
    BODY = 'body'


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """
    Where a place may be, and what a command must leave to brake in.

    Attributes
    ----------
    name
        Of the rule.
    topic, type, source
        Where the place is measured: values in the unit and frame of ``unit``, ``frame``. For
        ``BODY`` x, y and the heading (rad).
    unit, frame
        Of the place; the header of its message has to name that frame, or none. Empty: any.
    moves
        How the command moves it.
    dimensions
        Dimensions of the command that do: for ``AXES`` one for each value of the place.
    turn
        For ``BODY``, the dimension of the command that turns it (rad/s); None if none does.
    low, high
        Bounds of each coordinate (for ``BODY``, of x and y); None where there is none.
    polygon
        Corners of where the first two coordinates may be; empty: anywhere within the bounds.
    keep_out
        Areas, by name, where they must not be.
    margin
        Distance to keep from every boundary, in the unit of the place: half the size of the robot,
        and the error of the measurement.
    delay
        Seconds from when a command is sent to when the robot follows it, at most. The age of the
        measurement is not part of it, nor is the time until the next command: the gate knows both.
    braking
        What the robot slows down with at least, unit/s^2: one for each of ``dimensions``, then one
        for ``turn``.

    """

    name: str
    topic: str
    type: str
    source: Source
    unit: tuple[str, ...]
    frame: str
    moves: Moves
    dimensions: tuple[int, ...]
    turn: int | None
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]
    polygon: Polygon
    keep_out: tuple[tuple[str, Polygon], ...]
    margin: float
    delay: float
    braking: Vector

    @property
    def input(self) -> str:
        """Return the name of what the gate measures for it."""
        return f'workspace.{self.name}'

    @property
    def moved_by(self) -> tuple[int, ...]:
        """Return every dimension of the command that moves or turns it."""
        return self.dimensions if self.turn is None else (*self.dimensions, self.turn)


# The whole ---------------------------------------------------------------------------------------


class Hold(Enum):
    """
    What is sent while the next action is late.

    ``LAST``: the last command again. ``RAMP``: the way to the safe command, at the normal rate.
    ``SAFE``: the safe command at once, whatever the limits on its rate.
    """

    LAST = 'last'
    RAMP = 'ramp'
    SAFE = 'safe'


class OnCompeting(Enum):
    """What a second publisher on a command topic does."""

    STOP = 'stop'
    REPORT = 'report'


@dataclass(frozen=True, slots=True, kw_only=True)
class Overruns:
    """``exceeded`` of the last ``of`` requests may be over the latency budget; more, and stop."""

    exceeded: int
    of: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """
    A human command source, which goes before the policy while its dead-man switch is held.

    Attributes
    ----------
    topic, type, source
        Where the command is: one value for each dimension of the command.
    scale
        Command units for one unit of each value.
    enable
        Field path of the switch: held while it reads 0.5 or more.
    timeout
        Seconds without a message after which the switch counts as let go.

    """

    topic: str
    type: str
    source: Source
    scale: Vector
    enable: str
    timeout: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Safety:
    """
    What the gate enforces beyond the bounds of the action. Times in seconds, on the steady clock.

    Attributes
    ----------
    gate_period
        Period of the gate's own timer.
    gate_lateness
        Time between two runs of that timer beyond which the gate does not trust itself, and stops.
    republish
        Period at which the command in force is sent again between two actions, on its way to what
        was asked for; None: it is not.
    hold_after
        Time after the last action at which it is late, and ``hold`` says what is sent.
    hold
        See :class:`Hold`.
    command_timeout
        Time after the last action at which the gate stops the robot.
    policy_timeout
        Time without an action after which the episode is ``policy_lost``.
    environment_timeout, gate_timeout, robot_timeout, recorder_timeout
        Silence of each after which it counts as lost.
    sensor_timeout
        Silence of a sensor that a rule needs after which the robot stops.
    clock_jump
        Difference between what ROS time and steady time say has passed between two runs of the
        timer beyond which the robot stops.
    max_action_age
        Greatest age of the observation that an action answers, when the gate has the action.
    overruns
        When the latency budget was exceeded too often; None: never.
    obstacles, workspaces
        Rules about distance and place.
    emergency_stop
        Relative topic (``std_msgs/msg/Bool``) of the emergency stop; empty if there is none.
    competing_publisher
        What a second publisher on a command topic does.
    operator
        Human command source; None if there is none.

    """

    gate_period: float
    gate_lateness: float
    republish: float | None = None
    hold_after: float
    hold: Hold = Hold.LAST
    command_timeout: float
    policy_timeout: float
    environment_timeout: float
    gate_timeout: float
    robot_timeout: float
    recorder_timeout: float
    sensor_timeout: float
    clock_jump: float
    max_action_age: float
    overruns: Overruns | None = None
    obstacles: tuple[Obstacle, ...] = ()
    workspaces: tuple[Workspace, ...] = ()
    emergency_stop: str = ''
    competing_publisher: OnCompeting = OnCompeting.STOP
    operator: Operator | None = None

    @property
    def inputs(self) -> tuple[str, ...]:
        """Return the names of what the rules about distance and place measure."""
        return (
            *(rule.input for rule in self.obstacles),
            *(place.input for place in self.workspaces),
        )
