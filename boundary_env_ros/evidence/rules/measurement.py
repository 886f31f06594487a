# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules about what the gate measured."""

from __future__ import annotations

from boundary_env_ros.core.contract import Pacing
from boundary_env_ros.core.decision import GateDecision, Measurement
from boundary_env_ros.core.gate_rules.limits import ALIVE, OPERATOR
from boundary_env_ros.core.gate_rules.measured import kept_of, measured_command
from boundary_env_ros.core.gate_words import unusable
from boundary_env_ros.core.observation import age_of
from boundary_env_ros.core.timebase import Instant, NANOSECONDS
from boundary_env_ros.evidence.rules.base import (
    Found,
    known,
    limits_of,
    Link,
    link_rule,
    Mismatch,
    number,
    ROUNDING,
    Rule,
    Terms,
    vector,
)
from boundary_env_ros.evidence.rules.command import (
    BEFORE_COMMAND,
    begins_anew,
    driver_took_over,
)
from boundary_env_ros.evidence.rules.gate import same_numbers


@link_rule(
    'seeded-from-measured',
    'A command before that was taken from the measured state is the measured one, known and young '
    'enough, with unit quaternions for rotations, and brought into the bounds but for places; '
    'while a command is in force, no speed of it is beyond what was commanded, or the other way.',
    'Compare it with the `feedback` among the measurements of the decision.',
    needs_contract=True,
)
def _seeded_from_measured(link: Link, terms: Terms | None) -> Found:
    decision = link.decision
    limits = limits_of(decision, known(terms))
    if not decision.seeded:
        return
    found = {measurement.name: measurement for measurement in decision.measurements}
    expected = measured_command(limits, found) or ()
    last = link.published
    if last is not None and len(last.command) == len(expected) and not begins_anew(last, decision):
        kept = kept_of(limits, last.command, expected)
        # Whether a driver had taken over by then is known to within a moment.
        if not driver_took_over(last, decision, terms) or kept == decision.previous_command:
            expected = kept
    if not same_numbers(expected, decision.previous_command):
        yield Mismatch(
            field='previous_command',
            expected=f'{vector(expected)} as measured' if expected else 'nothing: it is not known',
            actual=vector(decision.previous_command),
        )


@link_rule(
    'measurement-age',
    'The age of a sensor value that the gate used follows from its stamps and the instant of the '
    'decision.',
    'Trust the stamps: a value that was made younger hides that the robot should have stopped.',
    needs_contract=True,
)
def _measurement_age(link: Link, terms: Terms | None) -> Found:
    decision = link.decision
    for i, measurement in enumerate(decision.measurements):
        if not measurement.received_steady:
            continue
        bounds = _age_bounds(decision, measurement, known(terms))
        if bounds is None:
            continue
        least, most = bounds
        if measurement.age is None or not least - ROUNDING <= measurement.age <= most + ROUNDING:
            exact = '' if least == most else f'between {number(least)} and '
            yield Mismatch(
                field=f'measurements[{i}].age',
                expected=f'{exact}{number(most)} s since {measurement.name!r} came and was '
                'captured',
                actual=number(measurement.age),
            )


def _age_bounds(
    decision: GateDecision, measurement: Measurement, terms: Terms
) -> tuple[float, float] | None:
    """Return between what the age of a measurement must lie; None if nothing tells."""
    ends = [at for at in (decision.decided, decision.commanded) if at is not None]
    if not ends:
        return None
    if terms.contract.pacing is Pacing.LOCKSTEP:
        # Only simulated time ages what was measured, and that may go on until the command is out.
        ages = [age_of(measurement.captured, at) for at in ends]
        known_ones = [age for age in ages if age is not None]
        return (min(known_ones), max(known_ones)) if known_ones else None
    if decision.decided is not None:
        age = _worse_age(measurement, decision.decided)
        return age, age
    # The timer decides before the command is out, and does not say when.
    age = _worse_age(measurement, ends[0])
    return age - terms.contract.safety.gate_period - BEFORE_COMMAND, age


def _worse_age(measurement: Measurement, now: Instant) -> float:
    """Return the age by arrival or by capture, whichever is worse."""
    age = (now.steady - measurement.received_steady) / NANOSECONDS
    captured = measurement.captured
    if captured is not None and captured.host == now.ros.host:
        since = age_of(captured, now)
        age = age if since is None else max(age, abs(since))
    return age


@link_rule(
    'measurements-as-contract',
    'A decision carries the measurements that the rules of the gate need, by name, with their '
    'number of values, from the topics of the decision before.',
    'Compare what `safety:` and `feedback:` in the contract look at with the measurements.',
    needs_contract=True,
)
def _measurements_as_contract(link: Link, terms: Terms | None) -> Found:
    contract, decision = known(terms).contract, link.decision
    sizes = {name: need.size for name, need in known(terms).limits.needs.items()}
    if contract.safety.operator is not None:
        sizes[OPERATOR] = contract.command_size + 1  # and the switch
    of_fields = {f'{ALIVE}.{field.name}': field.size for field in contract.fields}
    found = {measurement.name: measurement for measurement in decision.measurements}
    if set(found) != set(sizes) or len(found) != len(decision.measurements):
        yield Mismatch(
            field='measurements',
            expected=', '.join(sorted(sizes)),
            actual=', '.join(measurement.name for measurement in decision.measurements) or 'none',
        )
        return
    before = {} if link.before is None else {m.name: m for m in link.before.measurements}
    for name, measurement in found.items():
        size = sizes[name]
        if len(measurement.values) != size:
            # What was not measured is kept as it came, to be seen.
            size = of_fields.get(name, size) if unusable(measurement, contract) else size
        if measurement.values and len(measurement.values) != size:
            yield Mismatch(
                field=f'measurements.{name}.values',
                expected=f'{size} values',
                actual=str(len(measurement.values)),
            )
        if name in before and before[name].topic != measurement.topic:
            yield Mismatch(
                field=f'measurements.{name}.topic',
                expected=f'{before[name].topic!r} as before',
                actual=repr(measurement.topic),
            )


RULES: tuple[Rule, ...] = (
    _seeded_from_measured,
    _measurement_age,
    _measurements_as_contract,
)
