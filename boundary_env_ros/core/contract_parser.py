# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
From plain data to a :class:`~boundary_env_ros.core.contract.Contract`, strictly.

Every problem is found and reported at once. The key reference is ``doc/contract.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
import math
import re

from boundary_env_ros.core import causes
from boundary_env_ros.core.contract import (
    ActionSpec,
    Beyond,
    Confidence,
    Contract,
    EpisodeRules,
    Feedback,
    FieldSpec,
    Obstacle,
    Pacing,
    ResetProcedure,
    Safety,
    TaskSpec,
    WhenStale,
)
from boundary_env_ros.core.contract_reader import nearest, Path, Reader, said
from boundary_env_ros.core.decision import Reason
from boundary_env_ros.core.fields import is_path
from boundary_env_ros.core.latency import STAGES
from boundary_env_ros.errors import ContractError, Problem

_NAME = re.compile(r'[a-z][a-z0-9_]*')
_TOPIC = re.compile(r'[A-Za-z_]\w*(/[A-Za-z_]\w*)*', re.ASCII)
_TYPE = re.compile(r'[a-z]\w*/msg/[A-Z]\w*', re.ASCII)
_VERSION = re.compile(r'\d+\.\d+\.\d+', re.ASCII)
_IMAGE = 'sensor_msgs/msg/Image'
_SCAN = 'sensor_msgs/msg/LaserScan'
_CHANNELS = {'mono8': 1, 'rgb8': 3, 'bgr8': 3}
_DTYPES = ('float32', 'float64')

_a_name = 'a name in lower case (letters, digits, _)'
_a_topic = 'a relative topic name, for example odom or camera/image_raw'
_a_type = 'a message type, for example nav_msgs/msg/Odometry'
_a_path = 'a field path, for example twist.linear.x or yaw(pose.pose.orientation)'


def _is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def _is_topic(text: str) -> bool:
    return _TOPIC.fullmatch(text) is not None


def _is_type(text: str) -> bool:
    return _TYPE.fullmatch(text) is not None


def parse(
    data: object,
    *,
    lines: Mapping[Path, int] | None = None,
    source: str = 'contract',
    tasks: Mapping[str, tuple[str, str]] | None = None,
) -> Contract:
    """
    Return the contract that plain data holds.

    Parameters
    ----------
    data
        Nested mappings, lists, texts and numbers, as a YAML file gives them.
    lines
        Line of each key path, for messages.
    source
        Name of the file, for messages.
    tasks
        Distribution and version of each installed task, by its entry-point name; None: do not
        look.

    Raises
    ------
    ContractError
        Listing every problem.

    """
    top = Reader(data, lines=lines)
    observation = _fields(top.section('observation'), evaluator=False)
    evaluator = _fields(top.section('evaluator', required=False), evaluator=True)
    action = _actions(top.section('action'))
    size = sum(len(group.fields) for group in action)
    safety = _safety(top.section('safety'), size)
    budget = top.section('latency_budget', required=False)
    episode = _episode(top.section('episode'))
    lockstep = top.section('lockstep', required=False)
    recorder = top.section('recorder', required=False)
    robot = top.section('robot', required=False)
    sim_time = top.choice('clock', ('ros', 'sim'), default='ros') == 'sim'
    contract = Contract(
        name=top.text('contract', expected=_a_name, check=_is_name),
        version=top.text(
            'version',
            expected='a version of three numbers, for example 1.0.0',
            check=lambda text: _VERSION.fullmatch(text) is not None,
        ),
        period=top.number('period', unit='s', above=0.0),
        sim_time=sim_time,
        pacing=top.one_of('pacing', Pacing, default=Pacing.REALTIME),
        lockstep_deadline=lockstep.number('deadline', unit='s', above=0.0, default=10.0),
        agents=top.texts('agents', expected=_a_name, check=_is_name),
        observation=observation,
        evaluator=evaluator,
        action=action,
        safety=safety,
        latency_budget={
            stage: budget.number(stage, unit='s', above=0.0)
            for stage in STAGES
            if budget.has(stage)
        },
        reaction_of=budget.text('of', default=_first_sensor(observation)),
        task=_task(top, tasks),
        episode=episode,
        recorder_required=recorder.flag('required', default=True),
        robot_host=robot.text('host', default=''),
    )
    for section in (budget, lockstep, recorder, robot, top):
        section.finish()
    _contradictions(contract, top)
    if top.problems:
        raise ContractError(sorted(top.problems, key=_by_line), source)
    return contract


def _by_line(problem: Problem) -> tuple[float, str]:
    return (math.inf if problem.line is None else problem.line, str(problem.path))


def _first_sensor(fields: tuple[FieldSpec, ...]) -> str:
    return next((field.name for field in fields if field.topic), '')


# Observation -------------------------------------------------------------------------------------


def _fields(section: Reader, *, evaluator: bool) -> tuple[FieldSpec, ...]:
    return tuple(_field(section, name, evaluator=evaluator) for name in section.names())


def _field(section: Reader, name: str, *, evaluator: bool) -> FieldSpec:
    if not _is_name(name):
        section.problem((name,), _a_name, name)
    key = section.section(name)
    is_task = key.has('task') and not evaluator
    spec = _task_field(key, name) if is_task else _topic_field(key, name)
    key.finish()
    return spec


def _task_field(key: Reader, name: str) -> FieldSpec:
    unit = key.texts('unit')
    count = max(1, len(unit))
    low, high = _bounds(key, count)
    return FieldSpec(
        name=name,
        task=key.text('task', expected=_a_name, check=_is_name),
        shape=(count,),
        dtype=key.choice('dtype', _DTYPES, default='float32'),
        unit=unit,
        frame=key.text('frame', default=''),
        low=low,
        high=high,
    )


def _topic_field(key: Reader, name: str) -> FieldSpec:
    topic = key.text('topic', expected=_a_topic, check=_is_topic)
    type_name = key.text('type', expected=_a_type, check=_is_type)
    max_age = key.number('max_age', unit='s', above=0.0) if key.has('max_age') else None
    when_stale = key.one_of('when_stale', WhenStale, default=WhenStale.MARK)
    if when_stale is WhenStale.TRUNCATE and max_age is None:
        key.problem(('max_age',), 'an age (s) for `when_stale: truncate`', said('nothing'))
    frame = key.text('frame', default='')
    if type_name == _IMAGE:
        shape, encoding = _image(key)
        return FieldSpec(
            name=name,
            topic=topic,
            type=type_name,
            shape=shape,
            dtype='uint8',
            unit=(),
            frame=frame,
            max_age=max_age,
            when_stale=when_stale,
            encoding=encoding,
        )
    beams = 0
    fields: tuple[str, ...] = ()
    if type_name == _SCAN and key.has('beams'):
        beams = key.integer('beams', least=1)
        count = beams
    else:
        fields = key.texts('fields', expected=_a_path, check=is_path)
        count = max(1, len(fields))
    unit = key.texts('unit')
    if unit and len(unit) not in (1, count):
        key.problem(
            ('unit',), f'one unit, or one for each of {count} values', said(f'{len(unit)}')
        )
    low, high = _bounds(key, count)
    return FieldSpec(
        name=name,
        topic=topic,
        type=type_name,
        fields=fields,
        beams=beams,
        shape=(count,),
        dtype=key.choice('dtype', _DTYPES, default='float32'),
        unit=unit,
        frame=frame,
        low=low,
        high=high,
        beyond=Beyond(key.choice('beyond', ('clip', 'truncate'), default='clip')),
        max_age=max_age,
        when_stale=when_stale,
        # That of a scan is the fraction of its usable beams.
        confidence=None if beams else _confidence(key),
    )


def _image(key: Reader) -> tuple[tuple[int, ...], str]:
    encoding = key.choice('encoding', _CHANNELS)
    expected = '[height, width, channels], whole numbers'
    shape = key.numbers('shape', 3, unit='pixels', above=0.0)
    if any(not side.is_integer() for side in shape):
        key.problem(('shape',), expected, list(shape))
        return (1, 1, _CHANNELS[encoding]), encoding
    channels = _CHANNELS[encoding]
    if shape[2] != channels:
        key.problem(('shape', 2), f'{channels} channels for {encoding}', shape[2])
    return tuple(int(side) for side in shape), encoding


def _bounds(key: Reader, count: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    low = key.numbers('low', count, unit='in the unit of the value')
    high = key.numbers('high', count, unit='in the unit of the value')
    for index, (least, most) in enumerate(zip(low, high, strict=True)):
        if least > most:
            key.problem(('high', index), f'a bound not below low ({least:g})', most)
    return low, high


def _confidence(key: Reader) -> Confidence | None:
    if not key.has('confidence'):
        return None
    section = key.section('confidence')
    if section.has('field'):
        result = Confidence(field=section.text('field', expected=_a_path, check=is_path))
    else:
        result = Confidence(
            variance=section.text('variance', expected=_a_path, check=is_path),
            tolerance=section.number('tolerance', unit='in the unit of the value', above=0.0),
        )
    section.finish()
    return result


# Action ------------------------------------------------------------------------------------------


def _actions(section: Reader) -> tuple[ActionSpec, ...]:
    return tuple(_action(section.section(name), name) for name in section.names())


def _action(key: Reader, name: str) -> ActionSpec:
    fields = key.texts(
        'fields',
        expected='a plain field path, for example twist.linear.x',
        check=lambda text: is_path(text) and '(' not in text and '[' not in text,
    )
    count = max(1, len(fields))
    unit = key.texts('unit')
    if len(unit) != len(fields):
        key.problem(('unit',), f'one unit for each of {len(fields)} fields', said(f'{len(unit)}'))
    low, high = _bounds(key, count)
    safe = key.numbers('safe', count, unit='in the unit of the value')
    for index, value in enumerate(safe):
        if value < low[index] or value > high[index]:
            key.problem(('safe', index), f'a value in [{low[index]:g}, {high[index]:g}]', value)
    feedback = key.section('feedback')
    spec = ActionSpec(
        name=name,
        topic=key.text('topic', expected=_a_topic, check=_is_topic),
        type=key.text('type', expected=_a_type, check=_is_type),
        fields=fields,
        unit=unit,
        frame=key.text('frame', default=''),
        low=low,
        high=high,
        beyond=Beyond(key.choice('beyond', ('clip', 'reject'), default='clip')),
        safe=safe,
        rate=key.numbers('rate', count, unit='unit/s', above=0.0),
        stop=key.numbers('stop', count, unit='unit/s', above=0.0),
        driver_timeout=_driver_timeout(key),
        feedback=_feedback(feedback, count),
    )
    feedback.finish()
    key.finish()
    return spec


def _driver_timeout(key: Reader) -> float | None:
    acknowledged = key.flag('driver_timeout_acknowledged', default=False)
    if key.is_word('driver_timeout', 'none'):
        if not acknowledged:
            key.problem(
                ('driver_timeout',),
                'a number of seconds, or `none` with `driver_timeout_acknowledged: true`',
                said('none, not acknowledged'),
                'A driver without a timeout keeps moving when the gate dies.',
            )
        return None
    return key.number('driver_timeout', unit='s', above=0.0)


def _feedback(key: Reader, count: int) -> Feedback:
    fields = key.texts('fields', expected=_a_path, check=is_path)
    if len(fields) != count:
        key.problem(('fields',), f'{count} paths, one for each dimension', said(f'{len(fields)}'))
    return Feedback(
        topic=key.text('topic', expected=_a_topic, check=_is_topic),
        type=key.text('type', expected=_a_type, check=_is_type),
        fields=fields,
        threshold=key.numbers('threshold', count, unit='in the unit of the value', above=0.0),
    )


# Safety ------------------------------------------------------------------------------------------


def _safety(key: Reader, size: int) -> Safety:
    obstacle = _obstacle(key.section('obstacle'), size) if key.has('obstacle') else None

    def seconds(name: str, default: float | None = None) -> float:
        return key.number(name, unit='s', above=0.0, default=default)

    safety = Safety(
        gate_period=seconds('gate_period', 0.02),
        hold_after=seconds('hold_after'),
        command_timeout=seconds('command_timeout'),
        policy_timeout=seconds('policy_timeout'),
        environment_timeout=seconds('environment_timeout'),
        gate_timeout=seconds('gate_timeout'),
        robot_timeout=seconds('robot_timeout'),
        recorder_timeout=seconds('recorder_timeout', 2.0),
        sensor_timeout=seconds('sensor_timeout'),
        max_action_age=seconds('max_action_age'),
        obstacle=obstacle,
        emergency_stop=key.text('emergency_stop', default='', expected=_a_topic, check=_is_topic),
    )
    key.finish()
    return safety


def _obstacle(key: Reader, size: int) -> Obstacle:
    dimension = key.integer('dimension')
    if dimension >= size:
        key.problem(('dimension',), f'an index into the action, below {size}', dimension)
    slow = key.number('slow_distance', unit='m', above=0.0)
    stop = key.number('stop_distance', unit='m', least=0.0)
    if stop >= slow:
        key.problem(('stop_distance',), f'a distance below slow_distance ({slow:g} m)', stop)
    rule = Obstacle(
        topic=key.text('topic', expected=_a_topic, check=_is_topic),
        type=key.choice('type', (_SCAN,), default=_SCAN),
        dimension=dimension,
        half_angle=key.number('half_angle', unit='rad', above=0.0, most=math.pi / 2),
        slow_distance=slow,
        slow_speed=key.number('slow_speed', unit='m/s', least=0.0),
        stop_distance=stop,
        min_valid=key.number('min_valid', unit='', least=0.0, most=1.0, default=0.5),
    )
    key.finish()
    return rule


# Episode and task --------------------------------------------------------------------------------


def _episode(key: Reader) -> EpisodeRules:
    declared = key.section('causes', required=False)
    own = {
        name: causes.Ending[declared.choice(name, ('terminated', 'truncated')).upper()]
        for name in declared.names()
    }
    for name in own:
        built_in = causes.BUILT_IN.get(name)
        if built_in is not None and own[name] is not built_in:
            declared.problem(
                (name,),
                f'{built_in.name.lower()}, which is what {name} means',
                own[name].name.lower(),
                'Give the cause another name.',
            )
    # A declared cause is a verdict of the task: it goes before success, after all failures of the
    # machinery.
    every: dict[str, causes.Ending] = {}
    for name, ending in causes.BUILT_IN.items():
        if name == causes.FAILURE:
            every.update({n: e for n, e in own.items() if n not in causes.BUILT_IN})
        every[name] = ending
    stops = key.section('on_stop', required=False)
    reasons = {reason.name.lower() for reason in Reason}
    on_stop = {}
    for reason in stops.names():
        if reason not in reasons:
            stops.problem(
                (reason,), 'a reason of the gate', said('it is none'), nearest(reason, reasons)
            )
        on_stop[reason.upper()] = stops.choice(reason, every)
    rules = EpisodeRules(
        time_limit=key.number('time_limit', unit='s', above=0.0),
        causes=every,
        on_stop=on_stop,
        reset=_reset(key.section('reset')),
    )
    key.finish()
    return rules


def _reset(key: Reader) -> ResetProcedure:
    tolerance = key.section('tolerance', required=False)
    limits = {}
    for name in tolerance.names():
        limits[name] = tolerance.list_of_numbers(name, unit='in the unit of the value', least=0.0)
    procedure = ResetProcedure(
        service=key.text('service', expected='a relative service name', check=_is_topic),
        settle=key.number('settle', unit='s', least=0.0, default=0.0),
        deadline=key.number('deadline', unit='s', above=0.0),
        tolerance=limits,
    )
    key.finish()
    return procedure


def _task(top: Reader, tasks: Mapping[str, tuple[str, str]] | None) -> TaskSpec:
    key = top.section('task')
    name = key.text('name', expected='the name of an installed task')
    parameters = key.plain('parameters')
    key.finish()
    distribution, version = '', ''
    if tasks is not None and name:
        if name in tasks:
            distribution, version = tasks[name]
        else:
            key.problem(
                ('name',),
                f'an installed task: {", ".join(sorted(tasks)) or "none is installed"}',
                name,
                nearest(name, tasks),
            )
    return TaskSpec(name=name, parameters=parameters, distribution=distribution, version=version)


# Across sections ---------------------------------------------------------------------------------


def _contradictions(contract: Contract, top: Reader) -> None:
    if not contract.agents:
        top.problem(('agents',), 'at least one agent', said('none'))
    if len(set(contract.agents)) != len(contract.agents):
        top.problem(('agents',), 'every agent once', list(contract.agents))
    if not contract.observation:
        top.problem(('observation',), 'at least one field', said('none'))
    if not contract.action:
        top.problem(('action',), 'at least one group', said('none'))
    if contract.pacing is Pacing.LOCKSTEP and not contract.sim_time:
        top.problem(
            ('clock',),
            'sim, with `pacing: lockstep`',
            'ros',
            'Lockstep holds the world still, which only simulated time can.',
        )
    names = {field.name for field in contract.observation}
    if contract.reaction_of not in names:
        top.problem(
            ('latency_budget', 'of'),
            f'a field of the observation: {", ".join(names)}',
            contract.reaction_of,
            nearest(contract.reaction_of, names),
        )
    if contract.episode.time_limit < contract.period:
        top.problem(
            ('episode', 'time_limit'),
            f'at least one period ({contract.period:g} s)',
            contract.episode.time_limit,
        )
    _leaks(contract, top)
    _topics(contract, top)
    _timeouts(contract, top)
    _braking(contract, top)


def _leaks(contract: Contract, top: Reader) -> None:
    seen = {(f.topic, path): f.name for f in contract.observation for path in f.fields or ('',)}
    whole = {f.topic for f in contract.observation if f.topic}
    for field in contract.evaluator:
        for path in field.fields or ('',):
            if (field.topic, path) in seen:
                top.problem(
                    ('evaluator', field.name),
                    'a source that the policy does not see',
                    said(
                        f'{field.topic} {path} is in the observation, as '
                        f'{seen[field.topic, path]!r}'
                    ),
                )
        if field.name in {f.name for f in contract.observation}:
            top.problem(
                ('evaluator', field.name),
                'a name that no field of the observation has',
                field.name,
            )
        if field.topic in whole and not field.fields:
            top.problem(
                ('evaluator', field.name), 'a topic that the policy does not see', field.topic
            )


def _topics(contract: Contract, top: Reader) -> None:
    """One topic has one type, and a command topic is nobody's sensor."""
    used: list[tuple[str, str, Path]] = [
        (f.topic, f.type, (where, f.name))
        for where, fields in (
            ('observation', contract.observation),
            ('evaluator', contract.evaluator),
        )
        for f in fields
        if f.topic
    ]
    used += [
        (a.feedback.topic, a.feedback.type, ('action', a.name, 'feedback'))
        for a in contract.action
    ]
    obstacle = contract.safety.obstacle
    if obstacle is not None:
        used.append((obstacle.topic, obstacle.type, ('safety', 'obstacle')))
    for topic, group in groupby(sorted(used), key=lambda item: item[0]):
        items = list(group)
        for _, type_name, path in items[1:]:
            if type_name != items[0][1]:
                top.problem(
                    (*path, 'type'),
                    f'{items[0][1]}, as elsewhere for the topic {topic}',
                    type_name,
                )
    commands: set[str] = set()
    for action in contract.action:
        path = ('action', action.name, 'topic')
        if action.topic in commands:
            top.problem(path, 'a command topic of its own', action.topic)
        if any(action.topic == topic for topic, _, _ in used):
            top.problem(path, 'a topic that no sensor uses', action.topic)
        commands.add(action.topic)


def _timeouts(contract: Contract, top: Reader) -> None:
    safety = contract.safety

    def longer(key: str, value: float, than: str, least: float) -> None:
        if value <= least:
            top.problem(('safety', key), f'more than {than} ({least:g} s)', value)

    longer('hold_after', safety.hold_after, 'period', contract.period)
    longer('command_timeout', safety.command_timeout, 'hold_after', safety.hold_after)
    longer('policy_timeout', safety.policy_timeout, 'command_timeout', safety.command_timeout)
    longer('environment_timeout', safety.environment_timeout, 'period', contract.period)
    longer('gate_timeout', safety.gate_timeout, 'period', contract.period)
    if safety.gate_period > contract.period:
        top.problem(
            ('safety', 'gate_period'),
            f'not more than period ({contract.period:g} s)',
            safety.gate_period,
        )
    for action in contract.action:
        if action.driver_timeout is not None and action.driver_timeout <= safety.hold_after:
            top.problem(
                ('action', action.name, 'driver_timeout'),
                f'more than safety.hold_after ({safety.hold_after:g} s)',
                action.driver_timeout,
                'Otherwise the driver stops before the gate repeats the command.',
            )


def _braking(contract: Contract, top: Reader) -> None:
    """Ask for zones that are wide enough to brake in, with what the gate needs to notice."""
    rule = contract.safety.obstacle
    size = contract.action_size
    if rule is None or rule.dimension >= size:
        return
    stop = contract.flat('stop')[rule.dimension]
    rate = contract.flat('rate')[rule.dimension]
    fastest = max(abs(contract.flat('low')[rule.dimension]), contract.flat('high')[rule.dimension])
    if stop <= 0.0 or rate <= 0.0:
        return
    reaction = contract.safety.gate_period + contract.safety.sensor_timeout
    needed = rule.slow_speed * reaction + rule.slow_speed**2 / (2.0 * stop)
    if needed > rule.stop_distance:
        top.problem(
            ('safety', 'obstacle', 'stop_distance'),
            f'at least {needed:.2f} m, to stop from slow_speed after sensor_timeout + gate_period',
            rule.stop_distance,
        )
    needed = fastest * contract.period + max(0.0, fastest**2 - rule.slow_speed**2) / (2.0 * rate)
    if needed > rule.slow_distance - rule.stop_distance:
        top.problem(
            ('safety', 'obstacle', 'slow_distance'),
            f'at least {rule.stop_distance + needed:.2f} m, to slow down from {fastest:g} m/s '
            'at `rate`',
            rule.slow_distance,
        )
