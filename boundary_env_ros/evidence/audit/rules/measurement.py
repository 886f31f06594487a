# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules about what the gate measured."""

from __future__ import annotations

from boundary_env_ros.core.gate.explain import unusable
from boundary_env_ros.core.records.decision import ALIVE, Measurement, OPERATOR
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.timebase import age_of, ClockReading, NANOSECONDS
from boundary_env_ros.evidence.audit.rules.base import (
    DecisionLink,
    Found,
    known,
    Mismatch,
    of_decision,
    outside,
    unlike,
)


@of_decision('inputs-recomputed', contract=True)
def _measurement_age(link: DecisionLink) -> Found:
    decision = link.decision
    for i, measurement in enumerate(decision.inputs.measurements):
        if not measurement.received_steady:
            continue
        if known(link.terms).contract.pacing is Pacing.LOCKSTEP:
            # Only simulated time ages what was measured.
            age = age_of(measurement.captured, decision.decided)
        else:
            age = _worse_age(measurement, decision.decided)
        if age is not None:
            why = f's since {measurement.name!r} came and was captured'
            yield from outside(f'measurements[{i}].age', measurement.age, age, age, why)


def _worse_age(measurement: Measurement, now: ClockReading) -> float:
    """Return the age by arrival or by capture, whichever is worse."""
    age = (now.steady - measurement.received_steady) / NANOSECONDS
    captured = measurement.captured
    if captured is not None and captured.host == now.ros.host:
        since = age_of(captured, now)
        age = age if since is None else max(age, abs(since))
    return age


@of_decision('measurements-as-contract', contract=True)
def _measurements_as_contract(link: DecisionLink) -> Found:
    contract, decision = known(link.terms).contract, link.decision
    sizes = {name: need.size for name, need in known(link.terms).limits.needs.items()}
    if contract.safety.operator is not None:
        sizes[OPERATOR] = contract.command_size + 1  # and the switch
    of_fields = {f'{ALIVE}.{field.name}': field.size for field in contract.fields}
    found = {measurement.name: measurement for measurement in decision.inputs.measurements}
    if set(found) != set(sizes) or len(found) != len(decision.inputs.measurements):
        actual = ', '.join(measurement.name for measurement in decision.inputs.measurements)
        yield Mismatch('measurements', ', '.join(sorted(sizes)), actual or 'none')
        return
    before = {} if link.before is None else {m.name: m for m in link.before.inputs.measurements}
    for name, measurement in found.items():
        size = sizes[name]
        if len(measurement.values) != size:
            # What was not measured is kept as it came, to be seen.
            size = of_fields.get(name, size) if unusable(measurement, contract) else size
        if measurement.values and len(measurement.values) != size:
            yield Mismatch(
                f'measurements.{name}.values', f'{size} values', str(len(measurement.values))
            )
        if name in before:
            place = f'measurements.{name}.topic'
            yield from unlike(place, before[name].topic, measurement.topic, 'as before')
