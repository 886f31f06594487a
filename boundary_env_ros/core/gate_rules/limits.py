# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the rules of the gate need of a contract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import math

from boundary_env_ros.core.contract import ActionSpec, Beyond, Contract, Pacing, WhenStale
from boundary_env_ros.core.safety import Safety
from boundary_env_ros.core.sources import Vector

FEEDBACK = 'feedback'
ALIVE = 'alive'
OPERATOR = 'operator'


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """
    What the rules need of a contract, flat over the dimensions of the command.

    ``alive`` holds, by name of its input, the greatest age of each field that holds the robot when
    it is stale. ``acceleration`` and ``jerk`` are infinite where there is no limit.
    """

    groups: tuple[ActionSpec, ...]
    alive: Mapping[str, float]
    low: Vector
    high: Vector
    safe: Vector
    rate: Vector
    acceleration: Vector
    jerk: Vector
    stop: Vector
    unit: tuple[str, ...]
    reject_beyond: tuple[bool, ...]
    safety: Safety
    pacing: Pacing
    period: float
    lockstep_deadline: float

    @classmethod
    def of(cls, contract: Contract) -> Limits:
        """Return the limits of a contract."""
        return cls(
            groups=contract.action,
            alive={
                f'{ALIVE}.{field.name}': field.max_age
                for field in (*contract.observation, *contract.state)
                if field.when_stale is WhenStale.HOLD and field.max_age is not None
            },
            low=contract.flat('low'),
            high=contract.flat('high'),
            safe=contract.flat('safe'),
            rate=contract.flat('rate'),
            acceleration=_or_infinite(contract, 'acceleration'),
            jerk=_or_infinite(contract, 'jerk'),
            stop=contract.flat('stop'),
            unit=contract.command_unit,
            reject_beyond=tuple(
                group.beyond is Beyond.REJECT
                for group in contract.action
                for _ in range(group.size)
            ),
            safety=contract.safety,
            pacing=contract.pacing,
            period=contract.period,
            lockstep_deadline=contract.lockstep_deadline,
        )


def _or_infinite(contract: Contract, attribute: str) -> Vector:
    return tuple(
        value
        for group in contract.action
        for value in getattr(group, attribute) or (math.inf,) * group.size
    )
