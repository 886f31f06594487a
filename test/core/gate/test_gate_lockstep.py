# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The gate in lockstep: the world waits for its decision, and it waits for the world's sensors."""

from __future__ import annotations

from itertools import pairwise
import math
from typing import Any

import pytest

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.gate.gate_events import EpisodeStatusReceived, Request, WorldMoved
from boundary_env_ros.core.records.decision import (
    ActionRequest,
    GateDecision,
    Reason,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.records.episode import EpisodeState
from boundary_env_ros.core.records.lockstep import Advanced, SimStepResponse
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.timebase import Clock, RosTime
from support.core_world import only, request_for, shipped, status, step_id
from support.gate_bench import Bench, reasons

CONTRACT = shipped(pacing=Pacing.LOCKSTEP)
PERIOD, RATE = CONTRACT.period, CONTRACT.flat('rate')
TOPICS = ('/scan', '/odom', '/camera')


class LockstepBench(Bench):
    """A bench whose world stands still until it is told to advance."""

    def __init__(self, contract: Contract = CONTRACT) -> None:
        super().__init__(contract)
        self.time.clock = Clock.ROS
        self.time.ros_paused = True
        self.lag = 0.0
        self.step = 0

    def advance(self, *, speak: tuple[str, ...] = ('scan', 'odometry')) -> list[GateDecision]:
        """Let the world advance by a period, say so, and then let sensors speak."""
        self.time.jump_ros(PERIOD)
        seen = list(self.report())
        for name in speak:
            seen += self.measure(name)
        return seen

    def report(self) -> tuple[GateDecision, ...]:
        """Let the world say how far it has come."""
        last = RosTime(self.time.ros)
        answer = SimStepResponse(
            id=step_id(self.step, self.episode), success=True, message='', topics=TOPICS,
            published=(1, 1, 1), last_stamp=(last,) * 3, dropped=(0, 0, 0),
        )  # fmt: skip
        return self._see(
            self.gate.apply(
                WorldMoved(report=Advanced(report=answer, now=self.time.ros), now=self.time.now)
            )
        )

    def begin(self) -> LockstepBench:
        """Bring the episode to run, as far as the first observation."""
        self.say(EpisodeState.RESETTING)
        self.arm()
        self.advance()
        self.say(EpisodeState.RUNNING)
        return self

    def request(self, *action: float, **changes: Any) -> ActionRequest:
        """Return the next request of the holder, for the step that is due."""
        self.sequence += 1
        asked = {
            'sequence': self.sequence, 'lease': self.lease, 'episode': self.episode,
            'step': self.step + 1, **changes,
        }  # fmt: skip
        return request_for(action, observed=self.time.now, now=self.time.now, **asked)

    def hear(self, request: ActionRequest) -> tuple[GateDecision, ...]:
        """Let the gate have a request."""
        return self._see(self.gate.apply(Request(request=request, now=self.time.now)))


@pytest.fixture
def bench() -> LockstepBench:
    return LockstepBench().begin()


def test_a_request_is_decided_at_once_when_its_sensors_are_here(bench: LockstepBench) -> None:
    assert only(bench.hear(bench.request(0.05, 0.0))).verdict is Verdict.ADMITTED


def test_a_request_waits_for_the_sensors_of_its_observation(bench: LockstepBench) -> None:
    bench.hear(bench.request(0.05, 0.0))
    bench.step = 1
    bench.advance(speak=('scan',))
    assert bench.hear(bench.request(0.1, 0.0)) == ()
    decision = only(bench.measure('odometry'))
    assert decision.verdict is Verdict.ADMITTED
    assert bench.measure('scan') == ()


def test_a_request_waits_for_the_world_itself(bench: LockstepBench) -> None:
    bench.hear(bench.request(0.05, 0.0))
    assert bench.hear(bench.request(0.1, 0.0, step=2)) == ()
    bench.step = 1
    assert len(bench.advance()) == 1


def test_a_topic_that_no_rule_needs_is_not_waited_for(bench: LockstepBench) -> None:
    """The world says that it published a camera image, which never comes to the gate."""
    bench.hear(bench.request(0.05, 0.0))
    bench.step = 1
    bench.advance()
    assert len(bench.hear(bench.request(0.1, 0.0))) == 1


def test_the_rate_is_that_of_one_period_however_long_the_policy_thought(
    bench: LockstepBench,
) -> None:
    for wait in (0.0, 0.001, 5.0):
        bench.time.wait(wait)
        bench.say(EpisodeState.RUNNING)
        before = bench.command or (0.0, 0.0)
        decision = only(bench.hear(bench.request(0.8, 0.0)))
        assert decision.inputs.time_step == PERIOD
        assert decision.command[0] == pytest.approx(before[0] + RATE[0] * PERIOD)
        bench.step += 1
        bench.advance()


def test_a_step_is_acted_on_once_however_often_it_is_asked_for(bench: LockstepBench) -> None:
    """Each action changes the command by up to a period, and the world moves on by one only."""
    first = only(bench.hear(bench.request(0.8, 0.0)))
    for _ in range(3):
        again = only(bench.hear(bench.request(0.8, 0.0)))
        assert (again.verdict, reasons(again)) == (Verdict.REJECTED, {Reason.OUT_OF_ORDER})
        assert (again.rules[0].value, again.rules[0].limit) == (1.0, 2.0)
    assert bench.command == first.command
    bench.step = 1
    bench.advance()
    assert only(bench.hear(bench.request(0.8, 0.0))).published


def test_a_step_of_a_chunk_is_not_acted_on_again(chunky: LockstepBench) -> None:
    chunky.hear(chunky.request(0.05, 0.0, 0.1, 0.0, horizon=2))
    chunky._see(second_step(chunky, EpisodeState.RUNNING))
    again = only(chunky.hear(chunky.request(0.8, 0.0, step=2)))
    assert reasons(again) == {Reason.OUT_OF_ORDER}


def test_an_action_for_a_step_that_the_world_has_made_is_refused(bench: LockstepBench) -> None:
    """It may have made them without this agent."""
    for step in (1, 2, 3):
        bench.step = step
        bench.advance()
    for step in (1, 2, 3):
        assert reasons(only(bench.hear(bench.request(0.8, 0.0, step=step)))) == {
            Reason.OUT_OF_ORDER
        }
    assert only(bench.hear(bench.request(0.8, 0.0, step=4))).published


@pytest.mark.parametrize('bad', [(math.nan, 0.0), (0.1,)], ids=['not finite', 'wrong size'])
def test_a_refused_action_is_the_action_of_its_step(
    bench: LockstepBench, bad: tuple[float, ...]
) -> None:
    assert only(bench.hear(bench.request(*bad))).verdict is Verdict.REJECTED
    again = only(bench.hear(bench.request(0.8, 0.0)))
    assert reasons(again) == {Reason.OUT_OF_ORDER}
    bench.step = 1
    bench.advance()
    assert only(bench.hear(bench.request(0.8, 0.0))).published


def test_what_a_stranger_asks_for_is_the_action_of_no_step(bench: LockstepBench) -> None:
    refused = only(bench.hear(bench.request(math.nan, 0.0, lease='another')))
    assert reasons(refused) == {Reason.WRONG_LEASE}
    bench.sequence -= 1
    assert only(bench.hear(bench.request(0.8, 0.0))).published


def test_a_refused_action_takes_the_place_of_what_is_left_of_a_chunk(
    chunky: LockstepBench,
) -> None:
    chunky.hear(chunky.request(0.05, 0.0, 0.1, 0.0, horizon=2))
    chunky.hear(chunky.request(math.nan, 0.0, step=2))
    assert second_step(chunky, EpisodeState.RUNNING) == ()


def test_a_chunk_that_the_world_has_left_behind_is_dropped(chunky: LockstepBench) -> None:
    chunky.hear(chunky.request(0.05, 0.0, 0.1, 0.0, horizon=2))
    chunky.step = 2
    chunky.advance()
    assert second_step(chunky, EpisodeState.RUNNING) == ()


def test_a_thinking_policy_is_not_silent_while_the_world_stands_still(
    bench: LockstepBench,
) -> None:
    bench.hear(bench.request(0.05, 0.0))
    bench.step = 1
    bench.advance()
    for _ in range(50):
        bench.time.wait(0.1)
        bench.say(EpisodeState.RUNNING)
        assert bench.tick() == ()
    assert only(bench.hear(bench.request(0.1, 0.0))).verdict is Verdict.ADMITTED


def test_an_action_is_as_old_as_the_world_got_meanwhile(bench: LockstepBench) -> None:
    """It was thought about for long, but the world stood still: it is not late at all."""
    request = bench.request(0.05, 0.0)
    bench.time.wait(5.0)
    bench.say(EpisodeState.RUNNING)
    assert only(bench.hear(request)).verdict is Verdict.ADMITTED
    old = bench.request(0.05, 0.0, step=6)
    for step in range(1, 6):
        bench.step = step
        bench.advance()
    assert reasons(only(bench.hear(old))) == {Reason.ACTION_TOO_OLD}


def test_what_the_world_shows_is_judged_with_the_next_request_not_by_the_timer(
    bench: LockstepBench,
) -> None:
    """Or else the record would depend on how long the policy thought."""
    bench.hear(bench.request(0.05, 0.0))
    bench.step = 1
    bench.scan = (0.1, 8.0, 1.0, 1.0)
    bench.advance()
    assert bench.tick() == ()
    assert reasons(only(bench.hear(bench.request(0.1, 0.0)))) == {Reason.OBSTACLE_STOP}


def test_a_policy_that_is_silent_past_the_deadline_is_stopped(bench: LockstepBench) -> None:
    bench.hear(bench.request(0.05, 0.0))
    bench.time.wait(CONTRACT.lockstep_deadline + 0.01)
    bench.say(EpisodeState.RUNNING)
    assert reasons(only(bench.tick())) == {Reason.COMMAND_TIMEOUT}


def test_a_request_whose_sensors_never_come_is_rejected_at_the_deadline(
    bench: LockstepBench,
) -> None:
    bench.step = 1
    assert bench.hear(bench.request(0.05, 0.0, step=3)) == ()
    bench.time.wait(CONTRACT.lockstep_deadline - 0.01)
    bench.say(EpisodeState.RUNNING)
    assert bench.tick() == ()
    bench.time.wait(0.02)
    decision = bench.tick()[0]
    assert decision.verdict is Verdict.REJECTED
    assert reasons(decision) == {Reason.OBSERVATION_TIMEOUT}
    assert all(d.verdict is not Verdict.REJECTED for d in bench.tick())


def test_the_emergency_stop_does_not_wait_for_the_world(bench: LockstepBench) -> None:
    bench.hear(bench.request(0.05, 0.0))
    assert reasons(only(bench.press())) == {Reason.EMERGENCY_STOP}


def test_the_silence_of_the_environment_stops_in_lockstep_too(bench: LockstepBench) -> None:
    bench.hear(bench.request(0.05, 0.0))
    bench.time.wait(CONTRACT.safety.environment_timeout + 0.01)
    assert reasons(only(bench.tick())) == {Reason.ENVIRONMENT_TIMEOUT}


def test_a_sensor_that_the_world_no_longer_feeds_stops_by_the_worlds_own_time(
    bench: LockstepBench,
) -> None:
    bench.hear(bench.request(0.05, 0.0))
    bench.alive.discard('scan')
    old = bench.time.ros
    while bench.time.ros - old < CONTRACT.safety.sensor_timeout * 1e9:
        bench.step += 1
        bench.time.jump_ros(PERIOD)
        answer = SimStepResponse(
            id=step_id(bench.step), success=True, message='', topics=('/scan', '/odom'),
            published=(0, 1), last_stamp=(RosTime(0), RosTime(bench.time.ros)), dropped=(1, 0),
        )  # fmt: skip
        bench.gate.apply(
            WorldMoved(report=Advanced(report=answer, now=bench.time.ros), now=bench.time.now)
        )
        bench.measure('odometry')
        decision = only(bench.hear(bench.request(0.05, 0.0)))
    assert decision.verdict is Verdict.STOPPED
    assert reasons(decision) == {Reason.OBSERVATION_TIMEOUT}


@pytest.mark.parametrize(
    ('changes', 'reason'),
    [
        ({'lease': 'stolen'}, Reason.WRONG_LEASE),
        ({'digest': ''}, Reason.WRONG_DIGEST),
        ({'agent': 'other'}, Reason.WRONG_AGENT),
    ],
)
def test_a_stranger_does_not_take_the_place_of_a_request_that_waits(
    bench: LockstepBench, changes: dict[str, object], reason: Reason
) -> None:
    bench.hear(bench.request(0.05, 0.0))
    assert bench.hear(bench.request(0.1, 0.0, step=2)) == ()
    stranger = bench.request(0.8, 0.0, step=2, **changes)
    assert reasons(only(bench.hear(stranger))) == {reason}
    bench.step = 1
    assert [d.verdict for d in bench.advance()] == [Verdict.ADMITTED]


def test_a_malformed_request_does_not_wait(bench: LockstepBench) -> None:
    decision = only(bench.hear(bench.request(math.nan, 0.0, step=9)))
    assert reasons(decision) == {Reason.NOT_FINITE}


def test_a_newer_request_takes_the_place_of_one_that_waits(bench: LockstepBench) -> None:
    bench.hear(bench.request(0.0, 0.0))
    first, second = bench.request(0.8, 0.0, step=2), bench.request(0.05, 0.0, step=2)
    assert bench.hear(first) == ()
    decision = only(bench.hear(second))
    assert decision.request == first
    assert reasons(decision) == {Reason.OUT_OF_ORDER}
    bench.step = 1
    assert [d.request for d in bench.advance()] == [second]


def test_an_older_request_does_not_take_the_place_of_one_that_waits(
    bench: LockstepBench,
) -> None:
    bench.hear(bench.request(0.0, 0.0))
    older, newer = bench.request(0.8, 0.0, step=2), bench.request(0.05, 0.0, step=2)
    assert bench.hear(newer) == ()
    assert only(bench.hear(older)).request == older
    bench.step = 1
    assert [d.request for d in bench.advance()] == [newer]


def test_a_request_that_comes_twice_while_it_waits_is_decided_once(bench: LockstepBench) -> None:
    bench.hear(bench.request(0.0, 0.0))
    request = bench.request(0.05, 0.0, step=2)
    assert bench.hear(request) == bench.hear(request) == ()
    bench.step = 1
    assert [d.request for d in bench.advance()] == [request]


def test_the_first_request_waits_for_the_reset_of_its_episode() -> None:
    bench = LockstepBench()
    bench.say(EpisodeState.RESETTING)
    bench.arm()
    bench.say(EpisodeState.RUNNING)
    assert bench.hear(bench.request(0.05, 0.0)) == ()
    assert [d.verdict for d in bench.advance()] == [Verdict.ADMITTED]


def test_what_the_world_said_of_the_last_episode_is_nothing_to_go_by(
    bench: LockstepBench,
) -> None:
    bench.step = 7
    bench.advance()
    bench.say(EpisodeState.TRUNCATED)
    bench.say(EpisodeState.RESETTING, 'second')
    bench.arm()
    bench.say(EpisodeState.RUNNING)
    bench.step = 0
    assert bench.hear(bench.request(0.05, 0.0)) == ()
    assert [d.verdict for d in bench.advance()] == [Verdict.ADMITTED]


def test_a_request_that_waited_into_the_next_lease_is_forgotten(bench: LockstepBench) -> None:
    assert bench.hear(bench.request(0.05, 0.0, step=5)) == ()
    bench.say(EpisodeState.TRUNCATED)
    bench.tick()
    bench.say(EpisodeState.RESETTING, 'second')
    bench.arm()
    bench.step = 5
    assert bench.advance() == []
    bench.time.wait(CONTRACT.lockstep_deadline + 0.01)
    assert bench.tick() == ()


@pytest.fixture
def chunky() -> LockstepBench:
    """Return a bench whose contract allows chunks."""
    return LockstepBench(shipped({('chunk',): {'horizon': 2}}, pacing=Pacing.LOCKSTEP)).begin()


def second_step(bench: LockstepBench, state: EpisodeState) -> tuple[GateDecision, ...]:
    """Let the world come to the end of the first step, and the environment say what follows."""
    bench.step = 1
    bench.advance()
    return bench.gate.apply(
        EpisodeStatusReceived(status=status(state, bench.time.now, step=1), now=bench.time.now)
    )


def test_an_action_of_a_chunk_is_decided_on_when_its_step_begins(chunky: LockstepBench) -> None:
    chunky.hear(chunky.request(0.05, 0.0, 0.1, 0.0, horizon=2))
    decision = only(second_step(chunky, EpisodeState.RUNNING))
    assert (decision.trigger, decision.command) == (Trigger.CHUNK, (0.1, 0.0))


def test_the_end_of_the_episode_drops_what_is_left_of_a_chunk(chunky: LockstepBench) -> None:
    chunky.hear(chunky.request(0.05, 0.0, 0.1, 0.0, horizon=2))
    assert second_step(chunky, EpisodeState.TRUNCATED) == ()


def test_an_action_of_a_chunk_that_is_answered_by_a_stop_is_the_last_of_it(
    chunky: LockstepBench,
) -> None:
    chunky.scan = (0.1, 8.0, 1.0, 1.0)
    chunky.measure('scan')
    stopped = only(chunky.hear(chunky.request(0.05, 0.0, 0.1, 0.0, horizon=2)))
    assert reasons(stopped) == {Reason.OBSTACLE_STOP}
    chunky.scan = (8.0, 8.0, 1.0, 1.0)
    assert second_step(chunky, EpisodeState.RUNNING) == ()


def test_between_episodes_the_world_stands_still_so_a_new_arming_need_not_brake(
    bench: LockstepBench,
) -> None:
    bench.hear(bench.request(0.1, 0.0))
    bench.say(EpisodeState.TRUNCATED)
    bench.step, bench.episode = 0, 'second'
    decision = only(bench.begin().hear(bench.request(0.05, 0.0)))
    assert decision.inputs.seeded
    assert decision.verdict is Verdict.ADMITTED


def test_a_gate_that_is_deactivated_brakes_a_period_at_a_time(bench: LockstepBench) -> None:
    for _ in range(8):
        bench.hear(bench.request(0.8, 0.0))
        bench.step += 1
        bench.advance()
    speeds = [before := bench.command[0], *(d.command[0] for d in bench.deactivate())]
    assert before > 0.1
    assert speeds[-1] == 0.0
    most = CONTRACT.flat('stop')[0] * PERIOD
    assert all(one - other <= most + 1e-9 for one, other in pairwise(speeds))
