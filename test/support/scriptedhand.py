# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A teleoperator of LeRobot without a hand; LeRobot finds its class by the name of this module."""

from __future__ import annotations

from dataclasses import dataclass, field
import math
from typing import Any

from lerobot.teleoperators import Teleoperator, TeleoperatorConfig


@TeleoperatorConfig.register_subclass('scripted_hand')
@dataclass(kw_only=True)
class ScriptedHandConfig(TeleoperatorConfig):
    """Where the joints stand, rad, and by how much the first of them swings."""

    pose: dict[str, float] = field(default_factory=dict)
    swing: float = 0.2


class ScriptedHand(Teleoperator):
    """One period of the swing takes 30 actions."""

    config_class = ScriptedHandConfig
    name = 'scripted_hand'
    is_connected = False
    is_calibrated = True

    def __init__(self, config: ScriptedHandConfig) -> None:
        super().__init__(config)
        self._config, self._asked = config, 0

    @property
    def action_features(self) -> dict[str, type]:
        """The numbers of the pose."""
        return dict.fromkeys(self._config.pose, float)

    @property
    def feedback_features(self) -> dict[str, type]:
        """The same: it has motors."""
        return self.action_features

    def connect(self, calibrate: bool = True) -> None:
        """Be there."""
        self.is_connected = True

    def calibrate(self) -> None:
        """Do nothing."""

    def configure(self) -> None:
        """Do nothing."""

    def get_action(self) -> dict[str, float]:
        """Return where the joints shall be now."""
        self._asked += 1
        first = next(iter(self._config.pose))
        swung = self._config.swing * math.sin(2.0 * math.pi * self._asked / 30.0)
        return {**self._config.pose, first: self._config.pose[first] + swung}

    def send_feedback(self, feedback: dict[str, Any]) -> None:
        """Go there."""
        self._config.pose.update(feedback)

    def enable_torque(self) -> None:
        """Hold."""

    def disable_torque(self) -> None:
        """Let go."""

    def disconnect(self) -> None:
        """Be gone."""
        self.is_connected = False
