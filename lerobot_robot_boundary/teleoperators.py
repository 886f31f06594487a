# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Persons who drive a robot behind a contract: at the operator's device, or at a leader arm."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import draccus
from lerobot.teleoperators import (
    make_teleoperator_from_config,
    Teleoperator,
    TeleoperatorConfig,
)
from lerobot.utils.errors import DeviceNotConnectedError

from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.evidence.export.joint_names import names_of_action
from boundary_env_ros.facade.world import load_for
from lerobot_robot_boundary.operators import (
    joy_of,
    operator_of,
    OperatorCommands,
    OperatorDevice,
)


@dataclass(kw_only=True)
class _OfContractConfig(TeleoperatorConfig):
    contract: str
    namespace: str = ''
    domain_id: int | None = None
    agent: str = ''


class _OfContract(Teleoperator):
    """What both have in common: a contract with an operator, and nothing to calibrate."""

    def __init__(self, config: _OfContractConfig) -> None:
        super().__init__(config)
        self._loaded = load_for(config.contract, pacing=None, world='ros')
        operator_of(self._loaded.contract)  # refused before anything is connected
        self._place: dict[str, Any] = {
            'namespace': config.namespace,
            'domain_id': config.domain_id,
        }
        self._agent = config.agent
        self._made: Any = None

    @cached_property
    def action_features(self) -> dict[str, type]:
        """The numbers of the action."""
        return dict.fromkeys(names_of_action(self._loaded.contract.action), float)

    @property
    def feedback_features(self) -> dict[str, type]:
        """None: nobody feels anything."""
        return {}

    @property
    def is_connected(self) -> bool:
        """Whether it is connected to ROS."""
        return self._made is not None

    @property
    def is_calibrated(self) -> bool:
        """True: what there is to calibrate calibrates itself."""
        return True

    def calibrate(self) -> None:
        """Do nothing."""

    def configure(self) -> None:
        """Do nothing."""

    def send_feedback(self, feedback: dict[str, Any]) -> None:
        """Do nothing."""

    def _connected(self) -> Any:
        if self._made is None:
            raise DeviceNotConnectedError(f'{self} is not connected. Call connect() first.')
        return self._made

    def disconnect(self) -> None:
        """Let go of ROS."""
        made, self._made = self._made, None
        if made is not None:
            made.close()


@TeleoperatorConfig.register_subclass('boundary_operator')
@dataclass(kw_only=True)
class BoundaryOperatorConfig(_OfContractConfig):
    """
    The operator of a contract: ``--teleop.type=boundary_operator``.

    Attributes
    ----------
    contract, namespace, domain_id, agent
        As the robot's.

    """


class BoundaryOperator(_OfContract):
    """
    What the operator asks for at their own device, as LeRobot's action.

    The commands reach the gate from that device. Here they are only read.
    """

    config_class = BoundaryOperatorConfig
    name = 'boundary_operator'

    def connect(self, calibrate: bool = True) -> None:
        """Listen to the gate."""
        self._made = self._made or OperatorCommands(self._loaded, self._agent, **self._place)

    def get_action(self) -> dict[str, Any]:
        """Return what is asked for now; see :meth:`.operators.OperatorCommands.action`."""
        action: dict[str, Any] = self._connected().action()
        return action


@TeleoperatorConfig.register_subclass('boundary_leader')
@dataclass(kw_only=True)
class BoundaryLeaderConfig(_OfContractConfig):
    """
    A leader arm as the operator of a contract: ``--teleop.type=boundary_leader``.

    Attributes
    ----------
    contract, namespace, domain_id, agent
        As the robot's.
    leader
        Type of the teleoperator of LeRobot that the person holds: ``so101_leader``.
    leader_options
        What it is told: ``{port: /dev/ttyACM0}``. A mapping, for LeRobot's parser makes options of
        each type that a configuration can hold, and this one could hold itself.
    scale, offset
        By name of the action: what one of the leader's units is in the contract's, and what is
        added then. A scale names all or none; without it the number is the contract's as it is.

    """

    leader: str
    leader_options: dict[str, Any] = field(default_factory=dict)
    scale: dict[str, float] = field(default_factory=dict)
    offset: dict[str, float] = field(default_factory=dict)


class BoundaryLeader(_OfContract):
    """
    A leader arm whose commands reach the gate as the operator's: each is an intervention.

    Whenever it is asked for an action the operator commands it. A program that asks no more, as
    when a policy goes on, has let go of the switch. While motors hold the leader, no person does:
    nothing is commanded.

    Raises
    ------
    BoundaryError
        If no program can be the operator, or the leader does not give the whole action.

    """

    config_class = BoundaryLeaderConfig
    name = 'boundary_leader'

    def __init__(self, config: BoundaryLeaderConfig) -> None:
        super().__init__(config)
        joy_of(self._loaded.contract)
        told = {'type': config.leader, **config.leader_options}
        self._leader = make_teleoperator_from_config(draccus.decode(TeleoperatorConfig, told))
        names = self.action_features
        self._scale = config.scale or dict.fromkeys(names, 1.0)
        self._offset = {**dict.fromkeys(names, 0.0), **config.offset}
        self._is_by_hand = True
        for what, given in (
            ('leader', self._leader.action_features.keys() & names.keys()),
            ('scale', self._scale.keys()),
            ('offset', self._offset.keys()),
        ):
            if given != names.keys():
                raise BoundaryError(
                    f'The {what} does not fit the action (expected {", ".join(names)}, got '
                    f'{", ".join(given) or "none"}).'
                )
        if 0.0 in self._scale.values():
            raise BoundaryError('The scale takes an action from the leader (expected none of 0).')

    @property
    def feedback_features(self) -> dict[str, type]:
        """The action, if the leader has motors: it is moved to where the robot is."""
        has_motors = self._leader.feedback_features and hasattr(self._leader, 'enable_torque')
        return dict(self.action_features) if has_motors else {}

    def send_feedback(self, feedback: dict[str, Any]) -> None:
        """Move the leader to an action."""
        self._connected()
        self._leader.send_feedback(
            {
                name: (float(feedback[name]) - self._offset[name]) / scale
                for name, scale in self._scale.items()
                if name in feedback
            }
        )

    def enable_torque(self) -> None:
        """Let the motors hold the leader."""
        self._is_by_hand = False
        self._leader.enable_torque()

    def disable_torque(self) -> None:
        """Let the person have the leader."""
        self._leader.disable_torque()
        self._is_by_hand = True

    def connect(self, calibrate: bool = True) -> None:
        """Connect to ROS, and to the leader."""
        if not self.is_connected:
            self._made = OperatorDevice(self._loaded, self._agent, **self._place)
            self._is_by_hand = True
            try:
                self._leader.connect(calibrate)
            except BaseException:
                self.disconnect()
                raise

    def get_action(self) -> dict[str, Any]:
        """Return where the leader is, in units of the contract, once it is commanded."""
        device, found = self._connected(), self._leader.get_action()
        action = {
            name: float(found[name]) * self._scale[name] + self._offset[name]
            for name in self.action_features
        }
        if self._is_by_hand:
            device.command(action)
        return action

    def disconnect(self) -> None:
        """Let go of the switch, of ROS and of the leader."""
        super().disconnect()
        if self._leader.is_connected:
            self._leader.disconnect()
