# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Damages in which several values, or several steps, are forged together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from boundary_env_ros.core.records.clock_offsets import as_diagnostics, ClockOffset
from boundary_env_ros.core.records.decision import GateDecision, Reason, RuleResult, Verdict
from boundary_env_ros.core.records.observation import FieldStatus, ObservationField
from boundary_env_ros.core.records.parts import KeyValue, NamedValues
from boundary_env_ros.core.records.transition import RewardTerm, Transition
from boundary_env_ros.core.timebase import Clock
from support.damage import (
    answer_of,
    find,
    is_admitted,
    is_second_reset,
    is_success,
    is_time_limit,
    later,
    put,
    remeasured,
    stamp_later,
    Steps,
    with_answer,
)

# Damages that span several steps -----------------------------------------------------------------


def drop_step(steps: Steps) -> Steps:
    i = find(steps, is_admitted)
    return [*steps[:i], *steps[i + 1 :]]


def drop_step_and_renumber(steps: Steps) -> Steps:
    """Take a step out and number those behind it anew, decisions included."""
    i = find(steps, is_admitted)
    gone, episode = len(steps[i].decisions), steps[i].id.episode_id
    behind = []
    for step in steps[i + 1 :]:
        if step.id.episode_id == episode:
            step = replace(
                step,
                id=replace(step.id, step=step.id.step - 1),
                decisions=tuple(replace(d, sequence=d.sequence - gone) for d in step.decisions),
            )
        behind.append(step)
    return [*steps[:i], *behind]


def drop_decision_and_renumber(steps: Steps) -> Steps:
    """Take the stops out of an overrun and number the decisions behind it anew."""
    i = find(steps, lambda s: s.overrun and s.decisions[-1].verdict is Verdict.STOPPED)
    gone = len(steps[i].decisions)
    held = replace(steps[i], decisions=())
    behind = [
        replace(
            step,
            decisions=tuple(replace(d, sequence=d.sequence - gone) for d in step.decisions),
        )
        for step in steps[i + 1 :]
    ]
    return [*steps[:i], held, *behind]


def repeat_step(steps: Steps) -> Steps:
    i = find(steps, is_admitted)
    return [*steps[: i + 1], steps[i], *steps[i + 1 :]]


def swap_steps(steps: Steps) -> Steps:
    i = find(steps, is_admitted)
    return [*steps[:i], steps[i + 1], steps[i], *steps[i + 2 :]]


def go_on_after_ending(steps: Steps) -> Steps:
    i = find(steps, is_success)
    more = replace(steps[i], id=replace(steps[i].id, step=steps[i].id.step + 1))
    return [*steps[: i + 1], more, *steps[i + 1 :]]


def come_back(steps: Steps) -> Steps:
    return [*steps, steps[0]]


def drop_reset(steps: Steps) -> Steps:
    return [step for i, step in enumerate(steps) if i != is_second_reset(steps)]


def drop_ending(steps: Steps) -> Steps:
    return [step for step in steps if not is_success(step)]


def longer_episode(steps: Steps) -> Steps:
    """Let the episode that ran into the time limit seem to go on by one more step."""
    i = find(steps, is_time_limit)
    last = steps[i]
    quiet = replace(last, truncated=False, ending='', declared_by='')
    more = replace(
        last,
        id=replace(last.id, step=last.id.step + 1),
        before=last.after,
        closed=later(last.closed, 100),
    )
    return [*steps[:i], quiet, more, *steps[i + 1 :]]


def reseed(steps: Steps) -> Steps:
    """Give the last episode, whose start was drawn, another seed everywhere in it."""
    episode = steps[-1].id.episode_id

    def change(step: Transition) -> Transition:
        if step.id.episode_id != episode:
            return step
        return replace(step, seed=4711)

    return [change(step) for step in steps]


def younger_pose(steps: Steps) -> Steps:
    """Make an observation younger in stamp and age, in the step that has it and in the next."""
    i = find(steps, is_admitted)

    def younger(found: tuple[ObservationField, ...]) -> tuple[ObservationField, ...]:
        return tuple(
            replace(f, captured=stamp_later(f.captured, 40), age=(f.age or 0.0) - 0.04)
            if f.name == 'pose'
            else f
            for f in found
        )

    now = replace(steps[i], after=younger(steps[i].after))
    following = replace(steps[i + 1], before=younger(steps[i + 1].before))
    return [*steps[:i], now, following, *steps[i + 2 :]]


def moved_goal(steps: Steps) -> Steps:
    """Move the goal of an episode to where the cart ended, in the reset and in every step."""
    episode = steps[find(steps, is_time_limit)].id.episode_id
    goal = (0.0, 0.0)

    def moved(found: tuple[ObservationField, ...]) -> tuple[ObservationField, ...]:
        return tuple(replace(f, values=goal) if f.name == 'goal' else f for f in found)

    def change(step: Transition) -> Transition:
        if step.id.episode_id != episode:
            return step
        reset = step.reset
        if reset is not None:
            sampled = tuple(
                NamedValues(name='goal', values=goal, unit=item.unit)
                if item.name == 'goal'
                else item
                for item in reset.sampled
            )
            reset = replace(reset, sampled=sampled)
        return replace(step, before=moved(step.before), after=moved(step.after), reset=reset)

    return [change(step) for step in steps]


def two_decisions_less(steps: Steps) -> Steps:
    """Leave a gap in the numbers of the gate."""
    i = find(steps, is_admitted)
    behind = [
        replace(
            step,
            decisions=tuple(replace(d, sequence=d.sequence + 2) for d in step.decisions),
        )
        for step in steps[i:]
    ]
    return [*steps[:i], *behind]


# Damages of one step in which several values are forged together ---------------------------------


def hide_clip(step: Transition) -> Transition:
    """Say that the action was admitted as it was."""
    return with_answer(step, verdict=Verdict.ADMITTED, rules=())


def hide_clip_under_rule(step: Transition) -> Transition:
    """Keep the rule, but pretend that it took less."""
    rule = answer_of(step).rules[0]
    assert rule.after is not None
    return with_answer(step, rules=(replace(rule, after=rule.after + 0.05),))


def invent_rule(step: Transition) -> Transition:
    """Slow the robot down and pretend that an obstacle was near."""
    decision = answer_of(step)
    slow = (decision.command[0] * 0.5, *decision.command[1:])
    template = replace(
        next(iter(decision.rules), None)
        or _some_rule(decision, before=decision.command[0], after=slow[0])
    )
    return with_answer(
        step, verdict=Verdict.LIMITED, rules=(template,), admitted_action=slow, command=slow
    )


def _some_rule(decision: GateDecision, *, before: float, after: float) -> Any:
    return RuleResult(
        rule='obstacle_slow.scan',
        outcome=Verdict.LIMITED,
        reason=Reason.OBSTACLE_SLOW,
        dimension=0,
        before=before,
        after=after,
        value=0.9,
        limit=0.95,
        unit='m',
    )


def publish_beyond_bounds(step: Transition) -> Transition:
    """Let the request through whole, in every field that tells of it."""
    asked = answer_of(step).requested_action
    return with_answer(
        step, verdict=Verdict.ADMITTED, rules=(), admitted_action=asked, command=asked
    )


def jump(step: Transition) -> Transition:
    """Let the request through faster than the rate allows, in every field that tells of it."""
    decision = answer_of(step)
    asked = tuple(min(0.8, value) for value in decision.requested_action)
    return with_answer(
        step,
        verdict=Verdict.ADMITTED,
        rules=(),
        admitted_action=asked,
        command=asked,
        request=replace(decision.request, action=asked) if decision.request else None,
    )


def drive_on(step: Transition) -> Transition:
    """Turn a stop before an obstacle into an admitted action, ending included."""
    i = max(i for i, d in enumerate(step.decisions) if d.verdict is Verdict.STOPPED)
    decision = replace(step.decisions[i], verdict=Verdict.ADMITTED, rules=())
    decision = replace(decision, admitted_action=decision.command)
    return replace(
        step,
        decisions=(*step.decisions[:i], decision, *step.decisions[i + 1 :]),
        truncated=False,
        ending='',
        declared_by='',
    )


def say_success(step: Transition) -> Transition:
    """Claim a success, and say in the diagnostics as well that it was found."""
    said = KeyValue(key='ending:success', value='reached')
    return replace(
        step,
        terminated=True,
        truncated=False,
        ending='success',
        declared_by='task:go_to_goal',
        diagnostics=(*step.diagnostics, said),
    )


def claim_success(step: Transition) -> Transition:
    """Turn the time limit into a success, with term and reward."""
    terms = tuple(
        RewardTerm(name=t.name, value=1.0) if t.name == 'goal' else t for t in step.reward_terms
    )
    return replace(
        step,
        terminated=True,
        truncated=False,
        ending='success',
        declared_by='task:go_to_goal',
        reward_terms=terms,
        reward=sum(term.value for term in terms),
    )


def raise_reward(step: Transition) -> Transition:
    terms = tuple(replace(t, value=t.value + 0.5) for t in step.reward_terms)
    return replace(step, reward_terms=terms, reward=sum(t.value for t in terms))


def faster_stage(step: Transition) -> Transition:
    """Make the policy faster and the reaction shorter by as much."""
    inference, reaction = step.latency.inference, step.latency.reaction
    assert inference.duration is not None
    assert reaction.duration is not None
    return replace(
        step,
        latency=replace(
            step.latency,
            inference=replace(inference, duration=inference.duration - 0.005),
            reaction=replace(reaction, duration=reaction.duration - 0.005),
        ),
    )


def older_answer(step: Transition) -> Transition:
    """Let the policy have skipped one action more, of an observation one step older."""
    request = answer_of(step).request
    assert request is not None
    older = replace(request, observed_step=request.observed_step - 1, skipped=request.skipped + 1)
    return with_answer(step, request=older)


def earlier_arrival(step: Transition) -> Transition:
    """Let the gate have had the request earlier, in every field that tells of it."""
    received = later(answer_of(step).received, -1)
    return remeasured(with_answer(step, received=received))


def forget_overrun(step: Transition) -> Transition:
    return replace(step, overrun=False)


def sensor_lost_for_nothing(step: Transition) -> Transition:
    return replace(step, ending='sensor_lost', declared_by='environment')


def widen_reset(step: Transition) -> Transition:
    """Reach another state than was sampled, with a tolerance that allows it."""
    reset = step.reset
    assert reset is not None
    achieved = tuple(
        replace(item, values=tuple(value + 0.5 for value in item.values))
        for item in reset.achieved
    )
    tolerance = tuple(
        replace(item, values=tuple(1.0 for _ in item.values)) for item in reset.tolerance
    )
    return replace(step, reset=replace(reset, achieved=achieved, tolerance=tolerance))


def clip_out_of_place(step: Transition) -> Transition:
    return put(step, 'after[velocity].clipped', True)


def leak(step: Transition) -> Transition:
    truth = replace(step.after[0], name='true_pose', source='/ground_truth')
    return replace(step, after=(*step.after, truth))


def leak_under_a_name(step: Transition) -> Transition:
    """Show the policy the evaluator's topic as its own pose."""
    return put(step, 'after[pose].source', '/ground_truth')


def fresh_although_old(step: Transition) -> Transition:
    """Make the scan old in its stamp and age, and still fresh."""
    scan = next(f for f in step.after if f.name == 'scan')
    old = replace(scan, captured=stamp_later(scan.captured, -900), age=(scan.age or 0.0) + 0.9)
    return put(step, 'after[scan]', old)


def stale_in_a_running_episode(step: Transition) -> Transition:
    """Make the pose too old, and say so, without ending the episode."""
    pose = next(f for f in step.after if f.name == 'pose')
    old = replace(
        pose,
        captured=stamp_later(pose.captured, -900),
        age=(pose.age or 0.0) + 0.9,
        status=FieldStatus.STALE,
    )
    return put(step, 'after[pose]', old)


def wall_clock_for_sim_time(step: Transition) -> Transition:
    closed = replace(step.closed, ros=replace(step.closed.ros, clock=Clock.ROS))
    return replace(step, closed=closed)


def forged_feedback(step: Transition) -> Transition:
    """Pretend that the robot already drove when the episode began, so that it may jump."""
    i = next(i for i, d in enumerate(step.decisions) if d.inputs.seeded)
    return put(step, f'decisions[{i}].inputs.previous_command', (0.6, 0.0))


def policy_on_desktop(*offset: float) -> Callable[[Transition], Transition]:
    """Let the policy's host be another one; of its clock offset and uncertainty are said."""

    def forge(step: Transition) -> Transition:
        for name in ('delivered', 'requested'):
            step = put(step, f'decisions[{step.decision}].request.{name}.ros.host', 'desktop')
        said = as_diagnostics(
            (ClockOffset(host='desktop', offset=offset[0], uncertainty=offset[1]),)
            if offset
            else ()
        )
        return remeasured(replace(step, diagnostics=(*step.diagnostics, *said)))

    return forge


def offset_of_own_host(step: Transition) -> Transition:
    own = ClockOffset(host=step.closed.ros.host, offset=0.0, uncertainty=1e9)
    return replace(step, diagnostics=(*step.diagnostics, *as_diagnostics((own,))))
