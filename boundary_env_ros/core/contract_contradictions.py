# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What no section of a contract can see by itself: sections that contradict one another."""

from __future__ import annotations

from itertools import groupby

from boundary_env_ros.core.contract import (
    ActionKind,
    Contract,
    FieldSpec,
    Pacing,
    PublishStep,
    WaitStep,
    WhenStale,
)
from boundary_env_ros.core.contract_reader import nearest, Path, Reader, said
from boundary_env_ros.core.motion_contradictions import report_motion
from boundary_env_ros.core.obstacle_contradictions import report_obstacles
from boundary_env_ros.core.obstacle_parser import obstacle_path
from boundary_env_ros.core.paths import split_call
from boundary_env_ros.core.safety import STOP_TYPE
from boundary_env_ros.core.sources import (
    Array,
    Beams,
    Joints,
    Lookup,
    Paths,
    Picture,
    Points,
    publishers_of,
)
from boundary_env_ros.core.workspace_contradictions import report_workspaces

#: Topics that are written by this package, or by ROS itself.
_RESERVED_FOLDERS = ('boundary/', 'environment/', 'recorder/', 'safety_gate/')
_RESERVED = frozenset({'clock', 'parameter_events', 'rosout'})

_OF_THE_ROBOT = 'a topic of the robot, not one that the nodes of the boundary or ROS itself write'

#: A request counts its steps with 32 bits.
_MOST_STEPS = 2**32 - 1


def report_contradictions(contract: Contract, top: Reader) -> None:
    """Report them all."""
    _presence(contract, top)
    _chunks(contract, top)
    _turns(contract, top)
    _names(contract, top)
    _leaks(contract, top)
    _topics(contract, top)
    _lockstep(contract, top)
    _timeouts(contract, top)
    _stale(contract, top)
    report_obstacles(contract, top)
    report_motion(contract, top)
    report_workspaces(contract, top)
    _waits(contract, top)


def _sections(contract: Contract) -> tuple[tuple[str, tuple[FieldSpec, ...]], ...]:
    return (
        ('observation', contract.observation),
        ('state', contract.state),
        ('evaluator', contract.evaluator),
    )


def _presence(contract: Contract, top: Reader) -> None:
    if not contract.agents:
        top.problem(('agents',), 'at least one agent', said('none'))
    if len(set(contract.agents)) != len(contract.agents):
        top.problem(('agents',), 'every agent once', list(contract.agents))
    said_already = {problem.path for problem in top.problems}
    for key, what, there in (
        ('observation', 'field', contract.observation),
        ('action', 'group', contract.action),
    ):
        if not there and (key,) not in said_already:
            top.problem((key,), f'at least one {what}', said('none'))
    names = [field.name for field in contract.observation]
    # A field that could not be read has neither topic nor anything else.
    unread = any(not (f.topic or f.task or f.derived or f.source) for f in contract.observation)
    if names and not unread and contract.reaction_of not in names:
        top.problem(
            ('latency_budget', 'of'),
            f'a field of the observation: {", ".join(names)}',
            contract.reaction_of or said('nothing'),
            nearest(contract.reaction_of, names),
        )
    if contract.episode.time_limit < contract.period:
        top.problem(
            ('episode', 'time_limit'),
            f'at least one period ({contract.period:g} s)',
            contract.episode.time_limit,
        )
    if contract.episode.time_limit / contract.period > _MOST_STEPS:
        top.problem(
            ('episode', 'time_limit'),
            f'at most {_MOST_STEPS} periods ({contract.period:g} s)',
            contract.episode.time_limit,
        )


def _chunks(contract: Contract, top: Reader) -> None:
    if contract.horizon == 1:
        return
    if contract.horizon * contract.period > contract.episode.time_limit:
        top.problem(
            ('chunk', 'horizon'),
            f'steps for not more than the time limit ({contract.episode.time_limit:g} s)',
            contract.horizon,
        )
    for group in contract.action:
        if group.kind not in (ActionKind.CONTINUOUS, ActionKind.DELTA):
            top.problem(
                ('action', group.name, 'kind'),
                'continuous or delta, with chunks',
                group.kind.value,
            )


def _turns(contract: Contract, top: Reader) -> None:
    if not contract.turns:
        return
    if len(contract.turns) < 2 or sorted(contract.turns) != sorted(contract.agents):
        top.problem(
            ('turns',),
            f'every one of several agents once ({", ".join(contract.agents)})',
            list(contract.turns),
        )
    if contract.horizon > 1:
        top.problem(
            ('chunk', 'horizon'),
            '1, with `turns`',
            contract.horizon,
            'The steps after a turn are those of the others.',
        )
    a_round = len(contract.turns) * contract.period
    if contract.safety.hold_after <= a_round:
        top.problem(
            ('safety', 'hold_after'),
            f'more than a round of turns ({a_round:g} s)',
            contract.safety.hold_after,
            'Otherwise an agent is late whenever the others act.',
        )


def _names(contract: Contract, top: Reader) -> None:
    seen: dict[str, str] = {}
    for where, fields in _sections(contract):
        for field in fields:
            if field.name in seen:
                top.problem(
                    (where, field.name),
                    f'a name that no field of the {seen[field.name]} has',
                    field.name,
                )
            seen.setdefault(field.name, where)


def _leaks(contract: Contract, top: Reader) -> None:
    """
    Refuse a field of the evaluator that the policy sees by another name.

    What the environment's state knows reaches the policy through derived fields, and the task.
    """
    seen: dict[str, list[tuple[str, str]]] = {}
    whole: dict[str, str] = {}
    for field in (*contract.observation, *contract.state):
        if field.topic:
            whole.setdefault(field.topic, field.name)
        for path in _read(field):
            seen.setdefault(_place(field), []).append((path, field.name))
    for field in contract.evaluator:
        here = ('evaluator', field.name)
        for path in _paths(field):
            name = next((n for p, n in seen.get(_place(field), ()) if _overlap(path, p)), None)
            if name is not None:
                actual = said(f'{_place(field)} {path} is not, it is in {name!r}')
                top.problem(here, 'a source that the policy does not see', actual)
        name = whole.get(field.topic) if field.topic and not _paths(field) else None
        if name is not None:
            actual = said(f'{field.topic} is not, it is in {name!r}')
            top.problem(here, 'a topic that the policy does not see', actual)


def _read(field: FieldSpec) -> tuple[str, ...]:
    """Return the paths that a field reads; of a sequence, the path of the whole."""
    match field.source:
        case Array(path=path):
            return (path,)
        case Joints(quantities=quantities):
            return quantities
        case Beams():
            return ('ranges',)
        case Points() | Picture():
            return ('data',)
    return _paths(field)


def _overlap(one: str, other: str) -> bool:
    """Return whether one of two paths is a part of the other, or made of it."""
    (function, inner), (other_function, other_inner) = split_call(one), split_call(other)
    if function and other_function:
        return one == other  # roll, pitch and yaw are told apart
    return any(
        a == b or a.startswith((f'{b}.', f'{b}['))
        for a, b in ((inner, other_inner), (other_inner, inner))
    )


def _place(field: FieldSpec) -> str:
    source = field.source
    return f'{source.source} in {source.target}' if isinstance(source, Lookup) else field.topic


def _paths(field: FieldSpec) -> tuple[str, ...]:
    return field.source.paths if isinstance(field.source, (Paths, Lookup)) else ()


def _topics(contract: Contract, top: Reader) -> None:
    """One topic has one type; a command topic is no sensor's, and none is written by others."""
    used: list[tuple[str, str, int, Path]] = [
        (f.topic, f.type, publishers_of(f.source), (where, f.name))
        for where, fields in _sections(contract)
        for f in fields
        if f.topic
    ]
    safety = contract.safety
    used += [
        (
            a.feedback.topic,
            a.feedback.type,
            publishers_of(a.feedback.source),
            ('action', a.name, 'feedback'),
        )
        for a in contract.action
    ]
    used += [
        (w.topic, w.type, publishers_of(w.source), ('safety', 'workspace', w.name))
        for w in safety.workspaces
    ]
    if safety.operator is not None:
        hand = safety.operator
        used.append((hand.topic, hand.type, publishers_of(hand.source), ('safety', 'operator')))
    used += [(rule.topic, rule.type, 1, obstacle_path(rule)) for rule in safety.obstacles]
    for topic, group in groupby(sorted(used), key=lambda item: item[0]):
        items = list(group)
        first, most = items[0][1], max(publishers for _, _, publishers, _ in items)
        for _, type_name, publishers, path in items:
            if type_name and first and type_name != first:
                top.problem(
                    (*path, 'type'), f'{first}, as elsewhere for the topic {topic}', type_name
                )
            elif publishers != most:
                top.problem(
                    (*path, 'publishers'),
                    f'{most}, as elsewhere for the topic {topic}',
                    publishers,
                )
    stop = safety.emergency_stop
    readers = [
        path for topic, kind, _, path in used if topic == stop and kind not in ('', STOP_TYPE)
    ]
    if readers:
        top.problem(
            ('safety', 'emergency_stop'),
            f'a topic of {STOP_TYPE}',
            said(f'{stop}, which {".".join(map(str, readers[0]))} reads as something else'),
        )
    for topic, _, _, path in used:
        if _is_reserved(topic):
            top.problem((*path, 'topic'), _OF_THE_ROBOT, topic)
    if stop and _is_reserved(stop):
        top.problem(('safety', 'emergency_stop'), _OF_THE_ROBOT, stop)
    commands: set[str] = set()
    for action in contract.action:
        path = ('action', action.name, 'topic')
        if _is_reserved(action.topic):
            top.problem(path, _OF_THE_ROBOT, action.topic)
        if action.topic in commands:
            top.problem(path, 'a command topic of its own', action.topic)
        if any(action.topic == topic for topic, *_ in used):
            top.problem(path, 'a topic that no sensor uses', action.topic)
        commands.add(action.topic)
    if stop in commands:
        top.problem(('safety', 'emergency_stop'), 'a topic that no command uses', stop)
    for index, step in enumerate(contract.episode.reset.steps):
        if isinstance(step, PublishStep) and step.topic in commands:
            top.problem(
                ('episode', 'reset', 'procedure', index, 'publish'),
                'a topic that is not a command topic, which only the gate publishes',
                step.topic,
            )


def _is_reserved(topic: str) -> bool:
    name = topic.lstrip('/')
    return name in _RESERVED or name.startswith(_RESERVED_FOLDERS)


def _lockstep(contract: Contract, top: Reader) -> None:
    if contract.pacing is not Pacing.LOCKSTEP:
        return
    if not contract.sim_time:
        top.problem(
            ('clock',),
            'sim, with `pacing: lockstep`',
            'ros',
            'Lockstep holds the world still, which only simulated time can.',
        )
    for where, fields in _sections(contract):
        for field in fields:
            if isinstance(field.source, Lookup):
                top.problem(
                    (where, field.name, 'transform'),
                    'a topic, with `pacing: lockstep`',
                    said('a tf look-up'),
                    'Nobody can tell in lockstep whether all transforms have come.',
                )


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


def _stale(contract: Contract, top: Reader) -> None:
    for where, fields in _sections(contract):
        for field in fields:
            if where == 'evaluator' and field.when_stale is not WhenStale.MARK:
                expected = 'mark, since what only the evaluator sees must not act'
            elif isinstance(field.source, Lookup) and field.when_stale is WhenStale.HOLD:
                expected = 'mark or truncate, since the gate listens to no tf'
            else:
                continue
            top.problem((where, field.name, 'when_stale'), expected, field.when_stale.value)


def _waits(contract: Contract, top: Reader) -> None:
    """Ask that a reset waits for a field that there is, and for as many values as it has."""
    # A derived field and one of the task come into being with the first observation.
    fields = {f.name: f for f in contract.fields if f.source is not None and not f.is_image}
    for index, step in enumerate(contract.episode.reset.steps):
        if not isinstance(step, WaitStep):
            continue
        path = ('episode', 'reset', 'procedure', index)
        field = fields.get(step.field)
        if field is None:
            top.problem(
                (*path, 'wait'),
                f'a field of numbers of a topic: {", ".join(fields)}',
                step.field,
                nearest(step.field, fields),
            )
        elif len(step.tolerance) != field.size:
            top.problem(
                (*path, 'tolerance'),
                f'{field.size} values, as {field.name!r} has',
                said(f'{len(step.tolerance)}'),
            )
