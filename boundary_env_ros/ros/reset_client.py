# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The ROS side of a reset procedure: services that are called, messages that are published."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from boundary_env_ros.core.contract.model import CallStep, ConfirmStep, PublishStep
from boundary_env_ros.core.environment.reset import ResetWorld, WorldReset
from boundary_env_ros.core.records.parts import NamedValues
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.ros import names
from boundary_env_ros.ros.contract_node import ContractNode
from boundary_env_ros.ros.conversions import fill, from_msg, message_class, to_msg
from boundary_env_ros.ros.interfaces import srv


class ResetClient:
    """
    Does for a node what a reset procedure asks for, and never waits.

    A service that is not there yet is asked as soon as it is; the procedure has the deadlines.

    Parameters
    ----------
    node
        A node that is being configured.
    on_world
        Is given the world's answer.
    on_called
        Is given the name of a service that was called, and what failed (empty if nothing did).

    Raises
    ------
    BoundaryError
        If a type is not installed, or has not the fields that the contract fills.

    """

    def __init__(
        self,
        node: ContractNode,
        *,
        on_world: Callable[[WorldReset], None],
        on_called: Callable[[str, str], None],
    ) -> None:
        procedure = node.contract.episode.reset
        self._node = node
        self._on_world = on_world
        self._on_called = on_called
        self._latest: object = None
        self._waiting: tuple[Any, Any, Callable[[Any], None]] | None = None
        self._world: Any = None
        if procedure.service:
            self._world = node.add_client(srv.ResetWorld, procedure.service)
        self._services: dict[str, tuple[Any, Any]] = {}
        self._publishers: dict[str, tuple[Any, Any]] = {}
        for step in procedure.steps:
            # A wrong field is found now, not in the middle of a reset.
            if isinstance(step, CallStep):
                kind = message_class(step.type)
                _filled(kind.Request(), step.request, step.service)
                self._services[step.service] = kind, node.add_client(kind, step.service)
            elif isinstance(step, PublishStep):
                kind = message_class(step.type)
                _filled(kind(), step.message, step.topic)
                publisher = node.add_publisher(kind, step.topic, names.RECORD)
                self._publishers[step.topic] = kind, publisher

    def execute(self, effect: ResetWorld | CallStep | PublishStep | ConfirmStep) -> None:
        """Do what the procedure asks for."""
        self._waiting = None
        self._latest = object()
        match effect:
            case ResetWorld():
                target = [to_msg(values) for values in effect.target]
                request = srv.ResetWorld.Request(
                    seed=effect.seed, target=target, options=effect.options
                )
                self._ask(self._world, request, self._world_answered)
            case CallStep(service=service):
                kind, client = self._services[service]
                request = _filled(kind.Request(), effect.request, service)
                self._ask(client, request, lambda answer: self._called(service, answer))
            case PublishStep(topic=topic):
                kind, publisher = self._publishers[topic]
                publisher.publish(_filled(kind(), effect.message, topic))
            case ConfirmStep(prompt=prompt):
                self._node.get_logger().warning(
                    f'{prompt} Confirm with: boundary-env operator --user NAME (service '
                    f'{self._node.get_fully_qualified_name()}/confirm_reset)'
                )

    def watch(self) -> None:
        """Ask a service that was not there before; to be called a few times a period."""
        if self._waiting is not None:
            self._ask(*self._waiting)

    def _ask(self, client: Any, request: Any, answered: Callable[[Any], None]) -> None:
        if not client.service_is_ready():
            self._waiting = (client, request, answered)
            return
        self._waiting = None
        current = self._latest

        def done(future: Any) -> None:
            # Not the answer to the reset of an episode that was given up meanwhile.
            if current is self._latest:
                answered(future.result())

        client.call_async(request).add_done_callback(done)

    def _world_answered(self, response: Any) -> None:
        self._on_world(
            WorldReset(
                error=response.result.message if response.result.code else '',
                achieved=tuple(from_msg(NamedValues, values) for values in response.achieved),
                completed=response.completed.sec * NANOSECONDS + response.completed.nanosec,
                confirmed_by=self._node.contract.episode.reset.service,
                info=response.info,
            )
        )

    def _called(self, service: str, response: Any) -> None:
        # std_srvs, and most that follow it, say `success`; a response without it has succeeded.
        success = getattr(response, 'success', True)
        message = getattr(response, 'message', '')
        self._on_called(service, '' if success else (message or 'it failed'))


def _filled(message: Any, fields: Mapping[str, object], where: str) -> Any:
    try:
        return fill(message, fields)
    except (AttributeError, AssertionError, TypeError, ValueError) as error:
        raise BoundaryError(
            f'Wrong fields for {where} in the reset procedure (expected those of '
            f'{type(message).__name__}, got {dict(fields)}: {error}). '
            'Compare with `ros2 interface show`.'
        ) from error
