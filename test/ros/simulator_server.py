# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A simulator with the services and topics that Gazebo has behind its bridge, and MuJoCo inside.

``simulation_interfaces`` are the real ones. What Gazebo does by itself is not tested with it.
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
from rosgraph_msgs.msg import Clock
from simulation_interfaces.msg import Result, SimulationState
from simulation_interfaces.srv import SetEntityState, SetSimulationState, StepSimulation

from boundary_env_ros.ros import names
from boundary_env_ros.ros.conversions import fill, message_class, set_time
from boundary_env_ros.simulation.config import CartConfig
from boundary_env_ros.simulation.gazebo.cart import MADE
from boundary_env_ros.simulation.messages import message_fields, WIRE
from boundary_env_ros.simulation.warehouse import ResetTarget
from boundary_env_ros.simulation.warehouse_cart import WarehouseCart

STEP = 2_000_000
MODE = sys.argv[1] if len(sys.argv) > 1 else ''


class SimulatorServer(Node):
    """The cart in the hall, stepped by services or by a timer."""

    def __init__(self) -> None:
        super().__init__('gzserver')
        config = CartConfig()
        # As in Gazebo, what is measured is published at once.
        at_once = {
            name: replace(config.sensor(name), delay=0.0, dropout=0.0)
            for name in ('odometry', 'joint_states', 'imu', 'scan', 'camera')
        }
        self.cart = WarehouseCart(replace(config, actuator_delay=0.0, **at_once))
        self.now = 0
        self.playing = False
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
            (SetEntityState, 'set_entity_state', self.on_entity),
            (StepSimulation, 'step_simulation', self.on_step),
            (SetSimulationState, 'set_simulation_state', self.on_state),
        ):
            # One that does not answer keeps nobody waiting but who asked.
            self.create_service(
                kind, f'~/{name}', callback, callback_group=ReentrantCallbackGroup()
            )
        self.create_timer(0.01, self.on_timer)
        self.place(-3.5, -3.0, 0.0)

    def place(self, x: float, y: float, yaw: float) -> None:
        gx, gy = self.goal
        target = ResetTarget(x=x, y=y, yaw=yaw, goal_x=gx, goal_y=gy)
        self.cart.reset(target, seed=1, at_ns=self.now)

    def on_twist(self, message: Twist) -> None:
        self.moved = (message.linear.x, message.angular.z)

    async def on_entity(self, request: Any, response: Any) -> Any:
        if MODE == 'no_answer':
            print('asked', flush=True)
            await Future()
        pose = request.state.pose
        response.result.result = Result.RESULT_OK
        if request.entity == 'goal':
            self.goal = (pose.position.x, pose.position.y)
        elif request.entity == 'warehouse_cart':
            yaw = 2.0 * math.atan2(pose.orientation.z, pose.orientation.w)
            self.place(pose.position.x, pose.position.y, yaw)
        else:
            response.result.result = Result.RESULT_NOT_FOUND
            response.result.error_message = f'no entity {request.entity}'
        return response

    def on_step(self, request: Any, response: Any) -> Any:
        if self.playing:
            response.result.result = Result.RESULT_INCORRECT_STATE
            response.result.error_message = 'it plays'
            return response
        self.advance(request.steps)
        response.result.result = Result.RESULT_OK
        return response

    def on_state(self, request: Any, response: Any) -> Any:
        self.playing = request.state.state == SimulationState.STATE_PLAYING
        response.result.result = Result.RESULT_OK
        return response

    def on_timer(self) -> None:
        if self.playing:
            self.advance(5)
        else:
            self.say_time()

    def advance(self, steps: int) -> None:
        for _ in range(steps):
            self.now += STEP
            # Gazebo's drive knows no timeout: the last command is one of now.
            self.cart.command(*self.moved, arrived_ns=self.now)
            for reading in self.cart.advance(self.now):
                if reading.dropped:
                    continue
                kind = WIRE[reading.sensor][1]
                if reading.sensor == 'contact' and reading.payload.touching:
                    self.contacts.publish(Contacts(contacts=[Contact()]))
                if reading.sensor not in self.out or (
                    MODE == 'no_scan' and reading.sensor == 'scan'
                ):
                    continue
                message = fill(message_class(kind)(), message_fields(reading))
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
