# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which ROS domain a process is in, whether it is one, and one that nothing here uses."""

from __future__ import annotations

import os
import random
import socket

from boundary_env_ros.errors import LinkError

# Domains whose ports lie below the ephemeral range of Linux.
_DOMAINS = range(1, 102)
# The ports of a greater one would be too high (DDSI-RTPS 9.6.1.1).
_MOST_DOMAIN = 232
_PORT_BASE, _DOMAIN_GAIN, _UNICAST = 7400, 250, 10


def own_domain() -> int:
    """
    Return the domain that the environment of this process names; 0 if it names none.

    Raises
    ------
    LinkError
        If ``ROS_DOMAIN_ID`` is no number.

    """
    given = os.environ.get('ROS_DOMAIN_ID') or '0'
    if not given.isdecimal():
        raise LinkError(f'ROS_DOMAIN_ID is no domain (expected a number, got {given!r}). Set it.')
    return int(given)


def free_domain() -> int:
    """
    Return a domain in which no participant of this machine has taken the first port.

    The ports are those of the DDSI-RTPS specification (9.6.1.1): ``7400 + 250 * domain + 10`` is
    the first unicast discovery port.

    Raises
    ------
    LinkError
        If there is none, which no ordinary machine comes to.

    """
    for domain in random.sample(_DOMAINS, len(_DOMAINS)):
        if _is_free(_PORT_BASE + _DOMAIN_GAIN * domain + _UNICAST):
            return domain
    raise LinkError(
        f'No ROS domain is free: {_DOMAINS.start}-{_DOMAINS.stop - 1} are all in use. '
        'Stop some nodes, or pass --domain-id.'
    )


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(('', port))
        except OSError:
            return False
        return True


def check_domain(domain: int) -> None:
    """Refuse what is no domain: the middleware would end the process."""
    if not 0 <= domain <= _MOST_DOMAIN:
        raise LinkError(
            f'Not a ROS domain (expected 0 to {_MOST_DOMAIN}, got {domain}). Check who '
            'names it: ROS_DOMAIN_ID, an option or a parameter.'
        )
