# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The gate under contracts that nobody wrote; the witness of the bench checks every decision."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from boundary_env_ros.core.records.decision import GateState, Verdict
from boundary_env_ros.core.records.episode import EpisodeState
from boundary_env_ros.errors import RequestRejected
from support.contract_strategies import actions, chunks, contracts
from support.gate_bench import Bench

_pause = st.sampled_from([0.0, 0.001, 0.02, 0.1, 0.16, 0.26, 0.41, 2.0])
_usual = st.sampled_from(['ask', 'run'])
_what = st.one_of(
    _usual,
    _usual,
    _usual,
    st.sampled_from(
        ['move', 'tick', 'wait', 'blind', 'see', 'press', 'clear', 'end', 'begin', 'lag']
    ),
)


def inside(bench: Bench, data: st.DataObject) -> tuple[float, ...]:
    """Draw a place of the robot within its bounds."""
    limits = zip(bench.contract.flat('low'), bench.contract.flat('high'), strict=True)
    found: tuple[float, ...] = data.draw(
        st.tuples(*(st.floats(low, high) for low, high in limits))
    )
    return found


def anywhere(bench: Bench, data: st.DataObject) -> tuple[float, ...]:
    """Draw what the robot says of itself: somewhere within bounds, or anything at all."""
    if data.draw(st.booleans()):
        return inside(bench, data)
    found: tuple[float, ...] = data.draw(st.tuples(*[st.floats()] * bench.contract.command_size))
    return found


@given(st.data())
def test_whatever_happens_no_decision_of_any_contract_breaks_it(data: st.DataObject) -> None:
    contract = data.draw(contracts(images=False, tf=False))
    bench = Bench(contract)
    bench.motion = inside(bench, data)
    bench.start()
    sensors = set(bench.sensors)
    episodes = 1
    for what in data.draw(st.lists(_what, min_size=4, max_size=25)):
        if what == 'ask':
            bench.time.wait(data.draw(_pause))
            bench.pulse()
            asked, horizon = data.draw(chunks(contract))
            bench.send(asked, horizon=horizon)
        elif what == 'move':
            bench.motion = anywhere(bench, data)
            bench.pulse()
        elif what == 'tick':
            bench.tick()
        elif what == 'wait':
            bench.time.wait(data.draw(_pause))
        elif what == 'run':
            bench.wait(0.2)
        elif what == 'blind':
            bench.alive -= {data.draw(st.sampled_from(sorted(sensors)))}
        elif what == 'see':
            bench.alive |= sensors
        elif what == 'lag':
            bench.lag = data.draw(st.sampled_from([0.01, 0.24, 0.26, 1.1, -0.3]))
        elif what == 'press':
            bench.press()
        elif what == 'clear':
            bench.release()
            try:
                bench.clear()
            except RequestRejected:
                continue
        elif what == 'end':
            bench.say(EpisodeState.TRUNCATED)
        else:
            episodes += 1
            bench.say(EpisodeState.RESETTING, f'episode-{episodes}')
            try:
                bench.arm()
            except RequestRejected:
                bench.leases -= 1
            bench.say(EpisodeState.RUNNING)


@given(st.data())
def test_at_the_end_every_robot_rests_and_nothing_more_is_said(data: st.DataObject) -> None:
    """However far it has to brake: what is left after that is silence."""
    contract = data.draw(contracts(images=False, tf=False))
    bench = Bench(contract)
    bench.motion = inside(bench, data)
    bench.start()
    for _ in range(3):
        bench.wait(0.1)
        bench.send(data.draw(actions(contract)))
    bench.say(EpisodeState.TRUNCATED)
    seen = bench.wait(1.0)
    assert all(decision.verdict is Verdict.STOPPED for decision in seen)
    last = bench.witness.last
    if last is None or bench.witness.rests(last) or (seen and not seen[-1].command):
        assert bench.gate.state.status(bench.time.now).state is GateState.DISARMED
        assert bench.wait(0.5) == ()
    else:
        # Still braking, and nearer with every decision.
        assert seen[-1].command == last
