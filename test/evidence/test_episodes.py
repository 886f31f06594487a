# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Records become episodes: each step with all that belongs to it, however late it came."""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest
import random

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.records.environment_event import EventKind
from boundary_env_ros.core.records.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.records.transition import (
    ActuationEvidence,
    PrivilegedObservation,
    Transition,
)
from boundary_env_ros.evidence.episodes import Episodes, EpisodeStep, HELD
from support.record_maker import Piece


def of_agent(piece: Piece, agent: str) -> Piece:
    return replace(piece, id=replace(piece.id, agent=agent))


def read(records: list[Piece], contract: Contract | None = None) -> list[EpisodeStep]:
    return list(Episodes(records, contract))


def test_every_transition_comes_once_and_in_its_order(
    record: list[Piece], transitions: list[Transition]
) -> None:
    assert [step.transition for step in read(record)] == transitions


def test_steps_have_what_belongs_to_them(record: list[Piece], contract: Contract) -> None:
    steps = read(record, contract)
    saw = [p for p in record if isinstance(p, PrivilegedObservation)]
    late = [p for p in record if isinstance(p, ActuationEvidence)]
    assert [step.truth for step in steps if step.truth is not None] == saw
    told = [step for step in steps if step.late is not None]
    # A command that was sent when all was over is of no step.
    assert 0 < len(told) == len(late) - 1
    for step in told:
        assert step.transition.answer.sequence == step.late.decision_sequence
        assert step.transition.actuated is None
    last = [step for step in steps if step.last]
    assert [step.episode.number for step in last] == [1, 2, 3, 4, 5]
    assert all(step.transition.ending == step.episode.ending for step in last)
    kinds = [{event.kind for event in step.events} for step in last]
    assert all(EventKind.TERMINATION in found for found in kinds)


def test_agents_are_read_apart_however_their_records_are_mixed(record: list[Piece]) -> None:
    others = [of_agent(piece, 'other') for piece in record]
    mixed = [p for pair in zip_longest(record, others[7:]) for p in pair if p is not None]
    steps = read([*others[:7], *mixed])
    alone = read(record)
    for agent in ('cart', 'other'):
        own = [step for step in steps if step.transition.id.agent == agent]
        assert [s.transition.id.step for s in own] == [s.transition.id.step for s in alone]
        assert [s.late is None for s in own] == [s.late is None for s in alone]
        assert [s.last for s in own] == [s.last for s in alone]
        assert [s.episode.client for s in own] == [s.episode.client for s in alone]


def test_ending_that_others_declare_may_come_before_or_behind_the_last_step(
    record: list[Piece], transitions: list[Transition]
) -> None:
    cut = transitions[:5]
    status = next(p for p in record if isinstance(p, EpisodeStatus) and p.id == cut[-1].id)
    lost = replace(
        status, state=EpisodeState.TRUNCATED, ending='environment_lost', declared_by='recorder'
    )
    for place in (0, 4, 5):
        (*_, last) = read([*cut[:place], lost, *cut[place:]])
        episode = last.episode
        assert (episode.ending, episode.how, episode.declared_by) == (
            'environment_lost',
            'truncated',
            'recorder',
        )


def test_episode_that_goes_on_behind_another_keeps_its_number(
    transitions: list[Transition],
) -> None:
    one = transitions[:3]
    other = [replace(t, id=replace(t.id, episode_id='other')) for t in one]
    assert [s.episode.number for s in read([*one, *other, *one])] == [1] * 3 + [2] * 3 + [1] * 3


def test_no_more_steps_are_held_back_than_may_be(transitions: list[Transition]) -> None:
    passed = 0

    def many():
        nonlocal passed
        for number in range(5 * HELD):
            passed += 1
            yield replace(transitions[1], id=replace(transitions[1].id, step=number))

    assert all(passed - number <= HELD + 1 for number, _ in enumerate(Episodes(many())))


def test_order_of_what_belongs_to_a_step_does_not_matter(record: list[Piece]) -> None:
    shuffled: list[Piece] = []
    waiting: list[Piece] = []
    draw = random.Random(1)
    for piece in record:
        waiting.append(piece)
        if isinstance(piece, Transition):
            draw.shuffle(waiting)
            shuffled += waiting
            waiting.clear()
    steps, alone = read([*shuffled, *waiting]), read(record)
    assert [step.truth for step in steps] == [step.truth for step in alone]
    assert [step.late for step in steps] == [step.late for step in alone]
