# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A simulator with the services and topics that Gazebo has behind its bridge, and MuJoCo inside.

Like Gazebo it answers before it has done what it was asked for, says yes to whoever puts an entity
that it does not have, and tells its time again and again while it is paused. What Gazebo does by
itself is not tested with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
import math
import sys
from typing import Any

from geometry_msgs.msg import Twist
import rclpy
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.task import Future
from ros_gz_interfaces.msg import Contact, Contacts
from ros_gz_interfaces.srv import ControlWorld, SetEntityPose
from rosgraph_msgs.msg import Clock

from boundary_env_ros.ros import names
from boundary_env_ros.ros.conversions import fill, message_class, set_time
from boundary_env_ros.simulation.cart_config import CartConfig
from boundary_env_ros.simulation.cart_state import ResetTarget
from boundary_env_ros.simulation.gazebo.cart import MADE
from boundary_env_ros.simulation.messages import WIRE
from boundary_env_ros.simulation.robot import emission
from support.warehouse_cart import WarehouseCart

STEP = 2_000_000
MODE = sys.argv[1] if len(sys.argv) > 1 else ''


class SimulatorServer(Node):
    """The cart in the hall, stepped by services or by a timer."""

    def __init__(self) -> None:
        super().__init__('gzserver')
        config = CartConfig()
        # As in Gazebo, what is measured is published at once.
        at_once = {
            name: replace(config.sensors[name], delay=0.0, dropout=0.0)
            for name in ('odometry', 'joint_states', 'imu', 'scan', 'camera')
        }
        self.cart = WarehouseCart(replace(config, actuator_delay=0.0, **at_once))
        self.now = 0
        self.playing = False
        # What was asked for and is done at the next tick: steps, and where the cart is put.
        self.steps = 0
        self.places: list[tuple[float, float, float]] = []
        self.goal = (2.5, -1.0)
        self.moved = (0.0, 0.0)
        self.out = {
            name: self.create_publisher(message_class(kind), topic, names.SENSOR_LOCKSTEP)
            for name, (topic, kind) in WIRE.items()
            if name not in MADE
        }
        self.contacts = self.create_publisher(Contacts, 'gazebo/contacts', 10)
        self.clock = self.create_publisher(Clock, '/clock', 10)
        self.create_subscription(Twist, 'gazebo/cmd_vel', self.on_twist, 10)
        for kind, name, callback in (
            (SetEntityPose, 'set_pose', self.on_place),
            (ControlWorld, 'control', self.on_control),
        ):
            # One that does not answer keeps nobody waiting but who asked.
            self.create_service(
                kind,
                f'/world/warehouse/{name}',
                callback,
                callback_group=ReentrantCallbackGroup(),
            )
        self.create_timer(0.01, self.on_timer)
        self.place(-3.5, -3.0, 0.0)

    def place(self, x: float, y: float, yaw: float) -> None:
        gx, gy = self.goal
        target = ResetTarget(x=x, y=y, yaw=yaw, goal_x=gx, goal_y=gy)
        self.cart.reset(target, seed=1, at_ns=self.now)

    def on_twist(self, message: Twist) -> None:
        self.moved = (message.linear.x, message.angular.z)

    async def on_place(self, request: Any, response: Any) -> Any:
        if MODE == 'no_answer':
            print('asked', flush=True)
            await Future()
        pose = request.pose
        response.success = True
        if request.entity.name == 'goal':
            self.goal = (pose.position.x, pose.position.y)
        elif request.entity.name == 'warehouse_cart':
            yaw = 2.0 * math.atan2(pose.orientation.z, pose.orientation.w)
            self.places.append((pose.position.x, pose.position.y, yaw))
        return response

    def on_control(self, request: Any, response: Any) -> Any:
        self.playing = not request.world_control.pause
        self.steps += request.world_control.multi_step
        response.success = True
        return response

    def on_timer(self) -> None:
        places, self.places = self.places, []
        for place in places:
            self.place(*place)
        steps, self.steps = self.steps, 0
        if self.playing or steps:
            self.advance(steps or 5)
        else:
            self.say_time()

    def advance(self, steps: int) -> None:
        for _ in range(steps):
            self.now += STEP
            # Gazebo's drive knows no timeout: the last command is one of now.
            self.cart.command(*self.moved, arrived_ns=self.now)
            for reading in self.cart.advance(self.now):
                sent = emission(reading, WIRE[reading.sensor][0])
                if sent.fields is None:
                    continue
                if reading.sensor == 'contact' and sent.fields['data']:
                    self.contacts.publish(Contacts(contacts=[Contact()]))
                if reading.sensor not in self.out or (
                    MODE == 'no_scan' and reading.sensor == 'scan'
                ):
                    continue
                message = fill(self.out[reading.sensor].msg_type(), sent.fields)
                self.out[reading.sensor].publish(message)
        self.say_time()

    def say_time(self) -> None:
        message = Clock()
        set_time(message.clock, self.now)
        self.clock.publish(message)


@contextmanager
def spinning() -> Iterator[None]:
    """Spin until the process is told to end."""
    rclpy.init()
    node = SimulatorServer()
    try:
        yield
        rclpy.spin(node)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


if __name__ == '__main__':
    with spinning():
        print('ready', flush=True)
