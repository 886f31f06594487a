# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the keys of a contract mean, and the words that they may have."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cache
import inspect
import re
from typing import get_args

from boundary_env_ros.core.contract.key import Part, spelt


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


def words_of(part: Part) -> tuple[str, ...]:
    """Return the words that a key may have; none if it is not one of some words."""
    key = part.key
    assert key is not None
    if key.choices or part.type is bool:
        return key.choices or key.words
    for kind in (part.type, *get_args(part.type)[:1]):
        if isinstance(kind, type) and issubclass(kind, Enum):
            return tuple(map(spelt, kind))
    return ()
