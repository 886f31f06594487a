# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Who publishes, subscribes, serves and calls what in a boundary, by its contract."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import product

from boundary_env_ros.core.contract.model import CallStep, Contract, PublishStep, WorldStep
from boundary_env_ros.core.sources.inputs import gate_inputs, image_fields, sensor_topics
from boundary_env_ros.frozen import frozen
from boundary_env_ros.ros import names
from boundary_env_ros.ros.recorded_topics import foreign_topics, LOG, own_topics, places_of

_BRING_UP = 'bring_up'
# A device of LeRobot that stands for the operator of a contract.
_DEVICE = 'boundary_operator'

_BESIDE = (names.POLICY, _BRING_UP, names.OPERATOR, names.WATCH)
# Those that stand in the namespace of their agent, where there are several.
_OF_AGENT = frozenset({names.GATE, names.CLIENT})
# Nodes of random names beside their own: a policy's client in the server, that of `ros2 launch`.
_ALSO_IN_PROCESS: Mapping[str, tuple[str, ...]] = {
    names.SERVER: (names.POLICY,),
    _BRING_UP: ('launch_ros',),
}

#: Who serves each service of this package, and who calls it.
_SERVICES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    **dict.fromkeys(names.SERVICES, ((names.SERVER,), (names.CLIENT,))),
    names.EVALUATE_ACTIONS: ((names.GATE,), (names.SERVER, names.CLIENT)),
    names.BEGIN_EPISODE: ((names.ENVIRONMENT,), names.POLICIES),
    names.END_EPISODE: ((names.ENVIRONMENT,), names.POLICIES),
    names.ARM: ((names.GATE,), names.POLICIES),
    names.CONFIRM_RESET: ((names.ENVIRONMENT,), (names.OPERATOR,)),
    names.LABEL_EPISODE: ((names.RECORDER,), (names.OPERATOR,)),
    names.ASK_WORLD: ((names.ROBOT,), names.POLICIES),
    'safety_gate/emergency_stop': ((names.GATE,), (names.OPERATOR,)),
    'safety_gate/clear_emergency_stop': ((names.GATE,), (names.OPERATOR,)),
    'safety_gate/loosen': ((names.GATE,), (names.OPERATOR,)),
    'safety_gate/probe_driver': ((names.GATE,), (names.OPERATOR,)),
}
_CLOCK = '/clock'
# What rclpy adds to a node, and to one with a lifecycle.
_EVERY = (LOG, '/parameter_events')
_PARAMETERS = (
    *('describe_parameters', 'get_parameter_types', 'get_parameters', 'list_parameters'),
    *('set_parameters', 'set_parameters_atomically', 'get_type_description'),
)
_LIFECYCLE_CALLS = ('change_state', 'get_state')
_LIFECYCLE = (
    *_LIFECYCLE_CALLS,
    *('get_available_states', 'get_available_transitions', 'get_transition_graph'),
)


@frozen
class Access:
    """
    What the enclave of one process allows.

    Attributes
    ----------
    place
        The node, in the namespace of the boundary; that of its enclave.
    publishes, subscribes, serves, calls
        Topics and services, relative to that namespace; an asterisk stands for random digits.

    """

    place: str
    publishes: frozenset[str]
    subscribes: frozenset[str]
    serves: frozenset[str]
    calls: frozenset[str]


class _Table(defaultdict[tuple[str, str], set[str]]):
    """Gathers what each place may do."""

    def add(self, place: str, what: str, *found: str) -> None:
        self[place, what].update(found)

    def row(self, place: str) -> Access:
        kinds = ('publishes', 'subscribes', 'serves', 'calls')
        return Access(place=place, **{what: frozenset(self[place, what]) for what in kinds})


def accesses(contract: Contract, *, simulated: bool) -> tuple[Access, ...]:
    """
    Return what each process of a boundary has to be allowed, in either pacing.

    Parameters
    ----------
    contract
        The contract.
    simulated
        Whether the simulated robot is one of them; else its drivers have enclaves of their own.

    """
    table = _Table(set)
    gates = {agent: contract.topic_of(agent, names.GATE) for agent in contract.agents}
    clients = tuple(contract.topic_of(agent, names.CLIENT) for agent in contract.agents)
    own = {n: (topic.publishers, topic.subscribers) for n, topic in names.OWN_TOPICS.items()}
    for given, roles in ((own, ('publishes', 'subscribes')), (_SERVICES, ('serves', 'calls'))):
        for name, sides in given.items():
            for role, places in zip(roles, sides, strict=True):
                for place in places:
                    if place not in _OF_AGENT:
                        table.add(place, role, *places_of(contract, name))
                for place, agent in product(_OF_AGENT & {*places}, contract.agents):
                    at = contract.topic_of(agent, place)
                    table.add(at, role, contract.topic_of(agent, name))
    for agent, gate in gates.items():
        _of_agent(contract, agent, gate, table)
    _of_robot(contract, table)
    for step in contract.episode.reset.steps:
        if isinstance(step, (WorldStep, CallStep)):
            table.add(names.ENVIRONMENT, 'calls', step.service)
        elif isinstance(step, PublishStep):
            table.add(names.ENVIRONMENT, 'publishes', step.topic)
    table.add(names.RECORDER, 'subscribes', *own_topics(contract), *foreign_topics(contract), LOG)
    nodes = (
        names.RECORDER,
        *((names.ROBOT,) if simulated else ()),
        *gates.values(),
        names.ENVIRONMENT,
        names.SERVER,
    )
    operator = contract.safety.operator
    if operator is not None:
        topics = (contract.topic_of(agent, operator.topic) for agent in contract.agents)
        table.add(_DEVICE, 'publishes', *topics)
    beside = (*_BESIDE, *clients, *((_DEVICE,) if operator else ()))
    for place in (*nodes, *beside):
        _of_node(place, table, digits=place in beside)
    for node in nodes:
        _of_lifecycle(node, table)
    return tuple(map(table.row, (*nodes, *beside)))


def robot_access(contract: Contract) -> Access:
    """Return what the drivers of a robot need of a contract, all of them together."""
    table = _Table(set)
    _of_robot(contract, table)
    for step in contract.episode.reset.steps:
        if isinstance(step, CallStep):
            table.add(names.ROBOT, 'serves', step.service)
        elif isinstance(step, PublishStep):
            table.add(names.ROBOT, 'subscribes', step.topic)
    return table.row(names.ROBOT)


def _of_agent(contract: Contract, agent: str, gate: str, table: _Table) -> None:
    """Add who subscribes the sensors of an agent, and who its commands."""

    def at(*topics: str) -> list[str]:
        return [contract.topic_of(agent, topic) for topic in topics if topic]

    commands = at(*contract.command_topics)
    table.add(gate, 'publishes', *commands)
    # Its own come back, so that it notices those of another.
    table.add(gate, 'subscribes', *commands, *at(*(item.topic for item in gate_inputs(contract))))
    table.add(gate, 'subscribes', *at(contract.safety.emergency_stop), names.CONTRACT)
    table.add(names.ENVIRONMENT, 'subscribes', *at(*sensor_topics(contract)))
    for place in names.POLICIES:
        table.add(place, 'subscribes', *at(*(spec.topic for spec in image_fields(contract))))


def _of_robot(contract: Contract, table: _Table) -> None:
    """Add what a robot says and subscribes, without what belongs to the package."""
    commands = {
        contract.topic_of(agent, topic)
        for agent in contract.agents
        for topic in contract.command_topics
    }
    table.add(names.ROBOT, 'publishes', *(foreign_topics(contract).keys() - commands), _CLOCK)
    table.add(names.ROBOT, 'subscribes', *commands)
    worlds = (step for step in contract.episode.reset.steps if isinstance(step, WorldStep))
    table.add(names.ROBOT, 'serves', *(step.service for step in worlds))


def _of_node(place: str, table: _Table, *, digits: bool) -> None:
    """Add what rclpy gives a node, and those of random names in the same process."""
    table.add(place, 'publishes', *_EVERY)
    table.add(place, 'subscribes', _CLOCK)
    own = f'{place}_*' if digits else place
    for name in (own, *(f'{other}_*' for other in _ALSO_IN_PROCESS.get(place, ()))):
        table.add(place, 'serves', *(f'{name}/{service}' for service in _PARAMETERS))


def _of_lifecycle(node: str, table: _Table) -> None:
    """Add what a lifecycle is asked and says, and who brings it up."""
    table.add(node, 'publishes', names.DIAGNOSTICS, f'{node}/transition_event')
    table.add(node, 'serves', *(f'{node}/{name}' for name in _LIFECYCLE))
    table.add(_BRING_UP, 'calls', *(f'{node}/{name}' for name in _LIFECYCLE_CALLS))
    # The node of `ros2 launch`, in the process that brings up, listens to what it starts.
    table.add(_BRING_UP, 'subscribes', f'{node}/transition_event')
