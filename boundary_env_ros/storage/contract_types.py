# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What a contract says about messages, compared with the definitions that are known here.

The parser of the core knows no message types: to it ``odom: {type: nav_msgs/msg/Odometry, fields:
[poze]}`` is as good as any. Here it is found that there is no ``poze``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from boundary_env_ros.core.contract.checks import readers
from boundary_env_ros.core.contract.grammar import PATH
from boundary_env_ros.core.contract.key import parts_of
from boundary_env_ros.core.contract.model import (
    Acknowledgement,
    ActionSpec,
    CallStep,
    Confidence,
    Contract,
    FieldSpec,
    PublishStep,
)
from boundary_env_ros.core.contract.problem_text import Path as KeyPath
from boundary_env_ros.core.contract.safety import STOP_TYPE
from boundary_env_ros.core.contract.sources import (
    Array,
    Lookup,
    Paths,
    Source,
)
from boundary_env_ros.core.gate.rules.rule import SensorRule
from boundary_env_ros.errors import Problem
from boundary_env_ros.frozen import frozen
from boundary_env_ros.storage.message_paths import (
    number_at,
    numbers_at,
    resolve,
)
from boundary_env_ros.storage.message_types import (
    FLOATS,
    message_types,
    MessageTypes,
    TypeMismatch,
)

TRANSFORM = 'geometry_msgs/msg/Transform'


@frozen
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
    check = _Check(message_types() if types is None else types)
    check.contract(contract)
    note = ''
    if check.unknown:
        note = (
            f'Not checked: {", ".join(sorted(check.unknown))}, since only the definitions that '
            'rosbags has of ROS 2 Jazzy are known here. Source the ROS workspace that has them.'
        )
    return TypeCheck(problems=tuple(dict.fromkeys(check.problems)), note=note)


class _Check:
    def __init__(self, types: MessageTypes) -> None:
        self._types = types
        self.problems: list[Problem] = []
        self.unknown: set[str] = set()

    def contract(self, contract: Contract) -> None:
        reader: Any
        for path, reader in readers(contract):
            self._reader(reader, path)
            # In lockstep the world stands still meanwhile: only its own time ages a message.
            is_rule = isinstance(reader, SensorRule)
            if is_rule and contract.is_lockstep:
                with self._at(*path, 'type'):
                    self._stamped(reader.type)
        for group in contract.action:
            place: KeyPath = ('action', group.name)
            before = len(self.problems)
            self._source(group.type, group.source, place)
            if len(self.problems) == before:
                self._writable(group, place)
        if contract.safety.emergency_stop:
            with self._at('safety', 'emergency_stop'):
                self._types.fields(STOP_TYPE)
        for index, step in enumerate(contract.episode.reset.steps):
            # What is in them is looked at by the node that sends them.
            if isinstance(step, (CallStep, PublishStep)):
                with self._at('episode', 'reset', 'procedure', index, 'type'):
                    self._types.fields(step.type)

    def _reader(self, reader: Any, place: KeyPath) -> None:
        """Look where what reads messages looks for what they do not have."""
        if isinstance(source := getattr(reader, 'source', None), Lookup):
            self._source(TRANSFORM, Paths(paths=source.paths), place, 'transform')
            return
        if not self._source(reader.type, source, place):
            return
        if isinstance(reader, FieldSpec) and reader.max_age is not None:
            with self._at(*place, 'max_age'):
                self._stamped(reader.type)
        for part in parts_of(type(reader)).values():
            if part.type is str and part.key is not None and part.key.spelt is PATH:
                with self._at(*place, part.path):
                    number_at(reader.type, getattr(reader, part.attribute), self._types)
        match reader:
            case FieldSpec(confidence=Confidence(field=field, variance=variance)):
                with self._at(*place, 'confidence', 'field' if field else 'variance'):
                    number_at(reader.type, field or variance, self._types)
            case Acknowledgement():
                with self._at(*place, 'type'):
                    number_at(reader.type, 'header.stamp.sec', self._types)

    def _stamped(self, kind: str) -> None:
        """Look whether the age of messages is known: without that they are stale for ever."""
        try:
            number_at(kind, 'header.stamp.sec', self._types)
        except TypeMismatch as mismatch:
            if not mismatch.sure:
                raise
            raise TypeMismatch(
                expected='messages with a header.stamp, or no `max_age`',
                actual=kind,
                hint='Their age is unknown, so that they would be stale for ever.',
            ) from None

    def _writable(self, group: ActionSpec, place: KeyPath) -> None:
        """Look where a command, which is of numbers with fractions, cannot be written to."""
        source, targets = group.source, {}
        if isinstance(source, Array):
            targets = {(*place, 'array'): source.path}
        elif isinstance(source, Paths):
            targets = {(*place, 'fields', i): path for i, path in enumerate(source.paths)}
        for at, path in targets.items():
            with self._at(*at):
                found = resolve(group.type, path, self._types)
                if found.type not in FLOATS:
                    expected = (
                        f'{" or ".join(FLOATS)} at {path!r} in {group.type}, since a command is '
                        'of numbers with fractions'
                    )
                    raise TypeMismatch(expected=expected, actual=found.type)

    def _source(
        self, type_name: str, source: Source | None, place: KeyPath, type_key: str = 'type'
    ) -> bool:
        """Look where a source is not in its message; return whether the type is known."""
        with self._at(*place, type_key):
            self._types.fields(type_name)
            if isinstance(source, Paths):
                for index, path in enumerate(source.paths):
                    with self._at(*place, 'fields', index):
                        number_at(type_name, path, self._types)
            elif isinstance(source, Array):
                with self._at(*place, 'array'):
                    numbers_at(type_name, source.path, source.length, self._types)
            return True
        return False

    @contextmanager
    def _at(self, *place: str | int) -> Iterator[None]:
        """Take what is not found as the problem of a place; note what only is not known here."""
        try:
            yield
        except TypeMismatch as mismatch:
            if mismatch.sure:
                self.problems.append(mismatch.at(*place))
            else:
                self.unknown.add(mismatch.unknown)
