# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A transition as strict JSON, as a run keeps its first step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.serialization import from_json, json_schema, to_json, Unlike
from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage import size_limits
from boundary_env_ros.storage.records import FORMAT, format_in, match_format


def transition_text(transition: Transition) -> bytes:
    """Return a transition as strict JSON, with the format that it is of."""
    data = {'format': '{}.{}'.format(*FORMAT), **to_json(transition)}
    return f'{json.dumps(data, allow_nan=False, indent=2)}\n'.encode('ascii')


def transition_schema() -> dict[str, Any]:
    """Return the JSON Schema of a transition, which in a file of its own has its format, too."""
    schema = json_schema(Transition)
    schema['$defs']['Transition']['properties']['format'] = {'type': 'string'}
    return schema


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
            size_limits.read_file(path, size_limits.TEXT),
            object_pairs_hook=each_key_once,
            parse_constant=_not_json,
            parse_float=_finite,
        )
        return from_json(Transition, data, path.name, _unlike(data, path.name, unlike))
    except (ValueError, OverflowError, RecursionError) as error:
        several = getattr(error, 'msg', '') == 'Extra data'
        expected = 'one transition (of several audit the run)' if several else 'strict JSON'
        raise RecordError(f'{path.name}: expected {expected}, got {error}.') from error


def _unlike(data: object, where: str, unlike: Unlike | None) -> Unlike:
    """Take the format out of a file, and return what counts in what it is unlike this one."""
    unlike = Unlike() if unlike is None else unlike
    recorded = data.pop('format', None) if isinstance(data, dict) else None
    # The first ones have none.
    found = (
        FORMAT if recorded is None else format_in(recorded if isinstance(recorded, str) else '')
    )
    if found is None:
        raise RecordError(f"{where}: expected a format such as '1.0', got {recorded!r}.")
    match_format(found, where, unlike)
    return unlike


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
