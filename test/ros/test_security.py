# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Keys and permissions from a contract, and what is said of a start that security refuses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from boundary_env_ros.cli.main import main
from boundary_env_ros.errors import BoundaryError, LinkError
from boundary_env_ros.ros.isolated_node import IsolatedNode
from boundary_env_ros.ros.processes import NodeProcess, NodeSpec, running
from boundary_env_ros.ros.security import policy, secure
from boundary_env_ros.storage.contract_file import load
from support.ros_world import reserved_domain

pytestmark = pytest.mark.ros


@pytest.fixture
def without_ros2(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv('PATH', str(tmp_path))


def allowed(text: bytes, enclave: str, kind: str, how: str) -> set[str | None]:
    profile = ET.fromstring(text).find(f'enclaves/enclave[@path="{enclave}"]/profiles/profile')
    assert profile is not None
    return {item.text for group in profile.findall(f'{kind}[@{how}="ALLOW"]') for item in group}


def test_a_policy_names_everything_in_the_namespace_of_the_boundary() -> None:
    text = policy(load('two_carts').contract, namespace='/hall', simulated=True)
    gate = '/boundary/hall/cart_a/safety_gate'
    assert '/hall/cart_a/cmd_vel' in allowed(text, gate, 'topics', 'publish')
    assert '/rosout' in allowed(text, gate, 'topics', 'publish')
    assert '/hall/cart_a/safety_gate/arm' in allowed(text, gate, 'services', 'reply')
    client = '/boundary/hall/boundary_client'
    assert '/hall/cart_b/safety_gate/arm' in allowed(text, client, 'services', 'request')
    assert '/hall/boundary_client_*/get_parameters' in allowed(text, client, 'services', 'reply')


@pytest.mark.usefixtures('without_ros2')
def test_without_sros2_the_policy_is_written_and_the_command_told_that_finishes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = tmp_path / 'keys'
    assert main(['security', str(keys), '--contract', 'warehouse_cart', '--domain', '7']) == 1
    place = keys / 'warehouse_cart.policy.xml'
    told = capsys.readouterr().out
    assert f'ROS_DOMAIN_ID=7 ros2 security generate_artifacts -k {keys} -p {place}' in told
    assert '  subscribes /cmd_vel' in told
    enclave = '/boundary/safety_gate'
    assert '/cmd_vel' in allowed(place.read_bytes(), enclave, 'topics', 'publish')


def keystore(folder: Path, domain: int) -> Path:
    """Make what a keystore has for rcl, as far as that looks at it before the middleware does."""
    enclave = folder / 'enclaves/boundary/bring_up'
    enclave.mkdir(parents=True)
    for name in ('identity_ca.cert.pem', 'permissions_ca.cert.pem', 'cert.pem', 'key.pem'):
        (enclave / name).touch()
    for name in ('../../governance.p7s', 'governance.p7s', 'permissions.p7s'):
        (enclave / name).write_text(f'<domains><id>{domain}</id></domains>')
    return folder


def test_a_keystore_is_for_one_domain(tmp_path: Path) -> None:
    with pytest.raises(BoundaryError, match='for another ROS domain .expected 8, got 7'):
        secure(
            keystore=keystore(tmp_path, 7),
            contract='warehouse_cart',
            domain_id=8,
            namespace='',
            simulated=False,
        )
    assert not list(tmp_path.glob('*.xml'))


@pytest.fixture
def secured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[int]:
    with reserved_domain() as domain:
        monkeypatch.setenv('ROS_SECURITY_ENABLE', 'true')
        monkeypatch.setenv('ROS_SECURITY_STRATEGY', 'Enforce')
        monkeypatch.setenv('ROS_SECURITY_KEYSTORE', str(keystore(tmp_path, domain)))
        yield domain


def refusal(domain: int) -> str:
    with pytest.raises(LinkError, match='Security refuses this process') as error:
        IsolatedNode('bring_up', domain_id=domain)
    return str(error.value)


def test_a_refusal_names_enclave_domain_and_folder_and_what_is_wrong_with_it(
    secured: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / 'enclaves/boundary/bring_up'
    where = f'the enclave /boundary/bring_up for the domain {secured} in {place}, got'
    (place / 'key.pem').unlink()
    assert f'{where} no key.pem in it' in refusal(secured)
    (place / 'key.pem').touch()
    (place / 'permissions.p7s').write_text('<domains><id>231</id></domains>')
    assert f'{where} permissions.p7s is for the domain 231' in refusal(secured)
    monkeypatch.setenv('ROS_SECURITY_ENCLAVE_OVERRIDE', '/nobody')
    told = f'the enclave /nobody for the domain {secured} in {tmp_path}/enclaves/nobody, got'
    assert f'{told} no such folder' in refusal(secured)
    monkeypatch.delenv('ROS_SECURITY_KEYSTORE')
    assert 'got no keystore in ROS_SECURITY_KEYSTORE' in refusal(secured)


def test_a_node_that_security_refuses_says_so_and_ends(secured: int, tmp_path: Path) -> None:
    node = NodeSpec(name='environment', parameters={'contract': 'warehouse_cart'})
    log = tmp_path / 'log'
    process = NodeProcess(node, environment={'ROS_DOMAIN_ID': str(secured)}, log=log)
    assert process.process.wait(60.0) == 1
    last = process.last_output(1)
    assert last.startswith('Security refuses this process (expected the enclave /boundary/env')
    assert 'got no such folder' in last


@pytest.mark.parametrize('strategy', ['', 'Permissive'])
def test_up_starts_nothing_unsecured_if_it_is_to_be_secure(
    strategy: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv('ROS_SECURITY_ENABLE', 'true')
    monkeypatch.setenv('ROS_SECURITY_STRATEGY', strategy)
    assert main(['up', 'warehouse_cart', '--simulated', '--no-record', '--secure']) == 2
    written = capsys.readouterr()
    assert f'got ROS_SECURITY_STRATEGY={strategy})' in written.err
    assert 'Starting' not in written.out


def test_a_node_that_is_to_be_secure_is_not_configured_without_enforced_security(
    tmp_path: Path,
) -> None:
    parameters = {'contract': 'warehouse_cart', 'secure': True}
    with (
        reserved_domain() as domain,
        pytest.raises(LinkError, match='Security is not enforced'),
        running(
            [NodeSpec(name='environment', parameters=parameters)], domain_id=domain, logs=tmp_path
        ),
    ):
        pass
