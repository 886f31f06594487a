# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A sequence of commands as the rules of the gate let it through, one output after the other."""

from __future__ import annotations

from copy import copy
from typing import Any

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.gate.rule_output import RuleOutput
from boundary_env_ros.core.gate.rules.evaluate import rule, shape
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.records.decision import RuleInput, RuleResult, Trigger, Verdict
from boundary_env_ros.core.vectors import Vector
from support.core_world import Path_, shipped

_PATHS = ['pose.position.z', *(f'pose.orientation.{axis}' for axis in 'xyzw')]

#: A group of the action with a rotation: the height of a tool, and its orientation.
TOOL: dict[str, object] = {
    'topic': 'tool', 'type': 'geometry_msgs/msg/PoseStamped', 'fields': _PATHS,
    'unit': ['m', '', '', '', ''], 'low': [0.0, -1, -1, -1, -1], 'high': [2.0, 1, 1, 1, 1],
    'rotation': [f'orientation.{axis}' for axis in 'xyzw'],
    'safe': 'hold_position', 'max_velocity': [0.5, 1.0, 1.0, 1.0, 1.0],
    'driver_timeout': 0.25,
    'feedback': {
        'topic': 'tool_state', 'type': 'geometry_msgs/msg/PoseStamped', 'fields': _PATHS,
        'threshold': 0.01,
    },
}  # fmt: skip


def unhindered(**base: object) -> Contract:
    """Return the shipped contract without obstacles, its group `base` with other keys."""
    changes: dict[Path_, object] = {('action', 'base', key): value for key, value in base.items()}
    return shipped(
        {('safety', 'obstacles'): None, ('safety', 'republish_period'): 0.05, **changes}
    )


def altered(limits: Limits, **changes: Any) -> Limits:
    """Return limits of which some attributes are others, and of what follows the profile alone."""
    found = copy(limits)
    vars(found).update(changes)
    found.plan()
    return found


def left_of(
    limits: Limits, known: RuleInput, wanted: Vector
) -> tuple[Vector, tuple[RuleResult, ...]]:
    """Return what is left of a command, and what took the rest."""
    output = shape(limits, known, wanted)
    return output.command, output.results


def explained(output: RuleOutput) -> None:
    """Check that every change has a reason: each result begins where the one before it ended."""
    left = list(output.wanted)
    for result in output.results:
        if result.outcome is not Verdict.LIMITED:
            continue
        assert result.before == left[result.dimension], result
        assert result.after is not None
        assert result.after != result.before, 'a reason without a change'
        left[result.dimension] = result.after
    assert tuple(left) == output.command, 'a change without a reason'


def of_rule(output: RuleOutput, name: str) -> list[RuleResult]:
    """Return the results of one rule."""
    return [result for result in output.results if result.rule == name]


def inputs(*, previous: Vector | None = (), **changes: Any) -> RuleInput:
    """Return inputs in which everything is well, and nothing is measured."""
    usual: dict[str, Any] = {
        'trigger': Trigger.REQUEST, 'time_step': 0.1, 'since_request': 0.02,
        'since_environment': 0.02, 'previous_command': previous or (),
    }  # fmt: skip
    return RuleInput(**{**usual, **changes})


class Sequence:
    """What a gate emits that knows nothing but its own last command."""

    def __init__(self, limits: Limits, start: Vector) -> None:
        self.limits = limits
        self.command = start
        self.rate: Vector = ()
        self.acceleration: Vector = ()

    def ask(self, wanted: Vector | None, time_step: float, **changes: Any) -> RuleOutput:
        """Rule on what is wanted, and take the command over."""
        known = inputs(
            time_step=time_step,
            previous=self.command,
            previous_rate=self.rate,
            previous_acceleration=self.acceleration,
            **changes,
        )
        output = rule(self.limits, known, wanted)
        if output.verdict in (Verdict.ADMITTED, Verdict.LIMITED, Verdict.HELD):
            explained(output)
        if output.command:
            self.command = output.command
            self.rate, self.acceleration = output.rate, output.acceleration
        return output

    def hold(self, time_step: float) -> RuleOutput:
        """Let the timer speak when the next action is late."""
        late = self.limits.safety.hold_timeout + 0.01
        return self.ask(self.command, time_step, trigger=Trigger.TIMER, since_request=late)

    def again(self, in_force: Vector, time_step: float) -> RuleOutput:
        """Let the timer send again what is in force, between two actions."""
        return self.ask(in_force, time_step, trigger=Trigger.TIMER)

    def stop(self, time_step: float) -> RuleOutput:
        """Let the emergency stop be latched."""
        return self.ask(self.command, time_step, emergency_stop=True)
