# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules about what was published: within the bounds, no faster than allowed, one after another."""

from __future__ import annotations

from boundary_env_ros.core.contract import Pacing
from boundary_env_ros.core.decision import GateDecision, Trigger, Verdict
from boundary_env_ros.core.gate_rules import FEEDBACK, OBSTACLE
from boundary_env_ros.core.timebase import elapsed, Instant, NANOSECONDS
from boundary_env_ros.evidence.rules.base import (
    close,
    Found,
    known,
    Link,
    link_rule,
    Mismatch,
    number,
    ROUNDING,
    Rule,
    Terms,
    vector,
)
from boundary_env_ros.evidence.rules.gate import MOVING, same_numbers


@link_rule(
    'command-as-admitted',
    'What was published is what was admitted.',
    'Look at the mapping from action to command, or for a command that was changed after the '
    'rules.',
)
def _command_as_admitted(link: Link, terms: Terms | None) -> Found:
    decision = link.decision
    if decision.verdict in MOVING and not same_numbers(decision.command, decision.admitted_action):
        yield Mismatch(
            field='command',
            expected=f'{vector(decision.admitted_action)} as admitted',
            actual=vector(decision.command),
        )


@link_rule(
    'command-in-bounds',
    'Every published command has the dimensions of the contract, and each is a number within its '
    'bounds.',
    'Compare `low:` and `high:` of the action in the contract; nothing outside them is ever '
    'published.',
    needs_contract=True,
)
def _command_in_bounds(link: Link, terms: Terms | None) -> Found:
    limits, command = known(terms), link.decision.command
    if not command:
        return
    if len(command) != len(limits.low):
        yield Mismatch(
            field='command', expected=f'{len(limits.low)} values', actual=str(len(command))
        )
        return
    for i, value in enumerate(command):
        low, high = limits.low[i], limits.high[i]
        slack = ROUNDING * max(1.0, abs(low), abs(high))
        if not low - slack <= value <= high + slack:
            yield Mismatch(
                field=f'command[{i}]',
                expected=f'between {number(low)} and {number(high)}',
                actual=number(value),
            )


@link_rule(
    'command-rate',
    'No command is farther from the one before it than the declared rate allows for the time '
    'between; a stop follows its own profile, towards the safe command.',
    'Compare `rate:` and `stop:` of the action in the contract with `previous_command` and '
    '`time_step`.',
    needs_contract=True,
)
def _command_rate(link: Link, terms: Terms | None) -> Found:
    limits, decision = known(terms), link.decision
    command, previous = decision.command, decision.previous_command
    if len(command) != len(limits.rate):
        return
    stopped = decision.verdict is Verdict.STOPPED
    if len(previous) != len(command):
        # With nothing known of the state the only command is the safe one.
        if not (stopped and same_numbers(command, limits.safe)):
            yield Mismatch(
                field='previous_command',
                expected='the command before, unless this is the safe one',
                actual=vector(previous),
            )
        return
    seconds = decision.time_step or 0.0
    for i, (value, was) in enumerate(zip(command, previous, strict=True)):
        most = (limits.stop if stopped else limits.rate)[i] * seconds
        if not abs(value - was) <= most + ROUNDING:
            yield Mismatch(
                field=f'command[{i}]',
                expected=f'at most {number(most)} away from {number(was)} in {number(seconds)} s',
                actual=f'{number(value)}, {number(abs(value - was))} away',
            )
        if stopped and abs(value - limits.safe[i]) > abs(was - limits.safe[i]) + ROUNDING:
            yield Mismatch(
                field=f'command[{i}]',
                expected=f'from {number(was)} towards {number(limits.safe[i])}',
                actual=number(value),
            )


@link_rule(
    'previous-command',
    'The command before is the last one that the gate published in the episode; only the first '
    'of an episode, or after so long a silence that the driver took over, is taken from the '
    'measured state.',
    'Rates bound the emitted sequence: look for a decision that was taken out, or a command '
    'before that was made up.',
)
def _previous_command(link: Link, terms: Terms | None) -> Found:
    decision, last = link.decision, link.published
    if decision.verdict is Verdict.REJECTED:
        return
    if last is not None and last.id.episode_id == decision.id.episode_id:
        anew = decision.seeded or not decision.previous_command
        if anew and _driver_took_over(last, decision, terms):
            return
        if decision.seeded or decision.previous_command != last.command:
            yield Mismatch(
                field='previous_command',
                expected=f'{vector(last.command)} of decision {last.sequence}',
                actual=vector(decision.previous_command)
                + (' from the measured state' if decision.seeded else ''),
            )
    elif link.before is not None and not decision.seeded and decision.previous_command:
        yield Mismatch(
            field='seeded',
            expected='the measured state before the first command of an episode',
            actual=f'{vector(decision.previous_command)} of unknown origin',
        )


def _driver_took_over(last: GateDecision, decision: GateDecision, terms: Terms | None) -> bool:
    """Return whether the gate was silent until a driver braked by itself; True if unknown."""
    silence = elapsed(last.commanded, decision.commanded)
    if terms is None or silence is None:
        return True
    timeouts = [
        group.driver_timeout for group in terms.contract.action if group.driver_timeout is not None
    ]
    # The gate looks at its clock before it publishes, so the silence may seem shorter than it was.
    slack = terms.contract.period / 2.0
    return bool(timeouts) and silence > min(timeouts) - slack


@link_rule(
    'seeded-from-measured',
    'A command before that was taken from the measured state is the measured one, brought into '
    'the bounds.',
    'Compare it with the `feedback` among the measurements of the decision.',
    needs_contract=True,
)
def _seeded_from_measured(link: Link, terms: Terms | None) -> Found:
    limits, decision = known(terms), link.decision
    if not decision.seeded:
        return
    found = {measurement.name: measurement for measurement in decision.measurements}
    values: list[float] = []
    for group in limits.contract.action:
        feedback = found.get(f'{FEEDBACK}.{group.name}')
        values += () if feedback is None else feedback.values
    expected: tuple[float, ...] = ()
    if len(values) == len(limits.low):
        expected = tuple(
            min(max(value, low), high)
            for value, low, high in zip(values, limits.low, limits.high, strict=True)
        )
    if not same_numbers(expected, decision.previous_command):
        yield Mismatch(
            field='previous_command',
            expected=f'{vector(expected)} as measured',
            actual=vector(decision.previous_command),
        )


def _decided(decision: GateDecision, terms: Terms) -> Instant | None:
    """Return the instant of a decision where it is recorded: on a request, in realtime."""
    if terms.contract.pacing is Pacing.REALTIME and decision.trigger is Trigger.REQUEST:
        return decision.received
    return None


@link_rule(
    'time-step',
    'The time that the rate limits were computed with is the time since the command before, and '
    'never more than one period.',
    'Compare it with the instants of the two decisions: more time would allow a greater jump.',
    needs_contract=True,
)
def _time_step(link: Link, terms: Terms | None) -> Found:
    limits, decision = known(terms), link.decision
    if decision.verdict is Verdict.REJECTED:
        return
    period, actual = limits.contract.period, decision.time_step
    expected: float | None = None
    most = period
    last = link.published
    first = last is None or last.id.episode_id != decision.id.episode_id
    if limits.contract.pacing is Pacing.LOCKSTEP or (first and link.before is not None):
        expected = period
    elif last is not None and not first:
        start, end = _decided(last, limits), _decided(decision, limits)
        passed = elapsed(start, end)
        if passed is not None:
            expected = min(passed, period)
        # A decision is made before its command is out, so this much time at most has passed.
        bound = elapsed(last.received or last.commanded, decision.commanded)
        if expected is None and bound is not None:
            slack = 0.0 if last.received else limits.contract.safety.gate_period
            most = min(period, bound + slack)
    if actual is None or not 0.0 <= actual <= most + ROUNDING:
        yield Mismatch(
            field='time_step',
            expected=f'between 0 and {number(most)} s',
            actual=number(actual),
        )
    elif expected is not None and not close(actual, expected):
        yield Mismatch(field='time_step', expected=f'{number(expected)} s', actual=number(actual))


@link_rule(
    'measurement-age',
    'The age of a sensor value that the gate used follows from its stamps and the instant of the '
    'decision.',
    'Trust the stamps: a value that was made younger hides that the robot should have stopped.',
    needs_contract=True,
)
def _measurement_age(link: Link, terms: Terms | None) -> Found:
    decision = link.decision
    now = _decided(decision, known(terms))
    if now is None:
        return
    for i, measurement in enumerate(decision.measurements):
        if not measurement.values:
            continue
        expected = (now.steady - measurement.received_steady) / NANOSECONDS
        captured = measurement.captured
        if captured is not None and (captured.clock, captured.host) == (
            now.ros.clock,
            now.ros.host,
        ):
            expected = max(expected, (now.ros.nanoseconds - captured.nanoseconds) / NANOSECONDS)
        if measurement.age is None or not close(measurement.age, expected):
            yield Mismatch(
                field=f'measurements[{i}].age',
                expected=f'{number(expected)} s since {measurement.name!r} came and was captured',
                actual=number(measurement.age),
            )


@link_rule(
    'measurements-as-contract',
    'A decision carries the measurements that the rules of the gate need, by name, with their '
    'number '
    'of values, from the topics of the decision before.',
    'Compare `safety: obstacle:` and `feedback:` in the contract with the measurements.',
    needs_contract=True,
)
def _measurements_as_contract(link: Link, terms: Terms | None) -> Found:
    contract, decision = known(terms).contract, link.decision
    sizes = {f'{FEEDBACK}.{group.name}': len(group.fields) for group in contract.action}
    if contract.safety.obstacle is not None:
        # Distance ahead and behind, and the fraction of usable beams of each.
        sizes[OBSTACLE] = 4
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
        if measurement.values and len(measurement.values) != sizes[name]:
            yield Mismatch(
                field=f'measurements.{name}.values',
                expected=f'{sizes[name]} values',
                actual=str(len(measurement.values)),
            )
        if name in before and before[name].topic != measurement.topic:
            yield Mismatch(
                field=f'measurements.{name}.topic',
                expected=f'{before[name].topic!r} as before',
                actual=repr(measurement.topic),
            )


@link_rule(
    'previous-rate',
    'The rate of change before a command follows from the command before, and from the one '
    'before that.',
    'Compare it with `command`, `previous_command` and `time_step` of the decision before.',
)
def _previous_rate(link: Link, terms: Terms | None) -> Found:
    last, decision = link.published, link.decision
    if (
        last is None
        or last.id.episode_id != decision.id.episode_id
        or decision.verdict is Verdict.REJECTED
    ):
        return
    before = last.previous_command or last.command
    seconds = last.time_step
    expected = tuple(
        (value - was) / seconds if seconds else 0.0
        for value, was in zip(last.command, before, strict=False)
    )
    if not same_numbers(expected, decision.previous_rate):
        yield Mismatch(
            field='previous_rate', expected=vector(expected), actual=vector(decision.previous_rate)
        )


RULES: tuple[Rule, ...] = (
    _command_as_admitted,
    _command_in_bounds,
    _command_rate,
    _previous_command,
    _seeded_from_measured,
    _time_step,
    _measurement_age,
    _measurements_as_contract,
    _previous_rate,
)
