# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What a contract says about messages, compared with the definitions that are known here.

The parser of the core knows no message types: to it ``odom: {type: nav_msgs/msg/Odometry, fields:
[poze]}`` is as good as any. Here it is found that there is no ``poze``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from boundary_env_ros.core.contract.checks import readers
from boundary_env_ros.core.contract.model import (
    Acknowledgement,
    ActionSpec,
    CallStep,
    Confidence,
    Contract,
    FieldSpec,
    PublishStep,
)
from boundary_env_ros.core.contract.safety import Operator, STOP_TYPE
from boundary_env_ros.core.contract.sources import (
    Array,
    Lookup,
    Paths,
    Source,
)
from boundary_env_ros.errors import Problem
from boundary_env_ros.storage.message_paths import (
    Found,
    number_at,
    numbers_at,
    resolve,
)
from boundary_env_ros.storage.message_types import (
    FLOATS,
    message_types,
    MessageTypes,
    Mismatch,
)

_TRANSFORM = 'geometry_msgs/msg/Transform'

KeyPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeCheck:
    """
    What came of holding a contract against the message definitions.

    Attributes
    ----------
    problems
        What is wrong for certain, with key paths and no lines.
    note
        A sentence about what could not be checked, and why; empty if everything was.

    """

    problems: tuple[Problem, ...]
    note: str = ''


def problems_of(contract: Contract, types: MessageTypes | None = None) -> TypeCheck:
    """
    Find types that are not installed, and fields that their messages do not have.

    Parameters
    ----------
    contract
        A parsed contract.
    types
        What is known about types; None: what is known in this process.

    """
    known = message_types() if types is None else types
    check = _Check(known)
    found = tuple(dict.fromkeys(check.contract(contract)))
    note = ''
    if check.unknown:
        note = (
            f'Not checked: {", ".join(sorted(check.unknown))}, since only {known.source} '
            'are known here. Source the ROS workspace that has them.'
        )
    return TypeCheck(problems=found, note=note)


class _Check:
    def __init__(self, types: MessageTypes) -> None:
        self._types = types
        self.unknown: set[str] = set()

    def contract(self, contract: Contract) -> Iterator[Problem]:
        for path, reader in readers(contract):
            yield from self._reader(reader, path)
        for group in contract.action:
            place: KeyPath = ('action', group.name)
            wrong = list(self._source(group.type, group.source, place))
            yield from wrong or self._writable(group, place)
        if contract.safety.emergency_stop:
            yield from self._told(self._types.fields(STOP_TYPE), 'safety', 'emergency_stop')
        for index, step in enumerate(contract.episode.reset.steps):
            place = ('episode', 'reset', 'procedure', index)
            # What is in them is looked at by the node that sends them.
            if isinstance(step, (CallStep, PublishStep)):
                yield from self._told(self._types.fields(step.type), *place, 'type')

    def _reader(self, reader: Any, place: KeyPath) -> Iterator[Problem]:
        """Yield where what reads messages looks for what they do not have."""
        if isinstance(source := getattr(reader, 'source', None), Lookup):
            paths = Paths(paths=source.paths)
            yield from self._source(_TRANSFORM, paths, place, 'transform')
            return
        yield from self._source(reader.type, source, place)
        if not self._is_known(reader.type):
            return
        match reader:
            case FieldSpec(confidence=Confidence(field=field, variance=variance)):
                at = (*place, 'confidence', 'field' if field else 'variance')
                yield from self._number(reader.type, field or variance, at)
            case Acknowledgement():
                yield from self._number(reader.type, 'header.stamp.sec', (*place, 'type'))
            case Operator(enable=enable):
                yield from self._number(reader.type, enable, (*place, 'enable'))

    def _writable(self, group: ActionSpec, place: KeyPath) -> Iterator[Problem]:
        """Yield where a command, which is of numbers with fractions, cannot be written to."""
        source, targets = group.source, {}
        if isinstance(source, Array):
            targets = {(*place, 'array'): source.path}
        elif isinstance(source, Paths):
            targets = {(*place, 'fields', i): path for i, path in enumerate(source.paths)}
        for at, path in targets.items():
            found = resolve(group.type, path, self._types)
            if isinstance(found, Found) and found.type not in FLOATS:
                expected = (
                    f'{" or ".join(FLOATS)} at {path!r} in {group.type}, since a command is of '
                    'numbers with fractions'
                )
                yield Mismatch(expected=expected, actual=found.type).at(*at)

    def _source(
        self, type_name: str, source: Source | None, place: KeyPath, type_key: str = 'type'
    ) -> Iterator[Problem]:
        yield from self._told(self._types.fields(type_name), *place, type_key)
        if not self._is_known(type_name):
            return
        if isinstance(source, Paths):
            for index, path in enumerate(source.paths):
                yield from self._number(type_name, path, (*place, 'fields', index))
        elif isinstance(source, Array):
            found = numbers_at(type_name, source.path, source.length, self._types)
            yield from self._told(found, *place, 'array')

    def _number(self, type_name: str, path: str, place: KeyPath) -> Iterator[Problem]:
        yield from self._told(number_at(type_name, path, self._types), *place)

    def _is_known(self, type_name: str) -> bool:
        return not isinstance(self._types.fields(type_name), Mismatch)

    def _told(self, found: object, *place: str | int) -> Iterator[Problem]:
        """Yield the problem of what was not found; note it where it only is not known here."""
        if isinstance(found, Mismatch) and found.sure:
            yield found.at(*place)
        elif isinstance(found, Mismatch):
            self.unknown.add(found.unknown)
