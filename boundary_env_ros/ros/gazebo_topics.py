# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The process ``gazebo_topics``: what Gazebo publishes, carried to ROS without ros_gz."""

from __future__ import annotations

from functools import partial
from pathlib import Path
import sys
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
import yaml

from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.resources import share_file
from boundary_env_ros.ros import names
from boundary_env_ros.ros.conversions import fill, message_class, set_time
from boundary_env_ros.simulation.config import CartConfig
from boundary_env_ros.simulation.gazebo.transport import FIELDS, Relay, time_ns, Transport

_CLOCK = 'gz.msgs.Clock'


class GazeboTopics(Node):
    """
    Carries the topics that a file for ros_gz_bridge names from Gazebo to ROS.

    Contacts become one std_msgs/msg/Bool.
    """

    def __init__(self) -> None:
        super().__init__('gazebo_topics')
        default = str(share_file('config/gazebo/bridge.yaml'))
        file = self.declare_parameter('config_file', default).value
        self._transport = Transport()
        self._relay = Relay(CartConfig().joint_states.rate, self._tell_time)
        for entry in yaml.safe_load(Path(file).read_text(encoding='utf-8')):
            kind = entry.get('gz_type_name')
            if kind in {_CLOCK, *FIELDS} and entry['direction'] == 'GZ_TO_ROS':
                self._carry(entry['ros_topic_name'], entry['ros_type_name'], kind, entry)

    def _carry(self, topic: str, type_name: str, kind: str, entry: dict[str, Any]) -> None:
        if kind == _CLOCK:
            self._clock_type = message_class(type_name)
            reliable = names.profile(10, reliable=True)
            self._clock = self.create_publisher(self._clock_type, topic, reliable)
            hear: Any = self._on_clock
        else:
            if type_name.startswith('ros_gz_interfaces/'):
                type_name = 'std_msgs/msg/Bool'
            type_ = message_class(type_name)
            publisher = self.create_publisher(type_, topic, names.SENSOR_LOCKSTEP)
            hear = partial(self._on_message, kind, topic, type_, publisher)
        self._transport.node.subscribe(self._transport.kind(kind), entry['gz_topic_name'], hear)

    # Called in one thread, that of the transport.

    def _on_clock(self, message: Any) -> None:
        self._relay.on_clock(time_ns(message.sim))

    def _tell_time(self, now: int) -> None:
        message = self._clock_type()
        set_time(message.clock, now)
        self._clock.publish(message)

    def _on_message(self, kind: str, topic: str, type_: Any, publisher: Any, message: Any) -> None:
        def publish() -> None:
            publisher.publish(fill(type_(), FIELDS[kind](message)))

        self._relay.pass_on(topic, kind, time_ns(message.header.stamp), publish)


def main() -> int:
    """Run the node ``gazebo_topics``."""
    rclpy.init()
    try:
        rclpy.spin(GazeboTopics())
    except BoundaryError as error:
        sys.exit(str(error))
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except Exception:
        if rclpy.ok():
            raise  # else what was made as the context was shut down
    finally:
        rclpy.try_shutdown()
    return 0


if __name__ == '__main__':
    sys.exit(main())
