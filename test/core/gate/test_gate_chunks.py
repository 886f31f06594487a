# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A request may cover several steps; each of its actions has its turn and passes all the rules."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.records.decision import GateDecision, Reason, Trigger, Verdict
from boundary_env_ros.core.records.episode import EpisodeState
from support.core_world import shipped
from support.gate_bench import Bench, reasons
from support.gate_numbers import AHEAD_NEAR, PERIOD, RATE, SAFETY, TICK

HORIZON = 4
TICKS = round(PERIOD / TICK)


@pytest.fixture
def chunky() -> Bench:
    """Return a running bench whose contract allows chunks."""
    return Bench(shipped({('chunk',): {'horizon': HORIZON}})).start()


def flat(*speeds: float) -> tuple[float, ...]:
    return tuple(value for speed in speeds for value in (speed, 0.0))


def send(bench: Bench, *speeds: float) -> GateDecision:
    return bench.ask(*flat(*speeds), horizon=len(speeds))


def published(decisions: tuple[GateDecision, ...]) -> list[float]:
    return [decision.command[0] for decision in decisions if decision.command]


def test_the_actions_of_a_chunk_go_out_a_period_apart(chunky: Bench) -> None:
    first = send(chunky, 0.05, 0.1, 0.15, 0.2)
    assert first.trigger is Trigger.REQUEST
    later = []
    for tick in range(1, HORIZON * TICKS + 1):
        for decision in chunky.wait(TICK):
            later.append((tick, decision))
    assert [d.trigger for _, d in later[:3]] == [Trigger.CHUNK] * 3
    assert [tick for tick, _ in later[:3]] == [TICKS, 2 * TICKS, 3 * TICKS]
    assert [d.requested_action for _, d in later[:3]] == [(0.1, 0.0), (0.15, 0.0), (0.2, 0.0)]
    assert [d.id.step for d in (first, *(d for _, d in later[:3]))] == [1, 2, 3, 4]
    assert all(d.request == first.request for _, d in later[:3])


def test_every_action_of_a_chunk_passes_the_rules(chunky: Bench) -> None:
    send(chunky, 0.1, 0.8, -0.3, 9.0)
    seen = chunky.wait(3 * PERIOD + TICK / 2)
    chunk = [d for d in seen if d.trigger is Trigger.CHUNK]
    assert [d.verdict for d in chunk] == [Verdict.LIMITED] * 3
    assert reasons(chunk[0]) == {Reason.RATE_LIMIT}
    assert reasons(chunk[2]) == {Reason.OUT_OF_BOUNDS, Reason.RATE_LIMIT}
    speeds = [0.1, *published(tuple(chunk))]
    for before, after in pairwise(speeds):
        assert abs(after - before) <= RATE[0] * PERIOD + 1e-9


def test_a_chunk_that_goes_on_behind_the_last_step_that_can_be_numbered_is_refused(
    chunky: Bench,
) -> None:
    refused = chunky.ask(*flat(0.1, 0.1), horizon=2, step=2**64 - 1)
    assert refused.verdict is Verdict.REJECTED
    assert reasons(refused) == {Reason.WRONG_SHAPE}


def test_silence_is_counted_from_the_last_action_of_a_chunk(chunky: Bench) -> None:
    send(chunky, 0.1, 0.1, 0.1, 0.1)
    seen = chunky.wait(3 * PERIOD + SAFETY.command_timeout - TICK)
    assert all(d.verdict is not Verdict.STOPPED for d in seen)
    seen = chunky.wait(3 * TICK)
    assert [d.verdict for d in seen][:1] == [Verdict.STOPPED]
    assert reasons(seen[0]) == {Reason.COMMAND_TIMEOUT}


def test_a_newer_request_drops_what_is_left_of_an_older_one(chunky: Bench) -> None:
    send(chunky, 0.1, 0.1, 0.1, 0.1)
    chunky.wait(PERIOD + 3 * TICK)
    send(chunky, 0.05)
    later = chunky.wait(2 * PERIOD)
    assert all(d.trigger is not Trigger.CHUNK for d in later)
    assert chunky.command == (0.05, 0.0)


def test_a_request_that_is_not_heard_drops_nothing(chunky: Bench) -> None:
    send(chunky, 0.1, 0.1, 0.1)
    assert chunky.ask(0.5, 0.0, lease='foreign').verdict is Verdict.REJECTED
    later = chunky.wait(2 * PERIOD)
    assert [d.trigger for d in later].count(Trigger.CHUNK) == 2


def test_a_stop_drops_what_is_left(chunky: Bench) -> None:
    send(chunky, 0.1, 0.1, 0.1, 0.1)
    chunky.scan = AHEAD_NEAR
    stopped = chunky.wait(PERIOD)
    assert stopped[0].verdict is Verdict.STOPPED
    chunky.scan = (8.0, 8.0, 1.0, 1.0)
    later = chunky.wait(3 * PERIOD)
    assert all(d.trigger is Trigger.TIMER for d in later)
    assert chunky.command == (0.0, 0.0)


@pytest.mark.parametrize('state', [EpisodeState.TERMINATED, EpisodeState.TRUNCATED])
def test_the_end_of_the_episode_drops_what_is_left(chunky: Bench, state: EpisodeState) -> None:
    send(chunky, 0.1, 0.1, 0.1, 0.1)
    seen = chunky.finish(state)
    assert all(d.trigger is Trigger.TIMER and d.verdict is Verdict.STOPPED for d in seen)
    chunky.say(EpisodeState.RESETTING, 'another')
    chunky.arm()
    chunky.say(EpisodeState.RUNNING)
    assert all(d.trigger is not Trigger.CHUNK for d in chunky.wait(HORIZON * PERIOD))


def test_nothing_of_a_chunk_outlives_its_episode(chunky: Bench) -> None:
    """A robot at rest is not stopped at the end of its episode: there is nothing to brake."""
    send(chunky, 0.0, 0.1, 0.1, 0.1)
    assert chunky.finish() == ()
    chunky.say(EpisodeState.RESETTING, 'another')
    chunky.arm()
    chunky.say(EpisodeState.RUNNING)
    assert all(d.trigger is not Trigger.CHUNK for d in chunky.wait(HORIZON * PERIOD))


def test_the_emergency_stop_drops_what_is_left(chunky: Bench) -> None:
    send(chunky, 0.1, 0.1, 0.1, 0.1)
    assert chunky.press()[0].verdict is Verdict.STOPPED
    assert all(d.trigger is Trigger.TIMER for d in chunky.wait(HORIZON * PERIOD))


def test_a_chunk_longer_than_the_horizon_is_rejected_whole(chunky: Bench) -> None:
    decision = chunky.ask(*flat(*[0.1] * 5), horizon=5)
    assert decision.verdict is Verdict.REJECTED
    assert reasons(decision) == {Reason.WRONG_SHAPE}
    [result] = decision.rules
    assert (result.value, result.limit, result.unit) == (5.0, 4.0, 'steps')


@pytest.mark.parametrize(('values', 'horizon'), [(4, 1), (2, 2), (8, 3), (8, 0), (0, 4)])
def test_a_chunk_that_is_not_as_long_as_it_says_is_rejected(
    chunky: Bench, values: int, horizon: int
) -> None:
    decision = chunky.ask(*[0.1] * values, horizon=horizon)
    assert decision.verdict is Verdict.REJECTED
    assert reasons(decision) == {Reason.WRONG_SHAPE}


def test_one_number_that_is_not_finite_rejects_the_whole_chunk(chunky: Bench) -> None:
    decision = chunky.ask(0.1, 0.0, 0.1, float('nan'), horizon=2)
    assert reasons(decision) == {Reason.NOT_FINITE}
    assert [r.dimension for r in decision.rules] == [1]
    assert all(d.trigger is not Trigger.CHUNK for d in chunky.wait(2 * PERIOD))


def test_a_contract_without_chunks_takes_none() -> None:
    bench = Bench().start()
    decision = bench.ask(0.1, 0.0, 0.1, 0.0, horizon=2)
    assert reasons(decision) == {Reason.WRONG_SHAPE}


@given(
    st.lists(
        st.tuples(
            st.lists(st.floats(-2.0, 2.0), min_size=1, max_size=HORIZON),
            st.floats(0.0, 0.5),
        ),
        max_size=8,
    )
)
def test_whatever_chunks_come_when_nothing_leaves_the_contract(
    plan: list[tuple[list[float], float]],
) -> None:
    # The witness of the bench checks every decision on its own account.
    bench = Bench(shipped({('chunk',): {'horizon': HORIZON}})).start()
    for speeds, pause in plan:
        send(bench, *speeds)
        bench.wait(pause)
    bench.finish()
    assert bench.command is None or bench.command == (0.0, 0.0)
