# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether a record can be judged under another contract: it must have what that one asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.records.decision import ALIVE
from boundary_env_ros.evidence.record_difference import format_value

_OF_FIELD = ('topic', 'type', 'source', 'task', 'shape', 'dtype', 'unit', 'frame')
_OF_GROUP = ('kind', 'topic', 'type', 'source', 'unit', 'frame', 'options')
_OF_FEEDBACK = ('topic', 'type', 'source')
_OF_OPERATOR = ('topic', 'type', 'source', 'scale', 'enable')

#: What is measured or commanded, by what it is in the contract; the keys that say how.
_Parts: TypeAlias = Mapping[str, tuple[object, tuple[str, ...]]]


def in_the_way(recorded: Contract, other: Contract) -> tuple[str, ...]:
    """
    Return what makes it impossible to judge a record under another contract; empty if nothing.

    Bounds, limits, rules, timeouts, costs, endings and parameters may differ: they are what is
    asked about. What was never measured cannot be judged by.

    Parameters
    ----------
    recorded
        The contract that the record was made under.
    other
        The other one.

    """
    found = [
        *_values('', recorded, other, ('pacing', 'period', 'agents', 'agent_order', 'sim_time'))
    ]
    ours, theirs = (', '.join(g.name for g in c.action) for c in (recorded, other))
    if ours != theirs:
        found.append(f'action: expected the groups {ours} as in the record, got {theirs}')
    known = _parts(recorded)
    hidden = {f'field {spec.name}' for spec in recorded.privileged}
    for path, (part, names) in _parts(other).items():
        if path in known:
            found += _values(f'{path}.', known[path][0], part, names)
        elif not path.startswith('action.'):
            why = 'it is privileged' if path in hidden else 'it was not recorded'
            found.append(f'{path}: {why} (expected what the record has)')
    heard = Limits(recorded).needs
    found += (
        f'{name.removeprefix(f"{ALIVE}.")}.on_stale: `stop` here only (expected as in the '
        'record, since the gate did not listen to that topic)'
        for name in Limits(other).needs
        if name.startswith(ALIVE) and name not in heard
    )
    return tuple(found)


def _parts(contract: Contract) -> _Parts:
    safety = contract.safety
    found: dict[str, tuple[object, tuple[str, ...]]] = {
        **{f'action.{g.name}': (g, _OF_GROUP) for g in contract.action},
        **{f'action.{g.name}.feedback': (g.feedback, _OF_FEEDBACK) for g in contract.action},
        # In which of the two sections it stands does not matter.
        **{
            f'field {spec.name}': (spec, _OF_FIELD)
            for spec in (*contract.observation, *contract.state)
            if spec.derived is None
        },
        **{'.'.join(rule.path): (rule, rule.measures) for rule in safety.rules},
    }
    if safety.operator is not None:
        found['safety.operator'] = (safety.operator, _OF_OPERATOR)
    return found


def _values(path: str, recorded: object, other: object, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        ours, theirs = getattr(recorded, name), getattr(other, name)
        if ours != theirs:
            yield (
                f'{path}{name}: expected {format_value(ours)} as in the record, '
                f'got {format_value(theirs)}'
            )
