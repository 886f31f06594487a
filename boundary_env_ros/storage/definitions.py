# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Message definitions as bags carry them, read as plain text, wherever they are known from.

A bag holds, for each type, the text of its ``.msg`` file and, below a line of 80 ``=`` and a line
``MSG: package/Name`` each, the texts of all types in it. What is installed comes first; then what
``rosbags`` knows of ROS 2 Jazzy, with the ``.msg`` files of this package, whose messages are
written where no ROS is installed too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import dataclasses
from functools import cache
import json
import os
from pathlib import Path
import re
import sys
from typing import Any

from boundary_env_ros.errors import BoundaryError, RecordError
from boundary_env_ros.frozen import frozen
from boundary_env_ros.resources import share_directory
from boundary_env_ros.storage import size_limits

SEPARATOR = '=' * 80

TEXTS = frozenset(['string', 'wstring'])
PRIMITIVES = frozenset(
    [
        *('bool', 'byte', 'char', 'float32', 'float64', *TEXTS),
        *('int8', 'uint8', 'int16', 'uint16', 'int32', 'uint32', 'int64', 'uint64'),
    ]
)

_FIELD = re.compile(
    r'(?P<type>[A-Za-z][\w/]*)(?:<=\d+)?'
    r'(?P<array>\[(?P<bounded><=)?(?P<size>\d{0,9})\])?'
    r'\s+(?P<name>[A-Za-z]\w*)\s*(?:(?P<constant>=)|(?P<default>-?[1-9]\d*)(?=\s|$))?'
)


@frozen
class Field:
    """
    One field of a message definition.

    Attributes
    ----------
    name
        Name of the field.
    type
        A primitive, or ``package/Name``.
    array
        Whether it is an array or a sequence.
    size
        Number of elements of an array of fixed size; None for a sequence, whose number is in the
        data.
    most
        Greatest number of elements of a sequence; None if it has no bound.
    default
        What a number is that is not given, if that is an integer; empty: 0, or another default.
        It is no part of the type.

    """

    name: str
    type: str
    array: bool = False
    size: int | None = None
    most: int | None = None
    default: str = dataclasses.field(default='', compare=False)

    @property
    def is_message(self) -> bool:
        """Return whether it is a message, or an array of messages."""
        return self.type not in PRIMITIVES

    @property
    def is_text(self) -> bool:
        """Return whether it is a text, or an array of texts."""
        return self.type in TEXTS

    @property
    def is_number(self) -> bool:
        """Return whether one number can be read there; that of true and false is 1 and 0."""
        return not (self.array or self.is_message or self.is_text)

    @property
    def is_numbers(self) -> bool:
        """Return whether it is a sequence of numbers."""
        return self.array and not (self.is_message or self.is_text)

    def __str__(self) -> str:
        """Return what it is, as a definition spells it."""
        bound = f'<={self.most}' if self.size is None and self.most else f'{self.size or ""}'
        return (full_name(self.type) if self.is_message else self.type) + f'[{bound}]' * self.array


def full_name(name: str) -> str:
    """Return ``package/msg/Name`` of the ``package/Name`` that stands in a definition."""
    package, _, last = name.partition('/')
    return name if '/' in last else f'{package}/msg/{last}'


def fields_of(text: str, package: str) -> tuple[Field, ...]:
    """
    Return the fields of the text of one ``.msg`` file, constants left out.

    Parameters
    ----------
    text
        The text.
    package
        Package of the message, to which types without a package belong.

    Raises
    ------
    RecordError
        If a line is neither a field nor a constant.

    """
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith('#'):
            continue
        match = _FIELD.match(line)
        if match is None:
            raise RecordError(
                'The definition cannot be read (expected a field or a constant in a definition '
                f'of {package}, line {number}, got {line!r}).'
            )
        if match['constant']:
            continue
        found.append(
            Field(
                name=match['name'],
                type=_with_package(match['type'], package),
                array=match['array'] is not None,
                size=int(match['size']) if match['size'] and not match['bounded'] else None,
                most=int(match['size']) if match['size'] and match['bounded'] else None,
                default=match['default'] or '',
            )
        )
    return tuple(found)


def _with_package(type_name: str, package: str) -> str:
    if type_name in PRIMITIVES:
        return type_name
    parts = type_name.split('/')
    return f'{parts[0] if len(parts) > 1 else package}/{parts[-1]}'


def parse_definition(type_name: str, text: str) -> dict[str, tuple[Field, ...]]:
    """
    Return the fields of each type in the definition of a bag, by ``package/Name``, main one first.

    Parameters
    ----------
    type_name
        Name of the main type, ``package/msg/Name``.
    text
        Definition in the form that :func:`definition_of` returns.

    Raises
    ------
    RecordError
        If the text is not such a definition, or is beyond the limits.

    """
    if len(text) > size_limits.DEFINITION:
        raise size_limits.exceeded(
            f'the definition of {type_name}', 'bytes', size_limits.DEFINITION
        )
    main = type_name.split('/')
    definitions = {}
    name = f'{main[0]}/{main[-1]}'
    for position, part in enumerate(re.split(r'^={80}\s*$', text, flags=re.MULTILINE)):
        if position:
            head, _, part = part.lstrip().partition('\n')
            if not head.startswith('MSG:'):
                raise RecordError(
                    'The definition cannot be read (expected "MSG: package/Name" after a line of '
                    f'"=" in the definition of {type_name}, got {head[:60]!r}).'
                )
            inner = head[4:].strip().split('/')
            name = f'{inner[0]}/{inner[-1]}'
        definitions[name] = fields_of(part, name.split('/')[0])
    level, nested = 0, {f'{main[0]}/{main[-1]}'}
    while nested:
        level += 1
        if level > size_limits.NESTING:
            what = f'the definition of {type_name} ({min(nested)})'
            raise size_limits.exceeded(
                what, 'levels of messages inside messages', size_limits.NESTING
            )
        nested = {field.type for name in nested for field in definitions.get(name, ())}
    return definitions


# What is installed -------------------------------------------------------------------------------


def installed_prefixes() -> tuple[Path, ...]:
    """Return where packages of ROS are installed, first come first served."""
    ament = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    # Wheels put them under the prefix of the interpreter.
    return (*(Path(entry) for entry in ament if entry), Path(sys.prefix))


def installed_file(prefixes: Sequence[Path], package: str, kind: str, name: str) -> Path | None:
    """Return the file with the definition of a type, ``msg`` or ``srv``; None if there is none."""
    for prefix in prefixes:
        file = prefix / 'share' / package / kind / f'{name}.{kind}'
        if file.is_file():
            return file
    return None


def definition_of(type_name: str, prefixes: Sequence[Path] | None = None) -> tuple[str, str]:
    """
    Return the definition and the hash of an installed message type.

    Parameters
    ----------
    type_name
        For example ``sensor_msgs/msg/LaserScan``.
    prefixes
        Where packages are installed; None: :func:`installed_prefixes`. The definition is
        ``share/<package>/msg/<Name>.msg`` in one of them, its hash in ``<Name>.json`` beside it.

    Returns
    -------
    tuple of str
        The definition with those of all types in it, and its RIHS01 hash; the hash is empty if no
        file has it.

    Raises
    ------
    RecordError
        If the type, or one that it contains, is not installed there.

    """
    return _definition_of(type_name, installed_prefixes() if prefixes is None else tuple(prefixes))


@cache
def _definition_of(type_name: str, prefixes: tuple[Path, ...]) -> tuple[str, str]:
    main = _find(type_name, prefixes, wanted_by='')
    texts: dict[str, str] = {}
    for name, text in _contained(type_name, main, prefixes):
        texts.setdefault(name, text)
    parts = [main.read_text(encoding='utf-8')]
    parts.extend(f'{SEPARATOR}\nMSG: {name}\n{text}' for name, text in texts.items())
    return '\n'.join(parts), _hash_of(type_name, main.with_suffix('.json'))


def _contained(
    type_name: str, file: Path, prefixes: tuple[Path, ...]
) -> Iterator[tuple[str, str]]:
    """Yield name and text of each type inside a type, depth first, as often as it occurs."""
    package = type_name.split('/')[0]
    for field in fields_of(file.read_text(encoding='utf-8'), package):
        if field.type in PRIMITIVES:
            continue
        inner = _find(field.type.replace('/', '/msg/'), prefixes, wanted_by=type_name)
        yield field.type, inner.read_text(encoding='utf-8')
        yield from _contained(field.type, inner, prefixes)


def _find(type_name: str, prefixes: tuple[Path, ...], *, wanted_by: str) -> Path:
    parts = type_name.split('/')
    if len(parts) != 3 or parts[1] != 'msg':
        raise RecordError(
            f'Wrong message type (expected a message type as package/msg/Name, got {type_name!r}).'
        )
    file = installed_file(prefixes, parts[0], 'msg', parts[2])
    if file is not None:
        return file
    inside = f' (inside {wanted_by})' if wanted_by else ''
    raise RecordError(
        f'The definition of {type_name}{inside} is in share/{parts[0]}/msg of none of '
        f'{[str(prefix) for prefix in prefixes]}. '
        f'Install {parts[0]}, and check AMENT_PREFIX_PATH.'
    )


def _hash_of(type_name: str, file: Path) -> str:
    try:
        described = json.loads(file.read_text(encoding='utf-8'))
        return next(
            str(entry['hash_string'])
            for entry in described['type_hashes']
            if entry['type_name'] == type_name
        )
    except FileNotFoundError:
        return ''
    except (ValueError, KeyError, TypeError, StopIteration) as error:
        raise RecordError(
            f'{file} does not hold the hash of {type_name} ({error!r}). Reinstall the package.'
        ) from error


# What is known -----------------------------------------------------------------------------------


def known_definition(type_name: str) -> tuple[str, str]:
    """
    Return the definition and the hash of a message type, wherever it is known from.

    Parameters
    ----------
    type_name
        For example ``sensor_msgs/msg/LaserScan``.

    Returns
    -------
    tuple of str
        As :func:`definition_of` returns them.

    Raises
    ------
    RecordError
        If it is unknown here.

    """
    try:
        return definition_of(type_name)
    except RecordError as error:
        try:
            store = jazzy()
            return store.generate_msgdef(type_name, ros_version=2)[0], store.hash_rihs01(type_name)
        except Exception as unknown:  # It raises what it likes for what it does not know.
            raise error from unknown


@cache
def jazzy() -> Any:
    """Return what rosbags knows of ROS 2 Jazzy, with the messages of this package."""
    # A node finds all it needs installed, and does not load this.
    from rosbags.typesys import get_types_from_msg, get_typestore, Stores

    store = get_typestore(Stores.ROS2_JAZZY)
    try:
        folder = share_directory() / 'msg'
    except BoundaryError:
        return store
    types: dict[str, Any] = {}
    for file in sorted(folder.glob('*.msg')):
        text = file.read_text(encoding='utf-8')
        types.update(get_types_from_msg(text, f'boundary_env_ros/msg/{file.stem}'))
    if types:
        store.register(types)
    return store


def known_hash(type_name: str, text: str) -> str:
    """Return the hash of a type by its definition; empty if just that one is unknown here."""
    try:
        known, type_hash = known_definition(type_name)
        same = parse_definition(type_name, known) == parse_definition(type_name, text)
    except RecordError:
        return ''
    return type_hash if same else ''
