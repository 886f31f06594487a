# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A plugin as a simulated robot: its sensors are topics, its set-points the gate's commands."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
import json
import math
from typing import Any

from boundary_env_ros.core.contract.model import ActionSpec, Contract
from boundary_env_ros.core.contract.sources import STRING
from boundary_env_ros.core.environment.reset import by_name, ResetWorld, WorldReset
from boundary_env_ros.core.records.environment_event import Push
from boundary_env_ros.core.records.parts import NamedValues
from boundary_env_ros.core.sources import json_documents
from boundary_env_ros.core.sources.inputs import robot_topics
from boundary_env_ros.core.timebase import NANOSECONDS, to_nanoseconds
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import (
    BoundaryError,
    InvalidState,
    RequestRejected,
    ResultCode,
    SimulationFailed,
)
from boundary_env_ros.frozen import replace
from boundary_env_ros.simulation.messages import ENCODINGS, Fields, header, image
from boundary_env_ros.simulation.plugin import (
    Baseline,
    EnvironmentPlugin,
    PluginSpace,
    Update,
)
from boundary_env_ros.simulation.plugin_process import PluginProcess, target_of
from boundary_env_ros.simulation.plugin_wire import pixels_in
from boundary_env_ros.simulation.robot import Emission, SimulatedRobot

#: Topic with the rewards, each summed up since the reset, and how the world stands.
OUTCOME = 'outcome'
#: Its last value, and what that is.
DONE = 'done'
RUNNING, ENDED, SUCCEEDED = 0.0, 1.0, 2.0

#: After the topic of an actuator: what it did in the last update.
APPLIED = 'applied'

JOINT_STATE = 'sensor_msgs/msg/JointState'
ARRAY = 'std_msgs/msg/Float64MultiArray'
IMAGE = 'sensor_msgs/msg/Image'


@dataclass(slots=True)
class _SetPoint:
    """What one actuator was commanded last, and when, ns."""

    group: ActionSpec
    values: Vector
    arrived: int


class PluginRobot:
    """
    A :class:`~boundary_env_ros.simulation.robot.SimulatedRobot` around a plugin's process.

    A topic of the contract is a sensor of that name, or one of two that are made here:
    ``<actuator>/applied``, the set-points of the last update, and ``outcome``, the rewards, each
    summed up since the reset so that none is lost, and ``done``. Of several agents all these have
    ``<agent>/`` before them. A sensor is sent as the contract
    wants it: ``sensor_msgs/msg/JointState``, whose names are those of its values, or
    ``std_msgs/msg/Float64MultiArray``; a camera as ``sensor_msgs/msg/Image``.

    The plugin is updated as often as its ``time_step`` fits into the time that passes; what it
    measured is sent when that time has come, if it went farther than it was asked to. A command
    takes effect with the next update. One that is older than the driver's timeout of the contract
    becomes the safe command.

    Parameters
    ----------
    contract
        The contract.
    start
        Present time, ns; by default one period, at which an embedded world begins.
    options
        See ``OPTIONS``.
    plugin
        A subclass of :class:`~boundary_env_ros.simulation.plugin.EnvironmentPlugin`, or
        ``module:Class``.

    Raises
    ------
    BoundaryError
        If the plugin does not start, or has not what the contract names.

    Attributes
    ----------
    can
        The optional methods that the plugin has, which :meth:`ask` calls.
    static_model
        What of the world never changes, JSON.

    """

    OPTIONS: Mapping[str, tuple[float, str]] = {
        'start_deadline': (30.0, 'Seconds, steady, for the plugin to start or to be reset.'),
        'update_deadline': (5.0, 'Seconds, steady, for one update of the plugin.'),
    }

    def __init__(
        self,
        contract: Contract,
        *,
        start: int | None = None,
        options: Mapping[str, float] | None = None,
        plugin: type[EnvironmentPlugin] | str,
    ) -> None:
        given = {
            **{name: default for name, (default, _) in self.OPTIONS.items()},
            **(options or {}),
        }
        begin = to_nanoseconds(contract.period) if start is None else start
        self._start_deadline = given['start_deadline']
        self._update_deadline = given['update_deadline']
        self._target = target_of(plugin)
        self._contract = contract
        self._setpoints = {
            contract.topic_of(agent, group.topic): _SetPoint(group, _at_rest(group), begin)
            for agent in contract.agents
            for group in contract.action
        }
        self._documents: dict[str, Any] = {
            topic: None
            for agent in contract.agents
            for topic in json_documents.topics(contract, agent).values()
        }
        self.topics = robot_topics(contract)
        self.can: frozenset[str] = frozenset()
        self._process = PluginProcess(self._target)
        try:
            with self._reading('start'):
                self._baseline = self._started('start', 0, {}, {})
                self._check_topics()
                self._begin(self._baseline, begin)
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """Process id of the plugin."""
        return self._process.pid

    @property
    def static_model(self) -> Mapping[str, Any]:
        """Return what of the world never changes."""
        return self._baseline.static_model

    def close(self) -> None:
        """Let the plugin close its world; it cannot be used any more."""
        self._process.close()

    # Beside the steps ----------------------------------------------------------------------------

    def ask(self, method: str, arguments: Mapping[str, object]) -> Any:
        """
        Call an optional method of the plugin, and return its answer as JSON.

        Parameters
        ----------
        method
            One of ``EnvironmentPlugin.OPTIONAL``.
        arguments
            Its arguments by name, plain data; most take the ``agent``.

        Raises
        ------
        RequestRejected
            If the plugin has no such method, or the method raises; the episode goes on.

        """
        if method not in EnvironmentPlugin.OPTIONAL:
            raise RequestRejected(
                f'Unknown method (expected {", ".join(EnvironmentPlugin.OPTIONAL)}, '
                f'got {method!r}).'
            )
        try:
            return self._process.call(method, self._update_deadline, **arguments)['answer']
        except SimulationFailed as error:
            raise RequestRejected(str(error)) from error

    def pushed(self) -> tuple[Push, ...]:
        """Return the events that the plugin has pushed since the last call."""
        found = []
        for event in self._process.pushed():
            agents = [event['agent']] if event['agent'] else self._contract.agents
            found += [
                Push(
                    agent=agent,
                    event_type=str(event['event_type']),
                    payload=json.dumps(event['delta']),
                    reason=str(event['reason']),
                )
                for agent in agents
            ]
        return tuple(found)

    def info(self, agent: str) -> str:
        """Return what the plugin sent the policy of an agent last, JSON; empty: nothing."""
        several = len(self._contract.agents) > 1
        own = self._info.get(agent) if several else self._info
        return json.dumps(own) if own else ''

    # Life ----------------------------------------------------------------------------------------

    def reset(self, request: ResetWorld, at: int) -> WorldReset:
        """Begin again, in a fresh process if the one before is gone."""
        target = by_name(request.target)
        broken = [name for name, values in target.items() if not all(map(math.isfinite, values))]
        if broken:
            return WorldReset(error=f'Not finite: {broken[0]!r} (expected finite numbers).')
        unit = {item.name: item.unit for item in request.target}
        try:
            call = 'reset'
            if not self._process.alive:
                self._process, call = PluginProcess(self._target), 'start'
            with self._reading(call):
                baseline = self._started(
                    call, request.seed, target, json.loads(request.options or '{}')
                )
                self._check_same(baseline)
                self._begin(baseline, at)
                return WorldReset(
                    info=json.dumps(baseline.info) if baseline.info else '',
                    achieved=tuple(
                        NamedValues(
                            name=name, values=tuple(map(float, values)), unit=unit.get(name, ())
                        )
                        for name, values in baseline.achieved.items()
                    ),
                    completed=at,
                    confirmed_by=self._target,
                )
        except BoundaryError as error:
            self._failure = str(error)
            return WorldReset(error=str(error))

    def _started(
        self,
        call: str,
        seed: int,
        target: Mapping[str, Vector],
        options: Mapping[str, object],
    ) -> Baseline:
        response = self._process.call(
            call, self._start_deadline, seed=seed, target=target, options=options
        )
        self.can = frozenset(response['can'])
        answer = _tuples(response['answer'])
        for key in ('sensors', 'actuators'):
            answer[key] = tuple(PluginSpace(**_tuples(space)) for space in answer[key])
        return Baseline(**answer)

    def _begin(self, baseline: Baseline, at: int) -> None:
        missing = sorted({space.name for space in baseline.sensors} - set(baseline.readings))
        if missing:
            raise SimulationFailed(
                'A first reading is missing (expected a first reading of every sensor of the '
                f'plugin {self._target}, got none of {", ".join(missing)}).'
            )
        self._failure = ''
        self._now = self._reached = at
        self._step = to_nanoseconds(baseline.time_step)
        self._sums: dict[str, float] = dict.fromkeys(baseline.rewards, 0.0)
        self._state = dict.fromkeys(self._contract.agents, RUNNING)
        self._info: Mapping[str, Any] = dict(baseline.info)
        self._pending: deque[tuple[int, Emission]] = deque()
        self._documents = dict.fromkeys(self._documents)
        for setpoint in self._setpoints.values():
            setpoint.values, setpoint.arrived = _at_rest(setpoint.group), at
        self._measure(baseline.readings, self._applied(at))

    # Time ----------------------------------------------------------------------------------------

    def command(self, topic: str, values: Vector, arrived: int) -> None:
        """Take the set-point of an actuator."""
        setpoint = self._setpoints.get(topic)
        if setpoint is None:
            raise BoundaryError(
                'Unknown actuator (expected an actuator of the contract '
                f'({", ".join(self._setpoints)}), got {topic!r}).'
            )
        if len(values) != setpoint.group.size or not all(map(math.isfinite, values)):
            raise BoundaryError(
                f'{topic}: expected {setpoint.group.size} finite numbers, got {list(values)}.'
            )
        setpoint.values, setpoint.arrived = tuple(values), arrived

    def document(self, topic: str, text: str) -> None:
        """Take a document for an actuator; the plugin gets it with the next update."""
        if topic not in self._documents:
            known = ', '.join(self._documents) or 'none'
            raise BoundaryError(f'Unknown actuator (expected {known}, got {topic!r}).')
        self._documents[topic] = json_documents.read(text)

    def advance(self, until: int) -> tuple[Emission, ...]:
        """Update the plugin as often as its time step fits; return what is due."""
        if until < self._now:
            raise InvalidState(
                f'Time cannot run backwards (expected to advance to {self._now} ns (now) or '
                f'later, got {until} ns).'
            )
        if self._failure:
            raise SimulationFailed(self._failure)
        try:
            while RUNNING in self._state.values() and self._reached + self._step <= until:
                with self._reading('update'):
                    self._update()
        except SimulationFailed as error:
            self._failure = str(error)
            raise
        self._now = until
        due = []
        while self._pending and self._pending[0][0] <= until:
            due.append(self._pending.popleft()[1])
        return tuple(due)

    def _update(self) -> None:
        applied = self._applied(self._reached)
        sent = {topic: each for topic, each in self._documents.items() if each is not None}
        self._documents = dict.fromkeys(self._documents)
        response = self._process.call(
            'update',
            self._update_deadline,
            setpoints={**applied, **sent},
            seconds=self._step / NANOSECONDS,
        )
        update = Update(**response['answer'])
        elapsed = self._step if update.elapsed is None else to_nanoseconds(update.elapsed)
        if elapsed <= 0:
            raise SimulationFailed(
                f'No time passed (expected the plugin {self._target} to let time pass in update, '
                f'got {update.elapsed} s).'
            )
        self._reached += elapsed
        self._count(update)
        self._info = dict(update.info)
        self._measure(update.readings, applied)

    def _count(self, update: Update) -> None:
        for name, value in update.rewards.items():
            if name not in self._sums or not math.isfinite(value):
                raise SimulationFailed(
                    f'Wrong reward (expected finite rewards {", ".join(self._sums) or "(none)"} '
                    f'of the plugin {self._target}, got {name} = {value}). Name them in the '
                    'baseline.'
                )
            self._sums[name] += value
        for agent, state in self._state.items():
            if state == RUNNING and _is_so(update.done, agent):
                self._state[agent] = SUCCEEDED if _is_so(update.success, agent) else ENDED

    def _applied(self, at: int) -> dict[str, Vector]:
        """Return the set-point of each actuator: the safe one, if no commands come any more."""
        return {topic: _obeyed(setpoint, at) for topic, setpoint in self._setpoints.items()}

    @contextmanager
    def _reading(self, call: str) -> Iterator[None]:
        """Say of an answer that has not the form of one which call it answers."""
        try:
            yield
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise SimulationFailed(
                f'The plugin failed (expected an answer of the plugin {self._target} to {call}, '
                f'got {type(error).__name__}: {error}).'
            ) from error

    # Messages ------------------------------------------------------------------------------------

    def _measure(self, readings: Mapping[str, Any], applied: Mapping[str, Vector]) -> None:
        """Put what was measured at the plugin's own time into messages."""
        everything = {**readings, **{f'{topic}/{APPLIED}': v for topic, v in applied.items()}}
        for agent, state in self._state.items():
            own = (self._sums[name] for name in self._rewards_of(agent))
            everything[self._contract.topic_of(agent, OUTCOME)] = (*own, state)
        for topic, kind in self.topics.items():
            if topic in everything:
                fields = self._fields(topic, kind, everything[topic])
                self._pending.append((self._reached, Emission(topic=topic, fields=fields)))

    def _fields(self, topic: str, kind: str, reading: Any) -> Fields:
        space = self._spaces[topic]
        if space.document:
            if not isinstance(reading, (dict, str)):
                raise self._wrong(topic, 'a text or an object')
            return {'data': json_documents.text_of(reading)}
        if space.shape is not None:
            if not isinstance(reading, dict) or tuple(reading['shape']) != space.shape:
                raise self._wrong(topic, f'pixels of shape {space.shape}')
            return {'header': header(self._reached, ''), **image(pixels_in(reading))}
        if not isinstance(reading, (list, tuple)) or len(reading) != len(space.values):
            raise self._wrong(topic, f'{len(space.values)} numbers')
        numbers = [float(value) for value in reading]
        if kind == ARRAY:
            return {'layout': {'dim': [], 'data_offset': 0}, 'data': numbers}
        return {
            'header': header(self._reached, ''),
            'name': list(space.values),
            'position': numbers,
            'velocity': [],
            'effort': [],
        }

    def _wrong(self, topic: str, expected: str) -> SimulationFailed:
        return SimulationFailed(
            f'Wrong size of the sensor {topic!r} of the plugin {self._target} (expected '
            f'{expected}, as its baseline says).'
        )

    # What the plugin has -------------------------------------------------------------------------

    def _check_topics(self) -> None:
        """Hold what the plugin has against what the contract names."""
        baseline = self._baseline
        self._check_baseline(baseline)
        self._spaces = {space.name: space for space in baseline.sensors}
        for agent in self._contract.agents:
            topic = self._contract.topic_of(agent, OUTCOME)
            prefix = self._contract.topic_of(agent, '')
            values = (*(name[len(prefix) :] for name in self._rewards_of(agent)), DONE)
            self._spaces[topic] = PluginSpace(name=topic, values=values)
        actuators = {space.name: space for space in baseline.actuators}
        for topic, setpoint in self._setpoints.items():
            if topic not in actuators:
                raise self._has_not(f'an actuator {topic!r}', actuators)
            self._check_actuator(actuators[topic], setpoint.group)
            applied = f'{topic}/{APPLIED}'
            self._spaces[applied] = replace(actuators[topic], name=applied)
        for topic in self._documents:
            if topic not in actuators or not actuators[topic].document:
                raise self._has_not(f'an actuator {topic!r} for documents', actuators)
        for topic, kind in self.topics.items():
            if topic not in self._spaces:
                raise self._has_not(f'a sensor {topic!r}', self._spaces)
            fitting = (IMAGE,) if self._spaces[topic].shape else (JOINT_STATE, ARRAY)
            fitting = (STRING,) if self._spaces[topic].document else fitting
            if kind not in fitting:
                raise BoundaryError(
                    f'Wrong type of a sensor (expected the type {" or ".join(fitting)} for the '
                    f'sensor {topic!r} of a plugin, got {kind}). Write it so in the contract.'
                )

    def _rewards_of(self, agent: str) -> tuple[str, ...]:
        """Return the names of the rewards of an agent."""
        prefix = self._contract.topic_of(agent, '')
        return tuple(name for name in self._baseline.rewards if name.startswith(prefix))

    def _check_baseline(self, baseline: Baseline) -> None:
        if not (math.isfinite(baseline.time_step) and to_nanoseconds(baseline.time_step) > 0):
            raise BoundaryError(
                f'Wrong time_step (expected a time_step above 0 s of the plugin {self._target}, '
                f'got {baseline.time_step}).'
            )
        for space in baseline.sensors:
            if space.shape is not None and (
                len(space.shape) != 3 or space.shape[2] not in ENCODINGS
            ):
                raise BoundaryError(
                    f'Wrong shape of a camera (expected a camera {space.name!r} with the shape '
                    f'(height, width, 1 or 3), got {space.shape}).'
                )

    def _check_actuator(self, space: PluginSpace, group: ActionSpec) -> None:
        if len(space.values) != group.size:
            raise BoundaryError(
                f'Wrong size of an actuator (expected {group.size} values of the actuator '
                f'{space.name!r}, as the contract says, got {len(space.values)} '
                f'({", ".join(space.values)})).'
            )
        if not len(space.low) == len(space.high) == group.size:
            raise BoundaryError(
                'Wrong bounds of an actuator (expected a low and a high of each value of the '
                f'actuator {space.name!r}, got {list(space.low)} and {list(space.high)}).'
            )
        bounds = zip(space.values, space.low, space.high, group.low, group.high, strict=True)
        for name, low, high, least, most in bounds:
            if not low <= least <= most <= high:
                raise BoundaryError(
                    'The bounds exceed those of the plugin (expected bounds of the contract for '
                    f'{space.name}.{name} within {low:g} to {high:g}, which the plugin obeys, got '
                    f'{least:g} to {most:g}).'
                )

    def _check_same(self, baseline: Baseline) -> None:
        known = (self._baseline.sensors, self._baseline.actuators, self._baseline.rewards)
        if (baseline.sensors, baseline.actuators, baseline.rewards) != known:
            raise SimulationFailed(
                f'The sensors, actuators or rewards of the plugin {self._target} changed with a '
                'reset (expected those of its start).'
            )

    def _has_not(self, what: str, known: Mapping[str, PluginSpace]) -> BoundaryError:
        return BoundaryError(
            f'The contract names {what}, which the plugin {self._target} has not '
            f'(got {", ".join(known) or "none"}).'
        )


def plugin_of(robot: SimulatedRobot, contract: Contract) -> PluginRobot | None:
    """
    Return a robot that is one around a plugin; None if it is another.

    Raises
    ------
    BoundaryError
        If it is another, and the contract has documents, which only plugins take.

    """
    if isinstance(robot, PluginRobot):
        return robot
    if contract.documents:
        raise BoundaryError(
            f'{type(robot).__name__} takes no documents (expected a robot around a plugin).'
        )
    return None


def ask(robot: SimulatedRobot, method: str, arguments: Mapping[str, object]) -> Any:
    """
    Ask a robot; see :meth:`PluginRobot.ask`.

    Parameters
    ----------
    robot
        Any robot.
    method
        What is asked for; ``'describe'`` is answered for every robot: what it ``can``, and its
        ``static_model``.
    arguments
        By name.

    Raises
    ------
    RequestRejected
        If it does not answer that.

    """
    if method == 'describe':
        if not isinstance(robot, PluginRobot):
            return {'can': [], 'static_model': {}}
        return {'can': sorted(robot.can), 'static_model': dict(robot.static_model)}
    if not isinstance(robot, PluginRobot):
        raise RequestRejected(
            f'The robot has no {method!r} (expected a robot around a plugin, got '
            f'{type(robot).__name__}).',
            ResultCode.UNSUPPORTED,
        )
    return robot.ask(method, arguments)


def _tuples(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain data with its lists as tuples."""
    return {key: tuple(v) if isinstance(v, list) else v for key, v in data.items()}


def _is_so(agents: bool | Collection[str], agent: str) -> bool:
    """Return whether it is so for an agent: for all, or for some that are named."""
    return agents if isinstance(agents, bool) else agent in agents


def _at_rest(group: ActionSpec) -> Vector:
    """Return the safe command; 0 for a dimension that is to hold what it was not sent yet."""
    return tuple(0.0 if math.isnan(value) else value for value in group.safe)


def _obeyed(setpoint: _SetPoint, at: int) -> Vector:
    timeout = setpoint.group.driver_timeout
    if timeout is None or at - setpoint.arrived <= to_nanoseconds(timeout):
        return setpoint.values
    return tuple(
        value if math.isnan(safe) else safe
        for value, safe in zip(setpoint.values, setpoint.group.safe, strict=True)
    )
