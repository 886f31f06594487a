# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Gaps are counted once and only where they are; only silence in an episode is an ending."""

from __future__ import annotations

from dataclasses import replace

import pytest

from boundary_env_ros.core.records.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.timebase import ClockReading, NANOSECONDS
from boundary_env_ros.storage.run_watch import EnvironmentWatch, LossCount
from support.storage_wire import instant, step_id

PATIENCE = 0.8


def at(seconds: float) -> ClockReading:
    return replace(instant(), steady=round((100.0 + seconds) * NANOSECONDS))


def status(state: EpisodeState = EpisodeState.RUNNING, episode: str = 'one') -> EpisodeStatus:
    return EpisodeStatus(
        id=replace(step_id(3), episode_id=episode), state=state, pacing=Pacing.REALTIME, seed=7
    )


@pytest.fixture
def watch() -> EnvironmentWatch:
    return EnvironmentWatch(declarer='recorder', patience=PATIENCE)


def look_until(watch: EnvironmentWatch, begin: float, end: float) -> list[EpisodeStatus]:
    """Look ten times a second, as a recorder does, and return what was declared."""
    count = round((end - begin) * 10)
    found = [watch.poll(at(begin + (i + 1) * 0.1)) for i in range(count)]
    return [ending for ending in found if ending is not None]


@pytest.mark.parametrize(
    ('sequences', 'lost'),
    [
        ([1, 2, 3], 0),
        ([41, 42, 43], 0),
        ([1, 2, 5, 6], 2),
        ([7, 8, 1, 2], 0),
        ([7, 8, 3], 2),
        ([1, 3, 1, 3], 2),
        ([0, 0], 0),
        ([2**64 - 1, 0, 0], 0),
    ],
    ids=[
        'whole',
        'begun before',
        'gap',
        'gate restarted',
        'restarted with a gap',
        'both',
        'no number',
        'the last one there is',
    ],
)
def test_gap_in_decisions_is_counted(sequences: list[int], lost: int) -> None:
    count = LossCount()
    for sequence in sequences:
        count.decision(sequence)
    assert count.lost == lost


@pytest.mark.parametrize(
    ('state', 'lost'),
    [(EpisodeState.RESETTING, 5), (EpisodeState.RUNNING, 1), (EpisodeState.TERMINATED, 0)],
)
def test_transitions_that_never_came_are_counted_from_the_first_status_on(
    state: EpisodeState, lost: int
) -> None:
    count = LossCount()
    count.status(status(state))  # at step 3
    other = 'two' if state is EpisodeState.TERMINATED else 'one'
    for step in (5, 6) if lost else (0, 1):
        count.transition(replace(step_id(step), episode_id=other))
    assert count.lost == lost


def test_each_gate_counts_its_own_decisions() -> None:
    count = LossCount()
    for sequence, gate in ((1, 'a'), (1, 'b'), (2, 'a'), (2, 'b'), (3, 'b'), (3, 'a')):
        count.decision(sequence, gate)
    assert count.lost == 0
    count.decision(6, 'a')
    assert count.lost == 2


def test_two_processes_of_one_gate_that_take_turns_lose_nothing() -> None:
    count = LossCount()
    for sequence, sender in ((30, b'a'), (1, b'b'), (31, b'a'), (2, b'b'), (3, b'b'), (32, b'a')):
        count.decision(sequence, 'gate', sender)
    assert count.lost == 0
    count.decision(6, 'gate', b'b')
    assert count.lost == 2
    count.decision(4, 'gate', b'c')  # started again, and not heard from its first on
    assert count.lost == 5


@pytest.mark.parametrize(
    ('steps', 'lost'),
    [
        ([('one', 0), ('one', 1), ('two', 0), ('two', 1)], 0),
        ([('one', 5), ('one', 6)], 0),
        ([('one', 0), ('one', 4), ('one', 5)], 3),
        ([('one', 0), ('two', 2)], 2),
        ([('one', 0), ('one', 1), ('one', 1), ('one', 0), ('one', 2)], 0),
    ],
    ids=['whole', 'begun before', 'gap', 'begin of a later episode', 'said twice'],
)
def test_gap_in_steps_of_an_episode_is_counted(steps: list[tuple[str, int]], lost: int) -> None:
    count = LossCount()
    for episode, step in steps:
        count.transition(replace(step_id(step), episode_id=episode))
    assert count.lost == lost


@pytest.mark.parametrize('state', [EpisodeState.RESETTING, EpisodeState.RUNNING])
def test_silence_in_an_episode_is_declared_once_and_signed(
    watch: EnvironmentWatch, state: EpisodeState
) -> None:
    watch.on_status(status(state), at(0.0))
    assert watch.episode_runs
    assert look_until(watch, 0.0, PATIENCE) == []
    (last,) = look_until(watch, PATIENCE, 5.0)
    assert last.id == status().id
    assert last.state is EpisodeState.TRUNCATED
    assert last.ending == 'environment_lost'
    assert last.declared_by == 'recorder'
    assert last.message == ('The environment has been silent for 0.90 s; 0.80 s are allowed.')
    assert not watch.episode_runs


@pytest.mark.parametrize(
    'state', [EpisodeState.IDLE, EpisodeState.TERMINATED, EpisodeState.TRUNCATED]
)
def test_silence_outside_an_episode_is_no_ending(
    watch: EnvironmentWatch, state: EpisodeState
) -> None:
    watch.on_status(status(state), at(0.0))
    assert not watch.episode_runs
    assert look_until(watch, 0.0, 5.0) == []


def test_nobody_heard_yet_is_no_ending(watch: EnvironmentWatch) -> None:
    assert look_until(watch, 0.0, 5.0) == []


def test_each_episode_has_its_own_ending(watch: EnvironmentWatch) -> None:
    watch.on_status(status(episode='one'), at(0.0))
    assert len(look_until(watch, 0.0, 2.0)) == 1
    watch.on_status(status(episode='two'), at(2.0))
    (last,) = look_until(watch, 2.0, 4.0)
    assert last.id.episode_id == 'two'


def test_recorder_that_slept_itself_accuses_nobody(watch: EnvironmentWatch) -> None:
    watch.on_status(status(), at(0.0))
    assert look_until(watch, 0.0, 0.2) == []
    assert watch.poll(at(30.0)) is None
    watch.on_status(status(), at(30.1))
    assert look_until(watch, 30.0, 30.8) == []


def test_environment_that_died_while_the_recorder_slept_is_found(watch: EnvironmentWatch) -> None:
    watch.on_status(status(), at(0.0))
    assert look_until(watch, 0.0, 0.2) == []
    assert len(look_until(watch, 30.0, 32.0)) == 1
