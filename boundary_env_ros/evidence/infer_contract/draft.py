# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The text of a contract, drafted from what was seen of a robot."""

from __future__ import annotations

from dataclasses import dataclass
import math
import re

from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.infer_contract.commands import (
    chosen,
    group_draft,
    GroupDraft,
    is_command,
    write_group,
)
from boundary_env_ros.evidence.infer_contract.fields import (
    field_drafts,
    FieldDraft,
    relative,
    Unfit,
    write_field,
)
from boundary_env_ros.evidence.infer_contract.survey import Survey, TopicSurvey
from boundary_env_ros.evidence.infer_contract.writing import (
    DECIDE,
    decide,
    GUESS,
    guess,
    nice,
    Page,
)

_CLOCK = 'rosgraph_msgs/msg/Clock'
_BOOL = 'std_msgs/msg/Bool'
_SCAN = 'sensor_msgs/msg/LaserScan'
_STOP = re.compile(r'e_?stop|emergency')
_TRUTH = re.compile(r'ground_?truth|(^|[/_])(truth|gt)([/_]|$)|true_pose')
#: Topics of ROS itself.
_ROS = re.compile(r'/(rosout|parameter_events|robot_description)$|/_')
_OURS = 'boundary_env_ros/'


#: Periods that a guess is rounded to, s, and the one where there is nothing to guess from.
_PERIODS, _PERIOD = (0.02, 0.025, 0.04, 0.05, 0.1, 0.2), 0.1
_HEAD = """\
It is a draft: a form to be filled in by a person who knows the robot. What stands behind {guess}
was made from what was seen; behind {decide} stands what only a person can know. Its limits are
narrow and its rates slow on purpose. Go through it from top to bottom, delete each mark when you
agree, then: boundary-env contract check FILE. Every key is explained in doc/contract.md."""


def is_own(name: str, type_name: str) -> bool:
    """Return whether a topic is of ROS itself or of the boundary, so that no draft is about it."""
    return type_name.startswith(_OURS) or _ROS.search(name) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """What the draft is made of."""

    observation: tuple[FieldDraft, ...]
    privileged: tuple[FieldDraft, ...]
    action: tuple[GroupDraft, ...]
    emergency_stop: str
    sim_time: bool
    left_out: tuple[tuple[TopicSurvey, str], ...]


def draft(survey: Survey) -> str:
    """
    Return the text of a draft.

    What it guesses is marked ``GUESS``, what only a person can know ``DECIDE``; of that it leaves
    blank what nothing was seen of, and the parser asks for it. The same survey always makes the
    same text.

    Raises
    ------
    RecordError
        If nothing that was seen makes an observation.

    """
    parts = _parts(survey)
    if not parts.observation:
        why = ''.join(f'\n  {topic.name} ({topic.type}): {text}' for topic, text in parts.left_out)
        raise RecordError(
            f'{survey.source} has no topic that an observation can be made of'
            f'{"" if why else ": there is no topic of a robot"}.{why}\n'
            'Look at the robot while its sensors run.'
        )
    page = Page()
    _write_head(page, survey)
    period = _write_name(page, parts)
    page.blank()
    page.section('observation', comment='what the policy sees, in this order')
    for field in parts.observation:
        write_field(page, field)
    if parts.privileged:
        page.blank()
        page.section('privileged', comment=guess('by their names; the policy never sees them'))
        for field in parts.privileged:
            write_field(page, field, privileged=True)
    page.blank()
    page.section(
        'action',
        comment=''
        if parts.action
        else decide('no topic that was heard commands the robot; a group for each that does'),
    )
    for group in parts.action:
        write_group(page, group, period)
    page.blank()
    _write_safety(page, parts, period)
    page.blank()
    _write_rest(page, parts)
    _write_left_out(page, parts)
    return page.text()


# What it is made of ------------------------------------------------------------------------------


def _parts(survey: Survey) -> _Parts:
    topics = sorted(
        (topic for topic in survey.topics if not is_own(topic.name, topic.type)),
        key=lambda topic: (topic.name, topic.type),
    )
    clocks = [topic for topic in topics if topic.type == _CLOCK]
    stops = [t for t in topics if t.type == _BOOL and _STOP.search(t.name.lower())]
    rest = [topic for topic in topics if topic not in clocks and topic not in stops]
    commands = [topic for topic in rest if is_command(topic)]
    sensors = [topic for topic in rest if topic not in commands]
    # What is privileged is no feedback for the gate.
    heard = [topic for topic in sensors if not _is_truth(topic)]
    left_out: list[tuple[TopicSurvey, str]] = []
    wanted, others = chosen(commands)
    left_out += [
        (topic, 'it seems to be another input of what drives the robot') for topic in others
    ]
    action: list[GroupDraft] = []
    groups: set[str] = set()
    for topic in wanted:
        try:
            action.append(group_draft(topic, heard, groups))
        except Unfit as error:
            left_out.append((topic, f'it seems to command the robot, but {error}'))
    taken: set[str] = set()
    fields: dict[bool, list[FieldDraft]] = {True: [], False: []}
    for topic in sensors:
        try:
            fields[_is_truth(topic)] += field_drafts(topic, taken)
        except Unfit as error:
            left_out.append((topic, str(error)))
    return _Parts(
        observation=tuple(fields[False]),
        privileged=tuple(fields[True]),
        action=tuple(action),
        emergency_stop=relative(stops[0].name) if stops else '',
        sim_time=bool(clocks),
        left_out=(*left_out, *((topic, 'another emergency stop') for topic in stops[1:])),
    )


def _is_truth(topic: TopicSurvey) -> bool:
    return _TRUTH.search(topic.name.lower()) is not None


# Writing -----------------------------------------------------------------------------------------


def _write_head(page: Page, survey: Survey) -> None:
    seen = [topic for topic in survey.topics if topic.messages]
    count = sum(topic.messages for topic in seen)
    page.note(
        f'The boundary of a robot, drafted from {survey.source}: '
        f'{_count(count, "message")} on {_count(len(seen), "topic")} in {survey.seconds:.3g} s.'
    )
    page.note(_HEAD.format(guess=GUESS, decide=DECIDE))
    for note in survey.notes:
        page.note(note)


def _count(number: int, noun: str) -> str:
    return f'{number} {noun}' + ('' if number == 1 else 's')


def _write_name(page: Page, parts: _Parts) -> float:
    page.key('contract', 'draft', comment=decide('a name for this boundary'))
    page.key('version', '0.1.0')
    feedback = _feedback(parts)
    topics = [field.topic for field in parts.observation]
    commands = [group.topic.rate for group in parts.action if group.topic.rate]
    sensors = [t.rate for t in topics if t.rate and t.name in feedback]
    sensors = sensors or [t.rate for t in topics if t.rate]
    # No faster than what it did is told, and no faster than it was commanded.
    known = [
        (max(rates), came)
        for rates, came in ((commands, 'commands came'), (sensors, 'sensors spoke'))
        if rates
    ]
    if known:
        rate, came = min(known)
        period = min(_PERIODS, key=lambda each: abs(math.log(each * rate)))
        page.key('period', period, comment=guess(f's, one step; {came} at {rate:.3g} Hz'))
    else:
        period = _PERIOD
        page.key('period', period, comment=decide('s, one step'))
    if parts.sim_time:
        page.key('clock', 'sim', comment=guess('/clock has a publisher'))
    else:
        page.key('clock', 'ros', comment=guess('/clock has no publisher'))
    page.key('pacing', 'realtime')
    page.key('agents', ('robot',), comment=decide('a name for the robot'))
    return period


def _feedback(parts: _Parts) -> set[str]:
    """Return the topics that tell what the robot did."""
    return {group.feedback[0].name for group in parts.action if group.feedback is not None}


def _write_safety(page: Page, parts: _Parts, period: float) -> None:
    feedback = _feedback(parts)
    topics = {field.topic.name: field.topic for field in parts.observation}
    rates = [t.rate for name, t in topics.items() if name in feedback and t.rate]
    silence = nice(max(4.0 * period, 4.0 / min(rates) if rates else 0.5))
    rates += [t.rate for t in topics.values() if t.type == _SCAN and t.rate]
    slowest = nice(max(4.0 * period, 4.0 / min(rates) if rates else 0.5))
    page.section(
        'safety', comment='seconds, on the steady clock; the others follow from the period'
    )
    page.key('robot_timeout', silence, 1, guess('four periods of what tells what it did'))
    page.key('sensor_timeout', slowest, 1, guess('four periods of the slowest of that and scans'))
    if parts.emergency_stop:
        page.key('emergency_stop', parts.emergency_stop, 1, guess('by its type and name'))
    else:
        page.note(decide('`emergency_stop: TOPIC` (std_msgs/msg/Bool), if there is one'), 1)
    scans = sorted(t.name for t in topics.values() if t.type == _SCAN)
    if scans:
        page.note(
            decide(f'{scans[0]} could keep it from obstacles: see `obstacle` in doc/contract.md'),
            1,
        )


def _write_rest(page: Page, parts: _Parts) -> None:
    stamped = [field for field in parts.observation if field.topic.stamped]
    if stamped:
        fastest = max(stamped, key=lambda field: field.topic.rate or 0.0)
        page.section('latency_budget')
        page.key('of', fastest.name, 1, guess('the fastest field that says when it was captured'))
        page.blank()
    page.note(
        decide(
            '`task`, which gives reward and success: see doc/tasks.md. Without one the reward is '
            '0, and episodes end by the time limit, a stop, or a loss.'
        )
    )
    page.blank()
    page.section('episode')
    page.key('time_limit', 30.0, 1, decide('s'))
    if parts.emergency_stop:
        page.raw('on_stop: {emergency_stop: operator_stop}', 1)
    page.section('reset', 1, decide('what is done between episodes'))
    page.key('deadline', 120.0, 2, decide('s'))
    page.key('settle', 0.5, 2, decide('s'))
    page.section('procedure', 2)
    page.raw("- {confirm: 'Bring the robot to its start and step back.', deadline: 120.0}", 3)


def _write_left_out(page: Page, parts: _Parts) -> None:
    if not parts.left_out:
        return
    page.blank()
    page.note('Left out:')
    for topic, why in sorted(parts.left_out, key=lambda item: item[0].name):
        page.note(f'{topic.name} ({topic.type}): {why}')
