# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Ways to damage an honest record, each with the rule that must name it."""

from __future__ import annotations

from dataclasses import replace
from math import nan

from boundary_env_ros.core.records.decision import Reason, Trigger, Verdict
from boundary_env_ros.core.records.observation import FieldStatus
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.timebase import Clock
from support import damage_forgeries as forged
from support.damage import (
    at,
    Case,
    edit,
    everywhere,
    is_actuated,
    is_admitted,
    is_clipped,
    is_held,
    is_overrun,
    is_rate_limited,
    is_rejected,
    is_reset,
    is_seeded,
    is_stopped,
    is_success,
    is_time_limit,
    later,
    put,
    remeasured,
    scaled,
    stamp_later,
    with_answer,
)

CASES: tuple[Case, ...] = (
    Case(
        'a stop that is called a probe',
        'allowed-to-move',
        at(is_stopped, **{'decisions[0].inputs.trigger': Trigger.PROBE}),
    ),
    # Whose record it is.
    Case('no client version', 'versions-present', at(is_admitted, client_version='')),
    Case('no software version', 'versions-present', at(is_admitted, software_version='')),
    Case('no contract version', 'versions-present', at(is_admitted, contract_version='')),
    Case(
        'gate without a version',
        'versions-present',
        at(is_admitted, **{'decisions[0].software_version': ''}),
    ),
    Case('another version', 'episode-constant', at(is_admitted, software_version='0.2.0')),
    Case('another wrapper', 'episode-constant', at(is_admitted, wrappers=('TimeLimit',))),
    Case(
        'a time limit around it, throughout',
        'no-hidden-wrapper',
        everywhere(lambda step: replace(step, wrappers=('gymnasium.wrappers.TimeLimit',))),
    ),
    Case('short digest', 'one-contract', at(is_admitted, **{'id.digest': 'sha256:ab'})),
    Case(
        'another digest',
        'one-contract',
        at(is_admitted, **{'id.digest': 'sha256:' + '0' * 64}),
    ),
    Case(
        'another contract throughout',
        'one-contract',
        everywhere(lambda step: put(step, 'id.digest', 'sha256:' + '0' * 64)),
    ),
    Case(
        'another pacing',
        'one-contract',
        everywhere(lambda step: replace(step, pacing=Pacing.LOCKSTEP)),
    ),
    Case('another agent', 'one-contract', at(is_admitted, **{'id.agent': 'truck'})),
    Case('no UUID', 'one-contract', at(is_reset, **{'id.episode_id': 'episode 7'})),
    # What a field is of.
    Case(
        'a value that is not finite',
        'fields-as-contract',
        at(is_admitted, **{'after[velocity].values': (float('inf'), 0.0)}),
    ),
    Case(
        'another goal than the sampled one',
        'step-recomputed',
        at(is_admitted, **{'after[goal].values': (1.0, 1.0)}),
    ),
    # Silence, and the space of the action.
    Case(
        'a silence that was shorter',
        'inputs-recomputed',
        at(is_held, **{'decisions[0].inputs.since_request': 0.01}),
    ),
    Case(
        'an action with a value too few',
        'decision-recomputed',
        edit(is_admitted, lambda step: with_answer(step, admitted_action=(0.1,))),
    ),
    # The order of the steps.
    Case('a step is missing', 'steps-in-order', forged.drop_step),
    Case('a step is missing, renumbered', 'step-recomputed', forged.drop_step_and_renumber),
    Case('a step twice', 'steps-in-order', forged.repeat_step),
    Case('steps change places', 'steps-in-order', forged.swap_steps),
    Case('a step after the ending', 'steps-in-order', forged.go_on_after_ending),
    Case('an episode comes back', 'steps-in-order', forged.come_back),
    Case('the reset is missing', 'reset-as-contract', forged.drop_reset),
    Case('a reset without its record', 'reset-as-contract', at(is_reset, reset=None)),
    Case('a reset with a reward', 'step-recomputed', at(is_reset, reward=1.0)),
    Case(
        'a reset that ends',
        'step-recomputed',
        at(is_reset, terminated=True, ending='success', declared_by='task:go_to_goal'),
    ),
    Case('an ending is missing', 'episode-ended', forged.drop_ending),
    Case('another seed in a step', 'episode-constant', at(is_admitted, seed=7)),
    Case('another seed throughout', 'step-recomputed', forged.reseed),
    Case(
        'the clock goes back',
        'steps-in-order',
        edit(is_admitted, lambda step: replace(step, closed=later(step.closed, -300))),
    ),
    # Resets.
    Case(
        'a reset far off',
        'step-recomputed',
        at(is_reset, **{'reset.achieved[start].values': (0.0, 0.0, 0.0)}),
    ),
    Case('a wider tolerance', 'step-recomputed', edit(is_reset, forged.widen_reset)),
    Case('nobody confirmed', 'reset-as-contract', at(is_reset, **{'reset.confirmed_by': ''})),
    Case('the goal was moved', 'step-recomputed', forged.moved_goal),
    # Endings.
    Case('both flags', 'step-recomputed', at(is_time_limit, terminated=True)),
    Case('no name', 'step-recomputed', at(is_success, ending='')),
    Case('an ending without flag', 'step-recomputed', at(is_admitted, ending='success')),
    Case('no declarer', 'step-recomputed', at(is_success, declared_by='')),
    Case('a declarer without ending', 'step-recomputed', at(is_admitted, declared_by='me')),
    Case(
        'time limit as termination',
        'step-recomputed',
        at(is_time_limit, terminated=True, truncated=False),
    ),
    Case('an unknown ending', 'step-recomputed', at(is_time_limit, ending='boredom')),
    Case('time limit too early', 'step-recomputed', at(is_success, ending='time_limit')),
    Case('beyond the time limit', 'step-recomputed', forged.longer_episode),
    Case(
        'no ending at the limit',
        'step-recomputed',
        at(is_time_limit, truncated=False, ending='', declared_by=''),
    ),
    Case('time limit as success', 'step-recomputed', edit(is_time_limit, forged.claim_success)),
    Case('success as if declared', 'step-recomputed', edit(is_time_limit, forged.say_success)),
    Case(
        'another instant in the chain of observations',
        'step-recomputed',
        at(is_time_limit, **{'before[0].captured': lambda stamp: stamp_later(stamp, 1)}),
    ),
    Case(
        'a stop that ends nothing',
        'step-recomputed',
        at(is_stopped, truncated=False, ending='', declared_by=''),
    ),
    Case(
        'a stop of the gate without one',
        'step-recomputed',
        at(is_time_limit, ending='safety_stop', declared_by='safety_gate'),
    ),
    Case(
        'sensor lost for nothing',
        'step-recomputed',
        edit(is_time_limit, forged.sensor_lost_for_nothing),
    ),
    # Rewards.
    Case('a higher reward', 'step-recomputed', at(is_admitted, reward=5.0)),
    Case('no number', 'step-recomputed', at(is_admitted, reward=float('nan'))),
    Case('reward and terms', 'step-recomputed', edit(is_admitted, forged.raise_reward)),
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
    Case('ground truth leaks', 'truth-withheld', edit(is_admitted, forged.leak)),
    Case('ground truth as pose', 'truth-withheld', edit(is_admitted, forged.leak_under_a_name)),
    Case(
        'a value out of bounds',
        'fields-as-contract',
        at(is_admitted, **{'after[goal].values': (99.0, 0.0)}),
    ),
    Case(
        'a value that is no number',
        'fields-as-contract',
        at(is_admitted, **{'after[goal].values': (float('nan'), 0.0)}),
    ),
    Case(
        'clipped within bounds', 'fields-as-contract', edit(is_admitted, forged.clip_out_of_place)
    ),
    Case('a younger age', 'step-recomputed', at(is_admitted, **{'after[pose].age': 0.001})),
    Case('a younger pose', 'step-recomputed', forged.younger_pose),
    Case('old and fresh', 'step-recomputed', edit(is_admitted, forged.fresh_although_old)),
    Case(
        'missing with a value',
        'step-recomputed',
        at(is_admitted, **{'after[scan].status': FieldStatus.MISSING}),
    ),
    Case(
        'too old in a running episode',
        'step-recomputed',
        edit(is_admitted, forged.stale_in_a_running_episode),
    ),
    Case(
        'a sensor from the future',
        'clocks-agree',
        at(is_admitted, **{'after[scan].age': -0.2}),
    ),
    Case(
        'too confident', 'fields-as-contract', at(is_admitted, **{'after[pose].confidence': 1.2})
    ),
    Case(
        'no hash',
        'fields-as-contract',
        at(is_admitted, **{'after[front].image.sha256': bytes(32)}),
    ),
    Case(
        'another observation before',
        'step-recomputed',
        at(is_admitted, **{'before[pose].values': (0.0, 0.0, 0.0)}),
    ),
    # The decision of a step.
    Case('another verdict', 'step-recomputed', at(is_clipped, verdict=Verdict.ADMITTED)),
    Case('no decision', 'step-recomputed', at(is_admitted, decision=-1)),
    Case(
        'the clipped action as the requested one',
        'step-recomputed',
        edit(is_clipped, lambda s: replace(s, requested_action=s.admitted_action)),
    ),
    Case('another command', 'step-recomputed', at(is_admitted, commanded_action=(0.1, 0.1))),
    Case(
        'an answer to another observation',
        'request-valid',
        edit(
            is_admitted,
            lambda s: put(s, f'decisions[{s.decision}].request.observed', later(s.observed, 1)),
        ),
    ),
    Case(
        'an answer to what was not seen yet',
        'request-valid',
        edit(is_admitted, lambda s: put(s, f'decisions[{s.decision}].request.id.step', 999)),
    ),
    Case(
        'an answer to an older observation',
        'request-valid',
        edit(is_admitted, forged.older_answer),
    ),
    Case(
        'a skipped action that was none',
        'request-valid',
        edit(is_admitted, lambda s: put(s, f'decisions[{s.decision}].request.skipped', 1)),
    ),
    Case('a forgotten overrun', 'step-recomputed', edit(is_overrun, forged.forget_overrun)),
    Case(
        'a step that was opened later',
        'step-recomputed',
        edit(is_admitted, lambda s: replace(s, opened=later(s.opened, 1))),
    ),
    Case('half a measured action', 'execution-measured', at(is_admitted, measured_action=(0.1,))),
    Case(
        'measured after the end',
        'execution-measured',
        edit(
            is_admitted,
            lambda s: replace(s, measured_at=stamp_later(s.closed.ros, 5)),
        ),
    ),
    # The gate.
    Case('a gap in the decisions', 'decision-sequence', forged.two_decisions_less),
    Case('hidden clip', 'decision-recomputed', edit(is_clipped, forged.hide_clip)),
    Case('half hidden clip', 'decision-recomputed', edit(is_clipped, forged.hide_clip_under_rule)),
    Case(
        'a milder verdict',
        'decision-recomputed',
        edit(is_clipped, lambda s: with_answer(s, verdict=Verdict.ADMITTED)),
    ),
    Case('an invented rule', 'decision-recomputed', edit(is_admitted, forged.invent_rule)),
    Case('out of bounds', 'command-in-bounds', edit(is_clipped, forged.publish_beyond_bounds)),
    Case('faster than allowed', 'command-motion', edit(is_rate_limited, forged.jump)),
    Case('driving on', 'decision-recomputed', edit(is_stopped, forged.drive_on)),
    Case(
        'something else published',
        'decision-recomputed',
        edit(is_admitted, lambda s: with_answer(s, command=scaled(s.commanded_action, 0.9))),
    ),
    Case(
        'a refusal that moves',
        'decision-recomputed',
        edit(is_rejected, lambda s: with_answer(s, command=(0.1, 0.0))),
    ),
    Case(
        'a command at no time',
        'instants-in-order',
        edit(is_admitted, lambda s: with_answer(s, commanded=None)),
    ),
    Case(
        'another request',
        'decision-recomputed',
        edit(
            is_admitted,
            lambda s: put(s, f'decisions[{s.decision}].request.action', (0.0, 0.0)),
        ),
    ),
    Case(
        'a request twice',
        'decision-recomputed',
        edit(is_admitted, lambda s: put(s, f'decisions[{s.decision}].request.sequence', 1)),
    ),
    Case(
        'a request lost',
        'request-answered',
        edit(is_admitted, lambda s: put(s, f'decisions[{s.decision}].request.sequence', 5000)),
    ),
    Case('not armed', 'allowed-to-move', edit(is_admitted, lambda s: with_answer(s, lease_id=''))),
    Case(
        'emergency stop ignored',
        'allowed-to-move',
        edit(is_admitted, lambda s: with_answer(s, emergency_stop=True)),
    ),
    Case('a decision less, renumbered', 'decision-recomputed', forged.drop_decision_and_renumber),
    Case(
        'another command before',
        'decision-recomputed',
        edit(is_admitted, lambda s: with_answer(s, previous_command=(0.0, 0.0))),
    ),
    Case('a head start', 'decision-recomputed', edit(is_seeded, forged.forged_feedback)),
    Case(
        'more time',
        'decision-recomputed',
        edit(is_rate_limited, lambda s: with_answer(s, time_step=0.5)),
    ),
    Case(
        'less time',
        'decision-recomputed',
        edit(is_admitted, lambda s: with_answer(s, time_step=0.09)),
    ),
    Case(
        'a younger scan at the gate',
        'inputs-recomputed',
        edit(
            is_admitted,
            lambda s: put(s, f'decisions[{s.decision}].inputs.measurements[0].age', 0.001),
        ),
    ),
    Case('an earlier arrival', 'inputs-recomputed', edit(is_admitted, forged.earlier_arrival)),
    Case(
        'an old observation let through',
        'decision-recomputed',
        edit(
            is_admitted,
            lambda s: put(s, f'decisions[{s.decision}].request.observed', later(s.observed, -900)),
        ),
    ),
    Case(
        'nothing in the way',
        'decision-recomputed',
        edit(
            is_stopped,
            lambda s: put(
                s, 'decisions[-1].inputs.measurements[obstacle.scan].values', (5.0, 5.0, 1.0, 1.0)
            ),
        ),
    ),
    Case(
        'a refusal for nothing',
        'decision-recomputed',
        edit(
            is_rejected,
            lambda s: put(
                s,
                f'decisions[{s.decision}].rules[0].reason',
                Reason.NOT_FINITE,
            ),
        ),
    ),
    Case('another topic', 'episode-constant', at(is_admitted, **{'after[scan].source': '/fake'})),
    Case(
        'another host',
        'episode-constant',
        at(is_admitted, **{'after[scan].captured.host': 'elsewhere'}),
    ),
    Case(
        'a measurement less',
        'measurements-as-contract',
        edit(is_admitted, lambda s: put(s, f'decisions[{s.decision}].inputs.measurements', ())),
    ),
    Case(
        'a measurement from elsewhere',
        'measurements-as-contract',
        edit(
            is_admitted,
            lambda s: put(
                s, f'decisions[{s.decision}].inputs.measurements[obstacle.scan].topic', '/fake'
            ),
        ),
    ),
    Case(
        'another rate before',
        'decision-recomputed',
        edit(
            is_admitted,
            lambda s: put(s, f'decisions[{s.decision}].inputs.previous_rate', (9.0, 9.0)),
        ),
    ),
    Case(
        'another client',
        'episode-constant',
        edit(is_admitted, lambda s: put(s, f'decisions[{s.decision}].request.client', 'other')),
    ),
    Case(
        'another lease',
        'episode-constant',
        edit(is_admitted, lambda s: put(s, f'decisions[{s.decision}].request.lease_id', 'mine')),
    ),
    # Time.
    Case(
        'a missing stage',
        'step-recomputed',
        edit(is_admitted, lambda s: put(s, 'latency.inference.duration', None)),
    ),
    Case(
        'another instant of the command',
        'step-recomputed',
        edit(is_admitted, lambda s: remeasured(replace(s, commanded=later(s.commanded, 1)))),
    ),
    Case(
        'a shorter stage',
        'step-recomputed',
        edit(is_admitted, lambda s: put(s, 'latency.inference.duration', 0.0001)),
    ),
    Case('stage and reaction', 'step-recomputed', edit(is_actuated, forged.faster_stage)),
    Case(
        'a shorter reaction',
        'step-recomputed',
        edit(is_actuated, lambda s: put(s, 'latency.reaction.duration', 0.01)),
    ),
    Case(
        'a wider budget',
        'step-recomputed',
        edit(is_admitted, lambda s: put(s, 'latency.inference.budget', 9.0)),
    ),
    Case(
        'answered before it was seen',
        'instants-in-order',
        edit(
            is_admitted,
            lambda s: remeasured(
                put(s, f'decisions[{s.decision}].request.requested', later(s.observed, -5))
            ),
        ),
    ),
    Case(
        'executed before commanded',
        'execution-measured',
        edit(
            is_actuated,
            lambda s: remeasured(
                replace(s, actuated=stamp_later(s.commanded.ros if s.commanded else None, -5))
            ),
        ),
    ),
    Case('evidence from nowhere', 'execution-measured', at(is_actuated, actuated_source='')),
    Case('mixed clocks', 'instants-in-order', edit(is_admitted, forged.wall_clock_for_sim_time)),
    Case(
        'a middleware stamp of another clock',
        'instants-in-order',
        at(is_admitted, **{'after[pose].arrived.clock': Clock.STEADY}),
    ),
    *(
        Case(f'an offset of the clocks {name}', 'clocks-agree', edit(is_admitted, forge))
        for name, forge in (
            # By it the policy had the observation seconds before it was made.
            ('that cannot be', forged.policy_on_desktop(5.0, 1e-9)),
            ('that allows anything', forged.policy_on_desktop(0.0, 1e9)),
            ('that is no number', forged.policy_on_desktop(0.0, nan)),
            ('of less than no doubt', forged.policy_on_desktop(0.0, -1.0)),
            ('left out', forged.policy_on_desktop()),
            ('of the own host', forged.offset_of_own_host),
        )
    ),
    Case(
        'the system clock alone',
        'clocks-agree',
        edit(
            is_admitted,
            lambda s: remeasured(
                put(
                    s,
                    f'decisions[{s.decision}].request.requested.ros',
                    stamp_later(s.requested.ros if s.requested else None, -60),
                )
            ),
        ),
    ),
)

#: The timer's decisions have no request: a damage of their own.
CASES += (
    Case(
        'a request of the timer',
        'decision-recomputed',
        at(is_held, **{'decisions[0].inputs.trigger': Trigger.REQUEST}),
    ),
)
