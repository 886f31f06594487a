# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Records of a gate that turns a tool: an honest one is clean, other rotations are named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
import math
from typing import Any

import pytest
import yaml

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.records.decision import GateDecision, Reason, Verdict
from boundary_env_ros.core.records.observation import Observation
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.evidence.audit.audit import audit
from boundary_env_ros.resources import share_file
from boundary_env_ros.storage.contract_file import LoadedContract, loads, make_task
from support.damage import put
from support.record_maker import (
    Bench,
    chosen_start,
    MS,
    seek_goal,
    Sent,
    time_fields,
    transitions_of,
)

POSE = 'geometry_msgs/msg/PoseStamped'
PATHS = ['pose.position.z', *(f'pose.orientation.{axis}' for axis in 'xyzw')]
#: Of the tool, rad/s; and its place in the command.
RATE, TURN = 1.0, slice(3, 7)


def about(axis: tuple[float, float, float], angle: float) -> Vector:
    """Return a rotation about an axis of length 1, rad."""
    x, y, z = (math.sin(angle / 2.0) * part for part in axis)
    return x, y, z, math.cos(angle / 2.0)


class TurningBench(Bench):
    """The cart on paper with a tool, which is where it was commanded to be a moment ago."""

    def __init__(self, contract: Contract, digest: str, task: Task, seed: int) -> None:
        super().__init__(contract, digest, task, seed)
        self.tool: Vector = (0.5, 0.0, 0.0, 0.0, 1.0)
        self._repeat(20 * MS, self._tool)

    def _tool(self) -> None:
        self._hear('/tool_state', {'header': self._header('base'), **_pose(self.tool)}, 4)

    def command(self, decision: GateDecision) -> None:
        super().command(decision)
        assert decision.commanded is not None
        at = decision.commanded.ros.nanoseconds
        fields: Any = {'header': {'stamp': time_fields(at), 'frame_id': ''}}
        self.sent.append(Sent('/tool', at, at, fields | _pose(decision.command[2:]), POSE))

    def _obey(self, command: tuple[float, ...]) -> None:
        super()._obey(command)
        self.tool = command[2:]


def _pose(tool: Vector) -> dict[str, object]:
    height, *four = tool
    orientation = dict(zip('xyzw', four, strict=True))
    return {'pose': {'position': {'z': height}, 'orientation': orientation}}


def turn_about(observation: Observation) -> tuple[float, ...]:
    """Drive to the goal, and turn the tool faster than it may, about one axis after the other."""
    step = observation.id.step
    axis = (0.0, 0.0, 1.0) if step % 20 < 10 else (0.6, 0.8, 0.0)
    return *seek_goal(observation), 0.5, *about(axis, 0.3 * (step % 10))


@pytest.fixture(scope='module')
def turning() -> LoadedContract:
    """Return the contract of the warehouse cart with a tool that is turned."""
    data: Any = yaml.safe_load(share_file('config/warehouse_cart.yaml').read_text('utf-8'))
    data['action']['tool'] = {
        'topic': 'tool',
        'type': POSE,
        'fields': PATHS,
        'unit': ['m', '', '', '', ''],
        'low': [0.0, -1, -1, -1, -1],
        'high': [2.0, 1, 1, 1, 1],
        'rotation': [f'orientation.{axis}' for axis in 'xyzw'],
        'safe': 'hold_position',
        'max_velocity': [0.5, *[RATE] * 4],
        'driver_timeout': 0.25,
        'feedback': {
            'topic': 'tool_state',
            'type': POSE,
            'fields': PATHS,
            'threshold': 0.01,
        },
    }
    return loads(yaml.safe_dump(data, sort_keys=False))


@pytest.fixture(scope='module')
def steps(turning: LoadedContract) -> list[Transition]:
    """Return the transitions of two episodes, one of which the emergency stop ends."""
    contract = turning.contract
    bench = TurningBench(contract, turning.digest, make_task(contract), seed=1)
    bench.episode('turning', turn_about, 301, chosen_start('clear'))  # type: ignore[arg-type]
    bench.stop_at = 14
    bench.episode('turning', turn_about, 302, chosen_start('far'))  # type: ignore[arg-type]
    return list(transitions_of(bench.record))


def decisions_of(steps: list[Transition]) -> list[GateDecision]:
    return [decision for step in steps for decision in step.decisions]


def test_record_for_these_tests_turns_as_fast_as_it_may(steps: list[Transition]) -> None:
    decisions = decisions_of(steps)
    limited = [
        d
        for d in decisions
        if any(r.reason is Reason.RATE_LIMIT and r.dimension in range(3, 7) for r in d.rules)
    ]
    assert len(limited) > 20
    assert len({tuple(round(v, 2) for v in d.command[TURN]) for d in limited}) > 20
    assert any(d.verdict is Verdict.STOPPED for d in decisions)


def test_honest_record_is_clean(steps: list[Transition], turning: LoadedContract) -> None:
    report = audit(steps, contract=turning.contract)
    assert report.counts == {}, f'\n{report}'


def product(one: Vector, other: Vector) -> Vector:
    """Return one rotation after another."""
    x, y, z, w = one
    a, b, c, d = other
    return (
        w * a + x * d + y * c - z * b,
        w * b - x * c + y * d + z * a,
        w * c + x * b - y * a + z * d,
        w * d - x * a - y * b - z * c,
    )


def turned(by: float, axis: tuple[float, float, float]) -> Callable[[GateDecision], GateDecision]:
    """Return a change of the rotation that was published, rad."""

    def change(decision: GateDecision) -> GateDecision:
        command = decision.command
        four = product(about(axis, by), command[TURN])
        return replace(decision, command=(*command[: TURN.start], *four))

    return change


def longer(decision: GateDecision) -> GateDecision:
    """Return a decision whose four numbers are no rotation."""
    command = decision.command
    return replace(decision, command=(*command[: TURN.start], *(1.001 * v for v in command[TURN])))


def driven(decision: GateDecision) -> bool:
    return decision.verdict is Verdict.LIMITED and bool(decision.inputs.previous_command)


def stopped(decision: GateDecision) -> bool:
    return decision.verdict is Verdict.STOPPED and bool(decision.inputs.previous_command)


@pytest.mark.parametrize(
    ('where', 'change'),
    [
        pytest.param(driven, longer, id='four numbers that are no rotation'),
        pytest.param(driven, turned(0.4, (0.0, 0.0, 1.0)), id='turned farther about z'),
        pytest.param(driven, turned(0.4, (1.0, 0.0, 0.0)), id='turned farther about x'),
        pytest.param(stopped, turned(0.001, (0.0, 0.0, 1.0)), id='turned in a stop'),
    ],
)
def test_rotation_that_the_gate_may_not_publish_is_named(
    where: Callable[[GateDecision], bool],
    change: Callable[[GateDecision], GateDecision],
    steps: list[Transition],
    turning: LoadedContract,
) -> None:
    place, index = next(
        (place, index)
        for place, step in enumerate(steps)
        for index, decision in enumerate(step.decisions)
        if where(decision)
    )
    step = put(steps[place], f'decisions[{index}]', change(steps[place].decisions[index]))
    forged = [*steps[:place], step, *steps[place + 1 :]]
    report = audit(forged, contract=turning.contract)
    assert 'command-motion' in report.counts, f'\n{report}'
    (finding, *_) = (f for f in report.findings if f.rule == 'command-motion')
    assert finding.field == f'decisions[{index}].command[3..6]'
