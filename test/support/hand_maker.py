# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Honest records under a contract that asks the gate for all it can do.

The cart on paper has a workspace, a bumper behind beside the scan ahead, limits on acceleration
and jerk, commands that are sent again, and an operator, who takes over for a while.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import yaml

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.gate.gate_events import Tighten
from boundary_env_ros.core.records.decision import RuntimeLimits
from boundary_env_ros.core.records.episode import EpisodeState
from boundary_env_ros.resources import share_file
from boundary_env_ros.storage.contract_file import LoadedContract, loads
from support.record_maker import Bench, chosen_start, MS, seek_goal
from support.record_sensors import _pose, Fields

#: The joystick: forward and turn, and under which name the gate measures it.
JOY = '/joy'

#: When the operator takes the switch and lets it go, steps of an episode.
TAKES, LETS_GO = 6, 14


def hand_contract() -> LoadedContract:
    """Return the contract of the warehouse cart with every rule that it does without."""
    data: Any = yaml.safe_load(share_file('config/warehouse_cart.yaml').read_text('utf-8'))
    data['action']['base'] |= {'max_jerk': [4.0, 16.0]}
    data['action']['base']['max_tracking_error'] = [0.9, 3.0]
    safety = data['safety']
    ahead = safety.pop('obstacles')['scan']
    place = 'pose.pose'
    safety |= {
        'obstacles': {
            'ahead': {**ahead, 'slow_distance': 1.45, 'time_to_collision': 1.6},
            'behind': {
                'topic': 'bumper',
                'type': 'sensor_msgs/msg/Range',
                'dimension': 'base/linear.x',
                'direction': 'behind',
                'slow_distance': 1.35,
                'slow_speed': 0.1,
                'stop_distance': 0.4,
            },
        },
        'workspace': {
            'hall': {
                'topic': 'odom',
                'type': 'nav_msgs/msg/Odometry',
                'fields': [
                    f'{place}.position.x',
                    f'{place}.position.y',
                    f'yaw({place}.orientation)',
                ],
                'unit': ['m', 'm', 'rad'],
                'frame': 'hall',
                'moves': 'body',
                'dimensions': ['base/linear.x'],
                'turn': 'base/angular.z',
                'inside': {'low': [-5.4, -4.4], 'high': [5.4, 4.4]},
                'margin': 0.2,
                'delay': 0.1,
                'braking': [0.8, 4.0],
            }
        },
        'operator': {
            'topic': JOY.removeprefix('/'),
            'type': 'sensor_msgs/msg/Joy',
            'fields': ['axes[1]', 'axes[0]'],
            'scale': [0.5, 1.0],
            'enable': 'buttons[4]',
            'timeout': 0.2,
        },
        'battery': {'main': {'topic': 'battery_state', 'min': 0.25, 'max_age': 0.5}},
        'interlock': {
            'door': {
                'topic': 'door',
                'type': 'std_msgs/msg/Bool',
                'field': 'data',
                'low': 1,
                'max_age': 0.5,
            }
        },
        'overruns': {'exceeded': 5, 'of': 10},
        'republish_period': 0.05,
    }
    return loads(yaml.safe_dump(data, sort_keys=False))


class HandBench(Bench):
    """The cart on paper with a bumper, and a person beside it who sometimes knows better."""

    def __init__(self, contract: Contract, digest: str, task: Task, seed: int) -> None:
        super().__init__(contract, digest, task, seed)
        self.takes, self.lets_go = TAKES, LETS_GO
        self.silent: range = range(0)
        #: When the battery is nearly empty, and when the door is open, steps of an episode.
        self.empty = self.open = range(0)
        self._repeat(40 * MS, self._joystick)
        self._repeat(100 * MS, self._battery_and_door)

    def _odometry(self) -> None:
        linear, angular = (v + self.random.gauss(0, 0.004) for v in self._velocity)
        self._hear(
            '/odom',
            {
                'header': self._header('hall'),
                'pose': {'pose': self.pose_fields()},
                'twist': {'twist': {'linear': {'x': linear}, 'angular': {'z': angular}}},
            },
            5,
        )
        truth = {'header': self._header('hall'), 'pose': {'pose': self.pose_fields()}}
        self._hear('/ground_truth', truth, 5)
        self._hear('/contact', {'data': False}, 5)

    def pose_fields(self) -> Fields:
        """Return where the cart is."""
        return _pose(self._pose)

    def _scan(self) -> None:
        super()._scan()
        behind = float(self._cast(np.array([self._pose[2] + np.pi]))[0])
        self._hear(
            '/bumper',
            {
                'header': self._header('bumper'),
                'min_range': 0.02,
                'max_range': 4.0,
                'range': float(np.float32(behind)) if behind < 4.0 else float('inf'),
            },
            8,
        )

    @property
    def step(self) -> int:
        """The step that the episode is in; -1 before the first."""
        status = self.environment.status(self.instant())
        return status.id.step if status.state > EpisodeState.RESETTING else -1

    def _battery_and_door(self) -> None:
        state = {'voltage': 24.0, 'percentage': 0.125 if self.step in self.empty else 0.75}
        self._hear('/battery_state', {'header': self._header(''), **state}, 6)
        self._hear('/door', {'data': self.step not in self.open}, 6)

    def _joystick(self) -> None:
        step = self.step
        if step in self.silent:
            return
        held = self.takes <= step < self.lets_go
        self._hear(
            JOY,
            {
                'header': self._header('hand'),
                'axes': [0.375, 0.75] if held else [0.0, 0.0],
                'buttons': [0, 0, 0, 0, int(held)],
            },
            3,
        )


def by_hand(bench: HandBench) -> None:
    """Drive with a person who takes over now and then, with stricter limits, and into a stop."""
    bench.stall_at = 17
    bench.episode('goal_seeking', seek_goal, 201, chosen_start('clear'))
    bench.stall_at = None
    bench.gate.apply(
        Tighten(
            runtime_limits=RuntimeLimits(high=(0.5, 1.2), rate=(0.8, 4.0), command_timeout=0.28),
            now=bench.instant(),
        )
    )
    bench.episode('goal_seeking', seek_goal, 202, chosen_start('blocked'))
    bench.stop_at = 20
    bench.episode('goal_seeking', seek_goal, 203, chosen_start('far'))
