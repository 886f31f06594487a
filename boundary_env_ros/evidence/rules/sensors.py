# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Rules that hold a record against the raw messages in its bag.

:mod:`boundary_env_ros.evidence.raw` applies them, as the messages come.
"""

from __future__ import annotations

from boundary_env_ros.evidence.rules.base import Rule, Severity


def _rule(
    name: str,
    sentence: str,
    way_out: str,
    *,
    needs_task: bool = False,
    severity: Severity = Severity.ERROR,
) -> Rule:
    return Rule(
        id=name,
        severity=severity,
        sentence=sentence,
        way_out=way_out,
        needs_contract=True,
        needs_task=needs_task,
        needs_topics=True,
    )


measurement_from_sensors = _rule(
    'measurement-from-sensors',
    'Every measurement that the gate decided by is what its reader makes of the raw message with '
    'that stamp on that topic.',
    'Trust the sensor topic: a measurement that no message supports was made up.',
)
measurement_newest = _rule(
    'measurement-newest',
    'A measurement is of the newest message that the gate can have had, within what the stamps '
    'tell about the transport, and none is older than the one before it.',
    'Compare the stamps of the topic with the instant of the decision; a gate that was handed old '
    'data, or a record that was, hides what was ahead.',
)
ruling_from_sensors = _rule(
    'ruling-from-sensors',
    "The gate's rules, run on what the sensor topics say instead of what the decision says, give "
    'the recorded verdict, action and command.',
    'Compare the decision with the raw messages at its instant; with these the robot should have '
    'been told something else.',
)
fields_from_sensors = _rule(
    'fields-from-sensors',
    "Every field of an observation is what the field's adapter makes of the raw message with its "
    '`captured` stamp: values, clipping, age, status, confidence, hash of the image.',
    'Trust the sensor topic: what the policy was shown according to the record was never '
    'measured.',
)
fields_newest = _rule(
    'fields-newest',
    'A field is of the newest message that the environment can have had, within what the stamps '
    'tell about the transport.',
    'Compare the stamps of the topic with the instant at which the observation was frozen.',
)
evaluator_from_sensors = _rule(
    'evaluator-from-sensors',
    'Every field of the evaluator is what its adapter makes of the raw message with its '
    '`captured` stamp.',
    'Trust the topic: a record of the truth that was mended proves nothing.',
)
measured_from_sensors = _rule(
    'measured-from-sensors',
    'The measured action, and the evidence that a command was executed, are raw messages of the '
    'feedback.',
    'Trust the feedback topic: what the robot did is measured, not assumed.',
)
judgement_from_sensors = _rule(
    'judgement-from-sensors',
    'Reward and ending are what the task makes of the observations that the sensor topics give.',
    'Look for an observation that was changed together with the reward.',
    needs_task=True,
)
command_on_topic = _rule(
    'command-on-topic',
    'Every command that a decision says it published is on the command topic, with its stamp, its '
    'values, and nothing else.',
    'Trust the command topic: it is what the robot got.',
)
command_decided = _rule(
    'command-decided',
    'Every message on a command topic is the command of a decision, one for one.',
    'Somebody else commands the robot, or a decision was taken out: look at the publishers of '
    'the topic.',
)
import_from_commands = _rule(
    'import-from-commands',
    'The command of a step that was imported from a bag is the last one on the command topics in '
    'that step; without one it has none.',
    'Trust the command topic, and import the bag anew.',
)
emergency_stop_heard = _rule(
    'emergency-stop-heard',
    'Once the emergency stop was pressed on its topic, every decision in that episode says so; '
    'and while it stays pressed, every later one.',
    'Compare the topic of the emergency stop with `emergency_stop` of the decisions.',
)
operator_heard = _rule(
    'operator-heard',
    'Every decision on the operator is on a message of his topic in which the switch is held, and '
    'wants what that commands.',
    'Trust the topic of the operator: what a person did must not be put into his hand.',
)
request_as_published = _rule(
    'request-as-published',
    'The request that a decision carries is the one that the policy published, bit by bit.',
    'Trust the topic of the requests: what the policy asked for must stay what it asked for.',
)
request_answered = _rule(
    'request-answered',
    'Every request that was published got a decision.',
    'The request was lost on its way to the gate, or the gate was not active; or a decision was '
    'taken out.',
    severity=Severity.WARNING,
)
observation_as_published = _rule(
    'observation-as-published',
    'The observation in a step is the one that the environment published to the policy, bit by '
    'bit.',
    'Trust the topic of the observations: it is what the policy was sent.',
)

RULES: tuple[Rule, ...] = (
    measurement_from_sensors,
    measurement_newest,
    ruling_from_sensors,
    fields_from_sensors,
    fields_newest,
    evaluator_from_sensors,
    measured_from_sensors,
    judgement_from_sensors,
    command_on_topic,
    command_decided,
    import_from_commands,
    emergency_stop_heard,
    operator_heard,
    request_as_published,
    request_answered,
    observation_as_published,
)
