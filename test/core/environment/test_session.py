# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One client at a time holds the episode; the others are told who, and nobody is taken for him."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hypothesis import given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.contract.model import Pacing
from boundary_env_ros.core.environment.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.environment.session import Session, SessionState
from boundary_env_ros.core.gate.decision import StepId
from boundary_env_ros.core.timebase import Clock, ClockReading, Stamp
from boundary_env_ros.errors import (
    BoundaryError,
    EpisodeEnded,
    InvalidState,
    PeerLost,
    RequestRejected,
    ResetNeeded,
    ResultCode,
    SimulationFailed,
)


def running(client: str = 'ann', episode_id: str = 'one') -> Session:
    session = Session()
    session.begin(client)
    session.began(episode_id)
    return session


def said(
    episode_id: str,
    state: EpisodeState,
    ending: str = '',
    client: str = 'ann',
    stamp: ClockReading | None = None,
) -> EpisodeStatus:
    return EpisodeStatus(
        id=StepId(digest='', agent='', episode_id=episode_id),
        state=state,
        pacing=Pacing.REALTIME,
        client=client,
        ending=ending,
        stamp=stamp,
    )


def at(steady: int, host: str = 'robot') -> ClockReading:
    # In lockstep the ROS clock stands still between two steps.
    return ClockReading(ros=Stamp(clock=Clock.ROS, nanoseconds=0, host=host), steady=steady)


@contextmanager
def refused(code: ResultCode, *words: str) -> Iterator[None]:
    """Expect a refusal with a code, whose message has some words."""
    with pytest.raises(RequestRejected) as refusal:
        yield
    assert refusal.value.code is code
    assert all(word in str(refusal.value) for word in words), refusal.value


# Beginning ---------------------------------------------------------------------------------------


def test_a_second_client_is_refused_and_told_who_holds_what() -> None:
    session = running()
    with refused(ResultCode.LEASE_HELD, "'ann'", 'one'):
        session.begin('bob')
    assert (session.client, session.episode_id) == ('ann', 'one')


def test_a_second_client_is_refused_during_a_reset_too() -> None:
    session = Session()
    session.begin('ann')
    for client in ('bob', 'ann'):
        with refused(ResultCode.LEASE_HELD, "'ann'", 'is being reset'):
            session.begin(client)


def test_a_client_without_a_name_is_refused() -> None:
    with refused(ResultCode.INVALID_ARGUMENT, 'name of the client'):
        Session().begin('')


def test_the_holder_may_begin_anew_and_leaves_its_episode_abandoned() -> None:
    session = running()
    session.begin('ann')
    session.began('two')
    session.step('two')
    with pytest.raises(EpisodeEnded, match='abandoned'):
        session.step('one')


def test_the_holder_may_not_begin_anew_in_the_middle_of_a_step() -> None:
    session = running()
    session.step('one')
    with refused(ResultCode.LEASE_HELD, 'under way'):
        session.begin('ann')


def test_after_a_failed_reset_anybody_may_begin() -> None:
    session = Session()
    session.begin('ann')
    session.failed()
    session.begin('bob')
    session.began('two')
    assert session.client == 'bob'


def test_an_episode_that_ended_while_its_client_was_away_keeps_nobody_out() -> None:
    session = running()
    session.heard(said('one', EpisodeState.TRUNCATED, 'policy_lost'))
    session.begin('bob')
    session.began('two')
    with pytest.raises(EpisodeEnded, match='policy_lost'):
        session.step('one')


def test_its_client_may_still_fetch_how_it_ended() -> None:
    session = running()
    session.heard(said('one', EpisodeState.TRUNCATED, 'policy_lost'))
    session.step('one')
    assert session.state is SessionState.STEPPING


def test_an_environment_that_was_started_anew_keeps_nobody_out() -> None:
    session = Session()
    session.heard(said('before', EpisodeState.TRUNCATED, 'abandoned'))
    session.begin('ann')
    session.began('one')
    with refused(ResultCode.LEASE_HELD, "'ann'"):
        session.begin('bob')  # what was said last is older than the episode
    session.heard(said('one', EpisodeState.RUNNING))
    with refused(ResultCode.LEASE_HELD, "'ann'"):
        session.begin('bob')
    session.heard(said('', EpisodeState.IDLE))
    session.begin('bob')
    session.began('two')
    with pytest.raises(PeerLost, match='environment_lost'):
        session.step('one')


def test_what_was_said_before_the_last_word_lets_nobody_in() -> None:
    session = running()
    session.heard(said('one', EpisodeState.RUNNING, stamp=at(200)))
    # The recorder's word on an episode before, found late; and on this one, by mistake.
    for episode_id in ('before', 'one'):
        session.heard(said(episode_id, EpisodeState.TRUNCATED, 'environment_lost', stamp=at(100)))
        with refused(ResultCode.LEASE_HELD, "'ann'"):
            session.begin('bob')


def test_an_ending_is_not_taken_back_by_what_was_said_before_it() -> None:
    session = running()
    session.heard(said('one', EpisodeState.TRUNCATED, 'environment_lost', stamp=at(200)))
    session.heard(said('one', EpisodeState.RUNNING, stamp=at(100)))
    session.begin('bob')


def test_the_clock_of_a_host_that_was_started_anew_begins_anew() -> None:
    session = running()
    session.heard(said('one', EpisodeState.RUNNING, stamp=at(200)))
    session.heard(said('', EpisodeState.IDLE, stamp=at(100)))
    session.begin('bob')
    session.began('two')
    session.heard(said('two', EpisodeState.TRUNCATED, 'policy_lost', stamp=at(110)))
    session.begin('ann')


def test_steady_clocks_of_two_hosts_are_not_compared() -> None:
    session = running()
    session.heard(said('one', EpisodeState.RUNNING, stamp=at(200)))
    session.heard(said('one', EpisodeState.TRUNCATED, 'environment_lost', stamp=at(100, 'base')))
    session.begin('bob')


# Stepping ----------------------------------------------------------------------------------------


def test_a_step_before_any_reset_is_not_reset() -> None:
    for episode_id in ('', 'one'):
        with pytest.raises(ResetNeeded):
            Session().step(episode_id)


def test_a_step_of_an_unknown_episode_is_refused_by_name() -> None:
    session = running()
    for episode_id in ('', 'two'):
        with refused(ResultCode.UNKNOWN_EPISODE, 'one', episode_id or 'none'):
            session.step(episode_id)


def test_a_step_of_somebody_elses_episode_names_him() -> None:
    session = Session()
    session.heard(said('theirs', EpisodeState.RUNNING, client='policy-1'))
    with refused(ResultCode.LEASE_HELD, "'policy-1'"):
        session.step('theirs')


def test_two_steps_at_once_are_one_too_many() -> None:
    session = running()
    session.step('one')
    with refused(ResultCode.LEASE_HELD, 'Another step of this episode'):
        session.step('one')
    session.stepped('one')
    session.step('one')


@pytest.mark.parametrize(
    ('ending', 'error'),
    [
        ('success', EpisodeEnded),
        ('time_limit', EpisodeEnded),
        ('policy_lost', EpisodeEnded),
        ('simulation_failed', SimulationFailed),
        ('robot_lost', PeerLost),
        ('gate_lost', PeerLost),
        ('environment_lost', PeerLost),
    ],
)
def test_a_step_after_the_ending_says_what_ended_it(
    ending: str, error: type[BoundaryError]
) -> None:
    session = running()
    session.step('one')
    session.over('one', ending)
    session.stepped('one')
    with pytest.raises(error, match=ending):
        session.step('one')
    if error is PeerLost:
        with pytest.raises(PeerLost) as raised:
            session.step('one')
        assert raised.value.code is ResultCode[ending.upper()]


# Closing -----------------------------------------------------------------------------------------


def test_only_the_holder_closes() -> None:
    session = running()
    with refused(ResultCode.LEASE_HELD, "'ann'", "'bob'"):
        session.closing('one', 'bob')
    assert session.closing('one', 'ann')
    session.over('one', 'abandoned')
    assert not session.closing('one', 'ann'), 'it would be abandoned twice'
    with refused(ResultCode.LEASE_HELD, "'ann'"):
        session.closing('one', 'bob')


def test_closing_what_never_was_is_refused() -> None:
    for session in (Session(), running()):
        for episode_id in ('', 'two'):
            with refused(ResultCode.UNKNOWN_EPISODE):
                session.closing(episode_id, 'ann')


def test_a_step_that_comes_back_after_the_closing_touches_nobody_elses_session() -> None:
    session = running()
    session.step('one')
    session.over('one', 'abandoned')
    session.begin('bob')
    session.stepped('one')
    session.over('one', 'abandoned')
    assert session.state is SessionState.RESETTING
    session.began('two')
    session.over('one', 'abandoned')
    assert (session.client, session.state) == ('bob', SessionState.RUNNING)


def test_a_reset_that_was_not_begun_cannot_be_done() -> None:
    with pytest.raises(InvalidState, match='RESETTING'):
        Session().began('one')
    with pytest.raises(InvalidState, match='RUNNING'):
        running().failed()


# Whatever they do --------------------------------------------------------------------------------

_CALLS = ('begin', 'began', 'failed', 'step', 'stepped', 'over', 'closing')


@given(
    st.lists(
        st.tuples(
            st.sampled_from(_CALLS),
            st.sampled_from(['ann', 'ann', 'bob', '']),
            st.sampled_from(['one', 'one', 'two', '']),
        ),
        max_size=30,
    ),
    st.booleans(),
)
def test_a_holder_is_never_put_out_by_another_client(
    calls: list[tuple[str, str, str]], begun: bool
) -> None:
    session = running() if begun else Session()
    for call, client, episode_id in calls:
        before = (session.client, session.episode_id, session.state)
        try:
            if call == 'begin':
                session.begin(client)
                assert client
                assert before[0] in ('', client)
            elif call == 'began':
                session.began(episode_id or 'three')
            elif call == 'failed':
                session.failed()
            elif call == 'step':
                session.step(episode_id)
                assert before == (before[0], episode_id, SessionState.RUNNING)
            elif call == 'stepped':
                session.stepped(episode_id or 'none')
            elif call == 'over':
                session.over(episode_id or 'none', 'abandoned')
            elif session.closing(episode_id, client):
                assert before[:2] == (client, episode_id)
        except BoundaryError:
            assert before == (session.client, session.episode_id, session.state)
        assert (session.state is SessionState.FREE) == (session.client == '')
