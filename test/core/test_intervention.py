# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Interventions are read out of what the gate decided: who, when, in which dimensions."""

from __future__ import annotations

import pytest

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.gate.decision import Trigger
from boundary_env_ros.core.gate.events import Measured
from boundary_env_ros.core.intervention import intervention_in, interventions
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


@pytest.mark.parametrize('contract', [CONTRACT, None], ids=['with contract', 'without'])
def test_each_time_that_a_person_had_the_robot_is_one_intervention(
    world: EpisodeWorld, contract: Contract | None
) -> None:
    found = interventions(world.transitions, contract)
    assert len(found) == 2
    first, second = found
    assert {one.topic.rpartition('/')[2] for one in found} == {'joy'}
    assert first.first_step < first.last_step < second.first_step <= second.last_step
    by_hand = [
        d
        for t in world.transitions
        for d in t.decisions
        if d.trigger is Trigger.OPERATOR and d.published
    ]
    assert first.commands + second.commands == len(by_hand)
    assert (first.begun, second.ended) == (by_hand[0].commanded, by_hand[-1].commanded)


def test_dimensions_are_those_in_which_he_asked_for_something_else(world: EpisodeWorld) -> None:
    first, second = interventions(world.transitions, CONTRACT)
    assert first.dimensions == {1}, 'he drove on as the policy did, and turned'
    assert second.dimensions == {0, 1}


def test_step_alone_tells_who_had_the_robot_in_it(world: EpisodeWorld) -> None:
    whole, _ = interventions(world.transitions, CONTRACT)
    told = {t.id.step: intervention_in(t) for t in world.transitions}
    inside = [one for step, one in told.items() if whole.first_step < step < whole.last_step]
    assert inside
    for one in inside:
        assert one is not None
        assert (one.topic, one.dimensions) == (whole.topic, {1})
    assert told[0] is None
    assert told[max(told)] is None


def test_episode_without_a_person_has_none() -> None:
    world = EpisodeWorld(contract=CONTRACT).start().run(0.5)
    assert interventions(world.transitions) == ()
