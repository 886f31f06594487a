# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""``boundary-env security``: keys and permissions for the processes of a boundary, by SROS2."""

from __future__ import annotations

from collections.abc import Iterable
import os
from pathlib import Path
import shlex
import shutil
import subprocess
from xml.etree import ElementTree as ET

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.ros import enclaves
from boundary_env_ros.ros.access import Access, accesses, robot_access
from boundary_env_ros.storage.atomic import write_atomically
from boundary_env_ros.storage.contract_file import load

# The form of SROS2's policies that is written, which its schema asks for.
_VERSION = '0.2.0'
# Element, its items and its attribute, for each kind of access.
_FORMS = {
    'publishes': ('topics', 'topic', 'publish'),
    'subscribes': ('topics', 'topic', 'subscribe'),
    'serves': ('services', 'service', 'reply'),
    'calls': ('services', 'service', 'request'),
}
# For keys and signatures of all enclaves, s.
_PATIENCE = 120.0


def policy(contract: Contract, *, namespace: str = '', simulated: bool = False) -> bytes:
    """
    Return what each process of a boundary may do, as a policy file of SROS2.

    Parameters
    ----------
    contract
        The contract.
    namespace
        That of the boundary.
    simulated
        Whether the simulated robot is one of the processes.

    """
    root = ET.Element('policy', version=_VERSION)
    found = ET.SubElement(root, 'enclaves')
    for access in accesses(contract, simulated=simulated):
        path = enclaves.enclave_of(access.place, namespace)
        enclave = ET.SubElement(found, 'enclave', path=path)
        profiles = ET.SubElement(enclave, 'profiles')
        profile = ET.SubElement(
            profiles, 'profile', ns=_absolute('', namespace), node=access.place
        )
        for what, (group, item, allowed) in _FORMS.items():
            if not (allows := getattr(access, what)):
                continue
            parent = ET.SubElement(profile, group, {allowed: 'ALLOW'})
            for name in sorted(allows):
                ET.SubElement(parent, item).text = _absolute(name, namespace)
    ET.indent(root)
    return bytes(ET.tostring(root, xml_declaration=True, encoding='utf-8')) + b'\n'


def secure(
    *, keystore: Path, contract: str, domain_id: int, namespace: str, simulated: bool
) -> int:
    """
    Write the policy of a boundary, and the keystore by SROS2 where that is installed.

    Parameters
    ----------
    keystore
        Folder; made where it is not there, and completed where it is.
    contract
        File of a contract, or the name of a shipped one.
    domain_id
        ROS domain; a keystore is for one.
    namespace
        That of the boundary.
    simulated
        Whether the simulated robot has an enclave, too.

    Returns
    -------
    int
        0: the keystore is complete. 1: the policy alone was written, since there is no SROS2.

    Raises
    ------
    BoundaryError
        If the keystore is for another domain, or SROS2 fails.

    """
    loaded = load(contract).contract
    if others := enclaves.domains_of(keystore / 'enclaves' / 'governance.p7s') - {str(domain_id)}:
        raise BoundaryError(
            f'{keystore} is for another ROS domain (expected {domain_id}, got '
            f'{", ".join(others)}). Take another folder: a keystore is for one domain.'
        )
    place = keystore / f'{loaded.name}.policy.xml'
    keystore.mkdir(parents=True, exist_ok=True)
    write_atomically(place, policy(loaded, namespace=namespace, simulated=simulated))
    print(f'Policy: {place}')
    command = ['ros2', 'security', 'generate_artifacts', '-k', str(keystore), '-p', str(place)]
    made = _run(command, domain_id)
    if not made:
        print(
            'SROS2 is not installed here (no `ros2 security`). Finish it where it is:\n'
            f'  ROS_DOMAIN_ID={domain_id} {shlex.join(command)}'
        )
    if not simulated:
        print('The drivers need enclaves of their own, which allow:')
        print(*_shown(robot_access(loaded), namespace), sep='\n')
    print('Every process that takes part is then started with:')
    folder = str(keystore.absolute())
    variables = {**enclaves.ENFORCED, enclaves.KEYSTORE: folder, 'ROS_DOMAIN_ID': str(domain_id)}
    for name, value in variables.items():
        print(f'  export {name}={shlex.quote(value)}')
    return 0 if made else 1


def _absolute(name: str, namespace: str) -> str:
    parts = (part for part in (namespace.strip('/'), name) if part)
    return name if name.startswith('/') else f'/{"/".join(parts)}'


def _shown(access: Access, namespace: str) -> Iterable[str]:
    for what in _FORMS:
        for name in sorted(getattr(access, what)):
            yield f'  {what} {_absolute(name, namespace)}'


def _run(command: list[str], domain_id: int) -> bool:
    """Return whether SROS2 is there, which has then made what it was asked for."""
    if shutil.which(command[0]) is None:
        return False
    try:
        made = subprocess.run(
            command,
            env={**os.environ, 'ROS_DOMAIN_ID': str(domain_id)},
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BoundaryError(
            f'SROS2 did not make the keystore within {_PATIENCE:g} s. Try '
            f'`{shlex.join(command)}` by hand.'
        ) from None
    if "invalid choice: 'security'" in made.stderr:
        return False
    if made.returncode:
        last = '\n'.join((made.stdout + made.stderr).splitlines()[-5:])
        raise BoundaryError(
            f'SROS2 did not make the keystore (expected exit code 0 of `{shlex.join(command)}`, '
            f'got {made.returncode}).\n{last}'
        )
    return True
