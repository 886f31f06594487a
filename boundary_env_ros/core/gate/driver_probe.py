# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The measurement of what stops the robot when the gate does not: the timeout of its driver.

The gate sends the small command that the contract declares as ``driver_timeout_probe`` until the
robot follows it, falls silent, and looks how long it takes until the robot departs from it by
itself.
"""

from __future__ import annotations

from enum import Enum
import math

from boundary_env_ros.core.contract.model import ActionSpec, Contract, slices_of
from boundary_env_ros.core.timebase import ClockReading, NANOSECONDS
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import frozen, replace

#: Seconds that may pass before the first command, until all that the rules need has come.
_BEGINS = 10.0

#: Seconds that the robot may take to follow the probe once that is on the wire.
_FOLLOWS = 3.0


class Phase(Enum):
    """Where a probe stands."""

    MOVING = 'moving'
    SILENT = 'silent'
    DONE = 'done'
    FAILED = 'failed'


def _follows(group: ActionSpec, values: Vector) -> bool:
    """Return whether the robot does what the probe asks for."""
    probe, threshold = group.driver_timeout_probe, group.feedback.threshold
    return all(abs(v - a) <= t for v, a, t in zip(values, probe, threshold, strict=True))


def _departs(group: ActionSpec, values: Vector) -> bool:
    """Return whether the robot no longer does so, but is on its way to the safe command."""
    probe, threshold = group.driver_timeout_probe, group.feedback.threshold
    return any(
        # One that is faster than it was asked to be has not begun to brake.
        math.copysign(1.0, a - safe) * (a - v) > t
        for v, a, safe, t in zip(values, probe, group.safe, threshold, strict=True)
        if a != safe
    )


@frozen
class DriverProbe:
    """
    One probe of all drivers whose groups declare one.

    Attributes
    ----------
    contract
        The contract.
    since
        Steady time from which it waits for what comes next, ns.
    began
        Whether a command has gone out.
    phase
        Where it stands.
    timeouts
        Measured timeout of each group of the action, seconds; NaN where none was measured.
    why
        Why it failed.
    blocked_by
        What asks for a stop before the first command.

    """

    contract: Contract
    since: int
    timeouts: Vector
    began: bool = False
    phase: Phase = Phase.MOVING
    why: str = ''
    blocked_by: str = ''

    @classmethod
    def begun(cls, contract: Contract, now: ClockReading) -> DriverProbe:
        """Return one that begins now."""
        unknown = (math.nan,) * len(contract.action)
        return cls(contract=contract, since=now.steady, timeouts=unknown)

    @property
    def _parts(self) -> list[tuple[int, ActionSpec, slice]]:
        """The groups that are probed, with which they are, and their part of the command."""
        return [
            (index, group, part)
            for index, (group, part) in enumerate(slices_of(self.contract.action))
            if group.driver_timeout_probe
        ]

    @property
    def running(self) -> bool:
        """Return whether it goes on."""
        return self.phase in (Phase.MOVING, Phase.SILENT)

    @property
    def braked(self) -> frozenset[int]:
        """Return the groups, by their index, whose drivers were seen to brake by themselves."""
        return frozenset(i for i, timeout in enumerate(self.timeouts) if not math.isnan(timeout))

    def command(self, stay: Vector) -> Vector:
        """Return the command to be sent while it moves; ``stay`` is what stops the others."""
        command = list(stay)
        for _, group, part in self._parts:
            command[part] = group.driver_timeout_probe
        return tuple(command)

    def after(
        self, measured: Vector | None, emitted: int | None, now: ClockReading
    ) -> DriverProbe:
        """
        Return it after a measurement of what the robot does.

        Parameters
        ----------
        measured
            What it does, command units; None if that is not known.
        emitted
            Steady time of the last command, ns; None before the first.
        now
            When the gate knows it.

        """
        if emitted is not None and not self.began:
            return replace(self, began=True, since=emitted).after(measured, emitted, now)
        passed = (now.steady - self.since) / NANOSECONDS
        if self.phase is Phase.SILENT:
            return self._after_silence(measured, passed)
        if (
            emitted is not None
            and measured is not None
            and all(_follows(group, measured[part]) for _, group, part in self._parts)
        ):
            # The driver's time runs from the last command that it was sent.
            return replace(self, phase=Phase.SILENT, since=emitted)
        if not self.began and passed > _BEGINS:
            return self.failed(
                f'it could not begin within {_BEGINS:g} s '
                f'({self.blocked_by or "the feedback is missing"})'
            )
        if self.began and passed > _FOLLOWS:
            return self.failed(f'the robot did not follow the probe within {_FOLLOWS:g} s')
        return self

    def _after_silence(self, measured: Vector | None, passed: float) -> DriverProbe:
        timeouts = list(self.timeouts)
        for index, group, part in self._parts:
            if not math.isnan(timeouts[index]):
                continue
            declared = group.driver_timeout or 0.0
            if passed > declared + self.contract.safety.sensor_timeout:
                return replace(self, timeouts=tuple(timeouts)).failed(
                    f'the driver of {group.topic} did not brake by itself within '
                    f'{passed:.3g} s (expected after {declared:g} s without a command, as '
                    'the contract says)'
                )
            if measured is not None and _departs(group, measured[part]):
                timeouts[index] = passed
        done = not any(math.isnan(timeouts[index]) for index, _, _ in self._parts)
        phase = Phase.DONE if done else self.phase
        return replace(self, timeouts=tuple(timeouts), phase=phase)

    def failed(self, why: str) -> DriverProbe:
        """Return it given up."""
        return replace(self, phase=Phase.FAILED, why=why)
