# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The contract of a boundary that runs already, for a client that has no file of it."""

from __future__ import annotations

from collections.abc import Callable
import time

from rclpy.node import Node

from boundary_env_ros.errors import LinkError
from boundary_env_ros.evidence.run_files import contract_of
from boundary_env_ros.ros import names
from boundary_env_ros.ros.call_with_retry import wait_until
from boundary_env_ros.ros.conversions import from_bytes
from boundary_env_ros.ros.interfaces import msg
from boundary_env_ros.ros.message_guard import Incoming
from boundary_env_ros.storage.contract_file import LoadedContract
from boundary_env_ros.storage.records import ContractDescription


def served_contract(node: Node, spin: Callable[[], None], wait: float) -> LoadedContract:
    """
    Wait for a node of the boundary, and return the contract that it has latched.

    Parameters
    ----------
    node
        A node in the namespace of the boundary.
    spin
        Lets messages in for a moment.
    wait
        Seconds, steady, for a node of a boundary to be found.

    Raises
    ------
    LinkError
        If none is found.
    ContractError, DigestMismatch
        If its contract cannot be used here.

    """
    described: list[ContractDescription] = []
    topic = node.resolve_topic_name(names.CONTRACT)

    def on_description(data: bytes) -> None:
        described.append(from_bytes(ContractDescription, data))

    subscription = Incoming(node).subscribe(
        msg.ContractDescription, topic, on_description, names.LATCHED_MANY, raw=True
    )
    try:
        if not wait_until(lambda: described, time.monotonic() + wait, spin):
            raise LinkError(
                f'No node of a boundary was heard on {topic} within {wait:g} s. '
                'Start one, or check domain and namespace.'
            )
    finally:
        node.destroy_subscription(subscription)
    return contract_of(described[0])
