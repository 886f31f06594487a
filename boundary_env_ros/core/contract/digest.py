# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The identity of a contract: a hash over its meaning, not over its layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
import hashlib
import json
import math
from typing import Any

from boundary_env_ros.core.contract.model import Contract, EpisodeRules
from boundary_env_ros.core.contract.safety import Safety
from boundary_env_ros.core.records.endings import BUILT_IN

#: What a contract without it says nothing of: its digest is as if the key did not exist.
_ONLY_IF_GIVEN = ('acknowledgement', 'instructions', 'robot_tf')
#: Endings that every contract has had from the start. One that is built in later counts where the
#: contract stops an episode by it, so that a contract of before keeps its digest.
_FIRST_ENDINGS = frozenset(
    {
        *('abandoned', 'environment_lost', 'failure', 'gate_lost', 'operator_stop', 'policy_lost'),
        *('recorder_lost', 'reset_failed', 'robot_lost', 'safety_stop', 'sensor_lost', 'success'),
        *('simulation_failed', 'task_failed', 'time_limit'),
    }
)
#: What a digest calls a section, where it is not called so in a contract.
_NAMED = {'workspace': 'workspaces'}


def digest_of(contract: Contract) -> str:
    """
    Return the digest of a contract, ``sha256:`` and 64 hexadecimal digits.

    It covers everything that the contract says, the task's distribution and version included.
    Comments, the order of keys, and whether a default was written out make no difference; the
    order of endings does, since it is their precedence.
    """
    return f'sha256:{hashlib.sha256(meaning_text(contract).encode()).hexdigest()}'


def meaning_text(value: object) -> str:
    """Return what a contract, or a part of one, says as text, which is one for one meaning."""
    return json.dumps(_meaning(value), sort_keys=True, separators=(',', ':'), allow_nan=False)


def _by_section(rules: Sequence[Any]) -> Mapping[str, object]:
    """Return what is said to each rule, by the name of its section."""
    named: dict[str, list[object]] = {'obstacles': [], 'workspaces': []}
    for rule in rules:
        named.setdefault(_NAMED.get(rule.section, rule.section), []).append(_meaning(rule))
    return named


def _endings(rules: EpisodeRules) -> list[str]:
    """Return the endings that a contract has as it was written, in their order."""
    later = BUILT_IN.keys() - _FIRST_ENDINGS - set(rules.on_stop.values())
    return [ending for ending in rules.endings if ending not in later]


def _meaning(value: object) -> object:
    if is_dataclass(value):
        named = {
            f.name: _meaning(getattr(value, f.name))
            for f in fields(value)
            if f.name not in _ONLY_IF_GIVEN or getattr(value, f.name) != f.default
        }
        if isinstance(value, Safety):
            named |= _by_section(value.rules)
            del named['rules']
        if isinstance(value, EpisodeRules):
            named['endings'] = {name: _meaning(value.endings[name]) for name in _endings(value)}
        if isinstance(value, Contract):
            named['endings_in_order'] = _endings(value.episode)
        return named
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, Mapping):
        return {str(key): _meaning(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_meaning(item) for item in value]
    if isinstance(value, float) and math.isnan(value):
        # A safe command that stays where it is.
        return 'hold_position'
    if value == math.inf:
        return 'none'  # no limit
    if isinstance(value, float) and value.is_integer():
        # 1 and 1.0 mean the same.
        return int(value)
    return value
