# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The section ``safety`` of a contract, as frozen values: what the gate enforces."""

from __future__ import annotations

from enum import Enum
import math
from typing import Annotated, Any, TypeAlias, TypeVar

from boundary_env_ros.core.contract.grammar import PATH, TOPIC, TYPE
from boundary_env_ros.core.contract.key import Key
from boundary_env_ros.core.contract.sources import CLOUD, SCAN, Source
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import frozen

#: In place of a unit.
OF_PLACE = 'in the unit of the place'

T = TypeVar('T')
Polygon: TypeAlias = tuple[tuple[float, float], ...]

#: Seconds that the stop profile may take when the gate is told to fall silent.
STOPS_WITHIN = 2.0

#: Type of the topic of an emergency stop.
STOP_TYPE = 'std_msgs/msg/Bool'


# Zones of a sensor -------------------------------------------------------------------------------


@frozen
class Sector:
    """
    Two sectors of a laser scan, ahead and behind, each ``half_angle`` (rad) to both sides.

    Attributes
    ----------
    half_angle
        Of a scan: half the width of the sector ahead, and of the one behind; at most pi/2.

    """

    half_angle: Annotated[
        float, Key(unit='rad', above=0.0, most=math.pi / 2, when=('type', SCAN, ''))
    ]


class Side(Enum):
    """The one side that a ``sensor_msgs/msg/Range`` looks at."""

    AHEAD = 'ahead'
    BEHIND = 'behind'


@frozen
class Corridor:
    """
    What of a point cloud is in the way, in the frame of the cloud with x forward and z up.

    Attributes
    ----------
    half_width
        Of a point cloud: how far to the left and right of its x axis a point is in the way.
    bottom, top
        Of a point cloud: from which height to which a point is in the way.

    """

    half_width: Annotated[float, Key(unit='m', above=0.0, when=('type', CLOUD))]
    bottom: Annotated[float, Key(unit='m', when=('type', CLOUD))]
    top: Annotated[float, Key(unit='m', when=('type', CLOUD))]


# The whole ---------------------------------------------------------------------------------------


class OnTimeout(Enum):
    """
    What is sent while the next action is late.

    ``HOLD``: the last command again. ``RAMP``: the way to the safe command, at the normal rate.
    ``SAFE``: the safe command at once, whatever the limits on its rate.
    """

    HOLD = 'hold'
    RAMP = 'ramp'
    SAFE = 'safe'


class OnForeignPublisher(Enum):
    """
    What a second publisher on a command topic does.

    ``STOP``: it stops the robot in an episode. ``STOP_ALWAYS``: also between two episodes.
    ``REPORT``: nothing but a report.
    """

    STOP = 'stop'
    STOP_ALWAYS = 'stop_always'
    REPORT = 'report'


@frozen
class Overruns:
    """
    ``exceeded`` of the last ``of`` requests may be over the latency budget; more, and stop.

    Attributes
    ----------
    exceeded
        More than so many of the last ``of`` requests over both budgets stop the robot.
    of
        How many requests are counted.

    """

    exceeded: Annotated[int, Key(least=1)]
    of: Annotated[int, Key(least=1)]


@frozen
class Operator:
    """
    A human command source, which goes before the policy while its dead-man switch is held.

    Attributes
    ----------
    topic
        Where the command is: one value for each dimension of the command.
    type
        For example ``sensor_msgs/msg/Joy``.
    source
        Where the command is: one value for each dimension of the command.
    scale
        Command units for one unit of each value.
    enable
        The dead-man switch, for example ``buttons[4]``: held while it reads 0.5 or more.
    timeout
        Without a message for this long the switch counts as let go.

    """

    topic: Annotated[str, Key(spelt=TOPIC)]
    type: Annotated[str, Key(spelt=TYPE)]
    source: Annotated[Source, Key('')]
    scale: Annotated[Vector, Key(unit='command units for one unit of the value')]
    enable: Annotated[str, Key(spelt=PATH)]
    timeout: Annotated[float, Key(unit='s', above=0.0)]


#: What the reference says of the defaults of timeouts that stop the robot, or end the episode.
_DEADMAN = 'max(0.1, min(3 x `period`, 0.5))'
_ENDING = 'max(0.5, 4 x `period`)'


@frozen
class Safety:
    """
    What the gate enforces beyond the bounds of the action. Times in seconds, on the steady clock.

    Attributes
    ----------
    gate_period
        Period of the gate's own timer: every timeout of the gate is noticed up to this much later.
    hold_timeout
        Without an acceptable action for this long the gate repeats the last command, once a period
        (HELD).
    command_timeout
        Without an acceptable action for this long the gate stops the robot (STOPPED). In lockstep
        ``lockstep.deadline`` takes its place.
    policy_timeout
        Without any request for this long the environment ends the episode: ``policy_lost``.
    environment_timeout
        Without a status of the environment for this long the gate stops the robot; after twice as
        long the recorder declares ``environment_lost``.
    gate_timeout
        Without a status of the gate for this long the environment ends the episode: ``gate_lost``.
        In lockstep it does so at ``lockstep.deadline``.
    robot_timeout
        Without any sensor message for this long the environment ends the episode: ``robot_lost``.
    recorder_timeout
        Without a status of a recording recorder for this long the environment ends the episode:
        ``recorder_lost``, if ``recorder.required``.
    sensor_timeout
        A sensor that a rule needs stops the robot if its last message came, or was captured,
        longer ago.
    max_action_age
        An action is rejected if the observation that it answers was frozen longer ago.
    emergency_stop
        ``std_msgs/msg/Bool``, relative; true is pressed. It latches. In realtime the gate is not
        armed while nothing publishes there. ``none`` (or empty): there is no such topic; the
        gate's services remain.
    emergency_stop_heartbeat
        For a publisher that repeats its state: silence for so long stops the robot, and so does a
        second publisher. Realtime only.
    gate_lateness
        If the gate's own timer last ran longer ago than this, the gate stops the robot until it
        has run again.
    clock_jump
        If ROS time and steady time differ by more than this between two runs of that timer, the
        robot stops. Of simulated time only a jump back counts, and that it has not moved on for
        longer than this and `sensor_timeout`.
    republish_period
        Period at which the command in force is sent again between two actions (HELD), for drivers
        that want commands faster than the policy decides. With a profile (``max_jerk``, or
        ``max_acceleration`` of a position) it is required, at most ``period - gate_period``.
    on_timeout
        What is sent after ``hold_timeout``. ``hold``: the last command again. ``ramp``: the way to
        ``safe`` within the limits of the group. ``safe``: the stop profile.
    overruns
        When a slow policy stops the robot. Needs the budgets of transport and inference.
    foreign_publisher
        What a second publisher on a command topic does. ``stop``: in an episode it stops the
        robot for as long as it is there, and each of its commands is answered by a stop at once.
        ``stop_always``: its commands are answered between episodes and in resets, too, so nobody
        drives by hand past the gate. ``report``: it is only reported.
    rules
        What is said to the rules that have sensors of their own, in the order of the rules and by
        name: values of :mod:`boundary_env_ros.core.gate.rules`, each in a section of its own.
    operator
        A human command source that overrides the policy: [takeover](people.md#takeover).

    """

    gate_period: Annotated[float, Key(unit='s', least=0.001, same_as='0.02, at most `period`')]
    hold_timeout: Annotated[
        float,
        Key(
            unit='s',
            above=0.0,
            same_as='1.5 periods, at most half way from `period` to `command_timeout`',
        ),
    ]
    command_timeout: Annotated[float, Key(unit='s', above=0.0, same_as=_DEADMAN)]
    policy_timeout: Annotated[float, Key(unit='s', above=0.0, same_as='max(1, 10 x `period`)')]
    environment_timeout: Annotated[
        float, Key(unit='s', above=0.0, same_as='max(0.25, min(3 x `period`, 0.5))')
    ]
    gate_timeout: Annotated[float, Key(unit='s', above=0.0, same_as=_ENDING)]
    robot_timeout: Annotated[float, Key(unit='s', above=0.0, same_as=_ENDING)]
    recorder_timeout: Annotated[float, Key(unit='s', above=0.0)] = 2.0
    sensor_timeout: Annotated[float, Key(unit='s', above=0.0, same_as=_DEADMAN)]
    max_action_age: Annotated[float, Key(unit='s', above=0.0, same_as=_DEADMAN)]
    emergency_stop: Annotated[str, Key(spelt=TOPIC, words=('none',))] = ''
    emergency_stop_heartbeat: Annotated[float | None, Key(unit='s', above=0.0)] = None
    gate_lateness: Annotated[float, Key(unit='s', above=0.0, same_as='command_timeout')]
    clock_jump: Annotated[float, Key(unit='s', above=0.0, same_as='sensor_timeout')]
    republish_period: Annotated[float | None, Key(unit='s', above=0.0)] = None
    on_timeout: Annotated[OnTimeout, Key()] = OnTimeout.HOLD
    overruns: Annotated[Overruns | None, Key()] = None
    foreign_publisher: Annotated[OnForeignPublisher, Key()] = OnForeignPublisher.STOP
    rules: Annotated[tuple[Any, ...], Key('')] = ()
    operator: Annotated[Operator | None, Key()] = None

    def of(self, rule: type[T]) -> tuple[T, ...]:
        """Return what is said to one of the rules."""
        return tuple([each for each in self.rules if type(each) is rule])
