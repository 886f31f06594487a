# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What is known here about message and service types, without importing ROS.

Where ROS is installed, its ``share/<package>/msg/*.msg`` and ``srv/*.srv`` say everything. Where
it is not, the definitions of the common packages come from ``rosbags``; about other packages
nothing is known then, and nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
import difflib
from functools import cache
from pathlib import Path
import re
from types import MappingProxyType

from boundary_env_ros.core.contract.problem_text import nearest, problem_at
from boundary_env_ros.errors import mismatch, Problem, RecordError
from boundary_env_ros.storage.definitions import (
    Field,
    fields_of,
    installed_file,
    installed_prefixes,
    jazzy,
    parse_definition,
)

FLOATS = ('float32', 'float64')
INTEGERS = {
    'byte': (0, 255),
    'char': (0, 255),
    **{f'int{bits}': (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)},
    **{f'uint{bits}': (0, 2**bits - 1) for bits in (8, 16, 32, 64)},
}
"""Primitive integers, with their least and greatest value."""

_LISTED = 12
_MSG, _SRV = 'msg', 'srv'
_REQUEST_ENDS = re.compile(r'^---\s*$', re.MULTILINE)

Fields = tuple[Field, ...]
_NOTHING: Mapping[str, Fields] = MappingProxyType({})


@dataclass(eq=False, kw_only=True)
class TypeMismatch(Exception):
    """
    Why something is not what it is taken for.

    Attributes
    ----------
    expected, actual, hint
        As in :class:`~boundary_env_ros.errors.Problem`.
    unknown
        The type about which nothing is known here, so that it may well be right; empty if it is
        known to be wrong.

    """

    expected: str
    actual: str
    hint: str = ''
    unknown: str = ''

    @property
    def sure(self) -> bool:
        """Return whether it is known to be wrong."""
        return not self.unknown

    def __str__(self) -> str:
        text = mismatch(self.expected, self.actual, self.hint)
        return text[0].upper() + text[1:]

    def at(self, *path: str | int) -> Problem:
        """Return it as the problem of a place in a contract; the caller adds the line."""
        return problem_at(path, None, self.expected, self.actual, self.hint)


class MessageTypes:
    """
    Message and service types, looked up when they are asked for, and once only.

    Parameters
    ----------
    prefixes
        Where packages are installed, first come first served: ``AMENT_PREFIX_PATH``.
    store
        Definitions to fall back on if there is no ROS in the prefixes, by ``package/msg/Name``.

    """

    def __init__(self, prefixes: Sequence[Path], store: Mapping[str, Fields] = _NOTHING) -> None:
        self._prefixes = tuple(prefixes)
        self._known: dict[str, Fields] = {}
        self._lists: dict[str, tuple[str, ...]] = {}
        self.has_ros = installed_file(self._prefixes, 'std_msgs', _MSG, 'Header') is not None
        self._stored: Mapping[str, Fields] = {} if self.has_ros else store

    def fields(self, type_name: str) -> Fields:
        """
        Return the fields of a message, or of the request of a service.

        Parameters
        ----------
        type_name
            ``package/msg/Name`` or ``package/srv/Name``.

        Raises
        ------
        Mismatch
            If there is no such type, or its definition cannot be read.

        """
        if type_name not in self._known:
            self._known[type_name] = self._look_up(type_name)
        return self._known[type_name]

    def _look_up(self, type_name: str) -> Fields:
        parts = type_name.split('/')
        if len(parts) != 3 or parts[1] not in (_MSG, _SRV) or not all(map(_is_word, parts)):
            raise TypeMismatch(
                expected='a type as package/msg/Name (or package/srv/Name of a service)',
                actual=repr(type_name),
                hint=nearest(type_name, self.installed_types()),
            )
        package, kind, name = parts
        file = installed_file(self._prefixes, package, kind, name)
        if file is None:
            if type_name in self._stored:
                return self._stored[type_name]
            raise self._missing(package, kind, name)
        try:
            text = file.read_text(encoding='utf-8')
            return fields_of(_REQUEST_ENDS.split(text)[0] if kind == _SRV else text, package)
        except (OSError, UnicodeDecodeError, RecordError) as error:
            raise TypeMismatch(
                expected=f'a readable definition of {type_name} in {file}',
                actual=str(error).rstrip('.'),
                hint=f'Reinstall the ROS package {package}.',
            ) from error

    def _missing(self, package: str, kind: str, name: str) -> TypeMismatch:
        whole, noun = f'{package}/{kind}/{name}', 'message' if kind == _MSG else 'service'
        names = self.installed_types(kind)
        in_package = [n for n in names if n.startswith(f'{package}/')]
        if not self.has_ros and not in_package:
            return TypeMismatch(
                expected='',
                actual=f'no definition of {whole} is installed here',
                hint=f'Source the ROS workspace that has the package {package}.',
                unknown=whole,
            )
        hint = _suggestion(whole, names)
        if not hint and in_package:
            hint = f'{package} has: {listing(n.rpartition("/")[2] for n in in_package)}.'
        return TypeMismatch(
            expected='',
            actual=f'the {noun} type {whole} is not installed',
            hint=hint
            or f'Install the ROS package {package}, or source the workspace that has it.',
        )

    def installed_types(self, kind: str = _MSG) -> tuple[str, ...]:
        """Return the names of all types of a kind, ``package/msg/Name`` for example, in order."""
        if kind not in self._lists:
            found = {
                f'{file.parent.parent.name}/{kind}/{file.stem}'
                for prefix in self._prefixes
                for file in (prefix / 'share').glob(f'*/{kind}/*.{kind}')
            }
            found.update(name for name in self._stored if f'/{kind}/' in name)
            self._lists[kind] = tuple(sorted(found))
        return self._lists[kind]


def _suggestion(wanted: str, names: Sequence[str]) -> str:
    """Return a sentence with the type of the nearest name; empty if none is near."""
    every = {name.rpartition('/')[2] for name in names}
    near = difflib.get_close_matches(wanted.rpartition('/')[2], every, n=1, cutoff=0.75)
    those = [name for name in names if near and name.endswith(f'/{near[0]}')]
    found = difflib.get_close_matches(wanted, those, n=1, cutoff=0.0)
    return f'Did you mean {found[0]!r}?' if found else ''


def _is_word(text: str) -> bool:
    return text.isidentifier() and text.isascii()


def listing(names: Iterable[str]) -> str:
    """Return the first of some names, and how many there are besides."""
    every = list(names)
    more = len(every) - _LISTED
    return ', '.join(every[:_LISTED]) + (f' and {more} more' if more > 0 else '')


# What is here ------------------------------------------------------------------------------------


def message_types() -> MessageTypes:
    """
    Return what is known in this process: that of ``AMENT_PREFIX_PATH``, and of ROS wheels.

    Made once for each value of that variable, so it costs nothing to ask again.
    """
    return _message_types(installed_prefixes())


@cache
def _message_types(prefixes: tuple[Path, ...]) -> MessageTypes:
    found = MessageTypes(prefixes)
    return found if found.has_ros else MessageTypes(prefixes, rosbags_definitions())


@cache
def rosbags_definitions() -> Mapping[str, Fields]:
    """Return the message types that ``rosbags`` knows of ROS 2 Jazzy."""
    store = jazzy()
    texts = {name: store.generate_msgdef(name, ros_version=2)[0] for name in store.fielddefs}
    # The first is the type itself, those inside it follow.
    return {
        name: next(iter(parse_definition(name, text).values())) for name, text in texts.items()
    }
