# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Gymnasium spaces of a contract.

They follow from the contract alone; no robot is needed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from gymnasium import spaces
import numpy as np
import numpy.typing as npt

from boundary_env_ros.core.contract.model import ActionKind, ActionSpec, Contract, FieldSpec
from boundary_env_ros.core.sources.json_documents import checker

Array = npt.NDArray[Any]

#: Kinds of an action that is numbers within bounds, no choices.
NUMBERS = (ActionKind.CONTINUOUS, ActionKind.DELTA)


class DocumentSpace(spaces.Space[Any]):
    """
    JSON documents that a schema admits.

    Parameters
    ----------
    schema
        The JSON Schema. Only of one with ``examples`` can be sampled.
    optional
        Whether None, for nothing, is a member.

    """

    def __init__(self, schema: Mapping[str, object], *, optional: bool = False) -> None:
        super().__init__()
        self.schema, self.optional = schema, optional
        self._fault = checker(schema)

    def contains(self, x: Any) -> bool:
        """Return whether the schema admits a document."""
        return self.optional if x is None else not self._fault(x)

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        """
        Return one of the schema's ``examples``; of an optional one without them None.

        Raises
        ------
        NotImplementedError
            If there is nothing to draw from.

        """
        examples = self.schema.get('examples')
        if isinstance(examples, list) and examples:
            return examples[int(self.np_random.integers(len(examples)))]
        if self.optional:
            return None
        raise NotImplementedError(
            'A document cannot be made up. Write `examples` into its schema, and they are sampled.'
        )

    def __eq__(self, other: object) -> bool:
        mine = (self.schema, self.optional)
        return isinstance(other, DocumentSpace) and mine == (other.schema, other.optional)

    __hash__ = None  # type: ignore[assignment]


def field_space(spec: FieldSpec) -> spaces.Space[Any]:
    """Return the space of one field, shape and dtype of the contract."""
    if spec.is_document:
        return DocumentSpace(spec.schema)
    dtype = np.dtype(spec.dtype).type
    if not spec.low:
        most = np.iinfo(spec.dtype).max
        return spaces.Box(0, most, shape=spec.shape, dtype=dtype)
    low, high = (
        np.broadcast_to(np.asarray(bound, dtype=dtype), spec.shape)
        if len(bound) == 1
        else np.asarray(bound, dtype=dtype).reshape(spec.shape)
        for bound in (spec.low, spec.high)
    )
    return spaces.Box(low, high, dtype=dtype)


def observation_space(contract: Contract) -> spaces.Dict:
    """Return the space of the policy's observation: one Box a field, in contract order."""
    # Gymnasium sorts the keys of a plain dictionary by name.
    return spaces.Dict(
        OrderedDict((spec.name, field_space(spec)) for spec in contract.observation)
    )


def action_space(
    contract: Contract, *, dtype: npt.DTypeLike = np.float32, horizon: int | None = None
) -> spaces.Space[Any]:
    """
    Return the space of the action.

    Numbers of all groups one after the other are a Box (contract units; bounds of the command, or
    of the difference), shape (n,), or (horizon, n) for chunks. One choice is a Discrete, several
    are a MultiDiscrete. Groups of both sorts are a Dict, by name, and so are those of a contract
    with documents.

    Parameters
    ----------
    contract
        The contract.
    dtype
        Of numbers.
    horizon
        Steps of one action; None: those of the contract.

    """
    groups = contract.action
    if not contract.documents:
        if not any(group.options for group in groups):
            return _box(groups, horizon or contract.horizon, dtype)
        if all(group.options for group in groups):
            return _choices(groups)
    every = [
        (group.name, _choices((group,)) if group.options else _box((group,), 1, dtype))
        for group in groups
    ]
    sent = [(g.name, DocumentSpace(g.schema, optional=True)) for g in contract.documents]
    return spaces.Dict(OrderedDict([*every, *sent]))


def _choices(groups: Sequence[ActionSpec]) -> spaces.Space[Any]:
    counts = [len(options) for group in groups for options in group.options]
    if len(groups) == 1 and groups[0].kind is ActionKind.DISCRETE:
        return spaces.Discrete(counts[0])
    return spaces.MultiDiscrete(counts)


def _box(groups: Sequence[ActionSpec], horizon: int, dtype: npt.DTypeLike) -> spaces.Box:
    low, high = zip(*(group.action_bounds for group in groups), strict=True)
    size = sum(group.size for group in groups)
    shape = (size,) if horizon == 1 else (horizon, size)
    kind: Any = np.dtype(dtype).type
    least, most = _rounded_inwards(np.concatenate(low), np.concatenate(high), kind)
    return spaces.Box(np.broadcast_to(least, shape), np.broadcast_to(most, shape), dtype=kind)


def _rounded_inwards(low: Array, high: Array, kind: Any) -> tuple[Array, Array]:
    """
    Return bounds of a type that are not beyond the doubles of the contract.

    A policy at its limit would else be limited by the gate, or refused, for a rounding of numpy.
    """
    nearest, most = low.astype(kind), high.astype(kind)
    least = np.where(nearest < low, np.nextafter(nearest, kind(np.inf)), nearest)
    most = np.where(most > high, np.nextafter(most, kind(-np.inf)), most)
    none_between = least > most
    return np.where(none_between, nearest, least), np.where(none_between, nearest, most)
