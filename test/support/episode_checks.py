# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the tests of whole episodes check of each."""

from __future__ import annotations

from boundary_env_ros.core.records.episode import EpisodeState
from boundary_env_ros.core.records.transition import Kind, Transition
from support.core_world import shipped
from support.episode_world import EpisodeWorld

CONTRACT = shipped()
PERIOD = CONTRACT.period
SAFETY = CONTRACT.safety


def steps(world: EpisodeWorld) -> list[Transition]:
    """Return the steps of the last episode."""
    last = world.transitions[-1].id.episode_id
    return [t for t in world.transitions if t.id.episode_id == last and t.kind is Kind.STEP]


def check_one_ending(world: EpisodeWorld, ending: str, *, terminated: bool, by: str) -> Transition:
    """Check that the episode has one ending and one declarer, told alike everywhere."""
    last = steps(world)[-1]
    assert (last.ending, last.declared_by) == (ending, by)
    assert (last.terminated, last.truncated) == (terminated, not terminated)
    for before in steps(world)[:-1]:
        assert not before.terminated
        assert not before.truncated
        assert before.ending == before.declared_by == ''
    told = world.environment.status(world.now)
    assert (told.ending, told.declared_by) == (ending, by)
    assert told.state is (EpisodeState.TERMINATED if terminated else EpisodeState.TRUNCATED)
    assert told.id == last.id
    return last
