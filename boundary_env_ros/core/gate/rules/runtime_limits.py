# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Limits that are made stricter while the gate runs; never less strict than the contract's."""

from __future__ import annotations

from dataclasses import replace
from operator import ge, le

from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.gate.decision import RuntimeLimits
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.errors import RequestRejected

_NUMBERS = {'low': ge, 'high': le, 'rate': le}


def tightened_limits(declared: Limits, runtime_limits: RuntimeLimits) -> Limits:
    """
    Return the limits of a contract as far as they were made stricter.

    Raises
    ------
    RequestRejected
        If one is less strict than the contract, is no limit, or leaves no room for the safe
        command.

    """
    size = len(declared.low)
    for name in _NUMBERS:
        values: Vector = getattr(runtime_limits, name)
        if values and len(values) != size:
            raise RequestRejected(
                f'Wrong number of values of `{name}` (expected {size}, one for each dimension '
                f'of the command, got {len(values)}).'
            )
        _refuse_looser(declared, name, values or getattr(declared, name), 'the contract says')
    timeout = runtime_limits.command_timeout
    if timeout is None:
        timeout = declared.safety.command_timeout
    limits = replace(
        declared,
        low=runtime_limits.low or declared.low,
        high=runtime_limits.high or declared.high,
        rate=runtime_limits.rate or declared.rate,
        safety=replace(declared.safety, command_timeout=timeout),
    )
    refuse_looser(declared, limits, 'the contract says')
    for rotation in declared.rotations:
        for i in rotation.dimensions:
            for name in ('low', 'high'):
                was, value = getattr(declared, name)[i], getattr(limits, name)[i]
                if value != was:
                    raise RequestRejected(
                        f'`{name}` of {declared.names[i]}, part of a rotation, cannot change '
                        f'(expected {was:g}, got {value:g}). A quaternion has no bounds of its '
                        'own; its rate can be limited.'
                    )
    for i, safe in enumerate(declared.safe):
        low, high = limits.low[i], limits.high[i]
        if low > high or safe < low or safe > high:
            raise RequestRejected(
                f'The bounds of {limits.names[i]} leave out its safe value '
                f'(expected low <= {safe:g} <= high, got [{low:g}, {high:g}]).'
            )
    return limits


def refuse_looser(before: Limits, after: Limits, what: str) -> None:
    """
    Refuse limits that are less strict than others.

    Raises
    ------
    RequestRejected
        Naming the first number that is.

    """
    for name in _NUMBERS:
        _refuse_looser(before, name, getattr(after, name), what)
    was, value = before.safety.command_timeout, after.safety.command_timeout
    if not 0.0 < value <= was:
        raise RequestRejected(
            f'`command_timeout` is looser than {what} '
            f'(expected more than 0 and at most {was:g} s, got {value:g} s).'
        )


def _refuse_looser(before: Limits, name: str, values: Vector, what: str) -> None:
    stricter = _NUMBERS[name]
    for i, (was, value) in enumerate(zip(getattr(before, name), values, strict=True)):
        if not (stricter(value, was) and (name != 'rate' or value > 0.0)):
            sign = 'at least' if stricter is ge else 'more than 0 and at most'
            sign = 'at most' if name == 'high' else sign
            raise RequestRejected(
                f'`{name}` of {before.names[i]} is looser than {what} '
                f'(expected {sign} {was:g}, got {value:g}).'
            )
