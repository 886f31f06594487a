# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A robot of LeRobot that moves only through the safety gate."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from lerobot.robots import Robot, RobotConfig

from boundary_env_ros.facade.world import load_for
from lerobot_robot_boundary.session import Session


@RobotConfig.register_subclass('boundary')
@dataclass(kw_only=True)
class BoundaryRobotConfig(RobotConfig):
    """
    What LeRobot is told of a robot behind a contract: ``--robot.type=boundary``.

    Attributes
    ----------
    contract
        File of the contract, or the name of a shipped one.
    world
        ``ros``, the nodes, or ``embedded``, a simulated robot in this process.
    namespace, domain_id, agent
        Over ROS: namespace and domain of the nodes (None: ``ROS_DOMAIN_ID``), and the agent of
        several.
    record
        In one process: new folder of the run; None: nothing is recorded.
    seed
        Of the first episode; None: drawn.
    instruction
        What the robot is told to do, in words.
    features
        What an observation has besides, of the step that led to it: ``requested``, ``admitted``,
        ``commanded``, ``measured``, ``verdict``, ``reason``, ``intervention``, ``step``.

    """

    contract: str
    world: str = 'ros'
    namespace: str = ''
    domain_id: int | None = None
    agent: str = ''
    record: str | None = None
    seed: int | None = None
    instruction: str = ''
    features: list[str] = field(default_factory=list)


class BoundaryRobot(Robot):
    """
    Any robot behind a contract.

    It is calibrated by its driver, and configured by the contract.
    """

    config_class = BoundaryRobotConfig
    name = 'boundary'

    def __init__(self, config: BoundaryRobotConfig) -> None:
        super().__init__(config)
        given = {
            'namespace': config.namespace,
            'domain_id': config.domain_id,
            'agent': config.agent,
            'record': config.record,
        }
        self._session = Session(
            load_for(config.contract, pacing=None, world=config.world),
            world=config.world,
            seed=config.seed,
            instruction=config.instruction,
            features=config.features,
            **{name: value for name, value in given.items() if value not in ('', None)},
        )
        #: LeRobot counts them.
        self.cameras = self._session.cameras

    @cached_property
    def observation_features(self) -> dict[str, Any]:
        """The numbers of the observation, and the shape of each picture."""
        shapes = {name: (*spec.shape[:2], 3) for name, spec in self.cameras.items()}
        return {**dict.fromkeys(self._session.state_names, float), **shapes}

    @cached_property
    def action_features(self) -> dict[str, type]:
        """The numbers of the action."""
        return dict.fromkeys(self._session.action_names, float)

    @property
    def is_connected(self) -> bool:
        """Whether a world is there."""
        return self._session.is_open

    @property
    def is_calibrated(self) -> bool:
        """True: the driver is."""
        return True

    def connect(self, calibrate: bool = True) -> None:
        """Connect to the world and begin an episode; see :meth:`.session.Session.open`."""
        if not self.is_connected:
            self._session.open()

    def calibrate(self) -> None:
        """Do nothing."""

    def configure(self) -> None:
        """Do nothing."""

    def get_observation(self) -> dict[str, Any]:
        """Return the newest observation; see :meth:`.session.Session.observation`."""
        return self._session.observation()

    def send_action(self, action: dict[str, Any]) -> dict[str, Any]:
        """Return what the gate admitted of an action; see :meth:`.session.Session.send`."""
        return self._session.send(action)

    def disconnect(self) -> None:
        """End the episode, and let go of the world."""
        self._session.close()
