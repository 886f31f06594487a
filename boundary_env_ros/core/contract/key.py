# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
How the values of a contract say, once, which keys of the contract language they are read from.

An attribute of such a value is annotated with a :class:`Key` and, where it is not ``BEHAVIOURAL``,
with the :class:`Meaning` of a change; its type and its default are those of the language, and what
it is for stands in the docstring of its class. The parser, the JSON Schema, the tables of the
reference and ``diff`` are made from these. A key that leaves no value is a ``ClassVar``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields, MISSING
from enum import Enum, IntEnum
from functools import cache
import inspect
import math
import re
from typing import Annotated, Any, ClassVar, get_args, get_origin, get_type_hints

from boundary_env_ros.core.contract.grammar import Grammar
from boundary_env_ros.core.type_hints import optional_of
from boundary_env_ros.frozen import frozen

#: Stands for the default of a key that has none.
REQUIRED = object()

#: What the reference calls keys that are about dimensions of the command.
DIMENSION, DIMENSIONS = 'name of a dimension', 'names of dimensions'


@frozen(kw_only=False)
class Key:
    """
    What the language says about a key besides its type, its default and its meaning.

    Attributes
    ----------
    path
        The key, below the section of the value, where it is not the name of the attribute;
        ``robot.host`` is in a section of its own, and ``''`` says that the keys of the attribute
        stand beside the others of the value.
    spelt
        How its text is.
    unit
        Of its number.
    above, least, most
        Bounds of its number.
    choices
        Its words, if not those of an ``Enum``.
    words
        Those for false and true.
    required
        Whether it must be there although the attribute has a default.
    one_of
        Whether it is one of several of which only one has to be there.
    same_as
        Attribute whose value is the default; or what the reference calls a default that follows
        from other keys.
    when
        Another key of the section, and its words with which alone this key is there; ``''`` where
        that key may be left out.
    listed
        What each of its list is, of which there is at least one.
    unique
        Whether each stands in its list once.
    expected
        What an error asks for, where the grammar does not say it.
    shown
        What the reference calls its type, where type and bounds do not tell.
    item
        What the reference calls a name of the user's choice, ``field``; empty if there is none.

    """

    path: str | None = None
    spelt: Grammar | None = field(default=None, kw_only=True)
    unit: str = field(default='', kw_only=True)
    above: float = field(default=-math.inf, kw_only=True)
    least: float = field(default=-math.inf, kw_only=True)
    most: float = field(default=math.inf, kw_only=True)
    choices: tuple[str, ...] = field(default=(), kw_only=True)
    words: tuple[str, ...] = field(default=(), kw_only=True)
    required: bool = field(default=False, kw_only=True)
    one_of: bool = field(default=False, kw_only=True)
    same_as: str = field(default='', kw_only=True)
    when: tuple[str, ...] = field(default=(), kw_only=True)
    listed: str = field(default='', kw_only=True)
    unique: bool = field(default=False, kw_only=True)
    expected: str = field(default='', kw_only=True)
    shown: str = field(default='', kw_only=True)
    item: str = field(default='', kw_only=True)


class Meaning(IntEnum):
    """
    What a change of a part of a contract does to results.

    ``COSMETIC``: nothing. ``BEHAVIOURAL``: numbers mean what they meant, but robot, world or task
    may behave otherwise, so that two results are not of the same experiment. ``BREAKING``: numbers
    mean something else, or fit no more: neither policies nor records of the one go with the other.
    """

    COSMETIC = 0
    BEHAVIOURAL = 1
    BREAKING = 2


COSMETIC, BEHAVIOURAL, BREAKING = Meaning


class Section:
    """The type of a key that is a section of keys whose values are attributes of the outer one."""


@frozen
class Part:
    """
    One attribute of a value of a contract, and what is said about it.

    Attributes
    ----------
    attribute, type
        Its name, and its type without None.
    key
        Its key; None if the contract does not say it.
    meaning
        What a change of it does to results.
    is_stored
        Whether it is an attribute of the value; if not, it is only a key.
    default
        Of the key: :data:`REQUIRED`, or a value.

    """

    attribute: str
    type: Any
    key: Key | None
    meaning: Meaning
    is_stored: bool
    default: object

    @property
    def path(self) -> str:
        """Return the key below the section of the value."""
        if self.key is None or self.key.path is None:
            return self.attribute
        return self.key.path


def parts_of(model: type) -> Mapping[str, Part]:
    """Return the attributes of a value of a contract, in the order of its keys."""
    return _parts_of(model)


@cache
def _parts_of(model: type) -> Mapping[str, Part]:
    defaults = {
        f.name: f.default_factory() if f.default_factory is not MISSING else f.default
        for f in fields(model)
    }
    stored = set(defaults)
    found = {}
    for name, hint in get_type_hints(model, include_extras=True).items():
        if get_origin(hint) is ClassVar:
            defaults[name] = getattr(model, name, MISSING)
            (hint,) = get_args(hint)
        type_, *notes = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        key = next((note for note in notes if isinstance(note, Key)), None)
        default = defaults[name]
        if default is MISSING or (key is not None and key.required):
            default = REQUIRED
        found[name] = Part(
            attribute=name,
            type=optional_of(type_) or type_,
            key=key,
            meaning=next((note for note in notes if isinstance(note, Meaning)), BEHAVIOURAL),
            is_stored=name in stored,
            default=default,
        )
    return found


def spelt(member: Enum) -> str:
    """Return how the contract language spells a member of an enum."""
    return str(member.value) if isinstance(member.value, str) else member.name.lower()


@cache
def meanings_of(model: type) -> Mapping[str, str]:
    """Return what the docstring of a value of a contract says about each of its attributes."""
    found: dict[str, str] = {}
    for one in reversed(inspect.getmro(model)):
        _, _, listed = inspect.cleandoc(one.__doc__ or '').partition('Attributes\n----------\n')
        for names, text in re.findall(r'^(\S.*)\n((?:[ ]{4}.*\n?)+)', listed, re.MULTILINE):
            meaning = ' '.join(text.split()).replace('``', '`')
            found.update(dict.fromkeys(names.split(', '), meaning))
    return found
