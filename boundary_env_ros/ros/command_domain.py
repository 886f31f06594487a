# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Commands in a ROS domain of their own, which only gate and driver join."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rclpy.context import Context
from rclpy.duration import Duration
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.node import Node

from boundary_env_ros.errors import LinkError
from boundary_env_ros.ros import enclaves
from boundary_env_ros.ros.contract_node import ContractNode
from boundary_env_ros.ros.domain import check_domain

# For the last command, s; a driver that was killed does not acknowledge it.
_ACK_TIMEOUT = 0.5


def declare_command_domain(node: ContractNode) -> None:
    """Declare the parameter that names the domain of the commands."""
    node.declare(
        'command_domain',
        -1,
        'ROS domain of the command topics (-1: that of all other topics). Gate and driver alone '
        'join it; in the other one the gate publishes its commands for the record.',
    )


class CommandDomain(Node):
    """
    A node of the same name in the domain of the commands, until the cleanup.

    Its callbacks run on the executor of the node that it belongs to, behind the guard of that.

    Parameters
    ----------
    of
        The node, which is being configured.
    domain_id
        The domain.

    Raises
    ------
    LinkError
        If there can be no such domain.

    """

    def __init__(self, of: ContractNode, domain_id: int) -> None:
        check_domain(domain_id)
        if enclaves.enabled():
            raise LinkError(
                'The commands have a domain of their own, and the keys of DDS Security are for '
                f'that of the other topics alone (expected one of both, got command_domain '
                f'{domain_id}). Start it without: the permissions keep others off the commands.'
            )
        self._guarded = of.guarded
        context = Context()
        context.init(domain_id=domain_id)
        try:
            super().__init__(
                of.get_name(),
                namespace=of.get_namespace(),
                context=context,
                # Of a process that is renamed; topics come with their full names.
                use_global_arguments=False,
                enable_rosout=False,
                start_parameter_services=False,
            )
        except BaseException:
            context.try_shutdown()
            raise
        executor = of.executor
        executor.add_node(self)
        of.own(partial(CommandDomain._leave, executor=executor), self)

    def _leave(self, executor: Any) -> None:
        for publisher in self.publishers:
            publisher.wait_for_all_acked(Duration(seconds=_ACK_TIMEOUT))
        executor.remove_node(self)
        self.destroy_node()
        self.context.try_shutdown()

    # Without events: the EventsExecutor crashes with those of what is destroyed (rclpy#1644).

    def create_publisher(self, msg_type: Any, topic: str, qos: Any, **options: Any) -> Any:
        """Create a publisher."""
        silent = PublisherEventCallbacks(use_default_callbacks=False)
        return super().create_publisher(
            msg_type, topic, qos, **{**options, 'event_callbacks': silent}
        )

    def add_subscription(
        self,
        kind: Any,
        topic: str,
        callback: Callable[..., None],
        qos: Any,
        *,
        raw: bool = False,
    ) -> Any:
        """Return a subscription; ``raw`` gives the bytes of a message."""
        silent = SubscriptionEventCallbacks(use_default_callbacks=False)
        guarded = self._guarded(topic, None if raw else kind, callback)
        return self.create_subscription(
            kind, topic, guarded, qos, raw=True, event_callbacks=silent
        )


def command_domain(node: ContractNode) -> CommandDomain | None:
    """Return the domain of the commands as its parameter says; None: that of the node."""
    domain: int = node.value('command_domain')
    if domain in (-1, node.context.get_domain_id()):
        return None
    return CommandDomain(node, domain)
