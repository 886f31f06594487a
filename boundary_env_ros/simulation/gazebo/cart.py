# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What stands between the contract and the cart in Gazebo, apart from ROS.

Gazebo's drive goes on with the last command for ever, and nothing in the hall detects fiducials or
feels a touch. So here is the driver, with the timeout that the contract declares, and here are
detector and bumper, those of the simulated cart, fed by what Gazebo says is true. Time is an
argument.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math

import numpy as np

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.reset import WorldReset
from boundary_env_ros.core.records.lockstep import SimStepResponse
from boundary_env_ros.core.records.parts import StepId
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.simulation.cart_config import CartConfig
from boundary_env_ros.simulation.cart_state import achieved, BodyState, ResetTarget
from boundary_env_ros.simulation.delayed_commands import DelayedCommands
from boundary_env_ros.simulation.messages import header, WIRE
from boundary_env_ros.simulation.motion_sensors import Contact, PoseDetections
from boundary_env_ros.simulation.robot import Emission, emission, report_of
from boundary_env_ros.simulation.sensor_pipeline import SensorPipeline

#: What no sensor of Gazebo says; it is made here.
MADE = ('pose_detections', 'contact')

_STEP_NS = 2_000_000


def state_of(
    at_ns: int,
    position: Sequence[float],
    orientation: Sequence[float],
    linear: Sequence[float],
    angular: Sequence[float],
    touches: int,
) -> BodyState:
    """
    Return the state of the cart as its true odometry tells it.

    Parameters
    ----------
    at_ns
        Stamp of the message, ns.
    position, orientation
        Of base_link in the hall: m, and quaternion x, y, z, w.
    linear, angular
        In base_link, m/s and rad/s, each shape (3,).
    touches
        How many touches have come so far.

    """
    x, y, z, w = orientation
    rotation = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    return BodyState(
        at_ns=at_ns,
        position=np.array(position),
        orientation=np.array([w, x, y, z]),
        rotation=rotation,
        velocity=rotation @ np.array(linear),
        angular_velocity=np.array(angular),
        wheel_angles=np.zeros(2),
        wheel_speeds=np.zeros(2),
        touch_steps=touches,
    )


class GazeboCart:
    """
    Driver, detector and bumper of the cart in Gazebo.

    Parameters
    ----------
    contract
        With one agent and one group of two dimensions: forward m/s, turn rad/s.

    """

    def __init__(self, contract: Contract) -> None:
        config = CartConfig()
        group = contract.action[0]
        if len(contract.agents) != 1 or len(contract.action) != 1 or group.size != 2:
            raise BoundaryError(
                'Wrong contract (expected one agent, and an action with one group of two '
                'dimensions (forward m/s, turn rad/s) for the cart in Gazebo, got '
                f'{len(contract.agents)} agents, {contract.command_size} dimensions in '
                f'{len(contract.action)} groups).'
            )
        timeout = config.driver_timeout if group.driver_timeout is None else group.driver_timeout
        self._driver: DelayedCommands[Vector] = DelayedCommands(delay=0.0, timeout=timeout)
        self._driven: Vector = (0.0, 0.0)
        self._pipeline: SensorPipeline[BodyState] = SensorPipeline(
            {name: config.sensors[name] for name in MADE},
            {
                'pose_detections': PoseDetections(config.pose_detections),
                'contact': Contact(config.contact),
            },
            _STEP_NS,
        )

    # The driver ----------------------------------------------------------------------------------

    def command(self, values: Vector, arrived: int) -> None:
        """Take a command of the gate, m/s and rad/s; arrived in ns of the driver's clock."""
        if all(map(math.isfinite, values)):
            self._driver.receive(values, arrived)

    def drive(self, now: int) -> Vector | None:
        """
        Return what Gazebo's drive is to be sent now; None: nothing else than before.

        ``now`` is of the same clock as the arrivals. After the timeout it is to stand.
        """
        wanted = self._driven
        for command in self._driver.due(now):
            wanted = command
        if self._driver.is_silent(now):
            wanted = (0.0, 0.0)
        if wanted == self._driven:
            return None
        self._driven = wanted
        return wanted

    def halt(self, now: int) -> Vector:
        """Forget every command, and return what tells the drive to stand."""
        self._driver.restart(now)
        self._driven = (0.0, 0.0)
        return self._driven

    # Detector and bumper -------------------------------------------------------------------------

    def begin(self, state: BodyState, target: ResetTarget, seed: int) -> WorldReset:
        """Begin again after a reset that has led to a state, and return what was achieved."""
        self._pipeline.restart(state, seed)
        return WorldReset(
            achieved=achieved(target, state.truth()),
            completed=state.at_ns,
            confirmed_by='gazebo_bridge',
        )

    def see(self, state: BodyState) -> None:
        """Take what is true of the cart now."""
        if self._pipeline.next_ns <= state.at_ns:
            self._pipeline.capture(state)

    def emissions(self, until: int) -> tuple[Emission, ...]:
        """Return what detector and bumper send up to a time of the world, ns."""
        return tuple(
            emission(reading, WIRE[reading.sensor][0]) for reading in self._pipeline.publish(until)
        )


class SensorArrivals:
    """
    What came of Gazebo's own sensors, and what an advance of the world still has to bring.

    Gazebo does not say what it has published. But each sensor has its rate: as long as another
    message of it could be due up to the end of the advance, that is waited for.

    Parameters
    ----------
    config
        With the rates.
    topics
        Those that the contract senses by.

    """

    def __init__(self, config: CartConfig, topics: Sequence[str]) -> None:
        wanted = {topic: name for name, (topic, _) in WIRE.items() if name not in MADE}
        rates = {topic: config.sensors[wanted[topic]].rate for topic in topics if topic in wanted}
        self._period = {
            topic: round(NANOSECONDS / rate) for topic, rate in rates.items() if rate > 0.0
        }
        self._stamps: dict[str, list[int]] = {topic: [] for topic in self._period}
        # How many of them had come before the advance.
        self._before = dict.fromkeys(self._period, 0)
        self._advances = False

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics that are listened to."""
        return tuple(self._period)

    def begin(self) -> None:
        """Forget what came, but for the last stamp of each topic."""
        self._stamps = {topic: stamps[-1:] for topic, stamps in self._stamps.items()}
        self._before = {topic: len(stamps) for topic, stamps in self._stamps.items()}
        self._advances = True

    def end(self) -> None:
        """Keep the last stamp of each topic only, until the next advance."""
        self._advances = False

    def note(self, topic: str, stamp: int) -> None:
        """Take note of a message, by its stamp, ns."""
        stamps = self._stamps[topic]
        if stamps and stamp == stamps[-1]:
            return  # joint states are sent again and again while the world stands
        if self._advances and (not stamps or stamp > stamps[-1]):
            stamps.append(stamp)
        else:  # nothing advances, or the world's time was set back
            self._stamps[topic] = [stamp]
            self._before[topic] = 0

    def missing(self, until: int) -> tuple[str, ...]:
        """Return the topics of which another message is due up to a time of the world, ns."""
        return tuple(
            topic
            for topic, period in self._period.items()
            if not self._stamps[topic] or self._stamps[topic][-1] + period <= until
        )

    def report(
        self,
        id_: StepId,
        made: Sequence[Emission],
        error: str,
        resolved: Mapping[str, str],
    ) -> SimStepResponse:
        """
        Return the report of an advance.

        Parameters
        ----------
        id_
            The step.
        made
            What detector and bumper sent on the way.
        error
            What failed; empty if nothing did.
        resolved
            Full name of each topic.

        """
        received = [
            Emission(topic=topic, fields={'header': header(stamp, '')})
            for topic, stamps in self._stamps.items()
            for stamp in stamps[self._before[topic] :]
        ]
        return report_of(id_, [*received, *made], error, resolved)
