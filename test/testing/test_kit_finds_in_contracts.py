# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The kit finds what is wrong with a contract, its gate, its spaces and its identity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from gymnasium import spaces
import numpy as np
import pytest

from boundary_env_ros.core.gate.gate import Gate
from boundary_env_ros.core.gate.gate_events import EmergencyStop, Event, Request, Tick
from boundary_env_ros.core.gate.reducer import Decisions
from boundary_env_ros.core.timebase import ClockReading
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.storage.contract_file import LoadedContract
from boundary_env_ros.storage.message_types import MessageTypes, rosbags_definitions
from boundary_env_ros.testing import ContractTests
from support import armed_gate, whole_contract_tests
from support.kit_faults import must_find
from support.small_world import write
from support.whole_contract_tests import WholeContractTests

LOADS = 'test_contract_loads_without_problems'
PASSES = 'test_contract_lets_every_action_of_its_space_pass'
LEAVES_OUT = 'test_contract_lets_no_command_out_of_it_whatever_is_asked'
STOPS = 'test_contract_stops_in_the_time_of_its_stop_profile'
SAMPLES = 'test_contract_has_spaces_that_hold_their_samples'
INSIDE = 'test_contract_observes_within_its_space_whatever_is_measured'
LAYOUT = 'test_contract_has_a_digest_of_its_meaning_and_not_of_its_layout'
REBUILT = 'test_contract_is_rebuilt_from_its_record'

VELOCITY = """\
  velocity:
    topic: odom
    type: nav_msgs/msg/Odometry
    fields: [twist.twist.linear.x, twist.twist.angular.z]
    unit: [m/s, rad/s]
    low: [-2.0, -4.0]
    high: [2.0, 4.0]
    max_age: 0.2
"""


class Kit(WholeContractTests):
    def __init__(self, file: Path) -> None:
        self.file = file

    def contract(self) -> Path:
        return self.file

    def message_types(self) -> MessageTypes:
        pytest.importorskip('rosbags')
        return MessageTypes([], rosbags_definitions())


@pytest.mark.parametrize(
    ('change', 'method', 'says'),
    [
        (
            ('high: [5.5, 5.5, 3.1416]', 'high: [-9.0, 5.5, 3.1416]'),
            LOADS,
            r'point\.yaml: expected a valid contract, .*observation\.pose\.high\.0 \(line \d+\)',
        ),
        (
            ('radius: 0.3', 'radius: -1.0'),
            LOADS,
            'task: expected a task that takes its parameters, .*greater than 0',
        ),
        (
            ('name: go_to_goal', 'name: go_to_gaol'),
            LOADS,
            "task.name .*expected an installed task.*Did you mean 'go_to_goal'",
        ),
        (
            ('[pose.position.x, pose.position.y]', '[pose.position.x, pose.positoin.y]'),
            'test_contract_names_types_and_fields_that_exist',
            r"expected types and fields that exist.*privileged\.true_pose.*'position'",
        ),
        (
            ('driver_timeout: 0.25', 'driver_timeout: 0.05'),
            LOADS,
            r'action\.base\.driver_timeout .*: expected more than safety.hold_timeout',
        ),
        (
            (VELOCITY, ''),
            'test_contract_keeps_privileged_fields_apart',
            r'privileged\.true_speed: expected .*, got odom is also action\.base\.feedback',
        ),
    ],
)
def test_a_fault_in_the_text_is_found(
    tmp_path: Path, change: tuple[str, str], method: str, says: str
) -> None:
    changes = [change]
    if change == (VELOCITY, ''):
        # What the gate reports as measured comes back to the policy with every step.
        speed = VELOCITY.replace('velocity', 'true_speed')
        changes.append(('privileged:\n', f'privileged:\n{speed}'))
    must_find(Kit(write(tmp_path, *changes)), method, says)


def test_a_file_that_is_not_there_is_found(tmp_path: Path) -> None:
    must_find(Kit(tmp_path / 'nowhere.yaml'), LOADS, 'nowhere.yaml: expected a valid contract')


def test_a_contract_that_is_not_named_is_asked_for() -> None:
    with pytest.raises(NotImplementedError, match=r'contract\(\) is not overridden'):
        ContractTests().test_contract_loads_without_problems()


# Gates that do not keep it ----------------------------------------------------------------------


Clock = Callable[[], ClockReading]


class Unbounded(Gate):
    def apply(self, event: Event, clock: Clock | None = None) -> Decisions:
        decisions = super().apply(event, clock)
        if not isinstance(event, Request):
            return decisions
        return tuple(
            replace(decision, command=tuple(10.0 + value for value in decision.command))
            for decision in decisions
        )


class Jumpy(Gate):
    def apply(self, event: Event, clock: Clock | None = None) -> Decisions:
        decisions = super().apply(event, clock)
        if not isinstance(event, Request):
            return decisions
        return tuple(
            replace(d, command=self._at_once(d.requested_action)) if d.command else d
            for d in decisions
        )

    def _at_once(self, action: Vector) -> Vector:
        low, high = self._contract.flat('low'), self._contract.flat('high')
        return tuple(np.clip(action, low, high).tolist())


class Deaf(Gate):
    def apply(self, event: Event, clock: Clock | None = None) -> Decisions:
        return () if isinstance(event, EmergencyStop | Tick) else super().apply(event, clock)


class Lazy(Gate):
    """Brakes at half the rate that the contract asks for."""

    def apply(self, event: Event, clock: Clock | None = None) -> Decisions:
        before = self.state.commands.command
        decisions = super().apply(event, clock)
        ticked = isinstance(event, Tick) and decisions and decisions[-1].command
        if before is None or not ticked:
            return decisions
        pairs = zip(before, decisions[-1].command, strict=True)
        lazy = tuple((was + value) / 2.0 for was, value in pairs)
        self.state = replace(self.state, commands=replace(self.state.commands, command=lazy))
        return (replace(decisions[-1], command=lazy),)


@pytest.mark.parametrize(
    ('gate', 'method', 'says'),
    [
        (
            Unbounded,
            LEAVES_OUT,
            r'action base/.*: expected no command outside of \[-0\.5, 1\] m/s',
        ),
        (Jumpy, LEAVES_OUT, r'expected a change of at most [\d.e-]+ .* \(rate [14]\)'),
        (Jumpy, PASSES, r'expected a change of at most [\d.]+ .* \(rate [14]\)'),
        (Deaf, STOPS, r'emergency stop from action .*: expected the safe command within [\d.]+ s'),
        (Lazy, STOPS, 'expected the safe command within'),
    ],
)
def test_a_gate_that_does_not_keep_the_contract_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gate: type[Gate], method: str, says: str
) -> None:
    monkeypatch.setattr(armed_gate, 'Gate', gate)
    must_find(Kit(write(tmp_path)), method, says)


# Spaces and identity ----------------------------------------------------------------------------


def _box(bound: float) -> spaces.Box:
    return spaces.Box(-bound, bound, shape=(2,), dtype=np.float32)


def test_actions_of_a_space_that_the_gate_refuses_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_contract_tests, 'action_space', lambda contract: _box(2.0))
    file = write(tmp_path, ('safe: [0.0, 0.0]', 'safe: [0.0, 0.0]\n    out_of_bounds: reject'))
    must_find(
        Kit(file),
        PASSES,
        r'expected an action of the space to be ADMITTED or LIMITED, '
        r'got REJECTED \(OUT_OF_BOUNDS',
    )


def test_a_space_without_bounds_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_contract_tests, 'action_space', lambda contract: _box(np.inf))
    must_find(Kit(write(tmp_path)), SAMPLES, 'action: expected finite bounds')


def test_an_observation_outside_of_its_space_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def leave(values: Vector, spec: object) -> tuple[Vector, bool]:
        return values, False

    monkeypatch.setattr('boundary_env_ros.core.environment.freezing.bring_inside', leave)
    must_find(Kit(write(tmp_path)), INSIDE, r'observation\.\w+: expected a member of Box')


@pytest.mark.parametrize(
    ('change', 'method', 'says'),
    [
        ({'digest': 'sha256:0'}, LAYOUT, 'expected the digest not to depend on the layout'),
        ({'digest': 'sha256:0'}, REBUILT, 'the record: expected the contract that was recorded'),
        ({'text': 'other'}, REBUILT, "version: '1.0.0' and '1.0.1'"),
    ],
)
def test_an_identity_that_is_not_that_of_the_contract_is_found(
    tmp_path: Path, change: dict[str, Any], method: str, says: str
) -> None:
    class Changed(Kit):
        def loaded(self) -> LoadedContract:
            loaded = super().loaded()
            if 'text' in change:
                text = loaded.text.replace('version: 1.0.0', 'version: 1.0.1')
                return replace(loaded, text=text)
            return replace(loaded, **change)

    must_find(Changed(write(tmp_path)), method, says)
