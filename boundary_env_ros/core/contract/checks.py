# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What no section of a contract can see by itself: sections that contradict one another."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import groupby
import math
from typing import Any

from boundary_env_ros.core.contract.model import (
    ActionKind,
    ActionSpec,
    Contract,
    FieldSpec,
    Interface,
    OnStale,
    PublishStep,
    slices_of,
    WaitStep,
)
from boundary_env_ros.core.contract.paths import split_call
from boundary_env_ros.core.contract.problem_text import Fault, nearest, Path, Text
from boundary_env_ros.core.contract.safety import STOP_TYPE, STOPS_WITHIN
from boundary_env_ros.core.contract.sources import (
    Array,
    Beams,
    Joints,
    Lookup,
    Paths,
    Picture,
    Points,
    publishers_of,
    Trajectory,
)

#: Topics that are written by this package, or by ROS itself.
_RESERVED_FOLDERS = ('boundary/', 'environment/', 'recorder/', 'safety_gate/')
_RESERVED = frozenset({'clock', 'parameter_events', 'rosout'})

_OF_THE_ROBOT = 'a topic of the robot, not one that the nodes of the boundary or ROS itself write'


def contradictions(contract: Contract, reported: Collection[Path]) -> Iterator[Fault]:
    """
    Yield them all.

    ``reported`` are the places where something is wrong already: of a section that could not be
    read nothing is said once more.
    """
    yield from _presence(contract, reported)
    for check in (_agents, _limits, _chunks, _names, _leaks, _topics, _fields, _waits):
        yield from check(contract)
    for key, what in (('observation', 'field'), ('action', 'group')):
        if key == 'action' and contract.documents:
            continue
        if not getattr(contract, key) and (key,) not in reported:
            yield (key,), f'at least one {what}', Text('none')
    yield from motion(contract)
    if not contract.action or any(path[:1] == ('action',) for path in reported):
        return  # the dimensions are unknown
    for rule in contract.safety.rules:
        if not any(other[:3] == rule.path for other in reported):
            yield from rule.contradictions(contract)


def _sections(contract: Contract) -> Iterator[tuple[str, FieldSpec]]:
    for where in ('observation', 'state', 'privileged'):
        yield from ((where, field) for field in getattr(contract, where))


def _presence(contract: Contract, reported: Collection[Path]) -> Iterator[Fault]:
    names, reaction = [field.name for field in contract.observation], contract.reaction_of
    # A field that could not be read may be the one that is meant.
    unread = any(path[:1] == ('observation',) for path in reported)
    if names and not unread and reaction not in names:
        expected = f'a field of the observation: {", ".join(names)}'
        actual = reaction or Text('nothing')
        yield ('latency_budget', 'of'), expected, actual, nearest(reaction, names)


def _agents(contract: Contract) -> Iterator[Fault]:
    agents, turns = contract.agents, contract.agent_order
    if not turns:
        return
    if len(turns) < 2 or sorted(turns) != sorted(agents):
        expected = f'every one of several agents once ({", ".join(agents)})'
        yield ('agent_order',), expected, list(turns)
    if contract.horizon > 1:
        hint = 'The steps after a turn are those of the others.'
        yield ('chunk', 'horizon'), '1, with `agent_order`', contract.horizon, hint
    a_round, hold = len(turns) * contract.period, contract.safety.hold_timeout
    if hold <= a_round:
        expected = f'more than a round of turns ({a_round:g} s)'
        hint = 'Otherwise an agent is late whenever the others act.'
        yield ('safety', 'hold_timeout'), expected, hold, hint


def _limits(contract: Contract) -> Iterator[Fault]:
    """Ask that what is to come later does, and that numbers are counted."""
    safety, period = contract.safety, contract.period
    path: Path = ('episode', 'time_limit')
    time_limit = contract.episode.time_limit
    if time_limit < period:
        yield path, f'at least one period ({period:g} s)', time_limit
    for key, than, least in (
        ('hold_timeout', 'period', period),
        ('policy_timeout', 'command_timeout', safety.command_timeout),
        ('environment_timeout', 'period', period),
        ('gate_timeout', 'period', period),
    ):
        if getattr(safety, key) <= least:
            yield ('safety', key), f'more than {than} ({least:g} s)', getattr(safety, key)
    if safety.gate_period > period:
        yield ('safety', 'gate_period'), f'not more than period ({period:g} s)', safety.gate_period
    for group in contract.action:
        timeout, least = group.driver_timeout, safety.hold_timeout
        if timeout is not None and timeout <= least:
            path = ('action', group.name, 'driver_timeout')
            hint = 'Otherwise the driver stops before the gate repeats the command.'
            yield path, f'more than safety.hold_timeout ({least:g} s)', timeout, hint


def _chunks(contract: Contract) -> Iterator[Fault]:
    if contract.horizon == 1:
        return
    limit = contract.episode.time_limit
    if contract.horizon * contract.period > limit:
        expected = f'steps for not more than the time limit ({limit:g} s)'
        yield ('chunk', 'horizon'), expected, contract.horizon
    if contract.documents:
        yield ('chunk', 'horizon'), '1, with `documents`', contract.horizon
    for group in contract.action:
        if group.kind not in (ActionKind.CONTINUOUS, ActionKind.DELTA):
            path = ('action', group.name, 'kind')
            yield path, 'continuous or delta, with chunks', group.kind.value


def _names(contract: Contract) -> Iterator[Fault]:
    seen: dict[str, str] = {}
    for where, field in _sections(contract):
        if field.name in seen:
            expected = f'a name that no field of the {seen[field.name]} has'
            yield (where, field.name), expected, field.name
        seen.setdefault(field.name, where)


# Leaks -------------------------------------------------------------------------------------------


def _leaks(contract: Contract) -> Iterator[Fault]:
    """
    Refuse a privileged field that the policy sees by another name.

    What the environment's state knows reaches the policy through derived fields, and the task.
    """
    seen: dict[str, list[tuple[str, str]]] = {}
    whole: dict[str, str] = {}
    for field in (*contract.observation, *contract.state):
        if field.topic:
            whole.setdefault(field.topic, field.name)
        for path in _read(field):
            seen.setdefault(_place(field), []).append((path, field.name))
    for field in contract.privileged:
        here = ('privileged', field.name)
        for path in _paths(field):
            name = next((n for p, n in seen.get(_place(field), ()) if _overlap(path, p)), None)
            if name is not None:
                actual = Text(f'{path} of {_place(field)}, which it sees in {name!r}')
                yield here, 'a source that the policy does not see', actual
        name = whole.get(field.topic) if field.topic and not _paths(field) else None
        if name is not None:
            actual = Text(f'{field.topic}, which it sees in {name!r}')
            yield here, 'a topic that the policy does not see', actual


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
        case Paths() | Lookup() | Trajectory() | None:
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


# Topics ------------------------------------------------------------------------------------------


def readers(contract: Contract) -> Iterator[tuple[Path, Any]]:
    """Yield everything that reads messages of the robot, and where the contract says so."""
    safety = contract.safety
    yield from (((where, f.name), f) for where, f in _sections(contract) if f.topic or f.source)
    yield from ((('action', a.name, 'feedback'), a.feedback) for a in contract.action)
    for group in contract.action:
        if group.acknowledgement is not None:
            yield ('action', group.name, 'acknowledgement'), group.acknowledgement
    yield from ((rule.path, rule) for rule in safety.rules)
    if safety.operator is not None:
        yield ('safety', 'operator'), safety.operator


def _topics(contract: Contract) -> Iterator[Fault]:
    """One topic has one type; a command topic is no sensor's, and none is written by others."""
    # A topic that was refused is empty, and has its problem.
    used = [
        (reader.topic, reader.type, publishers_of(getattr(reader, 'source', None)), path)
        for path, reader in readers(contract)
        if reader.topic
    ]
    for topic, group in groupby(sorted(used), key=lambda item: item[0]):
        items = list(group)
        first, most = items[0][1], max(publishers for _, _, publishers, _ in items)
        elsewhere = f'as elsewhere for the topic {topic}'
        for _, type_name, publishers, path in items:
            if type_name and first and type_name != first:
                yield (*path, 'type'), f'{first}, {elsewhere}', type_name
            elif publishers != most:
                yield (*path, 'publishers'), f'{most}, {elsewhere}', publishers
    stop, stop_path = contract.safety.emergency_stop, ('safety', 'emergency_stop')
    other = next((p for t, kind, _, p in used if t == stop and kind not in ('', STOP_TYPE)), None)
    if other is not None:
        actual = Text(f'{stop}, which {".".join(map(str, other))} reads as something else')
        yield stop_path, f'a topic of {STOP_TYPE}', actual
    groups = [('action', group.name, group.topic) for group in contract.action]
    groups += [('documents', group.name, group.topic) for group in contract.documents]
    commands = {topic: (key, name) for key, name, topic in reversed(groups)}
    owned: list[tuple[str, Path]] = [(topic, (*path, 'topic')) for topic, _, _, path in used]
    owned += [(topic, (key, name, 'topic')) for key, name, topic in groups]
    for topic, path in (*owned, (stop, stop_path)):
        name = topic.lstrip('/')
        if name in _RESERVED or name.startswith(_RESERVED_FOLDERS):
            yield path, _OF_THE_ROBOT, topic
    sensors = {topic for topic, *_ in used}
    if contract.robot_tf in {*sensors, *commands, stop}:
        yield ('robot', 'tf'), 'a topic that nothing else uses', contract.robot_tf
    for key, name, topic in groups:
        path = (key, name, 'topic')
        if topic and commands[topic] != (key, name):
            yield path, 'a command topic of its own', topic
        if topic in sensors:
            yield path, 'a topic that no sensor uses', topic
    if stop and stop in commands:
        yield stop_path, 'a topic that no command uses', stop
    for index, step in enumerate(contract.episode.reset.steps):
        if isinstance(step, PublishStep) and step.topic in commands:
            path = ('episode', 'reset', 'procedure', index, 'publish')
            expected = 'a topic that is not a command topic, which only the gate publishes'
            yield path, expected, step.topic


# Fields ------------------------------------------------------------------------------------------


def _fields(contract: Contract) -> Iterator[Fault]:
    """Ask for fields that pacing and gate allow, and for privileged ones that act on nothing."""
    lockstep = contract.is_lockstep
    if lockstep and not contract.sim_time:
        hint = 'Lockstep holds the world still, which only simulated time can.'
        yield ('clock',), 'sim, with `pacing: lockstep`', 'ros', hint
    for where, field in _sections(contract):
        by_tf, stale = isinstance(field.source, Lookup), (where, field.name, 'on_stale')
        if by_tf and len(contract.agents) > 1:
            path = (where, field.name, 'transform')
            hint = 'The frames of tf are the same for all agents.'
            yield path, 'a topic, with several agents', Text('a tf look-up'), hint
        if where == 'privileged' and field.on_stale is not OnStale.MARK:
            expected = 'mark, since a privileged field must not act'
            yield stale, expected, field.on_stale.value
        elif by_tf and field.on_stale is OnStale.STOP:
            yield stale, 'mark or truncate, since the gate listens to no tf', 'stop'


def _waits(contract: Contract) -> Iterator[Fault]:
    """Ask that a reset waits for a field that there is."""
    # A derived field and one of the task come into being with the first observation.
    fields = {f.name: f for f in contract.fields if f.source is not None and not f.is_image}
    for index, step in enumerate(contract.episode.reset.steps):
        if not isinstance(step, WaitStep):
            continue
        path, field = ('episode', 'reset', 'procedure', index), fields.get(step.field)
        if field is None:
            expected = f'a field of numbers of a topic: {", ".join(fields)}'
            yield (*path, 'wait'), expected, step.field, nearest(step.field, fields)


def motion(contract: Contract) -> Iterator[Fault]:
    """Yield what a group needs of the gate to move as it says, and what does not fit it."""
    for group, part in slices_of(contract.action):
        path = ('action', group.name)
        if min(*group.acceleration, *group.jerk) < math.inf:
            yield from _profile(contract, group, path)
        yield from _rotation(contract, group, part.start, path)
        yield from _deactivation(group, path)


def _profile(contract: Contract, group: ActionSpec, path: Path) -> Iterator[Fault]:
    """
    Ask for a gate that goes on along the profile between two actions.

    A command is never given more than one period of the profile. If the one before it were older,
    the robot would have stood still for the rest of that time, and its sequence would have a kink.
    """
    period, limits = contract.period, f'with `{_profile_key(group)}`'
    duration = getattr(group.source, 'duration', math.inf)
    if duration < period:
        hint = (
            'The profile is that of a driver that takes as long to a point as the gate to the '
            'next.'
        )
        yield (*path, 'duration'), f'at least period ({period:g} s), {limits}', duration, hint
    most, again = period - contract.safety.gate_period, contract.safety.republish_period
    if again is None or not again <= most:
        expected = f'at most period - gate_period ({most:g} s), {limits} (action.{group.name})'
        hint = 'Between two actions the gate then goes on along the profile.'
        actual = Text('nothing') if again is None else again
        yield ('safety', 'republish_period'), expected, actual, hint


def _profile_key(group: ActionSpec) -> str:
    """Return the key that asks for a profile."""
    positions = Interface.POSITION in group.interface and group.max_acceleration
    return 'max_acceleration' if positions else 'max_jerk'


def _deactivation(group: ActionSpec, path: Path) -> Iterator[Fault]:
    """
    Ask for a driver that brakes by itself where the stop profile takes long.

    A gate that is deactivated or ended follows the profile for so long, and is silent then.
    """
    bounds = zip(group.low, group.high, group.safe, group.stop, strict=True)
    moving = (one for one in bounds if not math.isnan(one[2]))
    times = (max(high - safe, safe - low) / stop for low, high, safe, stop in moving)
    longest = max(times, default=0.0)
    if group.driver_timeout is None and longest > STOPS_WITHIN:
        expected = (
            f'seconds, with a stop that takes up to {longest:g} s (from the bounds to `safe`)'
        )
        hint = (
            f'A gate that is deactivated or ended brakes for {STOPS_WITHIN:g} s and falls silent; '
            'such a driver would go on at what is left.'
        )
        yield (*path, 'driver_timeout'), expected, Text('none'), hint


def _rotation(contract: Contract, group: ActionSpec, start: int, path: Path) -> Iterator[Fault]:
    """Refuse rules that take a part of a quaternion for a speed or a place."""
    safety, four = contract.safety, {start + i for i in group.rotation}
    for rule in safety.rules:
        for dimension in four.intersection(rule.moved_by):
            actual = Text(f'{rule.input} is about {contract.command_dimensions[dimension]}')
            yield (*path, 'rotation'), 'dimensions that no other rule is about', actual
    scales = safety.operator.scale if safety.operator is not None else ()
    if any(abs(scales[i] - 1.0) > 0.0 for i in four if i < len(scales)):
        expected = f'1 for the rotation of action.{group.name}'
        yield ('safety', 'operator', 'scale'), expected, list(scales)
