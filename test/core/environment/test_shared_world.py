# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One world of two agents: neither moves it alone, and nobody waits for ever."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from boundary_env_ros.core.environment.environment_events import (
    Begin,
    BeginEpisode,
    EndEpisode,
    GateReported,
    RecorderReported,
    WorldAdvanced,
    WorldAnswered,
)
from boundary_env_ros.core.environment.environment_state import Output
from boundary_env_ros.core.environment.reset import ResetWorld, WorldReset
from boundary_env_ros.core.environment.shared_world import SharedWorld
from boundary_env_ros.core.gate.gate_events import Arm, EpisodeStatusReceived
from boundary_env_ros.core.records.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.records.lockstep import Advanced, SimStepRequest
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.timebase import (
    Clock,
    ClockReading,
    NANOSECONDS,
    RosTime,
    Stamp,
    to_nanoseconds,
)
from boundary_env_ros.errors import ResetFailed
from boundary_env_ros.facade.embedded_boundary import EmbeddedBoundary
from boundary_env_ros.simulation.cart_robot import CartRobot
from boundary_env_ros.simulation.messages import PlainMessage
from boundary_env_ros.simulation.robot import report_of
from boundary_env_ros.storage.contract_file import load

AGENTS = ('cart_a', 'cart_b')


class Duo:
    """Two agents with all that is real but the middleware; time passes when a test says so."""

    def __init__(self, pacing: Pacing) -> None:
        self.loaded = load('two_carts', pacing)
        contract = self.loaded.contract
        self.boundaries = {agent: EmbeddedBoundary(self.loaded, agent) for agent in AGENTS}
        self.world = SharedWorld(
            {agent: boundary.environment for agent, boundary in self.boundaries.items()},
            contract,
        )
        self.time = to_nanoseconds(contract.period)
        self.waited = 0
        self.robot = CartRobot(contract, start=self.time, options={'camera_rate': 2.0})
        self.closed: dict[str, list[Transition]] = {agent: [] for agent in AGENTS}

    @property
    def now(self) -> ClockReading:
        clock = Clock.ROS if self.loaded.contract.sim_time else Clock.SYSTEM
        ros = Stamp(clock=clock, nanoseconds=self.time, host='here')
        return ClockReading(ros=ros, steady=self.time + self.waited)

    def state(self, agent: str) -> EpisodeState:
        return self.boundaries[agent].environment.state.episode.state

    def message(self, agent: str) -> str:
        return self.boundaries[agent].environment.state.episode.message

    def carry(self, agent: str, effects: tuple[Output, ...]) -> None:
        for effect in effects:
            if isinstance(effect, (ResetWorld, SimStepRequest)):
                self.world.ask(agent, effect)
            elif isinstance(effect, Transition):
                self.closed[agent].append(effect)
            elif isinstance(effect, EpisodeStatus):
                self.boundaries[agent].gate.apply(
                    EpisodeStatusReceived(status=effect, now=self.now)
                )

    def begin(self, agent: str, seed: int = 1) -> None:
        boundary = self.boundaries[agent]
        effects = boundary.environment.apply(
            BeginEpisode(
                begin=Begin(digest=self.loaded.digest, client='test', seed=seed),
                episode_id=f'{agent}-{self.time}',
                drawn_seed=0,
                now=self.now,
            )
        )
        self.carry(agent, effects)

    def watch(self) -> None:
        for agent, boundary in self.boundaries.items():
            environment = boundary.environment
            self.carry(agent, environment.apply(RecorderReported(now=self.now)))
            self.carry(
                agent,
                environment.apply(
                    GateReported(status=boundary.gate.state.status(self.now), now=self.now)
                ),
            )
            self.carry(agent, self.world.watch(agent, self.now))

    def reset(self) -> None:
        """Do the reset that is due, and arm both gates."""
        request = self.world.reset()
        assert request is not None
        self.answer(self.robot.reset(request, self.time))
        for agent, boundary in self.boundaries.items():
            episode = boundary.environment.status(self.now).id.episode_id
            boundary.gate.apply(
                EpisodeStatusReceived(status=boundary.environment.status(self.now), now=self.now)
            )
            self.world_passes(0.0)
            boundary.gate.apply(
                Arm(
                    digest=self.loaded.digest,
                    agent=agent,
                    episode_id=episode,
                    client='test',
                    lease_id='lease',
                    now=self.now,
                )
            )

    def answer(self, answer: WorldReset) -> None:
        for agent, boundary in self.boundaries.items():
            self.carry(
                agent, boundary.environment.apply(WorldAnswered(answer=answer, now=self.now))
            )

    def world_passes(
        self, seconds: float, hears: Callable[[str], bool] = lambda topic: True
    ) -> None:
        """Let time pass, and hear the sensors on these topics."""
        self.time += round(seconds * NANOSECONDS)
        for emission in self.robot.advance(self.time):
            topic = emission.topic
            if not emission.fields or not hears(topic):
                continue
            message = PlainMessage(emission.fields)
            for agent, boundary in self.boundaries.items():
                if topic in boundary.topics:
                    stamp = emission.stamp or None
                    self.carry(agent, boundary.on_message(topic, message, stamp, self.now))
        for agent, boundary in self.boundaries.items():
            self.carry(agent, boundary.poll(self.now))


# Beginning --------------------------------------------------------------------------------------


def test_the_world_is_reset_once_and_only_when_all_have_begun() -> None:
    duo = Duo(Pacing.REALTIME)
    duo.begin('cart_a')
    assert duo.world.reset() is None
    duo.begin('cart_b')
    request = duo.world.reset()
    assert request is not None
    assert {item.name.partition('.')[0] for item in request.target} == set(AGENTS)
    assert duo.world.reset() is None


def test_who_waits_for_another_that_does_not_begin_fails_and_says_who_is_missing() -> None:
    duo = Duo(Pacing.REALTIME)
    duo.begin('cart_a')
    duo.time += round((duo.loaded.contract.episode.reset.deadline + 0.1) * NANOSECONDS)
    duo.watch()
    assert duo.state('cart_a') is EpisodeState.TRUNCATED
    assert 'waiting for cart_b to begin as well' in duo.message('cart_a')
    # What it had asked for is not done behind its back when the other comes.
    duo.begin('cart_b')
    assert duo.world.reset() is None


def test_the_seed_of_who_waits_is_told_to_who_names_none() -> None:
    duo = Duo(Pacing.REALTIME)
    assert duo.world.seed is None
    duo.begin('cart_a', seed=7)
    assert duo.world.seed == 7
    duo.begin('cart_b', seed=7)
    duo.world.reset()
    assert duo.world.seed is None


def test_agents_that_sample_another_world_are_refused() -> None:
    duo = Duo(Pacing.REALTIME)
    duo.begin('cart_a', seed=1)
    duo.begin('cart_b', seed=2)
    with pytest.raises(ResetFailed, match='different worlds from one seed'):
        duo.world.reset()
    assert duo.world.reset() is None


def test_all_start_together_when_the_last_is_ready() -> None:
    duo = Duo(Pacing.REALTIME)
    for agent in AGENTS:
        duo.begin(agent)
    duo.world_passes(0.6)
    duo.reset()
    duo.world_passes(0.6, lambda topic: topic != 'cart_b/scan')
    duo.watch()
    assert [duo.state(agent) for agent in AGENTS] == [EpisodeState.RESETTING] * 2
    duo.world_passes(0.6)
    duo.watch()
    assert [duo.state(agent) for agent in AGENTS] == [EpisodeState.RUNNING] * 2
    closed = {duo.closed[agent][0].closed for agent in AGENTS}
    assert len(closed) == 1


def test_if_one_fails_before_all_have_started_none_starts() -> None:
    duo = Duo(Pacing.REALTIME)
    for agent in AGENTS:
        duo.begin(agent)
    duo.world_passes(0.6)
    duo.reset()
    ended = duo.boundaries['cart_b'].environment.apply(
        EndEpisode(ending='operator_stop', declared_by='x', message='a hand', now=duo.now)
    )
    duo.carry('cart_b', ended)
    duo.watch()
    assert duo.state('cart_a') is EpisodeState.TRUNCATED
    assert duo.message('cart_a') == 'cart_b: a hand'
    (only,) = duo.closed['cart_a']
    assert (only.ending, only.declared_by) == ('reset_failed', 'environment')


# Advancing (lockstep) ---------------------------------------------------------------------------


def asking(agent: str, duo: Duo) -> SimStepRequest:
    status = duo.boundaries[agent].environment.status(duo.now)
    return SimStepRequest(id=status.id, duration=1, command_stamp=RosTime(duo.time))


def test_the_world_advances_when_all_that_last_have_asked() -> None:
    duo = Duo(Pacing.LOCKSTEP)
    for agent in AGENTS:
        duo.begin(agent)
    duo.world.reset()
    duo.world.ask('cart_a', asking('cart_a', duo))
    assert duo.world.advance(duo.now) == {}
    duo.world.ask('cart_b', asking('cart_b', duo))
    assert set(duo.world.advance(duo.now)) == set(AGENTS)
    assert duo.world.advance(duo.now) == {}


def test_whose_episode_is_over_or_waits_to_begin_is_not_waited_for() -> None:
    duo = Duo(Pacing.LOCKSTEP)
    for agent in AGENTS:
        duo.begin(agent)
    duo.world.reset()
    duo.world.ask('cart_a', asking('cart_a', duo))
    duo.boundaries['cart_b'].environment.apply(
        EndEpisode(ending='operator_stop', declared_by='x', message='', now=duo.now)
    )
    assert set(duo.world.advance(duo.now)) == {'cart_a'}
    duo.world.ask('cart_a', asking('cart_a', duo))
    duo.begin('cart_b')
    assert set(duo.world.advance(duo.now)) == {'cart_a'}


def test_who_waits_for_the_others_decision_is_not_blamed_for_it() -> None:
    duo = Duo(Pacing.LOCKSTEP)
    for agent in AGENTS:
        duo.begin(agent)
    duo.reset()
    for _ in range(2):  # settling, and what came of it
        due = duo.world.advance(duo.now)
        assert set(due) in (set(AGENTS), set())
        if due:
            duo.world_passes(0.3)
            _report(duo, due)
    duo.watch()
    assert [duo.state(agent) for agent in AGENTS] == [EpisodeState.RUNNING] * 2
    # It has decided long before the other, and later than the other's last step.
    duo.waited += NANOSECONDS
    duo.world.ask('cart_a', asking('cart_a', duo))
    deadline = round((duo.loaded.contract.lockstep_deadline + 0.01) * NANOSECONDS)
    for _ in range(3):
        duo.waited += deadline // 2  # and the world stands still
        duo.watch()
    assert duo.closed['cart_b'][-1].ending == 'policy_lost'
    assert duo.state('cart_a') is EpisodeState.RUNNING
    assert set(duo.world.advance(duo.now)) == {'cart_a'}


def _report(duo: Duo, due: Mapping[str, SimStepRequest]) -> None:
    for agent, advance in due.items():
        report = Advanced(report=report_of(advance.id, (), ''), now=duo.time)
        duo.carry(
            agent,
            duo.boundaries[agent].environment.apply(WorldAdvanced(report=report, now=duo.now)),
        )
