# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules about what was published: within the bounds, no faster than allowed, one after another."""

from __future__ import annotations

import math

from boundary_env_ros.core.commands import as_action, translate
from boundary_env_ros.core.contract import ActionKind, Pacing
from boundary_env_ros.core.decision import GateDecision, Reason, Trigger, Verdict
from boundary_env_ros.core.timebase import elapsed, Instant
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

#: Seconds that may pass between a decision of the gate's timer and its command.
BEFORE_COMMAND = 0.05


@link_rule(
    'command-as-admitted',
    'What was published is what was admitted, in the space of the command.',
    'Look at the mapping from action to command, or for a command that was changed after the '
    'rules.',
)
def _command_as_admitted(link: Link, terms: Terms | None) -> Found:
    decision = link.decision
    if decision.verdict not in MOVING:
        return
    expected = decision.command
    if terms is not None and len(expected) == terms.contract.command_size:
        expected = as_action(terms.contract.action, expected, decision.previous_command or None)
    elif terms is None and len(expected) != len(decision.admitted_action):
        return  # Without the contract only a command that is the action can be compared with it.
    if not same_numbers(expected, decision.admitted_action):
        yield Mismatch(
            field='command',
            expected=f'{vector(decision.admitted_action)} as admitted',
            actual=f'{vector(decision.command)}, which is {vector(expected)}',
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
        safe = was if math.isnan(limits.safe[i]) else limits.safe[i]
        if stopped and abs(value - safe) > abs(was - safe) + ROUNDING:
            yield Mismatch(
                field=f'command[{i}]',
                expected=f'from {number(was)} towards {number(safe)}',
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


def _decided(decision: GateDecision, terms: Terms) -> Instant | None:
    """Return the instant of a decision where it is recorded: on a request, in realtime."""
    return decision.decided if terms.contract.pacing is Pacing.REALTIME else None


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
        bound = elapsed(last.decided or last.commanded, decision.commanded)
        if expected is None and bound is not None:
            slack = 0.0 if last.decided else limits.contract.safety.gate_period
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


@link_rule(
    'silence-recomputed',
    'The time since the last request that was heard is the time since the decision on it, while '
    'the episode lasts.',
    'Trust the instants: a silence that was made shorter hides that the robot should have '
    'stopped.',
    needs_contract=True,
)
def _silence_recomputed(link: Link, terms: Terms | None) -> Found:
    decision, last, limits = link.decision, link.obeyed, known(terms)
    if (
        last is None
        or limits.contract.pacing is not Pacing.REALTIME
        or decision.verdict is Verdict.REJECTED
        or last.id.episode_id != decision.id.episode_id
        # Whoever arms the gate for the next episode meanwhile is not silent.
        or any(result.reason is Reason.EPISODE_OVER for result in decision.rules)
    ):
        return
    since = elapsed(last.decided or last.commanded, decision.decided or decision.commanded)
    if since is None:
        return
    least = since
    if decision.decided is None:
        least -= limits.contract.safety.gate_period + BEFORE_COMMAND
    most = since if last.decided else since + BEFORE_COMMAND
    actual = decision.since_request
    if actual is None or not least - ROUNDING <= actual <= most + ROUNDING:
        yield Mismatch(
            field='since_request',
            expected=f'{number(since)} s since decision {last.sequence}',
            actual=number(actual),
        )


@link_rule(
    'action-in-space',
    'An action that was let through has the size of the action space, and an index names a '
    'choice.',
    'Look at the policy, and at the gate that should have refused it.',
    needs_contract=True,
)
def _action_in_space(link: Link, terms: Terms | None) -> Found:
    contract, decision = known(terms).contract, link.decision
    if decision.verdict not in MOVING:
        return
    places = [('admitted_action', decision.admitted_action)]
    if decision.trigger is not Trigger.TIMER:
        places.append(('requested_action', decision.requested_action))
    for name, action in places:
        if len(action) != contract.action_size:
            yield Mismatch(
                field=name, expected=f'{contract.action_size} values', actual=vector(action)
            )
            continue
        start = 0
        for group in contract.action:
            values = action[start : start + group.action_size]
            start += group.action_size
            if group.kind not in (ActionKind.DISCRETE, ActionKind.MULTI_DISCRETE):
                continue
            unchanged = name == 'requested_action' or decision.verdict is Verdict.ADMITTED
            # A command that was limited need not be one that an index names.
            if any(math.isnan(value) for value in values) and not unchanged:
                continue
            if translate((group,), values, None)[0] is None:
                yield Mismatch(
                    field=f'{name} of {group.name}',
                    expected='an index of the contract',
                    actual=vector(values),
                )


RULES: tuple[Rule, ...] = (
    _silence_recomputed,
    _action_in_space,
    _command_as_admitted,
    _command_in_bounds,
    _command_rate,
    _previous_command,
    _time_step,
    _previous_rate,
)
