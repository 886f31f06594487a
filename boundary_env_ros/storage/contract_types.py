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
            yield from self._known(STOP_TYPE, ('safety', 'emergency_stop'))
        for index, step in enumerate(contract.episode.reset.steps):
            place = ('episode', 'reset', 'procedure', index)
            # What is in them is looked at by the node that sends them.
            if isinstance(step, (CallStep, PublishStep)):
                yield from self._known(step.type, (*place, 'type'))

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
            case FieldSpec(confidence=Confidence() as confidence):
                for key, path in (('field', confidence.field), ('variance', confidence.variance)):
                    if path:
                        yield from self._number(reader.type, path, (*place, 'confidence', key))
            case Acknowledgement():
                yield from self._number(reader.type, 'header.stamp.sec', (*place, 'type'))
            case Operator(enable=enable):
                yield from self._number(reader.type, enable, (*place, 'enable'))

    def _writable(self, group: ActionSpec, place: KeyPath) -> Iterator[Problem]:
        """Yield where a command, which is of numbers with fractions, cannot be written to."""
        targets: list[tuple[str, KeyPath]] = []
        if isinstance(group.source, Array):
            targets = [(group.source.path, (*place, 'array'))]
        elif isinstance(group.source, Paths):
            targets = [
                (path, (*place, 'fields', index)) for index, path in enumerate(group.source.paths)
            ]
        for path, at in targets:
            found = resolve(group.type, path, self._types)
            if isinstance(found, Found) and found.type not in FLOATS:
                yield Mismatch(
                    expected=(
                        f'{" or ".join(FLOATS)} at {path!r} in {group.type}, since a command is '
                        'of numbers with fractions'
                    ),
                    actual=found.type,
                ).at(*at)

    def _source(
        self, type_name: str, source: Source | None, place: KeyPath, type_key: str = 'type'
    ) -> Iterator[Problem]:
        wrong = list(self._known(type_name, (*place, type_key)))
        yield from wrong
        if wrong or not self._is_known(type_name):
            return
        if isinstance(source, Paths):
            for index, path in enumerate(source.paths):
                yield from self._number(type_name, path, (*place, 'fields', index))
        elif isinstance(source, Array):
            found = numbers_at(type_name, source.path, source.length, self._types)
            if isinstance(found, Mismatch):
                yield from self._report(found, (*place, 'array'))

    def _number(self, type_name: str, path: str, place: KeyPath) -> Iterator[Problem]:
        found = number_at(type_name, path, self._types)
        if isinstance(found, Mismatch):
            yield from self._report(found, place)

    def _known(self, type_name: str, place: KeyPath) -> Iterator[Problem]:
        fields = self._types.fields(type_name)
        if isinstance(fields, Mismatch):
            yield from self._report(fields, place)

    def _is_known(self, type_name: str) -> bool:
        return not isinstance(self._types.fields(type_name), Mismatch)

    def _report(self, mismatch: Mismatch, place: KeyPath) -> Iterator[Problem]:
        if mismatch.sure:
            yield mismatch.at(*place)
        else:
            self.unknown.add(mismatch.unknown)
