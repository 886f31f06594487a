# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The text of a contract, drafted from what was seen of a robot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math
import re

from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.infer_contract.commands import (
    group_draft,
    GroupDraft,
    is_command,
    is_other_input,
    write_group,
)
from boundary_env_ros.evidence.infer_contract.fields import (
    field_drafts,
    FieldDraft,
    relative,
    SCAN,
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

    observation: Sequence[FieldDraft]
    privileged: Sequence[FieldDraft]
    action: Sequence[GroupDraft]
    emergency_stop: str
    sim_time: bool
    left_out: Sequence[str]

    @property
    def told(self) -> Sequence[TopicSurvey]:
        """Return the topics of the observation that tell what the robot did."""
        feedback = {group.feedback[0].name for group in self.action if group.feedback is not None}
        topics = {field.topic.name: field.topic for field in self.observation}
        return [topic for name, topic in topics.items() if name in feedback and topic.rate]


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
        why = ''.join(f'\n  {line}' for line in parts.left_out)
        raise RecordError(
            f'{survey.source} has no topic that an observation can be made of'
            f'{"" if why else ": there is no topic of a robot"}.{why}\n'
            'Look at the robot while its sensors run.'
        )
    page = Page()
    seen = [topic for topic in survey.topics if topic.messages]
    page.note(
        f'The boundary of a robot, drafted from {survey.source}: '
        f'{sum(topic.messages for topic in seen)} messages on {len(seen)} topics in '
        f'{survey.seconds:.3g} s.'
    )
    page.note(_HEAD.format(guess=GUESS, decide=DECIDE))
    for note in survey.notes:
        page.note(note)
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
    nothing = decide('no topic that was heard commands the robot; a group for each that does')
    page.section('action', comment='' if parts.action else nothing)
    for group in parts.action:
        write_group(page, group, period)
    page.blank()
    _write_safety(page, parts, period)
    page.blank()
    _write_rest(page, parts)
    if parts.left_out:
        page.blank()
        page.note('Left out:')
        for line in parts.left_out:
            page.note(line)
    return page.text()


# What it is made of ------------------------------------------------------------------------------


def _parts(survey: Survey) -> _Parts:
    topics = sorted(
        (topic for topic in survey.topics if not is_own(topic.name, topic.type)),
        key=lambda topic: (topic.name, topic.type),
    )
    stops = [t for t in topics if t.type == _BOOL and _STOP.search(t.name.lower())][:1]
    rest = [topic for topic in topics if topic.type != _CLOCK and topic not in stops]
    commands = [topic for topic in rest if is_command(topic)]
    # What is privileged is no feedback for the gate.
    heard = [topic for topic in rest if topic not in commands and not _is_truth(topic)]
    action: list[GroupDraft] = []
    fields: dict[bool, list[FieldDraft]] = {True: [], False: []}
    left_out: list[str] = []
    groups: set[str] = set()
    taken: set[str] = set()
    for topic in rest:
        try:
            if topic not in commands:
                fields[_is_truth(topic)] += field_drafts(topic, taken)
            elif is_other_input(topic, commands):
                raise Unfit('it seems to be another input of what drives the robot')
            else:
                action.append(group_draft(topic, heard, groups))
        except Unfit as error:
            left_out.append(f'{topic.name} ({topic.type}): {error}')
    return _Parts(
        observation=fields[False],
        privileged=fields[True],
        action=action,
        emergency_stop=relative(stops[0].name) if stops else '',
        sim_time=any(topic.type == _CLOCK for topic in topics),
        left_out=left_out,
    )


def _is_truth(topic: TopicSurvey) -> bool:
    return _TRUTH.search(topic.name.lower()) is not None


# Writing -----------------------------------------------------------------------------------------


def _write_name(page: Page, parts: _Parts) -> float:
    page.key('contract', 'draft', comment=decide('a name for this boundary'))
    page.key('version', '0.1.0')
    # No faster than what it did is told, and no faster than it was commanded.
    sensors = parts.told or [field.topic for field in parts.observation]
    known = [
        (max(rates), came)
        for topics, came in (
            ([group.topic for group in parts.action], 'commands came'),
            (sensors, 'sensors spoke'),
        )
        if (rates := [topic.rate for topic in topics if topic.rate])
    ]
    period, comment = _PERIOD, decide('s, one step')
    if known:
        rate, came = min(known)
        period = min(_PERIODS, key=lambda each: abs(math.log(each * rate)))
        comment = guess(f's, one step; {came} at {rate:.3g} Hz')
    page.key('period', period, comment=comment)
    if parts.sim_time:
        page.key('clock', 'sim', comment=guess('/clock has a publisher'))
    else:
        page.key('clock', 'ros', comment=guess('/clock has no publisher'))
    page.key('pacing', 'realtime')
    page.key('agents', ('robot',), comment=decide('a name for the robot'))
    return period


def _write_safety(page: Page, parts: _Parts, period: float) -> None:
    scans = [field.topic for field in parts.observation if field.topic.type == SCAN]

    def silence(topics: Sequence[TopicSurvey]) -> float:
        rates = [topic.rate for topic in topics if topic.rate]
        return nice(max(4.0 * period, 4.0 / min(rates) if rates else 0.5))

    page.section(
        'safety', comment='seconds, on the steady clock; the others follow from the period'
    )
    said = guess('four periods of what tells what it did')
    page.key('robot_timeout', silence(parts.told), 1, said)
    said = guess('four periods of the slowest of that and scans')
    page.key('sensor_timeout', silence([*parts.told, *scans]), 1, said)
    if parts.emergency_stop:
        page.key('emergency_stop', parts.emergency_stop, 1, guess('by its type and name'))
    else:
        page.note(decide('`emergency_stop: TOPIC` (std_msgs/msg/Bool), if there is one'), 1)
    if scans:
        said = 'could keep it from obstacles: see `obstacle` in doc/contract.md'
        page.note(decide(f'{scans[0].name} {said}'), 1)


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
