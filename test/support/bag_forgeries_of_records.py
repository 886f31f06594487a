# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Forgeries of what gate, policy and environment say, by name and number.

Each changes two or more things together, wherever they are told: in the steps, on the topics of
gate, environment and policy, and, where it says so, on the topic of a sensor or of the commands.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from boundary_env_ros.core.records.decision import (
    ActionRequest,
    GateDecision,
    Reason,
    RuleResult,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.records.episode import EpisodeStatus
from boundary_env_ros.core.records.parts import StepId
from boundary_env_ros.core.records.transition import PrivilegedObservation, RewardTerm, Transition
from boundary_env_ros.core.timebase import NANOSECONDS
from support.bag_forging import copied, Forge, stamp_of
from support.core_messages import changed_decision
from support.damage import MS, remeasured
from support.record_maker import COMMAND, Sent, STOP


def is_slowed(decision: GateDecision) -> bool:
    return any(result.reason is Reason.OBSTACLE_SLOW for result in decision.rules)


def is_driving(step: Transition) -> bool:
    return step.id.step > 5 and step.verdict is Verdict.ADMITTED and not step.ending


# What was asked for and commanded ----------------------------------------------------------------


def request_and_all_behind_it(forge: Forge) -> None:
    # The policy asked for less: request, decision, command, message; but not what it sent.

    def change(decision: GateDecision) -> GateDecision:
        asked = tuple(value * 0.9 for value in decision.requested_action)
        request = replace(decision.request, action=asked)
        return replace(decision, request=request)

    sent = [s for s in forge.tape if isinstance(s.what, ActionRequest)]
    forge.regate(
        forge.decision(lambda d: d.verdict is Verdict.ADMITTED and d.sequence > 10), change
    )
    topic = sent[0].topic
    forge.tape = [s for s in forge.tape if s.topic != topic] + sent


def command_in_every_record(forge: Forge) -> None:
    # Another command was published, so decision and step say; the message is the old one.
    messages = [s for s in forge.tape if s.topic == COMMAND]

    def change(decision: GateDecision) -> GateDecision:
        return replace(decision, request=replace(decision.request, action=(0.1, 0.0)))

    forge.regate(
        forge.decision(lambda d: d.verdict is Verdict.ADMITTED and d.sequence > 10), change
    )
    forge.tape = [s for s in forge.tape if s.topic != COMMAND] + messages


def command_message_and_copies(forge: Forge) -> None:
    # The command is another one everywhere, its message too; only the rules know better.
    decision = forge.decision(lambda d: d.verdict is Verdict.LIMITED and d.sequence > 10)
    command = tuple(value * 0.5 for value in decision.command)
    forge.put_decisions(
        {decision.sequence: replace(decision, command=command, admitted_action=command)}
    )


def refusal_with_a_command(forge: Forge) -> None:
    # The gate refused the action, so it says, and moved the robot all the same.
    decision = forge.decision(lambda d: d.verdict is Verdict.LIMITED and d.sequence > 10)
    refused = replace(
        decision,
        verdict=Verdict.REJECTED,
        admitted_action=(),
        rules=(
            RuleResult(rule='authority', outcome=Verdict.REJECTED, reason=Reason.OUT_OF_ORDER),
        ),
    )
    forge.put_decisions({decision.sequence: refused})


def decided_elsewhere(forge: Forge) -> None:
    # Ages are counted to an instant of another host, which no other is compared with.
    decision = forge.decision(lambda d: d.trigger is Trigger.TIMER and d.published)
    there = replace(decision.decided, ros=replace(decision.decided.ros, host='elsewhere'))
    forge.put_decisions({decision.sequence: replace(decision, decided=there)})


def decision_taken_out(forge: Forge) -> None:
    # A stop never was: the decision is gone, those behind it are numbered anew.
    gone = forge.decision(
        lambda d: d.verdict is Verdict.STOPPED and d.trigger is Trigger.TIMER and d.sequence > 5
    )

    def change(value: Any) -> Any:
        if isinstance(value, GateDecision):
            if value.sequence == gone.sequence:
                return None
            if value.sequence > gone.sequence:
                return replace(value, sequence=value.sequence - 1)
        return value

    forge.everywhere(change)
    forge.everywhere(lambda v: copied(v) if isinstance(v, Transition) else v)


def decision_and_message_taken_out(forge: Forge) -> None:
    # The same, and its command is gone from the topic as well.
    gone = forge.decision(
        lambda d: d.trigger is Trigger.REQUEST and d.verdict is Verdict.LIMITED and d.sequence > 9
    )
    step = forge.step(lambda s: gone in s.decisions)

    def change(value: Any) -> Any:
        if isinstance(value, Transition) and value.id == step.id:
            kept = tuple(d for d in value.decisions if d.sequence != gone.sequence)
            return remeasured(
                replace(
                    value,
                    decisions=kept,
                    decision=-1,
                    verdict=None,
                    overrun=True,
                    requested_action=(),
                    admitted_action=(),
                    commanded_action=(),
                    commanded=None,
                    actuated=None,
                    actuated_quantum=None,
                    actuated_source='',
                )
            )
        if isinstance(value, GateDecision) and value.sequence == gone.sequence:
            return value
        return value

    forge.everywhere(change)

    def number(value: Any) -> Any:
        if isinstance(value, GateDecision):
            if value.sequence == gone.sequence:
                return None
            if value.sequence > gone.sequence:
                return replace(value, sequence=value.sequence - 1)
        return value

    forge.everywhere(number)
    at = gone.commanded.ros.nanoseconds
    forge.raw(COMMAND, lambda sent: None if stamp_of(sent) == at else sent)


def strange_command(forge: Forge) -> None:
    # Somebody else commanded the robot, with a message like those of the gate.
    sent = [s for s in forge.tape if s.topic == COMMAND][8]
    at = stamp_of(sent) + 3 * MS
    header = {
        **sent.what['header'],
        'stamp': {'sec': at // NANOSECONDS, 'nanosec': at % NANOSECONDS},
    }
    what = {**sent.what, 'header': header}
    forge.tape.append(
        Sent(COMMAND, sent.log_time + 3 * MS, sent.publish_time + 3 * MS, what, sent.type)
    )


def command_that_says_more(forge: Forge) -> None:
    # The messages on the command topic drive the robot sideways, which no action asks for.
    def sideways(sent: Sent) -> Sent:
        twist = {**sent.what['twist'], 'linear': {**sent.what['twist']['linear'], 'y': 3.0}}
        return replace(sent, what={**sent.what, 'twist': twist})

    forge.raw(COMMAND, sideways)


def command_in_another_frame(forge: Forge) -> None:
    # The messages on the command topic are of another frame than the contract's.
    def turned(sent: Sent) -> Sent:
        return replace(
            sent, what={**sent.what, 'header': {**sent.what['header'], 'frame_id': 'map'}}
        )

    forge.raw(COMMAND, turned)


def command_messages_taken_out(forge: Forge) -> None:
    # Two messages are gone from the command topic.
    commands = [s for s in forge.tape if s.topic == COMMAND][8:10]
    forge.raw(COMMAND, lambda sent: None if sent in commands else sent)


# Names and numbers -------------------------------------------------------------------------------


def step_taken_out(forge: Forge) -> None:
    # A step is gone; all behind it are numbered anew, in every record, observations joined.
    gone = forge.step(is_driving)
    follows = forge.step(lambda s: s.id == replace(gone.id, step=gone.id.step + 1))
    lost = {d.sequence for d in gone.decisions}

    def number(value: Any) -> Any:
        if isinstance(value, Transition) and value.id == follows.id:
            value = replace(value, before=gone.before, opened=gone.opened)
        if isinstance(value, GateDecision):
            if value.sequence in lost:
                return None
            behind = sum(value.sequence > sequence for sequence in lost)
            return replace(value, sequence=value.sequence - behind) if behind else value
        return value

    episode, at = gone.id.episode_id, gone.id.step

    def rename(value: Any) -> Any:
        if isinstance(value, StepId) and value.episode_id == episode and value.step > at:
            return replace(value, step=value.step - 1)
        return value

    forge.tape = [
        sent
        for sent in forge.tape
        if not (
            isinstance(sent.what, (Transition, PrivilegedObservation)) and sent.what.id == gone.id
        )
    ]
    forge.everywhere(number)
    forge.everywhere(rename)
    stamps = {d.commanded.ros.nanoseconds for d in gone.decisions if d.commanded}
    forge.raw(COMMAND, lambda sent: None if stamp_of(sent) in stamps else sent)
    requests = {(d.request.lease_id, d.request.sequence) for d in gone.decisions if d.request}
    forge.tape = [
        sent
        for sent in forge.tape
        if not (
            isinstance(sent.what, ActionRequest)
            and (sent.what.lease_id, sent.what.sequence) in requests
        )
    ]


def lease_renamed(forge: Forge) -> None:
    # Another client had the lease, so gate and steps say.
    lease = forge.decisions[2].request.lease_id
    topic = '/boundary/action_request'
    sent = [s for s in forge.tape if s.topic == topic]

    def change(value: Any) -> Any:
        if isinstance(value, ActionRequest) and value.lease_id == lease:
            return replace(value, lease_id='lease-other', client='other')
        return value

    forge.everywhere(change)
    forge.tape = [s for s in forge.tape if s.topic != topic] + sent


def episode_renamed(forge: Forge) -> None:
    # An episode has another name in the steps and on the gate's topic, not on the policy's.
    old, new = forge.steps[0].id.episode_id, '0d6f6f3e-7d0c-4a55-8e42-0d0f3c1f9c11'
    topic = '/boundary/action_request'
    sent = [s for s in forge.tape if s.topic == topic]

    def change(value: Any) -> Any:
        if isinstance(value, StepId) and value.episode_id == old:
            return replace(value, episode_id=new)
        return value

    forge.everywhere(change)
    forge.tape = [s for s in forge.tape if s.topic != topic] + sent


def digest_everywhere(forge: Forge) -> None:
    # Another contract was in force, so every record says.

    def change(value: Any) -> Any:
        if isinstance(value, StepId) and value.digest:
            return replace(value, digest='sha256:' + '5' * 64)
        if type(value).__name__ == 'ContractDescription':
            return replace(value, digest='sha256:' + '5' * 64)
        return value

    forge.everywhere(change)


def seed_and_sample(forge: Forge) -> None:
    # Another seed, and the start that the task samples from it.
    old = forge.steps[0]

    def change(value: Any) -> Any:
        if isinstance(value, Transition) and value.id.episode_id == old.id.episode_id:
            value = replace(value, seed=7)
            if value.reset is not None:
                sampled = tuple(
                    replace(item, values=tuple(v + 0.5 for v in item.values))
                    if item.name == 'start'
                    else item
                    for item in value.reset.sampled
                )
                value = replace(value, reset=replace(value.reset, sampled=sampled))
        return value

    forge.everywhere(change)


def reward_and_its_terms(forge: Forge) -> None:
    # A step is worth more: the reward and the term that it is the sum of.
    step = forge.step(is_driving)

    def change(value: Any) -> Any:
        if isinstance(value, Transition) and value.id == step.id:
            terms = (*value.reward_terms, RewardTerm(name='bonus', value=0.5))
            return replace(value, reward=value.reward + 0.5, reward_terms=terms)
        return value

    forge.everywhere(change)


def stop_taken_from_its_topic(forge: Forge) -> None:
    # The emergency stop is pressed a second time, unheard, in an episode that went on.
    episode = forge.steps[0].id.episode_id
    step = forge.step(lambda s: s.id.episode_id == episode and s.id.step == 6)
    at = step.closed.ros.nanoseconds
    forge.tape.append(Sent(STOP, at, at, {'data': True}, 'std_msgs/msg/Bool'))
    at += 20 * MS
    forge.tape.append(Sent(STOP, at, at, {'data': False}, 'std_msgs/msg/Bool'))


# What the environment said of itself -------------------------------------------------------------


def statuses_taken_out(forge: Forge) -> None:
    # The environment was dead, and the gate went on.
    victim = forge.step(is_driving).id

    def is_of_then(sent: Sent) -> bool:
        status = sent.what
        if not isinstance(status, EpisodeStatus) or status.id.episode_id != victim.episode_id:
            return False
        return victim.step <= status.id.step < victim.step + 20

    forge.tape = [sent for sent in forge.tape if not is_of_then(sent)]


def statuses_of_long_ago(forge: Forge) -> None:
    def earlier(value: Any) -> Any:
        if not isinstance(value, EpisodeStatus):
            return value
        return replace(value, stamp=replace(value.stamp, steady=7))

    forge.everywhere(earlier)


def status_to_come(forge: Forge) -> None:
    victim = forge.decision(lambda d: d.verdict is Verdict.ADMITTED and d.sequence > 10)
    forge.put_decisions({victim.sequence: changed_decision(victim, since_environment=-5.0)})
