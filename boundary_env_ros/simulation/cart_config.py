# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is declared about the simulated cart: its driver, and how well each sensor measures."""

from __future__ import annotations

from dataclasses import fields
import math
from typing import ClassVar

from boundary_env_ros.frozen import frozen


class Declaration:
    """Numbers that are declared, and refused where they are impossible."""

    __slots__ = ()

    def __post_init__(self) -> None:
        """Refuse a number that is not finite, or below 0."""
        for item in fields(self):  # type: ignore[arg-type]  # what is derived from it is one
            value = getattr(self, item.name)
            if not (isinstance(value, Declaration) or 0 <= value < math.inf):
                raise ValueError(
                    f'{type(self).__name__}.{item.name}: expected a finite number, 0 or more, got '
                    f'{value}.'
                )


@frozen
class SensorConfig(Declaration):
    """
    When a sensor measures and how its readings travel.

    Attributes
    ----------
    rate
        Captures a second, Hz, counted from the reset; 0 switches the sensor off.
    delay
        From capture to publication, s.
    dropout
        Probability that a captured reading is never published, 0 to 1.

    """

    rate: float
    delay: float = 0.0
    dropout: float = 0.0


@frozen
class OdometryConfig(SensorConfig):
    """
    Dead reckoning from wheel encoders, which drifts.

    Attributes
    ----------
    scale_error
        Standard deviation of a wheel's believed radius, relative; drawn once a reset.
    travel_noise
        Standard deviation of the measured travel between two captures, relative to that travel.

    """

    rate: float = 50.0
    delay: float = 0.005
    scale_error: float = 0.003
    travel_noise: float = 0.01


@frozen
class JointStateConfig(SensorConfig):
    """
    Wheel encoders.

    Attributes
    ----------
    position_noise
        Standard deviation, rad.
    velocity_noise
        Standard deviation, rad/s.

    """

    rate: float = 50.0
    delay: float = 0.005
    position_noise: float = 0.0005
    velocity_noise: float = 0.02


@frozen
class ImuConfig(SensorConfig):
    """
    Inertial unit with an orientation filter.

    Attributes
    ----------
    orientation_noise
        Standard deviation about each axis, rad.
    angular_velocity_noise
        Standard deviation of each axis, rad/s.
    linear_acceleration_noise
        Standard deviation of each axis, m/s^2.

    """

    rate: float = 100.0
    delay: float = 0.002
    orientation_noise: float = 0.002
    angular_velocity_noise: float = 0.005
    linear_acceleration_noise: float = 0.05


@frozen
class ScanConfig(SensorConfig):
    """
    Planar laser scanner, all around.

    Attributes
    ----------
    beams
        Number of beams, evenly spread over 2 pi rad from -pi, counter-clockwise.
    range_min, range_max
        Limits of what can be measured, m.
    range_noise
        Standard deviation of a range, m.

    """

    rate: float = 20.0
    delay: float = 0.02
    dropout: float = 0.01
    beams: int = 180
    range_min: float = 0.1
    range_max: float = 8.0
    range_noise: float = 0.01


@frozen
class CameraConfig(SensorConfig):
    """
    Forward camera without distortion, square pixels.

    Attributes
    ----------
    height, width
        Size of the image, pixels.
    field_of_view
        Horizontal opening angle, rad, below pi.
    intensity_noise
        Standard deviation of each channel, steps of 255.

    """

    rate: float = 10.0
    delay: float = 0.03
    dropout: float = 0.01
    height: int = 48
    width: int = 64
    field_of_view: float = 1.4
    intensity_noise: float = 2.0


@frozen
class PoseDetectionsConfig(SensorConfig):
    """
    Fiducial detector which finds the cart from the middle of the hall.

    The noise that is drawn and the one that a reading reports are the same number:
    ``base * (1 + distance_growth * distance + speed_growth * speed)``.

    Attributes
    ----------
    position_noise
        Standard deviation of x and of y, standing in the middle of the hall, m.
    yaw_noise
        Standard deviation of yaw there, rad.
    distance_growth
        How much the noise grows per metre of distance from the hall's origin, 1/m.
    speed_growth
        How much it grows per metre per second of speed (motion blur), s/m.
    position_bias
        How far along x of the hall every detection is off, m, which no reading reports.

    """

    rate: float = 20.0
    delay: float = 0.06
    dropout: float = 0.05
    position_noise: float = 0.02
    yaw_noise: float = 0.01
    distance_growth: float = 0.1
    speed_growth: float = 0.5
    position_bias: float = 0.0


@frozen
class ContactConfig(SensorConfig):
    """
    Bumper all around.

    Attributes
    ----------
    hold
        How long a touch goes on being reported, s.

    """

    rate: float = 20.0
    hold: float = 0.0


class RobotConfig(Declaration):
    """Everything that is declared about a simulated robot: its drivers, and its sensors."""

    __slots__ = ()

    #: Names of the drivers' timeouts.
    TIMEOUTS: ClassVar[tuple[str, ...]]
    actuator_delay: float

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        Declaration.__post_init__(self)
        for name in self.TIMEOUTS:
            if not self.actuator_delay < getattr(self, name):
                raise ValueError(
                    f'{name} is too short (expected {name} above actuator_delay '
                    f'({self.actuator_delay} s), got {getattr(self, name)} s). The driver would '
                    'stop before a command takes effect.'
                )

    @property
    def sensors(self) -> dict[str, SensorConfig]:
        """Every sensor by name, in the order in which readings of one instant are returned."""
        found = ((f.name, getattr(self, f.name)) for f in fields(self))  # type: ignore[arg-type]
        return {name: value for name, value in found if isinstance(value, SensorConfig)}


@frozen
class CartConfig(RobotConfig):
    """
    Everything that is declared about the simulated cart.

    Attributes
    ----------
    max_wheel_accel
        How fast the driver lets a wheel's set speed change, rad/s^2.
    max_wheel_speed
        Fastest set speed of a wheel, rad/s; a faster command is scaled down, keeping its curve.
    actuator_delay
        From the arrival of a command to its effect at the motors, s.
    driver_timeout
        After so long without a command the cart brakes by itself, s; more than actuator_delay.
    braking_deceleration
        How fast a wheel's rim then slows down, m/s^2.
    payload
        Mass that lies in the chassis besides its own, spread over it, kg.
    wheel_friction
        Dry friction in the bearing of each wheel, N m, which the driver does not know of.
    odometry, joint_states, imu, scan, camera, pose_detections, ground_truth, contact
        The sensors. Ground truth has neither delay nor dropout.

    """

    TIMEOUTS: ClassVar[tuple[str, ...]] = ('driver_timeout',)

    max_wheel_accel: float = 15.0
    max_wheel_speed: float = 15.0
    actuator_delay: float = 0.03
    driver_timeout: float = 0.25
    braking_deceleration: float = 2.0
    payload: float = 0.0
    wheel_friction: float = 0.0
    odometry: OdometryConfig = OdometryConfig()
    joint_states: JointStateConfig = JointStateConfig()
    imu: ImuConfig = ImuConfig()
    scan: ScanConfig = ScanConfig()
    camera: CameraConfig = CameraConfig()
    pose_detections: PoseDetectionsConfig = PoseDetectionsConfig()
    ground_truth: SensorConfig = SensorConfig(rate=50.0)
    contact: ContactConfig = ContactConfig()

    def stop_bound(self, rim_speed: float) -> float:
        """
        Return the longest time from the last command's arrival to stand-still, s.

        Stand-still means less than 0.01 m/s. The wheels follow the braking set speed with a lag
        of their own, for which 0.1 s are declared; on a free floor.

        Parameters
        ----------
        rim_speed
            Speed of the faster wheel's rim when the driver begins to brake, m/s.

        """
        return self.driver_timeout + abs(rim_speed) / self.braking_deceleration + 0.1


#: The cart as it might be built, where :class:`CartConfig` is how it was thought of: a comparison
#: of the two has a known answer to find.
REALITY = CartConfig(
    actuator_delay=0.08,
    payload=150.0,
    wheel_friction=2.0,
    scan=ScanConfig(range_noise=0.03),
    pose_detections=PoseDetectionsConfig(position_bias=0.08),
)
