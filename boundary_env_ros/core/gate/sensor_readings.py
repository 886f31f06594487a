# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the gate has received of its sensors, how old that is, and what is still to come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.gate.rules.admission import switch_held
from boundary_env_ros.core.gate.rules.limits import Need
from boundary_env_ros.core.records.decision import Measurement, OPERATOR
from boundary_env_ros.core.records.lockstep import Advanced, awaited
from boundary_env_ros.core.timebase import age_in_words, age_of, ClockReading, NANOSECONDS, Stamp
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import frozen, replace


@frozen
class SensorReadings:
    """
    The last value of every input of the gate.

    Attributes
    ----------
    contract
        The contract.
    topics
        Resolved topic of each input, by the name of the input.
    needs
        When the rules can go by each input that they need, by name.
    latest
        The last message of each input, by name.
    advanced
        How far the world has come (lockstep).

    """

    contract: Contract
    topics: Mapping[str, str]
    needs: Mapping[str, Need]
    latest: Mapping[str, Measurement] = field(default_factory=dict)
    advanced: Advanced | None = None

    def after(
        self, name: str, values: Vector, captured: Stamp | None, now: ClockReading
    ) -> SensorReadings:
        """Return them after a value of an input."""
        measurement = Measurement(
            name=name,
            topic=self.topics[name],
            values=values,
            captured=captured,
            received_steady=now.steady,
        )
        return replace(self, latest={**self.latest, name: measurement})

    def measurements(self, now: ClockReading) -> tuple[Measurement, ...]:
        """Return the last value of every input with its age."""
        found = [self._aged(name, now) for name in self.needs]
        if self.contract.safety.operator is not None:
            found.append(self._aged(OPERATOR, now))
        return tuple(found)

    def unavailable(self, now: ClockReading) -> tuple[str, ...]:
        """Return what is needed and did not come lately, or cannot be read, with its topic."""
        found = []
        for name, need in self.needs.items():
            measurement = self._aged(name, now)
            if measurement.age is None:
                found.append(f'{name} ({measurement.topic}, never heard)')
            elif not need.fresh(measurement):
                age = age_of(measurement.captured, now)
                if age is None or abs(age) < measurement.age:
                    age = measurement.age  # nothing has come since
                why = age_in_words(measurement.captured, age).removeprefix('is ')
                found.append(f'{name} ({measurement.topic}, {why})')
            elif not measurement.values:
                found.append(f'{name} ({measurement.topic}, which cannot be read)')
        return tuple(found)

    def _aged(self, name: str, now: ClockReading) -> Measurement:
        latest = self.latest.get(name)
        if latest is None:
            return Measurement(name=name, topic=self.topics[name])
        age = age_of(latest.captured, now)
        # In lockstep the world stands still while the policy thinks: only its own time ages what
        # it measured.
        if not self.contract.is_lockstep:
            received = (now.steady - latest.received_steady) / NANOSECONDS
            # The worse of the two: a topic that is punctual with old data is as stale as a silent
            # one, and a stamp from the future is no better than one from the past.
            age = received if age is None else max(received, abs(age))
        return replace(latest, age=age)

    # The operator --------------------------------------------------------------------------------

    def switch_held(self, now: ClockReading) -> bool:
        """Return whether an operator holds the switch, as far as is known lately enough."""
        operator = self.contract.safety.operator
        return operator is not None and switch_held(operator, (self._aged(OPERATOR, now),))

    @property
    def by_hand(self) -> Vector:
        """What the operator commands."""
        return self.latest[OPERATOR].values[:-1]

    # Lockstep ------------------------------------------------------------------------------------

    def reached(self, episode_id: str) -> int:
        """Return the last step of an episode that the world has made, as far as it said."""
        if self.advanced is None or self.advanced.report.id.episode_id != episode_id:
            return 0
        return self.advanced.report.id.step

    def awaits(self, episode_id: str, step: int) -> bool:
        """Return whether sensors of the observation before a step are still to come (lockstep)."""
        report = self.advanced
        if report is None or report.report.id.episode_id != episode_id:
            return True
        if report.report.id.step < step - 1:
            return True
        seen: dict[str, int] = {}
        for name in self.needs:
            # Two inputs of one topic are listened to apart: both must have its last message.
            latest, topic = self.latest.get(name), self.topics[name]
            captured = None if latest is None else latest.captured
            last = -1 if captured is None else captured.nanoseconds
            seen[topic] = min(seen.get(topic, last), last)
        return bool(awaited(report.report, seen.keys(), seen))
