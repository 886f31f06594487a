# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Stand-ins for the drivers of a UR5e, a TurtleBot 4 and a quadruped, on the topics of the real ones.

`python driver.py ur5e` runs one. They know nothing of boundary_env_ros. Bodies have no dynamics: a
joint or base follows its command within a greatest speed or acceleration.
"""

import math
import sys
import time

from geometry_msgs.msg import TwistStamped
from nav_msgs.msg import Odometry
import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Imu, JointState, LaserScan
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

START = {
    'shoulder_pan_joint': 0.0, 'shoulder_lift_joint': -1.5, 'elbow_joint': 1.5,
    'wrist_1_joint': -1.5, 'wrist_2_joint': -1.5, 'wrist_3_joint': 0.0,
}  # fmt: skip
STANCE = {'hip': 0.0, 'thigh': 0.8, 'calf': -1.5}
LEGS = ('FL', 'FR', 'RL', 'RR')


class Joints(Node):
    """Joints that go to a target; `joint_states` in alphabetical order, as ros2_control has it."""

    PERIOD = 0.01  # s; a UR5e has 0.002

    def __init__(self, start, speed):
        super().__init__('driver')
        self.position = dict(start)
        self.velocity = dict.fromkeys(start, 0.0)
        self.speed = speed  # rad/s
        self.target = dict(start)
        self.states = self.create_publisher(JointState, 'joint_states', 10)
        self.create_timer(self.PERIOD, self.on_timer)

    def on_timer(self):
        """Move for a period, and say where the joints are and how fast they go."""
        for name, target in self.target.items():
            most = self.speed * self.PERIOD
            step = max(-most, min(most, target - self.position[name]))
            self.position[name] += step
            self.velocity[name] = step / self.PERIOD
        message = JointState(name=sorted(self.position))
        message.header.stamp = self.get_clock().now().to_msg()
        message.position = [self.position[name] for name in message.name]
        message.velocity = [self.velocity[name] for name in message.name]
        self.states.publish(message)


class Ur5e(Joints):
    """A UR5e under ur_robot_driver: a joint trajectory controller, and a service that moves it."""

    def __init__(self):
        super().__init__(START, speed=1.0)
        self.way = None  # of a trajectory: begin, end (s), from, to (rad)
        topic = 'scaled_joint_trajectory_controller/joint_trajectory'
        self.create_subscription(JointTrajectory, topic, self.on_trajectory, 1)
        self.create_service(Trigger, 'move_to_start', self.on_move_to_start)

    def on_trajectory(self, message):
        """Take a trajectory of one point, which counts from its stamp."""
        (point,) = message.points
        stamp = message.header.stamp
        begin = stamp.sec + stamp.nanosec * 1e-9 or time.time()
        duration = point.time_from_start.sec + point.time_from_start.nanosec * 1e-9
        goal = dict(zip(message.joint_names, point.positions, strict=True))
        self.way = (begin, begin + duration, dict(self.position), goal)

    def on_move_to_start(self, request, response):
        """Move there, as a planner or a goal of FollowJointTrajectory would, and answer then."""
        self.way, self.target = None, dict(START)
        while self.position != self.target:
            self.on_timer()
            time.sleep(self.PERIOD)
        response.success = True
        return response

    def on_timer(self):
        """Follow the trajectory, if there is one."""
        if self.way is not None:
            begin, end, before, goal = self.way
            share = min(1.0, max(0.0, (time.time() - begin) / (end - begin)))
            self.target = {n: before[n] + share * (goal[n] - before[n]) for n in before}
        super().on_timer()


class Quadruped(Joints):
    """Twelve joints under a position controller, and an IMU."""

    def __init__(self):
        start = {f'{leg}_{part}_joint': q for leg in LEGS for part, q in STANCE.items()}
        super().__init__(start, speed=20.0)
        self.imu = self.create_publisher(Imu, 'imu', qos_profile_sensor_data)
        topic = 'joint_group_position_controller/commands'
        self.create_subscription(Float64MultiArray, topic, self.on_positions, 1)

    def on_positions(self, message):
        """Take the positions, in the order in which the controller lists its joints."""
        self.target = dict(zip(self.target, message.data, strict=True))

    def on_timer(self):
        """Say how the body lies, too: level."""
        super().on_timer()
        message = Imu()
        message.header.stamp = self.get_clock().now().to_msg()
        message.header.frame_id = 'imu_link'
        message.linear_acceleration.z = 9.81
        self.imu.publish(message)


class TurtleBot4(Node):
    """A base that takes TwistStamped, and a lidar in the middle of a round room."""

    PERIOD = 0.05  # s
    TIMEOUT = 0.5  # s without a command, after which it stops
    RADIUS = 3.0  # m

    def __init__(self):
        super().__init__('driver')
        self.now = [0.0, 0.0]  # m/s, rad/s
        self.wanted = (0.0, 0.0)
        self.heard = 0.0
        self.odom = self.create_publisher(Odometry, 'odom', qos_profile_sensor_data)
        self.scan = self.create_publisher(LaserScan, 'scan', qos_profile_sensor_data)
        self.create_subscription(TwistStamped, 'cmd_vel', self.on_command, 1)
        self.create_timer(self.PERIOD, self.on_timer)
        self.create_timer(0.125, self.on_scan)

    def on_command(self, message):
        """Take a command."""
        self.wanted = (message.twist.linear.x, message.twist.angular.z)
        self.heard = time.monotonic()

    def on_timer(self):
        """Move, and say how fast."""
        late = time.monotonic() - self.heard > self.TIMEOUT
        for place, acceleration in enumerate((1.0, 8.0)):
            wanted = 0.0 if late else self.wanted[place]
            most = acceleration * self.PERIOD
            self.now[place] += max(-most, min(most, wanted - self.now[place]))
        message = Odometry(child_frame_id='base_link')
        message.header.stamp = self.get_clock().now().to_msg()
        message.header.frame_id = 'odom'
        message.twist.twist.linear.x, message.twist.twist.angular.z = self.now
        self.odom.publish(message)

    def on_scan(self):
        """Say how far the wall is, all around."""
        message = LaserScan(angle_min=-math.pi, angle_max=math.pi, range_min=0.15, range_max=12.0)
        message.header.stamp = self.get_clock().now().to_msg()
        message.header.frame_id = 'rplidar_link'
        message.ranges = [self.RADIUS] * 720
        message.angle_increment = 2.0 * math.pi / 719
        self.scan.publish(message)


ROBOTS = {'quadruped': Quadruped, 'turtlebot4': TurtleBot4, 'ur5e': Ur5e}


def main():
    """Run a driver until Ctrl-C."""
    if len(sys.argv) != 2 or sys.argv[1] not in ROBOTS:
        sys.exit(f'usage: driver.py {"|".join(ROBOTS)}')
    rclpy.init()
    try:
        rclpy.spin(ROBOTS[sys.argv[1]]())
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        rclpy.try_shutdown()


if __name__ == '__main__':
    main()
