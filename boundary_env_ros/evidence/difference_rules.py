# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What a change of each part of a contract means for results: the table that ``diff`` works by.

A part without a row has no meaning yet; a test asks for one of every attribute of every value that
a :class:`~boundary_env_ros.core.contract.Contract` is made of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from boundary_env_ros.core.contract import (
    ActionSpec,
    CallStep,
    Confidence,
    ConfirmStep,
    Contract,
    EpisodeRules,
    Feedback,
    FieldSpec,
    PublishStep,
    Qos,
    ResetProcedure,
    TaskSpec,
    WaitStep,
    WorldStep,
)
from boundary_env_ros.core.safety import (
    Corridor,
    Obstacle,
    Operator,
    Overruns,
    Safety,
    Sector,
    Workspace,
)
from boundary_env_ros.core.sources import (
    Array,
    Beams,
    Derived,
    Joints,
    Lookup,
    Paths,
    Picture,
    Points,
    Trajectory,
)


class Meaning(IntEnum):
    """
    What a change does to results, from the mildest.

    ``COSMETIC``: nothing. ``BEHAVIOURAL``: numbers mean what they meant, but robot, world or task
    may behave otherwise, so that two results are not of the same experiment. ``BREAKING``: numbers
    mean something else, or fit no more: neither policies nor records of the one go with the other.
    """

    COSMETIC = 0
    BEHAVIOURAL = 1
    BREAKING = 2


@dataclass(frozen=True, slots=True)
class Rule:
    """
    What a change of one attribute means.

    Attributes
    ----------
    key
        Key of the contract language, below the key of what has the attribute; empty: the same.
    meaning
        Its class; of a container, of what came or went as a whole.
    why
        A sentence.
    words
        How the contract language calls false and true; empty for what is neither.

    """

    key: str
    meaning: Meaning
    why: str
    words: tuple[str, ...] = ()


def _breaking(key: str, why: str) -> Rule:
    return Rule(key, Meaning.BREAKING, why)


def _behavioural(key: str, why: str, words: tuple[str, ...] = ()) -> Rule:
    return Rule(key, Meaning.BEHAVIOURAL, why, words)


_SPACE = 'It is the space: a policy or record of the one does not fit the other.'
_OTHER_VALUES = 'The values are of something else.'
_OTHER_COMMAND = 'The same action commands something else.'
_TOPIC = 'The values come from another topic, whose noise and delay may be others.'
_TYPE = 'The values come by another message, whose stamps and rate may be others.'
_LIMIT = 'The gate makes another command of the same action.'
_SENSOR = 'The gate looks at another sensor, or at something else of it.'
_SAFETY = 'The robot is stopped, held or let go at another moment.'
_HAND = 'A person may move the robot otherwise, or at other moments.'
_LOST = 'Episodes with the same silence end at another moment, or not at all.'
_STEP = 'Steps, and so rewards, rates and ages, are of another length.'
_RESET = 'Episodes may begin in another state, or fail to begin.'
_STALE = 'Another share of steps is stale, held or truncated.'

RULES: Mapping[type, Mapping[str, Rule]] = {
    Contract: {
        'name': _behavioural('contract', 'Simulated robots and records go by this name.'),
        'version': Rule(
            'version', Meaning.COSMETIC, 'It says something about the contract, and does nothing.'
        ),
        'period': _behavioural('period', _STEP),
        'sim_time': _behavioural(
            'clock', 'Time may pass at another pace than the world has.', ('ros', 'sim')
        ),
        'pacing': _behavioural('pacing', 'Whether the world waits decides what lateness costs.'),
        'lockstep_deadline': _behavioural('lockstep.deadline', _LOST),
        'agents': _breaking('agents', 'Who acts, and under which names, is another.'),
        'observation': _breaking('observation', _SPACE),
        'state': _behavioural('state', 'Records hold more, or task and rules know more.'),
        'evaluator': _behavioural('evaluator', 'Records hold more to judge by.'),
        'action': _breaking('action', _SPACE),
        'horizon': _behavioural(
            'chunk.horizon', 'Actions may be older when they are carried out.'
        ),
        'safety': _behavioural('safety', _SAFETY),
        'latency_budget': _behavioural('latency_budget', 'Other steps count as too slow.'),
        'reaction_of': _breaking(
            'latency_budget.of', 'Capture and reaction are measured from another field.'
        ),
        'task': _behavioural('task', 'It may reward, end or sample otherwise.'),
        'episode': _behavioural('episode', _LOST),
        'recorder_required': _behavioural('recorder.required', _LOST),
        'robot_host': _behavioural('robot.host', 'Ages carry another uncertainty.'),
        'turns': _breaking('turns', 'Who acts in which step is another.'),
    },
    FieldSpec: {
        'name': _breaking('', _SPACE),
        'topic': _behavioural('topic', _TOPIC),
        'type': _behavioural('type', _TYPE),
        'source': _breaking('', _OTHER_VALUES),
        'task': _breaking('task', _OTHER_VALUES),
        'derived': _breaking('derive', _OTHER_VALUES),
        'shape': _breaking('shape', _SPACE),
        'dtype': _breaking('dtype', _SPACE),
        'unit': _breaking('unit', 'The same number is another quantity.'),
        'frame': _breaking('frame', 'The same number is another place or direction.'),
        'low': _breaking('low', _SPACE),
        'high': _breaking('high', _SPACE),
        'beyond': _behavioural(
            'beyond', 'Values out of bounds end the episode, or do so no more.'
        ),
        'max_age': _behavioural('max_age', _STALE),
        'when_stale': _behavioural('when_stale', _STALE),
        'skew': _behavioural('skew', _STALE),
        'qos': _behavioural('qos', 'Other messages may be lost.'),
        'confidence': _behavioural('confidence', 'Its confidence in the record is another.'),
    },
    Confidence: {
        name: _behavioural(name, 'Its confidence in the record is another.')
        for name in ('field', 'variance', 'tolerance')
    },
    Qos: {
        'reliable': _behavioural(
            'reliability', 'Other messages may be lost.', ('best_effort', 'reliable')
        ),
        'transient_local': _behavioural(
            'durability', 'The first message may be an old one.', ('volatile', 'transient_local')
        ),
        'depth': _behavioural('depth', 'Other messages may be lost.'),
    },
    Paths: {'paths': _breaking('fields', _OTHER_VALUES)},
    Joints: {
        'names': _breaking('joints', 'The values are of other joints, or in another order.'),
        'quantities': _breaking('quantity', _OTHER_VALUES),
    },
    Trajectory: {
        'names': _breaking('joints', 'The values are of other joints, or in another order.'),
        'duration': _behavioural(
            'duration', 'The robot moves faster or slower to the same point.'
        ),
    },
    Array: {
        'path': _breaking('array', _OTHER_VALUES),
        'length': _breaking('length', _SPACE),
    },
    Beams: {'count': _breaking('beams', _SPACE)},
    Points: {
        'count': _breaking('points', _SPACE),
        'channels': _breaking('channels', _OTHER_VALUES),
        'pad': _breaking('pad', 'What stands for a missing point is another number.'),
    },
    Picture: {
        'encoding': _breaking('encoding', 'The same pixel is another colour or distance.'),
        'compressed': _behavioural(
            'compressed', 'The pixels may differ by what compression loses.'
        ),
        'invalid': _breaking('invalid', 'What stands for an unmeasured pixel is another number.'),
    },
    Lookup: {
        'target': _breaking('transform.in', _OTHER_VALUES),
        'source': _breaking('transform.of', _OTHER_VALUES),
        'paths': _breaking('fields', _OTHER_VALUES),
    },
    Derived: {
        'function': _breaking('function', _OTHER_VALUES),
        'of': _breaking('of', _OTHER_VALUES),
        'parameters': _breaking('', _OTHER_VALUES),
    },
    ActionSpec: {
        'name': _breaking('', _SPACE),
        'topic': _behavioural('topic', 'Another driver may carry out the command.'),
        'type': _behavioural('type', 'Another driver may carry out the command.'),
        'source': _breaking('', _OTHER_COMMAND),
        'interface': _breaking('interface', 'A stop holds a position, and ends the others.'),
        'unit': _breaking('unit', 'The same number is another quantity.'),
        'frame': _breaking('frame', 'The same number is another place or direction.'),
        'low': _breaking('low', _SPACE),
        'high': _breaking('high', _SPACE),
        'beyond': _behavioural('beyond', 'An action out of bounds is limited, or refused whole.'),
        'safe': _behavioural('safe', 'A stop ends elsewhere.'),
        'rate': _behavioural('rate', _LIMIT),
        'stop': _behavioural('stop', 'A stop takes another time and way.'),
        **{
            name: _behavioural(name, _LIMIT)
            for name in ('acceleration', 'jerk', 'depart', 'rotation', 'curvature', 'wrap')
        },
        'driver_timeout': _behavioural('driver_timeout', _SAFETY),
        'probe': _behavioural('probe', 'The driver is asked otherwise whether it stops.'),
        'feedback': _behavioural('feedback', 'What the robot did is measured otherwise.'),
        'kind': _breaking('kind', _OTHER_COMMAND),
        'most': _breaking('most', _SPACE),
        'choices': _breaking('choices', _OTHER_COMMAND),
        'levels': _breaking('levels', _OTHER_COMMAND),
    },
    Feedback: {
        'topic': _behavioural('topic', _TOPIC),
        'type': _behavioural('type', _TYPE),
        'source': _breaking('', 'The measured action is of something else.'),
        'threshold': _behavioural(
            'threshold', 'Execution is seen earlier or later, and so are reaction times.'
        ),
    },
    Safety: {
        **{
            name: _behavioural(name, _SAFETY)
            for name in (
                'gate_period',
                'gate_lateness',
                'hold_after',
                'hold',
                'command_timeout',
                'environment_timeout',
                'sensor_timeout',
                'clock_jump',
                'competing_publisher',
            )
        },
        **{
            name: _behavioural(name, _LOST)
            for name in ('policy_timeout', 'gate_timeout', 'robot_timeout', 'recorder_timeout')
        },
        'max_action_age': _behavioural('max_action_age', 'Other late actions are refused.'),
        'republish': _behavioural('republish', 'Commands come in other steps, or more often.'),
        'overruns': _behavioural('overruns', 'Slow policies are stopped sooner or later.'),
        'obstacles': _behavioural('obstacles', _LIMIT),
        'workspaces': _behavioural('workspace', _LIMIT),
        'operator': _behavioural('operator', _HAND),
        'emergency_stop': _behavioural('emergency_stop', 'Another button stops the robot.'),
    },
    Obstacle: {
        'name': _behavioural('', 'What the gate measures and does for it has another name.'),
        'topic': _behavioural('topic', _SENSOR),
        'type': _behavioural('type', _SENSOR),
        'frame': _behavioural('frame', _SENSOR),
        'zone': _behavioural('', _LIMIT),
        **{
            name: _behavioural(name, _LIMIT)
            for name in (
                'dimension',
                'slow_distance',
                'slow_speed',
                'stop_distance',
                'time_to_collision',
                'min_valid',
            )
        },
    },
    Sector: {'half_angle': _behavioural('half_angle', _LIMIT)},
    Corridor: {name: _behavioural(name, _LIMIT) for name in ('half_width', 'bottom', 'top')},
    Workspace: {
        'name': _behavioural('', 'What the gate measures and does for it has another name.'),
        'topic': _behavioural('topic', _SENSOR),
        'type': _behavioural('type', _SENSOR),
        'source': _behavioural('', _SENSOR),
        **{
            name: _behavioural(name, _LIMIT)
            for name in (
                'unit',
                'frame',
                'moves',
                'dimensions',
                'turn',
                'low',
                'high',
                'polygon',
                'keep_out',
                'margin',
                'delay',
                'braking',
            )
        },
    },
    Operator: {
        'topic': _behavioural('topic', _HAND),
        'type': _behavioural('type', _HAND),
        'source': _behavioural('', _HAND),
        **{name: _behavioural(name, _HAND) for name in ('scale', 'enable', 'timeout')},
    },
    Overruns: {
        name: _behavioural(name, 'Slow policies are stopped sooner or later.')
        for name in ('exceeded', 'of')
    },
    TaskSpec: {
        'name': _breaking('name', 'Another task: rewards and success mean something else.'),
        'parameters': _behavioural('parameters', 'It may reward, end or sample otherwise.'),
        'distribution': _behavioural(
            'distribution', 'The task comes from another package, and may be another.'
        ),
        'version': _behavioural(
            'version', 'The task is of another version, and may reward, end or sample otherwise.'
        ),
    },
    EpisodeRules: {
        'time_limit': _behavioural('time_limit', 'More or fewer episodes run out of time.'),
        'causes': _breaking('causes', 'The same ending has another cause, or counts otherwise.'),
        'on_stop': _behavioural('on_stop', 'Another share of stops ends the episode.'),
        'reset': _behavioural('reset', _RESET),
    },
    ResetProcedure: {
        'steps': _behavioural('procedure', _RESET),
        'settle': _behavioural('settle', _RESET),
        'deadline': _behavioural('deadline', _RESET),
        'tolerance': _behavioural('tolerance', _RESET),
        'wrap': _behavioural('wrap', _RESET),
    },
    WorldStep: {
        'service': _behavioural('world', _RESET),
        'deadline': _behavioural('deadline', _RESET),
    },
    CallStep: {
        'service': _behavioural('call', _RESET),
        'type': _behavioural('type', _RESET),
        'request': _behavioural('request', _RESET),
        'deadline': _behavioural('deadline', _RESET),
    },
    PublishStep: {
        'topic': _behavioural('publish', _RESET),
        'type': _behavioural('type', _RESET),
        'message': _behavioural('message', _RESET),
    },
    WaitStep: {
        'field': _behavioural('wait', _RESET),
        'target': _behavioural('target', _RESET),
        'sampled': _behavioural('sampled', _RESET),
        'tolerance': _behavioural('tolerance', _RESET),
        'deadline': _behavioural('deadline', _RESET),
        'wrap': _behavioural('wrap', _RESET),
    },
    ConfirmStep: {
        'prompt': _behavioural('confirm', 'A person is asked to do something else.'),
        'deadline': _behavioural('deadline', _RESET),
    },
}
