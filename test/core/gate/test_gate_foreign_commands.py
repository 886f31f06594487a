# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A command of another is answered by a stop of the gate."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_gate_in_force import ARM, PLACE, waiting

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.contract.safety import OnForeignPublisher
from boundary_env_ros.core.gate.gate_events import PublishersSeen
from boundary_env_ros.core.records.decision import GateState, Reason, Verdict
from boundary_env_ros.core.records.episode import EpisodeState
from support.core_world import shipped
from support.gate_bench import Bench, reasons
from support.gate_numbers import cruise, PERIOD, STOP, TICK

_FOREIGN = Reason.FOREIGN_PUBLISHER


def always(contract: Contract) -> Contract:
    safety = replace(contract.safety, foreign_publisher=OnForeignPublisher.STOP_ALWAYS)
    return replace(contract, safety=safety)


def idle(contract: Contract, motion: tuple[float, float] = (0.0, 0.0)) -> Bench:
    """Return a bench whose episode is over; the robot rests, and its driver is left alone."""
    bench = Bench(waiting(contract))
    bench.motion = motion
    bench.start()
    bench.ask(*motion)
    bench.finish()
    bench.wait(0.5)
    return bench


def test_in_an_episode_the_first_stops_the_robot_and_none_slows_its_braking(
    bench: Bench,
) -> None:
    cruise(bench)
    decided, repeated = [], 0
    for i in range(1, 31):
        bench.time.wait(0.002)
        for answer in bench.foreign_command():
            assert (answer.verdict, reasons(answer)) == (Verdict.STOPPED, {_FOREIGN})
            assert answer.command[0] == pytest.approx(0.4 - i * 0.002 * STOP[0])
            decided.append(answer)
        repeated += bench.gate.state.answers_foreign
    assert repeated == 30
    # As often as by the timer, however often others publish.
    assert len(decided) == 4
    bench.run_again()


def test_a_stop_at_rest_stands_and_is_decided_anew_once_a_period(bench: Bench) -> None:
    bench.ask(0.0, 0.0)
    [first] = bench.foreign_command()
    assert first.command == (0.0, 0.0)
    assert bench.gate.state.answers_foreign
    decisions = []
    for _ in range(400):
        bench.time.wait(0.001)
        bench.pulse()
        decisions += bench.foreign_command()
        assert bench.gate.state.answers_foreign
    assert len(decisions) == round(0.4 / PERIOD)


def test_between_episodes_people_drive_by_hand() -> None:
    bench = idle(shipped())
    assert bench.foreign_command() == ()
    assert not bench.gate.state.answers_foreign
    assert bench.wait(0.5) == ()


def test_what_still_moves_after_its_episode_is_braked_at_once(bench: Bench) -> None:
    cruise(bench)
    bench.say(EpisodeState.TRUNCATED)
    bench.time.wait(0.01)
    [answer] = bench.foreign_command()
    assert reasons(answer) == {Reason.EPISODE_OVER, _FOREIGN}
    assert answer.command[0] == pytest.approx(0.4 - 0.01 * STOP[0])


@pytest.mark.parametrize('state', ['idle', 'armed'])
def test_where_the_contract_says_so_it_is_answered_between_episodes_until_the_other_is_gone(
    state: str,
) -> None:
    bench = idle(always(shipped()))
    if state == 'armed':
        bench.say(EpisodeState.RESETTING, 'second')
        bench.arm()
    bench.witness.drop()  # it begins where the robot is
    [answer] = bench.foreign_command()
    assert (answer.verdict, answer.command) == (Verdict.STOPPED, (0.0, 0.0))
    assert _FOREIGN in reasons(answer)
    assert answer.id.episode_id == ''
    assert bench.gate.state.answers_foreign
    goes_on = bench.wait(0.5)
    assert {(d.verdict, d.command) for d in goes_on} == {(Verdict.STOPPED, (0.0, 0.0))}
    bench.gate.apply(PublishersSeen(now=bench.time.now))
    assert bench.wait(0.5) == ()
    name = GateState.DISARMED if state == 'idle' else GateState.ARMED
    assert bench.gate.state.name is name
    bench.run_again()


def test_a_place_is_held_where_the_robot_is_and_does_not_follow_who_drags_it() -> None:
    bench = idle(always(ARM), PLACE)
    elsewhere = (PLACE[0] + 0.3, PLACE[1])
    bench.motion = elsewhere  # by hand
    bench.wait(0.1)
    bench.witness.drop()
    [answer] = bench.foreign_command()
    assert (answer.command, answer.inputs.seeded) == (elsewhere, True)
    bench.motion = PLACE  # as the other wants it
    for decision in bench.wait(0.5):
        assert decision.command == elsewhere
    bench.run_again()


def test_nothing_is_said_of_a_place_that_nobody_knows() -> None:
    bench = idle(always(ARM), PLACE)
    bench.alive.discard('odometry')
    bench.wait(1.0)
    bench.witness.drop()
    [answer] = bench.foreign_command()
    assert (answer.verdict, answer.command) == (Verdict.STOPPED, ())
    assert bench.wait(5 * TICK) == ()
    assert not bench.gate.state.answers_foreign


def test_a_contract_may_have_it_reported_only() -> None:
    bench = cruise(Bench(shipped({('safety', 'foreign_publisher'): 'report'})).start())
    assert bench.foreign_command() == ()
    assert bench.command == (0.4, 0.0)
