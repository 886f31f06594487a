# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Documents: actions and observations that are no numbers, as JSON with a declared schema.

A request carries one JSON object with a document for each group that is sent one. A document that
is admitted is published as a ``std_msgs/msg/String``, whose text is :func:`text_of` it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
import json
from typing import Any

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.errors import needed, RecordError

Json = Any

#: A longer text is no document, bytes; nor is one that is nested deeper, which Python could read
#: and then not write.
MOST_BYTES, MOST_LEVELS = 1 << 16, 64
_LONGEST = 200


def read(text: str) -> Json:
    """
    Return the document that a text holds.

    Raises
    ------
    RecordError
        If it is no JSON, too long, or nested too deeply.

    """

    def refuse(word: str) -> Json:
        raise ValueError(f'{word} is no JSON')

    if len(text) > MOST_BYTES or len(text.encode(errors='replace')) > MOST_BYTES:
        raise RecordError(f'The document is too long (expected at most {MOST_BYTES} bytes).')
    try:
        document = json.loads(text, parse_constant=refuse)
        # It is published again: 1e999 is infinite here, and half of a pair of surrogates no text.
        text_of(document).encode()
    except (ValueError, RecursionError) as error:
        raise RecordError(f'The document is no JSON: {error}.') from error
    level = [document]
    for _ in range(MOST_LEVELS):
        level = [
            part
            for each in level
            if isinstance(each, dict | list)
            for part in (each.values() if isinstance(each, dict) else each)
        ]
    if level:
        raise RecordError(
            f'The document is nested too deeply (expected at most {MOST_LEVELS} levels).'
        )
    return document


def text_of(document: Json) -> str:
    """Return the text of a document, the same for equal documents."""
    return json.dumps(document, allow_nan=False, ensure_ascii=False, separators=(',', ':'))


def _library() -> Any:
    with needed('Documents need jsonschema', 'pip install jsonschema'):
        import jsonschema
    return jsonschema


def schema_fault(schema: Mapping[str, object]) -> str:
    """Return what is wrong with a JSON Schema (draft 2020-12); empty if nothing is."""
    library = _library()
    try:
        library.Draft202012Validator.check_schema(schema)
    except library.SchemaError as error:
        return f'{error.json_path}: {error.message}'[:_LONGEST]
    # Nothing is fetched from elsewhere: the contract is the whole boundary.
    foreign = next((ref for ref in _references(schema) if not ref.startswith('#')), '')
    return f'a reference out of the schema ({foreign})' if foreign else ''


def _references(schema: object) -> list[str]:
    if isinstance(schema, Mapping):
        own = [str(v) for k, v in schema.items() if k in ('$ref', '$dynamicRef')]
        return own + [ref for item in schema.values() for ref in _references(item)]
    return [ref for item in schema for ref in _references(item)] if type(schema) is list else []


def checker(schema: Mapping[str, object]) -> Callable[[Json], str]:
    """Return a function that says where a document is not as a schema asks; empty: it is."""
    return _checker(json.dumps(schema))


@lru_cache(64)
def _checker(schema: str) -> Callable[[Json], str]:
    library = _library()
    validator = library.Draft202012Validator(json.loads(schema))

    def fault(document: Json) -> str:
        try:
            error = library.exceptions.best_match(validator.iter_errors(document))
        except RecursionError:
            return '$: nested too deeply'
        if error is None:
            return ''
        error = _in_the_branch_that_was_meant(error)
        return f'{error.json_path}: {error.message}'[:_LONGEST]

    return fault


def _in_the_branch_that_was_meant(error: Any) -> Any:
    """Return what is wrong with the alternative of a `oneOf` that fits a document best."""
    while error.context:
        branches: dict[object, list[Any]] = {}
        for each in error.context:
            branches.setdefault(each.schema_path[0], []).append(each)
        # Of an action of one type, the alternatives of the others are no help.
        error = min(
            branches.values(),
            key=lambda found: (any(e.validator in ('const', 'enum') for e in found), len(found)),
        )[0]
    return error


def topics(contract: Contract, agent: str) -> Mapping[str, str]:
    """Return the topic of each group of documents of an agent, by name."""
    return {group.name: contract.topic_of(agent, group.topic) for group in contract.documents}
