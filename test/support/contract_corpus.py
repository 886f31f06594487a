# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the tests of contract files share: contracts that use the whole language."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

from boundary_env_ros.storage.yaml_text import YamlText

REPOSITORY = Path(__file__).parents[2]
SHIPPED = [
    REPOSITORY / 'config' / f'{n}.yaml' for n in ('warehouse_cart', 'door_arm', 'two_carts')
]
GOOD = sorted((REPOSITORY / 'test/storage/good_contracts').glob('*.yaml'))
RICH = REPOSITORY / 'test/support/rich_contract.yaml'
BAD = REPOSITORY / 'test/storage/bad_contracts'
SCHEMA = REPOSITORY / 'config' / 'contract.schema.json'


@cache
def _data(path: Path) -> dict[str, Any]:
    data = YamlText(path.read_text(encoding='utf-8'), str(path)).data
    assert isinstance(data, dict)
    return data


def data_of(path: Path) -> dict[str, Any]:
    """Return a contract file as plain data, to be changed at will."""
    return deepcopy(_data(path))


def full(data: object) -> object:
    """Return plain data without the keys that hold nothing."""
    if isinstance(data, Mapping):
        return {str(key): full(item) for key, item in data.items() if item is not None}
    return [full(item) for item in data] if isinstance(data, (list, tuple)) else data
