# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What must hold of every contract, whatever it says: of its identity, spaces and gate."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import replace
import itertools
import math
from typing import Any

from gymnasium import spaces
import numpy as np

from boundary_env_ros.core.contract.digest import digest_of
from boundary_env_ros.core.contract.model import ActionKind, Contract, OutOfBounds
from boundary_env_ros.core.environment.freezing import freeze
from boundary_env_ros.core.records.decision import GateDecision, Verdict
from boundary_env_ros.core.serialization import from_json, to_json
from boundary_env_ros.core.timebase import Clock, ClockReading, Stamp
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.facade.spaces import action_vector, observation_values
from boundary_env_ros.storage.contract_file import loads
from boundary_env_ros.storage.contract_spaces import action_space, observation_space
from boundary_env_ros.storage.records import ContractDescription
from boundary_env_ros.testing import ContractTests
from boundary_env_ros.testing.verdicts import difference, fail
from support.armed_gate import ArmedGate
from support.drawn_contracts import measured, relaid

Array = np.ndarray[Any, Any]

#: No command that rates allow is farther away than so many periods.
_MOST_STEPS = 2000


class WholeContractTests(ContractTests):
    """
    Tests of a contract, and of the package under it; override :meth:`contract`.

    The gate that they ask is the one that runs on the robot.
    """

    def test_contract_has_a_digest_of_its_meaning_and_not_of_its_layout(self) -> None:
        """Comments, order of keys and written-out defaults change nothing; the version does."""
        loaded = self.loaded()
        again = loads(relaid(loaded.text), pacing=loaded.contract.pacing)
        if again.digest != loaded.digest:
            fail(
                'the digest not to depend on the layout',
                f'{loaded.digest} became {again.digest}: '
                f'{difference(loaded.contract, again.contract)}',
                where=str(self.contract()),
            )
        if digest_of(replace(loaded.contract, version='999.9.9')) == loaded.digest:
            fail('another digest for another version', 'the same', where=str(self.contract()))

    def test_contract_is_rebuilt_from_its_record(self) -> None:
        """What a run records of it is enough to have it again, under the same digest."""
        loaded = self.loaded()
        contract = loaded.contract
        description = ContractDescription(
            node='environment',
            role='environment',
            contract=contract.name,
            contract_version=contract.version,
            digest=loaded.digest,
            software_version='',
            task_distribution=contract.task.distribution,
            task_version=contract.task.version,
            text=loaded.text,
        )
        read = from_json(ContractDescription, to_json(description))
        rebuilt = loads(read.text, pacing=contract.pacing)
        found = difference(contract, rebuilt.contract)
        if found or rebuilt.digest != read.digest:
            fail('the contract that was recorded', found or rebuilt.digest, where='the record')

    def test_contract_has_spaces_that_hold_their_samples(self) -> None:
        """Observation and action space follow from it, are finite, and hold what they sample."""
        contract = self.loaded().contract
        named: dict[str, spaces.Space[Any]] = {
            **{
                f'observation.{name}': space
                for name, space in observation_space(contract).spaces.items()
            },
            'action': action_space(contract),
        }
        for name, space in named.items():
            for box in _boxes(space):
                if not (np.all(np.isfinite(box.low)) and np.all(np.isfinite(box.high))):
                    fail('finite bounds', box, where=name)
            space.seed(self.seed)
            for _ in range(min(self.trials, 20)):
                value = space.sample()
                if value not in space:
                    fail(f'every sample to be in {space}', value, where=name)

    def test_contract_observes_within_its_space_whatever_is_measured(self) -> None:
        """A measurement at its bounds, beyond them or infinite becomes a member of the space."""
        contract, rng = self.loaded().contract, np.random.default_rng(self.seed)
        space, specs = observation_space(contract), (*contract.observation, *contract.state)
        sources = {spec.name: spec.topic or spec.task for spec in specs if spec.derived is None}
        images = {s.name: space[s.name].sample() for s in contract.observation if s.is_image}
        past: deque[Mapping[str, Vector]] = deque(maxlen=8)
        stamp = Stamp(clock=Clock.ROS, nanoseconds=1)
        now = ClockReading(ros=stamp, steady=1)
        for _ in range(self.trials):
            frozen = freeze(
                specs, measured(contract, rng, stamp), sources, observed=now, past=tuple(past)
            )
            past.append({field.name: field.values for field in frozen if field.values})
            seen = observation_values(contract, frozen[: len(contract.observation)], images)
            for name, value in seen.items():
                if value not in space[name]:
                    fail(f'a member of {space[name]}', value, where=f'observation.{name}')

    def test_contract_lets_every_action_of_its_space_pass(self) -> None:
        """What a policy may choose is admitted or limited, and no more than the rates allow."""
        contract = self.loaded().contract
        space = action_space(contract)
        space.seed(self.seed)
        gate = ArmedGate(contract, _middle(contract))
        random = (space.sample() for _ in range(self.trials))
        for action in itertools.chain(_corners(space), random):
            gate.feed()
            decision = gate.ask(_first(contract, action))
            gate.measured = decision.command or gate.measured
            if decision.verdict not in (Verdict.ADMITTED, Verdict.LIMITED) and not (
                decision.verdict is Verdict.REJECTED and _may_leave_its_bounds(contract)
            ):
                fail(
                    'an action of the space to be ADMITTED or LIMITED',
                    _verdict(decision),
                    where=f'action {action}',
                    way_out='Bounds of an action with `out_of_bounds: reject` must be numbers '
                    'that a float32 holds.',
                )
            gate.wait(contract.period)

    def test_contract_lets_no_command_out_of_it_whatever_is_asked(self) -> None:
        """However wild the actions, the sensors and the pauses: every command is within it."""
        contract, rng = self.loaded().contract, np.random.default_rng(self.seed)
        gate = ArmedGate(contract, _middle(contract))
        for trial in range(self.trials):
            if trial % 20 == 19:
                gate = ArmedGate(contract, _wild(rng, contract.command_size))
            if rng.random() < 0.9:
                gate.feed(ahead=float(rng.choice([1000.0, 0.8, 0.1, math.nan])))
            size = contract.action_size + int(rng.choice([0] * 9 + [-1, 1, 5]))
            gate.ask(_wild(rng, size))
            gate.wait(float(rng.choice([0.0, 1e-6, 0.02, contract.period, 0.4, 10.0])))
            gate.tick()
            if rng.random() < 0.1:
                gate.measured = _wild(rng, contract.command_size)

    def test_contract_stops_in_the_time_of_its_stop_profile(self) -> None:
        """
        From every corner of the action, stop button and silence lead to the safe command.

        On the way there no dimension goes away from it, and one that is to hold stays.
        """
        contract = self.loaded().contract
        timeout = contract.safety.command_timeout
        for action in _corners(action_space(contract)):
            for why, silence in (('emergency stop', 0.0), ('silence', timeout)):
                gate = ArmedGate(contract, _middle(contract))
                _drive(gate, _first(contract, action))
                if silence:
                    gate.wait(silence + contract.safety.gate_period)
                    gate.feed()
                else:
                    gate.emergency_stop()
                _brake(gate, f'{why} from action {action}')


def _corners(space: spaces.Space[Any]) -> Iterator[Any]:
    """Return the extremes of an action space, and for choices each of them."""
    if isinstance(space, spaces.Box):
        yield from (space.low, space.high)
    elif isinstance(space, spaces.Discrete):
        yield from range(int(space.start), int(space.start + space.n))
    elif isinstance(space, spaces.MultiDiscrete):
        yield from (np.zeros_like(space.nvec), space.nvec - 1)
    elif isinstance(space, spaces.Dict):
        parts = [list(_corners(part)) for part in space.spaces.values()]
        for index in range(max(map(len, parts))):
            yield {
                name: options[min(index, len(options) - 1)]
                for name, options in zip(space.spaces, parts, strict=True)
            }


def _first(contract: Contract, action: object) -> Vector:
    """Return an action for the gate; of a chunk, its first."""
    return _rotations(contract, action_vector(contract, action)[: contract.action_size])


def _boxes(space: spaces.Space[Any]) -> Iterator[spaces.Box]:
    if isinstance(space, spaces.Box):
        yield space
    elif isinstance(space, spaces.Dict):
        for part in space.spaces.values():
            yield from _boxes(part)


def _middle(contract: Contract) -> Vector:
    """Return a state that the robot may be in: the safe one, or the middle of the bounds."""
    middle = [
        (low + high) / 2.0 if math.isnan(safe) else safe
        for safe, low, high in zip(
            contract.flat('safe'), contract.flat('low'), contract.flat('high'), strict=True
        )
    ]
    start = 0
    for group in contract.action:
        _turn(middle, [start + index for index in group.rotation])
        start += group.size
    return tuple(middle)


def _rotations(contract: Contract, action: Vector) -> Vector:
    """Return an action whose quaternions are of unit length, which no space asks for."""
    values, start = list(action), 0
    for group in contract.action:
        _turn(values, [start + index for index in group.rotation])
        start += group.action_size
    return tuple(values)


def _turn(values: list[float], rotation: list[int]) -> None:
    """Make a unit quaternion of four of some values: the one that turns nothing, of zeros."""
    length = math.hypot(*(values[index] for index in rotation))
    for place, index in enumerate(rotation):
        values[index] = values[index] / length if length else float(place == 3)


def _may_leave_its_bounds(contract: Contract) -> bool:
    """Return whether a difference to the last command may rightly be refused for its bounds."""
    return any(
        g.kind is ActionKind.DELTA and g.out_of_bounds is OutOfBounds.REJECT
        for g in contract.action
    )


def _wild(rng: np.random.Generator, size: int) -> Vector:
    values = rng.normal(size=max(size, 0)) * 10.0 ** rng.uniform(-3.0, 6.0)
    strange = (math.nan, math.inf, -math.inf, 1e308, -1e308, 0.0, 1.0)
    return tuple(
        float(rng.choice(strange)) if rng.random() < 0.05 else float(value) for value in values
    )


def _verdict(decision: GateDecision) -> str:
    reasons = ', '.join(result.reason.name for result in decision.rules)
    return f'{decision.verdict.name} ({reasons})'


def _drive(gate: ArmedGate, action: Vector) -> None:
    """Ask for one action until it is reached."""
    for _ in range(_MOST_STEPS):
        gate.feed()
        before = gate.command
        gate.ask(action)
        gate.measured = gate.command or gate.measured
        if gate.command == before:
            return
        gate.wait(gate.contract.period)


def _brake(gate: ArmedGate, where: str) -> None:
    """Follow the stop profile of a gate that has a reason to stop, to its end."""
    contract = gate.contract
    start, safe = gate.command, contract.flat('safe')
    if start is None:
        return
    seconds = max(
        (
            abs(value - goal) / rate
            for value, goal, rate in zip(start, safe, contract.flat('stop'), strict=True)
            if not math.isnan(goal) and value != goal
        ),
        default=0.0,
    )
    tick = contract.safety.gate_period
    for _ in range(math.ceil(seconds / tick) + 1):
        before = gate.command or start
        gate.wait(tick)
        gate.feed()
        gate.tick()
        for i, (value, was, goal) in enumerate(zip(gate.command or (), before, safe, strict=True)):
            if not abs(value - goal) <= abs(was - goal) and not math.isnan(goal):
                fail(f'to come nearer to {goal:g}', f'from {was:g} to {value:g}', where=where)
            if math.isnan(goal) and value != was:
                fail(f'dimension {i} to stay at {was:g}', f'{value:g}', where=where)
    left = [
        f'{value:g} instead of {goal:g}'
        for value, goal in zip(gate.command or start, safe, strict=True)
        if not math.isnan(goal) and value != goal
    ]
    if left:
        fail(f'the safe command within {seconds + tick:.3g} s', ', '.join(left), where=where)
