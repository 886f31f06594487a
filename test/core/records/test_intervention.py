# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Interventions are read out of what the gate decided: who, when, in which dimensions."""

from __future__ import annotations

import pytest

from boundary_env_ros.core.gate.gate_events import Measured
from boundary_env_ros.core.records.decision import Trigger
from boundary_env_ros.core.records.intervention import intervention_in, InterventionTracker
from support.core_world import shipped
from support.episode_world import EpisodeWorld, forward

CONTRACT = shipped(
    {
        ('safety', 'operator'): {
            'topic': 'joy', 'type': 'sensor_msgs/msg/Joy', 'fields': ['axes[1]', 'axes[2]'],
            'enable': 'buttons[9]', 'scale': [0.8, 1.5], 'timeout': 0.2,
        }
    }
)  # fmt: skip


def drive(world: EpisodeWorld, seconds: float, *command: float) -> None:
    """Let a person drive for a while, who then lets go."""
    for held in (*[1.0] * round(seconds / world.slice), 0.0):
        world.witness.teleoperated = held > 0.0
        world.decided(
            world.gate.apply(
                Measured(
                    name='operator',
                    values=(*command, held),
                    captured=world.time.stamp(),
                    now=world.now,
                )
            )
        )
        world.pass_slice()


@pytest.fixture(scope='module')
def world() -> EpisodeWorld:
    """Return an episode in which a person took over twice."""
    made = EpisodeWorld(contract=CONTRACT)
    made.policy = forward(0.2)
    made.start().run(0.5)
    drive(made, 0.5, 0.2, 0.6)
    made.run(0.5)
    drive(made, 0.4, 0.4, -0.3)
    return made.run(0.5)


def test_each_time_that_a_person_had_the_robot_is_one_intervention(world: EpisodeWorld) -> None:
    tracker = InterventionTracker()
    begun = [t.id.step for t in world.transitions for _ in range(tracker.follow(t))]
    assert len(begun) == 2
    told = {t.id.step: intervention_in(t) for t in world.transitions}
    assert told[begun[0]] is not None
    assert told[begun[0] - 1] is None
    found = [one for one in told.values() if one is not None]
    assert {one.topic.rpartition('/')[2] for one in found} == {'joy'}
    by_hand = [
        d
        for t in world.transitions
        for d in t.decisions
        if d.trigger is Trigger.OPERATOR and d.published
    ]
    assert sum(one.commands for one in found) == len(by_hand)


def test_dimensions_are_those_in_which_he_asked_for_something_else(world: EpisodeWorld) -> None:
    tracker, found = InterventionTracker(), []
    for transition in world.transitions:
        if tracker.follow(transition):
            found.append(set[int]())
        one = intervention_in(transition)
        if one is not None:
            found[-1] |= one.dimensions
    assert found == [{1}, {0, 1}], 'at first he drove on as the policy did, and turned'


def test_step_alone_tells_who_had_the_robot_in_it(world: EpisodeWorld) -> None:
    told = {t.id.step: intervention_in(t) for t in world.transitions}
    assert told[0] is None
    assert told[max(told)] is None
    assert any(told.values())


def test_episode_without_a_person_has_none() -> None:
    world = EpisodeWorld(contract=CONTRACT).start().run(0.5)
    assert not any(map(InterventionTracker().follow, world.transitions))
    assert not any(map(intervention_in, world.transitions))
