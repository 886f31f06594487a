# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Gymnasium spaces of a contract.

They follow from the contract alone; no robot is needed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from gymnasium import spaces
import numpy as np
import numpy.typing as npt

from boundary_env_ros.core.contract.model import ActionKind, ActionSpec, Contract, FieldSpec

Array = npt.NDArray[Any]

#: Kinds of an action that is numbers within bounds, no choices.
NUMBERS = (ActionKind.CONTINUOUS, ActionKind.DELTA)


def field_space(spec: FieldSpec) -> spaces.Box:
    """Return the space of one field, shape and dtype of the contract."""
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
    are a MultiDiscrete. Groups of both sorts are a Dict, by name.

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
    if all(group.kind in NUMBERS for group in groups):
        return _box(groups, horizon or contract.horizon, dtype)
    if not any(group.kind in NUMBERS for group in groups):
        counts = [count for group in groups for count in _counts(group)]
        if len(groups) == 1 and groups[0].kind is ActionKind.DISCRETE:
            return spaces.Discrete(counts[0])
        return spaces.MultiDiscrete(counts)
    return spaces.Dict(OrderedDict((group.name, _group_space(group, dtype)) for group in groups))


def _group_space(group: ActionSpec, dtype: npt.DTypeLike) -> spaces.Space[Any]:
    if group.kind in NUMBERS:
        return _box((group,), 1, dtype)
    counts = _counts(group)
    if group.kind is ActionKind.DISCRETE:
        return spaces.Discrete(counts[0])
    return spaces.MultiDiscrete(counts)


def _box(groups: Sequence[ActionSpec], horizon: int, dtype: npt.DTypeLike) -> spaces.Box:
    low: list[float] = []
    high: list[float] = []
    for group in groups:
        delta = group.kind is ActionKind.DELTA
        low += (-most for most in group.max_delta) if delta else group.low
        high += group.max_delta if delta else group.high
    shape = (len(low),) if horizon == 1 else (horizon, len(low))
    kind: Any = np.dtype(dtype).type
    least, most = _rounded_inwards(np.asarray(low), np.asarray(high), kind)
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


def _counts(group: ActionSpec) -> list[int]:
    """Return how many choices there are in each dimension of a group's action."""
    return [len(options) for options in group.options]
