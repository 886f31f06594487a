# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The gate against everything that Hypothesis can think of, in any order and at any time.

The witness of the bench checks every decision; this machine only makes things happen, and checks
that silence stops.
"""

from __future__ import annotations

import math
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule, RuleBasedStateMachine

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.gate.gate_events import PublishersSeen, Request, TimerStarted
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.records.decision import ActionRequest, GateDecision, GateState, Verdict
from boundary_env_ros.core.records.episode import EpisodeState
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.errors import RequestRejected
from support.core_world import rich, shipped
from support.gate_bench import Bench

SHIPPED = shipped()
#: The same cart, but an action beyond its bounds is refused whole, and some limits are zero.
STRICT = shipped(
    {('action', 'base', 'out_of_bounds'): 'reject', ('action', 'base', 'low'): [0.0, -1.5]}
)

#: The same cart, with requests for up to four steps.
CHUNKS = shipped({('chunk',): {'horizon': 4}})
#: An arm and fingers that stay where they are, a base that is told one of some commands, lamps at
#: one of some levels, and a field that holds them all.
MIXED = rich()

SPECIAL = [float('nan'), float('inf'), float('-inf'), 5e-324, -5e-324, 1e308, -0.0, 0.0, 0.8, 1.5]
reasonable = st.floats(min_value=-2.0, max_value=2.0, allow_subnormal=False)
number = st.one_of(reasonable, st.floats(), st.sampled_from(SPECIAL))
pair = st.tuples(reasonable, reasonable)
action = st.one_of(pair, pair, st.tuples(number, number), st.lists(number, max_size=4).map(tuple))
fraction = st.sampled_from([0.0, 0.2, 0.49, 0.5, 0.9, 1.0])
distance = st.one_of(
    st.floats(min_value=0.0, max_value=3.0), st.sampled_from([0.0, float('inf'), 8.0])
)
scan = st.one_of(
    st.just((8.0, 8.0, 1.0, 1.0)),
    st.tuples(distance, distance, fraction, fraction),
    st.tuples(number, number, number, number),
    st.just(()),
)
motion = st.one_of(pair, st.tuples(number, number))
lag = st.sampled_from([0.0, 0.01, 0.05, 0.24, 0.26, 5.0, -0.01, -0.3, -5.0])
pause = st.one_of(
    st.sampled_from([0.0, 0.001, 0.02, 0.1, 0.16, 0.31, 0.41, 2.0]),
    st.floats(min_value=0.0, max_value=0.5),
)
wrong = st.fixed_dictionaries(
    {},
    optional={
        'lease': st.sampled_from(['', 'lease-0', 'lease-1', 'lease-2']),
        'episode': st.sampled_from(['', 'episode-1', 'episode-2', 'unheard of']),
        'digest': st.sampled_from(['', 'sha256:' + '0' * 64]),
        'agent': st.sampled_from(['', 'other']),
        'sequence': st.integers(min_value=0, max_value=50),
        'age': st.one_of(st.none(), st.sampled_from([0.0, 0.4, 0.41, 9.0, -0.1, -9.0])),
        'step': st.integers(min_value=0, max_value=9),
    },
)


#: What the policy may ask for, sensibly or not, and what the robot may say of its motion.
asked_for = st.runner().flatmap(lambda machine: machine.any_action)
sensible = st.runner().flatmap(lambda machine: machine.sensible_action)
moving = st.runner().flatmap(lambda machine: machine.any_motion)


class GateMachine(RuleBasedStateMachine):
    """Everything that can happen to a gate."""

    contract: Contract = SHIPPED
    any_action = action
    sensible_action = pair
    any_motion = motion

    @initialize(running=st.sampled_from([True, True, True, False]))
    def bench_is_set_up(self, running: bool) -> None:
        self.bench = Bench(self.contract)
        self.episodes = 0
        self.status_received: int | None = None
        self.heard_scan: int | None = None
        self.heard_held: int | None = None
        self.heard_request: int | None = None
        self.last: ActionRequest | None = None
        self.pressed = False
        if running:
            # Or else most of what happens here would happen to a gate that is not armed.
            self.a_new_episode_is_brought_to_run()

    def teardown(self) -> None:
        self.bench.run_again()

    # The policy, and whoever else sends requests -------------------------------------------------

    @rule(asked=asked_for)
    def holder_asks(self, asked: tuple[float, ...]) -> None:
        self._sent(self.bench.send(asked))

    @rule(asked=asked_for, changes=wrong)
    def somebody_asks(self, asked: tuple[float, ...], changes: dict[str, Any]) -> None:
        self._sent(self.bench.send(asked, **changes))

    @precondition(lambda self: self.last is not None)
    @rule()
    def the_last_request_comes_again(self) -> None:
        assert self.last is not None
        decisions = self.bench.gate.apply(Request(request=self.last, now=self.bench.time.now))
        [decision] = self.bench._see(decisions)
        assert decision.verdict is Verdict.REJECTED

    @rule(asked=st.lists(sensible, min_size=2, max_size=12), again=st.booleans())
    def order_is_restored_and_the_policy_drives(
        self, asked: list[tuple[float, ...]], again: bool
    ) -> None:
        """Or else most of what happens here would happen to a gate that is not armed."""
        if again or not self.bench.witness.running:
            self._restore_order()
        for one in asked:
            self.bench.time.wait(self.contract.period)
            self._pulse()
            self._sent(self.bench.send(one))

    def _restore_order(self) -> None:
        if self.bench.state is EpisodeState.RUNNING:
            self._say(EpisodeState.TRUNCATED)
        self.the_emergency_stop_is_released()
        self.somebody_clears_the_emergency_stop()
        self.the_timer_ticks_for_a_while(40)
        self.a_new_episode_is_brought_to_run()

    @rule(asked=sensible, count=st.integers(min_value=2, max_value=12))
    def the_policy_drives(self, asked: tuple[float, ...], count: int) -> None:
        for _ in range(count):
            self.bench.time.wait(self.contract.period)
            self._pulse()
            self._sent(self.bench.send(asked))

    def _sent(self, decisions: tuple[GateDecision, ...]) -> None:
        [decision] = decisions
        if decision.verdict is not Verdict.REJECTED:
            self.heard_request = self.bench.time.steady
            self.last = decision.request

    # Sensors -------------------------------------------------------------------------------------

    @rule(values=scan, ago=lag)
    def the_scan_speaks(self, values: tuple[float, ...], ago: float) -> None:
        self.bench.scan, self.bench.lag = values, ago
        self.bench.measure('scan')
        self.heard_scan = self.bench.time.steady

    @rule(values=moving, ago=lag)
    def odometry_speaks(self, values: tuple[float, ...], ago: float) -> None:
        self.bench.motion, self.bench.lag = values, ago
        self.bench.measure('odometry')

    @precondition(lambda self: self.bench.held_by)
    @rule(ago=lag)
    def what_holds_the_robot_speaks(self, ago: float) -> None:
        self.bench.lag = ago
        for name in self.bench.held_by:
            self.bench.measure(name)
        self.heard_held = self.bench.time.steady

    @rule()
    def all_is_well(self) -> None:
        self._pulse()

    def _pulse(self) -> None:
        self.bench.scan = (8.0, 8.0, 1.0, 1.0)
        self.bench.motion = (0.0,) * self.contract.command_size
        self.bench.lag = 0.01
        self.bench.pulse()
        self.heard_scan = self.heard_held = self.bench.time.steady
        if self.bench.state is not EpisodeState.IDLE:
            self.status_received = self.bench.time.steady

    # The environment -----------------------------------------------------------------------------

    def _say(self, state: EpisodeState, episode: str | None = None) -> None:
        self.bench.say(state, episode)
        self.status_received = self.bench.time.steady
        if self.bench.witness.running:
            self.heard_request = self.bench.time.steady

    @rule()
    def an_episode_begins(self) -> None:
        self.episodes += 1
        self._say(EpisodeState.RESETTING, f'episode-{self.episodes}')

    @precondition(lambda self: self.bench.state is EpisodeState.RESETTING)
    @rule()
    def the_episode_runs(self) -> None:
        self._say(EpisodeState.RUNNING)

    @precondition(lambda self: self.bench.state is EpisodeState.RUNNING)
    @rule(state=st.sampled_from([EpisodeState.TERMINATED, EpisodeState.TRUNCATED]))
    def the_episode_ends(self, state: EpisodeState) -> None:
        self._say(state)

    @rule()
    def the_environment_restarts(self) -> None:
        self._say(EpisodeState.IDLE)

    @rule(client=st.sampled_from(['policy', 'policy', 'intruder']))
    def a_client_arms(self, client: str) -> None:
        # The bench lets every sensor speak, or nothing could be armed.
        self.heard_scan = self.heard_held = self.bench.time.steady
        try:
            self.bench.arm(client)
        except RequestRejected:
            self.bench.leases -= 1
        else:
            self.heard_request = self.bench.time.steady

    @rule()
    def a_new_episode_is_brought_to_run(self) -> None:
        self.an_episode_begins()
        self._pulse()
        self.a_client_arms('policy')
        self._say(EpisodeState.RUNNING)

    # The emergency stop --------------------------------------------------------------------------

    @rule()
    def the_emergency_stop_is_pressed(self) -> None:
        self.bench.press()
        self.pressed = True

    @rule()
    def the_emergency_stop_is_released(self) -> None:
        self.bench.release()
        self.pressed = False

    @rule()
    def somebody_clears_the_emergency_stop(self) -> None:
        try:
            self.bench.clear()
        except RequestRejected:
            assert self.pressed or self.bench.state is EpisodeState.RUNNING
        else:
            assert not self.pressed

    # Whoever sets parameters ---------------------------------------------------------------------

    @rule(part=st.sampled_from([1.0, 0.7, 0.3]))
    def somebody_sets_stricter_bounds(self, part: float) -> None:
        low, high = (
            tuple(part * bound for bound in self.contract.flat(name)) for name in ('low', 'high')
        )
        try:
            self.bench.tighten(low, high)
        except RequestRejected:
            assert self.bench.lease_of, 'only while a lease is out a bound must not be looser'

    # The node ------------------------------------------------------------------------------------

    @rule()
    def the_gate_is_deactivated_and_activated(self) -> None:
        decisions = self.bench.deactivate()
        assert {d.verdict for d in decisions} <= {Verdict.STOPPED}
        left = [d.command for d in decisions if d.command]
        assert not left or self.bench.witness.rests(left[-1])
        self.bench.gate.apply(TimerStarted(now=self.bench.time.now))

    # Time ----------------------------------------------------------------------------------------

    @rule(seconds=pause)
    def time_passes(self, seconds: float) -> None:
        self.bench.time.wait(seconds)

    @rule(seconds=st.sampled_from([0.5, -0.5, 1e6, -1e6]))
    def the_ros_clock_jumps(self, seconds: float) -> None:
        self.bench.time.jump_ros(seconds)

    @rule()
    def the_ros_clock_is_paused_or_goes_on(self) -> None:
        self.bench.time.ros_paused = not self.bench.time.ros_paused

    @rule()
    def the_timer_ticks(self) -> None:
        self._tick()

    @rule(count=st.integers(min_value=1, max_value=40))
    def the_timer_ticks_for_a_while(self, count: int) -> None:
        for _ in range(count):
            self.bench.time.wait(self.contract.safety.gate_period)
            self._tick()

    def _tick(self) -> None:
        decisions = self.bench.tick()
        if not self.bench.witness.running or self.bench.witness.braking:
            return
        safety = self.contract.safety

        def silent(since: int | None, limit: float) -> bool:
            return since is None or self.bench.time.steady - since > limit * NANOSECONDS

        must_stop = (
            self.bench.witness.latched
            or silent(self.status_received, safety.environment_timeout)
            or silent(self.heard_scan, safety.sensor_timeout)
            or silent(self._heard_policy(), safety.command_timeout)
            or (bool(self.bench.held_by) and silent(self.heard_held, self._oldest()))
        )
        if must_stop:
            witness = self.bench.witness
            at_rest = witness.last is not None and witness.rests(witness.last)
            # Then there is nothing to publish, and it was told before.
            stays = any(map(math.isnan, witness.safe))
            nowhere = stays and not decisions and witness.before(self.bench.time.now) is None
            assert at_rest or nowhere or [d.verdict for d in decisions] == [Verdict.STOPPED]

    def _heard_policy(self) -> int | None:
        """Return when the policy last had a say; a chunk speaks for it, action by action."""
        heard = (self.heard_request, self.bench.witness.acted)
        return max((one for one in heard if one is not None), default=None)

    def _oldest(self) -> float:
        """Return the greatest age of a field that holds the robot."""
        return min(n.most for i, n in Limits(self.contract).needs.items() if i.startswith('alive'))

    @invariant()
    def the_status_tells_the_truth(self) -> None:
        found = self.bench.gate.state.status(self.bench.time.now)
        assert (found.state is GateState.EMERGENCY_STOPPED) is self.bench.witness.latched
        assert found.sequence == self.bench.witness.sequence
        if found.state is GateState.RUNNING:
            assert self.bench.witness.running


class MixedGateMachine(GateMachine):
    """The same, with every kind of action, and with what holds the robot."""

    contract = MIXED
    sensible_action = st.tuples(
        *[st.floats(-3.0, 3.0)] * 2,
        *[st.floats(-0.03, 0.03)] * 2,
        *[st.integers(0, count - 1).map(float) for count in (3, 2, 3)],
    )
    any_action = st.one_of(
        sensible_action,
        sensible_action,
        st.tuples(*[number] * 7),
        st.lists(number, max_size=9).map(tuple),
    )
    any_motion = st.one_of(st.tuples(*[reasonable] * 8), st.tuples(*[number] * 8))


class ChunkGateMachine(GateMachine):
    """The same, with requests that cover several steps."""

    contract = CHUNKS

    @rule(
        asked=st.lists(st.one_of(pair, pair, pair, st.tuples(number, number)), max_size=5),
        more=st.sampled_from([0, 0, 0, 0, 1, -1]),
    )
    def the_policy_asks_for_several_steps(
        self, asked: list[tuple[float, float]], more: int
    ) -> None:
        actions = tuple(value for one in asked for value in one)
        self._sent(self.bench.send(actions, horizon=len(asked) + more))

    @rule(asked=st.lists(pair, min_size=2, max_size=4), count=st.integers(1, 30))
    def a_chunk_is_driven(self, asked: list[tuple[float, float]], count: int) -> None:
        if not self.bench.witness.running:
            self._restore_order()
        self.the_policy_asks_for_several_steps(asked, 0)
        for _ in range(count):
            self.bench.time.wait(self.contract.safety.gate_period)
            self._pulse()
            self._tick()


class OperatorGateMachine(GateMachine):
    """The same, with a person who takes over and gives back, and with others who command."""

    contract = shipped({
        ('safety', 'operator'): {
            'topic': 'joy', 'type': 'sensor_msgs/msg/Joy', 'fields': ['axes[1]', 'axes[3]'],
            'enable': 'buttons[4]', 'scale': [0.8, 1.5], 'timeout': 0.2,
        },
        ('safety', 'republish_period'): 0.04,
    })  # fmt: skip

    @rule(
        command=st.one_of(pair, pair, st.tuples(number, number)),
        switch=st.sampled_from([1.0, 1.0, 0.0, float('nan')]),
    )
    def the_operator_speaks(self, command: tuple[float, float], switch: float) -> None:
        for decision in self.bench.operate(*command, switch=switch):
            if decision.verdict is not Verdict.REJECTED:
                self.heard_request = self.bench.time.steady

    @rule(count=st.sampled_from([0, 0, 1]), heard=st.booleans())
    def others_command(self, count: int, heard: bool) -> None:
        if heard:
            self.bench.foreign_command()
        self.bench.gate.apply(PublishersSeen(foreign_commands=count, now=self.bench.time.now))


class StrictGateMachine(GateMachine):
    """The same, with a contract that refuses instead of clipping."""

    contract = STRICT


# What is drawn here is an order of events, of which there are more than values.
_SETTINGS = settings(max_examples=2 * settings().max_examples)
TestGateMachine = GateMachine.TestCase
TestGateMachine.settings = _SETTINGS
TestChunkGateMachine = ChunkGateMachine.TestCase
TestChunkGateMachine.settings = _SETTINGS
TestMixedGateMachine = MixedGateMachine.TestCase
TestMixedGateMachine.settings = _SETTINGS
TestOperatorGateMachine = OperatorGateMachine.TestCase
TestOperatorGateMachine.settings = _SETTINGS
TestStrictGateMachine = StrictGateMachine.TestCase
TestStrictGateMachine.settings = _SETTINGS
