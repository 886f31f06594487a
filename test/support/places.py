# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Contracts with a workspace, and an ideal robot that keeps what they promise of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from copy import deepcopy
import math
from typing import Any

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.gate.rule_output import RuleOutput
from boundary_env_ros.core.gate.rules.evaluate import rule
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.gate.rules.pending_motion import Recent
from boundary_env_ros.core.gate.rules.workspace import history_span, Moves, Workspace
from boundary_env_ros.core.records.decision import Measurement, RuleInput, Trigger, Verdict
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.storage.contract.parser import parse
from support.core_world import Path_, put, shipped_data, TASKS

POSE: dict[str, Any] = {
    'topic': 'pose',
    'type': 'geometry_msgs/msg/PoseStamped',
    'fields': ['pose.position.x', 'pose.position.y', 'yaw(pose.orientation)'],
    'unit': ['m', 'm', 'rad'],
    'frame': 'hall',
}

#: A cart in a hall of 4 m by 3 m, with a rack and a wall that comes in at an angle.
CART: dict[str, Any] = {
    **POSE,
    'moves': 'body',
    'dimensions': ['base/linear.x'],
    'turn': 'base/angular.z',
    'inside': {
        'low': [-2.0, -1.5],
        'high': [2.0, 1.5],
        'polygon': [[-2.0, -1.5], [2.0, -1.5], [2.0, 1.0], [0.5, 1.5], [-0.5, 0.5], [-2.0, 1.5]],
    },
    'keep_out': {'rack': [[0.6, -0.6], [1.2, -0.6], [1.2, 0.2]]},
    'margin': 0.05,
    'delay': 0.1,
    'braking': [1.0, 4.0],
}

#: A bridge crane in the same hall: two speeds, each along an axis of it.
CRANE: dict[str, Any] = {
    **{key: CART[key] for key in ('topic', 'type', 'frame', 'inside', 'keep_out', 'margin')},
    'fields': ['pose.position.x', 'pose.position.y'],
    'unit': 'm',
    'moves': 'axes',
    'dimensions': ['base/x', 'base/y'],
    'delay': 0.1,
    'braking': [0.9, 0.6],
}


#: A robot in that hall on wheels that roll in every direction.
SLED: dict[str, Any] = {
    **CART,
    'dimensions': ['base/linear.x', 'base/linear.y'],
    'braking': [0.9, 0.6, 4.0],
}


def workspace_data(place: Mapping[str, Any], changes: Mapping[Path_, object] | None = None) -> Any:
    """Return a contract with a workspace called hall, as plain data."""
    data: Any = shipped_data()
    del data['safety']['obstacles']
    del data['episode']['on_stop']['obstacle_stop']
    if len(place['dimensions']) == 2:
        base, both = data['action']['base'], ['linear.x', 'linear.y']
        base.update(unit=['m/s', 'm/s'], low=[-0.8, -0.6], high=[0.8, 0.6], safe=[0.0, 0.0])
        base.update(max_acceleration=[1.0, 0.8], max_deceleration=[2.0, 3.0])
        base['feedback']['threshold'] = [0.03, 0.03]
        if 'turn' in place:
            both.append('angular.z')
            more = {
                'unit': 'rad/s',
                'low': -1.5,
                'high': 1.5,
                'safe': 0.0,
                'max_acceleration': 4.0,
                'max_deceleration': 8.0,
            }
            for key, value in more.items():
                base[key].append(value)
            base['feedback']['threshold'].append(0.15)
        base['fields'] = [f'twist.{path}' for path in both]
        base['feedback']['fields'] = [f'twist.twist.{path}' for path in both]
    data['safety']['workspace'] = {'hall': deepcopy(place)}
    for path, value in (changes or {}).items():
        put(data, path, value)
    return data


def contract_with(
    place: Mapping[str, Any], changes: Mapping[Path_, object] | None = None
) -> Contract:
    """Return a contract with a workspace called hall."""
    return parse(workspace_data(place, changes), tasks=TASKS)


class IdealRobot:
    """
    A robot that moves under the gate's rules and keeps what the contract says of it.

    Parameters
    ----------
    contract
        With one workspace.
    at
        Where it is, resting.
    lag
        Whole hundredths of a second from a command to its effect.
    eager
        Whether it slows down at once, not with ``braking``.

    """

    STEP = 0.01

    def __init__(self, contract: Contract, at: Vector, *, lag: int, eager: bool = False) -> None:
        self.limits = Limits(contract)
        (self.place,) = contract.safety.of(Workspace)
        self._recent = Recent(history_span(contract))
        self._braking = tuple(1e9 if eager else braking for braking in self.place.braking)
        still = (0.0,) * contract.command_size
        self.speed: Vector = still
        self.at = at
        self.been = deque([at], maxlen=60)
        self._acting = deque([still] * (lag + 1), maxlen=lag + 1)
        self.command: Vector = still
        self._last = RuleOutput(verdict=Verdict.ADMITTED, command=still)
        self._now = 0
        self._decided = -round(self.limits.period / self.STEP)

    def seen(self, age: int) -> Measurement:
        """Return the place as measured some hundredths of a second ago."""
        past = self.been[max(0, len(self.been) - 1 - age)]
        return Measurement(
            name=self.place.input, topic='pose', values=past, age=min(age, self._now) * self.STEP
        )

    def go(self, command: Vector, at: Vector) -> IdealRobot:
        """Be somewhere, and have gone by a command for long."""
        self._recent = self._recent.forgotten()
        self._sent(command)
        self.command = self.speed = command
        self._acting.extend([command] * len(self._acting))
        self._decided = self._now - round(self.limits.period / self.STEP)
        self.put(at)
        return self

    def put(self, at: Vector) -> None:
        """Have the place measured elsewhere than the commands led to."""
        self.at = at
        self.been.clear()
        self.been.append(at)

    def decide(self, wanted: Vector, *, age: int = 0) -> RuleOutput:
        """Let the rules decide on a command, and send what they leave of it."""
        return self._send(self._rule(Trigger.REQUEST, wanted, age))

    def tick(self, *, age: int = 0) -> bool:
        """Let the gate's timer look, and stop if that is called for; return whether it is."""
        output = self._rule(Trigger.TIMER, self.command, age)
        if output.verdict is not Verdict.STOPPED:
            return False
        self._send(output)
        return True

    def _rule(self, trigger: Trigger, wanted: Vector, age: int) -> RuleOutput:
        now = round(self._now * self.STEP * NANOSECONDS)
        return rule(
            self.limits,
            RuleInput(
                trigger=trigger,
                time_step=min((self._now - self._decided) * self.STEP, self.limits.period),
                previous_command=self.command,
                previous_rate=self._last.rate,
                previous_acceleration=self._last.acceleration,
                recent_commands=self._recent.at(now),
                since_environment=0.0,
                measurements=(self.seen(age),),
            ),
            wanted,
        )

    def _send(self, output: RuleOutput) -> RuleOutput:
        self.command = output.command
        self._last = output
        self._sent(output.command)
        self._decided = self._now
        return output

    def brake(self) -> None:
        """Have the gate ask for rest at once."""
        self._sent((0.0,) * len(self.command))
        self.brake_by_itself()

    def _sent(self, command: Vector) -> None:
        self._recent = self._recent.after(command, round(self._now * self.STEP * NANOSECONDS))

    def brake_by_itself(self) -> None:
        """Do what a driver does when no command comes."""
        self.command = (0.0,) * len(self.command)

    def move(self, hundredths: int) -> None:
        """Move for some hundredths of a second."""
        for _ in range(hundredths):
            self._acting.append(self.command)
            self._move(self._acting[0])
            self.been.append(self.at)
            self._now += 1

    def _move(self, target: Vector) -> None:
        ways, speed = [], list(self.speed)
        for dimension, braking in zip(self.place.moved_by, self._braking, strict=True):
            way, after = _slowed(speed[dimension], target[dimension], braking, self.STEP)
            ways.append(way)
            speed[dimension] = after
        self.speed = tuple(speed)
        if self.place.moves is Moves.AXES:
            self.at = tuple(a + way for a, way in zip(self.at, ways, strict=True))
            return
        x, y, yaw = self.at
        turned = ways.pop() if self.place.turn is not None else 0.0
        ahead, left = (*ways, 0.0)[:2]
        along, across = math.cos(yaw + 0.5 * turned), math.sin(yaw + 0.5 * turned)
        self.at = (
            x + ahead * along - left * across,
            y + ahead * across + left * along,
            yaw + turned,
        )


def _slowed(speed: float, target: float, braking: float, step: float) -> tuple[float, float]:
    """Return way and speed after a step: faster at once, slower with the brakes."""
    sign = math.copysign(1.0, speed)
    now, least = abs(speed), max(sign * target, 0.0)
    if now <= least:
        return target * step, target
    slowing = min((now - least) / braking, step)
    after = now - braking * slowing
    way = sign * (0.5 * (now + after) * slowing + after * (step - slowing))
    if after <= 0.0 and sign * target < 0.0:
        # Through rest, and on at once.
        return way + target * (step - slowing), target
    return way, sign * after


def spare(place: Any, at: Sequence[float]) -> float:
    """Return how much farther than the margin a point is from every boundary; below 0 if not."""
    x, y = at[0], at[1]
    found: list[float] = [math.inf]
    for value, low, high in zip(at, place.low, place.high, strict=False):
        found += [] if low is None else [value - low]
        found += [] if high is None else [high - value]
    if place.polygon:
        found.append(_depth(place.polygon, x, y))
    found += [-_depth(area, x, y) for _, area in place.keep_out]
    return min(found) - float(place.margin)


def _depth(polygon: Sequence[tuple[float, float]], x: float, y: float) -> float:
    """Return how far inside a polygon a point is, by sums of angles; below 0 outside."""
    turned, near = 0.0, math.inf
    for (x0, y0), (x1, y1) in zip(polygon, (*polygon[1:], polygon[0]), strict=True):
        a, b = complex(x0 - x, y0 - y), complex(x1 - x, y1 - y)
        if a and b:
            turned += math.atan2((a.conjugate() * b).imag, (a.conjugate() * b).real)
        along = b - a
        part = min(max(-(a * along.conjugate()).real / abs(along) ** 2, 0.0), 1.0)
        near = min(near, abs(a + part * along))
    return near if abs(turned) > math.pi else -near
