# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The text of a contract, drafted from what was seen of a robot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
import math
import re
from typing import Final

from boundary_env_ros.core.contract.grammar import TOPIC, TYPE
from boundary_env_ros.core.contract.safety import STOP_TYPE
from boundary_env_ros.core.contract.sources import (
    DEPTHS,
    ENCODINGS,
    IMAGE,
    JOINTS,
    MOST_VALUES,
    QUANTITIES,
    SCAN,
    TRAJECTORY,
)
from boundary_env_ros.core.sources.inputs import TF_TYPE
from boundary_env_ros.core.sources.message_parts import ARRAYS, PARTS
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.commented_yaml import decide, guess, Line, Lines, Page
from boundary_env_ros.evidence.infer_contract.survey import COMMANDING, ODOMETRY, TopicSurvey
from boundary_env_ros.storage.contract_check import DECIDE, GUESS

#: How many periods of its topic a field may be old, and the least of that, s: a computer pauses.
PERIODS, _AGE = 5.0, 0.1

_CLOCK = 'rosgraph_msgs/msg/Clock'
_STOP = re.compile(r'e_?stop|emergency')
#: Topics of ROS itself.
_ROS = re.compile(r'/(rosout|parameter_events|robot_description)$|/_')
_OURS = 'boundary_env_ros/'
#: Twists that are commanded: where the twist is in them.
_TWISTS: Final = {'geometry_msgs/msg/Twist': '', 'geometry_msgs/msg/TwistStamped': 'twist.'}

#: Periods that a guess is rounded to, s, and the one where there is nothing to guess from.
_PERIODS, _PERIOD = (0.02, 0.025, 0.04, 0.05, 0.1, 0.2), 0.1
_BEAMS = 36

#: Why there is no field of such a topic.
_OTHERS = {
    TF_TYPE: 'a field `transform: {of: FRAME, in: FRAME}` looks transforms up',
    'std_msgs/msg/String': 'a text is no number',
    'sensor_msgs/msg/CameraInfo': 'what it says of a camera does not change in an episode',
    'sensor_msgs/msg/CompressedImage': 'a field with `compressed:` and `shape:` takes its images',
    'sensor_msgs/msg/PointCloud2': 'a field `points: N, channels: [x, y, z]` takes N of them',
}
_HEAD = """\
It is a draft: a form to be filled in by a person who knows the robot. What stands behind {guess}
was made from what was seen; behind {decide} stands what only a person can know. Go through it from
top to bottom, delete every field that your policy does not need, fill in what is blank, delete
each mark when you agree, then: boundary-env contract check FILE. Every key is explained in
doc/contract.md."""

#: Ends the name of the topic on which a driver says what it applied of a command.
_APPLIED = '/applied'

#: Why what was in no message is no field.
_NEVER = 'in every message that was seen, so it would never be fresh'

#: Of how many messages one may disagree about what a flag says while the robot moves.
_DISAGREE = 10


class UndraftedTopic(ValueError):
    """Raised when nothing can be made of a topic; says why."""


def is_own(name: str, type_name: str) -> bool:
    """Return whether a topic is of ROS itself or of the boundary, so that no draft is about it."""
    return type_name.startswith(_OURS) or _ROS.search(name) is not None


def draft(source: str, seconds: float, topics: Sequence[TopicSurvey], *, note: str = '') -> str:
    """
    Return the text of a draft.

    What it guesses is marked ``GUESS``, what only a person can know ``DECIDE``; that is blank, and
    the parser asks for it. The same topics always make the same text.

    Parameters
    ----------
    source
        What was looked at, for the head of the draft: ``the bag "drive"``.
    seconds
        For how long.
    topics
        What was seen of each topic, in any order.
    note
        What a reader of the draft should know besides, a sentence.

    Raises
    ------
    RecordError
        If nothing that was seen makes an observation.

    """
    topics = sorted(
        (topic for topic in topics if not is_own(topic.name, topic.type)),
        key=lambda topic: (topic.name, topic.type),
    )
    commands = {topic.name for topic in topics if _is_command(topic)}
    flags = [t for t in topics if t.type == STOP_TYPE and _STOP.search(t.name.lower())]
    unfit = {flag.name: why for flag in flags if (why := _no_stop(flag))}
    stops = [flag for flag in flags if flag.name not in unfit]
    stop = stops[0] if len(stops) == 1 else None
    unfit |= {flag.name: 'one of several emergency stops' for flag in stops if flag is not stop}
    unfit |= {f'{name}{_APPLIED}': f'what the driver applied of {name}' for name in commands}
    fields: dict[str, tuple[TopicSurvey, Lines]] = {}
    groups: dict[str, tuple[TopicSurvey, Lines]] = {}
    left_out: list[str] = []
    of_joints = [t for t in topics if t.type == JOINTS and t.name not in commands]
    states = [one for topic in of_joints for one in topic.apart() if one.joints]
    for topic in topics:
        if topic is stop or topic.type == _CLOCK:
            continue
        for one in (topic,) if topic.name in commands else topic.apart():
            try:
                if topic.name in unfit:
                    raise UndraftedTopic(unfit[topic.name])
                if topic.name in commands:
                    groups[_free_name(topic.name, groups)] = (topic, _group(topic, states))
                    continue
                found, without = _fields(one)
                for part, lines in found.items():
                    fields[_free_name(f'{topic.name}_{part}', fields)] = (one, lines)
            except UndraftedTopic as error:
                without = [str(error)]
            left_out += [f'{topic.name} ({topic.type}): {why}' for why in without]
    if not fields:
        why = ''.join(f'\n  {line}' for line in left_out)
        raise RecordError(
            f'{source} has no topic that an observation can be made of'
            f'{"" if why else ": there is no topic of a robot"}.{why}\n'
            'Look at the robot while its sensors run.'
        )
    odometry = next((topic for topic, _ in fields.values() if topic.type == ODOMETRY), None)
    # Capture and reaction are measured by the first field.
    first = max(
        (topic for topic, _ in fields.values() if topic.stamped),
        key=lambda topic: (topic is odometry, topic.rate or 0.0),
        default=None,
    )
    fields = dict(sorted(fields.items(), key=lambda item: item[1][0] is not first))
    seen = [topic for topic in topics if topic.messages]
    page = Page()
    page.note(
        f'The boundary of a robot, drafted from {source}: '
        f'{sum(topic.messages for topic in seen)} messages on {len(seen)} topics in '
        f'{seconds:.3g} s.'
    )
    page.note(_HEAD.format(guess=GUESS, decide=DECIDE))
    if note:
        page.note(note)
    _write_name(page, topics, [topic for topic, _ in (groups or fields).values()])
    page.blank()
    page.section('observation', comment='what the policy sees, in this order')
    page.note('capture and reaction are measured by the first field with a topic', 1)
    page.note(decide('move to `privileged` what the policy must not see, like ground truth'), 1)
    for name, (topic, lines) in fields.items():
        _write_field(page, name, topic, lines)
    page.blank()
    nothing = decide('no topic that was heard commands the robot; a group for each that does')
    page.section('action', comment='' if groups else nothing)
    for name, (topic, lines) in groups.items():
        _write_group(page, name, topic, lines, odometry, states)
    page.blank()
    _write_rest(page, stop, flags)
    if left_out:
        page.blank()
        page.note('Left out:')
        for line in left_out:
            page.note(line)
    return page.text()


# Topics ------------------------------------------------------------------------------------------


def _relative(name: str) -> str:
    """Return a topic as it stands in a contract."""
    return name.lstrip('/')


def _of_topic(topic: TopicSurvey, comment: str = '') -> Lines:
    """Return the keys that name a topic and its type."""
    lines: list[Line] = [('topic', _relative(topic.name), comment), ('type', topic.type, '')]
    if topic.among and topic.publishers:
        lines.append(('publishers', topic.publishers, guess('so many name joints of their own')))
    return lines


def _can_be_named(topic: TopicSurvey) -> bool:
    """Return whether a contract can name a topic and its type."""
    return TOPIC.fits(_relative(topic.name)) and TYPE.fits(topic.type)


def _free_name(topic: str, taken: Mapping[str, object]) -> str:
    """Return a name for what comes on a topic that is not taken."""
    name = re.sub(r'[^a-z0-9]+', '_', topic.lower()).strip('_')
    first = name = name if re.match(r'[a-z]', name) else f'topic_{name}'.rstrip('_')
    number = 2
    while name in taken:
        name, number = f'{first}_{number}', number + 1
    return name


def _is_command(topic: TopicSurvey) -> bool:
    """Return whether a topic seems to command the robot, by its type and name and its readers."""
    if not _can_be_named(topic):
        return False
    numbers = topic.type in _TWISTS or topic.type in ARRAYS
    if topic.type == TRAJECTORY or (numbers and topic.subscribers and not topic.publishers):
        return True
    return COMMANDING.search(topic.name.lower()) is not None


# Fields ------------------------------------------------------------------------------------------


def _fields(topic: TopicSurvey) -> tuple[dict[str, Lines], list[str]]:
    """Return the keys of each field of a topic, by the end of its name, and what has none."""
    if topic.type in _OTHERS:
        base = topic.name.removesuffix('_static')
        named = topic.type == TF_TYPE and base != '/tf'
        key = f', with `robot: {{tf: {_relative(base)}}}`' if named else ''
        raise UndraftedTopic(f'{_OTHERS[topic.type]}{key}')
    if topic.trouble:
        raise UndraftedTopic(topic.trouble)
    if not _can_be_named(topic):
        raise UndraftedTopic('a contract cannot name it')
    if not topic.messages:
        raise UndraftedTopic('nothing came on it while looking')
    found = dict(_parts(topic))
    without: dict[str, list[str]] = {}
    for path, why in _without(topic):
        without.setdefault(why, []).append(path)
    reasons = [f'{", ".join(paths)}: {why}' for why, paths in without.items()]
    if not found:
        # The one number of a message needs no name.
        only = [*without] if sum(map(len, without.values())) == 1 else reasons
        raise UndraftedTopic('; '.join(only) or 'it has no number that a field could name')
    if topic.frame:
        frame: Line = ('frame', topic.frame, guess('as its header says'))
        for part, lines in found.items():
            # The header of an odometry does not name the frame of its twist.
            if topic.type != ODOMETRY or part in ('position', 'orientation'):
                found[part] = [*lines, frame]
    return found, reasons


def _without(topic: TopicSurvey) -> Iterator[tuple[str, str]]:
    """Yield the paths in a message that are no field, each with the reason."""
    for path, places in topic.unmeasured.items():
        names = topic.joints or range(topic.lengths.get(path, (0, 1))[1])
        some = [str(names[place]) for place in sorted(places or ())]
        which = f' ({", ".join(some)})' if len(some) < len(names) else ''
        why = 'missing' if not some else 'no estimate' if path in topic.marked else 'NaN'
        yield path + which * bool(some), f'{why} {_NEVER}'
    for path, length in topic.lengths.items():
        if path not in topic.unmeasured and topic.type != SCAN and not _is_array(length):
            yield path, f'its length is not constant, or not from 1 to {MOST_VALUES}'
    if topic.type not in (*ARRAYS, *PARTS, IMAGE, JOINTS, SCAN):
        for path in topic.lists:
            yield path, 'messages in a sequence; name their numbers by hand, as NAME[0].x'


def _is_array(length: tuple[int, int]) -> bool:
    """Return whether a sequence of some lengths can be an array of a contract."""
    return length[0] == length[1] and 0 < length[1] <= MOST_VALUES


def _parts(topic: TopicSurvey) -> Iterator[tuple[str, Lines]]:
    unit: Line = ('unit', '', decide('one, or one for each'))
    never = topic.unmeasured
    if topic.type == IMAGE:
        yield '', _image(topic)
    elif topic.type == SCAN:
        least, _ = topic.lengths.get('ranges', (0, 0))
        if not least:
            raise UndraftedTopic('a scan without beams came')
        if not never:
            beams = min(_BEAMS, least)
            why = guess(f'the nearest return of each of {beams} sectors of the scan')
            yield '', [('beams', beams, why), ('unit', 'm', ''), *_bounds(beams, 'm')]
    elif topic.type == JOINTS:
        if not topic.joints:
            raise UndraftedTopic('no names of joints came')
        reason = guess(f'as in {topic.messages} of {topic.among or topic.messages} messages')
        for quantity in QUANTITIES:
            places = never.get(quantity, ())
            every = enumerate(() if places is None else topic.joints)
            if names := tuple(name for place, name in every if place not in (places or ())):
                lines: Lines = [('joints', names, reason), ('quantity', quantity, ''), unit]
                yield quantity, [*lines, *_bounds(len(names))]
    elif topic.type in PARTS:
        known = PARTS[topic.type]
        measured = {p: has for p, has in known.items() if never.keys().isdisjoint(has.paths)}
        for part, has in measured.items():
            axes = tuple(path.rpartition('.')[2] for path in has.paths)
            bounds = _bounds(len(axes), *dict.fromkeys(has.unit), names=axes)
            if axes == ('x', 'y', 'z', 'w'):
                bounds = [('low', -1.0, ''), ('high', 1.0, '')]
            yield (part if len(known) > 1 else ''), [('parts', (part,), ''), *bounds]
    else:
        if topic.type not in ARRAYS and (paths := tuple(p for p in topic.paths if p not in never)):
            which: Line = ('fields', paths, decide('which of them'))
            yield '', [which, unit, *_bounds(len(paths))]
        for path, length in topic.lengths.items():
            if _is_array(length) and path not in never:
                size: Line = ('length', length[0], guess('it always had so many'))
                part = '' if topic.type in ARRAYS else path
                yield part, [('array', path, ''), size, unit, *_bounds(length[0])]


def _bounds(count: int, *unit: str, names: Sequence[str] = ()) -> Lines:
    """Return blank bounds that say how many values of which unit they are to have."""
    many = f', or {count}' if count > 1 else ''
    many += f' ({", ".join(names)})' if len(names) > 1 else ''
    return [
        ('low', '', decide(', '.join(filter(None, (f'one number{many}', *unit))))),
        ('high', '', ''),
    ]


def _image(topic: TopicSurvey) -> Lines:
    height, width, encoding = topic.image or (0, 0, '')
    if encoding not in ENCODINGS:
        raise UndraftedTopic(f'its encoding {encoding!r} is none that a contract knows')
    shape = (height, width, ENCODINGS[encoding][0])
    if not math.prod(shape):
        raise UndraftedTopic(f'{width}x{height} is no size of an image')
    lines: list[Line] = [('shape', shape, ''), ('encoding', encoding, '')]
    if encoding in DEPTHS:
        metric = 'm' if encoding == '32FC1' else 'mm'
        lines += [('unit', metric, guess('as REP-118 has it')), *_bounds(1, metric)]
    return lines


def _write_field(page: Page, name: str, topic: TopicSurvey, lines: Lines) -> None:
    page.section(name, 1)
    rate = '' if topic.rate is None else f', {topic.rate:.3g} Hz'
    jumps = f', its time jumps {topic.jumps()}' if topic.jumps() else ''
    page.form(_of_topic(topic, f'seen {topic.messages} times{rate}{jumps}'), 2)
    page.form(lines, 2)
    if not topic.stamped:
        reason = (
            'its messages do not say when they were captured, so their age is unknown and '
            'max_age would make it stale for ever'
        )
        page.note(decide(reason), 2)
    elif topic.rate is None:
        page.note(decide('it came once only: a max_age, if it is to come again'), 2)
    else:
        comment = guess(f's, {PERIODS:g} periods at {topic.rate:.3g} Hz, at least {_AGE:g}')
        page.key('max_age', max(_AGE, float(f'{PERIODS / topic.rate:.2g}')), 2, comment)
        if topic.image is None:
            page.key('on_stale', 'truncate', 2, decide('mark, stop or truncate'))
    if topic.latched:
        page.raw('qos: {reliability: reliable, durability: transient_local}', 2)


# Groups of the action ----------------------------------------------------------------------------


def _measured(topic: TopicSurvey, states: Sequence[TopicSurvey]) -> TopicSurvey | None:
    """Return what measures what the joints of a command did, if only one can."""
    least, most = topic.lengths.get(ARRAYS.get(topic.type, ''), (0, 1))
    able = [
        one
        for one in states
        if {*topic.joints} <= {*one.joints} and (least < most or least == len(one.joints))
    ]
    return able[0] if len(able) == 1 else None


def _group(topic: TopicSurvey, states: Sequence[TopicSurvey]) -> Lines:
    """Return the keys that say where in the message of a command its dimensions go."""
    measured = _measured(topic, states)
    names = topic.joints or (measured.joints if measured else ())
    if topic.type in _TWISTS:
        paths = tuple(_TWISTS[topic.type] + path for path in ('linear.x', 'angular.z'))
        return [
            ('fields', paths, guess('as for a robot on wheels')),
            ('unit', ('m/s', 'rad/s'), ''),
        ]
    unit: Line = ('unit', '', decide('one, or one for each'))
    joints: Line = ('joints', names, decide('those that it commands, in its order'))
    if topic.type == TRAJECTORY:
        return [joints, ('duration', 0.2, decide('s, in which it is to get there')), unit]
    interface: Line = ('interface', '', decide('position, velocity or effort'))
    if topic.type == JOINTS:
        return [joints, ('quantity', '', interface[2]), unit]
    if 'Float' in topic.type and topic.type in ARRAYS:
        if names:
            return [joints, interface, unit]
        many = topic.lengths.get(ARRAYS[topic.type], (0, 0))
        length: Line = ('length', many[0] * _is_array(many) or '', decide('how many it takes'))
        return [('array', ARRAYS[topic.type], ''), length, interface, unit]
    raise UndraftedTopic('its numbers are to be named by hand, with `fields`')


def _write_group(
    page: Page,
    name: str,
    topic: TopicSurvey,
    lines: Lines,
    odometry: TopicSurvey | None,
    states: Sequence[TopicSurvey],
) -> None:
    seen = f'seen {topic.messages} times' if topic.messages else 'nothing was seen on it'
    seen += f'; {topic.trouble}' * bool(topic.trouble)
    page.section(name, 1)
    reason = guess(f'it seems to command, by its type and name; {seen}')
    page.form(_of_topic(topic, reason), 2)
    page.form(lines, 2)
    moves = topic.type in _TWISTS
    limit = 'max_acceleration' if moves else 'max_velocity'
    changes = (
        f'{"[m/s^2, rad/s^2], " if moves else ""}how fast it may change; begin slow'
        f'{"" if moves else "; of `interface: velocity` max_acceleration"}'
    )
    timeout = (
        's, after so long without a command the driver stops by itself; of a velocity '
        '`driver_timeout_probe: NUMBERS` and `up --probe` measure it'
    )
    low = f'{"[m/s, rad/s], " * moves}where the command may go'
    bounds: Lines = [('low', '', decide(low)), ('high', '', '')]
    page.form([*bounds, (limit, '', decide(changes)), ('driver_timeout', '', decide(timeout))], 2)
    if moves and odometry is not None:
        why = guess('the odometry tells what the robot did')
        paths = ('twist.twist.linear.x', 'twist.twist.angular.z')
        feedback: Lines = [*_of_topic(odometry), ('fields', paths, '')]
    elif (measured := _measured(topic, states)) and any(key == 'joints' for key, *_ in lines):
        why = guess('the one topic that tells what the joints did')
        feedback = _of_topic(measured)
    else:
        why = decide('the topic that tells what the robot did')
        reason = 'a path in its message for each value of the command; or `joints`, `array`'
        feedback = [('topic', '', ''), ('type', '', ''), ('fields', '', decide(reason))]
    page.section('feedback', 2, why)
    page.form(feedback, 3)


# The rest ----------------------------------------------------------------------------------------


def _write_name(page: Page, topics: Sequence[TopicSurvey], paced: Sequence[TopicSurvey]) -> None:
    """Write the name and the clock, with a period that is that of some topics."""
    page.key('contract', 'draft', comment=decide('a name for this boundary'))
    rate = max((topic.rate for topic in paced if topic.rate), default=None)
    period, comment = _PERIOD, decide('s, one step')
    if rate is not None:
        period = min(_PERIODS, key=lambda each: abs(math.log(each * rate)))
        comment = guess(f's, one step; it came at {rate:.3g} Hz')
    page.key('period', period, comment=comment)
    simulated = any(topic.type == _CLOCK for topic in topics)
    reason = f'/clock has {"a" if simulated else "no"} publisher'
    page.key('clock', 'sim' if simulated else 'ros', comment=guess(reason))


def _no_stop(flag: TopicSurvey) -> str:
    """Return why what said true and false is not taken for an emergency stop; empty if it is."""
    off, on = flag.moving
    if off > _DISAGREE * on:
        return ''
    moved = f'of the messages that tell of motion {off} came while it was false, {on} while true'
    if on > _DISAGREE * off:
        return (
            f'{moved}: true seems to mean released, and in a contract it means pressed. If it is '
            'the emergency stop, publish its opposite, and name that in `safety`'
        )
    return (
        f'{moved}, which does not tell whether true means pressed. If it does, name it in `safety`'
    )


def _write_rest(page: Page, stop: TopicSurvey | None, flags: Sequence[TopicSurvey]) -> None:
    if stop is None:
        maybe = ''.join(f'; {flag.name}? See below' for flag in flags)
        what = '`safety: {emergency_stop: TOPIC}` (std_msgs/msg/Bool, true when pressed)'
        page.note(decide(f'{what}, if there is one{maybe}'))
    else:
        why = 'by its type and name; true is pressed, for it was false while the robot moved'
        page.section('safety')
        page.key('emergency_stop', _relative(stop.name), 1, guess(why))
    page.note(
        decide(
            '`task`, which gives reward and success: see doc/tasks.md. Without one the reward is '
            '0, and episodes end by the time limit, a stop, or a loss.'
        )
    )
    page.section('episode')
    page.key('time_limit', 30.0, 1, decide('s'))
    if stop is not None:
        page.raw('on_stop: {emergency_stop: operator_stop}', 1)
    page.section('reset', 1, decide('what is done between episodes'))
    page.section('procedure', 2, 'confirm with: boundary-env operator --user NAME')
    page.raw("- {confirm: 'Bring the robot to its start and step back.', deadline: 60.0}", 3)
