# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What clients ask for, checked before it is sent or acted on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
import json
import math
import operator
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.records.parts import KeyValue
from boundary_env_ros.core.serialization import json_object
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import DigestMismatch, InvalidAction, RequestRejected, ResultCode

#: Most actions of one batch; more would keep the caller without a word for too long.
MOST_ACTIONS = 10_000

#: Greatest seed: it travels as 64 bits without a sign.
_MOST_SEED = 2**64 - 1


def refuse_another(
    *,
    environment: str,
    digest: str,
    agent: str,
    contract: Contract,
    own_digest: str,
    own_agent: str,
) -> None:
    """
    Refuse a client that means another environment, contract or agent; empty means this one.

    Raises
    ------
    DigestMismatch, RequestRejected
        Naming both.

    """
    if environment not in ('', contract.name):
        raise RequestRejected(
            f'Another environment is here (expected {contract.name!r}, got {environment!r}). '
            'Call the services in the namespace of the one that you mean.'
        )
    if digest not in ('', own_digest):
        raise DigestMismatch(
            f'The contract is another one (expected the digest {own_digest}, got {digest}). '
            'Start client and nodes with the same contract, pacing and task version.'
        )
    refuse_another_agent(agent, own_agent)


def refuse_another_digest(digest: str, own_digest: str) -> None:
    """Refuse to begin or to arm for a client that does not name this very contract."""
    if digest != own_digest:
        raise RequestRejected(
            f'The contract of the client is another one (expected the digest {own_digest}, got '
            f'{digest or "none"}). '
            'Start client and nodes with the same contract, pacing and task version.',
            ResultCode.DIGEST_MISMATCH,
        )


def refuse_another_agent(agent: str, own_agent: str) -> None:
    """Refuse a client that means another agent; empty means this one."""
    if agent not in ('', own_agent):
        raise RequestRejected(
            f'Another agent is here (expected {own_agent!r}, got {agent!r}).',
            ResultCode.UNKNOWN_AGENT,
        )


def options_of(text: str) -> Mapping[str, object]:
    """
    Return the options of a reset: a JSON object, or empty.

    Raises
    ------
    RequestRejected
        If it is anything else.

    """
    try:
        return json_object(text)
    except ValueError as error:
        raise RequestRejected(f'The reset options are not a JSON object: {error}.') from error


def options_text(options: Mapping[str, object]) -> str:
    """
    Return the options of a reset as they travel: a JSON object, or empty if there are none.

    Raises
    ------
    RequestRejected
        If they are not a mapping of plain data, which all that goes into a record is.

    """
    if not isinstance(options, Mapping):
        raise RequestRejected(
            f'Options need their names (expected a name for each, got {options!r}).'
        )
    try:
        return json.dumps(dict(options), allow_nan=False) if options else ''
    except (TypeError, ValueError, RecursionError) as error:
        raise RequestRejected(
            f'The options are not plain numbers, texts, lists and mappings: {error}.'
        ) from error


def seed_of(seed: SupportsIndex) -> int:
    """
    Return a seed as it travels.

    Raises
    ------
    RequestRejected
        If it is no whole number, or not one of 64 bits without a sign.

    """
    try:
        number = operator.index(seed)
    except TypeError:
        number = -1
    if not 0 <= number <= _MOST_SEED:
        raise RequestRejected(
            f'Wrong seed (expected a whole number from 0 to 2**64 - 1, got {seed!r}).'
        )
    return number


def numbers_of(actions: object, *dimensions: int) -> npt.NDArray[np.float64]:
    """
    Return what a client asks for as an array of one of these numbers of dimensions.

    Raises
    ------
    InvalidAction
        If it is not numbers, or has another number of dimensions.

    """
    try:
        array = np.asarray(actions, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidAction(f'An action is made of numbers (got {actions!r}).') from error
    if array.ndim not in dimensions:
        wanted = ' or '.join(f'{count}' for count in dimensions)
        raise InvalidAction(
            f'Wrong shape of an action (expected {wanted} dimensions, got {array.shape}).'
        )
    return array


def metadata_pairs(metadata: Mapping[Any, Any]) -> tuple[KeyValue, ...]:
    """
    Return metadata as they travel.

    Raises
    ------
    RequestRejected
        If a key or a value is no text.

    """
    for key, value in metadata.items():
        if not (isinstance(key, str) and isinstance(value, str)):
            raise RequestRejected(f'Metadata are texts (got {key!r}: {value!r}).')
    return tuple(KeyValue(key=key, value=value) for key, value in metadata.items())


def metadata_of(pairs: Iterable[KeyValue]) -> Mapping[str, str]:
    """
    Return metadata by its keys.

    Raises
    ------
    RequestRejected
        If a key is empty, or there twice.

    """
    found: dict[str, str] = {}
    for pair in pairs:
        if not pair.key or pair.key in found:
            raise RequestRejected(
                f'Every key of the metadata is there once, and not empty (got {pair.key!r}).'
            )
        found[pair.key] = pair.value
    return found


def action_of(contract: Contract, values: Sequence[float], horizon: int) -> Vector:
    """
    Return the action of a step: as many rows as the horizon says, 0 means 1.

    A value out of bounds is passed on: limiting or refusing it is the gate's business.

    Raises
    ------
    InvalidAction
        If it has another shape, or holds a number that is not finite. Nothing is sent then.

    """
    rows = horizon or 1
    if rows > contract.horizon:
        raise InvalidAction(
            f'The action is too long (expected at most {contract.horizon} steps, got {rows}).'
        )
    return _finite(contract, values, rows)


def batch_of(contract: Contract, values: Sequence[float], count: int) -> tuple[Vector, ...]:
    """
    Return the actions of a batch, each of one step.

    Raises
    ------
    RequestRejected
        If there is none, or there are more than ``MOST_ACTIONS``.
    InvalidAction
        If one of them cannot be a command: none is sent then.

    """
    if not 0 < count <= MOST_ACTIONS:
        raise RequestRejected(
            f'Wrong number of actions (expected 1 to {MOST_ACTIONS}, got {count}).'
        )
    flat, size = _finite(contract, values, count), contract.action_size
    return tuple(flat[i : i + size] for i in range(0, len(flat), size))


def _finite(contract: Contract, values: Sequence[float], rows: int) -> Vector:
    wanted = rows * contract.action_size
    if len(values) != wanted:
        raise InvalidAction(
            f'Wrong size of the action (expected {wanted} numbers, {rows} times '
            f'{contract.action_size}, got {len(values)}). The order is that of the action space, '
            'see the service `spaces`.'
        )
    for index, value in enumerate(values):
        if not math.isfinite(value):
            raise InvalidAction(f'The action is not finite (got {value} at {index}).')
    return tuple(map(float, values))
