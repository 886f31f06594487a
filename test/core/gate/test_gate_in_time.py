# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A gate that hangs while it decides: what it had decided is void when it wakes up."""

from __future__ import annotations

from typing import Any

import pytest

from boundary_env_ros.core.gate.gate_events import Measured
from boundary_env_ros.core.gate.rules.pending_motion import Recent
from boundary_env_ros.core.records.decision import Reason, Verdict
from boundary_env_ros.core.timebase import ClockReading
from support.core_world import shipped
from support.gate_bench import Bench, FREE, reasons
from support.gate_numbers import cruise, SAFETY, TICK
from support.places import CART, contract_with

LONG, SHORT = SAFETY.gate_lateness + 0.35, SAFETY.gate_lateness - 0.01


class HangingBench(Bench):
    """A bench whose gate hangs once, after it has decided and before anybody knows."""

    hang = 0.0

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        apply = self.gate.apply

        def late() -> ClockReading:
            hang, self.hang = self.hang, 0.0
            self.time.wait(hang)
            return self.time.now

        self.gate.apply = lambda event: apply(event, late)  # type: ignore[method-assign, misc]


class FencedBench(HangingBench):
    """One in a hall, where what is under way counts; nothing is near."""

    def sense(self) -> None:
        super().sense()
        now = self.time.now
        self._see(
            self.gate.apply(
                Measured(name='workspace.hall', values=(0.0, 0.0, 0.0), captured=now.ros, now=now)
            )
        )


def recovers(bench: Bench) -> None:
    """Check that fresh commands work again."""
    bench.motion = (0.0, 0.0)
    bench.wait(0.3, policy=(0.1, 0.0))
    assert bench.ask(0.1, 0.0).verdict is Verdict.ADMITTED


def test_a_request_that_was_admitted_before_the_gate_hung_moves_nothing() -> None:
    bench = cruise(HangingBench().start())
    bench.hang = LONG
    late = bench.ask(0.4, 0.0)
    assert (late.verdict, reasons(late)) == (Verdict.REJECTED, {Reason.ACTION_TOO_OLD})
    assert bench.command == (0.4, 0.0), 'something went out'
    [stop] = bench.tick()
    assert stop.verdict is Verdict.STOPPED
    assert Reason.GATE_LATE in reasons(stop)
    recovers(bench)


def test_a_request_that_is_still_young_enough_is_answered_by_a_stop() -> None:
    contract = shipped({('safety', 'max_action_age'): 5.0, ('safety', 'policy_timeout'): 9.0})
    bench = cruise(HangingBench(contract).start())
    bench.hang = LONG
    late = bench.ask(0.4, 0.0)
    assert late.verdict is Verdict.STOPPED
    assert Reason.GATE_LATE in reasons(late)
    # The driver has braked meanwhile: nobody knows what the robot does.
    assert (late.command, late.inputs.previous_command) == ((0.0, 0.0), ())
    recovers(bench)


def test_a_step_of_the_timer_that_was_not_said_in_time_is_taken_back() -> None:
    bench = cruise(HangingBench().start())
    bench.alive.discard('environment')
    stops = bench.wait(SAFETY.environment_timeout + 2 * TICK)
    assert stops[-1].verdict is Verdict.STOPPED
    bench.motion = (0.0, 0.0)
    bench.time.wait(TICK)
    bench.hang = LONG
    [late] = bench.tick()
    assert Reason.GATE_LATE in reasons(late)
    assert late.command == (0.0, 0.0)


def test_a_press_that_the_gate_hung_at_is_latched() -> None:
    bench = cruise(HangingBench().start())
    bench.hang = LONG
    [stop] = bench.press()
    assert {Reason.GATE_LATE, Reason.EMERGENCY_STOP} <= reasons(stop)
    [again] = bench.wait(bench.contract.period)
    assert Reason.EMERGENCY_STOP in reasons(again)


def test_a_hand_that_the_gate_hung_at_has_taken_over() -> None:
    operator = {
        'topic': 'joy', 'type': 'sensor_msgs/msg/Joy', 'fields': ['axes[1]', 'axes[3]'],
        'enable': 'buttons[4]', 'scale': [0.8, 1.5], 'timeout': 5.0,
    }  # fmt: skip
    bench = cruise(HangingBench(shipped({('safety', 'operator'): operator})).start())
    bench.hang = LONG
    [late] = bench.operate(0.3, 0.0)
    assert late.verdict is Verdict.STOPPED
    assert Reason.GATE_LATE in reasons(late)
    assert bench.gate.state.status(bench.time.now).teleoperated


def test_what_was_never_sent_is_not_under_way() -> None:
    recent = Recent(1.0).after((0.1,), 0)
    later = recent.after((0.8,), 1)
    assert [sent.command for sent in recent.at(2)] == [(0.1,)]
    assert [sent.command for sent in later.at(2)] == [(0.1,), (0.8,)]
    bench = FencedBench(contract_with(CART)).start()
    bench.wait(0.5, policy=(0.2, 0.0))
    bench.time.wait(TICK)
    bench.pulse()
    bench.hang = LONG
    late = bench.ask(0.3, 0.0)
    assert late.verdict is Verdict.REJECTED
    assert late.inputs.recent_commands[-1].command == bench.command == (0.2, 0.0)


def test_a_request_that_was_void_counts_once_against_the_latency_budget() -> None:
    contract = shipped({
        ('safety', 'overruns'): {'exceeded': 1, 'of': 4}, ('safety', 'max_action_age'): 5.0,
    })  # fmt: skip
    bench = HangingBench(contract).start()
    bench.hang = LONG
    assert bench.ask(0.4, 0.0, age=0.0).inputs.overruns == 1


@pytest.mark.parametrize(
    ('changes', 'hang'),
    [({}, 0.0), ({}, SHORT), ({('clock',): 'sim', ('pacing',): 'lockstep'}, LONG)],
    ids=['in time', 'late', 'in lockstep, where the world stands still'],
)
def test_who_does_not_hang_for_long_decides_once(
    changes: dict[tuple[str, ...], object], hang: float
) -> None:
    bench = Bench(shipped(changes))
    began = bench.time.now

    def late() -> ClockReading:
        bench.time.wait(hang)
        return bench.time.now

    heard = Measured(name='obstacle.scan', values=FREE, captured=None, now=began)
    assert bench.gate.apply(heard, late) == ()
    assert bench.gate.state.readings.latest['obstacle.scan'].received_steady == began.steady
