# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What each process of a boundary may do follows from its contract, and is what it does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
import re

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from rclpy.node import Node

from boundary_env_ros.core.contract.model import Contract, Pacing
from boundary_env_ros.ros import names
from boundary_env_ros.ros.access import Access, accesses, robot_access
from boundary_env_ros.ros.isolated_node import IsolatedNode
from boundary_env_ros.ros.processes import boundary_nodes, running
from boundary_env_ros.ros.service_client import BoundaryClient
from boundary_env_ros.ros.world import RosWorld
from boundary_env_ros.storage.contract_file import load
from support.ros_world import reserved_domain, SOON, wait_until

pytestmark = pytest.mark.ros

SHIPPED = ('warehouse_cart', 'guarded_cart', 'two_carts', 'door_arm')


def of(contract: Contract) -> dict[str, Access]:
    return {access.place: access for access in accesses(contract, simulated=True)}


def publishers(contract: Contract, topic: str) -> set[str]:
    return {place for place, access in of(contract).items() if topic in access.publishes}


@pytest.mark.parametrize('name', SHIPPED)
def test_a_gate_alone_publishes_the_commands_of_its_agent(name: str) -> None:
    contract = load(name).contract
    for agent in contract.agents:
        for group in contract.action:
            topic = contract.topic_of(agent, group.topic)
            assert publishers(contract, topic) == {contract.topic_of(agent, 'safety_gate')}


@pytest.mark.parametrize('name', SHIPPED)
def test_nobody_but_a_policy_requests_and_nobody_but_the_environment_closes_steps(
    name: str,
) -> None:
    contract = load(name).contract
    for agent in contract.agents:
        at = contract.topic_of(agent, names.ACTION_REQUEST)
        assert publishers(contract, at) == {'boundary_client', 'policy_server'}
        at = contract.topic_of(agent, names.TRANSITION)
        assert publishers(contract, at) == {'environment'}
        at = contract.topic_of(agent, names.EPISODE_STATUS)
        assert publishers(contract, at) == {'environment', 'recorder'}


@pytest.mark.parametrize('name', SHIPPED)
def test_no_policy_hears_what_is_privileged_nor_changes_a_node(name: str) -> None:
    contract = load(name).contract
    access_of = of(contract)
    clients = (contract.topic_of(agent, 'service_client') for agent in contract.agents)
    for place in ('boundary_client', 'policy_server', *clients):
        access = access_of[place]
        for agent in contract.agents:
            at = contract.topic_of(agent, names.PRIVILEGED_OBSERVATION)
            assert at not in access.subscribes
        assert not {call for call in access.calls if call.endswith(('state', 'parameters'))}


def test_a_device_of_the_operator_publishes_what_he_asks_for_and_nothing_else() -> None:
    contract = load('guarded_cart').contract
    assert contract.safety.operator is not None
    device, watch = (of(contract)[place] for place in ('boundary_operator', 'watch'))
    assert device.publishes == {contract.safety.operator.topic, *watch.publishes}
    assert not device.calls
    assert 'boundary_operator' not in of(load('warehouse_cart').contract)


def test_drivers_are_told_what_they_publish_hear_and_serve() -> None:
    contract = load('warehouse_cart').contract
    drivers = robot_access(contract)
    assert {'scan', 'odom', contract.safety.emergency_stop} <= drivers.publishes
    assert drivers.subscribes == {group.topic for group in contract.action}
    assert drivers.serves == {'reset_world'}
    assert 'simulated_robot' not in {a.place for a in accesses(contract, simulated=False)}


# Against what the nodes do -----------------------------------------------------------------------


@pytest.fixture(params=['warehouse_cart', pytest.param('two_carts', marks=pytest.mark.nightly)])
def domain_and_contract(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[tuple[int, Contract]]:
    loaded = load(request.param, Pacing.LOCKSTEP)
    agent = loaded.contract.agents[0]
    nodes = boundary_nodes(
        loaded.contract,
        {'contract': request.param, 'pacing': 'lockstep'},
        run=tmp_path / 'run',
        robot='simulated_robot',
        services=True,
    )
    with (
        reserved_domain() as domain,
        running(nodes, domain_id=domain, logs=tmp_path, timeout=60.0),
        closing(RosWorld(loaded, domain_id=domain)),
        BoundaryClient(
            domain_id=domain, namespace=agent if len(loaded.contract.agents) > 1 else ''
        ),
    ):
        yield domain, loaded.contract


# Each of them is allowed just what it does; a server has in it a policy that may not have begun.
_EXACTLY = ('environment', 'recorder', 'safety_gate')
_PLACES = (*_EXACTLY, 'simulated_robot', 'policy_server', 'boundary_client', 'service_client')


def done(node: Node) -> dict[str, dict[str, set[str]]]:
    """Return what each node of the graph does, by its place; digits behind a name are left out."""
    found = {}
    for name, namespace in node.get_node_names_and_namespaces():
        own = re.sub('_[0-9a-f]{8}$', '', name)
        found[f'{namespace}/{own}'.lstrip('/')] = {
            what: {entry.removeprefix('/').replace(name, own) for entry, _ in ask(name, namespace)}
            for what, ask in (
                ('publishes', node.get_publisher_names_and_types_by_node),
                ('subscribes', node.get_subscriber_names_and_types_by_node),
                ('serves', node.get_service_names_and_types_by_node),
                ('calls', node.get_client_names_and_types_by_node),
            )
        }
    return found


def test_the_nodes_do_what_their_enclaves_allow(
    domain_and_contract: tuple[int, Contract],
) -> None:
    domain, contract = domain_and_contract
    single = len(contract.agents) == 1
    allowed = {
        place: {
            what: {entry.removeprefix('/').replace('_*/', '/') for entry in getattr(access, what)}
            for what in ('publishes', 'subscribes', 'serves', 'calls')
        }
        for place, access in of(contract).items()
    }
    with IsolatedNode('looker', domain_id=domain, listens_only=True) as own:

        def all_there() -> bool:
            own.spin(0.1)
            found = done(own.node)
            known = {place.rpartition('/')[2] for place in found}
            same = all(found.get(place) == allowed[place] for place in _EXACTLY if single)
            return known.issuperset(_PLACES) and same

        wait_until(all_there, 3 * SOON, 'every node, and all that it does')
        found = done(own.node)
    for place in found.keys() & allowed.keys():
        for what, entries in found[place].items():
            assert entries <= allowed[place][what], (place, what, entries - allowed[place][what])
