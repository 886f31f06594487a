# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The security of ROS 2 in this process: whether it is enforced, and by the key of which enclave.

An enclave is a folder of a keystore, for one domain, with the key of one participant and what that
may do. Those of a boundary are called like its nodes, below ``/boundary``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
import os
from pathlib import Path
import re

from boundary_env_ros.errors import BoundaryError, LinkError

KEYSTORE = 'ROS_SECURITY_KEYSTORE'
#: What is named here goes before what the arguments of a process name.
OVERRIDE = 'ROS_SECURITY_ENCLAVE_OVERRIDE'
#: The variables under which a participant has a key of its keystore, or does not start.
ENFORCED: Mapping[str, str] = {
    'ROS_SECURITY_ENABLE': 'true',
    'ROS_SECURITY_STRATEGY': 'Enforce',
}

#: The argument of ROS that names the enclave of a process.
ARGUMENT = '--enclave'

# What rcl looks for in the folder of an enclave.
_FILES = (
    *('identity_ca.cert.pem', 'permissions_ca.cert.pem', 'cert.pem', 'key.pem'),
    *('governance.p7s', 'permissions.p7s'),
)
# Text that is signed stands in clear in its file.
_ID = re.compile(r'<id>\s*(\d+)\s*</id>')


def enclave_of(place: str, namespace: str = '') -> str:
    """Return the enclave of a node by its place in the namespace of a boundary."""
    return '/'.join(('/boundary', *namespace.split('/'), place)).replace('//', '/')


def enabled() -> bool:
    """Return whether participants of this process ask for security, enforced or not."""
    return os.environ.get('ROS_SECURITY_ENABLE') == 'true'


def require_security() -> None:
    """
    Refuse to go on where participants may start without a key.

    Raises
    ------
    BoundaryError
        If the variables of this process do not enforce security.

    """
    if found := [
        f'{name}={os.environ.get(name, "")}'
        for name, value in ENFORCED.items()
        if os.environ.get(name) != value
    ]:
        wanted = ' and '.join(f'{name}={value}' for name, value in ENFORCED.items())
        raise BoundaryError(
            f'Security is not enforced (expected {wanted}, got {" and ".join(found)}). Set them, '
            f'and {KEYSTORE} to a keystore of `boundary-env security`, or do not ask for it.'
        )


def enclave_in(arguments: Sequence[str]) -> str:
    """Return the enclave of a process with these arguments, as rcl finds it."""
    named = [name for flag, name in pairwise(arguments) if flag == ARGUMENT]
    return os.environ.get(OVERRIDE) or (named[-1] if named else '/')


def refused(error: Exception, enclave: str, domain: object) -> LinkError:
    """Return why ROS refuses a participant, by what its enclave lacks."""
    if not enabled():
        return LinkError(
            f'ROS did not start: {error}. Check ROS_DOMAIN_ID and RMW_IMPLEMENTATION.'
        )
    keystore = os.environ.get(KEYSTORE, '')
    place = Path(keystore, 'enclaves', enclave.lstrip('/'))
    missing = _missing(place, domain) if keystore else f'no keystore in {KEYSTORE}'
    text = ' '.join(str(error).split())
    why = missing or f'a refusal by its permissions or this middleware: {text}'
    return LinkError(
        f'Security refuses this process (expected the enclave {enclave} for the domain {domain} '
        f'in {place}, got {why}). Make it with `boundary-env security`, again if the contract '
        f'has changed, and name it with `--ros-args {ARGUMENT}` or {OVERRIDE}.'
    )


def domains_of(signed: Path) -> set[str]:
    """Return the domains that a governance or permissions file is for; empty if it is none."""
    if not signed.is_file():
        return set()
    return set(_ID.findall(signed.read_text(errors='replace')))


def _missing(place: Path, domain: object) -> str:
    """Return what is wrong with the folder of an enclave; empty if nothing is."""
    if not place.is_dir():
        return 'no such folder'
    if absent := [name for name in _FILES if not (place / name).is_file()]:
        return f'no {", ".join(absent)} in it'
    for name in _FILES[-2:]:
        if (domains := domains_of(place / name)) and str(domain) not in domains:
            return f'{name} is for the domain {", ".join(sorted(domains))}'
    return ''
