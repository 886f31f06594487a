# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Decisions of the gate, held against what the sensors said."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
import math

from boundary_env_ros.core.environment.episode import EpisodeStatus
from boundary_env_ros.core.gate.decision import GateDecision, Trigger, Verdict
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.gate.rules.recorded import was_silent
from boundary_env_ros.core.sources.readers import Reading
from boundary_env_ros.core.timebase import ClockReading, elapsed, NANOSECONDS, to_nanoseconds
from boundary_env_ros.evidence.audit.raw_messages.claims import Claim, Claims, Said
from boundary_env_ros.evidence.audit.raw_messages.message_history import BEGINNING, MessageHistory
from boundary_env_ros.evidence.audit.raw_messages.window import Heard, MOST
from boundary_env_ros.evidence.audit.raw_messages.wiring import STOP, Use
from boundary_env_ros.evidence.audit.rules.base import Mismatch, number
from boundary_env_ros.evidence.audit.rules.gate import MOVING

#: Presses and releases of the emergency stop that are remembered.
_PRESSES = 256

#: What the report calls the checks of the statuses of the environment.
STATUS = 'episode status'


@dataclass(slots=True)
class _Agent:
    """
    What is remembered of one gate.

    ``told`` is when its environment gave the statuses that come after what was judged, and
    ``status`` when it gave the last one before that.
    """

    episode: str = ''
    begun: int = 0
    used: dict[str, Heard] = field(default_factory=dict)
    told: deque[ClockReading] = field(default_factory=lambda: deque(maxlen=MOST))
    status: ClockReading | None = None
    presses: deque[tuple[int, bool]] = field(default_factory=lambda: deque(maxlen=_PRESSES))


class DecisionChecks:
    """
    Holds decisions against the sensor topics.

    Parameters
    ----------
    history, claims
        What the topics said, and what ties claims to that.
    limits
        What the gate's rules need of the contract.

    """

    def __init__(self, history: MessageHistory, claims: Claims, limits: Limits) -> None:
        self._history, self._claims = history, claims
        self._limits = limits
        self._agents: defaultdict[str, _Agent] = defaultdict(_Agent)
        self.untold: dict[str, None] = {}  # the agents without a status of the environment

    def pressed(self, agent: str, heard: Heard) -> None:
        """Take a message of the emergency stop."""
        if STOP in heard.readings:
            pressed, presses = bool(heard.readings[STOP].values[0]), self._agents[agent].presses
            # A heartbeat that goes on saying that it is not pressed says nothing new.
            if pressed or not presses or presses[-1][1]:
                presses.append((heard.log_time, pressed))

    def told(self, status: EpisodeStatus) -> None:
        """Take a status of an environment."""
        if status.stamp is not None:
            self._agents[status.id.agent].told.append(status.stamp)

    def tie(self, decision: GateDecision, log_time: int) -> list[Claim]:
        """Tie the measurements of a decision, which the recorder had at a time, to messages."""
        tied = []
        instant = decision.decided
        now = self._history.on_tape(instant)
        for measurement in decision.measurements:
            use = self._history.use(decision.id.agent, f'gate {measurement.name}')
            if use is None:
                continue
            got = None
            if now is not None and not self._history.lockstep:
                got = now - (instant.steady - measurement.received_steady)
            claim = Claim(
                id=decision.id,
                kind='measurements',
                place=f'decision {decision.sequence}.{measurement.name}',
                use=use,
                topic=measurement.topic,
                captured=measurement.captured,
                said={'values': measurement.values},
                made=_values,
                now=now,
                got=got,
                log_time=log_time,
            )
            if not measurement.received_steady:
                self._never_came(claim, use, seeded=decision.seeded)
            elif self._claims.tie(claim) is not None:
                tied.append(claim)
        return tied

    def _never_came(self, claim: Claim, use: Use, *, seeded: bool) -> None:
        """Look for a message of what a gate says that it never had."""
        history = self._history
        first = history.window(use).first
        late = 0 if first is None else claim.log_time - first.log_time
        history.asked[use.name] += 1
        if history.floor < late <= history.grace:
            history.excuse('early', use.name)
        elif late > history.grace and not seeded:
            expected = f'what {use.topic} said'
            self._claims.find(claim, '', expected, 'nothing received', 'values-newest')

    def judge(self, claims: Sequence[Claim], decision: GateDecision, asked: int | None) -> None:
        """
        Look whether a decision goes by the newest messages, and heard of an emergency stop.

        Parameters
        ----------
        claims
            Its measurements, as far as they are tied to messages.
        decision
            The decision.
        asked
            When the recorder had its request, nanoseconds; None if it did not.

        """
        agent, history = self._agents[decision.id.agent], self._history
        now = history.on_tape(decision.decided)
        if now is None or was_silent(decision):
            # What publishes nothing need not go by the newest message.
            for claim in claims:
                if now is None:
                    history.excuse('unplaced', claim.use.name)
                self._newest(claim, None, agent)
            if now is None:
                history.spare('unplaced', STOP)
            return
        if decision.id.episode_id != agent.episode:
            agent.episode, agent.begun = decision.id.episode_id, now
        if decision.trigger is not Trigger.REQUEST or decision.received is None:
            asked = None
        waited = 0 if asked is None else now - asked
        deaf = 0 if history.lockstep else self._deaf(decision)
        # What comes late stands in one queue with all else that the gate hears.
        behind = max(waited, *(claim.delay for claim in claims), 0)
        for claim in claims:
            newest = None
            if not history.lockstep:
                newest = self._received(claim, deaf, behind)
            elif decision.trigger is not Trigger.TIMER:
                newest = self._claims.announced(claim, decision.id.step - 1)
            self._newest(claim, newest, agent)
        self._emergency_stop(decision, agent, now, deaf, waited)
        self._environment(decision, agent, now, deaf, waited)

    def _received(self, claim: Claim, deaf: int, behind: int) -> Heard | None:
        """Look when a message was received, and return a newer one that must have been, too."""
        late = claim.heard and self._claims.sent_after(claim, claim.heard)
        if late:
            expected, actual = 'not before it was sent', f'{late / 1e9:.6g} s before it'
            self._claims.find(claim, '.received_steady', expected, actual)
        return self._claims.newer(claim, deaf, behind)

    def _newest(self, claim: Claim, newest: Heard | None, agent: _Agent) -> None:
        """Hold a message against the newest one that the gate can have had."""
        heard, name = claim.heard, claim.use.name
        if heard is None:
            return
        last = agent.used.get(name, heard)
        agent.used[name] = max(last, heard, key=lambda one: one.number)
        which = ''
        if heard.number < last.number:
            which = 'no older message than the decision before'
            newest = last if newest is None or newest.number < last.number else newest
        elif newest is not None and newest.number > heard.number:
            which = 'the newest message that was there'
        elif newest is not None and newest.number < heard.number:
            which = 'a message that was there already'
        if which and newest is not None:
            self._claims.not_newest(claim, newest, which)

    def _deaf(self, decision: GateDecision) -> int:
        """
        Return for how long (ns) before a decision the gate may have received nothing.

        For longer than the timeout of the sensors it does not go by what it had before, but stops.
        A decision that tells nothing of what it received is no evidence that nothing came; a timer
        that missed its turn is.
        """
        safety = self._limits.safety
        most, late, hung = to_nanoseconds(safety.sensor_timeout), decision.since_tick or 0.0, 0
        if late > 2.0 * safety.gate_period:
            hung = to_nanoseconds(min(late, safety.sensor_timeout))
        had = [m.received_steady for m in decision.measurements if m.received_steady]
        if decision.received is not None:
            had.append(decision.received.steady)
        instant = decision.decided.steady
        silent = instant - max(had, default=instant)
        if decision.verdict is not Verdict.STOPPED:
            silent = min(silent, most)
        return max(silent, hung)

    def _emergency_stop(
        self, decision: GateDecision, agent: _Agent, now: int, deaf: int, waited: int
    ) -> None:
        """
        Ask for the flag of an emergency stop that was pressed.

        What the record itself says of delays excuses it for no longer than the gate may go by what
        it had before.
        """
        if decision.emergency_stop or decision.verdict is Verdict.REJECTED:
            return
        history, safety = self._history, self._limits.safety
        surely = now - history.floor - to_nanoseconds(safety.gate_period)
        since = _pressed(agent, surely)
        history.asked[STOP] += 1
        if since is None:
            return
        who = f'{decision.id.agent} {STOP}'
        history.delayed(who, now, waited)
        slack = history.slack(who, now, waited) - history.floor
        most = to_nanoseconds(safety.sensor_timeout)
        if _pressed(agent, surely - most) is None:
            if _pressed(agent, surely - slack) is None:
                history.excuse('late', STOP)
                return
            unheard = _pressed(agent, surely - slack - deaf) is None
            if unheard and history.is_starved(f'{decision.id.agent} gate', now):
                history.excuse('starved', STOP)
                return
        expected = f'True, {(now - since) / 1e9:.3g} s after it was pressed'
        place = f'decision {decision.sequence}.emergency_stop'
        found = Mismatch(place, expected, 'False')
        history.find('emergency-stop-heard', found, decision.id)

    def _environment(
        self, decision: GateDecision, agent: _Agent, now: int, deaf: int, waited: int
    ) -> None:
        """Ask for a status of the environment that a decision to move can have gone by."""
        history, safety = self._history, self._limits.safety
        if decision.trigger is Trigger.PROBE or decision.verdict not in MOVING:
            return
        if agent.status is None and not agent.told:
            self.untold[decision.id.agent] = None
            return
        if history.lockstep:
            return  # The world stands still without its environment.
        history.asked[STATUS] += 1
        while agent.told and (self._passed(agent.told[0], decision.decided) or 0.0) >= 0.0:
            agent.status = agent.told.popleft()
        since = self._passed(agent.status or agent.told[0], decision.decided)
        if since is None:
            history.excuse('unplaced', STATUS)
            return
        if agent.status is None:
            if -since * NANOSECONDS < BEGINNING:
                history.excuse('early', STATUS)
                return
            since = math.inf
        silent = since - safety.environment_timeout - history.floor / NANOSECONDS
        slack = history.slack(f'{decision.id.agent} {STOP}', now, waited) - history.floor + deaf
        if silent <= 0.0:
            return
        if silent <= min(slack / NANOSECONDS, safety.sensor_timeout):
            history.excuse('late', STATUS)
        elif not history.lost_one(STATUS, now, now - to_nanoseconds(min(silent, 1e6))):
            place = f'decision {decision.sequence}.since_environment'
            expected = f'a status of the environment in the {safety.environment_timeout} s before'
            found = Mismatch(place, expected, f'none for {number(since)} s')
            history.find('inputs-recomputed', found, decision.id)

    def _passed(self, start: ClockReading, end: ClockReading) -> float | None:
        """Return the seconds between instants of, perhaps, two hosts."""
        seconds = elapsed(start, end)
        if seconds is None and not self._history.contract.sim_time:
            one, other = map(self._history.on_tape, (start, end))
            seconds = None if one is None or other is None else (other - one) / NANOSECONDS
        return seconds


def _values(reading: Reading) -> Said:
    return {'values': reading.values}


def _pressed(agent: _Agent, until: int) -> int | None:
    """Return since when the emergency stop counted as pressed at a log time; None if not."""
    before = [(at, pressed) for at, pressed in agent.presses if at < until]
    since = [at for at, pressed in before if pressed and at >= agent.begun]
    if since:
        return since[0]
    return before[-1][0] if before and before[-1][1] else None
