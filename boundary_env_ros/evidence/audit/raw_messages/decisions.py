# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Decisions of the gate, held against what the sensors said."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from boundary_env_ros.core.gate.decision import GateDecision, Measurement, Trigger, Verdict
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.gate.rules.recorded import was_silent
from boundary_env_ros.core.timebase import ClockReading, to_nanoseconds
from boundary_env_ros.evidence.audit.raw_messages.message_history import MessageHistory
from boundary_env_ros.evidence.audit.raw_messages.support import (
    Claim,
    format_message,
    nanoseconds,
    newest_in_lockstep,
    supporting,
)
from boundary_env_ros.evidence.audit.raw_messages.window import Heard, measured
from boundary_env_ros.evidence.audit.raw_messages.wiring import same_topic, STOP, Use
from boundary_env_ros.evidence.audit.rules import catalogue
from boundary_env_ros.evidence.audit.rules.base import Mismatch, Rule, same, vector

#: Presses and releases of the emergency stop that are remembered.
_PRESSES = 256

#: Nanoseconds by which two clocks of one host may be read apart.
_READING = 2_000_000


@dataclass(slots=True)
class _Agent:
    """What is remembered of one gate."""

    episode: str = ''
    begun: int = 0
    used: dict[str, Heard] = field(default_factory=dict)
    presses: deque[tuple[int, bool]] = field(default_factory=lambda: deque(maxlen=_PRESSES))


class DecisionChecks:
    """
    Holds decisions against the sensor topics.

    Parameters
    ----------
    history
        What the topics said.
    limits
        What the gate's rules need of the contract.

    """

    def __init__(self, history: MessageHistory, limits: Limits) -> None:
        self._tape = history
        self._limits = limits
        self._agents: dict[str, _Agent] = {}

    def pressed(self, agent: str, heard: Heard) -> None:
        """Take a message of the emergency stop."""
        if STOP in heard.readings:
            pressed = bool(heard.readings[STOP].values[0])
            self._of(agent).presses.append((heard.log_time, pressed))

    def _of(self, agent: str) -> _Agent:
        return self._agents.setdefault(agent, _Agent())

    def _find(
        self, rule: Rule, decision: GateDecision, place: str, expected: str, actual: str
    ) -> None:
        found = Mismatch(f'decision {decision.sequence}{place}', expected, actual)
        self._tape.find(rule, found, decision.id)

    def note(self, decision: GateDecision) -> None:
        """Take note of how late the gate had what a decision is by, for those around it."""
        history = self._tape
        instant = decision.decided or decision.commanded
        now = history.on_tape(instant)
        if history.lockstep or now is None or instant is None:
            return
        for measurement in decision.measurements:
            use = history.use(decision.id.agent, f'gate {measurement.name}')
            if use is None or not measurement.received_steady:
                continue
            heard = supporting(history, self._claim(decision, measurement, use))
            if heard is not None:
                got = now - (instant.steady - measurement.received_steady)
                history.delayed(f'{decision.id.agent} {use.name}', now, got - heard.log_time)

    def _claim(self, decision: GateDecision, measurement: Measurement, use: Use) -> Claim:
        return Claim(
            use=use,
            captured=measurement.captured,
            published=None,
            fits=lambda heard: same(heard.readings[use.name].values, measurement.values),
            until=self._tape.latest(decision.decided or decision.commanded),
        )

    def check(self, decision: GateDecision, log_time: int, asked: int | None) -> None:
        """
        Look at a decision.

        Parameters
        ----------
        decision
            The decision.
        log_time
            When the recorder had it.
        asked
            When the recorder had its request, nanoseconds; None if it did not.

        """
        agent = self._of(decision.id.agent)
        instant = decision.decided or decision.commanded
        now = self._tape.on_tape(instant)
        if decision.id.episode_id != agent.episode:
            agent.episode, agent.begun = decision.id.episode_id, log_time if now is None else now
        for measurement in decision.measurements:
            use = self._tape.use(decision.id.agent, f'gate {measurement.name}')
            if use is None:
                continue
            heard = self._measurement(decision, measurement, use, log_time)
            if heard is None:
                continue
            self._newest(decision, measurement, use, heard, instant, asked, agent)
        if now is None or instant is None:
            # What publishes nothing needs no check that a press was obeyed.
            if not was_silent(decision):
                self._tape.spare('unplaced', STOP)
        else:
            listened = now if self._tape.lockstep else self._listened(decision, instant, now)
            self._emergency_stop(decision, agent, now, listened, asked)

    def _measurement(
        self, decision: GateDecision, measurement: Measurement, use: Use, log_time: int
    ) -> Heard | None:
        """Hold one measurement against the message that it is of, and return that."""
        history, place = self._tape, f'.{measurement.name}'
        rule = catalogue.VALUES_FROM_SENSORS
        if not measurement.received_steady:
            first = history.window(use).first
            late = 0 if first is None else log_time - first.log_time
            history.asked[use.name] += 1
            if history.floor < late <= history.grace:
                history.excuse('early', use.name)
            elif late > history.grace and not decision.seeded:
                newest, expected = catalogue.VALUES_NEWEST, f'what {use.topic} said'
                self._find(newest, decision, place, expected, 'nothing received')
            return None
        heard = supporting(history, self._claim(decision, measurement, use))
        if heard is None:
            if not history.missing(use, nanoseconds(measurement.captured), log_time):
                expected = f'a message on {use.topic} of that stamp'
                actual = f'{vector(measurement.values)} of no message'
                self._find(rule, decision, place, expected, actual)
            return None
        history.took('measurements', use.name)
        if not same_topic(use.topic, measurement.topic):
            topic = f'{place}.topic'
            self._find(rule, decision, topic, repr(use.topic), repr(measurement.topic))
        values = heard.readings[use.name].values
        if not same(values, measurement.values):
            expected = f'{vector(values)} of the message on {use.topic} with that stamp'
            self._find(rule, decision, f'{place}.values', expected, vector(measurement.values))
        return heard

    def _newest(
        self,
        decision: GateDecision,
        measurement: Measurement,
        use: Use,
        heard: Heard,
        instant: ClockReading | None,
        asked: int | None,
        agent: _Agent,
    ) -> None:
        """Hold a message against the newest one that the gate can have had."""
        history = self._tape
        newest: Heard | None = None
        now = history.on_tape(instant)
        if history.lockstep:
            if decision.trigger is not Trigger.TIMER and now is not None:
                newest = newest_in_lockstep(
                    history,
                    use,
                    heard,
                    episode_id=decision.id.episode_id,
                    step=decision.id.step - 1,
                    world_time=now,
                )
        elif now is not None and instant is not None:
            got = now - (instant.steady - measurement.received_steady)
            if not history.contract.sim_time and got < heard.publish_time - _READING:
                place, expected = f'.{measurement.name}.received_steady', 'not before it was sent'
                actual = f'{(heard.publish_time - got) / 1e9:.6g} s before it'
                self._find(catalogue.VALUES_FROM_SENSORS, decision, place, expected, actual)
            waited = 0 if asked is None or decision.decided is None else now - asked
            slack = history.slack(
                f'{decision.id.agent} {use.name}', now, got - heard.log_time, waited
            )
            listened = self._listened(decision, instant, now)
            newest = history.newest_had(
                use,
                heard,
                now=now,
                until=now - slack,
                listened=listened - slack,
            )
        else:
            history.excuse('unplaced', use.name)
        last = agent.used.get(use.name, heard)
        agent.used[use.name] = max(last, heard, key=lambda one: one.number)
        expected = ''
        if heard.number < last.number:
            expected = 'no older message than the decision before'
            newest = last if newest is None or newest.number < last.number else newest
        elif newest is not None and newest.number > heard.number:
            expected = 'the newest message that was there'
        elif newest is not None and history.lockstep and newest.number < heard.number:
            expected = 'a message that was there already'
        if not expected:
            return
        newest = newest if newest is not None and measured(newest, use.name) else heard
        place, expected = f'.{measurement.name}', f'{expected}, {format_message(newest, use)}'
        actual = f'another one, {format_message(heard, use)}'
        self._find(catalogue.VALUES_NEWEST, decision, place, expected, actual)

    def _listened(self, decision: GateDecision, instant: ClockReading, now: int) -> int:
        """
        Return the log time up to which the gate surely received.

        For longer than the timeout of the sensors it does not go by what it had before, but stops.
        A decision that tells nothing of what it received is no evidence that nothing came.
        """
        had = [m.received_steady for m in decision.measurements if m.received_steady]
        if decision.received is not None:
            had.append(decision.received.steady)
        silent = instant.steady - max(had, default=instant.steady)
        if decision.verdict is Verdict.STOPPED:
            return now - silent
        return now - min(silent, to_nanoseconds(self._limits.safety.sensor_timeout))

    def _emergency_stop(
        self, decision: GateDecision, agent: _Agent, now: int, listened: int, asked: int | None
    ) -> None:
        """
        Ask for the flag of an emergency stop that was pressed.

        What the record itself says of delays excuses it for no longer than the gate may go by what
        it had before.
        """
        if decision.emergency_stop or decision.verdict is Verdict.REJECTED:
            return
        history, safety = self._tape, self._limits.safety
        surely = now - history.floor - to_nanoseconds(safety.gate_period)
        since = _pressed(agent, surely)
        history.asked[STOP] += 1
        if since is None:
            return
        waited = 0 if asked is None or decision.decided is None else now - asked
        slack = history.slack(f'{decision.id.agent} {STOP}', now, waited) - history.floor
        most = to_nanoseconds(safety.sensor_timeout)
        if _pressed(agent, surely - most) is None:
            if _pressed(agent, surely - slack) is None:
                history.excuse('late', STOP)
                return
            deaf = _pressed(agent, surely - slack - (now - listened)) is None
            if deaf and history.is_starved(f'{decision.id.agent} gate', now):
                history.excuse('starved', STOP)
                return
        expected = f'True, {(now - since) / 1e9:.3g} s after it was pressed'
        rule, place = catalogue.EMERGENCY_STOP_HEARD, '.emergency_stop'
        self._find(rule, decision, place, expected, 'False')


def _pressed(agent: _Agent, until: int) -> int | None:
    """Return since when the emergency stop counted as pressed at a log time; None if not."""
    before = [(at, pressed) for at, pressed in agent.presses if at < until]
    since = [at for at, pressed in before if pressed and at >= agent.begun]
    if since:
        return since[0]
    return before[-1][0] if before and before[-1][1] else None
