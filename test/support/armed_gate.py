# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A gate that is armed, with all alive around it, and a witness of what it sends."""

from __future__ import annotations

from dataclasses import replace
import math

import numpy as np

from boundary_env_ros.core.contract.digest import digest_of
from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.contract.safety import OnTimeout
from boundary_env_ros.core.gate.gate import Gate
from boundary_env_ros.core.gate.gate_events import (
    Arm,
    EmergencyStop,
    EpisodeStatusReceived,
    Measured,
    Request,
    Tick,
)
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.gate.rules.measured import beside, resumed_from
from boundary_env_ros.core.gate.rules.obstacles import Obstacle
from boundary_env_ros.core.gate.rules.workspace import Moves, Workspace
from boundary_env_ros.core.records.decision import (
    ActionRequest,
    FEEDBACK,
    GateDecision,
    OPERATOR,
    Reason,
    Verdict,
)
from boundary_env_ros.core.records.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.records.parts import Pacing, StepId
from boundary_env_ros.core.sources.inputs import gate_inputs
from boundary_env_ros.core.timebase import Clock, ClockReading, NANOSECONDS, Stamp, to_nanoseconds
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.testing.verdicts import fail

#: Nothing near, ahead (m) or behind, and every beam usable.
_FREE = (1000.0, 1000.0, 1.0, 1.0)
#: Where a place is looked for that has no bounds, in its unit.
_FAR = 1000.0
_EPISODE, _LEASE, _CLIENT = 'an-episode', 'a-lease', 'conformance'
_FIRST = 1_000 * NANOSECONDS
#: Rounding of a few additions at the size of a command.
_ROUNDING = 1e-9


class ArmedGate:
    """
    The gate of a contract, in realtime, armed and fed; every command is compared with it.

    Parameters
    ----------
    contract
        The contract, under whatever pacing: how the gate limits depends on none.
    measured
        What the robot does at first, shape (command size,), command units.

    """

    def __init__(self, contract: Contract, measured: Vector) -> None:
        # There is no driver whose timeout could be probed before.
        unprobed = tuple(replace(group, driver_timeout_probe=()) for group in contract.action)
        self.contract = replace(contract.paced(Pacing.REALTIME), action=unprobed)
        self._digest = digest_of(self.contract)
        # Whose turn it is in the step that is asked for, if the contract declares turns.
        self._agent = contract.turn_of(1) or contract.agents[0]
        self._inputs = [item.name for item in gate_inputs(self.contract)]
        self._gate = Gate(
            self.contract,
            digest=self._digest,
            agent=self._agent,
            topics={item.name: item.topic for item in gate_inputs(self.contract)},
        )
        self._now = _FIRST
        self._sequence = 0
        self.command: Vector | None = None
        self._commanded = self._now
        self.measured = measured
        self._status(EpisodeState.RESETTING)
        self._sense(_FREE[0])
        self._gate.apply(
            Arm(
                digest=self._digest,
                agent=self._agent,
                episode_id=_EPISODE,
                client=_CLIENT,
                lease_id=_LEASE,
                now=self._instant(),
            )
        )
        self._status(EpisodeState.RUNNING)

    def _instant(self) -> ClockReading:
        stamp = Stamp(clock=Clock.SYSTEM, nanoseconds=self._now, host='here')
        return ClockReading(ros=stamp, steady=self._now)

    def _id(self, step: int = 0) -> StepId:
        return StepId(digest=self._digest, agent=self._agent, episode_id=_EPISODE, step=step)

    def _status(self, state: EpisodeState) -> None:
        status = EpisodeStatus(id=self._id(), state=state, pacing=Pacing.REALTIME, client=_CLIENT)
        self._gate.apply(EpisodeStatusReceived(status=status, now=self._instant()))

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self._now += to_nanoseconds(seconds)

    def feed(self, *, ahead: float = _FREE[0]) -> None:
        """Be the environment and every sensor that lives; nothing is nearer than ``ahead``, m."""
        self._status(EpisodeState.RUNNING)
        self._sense(ahead)

    def _sense(self, ahead: float) -> None:
        now, start = self._instant(), 0
        safety = self.contract.safety
        values: dict[str, Vector] = {}
        values.update({rule.input: (ahead, *_FREE[1:]) for rule in safety.of(Obstacle)})
        values.update({place.input: _somewhere_inside(place) for place in safety.of(Workspace)})
        for group in self.contract.action:
            values[f'{FEEDBACK}.{group.name}'] = self.measured[start : start + group.size]
            start += group.size
        for name in self._inputs:
            if name != OPERATOR:  # nobody has a hand on it
                self._gate.apply(
                    Measured(name=name, values=values.get(name, (1.0,)), captured=now.ros, now=now)
                )

    def ask(self, action: Vector) -> GateDecision:
        """Request an action and return what the gate decides on it."""
        self._sequence += 1
        now = self._instant()
        request = ActionRequest(
            id=self._id(step=1),
            lease_id=_LEASE,
            sequence=self._sequence,
            action=action,
            observed=now,
            delivered=now,
            requested=now,
            client=_CLIENT,
        )
        (decision,) = self._gate.apply(Request(request=request, now=now))
        self._see(decision)
        return decision

    def tick(self) -> tuple[GateDecision, ...]:
        """Let the timer of the gate look at silence."""
        decisions = self._gate.apply(Tick(now=self._instant()))
        for decision in decisions:
            self._see(decision)
        return decisions

    def emergency_stop(self) -> None:
        """Press the emergency stop."""
        for decision in self._gate.apply(EmergencyStop(pressed=True, now=self._instant())):
            self._see(decision)

    # The witness ---------------------------------------------------------------------------------

    def _see(self, decision: GateDecision) -> None:
        command = decision.command
        if not command:
            return
        contract = self.contract
        low, high, safe = (contract.flat(name) for name in ('low', 'high', 'safe'))
        before = decision.inputs.previous_command or command
        for i, value in enumerate(command):
            least, most = low[i], high[i]
            if math.isnan(safe[i]):
                # A place that is outside already may stay there, or come back.
                least, most = min(least, before[i]), max(most, before[i])
            if not (math.isfinite(value) and least <= value <= most):
                fail(
                    f'no command outside of [{low[i]:g}, {high[i]:g}] {contract.command_unit[i]}',
                    value,
                    where=_place(contract, i),
                )
        self._see_change(decision)
        self.command, self._commanded = command, self._now

    def _see_change(self, decision: GateDecision) -> None:
        contract = self.contract
        stopped = decision.verdict is Verdict.STOPPED
        limits = Limits(contract)
        late = any(result.reason is Reason.COMMAND_LATE for result in decision.rules)
        braked = stopped or (late and contract.safety.on_timeout is OnTimeout.SAFE)
        before = self.command
        elapsed = (self._now - self._commanded) / NANOSECONDS
        left = self._left_alone(elapsed)
        if not decision.inputs.previous_command and (before is None or any(left)):
            return  # nobody knows what the robot does: the safe command is all there is
        nothing_to_brake = before is None or all(left)
        inside = np.clip(self.measured, contract.flat('low'), contract.flat('high'))
        measured = tuple(np.where(np.isnan(limits.safe), self.measured, inside).tolist())
        if before is None or nothing_to_brake:
            before = measured
        elif any(left):
            before = beside(limits, before, measured, left, to_stop=not decision.inputs.seeded)
        elif decision.inputs.seeded:
            before = resumed_from(limits, before, measured)
        time_step = contract.period if self.command is None else min(elapsed, contract.period)
        most = contract.flat('stop' if braked else 'rate')
        turned = {}
        for rotation in limits.rotations:
            places = rotation.dimensions
            angle = _angle(*([v[i] for i in places] for v in (before, decision.command)))
            turned.update(dict.fromkeys(places, angle))
        for i, (value, was) in enumerate(zip(decision.command, before, strict=True)):
            bound = most[i] * min(time_step, limits.within[i])
            if turned.get(i, math.inf) <= bound + _ROUNDING:
                continue  # a quaternion may change its sign, and be the same rotation
            if stopped and nothing_to_brake and i in limits.speeds and value == limits.safe[i]:
                continue  # a stop sends no speed that nobody has commanded
            if abs(value - was) > bound + _ROUNDING * (1.0 + abs(was)):
                fail(
                    f'a change of at most {bound:g} {contract.command_unit[i]} in '
                    f'{time_step:g} s ({"stop" if braked else "rate"} {most[i]:g})',
                    f'{abs(value - was):g}',
                    where=_place(contract, i),
                )

    def _left_alone(self, seconds: float) -> list[bool]:
        """Return, by dimension, whether its driver has begun to stop by itself by now."""
        return [
            group.driver_timeout is not None and seconds > group.driver_timeout
            for group in self.contract.action
            for _ in group.low
        ]


def _angle(one: list[float], other: list[float]) -> float:
    """Return the angle (rad) between two rotations, as unit quaternions."""
    apart = [math.dist(one, [sign * value for value in other]) for sign in (1.0, -1.0)]
    return 4.0 * math.asin(min(1.0, min(apart) / 2.0))


def _somewhere_inside(workspace: Workspace) -> Vector:
    """Return the middle of where a place may be, as far as that is bounded."""
    middle = [
        ((-_FAR if low is None else low) + (_FAR if high is None else high)) / 2.0
        for low, high in zip(workspace.low, workspace.high, strict=True)
    ]
    if workspace.polygon:
        middle[:2] = np.mean(workspace.polygon, axis=0).tolist()
    turned = (0.0,) if workspace.moves is Moves.BODY else ()
    return (*middle, *turned)


def _place(contract: Contract, index: int) -> str:
    for group in contract.action:
        if index < group.size:
            return f'action {group.dimensions[index]}'
        index -= group.size
    return f'action[{index}]'
