# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The operator of a contract over ROS: what they ask for, and how a program is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import math
import re
import threading
import time
from typing import Any

from boundary_env_ros.core.authentication import Role
from boundary_env_ros.core.contract.model import ActionKind, Contract, Interface
from boundary_env_ros.core.contract.safety import Operator
from boundary_env_ros.core.contract.sources import Paths
from boundary_env_ros.core.gate.commands import as_action
from boundary_env_ros.core.gate.rules.admission import switch_held
from boundary_env_ros.core.records.decision import GateDecision, Trigger
from boundary_env_ros.core.records.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import BoundaryError, LinkTimeout
from boundary_env_ros.evidence.export.joint_names import names_of_action
from boundary_env_ros.facade.world import agent_of
from boundary_env_ros.storage.contract_file import LoadedContract

_JOY = 'sensor_msgs/msg/Joy'
_AXIS, _BUTTON = re.compile(r'axes\[(\d+)\]'), re.compile(r'buttons\[(\d+)\]')

#: Seconds for the gate to say its first command, beyond its own timeout.
_PATIENCE = 2.0


def operator_of(contract: Contract) -> Operator:
    """
    Return the operator of a contract.

    Raises
    ------
    BoundaryError
        If it has none.

    """
    if contract.safety.operator is None:
        raise BoundaryError(
            f'The contract {contract.name} knows no operator (expected safety.operator, got '
            'none). Declare who takes over, and how.'
        )
    return contract.safety.operator


class OperatorCommands:
    """
    What an operator asks for, read out of the decisions of the gate.

    Parameters
    ----------
    loaded
        The contract.
    agent
        The agent that is driven; empty: the only one.
    namespace, domain_id
        Where its nodes are.

    """

    def __init__(
        self,
        loaded: LoadedContract,
        agent: str = '',
        *,
        namespace: str = '',
        domain_id: int | None = None,
    ) -> None:
        from boundary_env_ros.ros import names
        from boundary_env_ros.ros.authenticity import Authenticity
        from boundary_env_ros.ros.conversions import from_bytes
        from boundary_env_ros.ros.interfaces import msg
        from boundary_env_ros.ros.isolated_node import IsolatedNode

        contract = self._contract = loaded.contract
        self._names = names_of_action(contract.action)
        self._operator = operator_of(contract)
        agent = agent_of(contract.agents, agent)
        self._came = threading.Condition()
        self._episode_id = self._command_of = ''
        self._command: Vector = ()
        self._requested: Vector = ()
        self._until = -math.inf
        # It has the rights of a client, which hears the same.
        self._own = IsolatedNode('boundary_client', domain_id=domain_id, namespace=namespace)
        authenticity, incoming = Authenticity(self._own.domain_id, Role.CLIENT), self._own.incoming

        def subscribe(kind: Any, name: str, on_message: Callable[[bytes], None], qos: Any) -> None:
            topic = contract.topic_of(agent, name)
            incoming.subscribe(kind, topic, on_message, qos, raw=True, authenticity=authenticity)

        subscribe(
            msg.GateDecision,
            names.GATE_DECISION,
            lambda data: self._on_decision(from_bytes(GateDecision, data)),
            names.RECORD,
        )
        subscribe(
            msg.EpisodeStatus,
            names.EPISODE_STATUS,
            lambda data: self._on_episode(from_bytes(EpisodeStatus, data)),
            names.LATCHED_MANY,
        )
        self._own.spin_in_thread('boundary_operator')

    def _on_decision(self, decision: GateDecision) -> None:
        if decision.command:
            with self._came:
                self._command, self._command_of = decision.command, decision.id.episode_id
                if decision.trigger is Trigger.OPERATOR:
                    self._requested = decision.requested_command
                    self._until = time.monotonic() + self._operator.timeout
                elif not switch_held(self._operator, decision.inputs.measurements):
                    self._until = -math.inf
                self._came.notify_all()

    def _on_episode(self, status: EpisodeStatus) -> None:
        if status.state in (EpisodeState.RESETTING, EpisodeState.RUNNING):
            with self._came:
                if self._episode_id != status.id.episode_id:
                    self._episode_id, self._until = status.id.episode_id, -math.inf
                self._came.notify_all()

    def _is_known(self) -> bool:
        """Return whether there is a command, and not of an episode before the newest."""
        return bool(self._command) and self._episode_id in ('', self._command_of)

    def action(self) -> dict[str, float]:
        """
        Return what the operator asks for, by name of the action.

        While the switch is not held that is to stay: the last position, the safe speed.

        Raises
        ------
        LinkTimeout
            If the gate publishes no command: there is no episode.

        """
        seconds = self._contract.safety.command_timeout + _PATIENCE
        with self._came:
            if not self._came.wait_for(self._is_known, seconds):
                raise LinkTimeout(
                    f'The gate has published nothing within {seconds:g} s (expected a command, of '
                    'an episode that runs). Is the robot connected?'
                )
            last = self._command
            command = self._requested if time.monotonic() < self._until else self._stay()
        action = as_action(self._contract.action, command, last)
        return dict(zip(self._names, action, strict=True))

    def _stay(self) -> Vector:
        kinds = (kind for group in self._contract.action for kind in group.interface)
        safe = self._contract.flat('safe')
        return tuple(
            last if kind is Interface.POSITION else at_rest
            for kind, last, at_rest in zip(kinds, self._command, safe, strict=True)
        )

    def close(self) -> None:
        """Listen no more."""
        self._own.close()


def joy_of(contract: Contract) -> tuple[tuple[int, ...], int]:
    """
    Return the axis of each dimension of the command, and the button that is the switch.

    Raises
    ------
    BoundaryError
        If the contract has no operator, or one that no program can be.

    """
    operator = operator_of(contract)
    switch = _BUTTON.fullmatch(operator.enable)
    paths = operator.source.paths if isinstance(operator.source, Paths) else ()
    axes = tuple(int(found[1]) for found in map(_AXIS.fullmatch, paths) if found)
    if operator.type != _JOY or switch is None or not paths or len(set(axes)) < len(paths):
        raise BoundaryError(
            f'The operator of {contract.name} has another device (expected the type {_JOY}, '
            f'another axes[...] for each of fields and buttons[...] as enable, got '
            f'{operator.type}, {", ".join(paths)} and {operator.enable}). Declare a game '
            'controller.'
        )
    if 0.0 in operator.scale:
        raise BoundaryError(
            f'An axis of the operator of {contract.name} commands nothing (expected no scale of '
            f'0, got {", ".join(map(str, operator.scale))}).'
        )
    if others := [g.name for g in contract.action if g.kind is not ActionKind.CONTINUOUS]:
        raise BoundaryError(
            f'An action of {contract.name} is no command (expected kind: continuous, got '
            f'another of {", ".join(others)}). Let the person use their own device.'
        )
    return axes, int(switch[1])


class OperatorDevice:
    """
    A program that is the operator: it speaks as a game controller with the switch held.

    It lets go of the switch by publishing no more.

    Parameters
    ----------
    loaded
        The contract.
    agent
        The agent that is driven; empty: the only one.
    namespace, domain_id
        Where its nodes are.

    Raises
    ------
    BoundaryError
        See :func:`joy_of`.

    """

    def __init__(
        self,
        loaded: LoadedContract,
        agent: str = '',
        *,
        namespace: str = '',
        domain_id: int | None = None,
    ) -> None:
        from rclpy.parameter import Parameter

        from boundary_env_ros.ros.conversions import message_class
        from boundary_env_ros.ros.isolated_node import IsolatedNode

        contract = loaded.contract
        self._names = names_of_action(contract.action)
        self._axes, self._switch = joy_of(contract)
        operator = self._operator = operator_of(contract)
        self._own = IsolatedNode(
            'boundary_operator',
            domain_id=domain_id,
            namespace=namespace,
            parameters=(Parameter('use_sim_time', value=contract.sim_time),),
        )
        topic = contract.topic_of(agent_of(contract.agents, agent), operator.topic)
        self._kind = message_class(_JOY)
        self._publisher = self._own.node.create_publisher(self._kind, topic, 10)

    def command(self, action: Mapping[str, float]) -> None:
        """Command what an action asks for, by name and in units of the contract."""
        axes = [0.0] * (max(self._axes) + 1)
        for axis, scale, name in zip(self._axes, self._operator.scale, self._names, strict=True):
            axes[axis] = action[name] / scale
        self._own.spin(0.0)  # of a simulated time what has come
        message = self._kind(axes=axes, buttons=[0] * self._switch + [1])
        message.header.stamp = self._own.node.get_clock().now().to_msg()
        self._publisher.publish(message)

    def close(self) -> None:
        """Let go of the switch, and of ROS."""
        self._own.close()
