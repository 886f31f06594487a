# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Ways to damage an honest record, each with the rule that must name it.

A damage takes a list of transitions and returns another one; nothing is changed in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
import re
from typing import Any

from boundary_env_ros.core.contract import Pacing
from boundary_env_ros.core.decision import GateDecision, Reason, Trigger, Verdict
from boundary_env_ros.core.latency import measure
from boundary_env_ros.core.observation import FieldStatus, ObservationField
from boundary_env_ros.core.timebase import Clock, Instant, Stamp
from boundary_env_ros.core.transition import Kind, NamedValues, RewardTerm, Transition

Steps = list[Transition]
Damage = Callable[[Steps], Steps]
Where = Callable[[Transition], bool]

MS = 1_000_000


@dataclass(frozen=True)
class Case:
    """One damage and the rule that must name it."""

    name: str
    rule: str
    damage: Damage


# Tools -------------------------------------------------------------------------------------------


def put(record: Any, path: str, value: Any) -> Any:
    """Return a record with another value at a path such as ``decisions[0].request.action``."""
    head, _, rest = path.partition('.')
    match = re.fullmatch(r'(\w+)(?:\[(-?\w+)\])?', head)
    assert match is not None
    name, index = match[1], match[2]
    present = getattr(record, name)
    if index is None:
        new = put(present, rest, value) if rest else value
    else:
        at = _index(present, index)
        item = put(present[at], rest, value) if rest else value
        new = (*present[:at], item, *present[at + 1 :])
    return replace(record, **{name: new(present) if callable(new) else new})


def _index(items: tuple[Any, ...], index: str) -> int:
    if re.fullmatch(r'-?\d+', index):
        return int(index) % len(items)
    return next(i for i, item in enumerate(items) if item.name == index)


def find(steps: Steps, where: Where) -> int:
    """Return the index of the first step of some kind."""
    return next(i for i, step in enumerate(steps) if where(step))


def at(where: Where, **paths: Any) -> Damage:
    """Change values in the first step of some kind; ``__`` in a name stands for a path's dot."""

    def damage(steps: Steps) -> Steps:
        i = find(steps, where)
        step = steps[i]
        for path, value in paths.items():
            step = put(step, path, value)
        return [*steps[:i], step, *steps[i + 1 :]]

    return damage


def edit(where: Where, change: Callable[[Transition], Transition]) -> Damage:
    """Change the first step of some kind."""

    def damage(steps: Steps) -> Steps:
        i = find(steps, where)
        return [*steps[:i], change(steps[i]), *steps[i + 1 :]]

    return damage


def everywhere(change: Callable[[Transition], Transition]) -> Damage:
    """Change every step."""
    return lambda steps: [change(step) for step in steps]


def answer_of(step: Transition) -> GateDecision:
    return step.decisions[step.decision]


def with_answer(step: Transition, **changes: Any) -> Transition:
    """Return a step whose answering decision is changed, and what the step copied from it too."""
    decision = replace(answer_of(step), **changes)
    index = step.decision
    return replace(
        step,
        decisions=(*step.decisions[:index], decision, *step.decisions[index + 1 :]),
        verdict=decision.verdict,
        requested_action=decision.requested_action,
        admitted_action=decision.admitted_action,
        commanded_action=decision.command,
        received=decision.received,
        commanded=decision.commanded,
    )


def remeasured(step: Transition) -> Transition:
    """Return a step whose latency fits its instants."""
    budget = {
        f.name: stage.budget
        for f in fields(step.latency)
        if (stage := getattr(step.latency, f.name)).budget is not None
    }
    return replace(
        step,
        latency=measure(
            captured=step.captured,
            observed=step.observed,
            delivered=step.delivered,
            requested=step.requested,
            received=step.received,
            commanded=step.commanded,
            actuated=step.actuated,
            budget=budget,
        ),
    )


def later(instant: Instant | None, milliseconds: int) -> Instant:
    """Return a later instant, on both clocks."""
    assert instant is not None
    ros = replace(instant.ros, nanoseconds=instant.ros.nanoseconds + milliseconds * MS)
    return Instant(ros=ros, steady=instant.steady + milliseconds * MS)


def stamp_later(stamp: Stamp | None, milliseconds: int) -> Stamp:
    assert stamp is not None
    return replace(stamp, nanoseconds=stamp.nanoseconds + milliseconds * MS)


def scaled(values: Iterable[float], factor: float) -> tuple[float, ...]:
    return tuple(value * factor for value in values)


# Kinds of steps ----------------------------------------------------------------------------------


def is_reset(step: Transition) -> bool:
    return step.kind is Kind.RESET


def is_second_reset(steps: Steps) -> int:
    return [i for i, step in enumerate(steps) if is_reset(step)][1]


def is_clipped(step: Transition) -> bool:
    """Return whether the bounds, and nothing else, limited the action."""
    return step.decision >= 0 and [r.reason for r in answer_of(step).rules] == [
        Reason.OUT_OF_BOUNDS
    ]


def is_admitted(step: Transition) -> bool:
    """Return whether the robot was let go as it was asked to."""
    return step.verdict is Verdict.ADMITTED and step.id.step > 4 and any(step.commanded_action)


def is_rate_limited(step: Transition) -> bool:
    return step.decision >= 0 and any(r.reason is Reason.RATE_LIMIT for r in answer_of(step).rules)


def is_stopped(step: Transition) -> bool:
    return step.cause == 'safety_stop'


def is_success(step: Transition) -> bool:
    return step.cause == 'success'


def is_time_limit(step: Transition) -> bool:
    return step.cause == 'time_limit'


def is_overrun(step: Transition) -> bool:
    return step.overrun


def is_held(step: Transition) -> bool:
    return any(decision.verdict is Verdict.HELD for decision in step.decisions)


def is_rejected(step: Transition) -> bool:
    return step.verdict is Verdict.REJECTED


def is_actuated(step: Transition) -> bool:
    return step.actuated is not None


def is_seeded(step: Transition) -> bool:
    return any(decision.seeded for decision in step.decisions)


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
    held = replace(steps[i], decisions=(), held_by='driver')
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
    quiet = replace(last, truncated=False, cause='', declared_by='')
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
        reset = replace(step.reset, seed=4711) if step.reset else None
        return replace(step, seed=4711, reset=reset)

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
    from boundary_env_ros.core.decision import RuleResult

    return RuleResult(
        rule='obstacle_slow',
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
        requested_action=asked,
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
        cause='',
        declared_by='',
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
        cause='success',
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


def earlier_answer(step: Transition) -> Transition:
    """Move the instant of the request in the step, with its stages."""
    return remeasured(replace(step, requested=later(step.requested, -3)))


def earlier_arrival(step: Transition) -> Transition:
    """Let the gate have had the request earlier, in every field that tells of it."""
    received = later(answer_of(step).received, -1)
    return remeasured(with_answer(step, received=received))


def forget_overrun(step: Transition) -> Transition:
    return replace(step, overrun=False, held_by='')


def sensor_lost_for_nothing(step: Transition) -> Transition:
    return replace(step, cause='sensor_lost', declared_by='environment')


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
    i = next(i for i, d in enumerate(step.decisions) if d.seeded)
    return put(step, f'decisions[{i}].previous_command', (0.6, 0.0))


CASES = (
    # Whose record it is.
    Case('no client version', 'versions-present', at(is_admitted, client_version='')),
    Case('no software version', 'versions-present', at(is_admitted, software_version='')),
    Case('no contract version', 'versions-present', at(is_admitted, contract_version='')),
    Case(
        'gate without a version',
        'versions-present',
        at(is_admitted, **{'decisions[0].software_version': ''}),
    ),
    Case('another version', 'versions-constant', at(is_admitted, software_version='0.2.0')),
    Case('another wrapper', 'versions-constant', at(is_admitted, wrappers=('TimeLimit',))),
    Case('short digest', 'digest-well-formed', at(is_admitted, **{'id.digest': 'sha256:ab'})),
    Case(
        'another digest',
        'digest-constant',
        at(is_admitted, **{'id.digest': 'sha256:' + '0' * 64}),
    ),
    Case(
        'another contract throughout',
        'digest-of-contract',
        everywhere(lambda step: put(step, 'id.digest', 'sha256:' + '0' * 64)),
    ),
    Case(
        'another pacing',
        'digest-of-contract',
        everywhere(lambda step: replace(step, pacing=Pacing.LOCKSTEP)),
    ),
    Case('another agent', 'agent-known', at(is_admitted, **{'id.agent': 'truck'})),
    Case('no UUID', 'episode-named', at(is_reset, **{'id.episode_id': 'episode 7'})),
    # The order of the steps.
    Case('a step is missing', 'step-continuous', drop_step),
    Case('a step is missing, renumbered', 'observation-chain', drop_step_and_renumber),
    Case('a step twice', 'step-continuous', repeat_step),
    Case('steps change places', 'time-advances', swap_steps),
    Case('a step after the ending', 'step-after-ending', go_on_after_ending),
    Case('an episode comes back', 'episode-in-one-piece', come_back),
    Case('the reset is missing', 'reset-first', drop_reset),
    Case('a reset without its record', 'reset-first', at(is_reset, reset=None)),
    Case('a reset with a reward', 'reset-neutral', at(is_reset, reward=1.0)),
    Case(
        'a reset that ends',
        'reset-neutral',
        at(is_reset, terminated=True, cause='success', declared_by='task:go_to_goal'),
    ),
    Case('an ending is missing', 'episode-ended', drop_ending),
    Case('another seed in a step', 'seed-constant', at(is_admitted, seed=7)),
    Case('another seed throughout', 'reset-recomputed', reseed),
    Case(
        'the clock goes back',
        'time-advances',
        edit(is_admitted, lambda step: replace(step, closed=later(step.closed, -300))),
    ),
    # Resets.
    Case(
        'a reset far off',
        'reset-verdict',
        at(is_reset, **{'reset.achieved[start].values': (0.0, 0.0, 0.0)}),
    ),
    Case('a wider tolerance', 'reset-as-contract', edit(is_reset, widen_reset)),
    Case('nobody confirmed', 'reset-confirmed', at(is_reset, **{'reset.confirmed_by': ''})),
    Case('the goal was moved', 'reset-recomputed', moved_goal),
    # Endings.
    Case('both flags', 'ending-exclusive', at(is_time_limit, terminated=True)),
    Case('no cause', 'ending-cause', at(is_success, cause='')),
    Case('a cause without ending', 'ending-cause', at(is_admitted, cause='success')),
    Case('no declarer', 'ending-declarer', at(is_success, declared_by='')),
    Case('a declarer without ending', 'ending-declarer', at(is_admitted, declared_by='me')),
    Case(
        'time limit as termination',
        'cause-mapping',
        at(is_time_limit, terminated=True, truncated=False),
    ),
    Case('an unknown cause', 'cause-mapping', at(is_time_limit, cause='boredom')),
    Case('time limit too early', 'time-limit', at(is_success, cause='time_limit')),
    Case('beyond the time limit', 'time-limit', longer_episode),
    Case(
        'no ending at the limit',
        'time-limit',
        at(is_time_limit, truncated=False, cause='', declared_by=''),
    ),
    Case('time limit as success', 'judgement-recomputed', edit(is_time_limit, claim_success)),
    Case(
        'a stop that ends nothing',
        'stop-ends-episode',
        at(is_stopped, truncated=False, cause='', declared_by=''),
    ),
    Case(
        'a stop of the gate without one',
        'stop-ends-episode',
        at(is_time_limit, cause='safety_stop', declared_by='safety_gate'),
    ),
    Case(
        'sensor lost for nothing',
        'sensor-loss-explained',
        edit(is_time_limit, sensor_lost_for_nothing),
    ),
    # Rewards.
    Case('a higher reward', 'reward-sum', at(is_admitted, reward=5.0)),
    Case('no number', 'reward-sum', at(is_admitted, reward=float('nan'))),
    Case('reward and terms', 'judgement-recomputed', edit(is_admitted, raise_reward)),
    # Observations.
    Case('a field less', 'fields-as-contract', at(is_admitted, after=lambda after: after[1:])),
    Case(
        'a value less',
        'fields-as-contract',
        at(is_admitted, **{'after[pose].values': (0.0, 0.0)}),
    ),
    Case(
        'another frame', 'fields-as-contract', at(is_admitted, **{'after[pose].frame_id': 'map'})
    ),
    Case('ground truth leaks', 'evaluator-withheld', edit(is_admitted, leak)),
    Case('ground truth as pose', 'evaluator-withheld', edit(is_admitted, leak_under_a_name)),
    Case(
        'a value out of bounds',
        'values-in-bounds',
        at(is_admitted, **{'after[goal].values': (99.0, 0.0)}),
    ),
    Case(
        'a value that is no number',
        'values-in-bounds',
        at(is_admitted, **{'after[goal].values': (float('nan'), 0.0)}),
    ),
    Case('clipped within bounds', 'clipped-as-declared', edit(is_admitted, clip_out_of_place)),
    Case('a younger age', 'age-recomputed', at(is_admitted, **{'after[pose].age': 0.001})),
    Case('a younger pose', 'captured-as-contract', younger_pose),
    Case('old and fresh', 'status-recomputed', edit(is_admitted, fresh_although_old)),
    Case(
        'missing with a value',
        'status-recomputed',
        at(is_admitted, **{'after[scan].status': FieldStatus.MISSING}),
    ),
    Case(
        'too old in a running episode',
        'stale-ends-episode',
        edit(is_admitted, stale_in_a_running_episode),
    ),
    Case(
        'a sensor from the future',
        'age-not-negative',
        at(is_admitted, **{'after[scan].age': -0.2}),
    ),
    Case('too confident', 'confidence-range', at(is_admitted, **{'after[pose].confidence': 1.2})),
    Case(
        'no hash', 'image-referenced', at(is_admitted, **{'after[front].image.sha256': bytes(32)})
    ),
    Case(
        'another observation before',
        'observation-chain',
        at(is_admitted, **{'before[pose].values': (0.0, 0.0, 0.0)}),
    ),
    # The decision of a step.
    Case('another verdict', 'decision-answers', at(is_clipped, verdict=Verdict.ADMITTED)),
    Case('no decision', 'decision-answers', at(is_admitted, decision=-1)),
    Case(
        'the clipped action as the requested one',
        'actions-copied',
        edit(is_clipped, lambda s: replace(s, requested_action=s.admitted_action)),
    ),
    Case('another command', 'actions-copied', at(is_admitted, commanded_action=(0.1, 0.1))),
    Case('a faster policy', 'instants-copied', edit(is_admitted, earlier_answer)),
    Case(
        'an answer to another observation',
        'answered-observation',
        edit(
            is_admitted,
            lambda s: put(
                replace(s, observed=later(s.observed, 1)),
                f'decisions[{s.decision}].request.observed',
                later(s.observed, 1),
            ),
        ),
    ),
    Case(
        'an answer to what was not seen yet',
        'answered-observation',
        edit(is_admitted, lambda s: put(s, f'decisions[{s.decision}].request.id.step', 999)),
    ),
    Case('a forgotten overrun', 'overrun-explained', edit(is_overrun, forget_overrun)),
    Case('held by another', 'overrun-explained', at(is_held, held_by='driver')),
    Case('half a measured action', 'measured-action', at(is_admitted, measured_action=(0.1,))),
    Case(
        'measured after the end',
        'measured-action',
        edit(
            is_admitted,
            lambda s: replace(s, measured_at=stamp_later(s.closed.ros, 5)),
        ),
    ),
    # The gate.
    Case('a gap in the decisions', 'decision-sequence', two_decisions_less),
    Case('hidden clip', 'hidden-clip', edit(is_clipped, hide_clip)),
    Case('half hidden clip', 'hidden-clip', edit(is_clipped, hide_clip_under_rule)),
    Case(
        'a milder verdict',
        'verdict-explained',
        edit(is_clipped, lambda s: with_answer(s, verdict=Verdict.ADMITTED)),
    ),
    Case('an invented rule', 'ruling-recomputed', edit(is_admitted, invent_rule)),
    Case('out of bounds', 'command-in-bounds', edit(is_clipped, publish_beyond_bounds)),
    Case('faster than allowed', 'command-rate', edit(is_rate_limited, jump)),
    Case('driving on', 'ruling-recomputed', edit(is_stopped, drive_on)),
    Case(
        'something else published',
        'command-as-admitted',
        edit(is_admitted, lambda s: with_answer(s, command=scaled(s.commanded_action, 0.9))),
    ),
    Case(
        'a refusal that moves',
        'refusal-publishes-nothing',
        edit(is_rejected, lambda s: with_answer(s, command=(0.1, 0.0))),
    ),
    Case(
        'a command at no time',
        'decision-stamped',
        edit(is_admitted, lambda s: with_answer(s, commanded=None)),
    ),
    Case(
        'another request',
        'request-carried',
        edit(
            is_admitted,
            lambda s: put(s, f'decisions[{s.decision}].request.action', (0.0, 0.0)),
        ),
    ),
    Case(
        'a request twice',
        'request-order',
        edit(is_admitted, lambda s: put(s, f'decisions[{s.decision}].request.sequence', 1)),
    ),
    Case(
        'a request lost',
        'request-lost',
        edit(is_admitted, lambda s: put(s, f'decisions[{s.decision}].request.sequence', 5000)),
    ),
    Case('not armed', 'armed', edit(is_admitted, lambda s: with_answer(s, armed=False))),
    Case(
        'emergency stop ignored',
        'armed',
        edit(is_admitted, lambda s: with_answer(s, emergency_stop=True)),
    ),
    Case('a decision less, renumbered', 'previous-command', drop_decision_and_renumber),
    Case(
        'another command before',
        'previous-command',
        edit(is_admitted, lambda s: with_answer(s, previous_command=(0.0, 0.0))),
    ),
    Case('a head start', 'seeded-from-measured', edit(is_seeded, forged_feedback)),
    Case(
        'more time',
        'time-step',
        edit(is_rate_limited, lambda s: with_answer(s, time_step=0.5)),
    ),
    Case(
        'less time',
        'time-step',
        edit(is_admitted, lambda s: with_answer(s, time_step=0.09)),
    ),
    Case(
        'a younger scan at the gate',
        'measurement-age',
        edit(is_admitted, lambda s: put(s, f'decisions[{s.decision}].measurements[0].age', 0.001)),
    ),
    Case('an earlier arrival', 'measurement-age', edit(is_admitted, earlier_arrival)),
    Case(
        'an old observation let through',
        'action-age',
        edit(
            is_admitted,
            lambda s: put(s, f'decisions[{s.decision}].request.observed', later(s.observed, -900)),
        ),
    ),
    Case(
        'nothing in the way',
        'ruling-recomputed',
        edit(
            is_stopped,
            lambda s: put(s, 'decisions[-1].measurements[obstacle].values', (5.0, 5.0, 1.0, 1.0)),
        ),
    ),
    Case(
        'a refusal for nothing',
        'ruling-recomputed',
        edit(
            is_rejected,
            lambda s: put(
                s,
                f'decisions[{s.decision}].rules[0].reason',
                Reason.NOT_FINITE,
            ),
        ),
    ),
    # Time.
    Case(
        'a missing stage',
        'instants-present',
        edit(is_admitted, lambda s: put(s, 'latency.inference.duration', None)),
    ),
    Case(
        'a missing instant',
        'instants-present',
        edit(is_admitted, lambda s: remeasured(replace(s, delivered=None))),
    ),
    Case(
        'a shorter stage',
        'stages-recomputed',
        edit(is_admitted, lambda s: put(s, 'latency.inference.duration', 0.0001)),
    ),
    Case('stage and reaction', 'stages-recomputed', edit(is_actuated, faster_stage)),
    Case(
        'a shorter reaction',
        'stages-add-up',
        edit(is_actuated, lambda s: put(s, 'latency.reaction.duration', 0.01)),
    ),
    Case(
        'a wider budget',
        'budgets-as-contract',
        edit(is_admitted, lambda s: put(s, 'latency.inference.budget', 9.0)),
    ),
    Case(
        'answered before it was seen',
        'instants-in-order',
        edit(is_admitted, lambda s: remeasured(replace(s, requested=later(s.observed, -5)))),
    ),
    Case(
        'executed before commanded',
        'actuated-after-commanded',
        edit(
            is_actuated,
            lambda s: remeasured(
                replace(s, actuated=stamp_later(s.commanded.ros if s.commanded else None, -5))
            ),
        ),
    ),
    Case('evidence from nowhere', 'actuated-after-commanded', at(is_actuated, actuated_source='')),
    Case('mixed clocks', 'one-clock', edit(is_admitted, wall_clock_for_sim_time)),
    Case(
        'a middleware stamp of another clock',
        'one-clock',
        at(is_admitted, **{'after[pose].arrived.clock': Clock.STEADY}),
    ),
    Case(
        'the system clock alone',
        'clocks-agree',
        edit(
            is_admitted,
            lambda s: remeasured(
                put(s, 'requested.ros', stamp_later(s.requested.ros if s.requested else None, -60))
            ),
        ),
    ),
)

#: The timer's decisions have no request: a damage of their own.
CASES += (
    Case(
        'a request of the timer',
        'request-carried',
        at(is_held, **{'decisions[0].trigger': Trigger.REQUEST}),
    ),
)
