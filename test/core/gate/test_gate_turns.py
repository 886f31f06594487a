# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The gate of one of several agents that act one after the other."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_gate_lockstep import CONTRACT, LockstepBench

from boundary_env_ros.core.gate.gate_events import EpisodeStatusReceived
from boundary_env_ros.core.gate.rules.agent_order import HELD
from boundary_env_ros.core.records.decision import (
    GateDecision,
    holds_for_another,
    Reason,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.records.episode import EpisodeState
from support.core_world import AGENT, only, shipped, status
from support.gate_bench import Bench, reasons
from support.gate_numbers import PERIOD

#: Another acts in the first of every two steps.
IN_TURN = replace(CONTRACT, agents=('other', AGENT), agent_order=('other', AGENT))


class TurnBench(LockstepBench):
    """A world in lockstep in which the gate's agent has the turn of every second step."""

    def __init__(self) -> None:
        super().__init__(IN_TURN)
        self.seen: list[GateDecision] = []

    def goes_on(self) -> list[GateDecision]:
        """Close a step: the world advances, its sensors speak, the environment says so."""
        self.step += 1
        seen = self.advance()
        self.time.wait(0.01)
        said = status(EpisodeState.RUNNING, self.time.now, episode=self.episode, step=self.step)
        return [
            *seen,
            *self._see(self.gate.apply(EpisodeStatusReceived(status=said, now=self.time.now))),
        ]


@pytest.fixture
def bench() -> TurnBench:
    made = TurnBench()
    made.begin()
    return made


def test_an_action_out_of_turn_is_refused_and_says_whose_step_is_its_next(
    bench: TurnBench,
) -> None:
    decision = only(bench.hear(bench.request(0.05, 0.0)))
    assert (decision.verdict, decision.command) == (Verdict.REJECTED, ())
    (result,) = decision.rules
    assert (result.rule, result.reason) == ('turn', Reason.OUT_OF_ORDER)
    assert (result.value, result.limit) == (1.0, 2.0)


def test_the_turn_is_that_of_the_step_which_the_request_names(bench: TurnBench) -> None:
    bench.goes_on()
    assert only(bench.hear(bench.request(0.05, 0.0))).verdict is Verdict.ADMITTED


def test_in_the_step_of_another_the_command_in_force_goes_on_once(bench: TurnBench) -> None:
    assert bench.goes_on() == []  # its own turn: it waits for a request
    bench.hear(bench.request(0.3, 0.0))
    first = bench.command
    held = only(tuple(bench.goes_on()))
    assert (held.trigger, held.verdict) == (Trigger.TIMER, Verdict.HELD)
    assert held.rules[0] == HELD
    # It is still on its way to what was asked for.
    assert first is not None
    assert held.requested_command == (0.3, 0.0)
    assert held.command[0] > first[0]
    assert bench.measure('scan') == ()
    bench.time.wait(1.0)
    assert all(not holds_for_another(decision) for decision in bench.tick())


def test_before_its_agent_has_asked_for_anything_it_holds_what_is_safe() -> None:
    bench = TurnBench()
    bench.say(EpisodeState.RESETTING)
    bench.arm()
    bench.advance()
    said = status(EpisodeState.RUNNING, bench.time.now, episode=bench.episode)
    held = only(bench.gate.apply(EpisodeStatusReceived(status=said, now=bench.time.now)))
    assert (held.verdict, held.command, held.inputs.seeded) == (Verdict.HELD, (0.0, 0.0), True)


def test_all_rules_hold_while_another_acts_and_a_stop_lasts_until_its_own_turn(
    bench: TurnBench,
) -> None:
    bench.goes_on()
    bench.hear(bench.request(0.3, 0.0))
    free, bench.scan = bench.scan, (0.1, 0.1, 1.0, 1.0)
    stopped = only(tuple(bench.goes_on()))
    assert stopped.verdict is Verdict.STOPPED
    assert Reason.OBSTACLE_STOP in reasons(stopped)
    assert holds_for_another(stopped)
    # The obstacle goes; its own turn passes without a word; the next is another's.
    bench.scan = free
    bench.goes_on()
    still = only(tuple(bench.goes_on()))
    assert still.verdict is Verdict.STOPPED
    assert Reason.STILL_STOPPED in reasons(still)


def test_in_realtime_the_turn_is_that_of_the_step_which_goes_on() -> None:
    """An action that names a step of its own, past or to come, is none for that of the other."""
    bench = Bench(replace(shipped(), agents=('other', AGENT), agent_order=('other', AGENT)))
    bench.start()

    def ask(named: int, *, closed: int, ago: float) -> GateDecision:
        said = status(EpisodeState.RUNNING, bench.time.now, episode=bench.episode, step=closed)
        bench.gate.apply(EpisodeStatusReceived(status=said, now=bench.time.now))
        bench.time.wait(ago)
        bench.sense()
        return only(bench.send((0.05, 0.0), step=named))

    assert ask(2, closed=1, ago=0.05).verdict is Verdict.ADMITTED
    # What the environment says of step 3 has not come to the gate yet, only to the policy.
    assert ask(4, closed=2, ago=PERIOD).verdict is Verdict.ADMITTED
    for named, closed, ago, due in (
        (4, 4, 0.0, 5.0),  # late
        (6, 6, PERIOD, 7.0),
        (10, 8, 0.05, 9.0),  # in the midst of the step of the other
        (100, 9, 0.05, 10.0),
        (100, 10, PERIOD, 11.0),
    ):
        refused = ask(named, closed=closed, ago=ago)
        assert (refused.verdict, refused.rules[0].rule) == (Verdict.REJECTED, 'turn')
        assert (refused.rules[0].value, refused.rules[0].limit) == (float(named), due)
    bench.run_again()
