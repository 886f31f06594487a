# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What keeps the Gazebo of one launch apart from any other."""

from __future__ import annotations

from collections.abc import Mapping
import secrets

# Of Gazebo, and of its releases up to Fortress.
_VARIABLES = ('GZ_PARTITION', 'IGN_PARTITION')


def partition(environment: Mapping[str, str]) -> dict[str, str]:
    """
    Return the environment variables by which server and bridge find each other alone.

    A server that was left over has a world of the same name, and answers in place of this one.

    Parameters
    ----------
    environment
        Variables that are set: a partition that is named there is taken.

    """
    given = next(filter(None, map(environment.get, _VARIABLES)), '')
    return dict.fromkeys(_VARIABLES, given or f'boundary_{secrets.token_hex(4)}')
