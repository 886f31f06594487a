# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Gazebo without ros_gz: its own transport, by the Python bindings that are installed with it.

The bindings hold Python's lock while a request waits for its answer, and take it for every message
that comes in, in the thread that also receives the answer (gz-transport 13 to 15). A process that
does both waits for itself. So a process that makes requests subscribes to nothing, and
``gazebo_topics``, a process of its own, carries what Gazebo publishes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
import math
from time import monotonic
from typing import Any

from boundary_env_ros.errors import MissingDependency, SimulationFailed
from boundary_env_ros.simulation.messages import Fields, vector

#: Topic of Gazebo that its drive of the cart listens to, as `config/gazebo/warehouse.sdf` says.
COMMAND = '/model/warehouse_cart/cmd_vel'

# Bindings and messages of Jetty, Ionic and Harmonic.
_RELEASES = (
    ('gz.transport', 'gz.msgs'),
    ('gz.transport14', 'gz.msgs11'),
    ('gz.transport13', 'gz.msgs10'),
)

# So often the time is told: while the world runs, ns of its time; while it stands, steady s.
_TICK, _AGAIN = 4_000_000, 0.1
# A time that is so much earlier is that of another world, ns.
_SET_BACK = 1_000_000_000


class Transport:
    """
    A node of Gazebo's transport.

    Raises
    ------
    MissingDependency
        If no bindings are installed.

    """

    def __init__(self) -> None:
        for transport, messages in _RELEASES:
            try:
                self.node = import_module(transport).Node()
            except ImportError:
                continue
            self._messages = messages
            return
        raise MissingDependency(
            "Gazebo's Python bindings are needed (expected one of "
            f'{", ".join(name for name, _ in _RELEASES)}, got none). Install those of your '
            'release, for example apt install python3-gz-transport13, in the Python that runs '
            'this node; or use ros_gz.'
        )

    def kind(self, name: str) -> Any:
        """Return the class of a message, for example of ``gz.msgs.Clock``."""
        name = name.rpartition('.')[2]
        module = {'WorldControl': 'world_control'}.get(name, name.lower())
        return getattr(import_module(f'{self._messages}.{module}_pb2'), name)


class WorldServices:
    """
    What a world of Gazebo is asked for, and the drive of the cart told.

    Parameters
    ----------
    world
        Its name.
    patience
        Seconds, steady, for an answer.

    """

    def __init__(self, world: str, patience: float) -> None:
        self._transport = Transport()
        self._world = f'/world/{world}'
        self._patience = patience
        self._twist, self._control, self._pose, self._answer = map(
            self._transport.kind, ('Twist', 'WorldControl', 'Pose', 'Boolean')
        )
        self._drive = self._transport.node.advertise(COMMAND, self._twist)

    def drive(self, linear: float, angular: float) -> None:
        """Tell the drive how fast to go, m/s and rad/s."""
        message = self._twist()
        message.linear.x, message.angular.z = linear, angular
        self._drive.publish(message)

    def control(self, what: str, *, pause: bool, multi_step: int = 0) -> None:
        """Pause, run or step the world; raise SimulationFailed if it does not."""
        self._ask(what, 'control', self._control(pause=pause, multi_step=multi_step))

    def place(self, entity: str, x: float, y: float, z: float, yaw: float) -> None:
        """Put an entity in a place, m and rad; raise SimulationFailed if it is not."""
        pose = self._pose(name=entity)
        pose.position.x, pose.position.y, pose.position.z = x, y, z
        pose.orientation.z, pose.orientation.w = math.sin(yaw / 2.0), math.cos(yaw / 2.0)
        self._ask(f'put {entity} in its place', 'set_pose', pose)

    def _ask(self, what: str, service: str, request: Any) -> None:
        name = f'{self._world}/{service}'
        done, answer = self._transport.node.request(
            name, request, type(request), self._answer, round(self._patience * 1000.0)
        )
        if not done:
            raise SimulationFailed(
                f'{name} did not answer within {self._patience:g} s, which is needed to {what}. '
                'Start Gazebo in the same GZ_PARTITION, or name its world with the parameter '
                'world.'
            )
        if not answer.data:
            raise SimulationFailed(f'The simulator refused to {what} ({name}).')


class Relay:
    """
    What of Gazebo's messages is passed on, and which time is told before it.

    Gazebo tells time and joint states at every step, and again and again while it is paused.
    Topics come by ways of their own: a message may be ahead of the clock. So its stamp is told as
    the time first, and the message follows when the clock has moved on, or the world stands.

    Parameters
    ----------
    joint_rate
        Of the joint states that are passed on, Hz.
    tell
        Is called with a time to be told, ns.
    steady
        Clock, s.

    """

    def __init__(
        self,
        joint_rate: float,
        tell: Callable[[int], None],
        steady: Callable[[], float] = monotonic,
    ) -> None:
        self._tick = {'gz.msgs.Model': round(1e9 / joint_rate)}
        self._tell, self._steady = tell, steady
        self._last: dict[str, int] = {}
        self._heard = self._told = -_TICK
        self._told_at = 0.0
        self._waiting: list[tuple[int, Callable[[], None]]] = []

    def on_clock(self, now: int) -> None:
        """Take the time of the world, ns."""
        stands, self._heard = now == self._heard, now
        out = self._told
        if (
            now >= self._told + _TICK
            or now < self._told - _SET_BACK
            or (stands and (now > self._told or self._steady() > self._told_at + _AGAIN))
        ):
            self._tell_time(now)
        elif not stands:
            return
        waiting, self._waiting = self._waiting, []
        for stamp, publish in waiting:
            if stamp <= out:
                publish()
            else:
                self._waiting.append((stamp, publish))

    def pass_on(self, topic: str, kind: str, stamp: int, publish: Callable[[], None]) -> None:
        """Take a message of a topic; ``stamp`` in ns, ``publish`` is called when it is due."""
        number = stamp // self._tick.get(kind, 1)
        if self._last.get(topic) == number:
            return
        self._last[topic] = number
        if stamp > self._told:
            self._tell_time(stamp)
        self._waiting.append((stamp, publish))

    def _tell_time(self, now: int) -> None:
        self._told, self._told_at = now, self._steady()
        self._tell(now)


# Messages ----------------------------------------------------------------------------------------


def time_ns(time: Any) -> int:
    """Return a time of Gazebo, the stamp of a header or that of a clock, as ns."""
    return int(time.sec) * 1_000_000_000 + int(time.nsec)


def _named(message: Any, key: str) -> str:
    return next((data.value[0] for data in message.header.data if data.key == key), '')


def _header(message: Any, frame: str = '') -> Fields:
    stamp = message.header.stamp
    return {
        'stamp': {'sec': stamp.sec, 'nanosec': stamp.nsec},
        'frame_id': frame or _named(message, 'frame_id'),
    }


def _vector(value: Any) -> Fields:
    return vector(value.x, value.y, value.z)


def _quaternion(value: Any) -> Fields:
    return {**vector(value.x, value.y, value.z), 'w': value.w}


def _odometry(message: Any) -> Fields:
    pose, twist = message.pose, message.twist
    return {
        'header': _header(message),
        'child_frame_id': _named(message, 'child_frame_id'),
        'pose': {
            'pose': {
                'position': _vector(pose.position),
                'orientation': _quaternion(pose.orientation),
            }
        },
        'twist': {
            'twist': {'linear': _vector(twist.linear), 'angular': _vector(twist.angular)},
        },
    }


def _scan(message: Any) -> Fields:
    return {
        'header': _header(message, message.frame),
        'angle_min': message.angle_min,
        'angle_max': message.angle_max,
        'angle_increment': message.angle_step,
        'range_min': message.range_min,
        'range_max': message.range_max,
        'ranges': list(message.ranges),
    }


def _image(message: Any) -> Fields:
    return {
        'header': _header(message),
        'height': message.height,
        'width': message.width,
        'encoding': 'rgb8',
        'is_bigendian': 0,
        'step': message.width * 3,
        'data': message.data,
    }


def _imu(message: Any) -> Fields:
    return {
        'header': _header(message),
        'orientation': _quaternion(message.orientation),
        'angular_velocity': _vector(message.angular_velocity),
        'linear_acceleration': _vector(message.linear_acceleration),
    }


def _joints(message: Any) -> Fields:
    return {
        'header': _header(message),
        'name': [joint.name for joint in message.joint],
        'position': [joint.axis1.position for joint in message.joint],
        'velocity': [joint.axis1.velocity for joint in message.joint],
    }


def _touched(message: Any) -> Fields:
    return {'data': bool(message.contact)}


#: Fields of the ROS message that a message of Gazebo becomes, by the type of Gazebo's.
FIELDS: Mapping[str, Callable[[Any], Fields]] = {
    'gz.msgs.Odometry': _odometry,
    'gz.msgs.LaserScan': _scan,
    'gz.msgs.Image': _image,
    'gz.msgs.IMU': _imu,
    'gz.msgs.Model': _joints,
    'gz.msgs.Contacts': _touched,
}
