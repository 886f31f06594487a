# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Decisions of the gate, held against what the sensors and the emergency stop said."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import partial

from boundary_env_ros.core.records.decision import GateDecision, Measurement, Verdict
from boundary_env_ros.core.sources.inputs import Input
from boundary_env_ros.core.timebase import NANOSECONDS, to_nanoseconds
from boundary_env_ros.evidence.audit.raw_messages.ties import Tie, Ties
from boundary_env_ros.evidence.audit.raw_messages.window import LazyMessage
from boundary_env_ros.evidence.audit.rules.base import Mismatch
from boundary_env_ros.evidence.record_difference import same, vector
from boundary_env_ros.evidence.wiring import same_topic, STOP

#: Nanoseconds after which a press has come to a gate that runs, be it sent once more: what got
#: lost is sent again with a heartbeat, of which Fast DDS makes one in 3 s.
SENT_AGAIN = 3 * NANOSECONDS


@dataclass(slots=True)
class _Stop:
    """
    When an emergency stop was pressed that no decision has named yet, and in which episode.

    ``sent`` is when its message was sent, and ``decided`` whether the gate was there before.
    """

    since: int | None = None
    sent: int = 0
    pressed: bool = False
    episode: str = ''
    decided: bool = False


class DecisionChecks:
    """
    Holds decisions against the sensor topics.

    Parameters
    ----------
    ties
        Ties values to messages.

    """

    def __init__(self, ties: Ties) -> None:
        self._ties = ties
        self._most = SENT_AGAIN + to_nanoseconds(ties.contract.safety.sensor_timeout)
        self._stops: defaultdict[str, _Stop] = defaultdict(_Stop)

    def pressed(self, agent: str, message: LazyMessage) -> None:
        """Take a message of the emergency stop."""
        reading = message.readings.get(self._ties.uses[agent][STOP])
        if reading is not None:
            stop, pressed = self._stops[agent], bool(reading.values[0])
            if pressed and not stop.pressed and stop.decided:
                stop.since, stop.sent, stop.episode = message.log_time, message.publish_time, ''
            stop.pressed = pressed

    def check(self, decision: GateDecision) -> None:
        """Tie the measurements of a decision to messages."""
        agent = decision.id.agent
        for measurement in decision.inputs.measurements:
            use = self._ties.use(agent, f'gate {measurement.name}')
            if use is None or not measurement.received_steady:
                continue
            # A gate goes by one message for many decisions.
            said = measurement.captured, measurement.topic, measurement.values
            if not self._ties.is_again(agent, use.label, said) or measurement.captured is None:
                self._tie(decision, measurement, use)

    def _tie(self, decision: GateDecision, measurement: Measurement, use: Input) -> None:
        place, captured = f'decision {decision.sequence}.{measurement.name}', measurement.captured
        expected = f'a message on {use.at}'
        self._ties.tie(
            Tie(
                of=decision.id,
                log_time=self._ties.now,
                kind='measurements',
                uses=[use],
                key=None if captured is None else (True, captured.nanoseconds),
                differences=partial(_differences, place, measurement),
                besides=partial(_topic, place, measurement.topic),
                none=Mismatch(
                    place,
                    f'{expected} of that stamp' if captured else expected,
                    f'{vector(measurement.values)} of no message',
                ),
            )
        )

    def check_stop(self, decision: GateDecision, log_time: int) -> None:
        """Ask for a decision that an emergency stop was pressed, in the episode that goes on."""
        stop = self._stops[decision.id.agent]
        stop.decided = decision.sequence != 1
        # What was decided before and came later could not know.
        earlier = not self._ties.contract.sim_time and decision.decided.ros.nanoseconds < stop.sent
        if decision.inputs.emergency_stop or decision.sequence == 1:
            stop.since = None
        if earlier or stop.since is None or decision.verdict is Verdict.REJECTED:
            return
        if not stop.episode and log_time >= stop.since:
            stop.episode = decision.id.episode_id
        self._ties.asked[STOP] += 1
        late = log_time - stop.since
        if late > self._most and stop.episode == decision.id.episode_id:
            stop.since = None
            place = f'decision {decision.sequence}.emergency_stop'
            expected = f'True, {late / NANOSECONDS:.3g} s after it was pressed'
            found = Mismatch(place, expected, 'False')
            self._ties.find('emergency-stop-heard', found, decision.id)


def _differences(
    place: str, measurement: Measurement, use: Input, message: LazyMessage
) -> tuple[Mismatch, ...]:
    again = message.readings[use].values
    if same(again, measurement.values):
        return ()
    why = f'{vector(again)}, of that message on {use.at}'
    return (Mismatch(f'{place}.values', why, vector(measurement.values)),)


def _topic(place: str, topic: str, use: Input, _: LazyMessage) -> tuple[tuple[str, Mismatch], ...]:
    if same_topic(use.at, topic):
        return ()
    return (('values-from-sensors', Mismatch(f'{place}.topic', repr(use.at), repr(topic))),)
