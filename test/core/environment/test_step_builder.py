# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which decision answered a step's action, who held it, and what one closed step is made of."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.environment.step_builder import answering, is_on_new_action
from boundary_env_ros.core.records.decision import (
    GateDecision,
    Reason,
    RuleInput,
    RuleResult,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.records.transition import Kind
from support.core_world import step_id, Timepiece
from support.episode_world import EpisodeWorld, NEAR_GOAL

NOT_CONSIDERED = (
    Reason.WRONG_DIGEST, Reason.WRONG_AGENT, Reason.WRONG_EPISODE, Reason.WRONG_LEASE,
    Reason.OUT_OF_ORDER,
)  # fmt: skip
HEARD = (Reason.NOT_FINITE, Reason.WRONG_SHAPE, Reason.ACTION_TOO_OLD, Reason.OUT_OF_BOUNDS)


def decision(
    verdict: Verdict, trigger: Trigger = Trigger.REQUEST, reason: Reason | None = None
) -> GateDecision:
    rules: tuple[RuleResult, ...] = ()
    if reason is not None:
        rules = (RuleResult(rule='authority', outcome=verdict, reason=reason),)
    return GateDecision(
        id=step_id(1), sequence=1, verdict=verdict,
        inputs=RuleInput(trigger=trigger, time_step=0.1), decided=Timepiece().now,
        rules=rules,
    )  # fmt: skip


ADMITTED = decision(Verdict.ADMITTED)
LIMITED = decision(Verdict.LIMITED, reason=Reason.RATE_LIMIT)
STOPPED = decision(Verdict.STOPPED, reason=Reason.OBSTACLE_STOP)
REJECTED = decision(Verdict.REJECTED, reason=Reason.NOT_FINITE)
HELD = decision(Verdict.HELD, Trigger.TIMER, Reason.COMMAND_LATE)
BRAKED = decision(Verdict.STOPPED, Trigger.TIMER, Reason.COMMAND_TIMEOUT)
STRANGER = decision(Verdict.REJECTED, reason=Reason.WRONG_LEASE)


@pytest.mark.parametrize(
    ('decisions', 'index'),
    [
        ((), -1),
        ((HELD, BRAKED), -1),
        ((ADMITTED,), 0),
        ((HELD, LIMITED, BRAKED), 1),
        ((ADMITTED, LIMITED), 1),
        ((ADMITTED, REJECTED), 0),
        ((REJECTED, ADMITTED), 1),
        ((REJECTED, REJECTED), 1),
        ((STOPPED, REJECTED), 0),
        ((STRANGER,), -1),
        ((STRANGER, REJECTED, STRANGER), 1),
        ((ADMITTED, STRANGER), 0),
    ],
)
def test_the_decision_that_answers_a_step_is_the_last_on_an_action_that_was_heard(
    decisions: tuple[GateDecision, ...], index: int
) -> None:
    assert answering(decisions) == index


@given(st.lists(st.sampled_from([ADMITTED, LIMITED, STOPPED, REJECTED, HELD, BRAKED, STRANGER])))
def test_a_step_is_answered_whenever_the_policy_acted(decisions: list[GateDecision]) -> None:
    index = answering(tuple(decisions))
    acted = [d for d in decisions if is_on_new_action(d)]
    assert (index >= 0) is bool(acted)
    if acted:
        best = decisions[index]
        good = [d for d in acted if d.verdict is not Verdict.REJECTED]
        assert best is (good or acted)[-1]


@pytest.mark.parametrize('reason', NOT_CONSIDERED)
def test_a_request_that_is_not_the_holders_next_is_no_action(reason: Reason) -> None:
    assert not is_on_new_action(decision(Verdict.REJECTED, reason=reason))


@pytest.mark.parametrize('reason', HEARD)
def test_a_refused_action_of_the_holder_is_an_action(reason: Reason) -> None:
    assert is_on_new_action(decision(Verdict.REJECTED, reason=reason))


def test_a_closed_step_tells_all_versions_and_wrappers() -> None:
    world = EpisodeWorld()
    world.begin(client_version='9.9', wrappers=('TimeAware', 'Flatten'))
    world.run_until(lambda: len(world.transitions) > 3)
    for transition in world.transitions:
        assert transition.contract == world.contract.name
        assert transition.contract_version == world.contract.version
        assert transition.software_version == 'test'
        assert transition.client_version == '9.9'
        assert transition.wrappers == ('TimeAware', 'Flatten')
        assert transition.seed == 7
        assert transition.pacing is world.contract.pacing


def test_the_reward_of_a_step_is_the_sum_of_its_terms() -> None:
    world = EpisodeWorld().start(goal=NEAR_GOAL)
    world.finish()
    for transition in world.transitions:
        total = sum(term.value for term in transition.reward_terms)
        assert transition.reward == pytest.approx(total)
        assert bool(transition.reward_terms) is (transition.kind is Kind.STEP)


def test_only_the_reset_carries_a_reset_record() -> None:
    world = EpisodeWorld().start()
    world.run(0.5)
    assert [t.reset is not None for t in world.transitions] == [True] + [False] * 5


def test_what_stands_in_the_decision_that_answered_a_step_is_read_from_there() -> None:
    world = EpisodeWorld().start()
    world.run(0.5)
    reset, *steps = world.transitions
    assert (reset.answer, reset.request, reset.observed, reset.received) == (None,) * 4
    for step in steps:
        answer = step.decisions[step.decision]
        request = answer.request
        assert request is not None
        assert (step.request, step.received) == (request, answer.received)
        told = (step.observed, step.delivered, step.requested)
        assert told == (request.observed, request.delivered, request.requested)


def test_a_step_without_an_action_is_of_the_observation_before_it() -> None:
    world = EpisodeWorld().start()
    world.alive.discard('policy')
    world.run(0.2)
    earlier, late = world.transitions[-2:]
    assert late.overrun
    assert (late.observed, late.opened) == (earlier.closed, earlier.closed)
    assert (late.delivered, late.requested) == (None, None)


def test_decisions_belong_to_the_step_in_which_they_were_taken() -> None:
    world = EpisodeWorld().start()
    world.run(2.0)
    told = [d.sequence for t in world.transitions for d in t.decisions]
    assert told == sorted(set(told))
    assert told == list(range(told[0], told[-1] + 1))
