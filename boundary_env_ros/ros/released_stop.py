# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The emergency stop of a simulated robot, which has no button: it is published as released."""

from __future__ import annotations

from std_msgs.msg import Bool

from boundary_env_ros.ros import names
from boundary_env_ros.ros.contract_node import ContractNode

# How often it is said again within a heartbeat: one may get lost.
_BEATS = 4.0


class ReleasedStop:
    """
    Publishes, latched, that no emergency stop of any agent is pressed.

    A person may press on the same topic: what was pressed stays latched in the gate.

    Parameters
    ----------
    node
        A node that is being configured, and takes the place of the robot.

    """

    def __init__(self, node: ContractNode) -> None:
        contract = node.contract
        topic = contract.safety.emergency_stop
        self._node, self._heartbeat = node, contract.heartbeat
        self._publishers = [
            node.add_publisher(Bool, node.topic_of(agent, topic), names.LATCHED)
            for agent in contract.agents
            if topic
        ]
        self._publish()

    def beat(self) -> None:
        """Repeat it while the node is active, if the contract asks for a heartbeat."""
        if self._heartbeat is not None:
            self._node.every(self._heartbeat / _BEATS, self._publish)

    def _publish(self) -> None:
        for publisher in self._publishers:
            publisher.publish(Bool())
