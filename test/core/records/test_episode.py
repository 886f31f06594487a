# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The life of an episode, move by move, and its endings."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.records.endings import BUILT_IN, EndingKind, foremost
from boundary_env_ros.core.records.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.records.parts import Pacing, StepId
from boundary_env_ros.errors import InvalidState
from support.core_world import step_id

STEP = step_id(0)

#: Every move there is; all others are errors with a name.
LEGAL = {
    (EpisodeState.IDLE, 'begin'): EpisodeState.RESETTING,
    (EpisodeState.RESETTING, 'run'): EpisodeState.RUNNING,
    (EpisodeState.RESETTING, 'truncate'): EpisodeState.TRUNCATED,
    (EpisodeState.RUNNING, 'step'): EpisodeState.RUNNING,
    (EpisodeState.RUNNING, 'terminate'): EpisodeState.TERMINATED,
    (EpisodeState.RUNNING, 'truncate'): EpisodeState.TRUNCATED,
    (EpisodeState.TERMINATED, 'begin'): EpisodeState.RESETTING,
    (EpisodeState.TRUNCATED, 'begin'): EpisodeState.RESETTING,
}
MOVES = ('begin', 'run', 'step', 'terminate', 'truncate')


def status(
    state: EpisodeState,
    id_: StepId = STEP,
    **known: Any,
) -> EpisodeStatus:
    return EpisodeStatus(id=id_, state=state, pacing=Pacing.REALTIME, **known)


def move(episode: EpisodeStatus, name: str) -> EpisodeStatus:
    if name == 'begin':
        return episode.begin(episode_id='e2', seed=3, client='policy')
    if name == 'run':
        return episode.run()
    if name == 'step':
        return episode.stepped()
    kind = EndingKind.TERMINATED if name == 'terminate' else EndingKind.TRUNCATED
    ending = 'success' if name == 'terminate' else 'time_limit'
    return episode.end(ending=ending, kind=kind, declared_by='environment', message='so')


@pytest.mark.parametrize(('state', 'name'), list(product(EpisodeState, MOVES)))
def test_every_move_of_the_table_is_made_and_every_other_refused(
    state: EpisodeState, name: str
) -> None:
    episode = status(state, step_id(4))
    to = LEGAL.get((state, name))
    if to is None:
        with pytest.raises(InvalidState, match=f'{state.name}'):
            move(episode, name)
    else:
        assert move(episode, name).state is to


@given(st.lists(st.sampled_from(MOVES), max_size=30))
def test_however_it_moves_an_episode_has_an_ending_exactly_when_it_is_over(
    moves: list[str],
) -> None:
    episode = status(EpisodeState.IDLE)
    for name in moves:
        try:
            episode = move(episode, name)
        except InvalidState:
            continue
        assert episode.state.over is bool(episode.ending) is bool(episode.declared_by)


def test_an_illegal_move_names_what_is_allowed() -> None:
    with pytest.raises(InvalidState) as caught:
        status(EpisodeState.IDLE).run()
    assert str(caught.value) == 'No such move from IDLE (expected RESETTING, got RUNNING).'


def test_a_new_episode_carries_nothing_of_the_last() -> None:
    last = status(
        EpisodeState.TRUNCATED, step_id(9), seed=1, client='a', ending='success',
        declared_by='task', message='done',
    )  # fmt: skip
    new = last.begin(episode_id='e2', seed=2, client='b')
    id_ = replace(step_id(0), episode_id='e2')
    assert new == status(EpisodeState.RESETTING, id_, seed=2, client='b')


def test_steps_are_counted_from_one() -> None:
    episode = status(EpisodeState.RUNNING)
    assert episode.stepped().stepped().id.step == 2


@pytest.mark.parametrize(('ending', 'by'), [('', 'environment'), ('success', ''), ('', '')])
def test_an_ending_without_a_name_or_a_declarer_is_refused(ending: str, by: str) -> None:
    with pytest.raises(InvalidState, match='An ending needs a name and a declarer'):
        status(EpisodeState.RUNNING).end(ending=ending, kind=EndingKind.TRUNCATED, declared_by=by)


@pytest.mark.parametrize('state', list(EpisodeState))
def test_an_episode_is_over_when_it_was_terminated_or_truncated(state: EpisodeState) -> None:
    assert state.over is (state.name in ('TERMINATED', 'TRUNCATED'))


# Endings -----------------------------------------------------------------------------------------


def test_only_verdicts_of_the_task_terminate() -> None:
    terminating = {ending for ending, kind in BUILT_IN.items() if kind is EndingKind.TERMINATED}
    assert terminating == {'success', 'failure'}


def test_a_failure_of_the_machinery_goes_before_a_verdict_of_the_task() -> None:
    order = list(BUILT_IN)
    verdicts = [order.index('failure'), order.index('success')]
    losses = [order.index(ending) for ending in order if ending.endswith('_lost')]
    assert max(losses) < min(verdicts)
    assert order[-1] == 'time_limit'


@given(st.sets(st.sampled_from(sorted(BUILT_IN)), min_size=1), st.permutations(sorted(BUILT_IN)))
def test_of_several_endings_the_first_by_precedence_counts(
    present: set[str], precedence: list[str]
) -> None:
    assert foremost(present, precedence) == min(present, key=precedence.index)


def test_without_an_ending_there_is_none() -> None:
    assert foremost([], BUILT_IN) is None
    assert foremost(['unheard of'], BUILT_IN) is None
