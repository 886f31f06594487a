# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A transition as strict JSON, as a run keeps its first step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NoReturn

from boundary_env_ros.core.serialization import from_json, to_json, Unlike
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage import limits


def transition_text(transition: Transition) -> bytes:
    """Return a transition as strict JSON."""
    return f'{json.dumps(to_json(transition), allow_nan=False, indent=2)}\n'.encode('ascii')


def read_transition(path: Path, unlike: Unlike | None = None) -> Transition:
    """
    Return the transition of a file, and count in what it is unlike the ones of this version.

    Raises
    ------
    OSError
        If the file cannot be read.
    RecordError
        If it is not strict JSON (a number that is not finite, a key twice), or not a transition.

    """
    try:
        data = json.loads(
            limits.read_file(path, limits.TEXT),
            object_pairs_hook=each_key_once,
            parse_constant=_not_json,
            parse_float=_finite,
        )
        return from_json(Transition, data, path.name, unlike)
    except (ValueError, OverflowError, RecursionError) as error:
        several = getattr(error, 'msg', '') == 'Extra data'
        expected = 'one transition (of several audit the run)' if several else 'strict JSON'
        raise RecordError(f'{path.name}: expected {expected}, got {error}.') from error


def each_key_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return a JSON object, as ``object_pairs_hook``; readers differ on a key that is twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f'the key {twice!r} is there twice')
    return found


def _not_json(word: str) -> NoReturn:
    raise ValueError(f'{word} is not JSON')


def _finite(text: str) -> float:
    value = float(text)
    if value in (float('inf'), float('-inf')):
        raise ValueError(f'{text} is not a number of 64 bits')
    return value
