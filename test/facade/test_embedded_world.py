# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Several agents over one robot in one process: one world, a boundary for each."""

from __future__ import annotations

from collections.abc import Mapping
import math
from typing import Any

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from boundary_env_ros.core.environment.reset import ResetWorld, WorldReset
from boundary_env_ros.core.records.decision import GateDecision, Reason, Verdict
from boundary_env_ros.core.records.parts import NamedValues, Pacing
from boundary_env_ros.core.records.transition import PrivilegedObservation, Transition
from boundary_env_ros.core.serialization import to_json
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import (
    EpisodeEnded,
    InvalidAction,
    LinkError,
    RequestRejected,
    ResetFailed,
    SimulationFailed,
)
from boundary_env_ros.facade import embedded_boundary
from boundary_env_ros.facade.embedded_world import EmbeddedWorld
from boundary_env_ros.facade.steps import StepResult
from boundary_env_ros.simulation.cart_robot import CartRobot
from boundary_env_ros.simulation.robot import Emission
from boundary_env_ros.storage.contract_file import load
from boundary_env_ros.tasks.swap_places import SwapPlaces
from support.shipped import changed

TWO = load('two_carts', Pacing.LOCKSTEP)
START = round(TWO.contract.period * 1e9)
HEAD_ON = {'scenario': 'aisle'}
APART = {'scenario': 'apart'}

#: What may differ between two runs of one seed: readings of the steady clock, and random ids.
DIFFERS = {'steady', 'received_steady', 'since_request', 'since_environment', 'duration',
           'episode_id', 'lease_id', 'lease_episode'}  # fmt: skip


class WatchedCarts(CartRobot):
    """Carts with a memory of what they were asked and told."""

    def __init__(self) -> None:
        super().__init__(TWO.contract, start=START)
        self.resets: list[ResetWorld] = []
        self.advances: list[int] = []
        self.commands: list[tuple[int, str, Vector]] = []

    def reset(self, request: ResetWorld, at: int) -> WorldReset:
        self.resets.append(request)
        return super().reset(request, at)

    def command(self, topic: str, values: Vector, arrived: int) -> None:
        self.commands.append((arrived, topic, values))
        super().command(topic, values, arrived)

    def advance(self, until: int) -> tuple[Emission, ...]:
        self.advances.append(until)
        return super().advance(until)

    def speed(self, cart: int) -> float:
        truth = self._hall.true_state(cart)
        return math.hypot(truth.linear, truth.lateral)


def begin(
    world: EmbeddedWorld, options: Mapping[str, object], seed: int = 3
) -> dict[str, StepResult]:
    return world.reset(seed=seed, options=options, wrappers=())


def step(world: EmbeddedWorld, forward: float, turn: float = 0.0) -> dict[str, Transition]:
    closed = world.step(dict.fromkeys(world.running, (forward, turn)))
    return {agent: deliveries[-1].transition for agent, deliveries in closed.items()}


def values(transition: Transition) -> dict[str, Vector]:
    return {field.name: field.values for field in (*transition.after, *transition.state)}


def until_ended(world: EmbeddedWorld, agent: str, forward: float = 0.6) -> Transition:
    while agent in world.running:
        last = step(world, forward)
    return last[agent]


# One world --------------------------------------------------------------------------------------


def test_all_begin_in_one_world_that_is_reset_once() -> None:
    robot = WatchedCarts()
    world = EmbeddedWorld(TWO, robot=robot)
    deliveries = begin(world, HEAD_ON)
    assert world.running == world.agents == tuple(deliveries) == ('cart_a', 'cart_b')
    assert len(robot.resets) == 1
    assert len(robot.advances) == 1
    records = {agent: d.transition.reset for agent, d in deliveries.items()}
    sampled = {agent: record.sampled for agent, record in records.items() if record is not None}
    assert sampled['cart_a'] == sampled['cart_b'] == robot.resets[0].target
    ids = {delivery.transition.id.episode_id for delivery in deliveries.values()}
    assert len(ids) == 2


def test_each_is_shown_its_own_sensors_and_goal() -> None:
    robot = WatchedCarts()
    deliveries = begin(EmbeddedWorld(TWO, robot=robot), HEAD_ON)
    target = {item.name: item.values for item in robot.resets[0].target}
    for agent, delivery in deliveries.items():
        seen = values(delivery.transition)
        assert seen['goal'] == target[f'{agent}.goal']
        assert seen['pose'][:2] == pytest.approx(target[f'{agent}.start'][:2], abs=0.15)
        sources = {field.name: field.source for field in delivery.transition.after}
        assert sources['scan'] == f'{agent}/scan'
        assert sources['front'] == f'{agent}/camera/image_raw'
        assert delivery.images['front'].shape == (48, 64, 3)
    first, second = (delivery.images['front'] for delivery in deliveries.values())
    assert not np.array_equal(first, second)


def test_a_drawn_seed_is_the_same_for_all() -> None:
    world = EmbeddedWorld(TWO)
    deliveries = world.reset(seed=None, options={}, wrappers=())
    assert len({delivery.transition.seed for delivery in deliveries.values()}) == 1


def test_the_world_advances_once_for_all_and_by_one_period() -> None:
    robot = WatchedCarts()
    world = EmbeddedWorld(TWO, robot=robot)
    begin(world, APART)
    before = robot.advances[-1]
    closed = step(world, 0.2)
    assert set(closed) == {'cart_a', 'cart_b'}
    assert robot.advances[-2:] == [before, before + START]
    assert {topic for _, topic, _ in robot.commands} == {'cart_a/cmd_vel', 'cart_b/cmd_vel'}


def test_what_one_does_is_in_its_own_record_only() -> None:
    world = EmbeddedWorld(TWO)
    begin(world, APART)
    for _ in range(8):
        closed = world.step({'cart_a': (0.4, 0.0), 'cart_b': (0.0, 0.5)})
    ahead, turning = (closed[agent][-1].transition for agent in world.agents)
    assert ahead.requested_action == (0.4, 0.0)
    assert turning.requested_action == (0.0, 0.5)
    assert values(ahead)['velocity'] == pytest.approx((0.4, 0.0), abs=0.06)
    assert values(turning)['velocity'] == pytest.approx((0.0, 0.5), abs=0.06)


def canonical(record: object) -> str:
    def strip(item: Any) -> Any:
        if isinstance(item, dict):
            return {key: strip(value) for key, value in item.items() if key not in DIFFERS}
        return [strip(value) for value in item] if isinstance(item, list) else item

    return repr((type(record).__name__, strip(to_json(record))))


def test_the_same_seed_leaves_the_same_records_in_the_same_order() -> None:
    def run(seed: int) -> list[str]:
        records: list[object] = []
        world = EmbeddedWorld(TWO, sink=records.append)
        for _ in range(2):
            begin(world, HEAD_ON, seed)
            for number in range(25):
                step(world, 0.6, 0.3 if number % 2 else -0.2)
        return [canonical(record) for record in records]

    first = run(7)
    assert first == run(7)
    assert first != run(8)


# Meeting ----------------------------------------------------------------------------------------


def test_carts_that_are_driven_at_each_other_are_stopped_apart_by_their_gates() -> None:
    world = EmbeddedWorld(TWO)
    begin(world, HEAD_ON)
    for _ in range(60):
        closed = step(world, 0.6)
    for transition in closed.values():
        assert transition.verdict is Verdict.STOPPED
        reasons = {r.reason for d in transition.decisions for r in d.rules}
        assert reasons == {Reason.OBSTACLE_STOP}
        assert values(transition)['contact'] == (0.0,)


def test_carts_whose_gates_look_at_no_obstacle_collide_and_both_episodes_end() -> None:
    world = EmbeddedWorld(changed('two_carts', safety__obstacles__scan__stop_distance=0.2))
    starts = {'cart_a': [-1.0, -1.4, 0.0], 'cart_b': [1.0, -1.4, 3.1416]}
    begin(world, {agent: {'start': start} for agent, start in starts.items()})
    ended: dict[str, Transition] = {}
    while world.running:
        ended |= {a: t for a, t in step(world, 0.6).items() if t.ending}
    assert {agent: t.ending for agent, t in ended.items()} == {
        'cart_a': 'collision',
        'cart_b': 'collision',
    }
    for transition in ended.values():
        assert transition.terminated
        assert transition.declared_by == 'task:swap_places'
        assert values(transition)['contact'] == (1.0,)
        assert transition.reward < -0.5
    steps = [transition.id.step for transition in ended.values()]
    assert abs(steps[0] - steps[1]) <= 1


def test_the_bumper_is_state_and_reaches_no_policy() -> None:
    world = EmbeddedWorld(TWO)
    for delivery in begin(world, APART).values():
        assert 'contact' not in {field.name for field in delivery.transition.after}
    for transition in step(world, 0.0).values():
        assert [field.name for field in transition.state] == ['contact']


# Each for itself --------------------------------------------------------------------------------


def test_a_gate_that_stops_one_does_not_stop_the_other() -> None:
    world = EmbeddedWorld(TWO)
    into_rack = {'start': [0.0, -1.0, math.pi / 2.0]}
    begin(world, {'scenario': 'apart', 'cart_a': into_rack})
    for _ in range(10):
        closed = step(world, 0.5)
    assert closed['cart_a'].verdict is Verdict.STOPPED
    assert closed['cart_a'].commanded_action == (0.0, 0.0)
    assert closed['cart_b'].verdict is Verdict.ADMITTED
    assert closed['cart_b'].commanded_action == (0.5, 0.0)
    assert values(closed['cart_b'])['velocity'][0] == pytest.approx(0.5, abs=0.06)


def test_whose_episode_ended_is_braked_and_stays_while_the_other_goes_on() -> None:
    robot = WatchedCarts()
    records: list[object] = []
    world = EmbeddedWorld(TWO, robot=robot, sink=records.append)
    begin(world, {'scenario': 'apart', 'cart_b': {'goal': [-0.5, 1.5]}})
    last = until_ended(world, 'cart_b')
    assert (last.ending, last.commanded_action) == ('success', (0.6, 0.0))
    assert world.running == ('cart_a',)
    assert robot.speed(1) > 0.4
    records.clear()
    robot.commands.clear()
    for _ in range(12):
        assert set(step(world, 0.3)) == {'cart_a'}
    braking = [
        record for record in records
        if isinstance(record, GateDecision) and record.id.agent == 'cart_b'
    ]  # fmt: skip
    assert all(decision.verdict is Verdict.STOPPED for decision in braking)
    assert {r.reason for d in braking for r in d.rules} == {Reason.EPISODE_OVER}
    speeds = [v[0] for _, topic, v in robot.commands if topic == 'cart_b/cmd_vel']
    assert speeds == pytest.approx([0.4, 0.2, 0.0])
    assert robot.speed(1) < 0.01
    assert robot.speed(0) > 0.2
    assert not [
        record for record in records
        if isinstance(record, (Transition, PrivilegedObservation)) and record.id.agent == 'cart_b'
    ]  # fmt: skip


def test_all_begin_again_together_after_one_has_ended() -> None:
    records: list[object] = []
    world = EmbeddedWorld(TWO, sink=records.append)
    begin(world, {'scenario': 'apart', 'cart_b': {'goal': [-0.5, 1.5]}})
    until_ended(world, 'cart_b')
    begin(world, APART, seed=4)
    assert world.running == ('cart_a', 'cart_b')
    endings = [(r.id.agent, r.ending) for r in records if isinstance(r, Transition) and r.ending]
    assert endings == [('cart_b', 'success'), ('cart_a', 'abandoned')]
    assert set(step(world, 0.2)) == {'cart_a', 'cart_b'}


def test_a_chunk_of_every_agent_is_driven_step_by_step_in_one_call() -> None:
    robot = WatchedCarts()
    world = EmbeddedWorld(changed('two_carts', chunk={'horizon': 3}), robot=robot)
    begin(world, APART)
    robot.commands.clear()
    closed = world.step({'cart_a': (0.05, 0.0, 0.1, 0.0, 0.15, 0.0), 'cart_b': (0.0, 0.1) * 3})
    assert {agent: len(deliveries) for agent, deliveries in closed.items()} == {
        'cart_a': 3,
        'cart_b': 3,
    }
    sent = [
        (round((at - robot.commands[0][0]) / START), values)
        for at, topic, values in robot.commands if topic == 'cart_a/cmd_vel'
    ]  # fmt: skip
    assert sent == [(0, (0.05, 0.0)), (1, (0.1, 0.0)), (2, (0.15, 0.0))]


# In the wrong order, with wrong things ----------------------------------------------------------


@pytest.mark.parametrize(
    ('actions', 'says'),
    [
        ({}, 'No action of cart_a, cart_b.'),
        ({'cart_a': (0.0, 0.0)}, 'No action of cart_b.'),
        (dict.fromkeys(('cart_a', 'cart_b', 'cart_c'), (0.0, 0.0)), 'cart_c'),
        (
            {'cart_a': (0.0, 0.0), 'cart_b': (0.0,) * 4},
            "different lengths.*'cart_a': 2, 'cart_b': 4",
        ),
    ],
)
def test_a_step_needs_an_action_of_exactly_those_that_run(
    actions: dict[str, Vector], says: str
) -> None:
    world = EmbeddedWorld(TWO)
    begin(world, APART)
    with pytest.raises((InvalidAction, LinkError), match=says):
        world.step(actions)
    step(world, 0.0)


def test_a_step_without_an_episode_is_refused() -> None:
    world = EmbeddedWorld(changed('two_carts', episode__time_limit=0.2))
    with pytest.raises(EpisodeEnded, match='Call reset'):
        world.step({})
    begin(world, APART)
    step(world, 0.0)
    assert {t.ending for t in step(world, 0.0).values()} == {'time_limit'}
    with pytest.raises(EpisodeEnded, match='it has ended'):
        world.step({})


def test_an_option_that_is_refused_leaves_the_running_episodes_alone() -> None:
    world = EmbeddedWorld(TWO)
    begin(world, APART)
    with pytest.raises(RequestRejected, match='maze'):
        begin(world, {'scenario': 'maze'})
    assert world.running == ('cart_a', 'cart_b')
    step(world, 0.0)


def test_a_start_that_collides_fails_the_reset_of_all() -> None:
    world = EmbeddedWorld(TWO)
    same = {'start': [0.0, 1.5, 0.0]}
    with pytest.raises(ResetFailed, match='in collision with'):
        begin(world, {'cart_a': same, 'cart_b': same})
    assert world.running == ()
    begin(world, APART)


def test_a_task_that_samples_a_world_for_each_agent_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Fickle(SwapPlaces):
        calls = 0

        def sample_reset(
            self, rng: np.random.Generator, options: Mapping[str, object]
        ) -> tuple[NamedValues, ...]:
            Fickle.calls += 1
            sampled = super().sample_reset(rng, options)
            return (*sampled, NamedValues(name='calls', values=(float(Fickle.calls),)))

    task = Fickle(**dict(TWO.contract.task.parameters))  # type: ignore[arg-type]
    monkeypatch.setattr(embedded_boundary, 'fitting_task', lambda contract: task)
    with pytest.raises(ResetFailed, match="sample_reset of the task 'swap_places'"):
        begin(EmbeddedWorld(TWO), APART)


class Broken(WatchedCarts):
    """Carts in a simulation that fails after a while."""

    def advance(self, until: int) -> tuple[Emission, ...]:
        emissions = super().advance(until)
        if len(self.advances) > 3:
            raise SimulationFailed('the world came apart')
        return emissions


def test_a_simulation_that_fails_ends_every_episode_that_runs() -> None:
    world = EmbeddedWorld(TWO, robot=Broken())
    begin(world, APART)
    while world.running:
        closed = step(world, 0.1)
    assert {t.ending for t in closed.values()} == {'simulation_failed'}
    assert all(t.truncated for t in closed.values())


class Mute(WatchedCarts):
    """Carts of which one has no laser."""

    def __init__(self) -> None:
        super().__init__()
        self.topics = {t: kind for t, kind in self.topics.items() if t != 'cart_b/scan'}

    def advance(self, until: int) -> tuple[Emission, ...]:
        return tuple(e for e in super().advance(until) if e.topic != 'cart_b/scan')


def test_a_topic_that_the_robot_never_sends_on_is_named() -> None:
    with pytest.raises(ResetFailed, match=r'sends nothing on: cart_b/scan\.'):
        begin(EmbeddedWorld(TWO, robot=Mute()), APART)
