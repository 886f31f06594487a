# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Shipped contracts, changed at some keys."""

from __future__ import annotations

from typing import Any

import yaml

from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.resources import share_file
from boundary_env_ros.storage.contract_file import LoadedContract, loads


def changed(name: str, **changes: Any) -> LoadedContract:
    """Return a shipped contract in lockstep with other values at some key paths, ``a__b=...``."""
    data = yaml.safe_load(share_file(f'config/{name}.yaml').read_text(encoding='utf-8'))
    for path, value in changes.items():
        *parents, last = path.split('__')
        section = data
        for key in parents:
            section = section[key]
        section[last] = value
    return loads(yaml.safe_dump(data, sort_keys=False), pacing=Pacing.LOCKSTEP)


def without_options(made: Any) -> Any:
    """Return an environment without options: PettingZoo's tests give one that no task knows."""
    reset = made.reset
    made.reset = lambda seed=None, options=None: reset(seed=seed)
    return made
