# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Limits that are made stricter while the gate runs; never less strict than the contract's."""

from __future__ import annotations

from collections.abc import Mapping
from operator import ge, le

from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.records.decision import RuntimeLimits
from boundary_env_ros.core.vectors import Vector
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
    numbers: dict[str, Vector] = {}
    for name in _NUMBERS:
        numbers[name] = getattr(runtime_limits, name) or getattr(declared, name)
        if len(numbers[name]) != size:
            raise RequestRejected(
                f'Wrong number of values of `{name}` (expected {size}, one for each dimension '
                f'of the command, got {len(numbers[name])}).'
            )
    timeout = runtime_limits.command_timeout
    if timeout is None:
        timeout = declared.safety.command_timeout
    refuse_looser(declared, numbers, timeout, 'the contract says')
    limits = Limits(declared.contract, **numbers, command_timeout=timeout)
    for i in (i for rotation in declared.rotations for i in rotation.dimensions):
        for name in ('low', 'high'):
            was, value = getattr(declared, name)[i], numbers[name][i]
            if value != was:
                raise RequestRejected(
                    f'`{name}` of {declared.names[i]}, part of a rotation, cannot change '
                    f'(expected {was:g}, got {value:g}). A quaternion has no bounds of its '
                    'own; its rate can be limited.'
                )
    for i, (safe, low, high) in enumerate(zip(limits.safe, limits.low, limits.high, strict=True)):
        if low > high or safe < low or safe > high:
            raise RequestRejected(
                f'The bounds of {limits.names[i]} leave out its safe value '
                f'(expected low <= {safe:g} <= high, got [{low:g}, {high:g}]).'
            )
    return limits


def stricter_limits(declared: Limits, runtime_limits: RuntimeLimits) -> Limits:
    """Return the stricter of what a contract declares and what was set while the gate ran."""
    if runtime_limits == RuntimeLimits():
        return declared
    timeout = runtime_limits.command_timeout
    stricter = RuntimeLimits(
        low=tuple(map(max, runtime_limits.low, declared.low)),
        high=tuple(map(min, runtime_limits.high, declared.high)),
        rate=tuple(map(min, runtime_limits.rate, declared.rate)),
        command_timeout=None if timeout is None else min(timeout, declared.safety.command_timeout),
    )
    try:
        return tightened_limits(declared, stricter)
    except RequestRejected:
        return declared


def refuse_looser(
    before: Limits, numbers: Mapping[str, Vector], command_timeout: float, what: str
) -> None:
    """
    Refuse limits that are less strict than others.

    Raises
    ------
    RequestRejected
        Naming the first number that is.

    """
    for name, stricter in _NUMBERS.items():
        for i, (was, value) in enumerate(zip(getattr(before, name), numbers[name], strict=True)):
            if not (stricter(value, was) and (name != 'rate' or value > 0.0)):
                sign = {'low': 'at least', 'high': 'at most'}.get(name, 'more than 0 and at most')
                raise RequestRejected(
                    f'`{name}` of {before.names[i]} is looser than {what} '
                    f'(expected {sign} {was:g}, got {value:g}).'
                )
    was = before.safety.command_timeout
    if not 0.0 < command_timeout <= was:
        raise RequestRejected(
            f'`command_timeout` is looser than {what} '
            f'(expected more than 0 and at most {was:g} s, got {command_timeout:g} s).'
        )


def refuse_too_slow(limits: Limits, before: Limits) -> None:
    """
    Refuse a rate at which the robot could not brake for what its rules look out for.

    Parameters
    ----------
    limits
        The limits as they are to be.
    before
        The limits by whose bounds the robot moves, or may have moved until now.

    Raises
    ------
    RequestRejected
        Naming the first rule that would not hold.

    """
    numbers = limits.contract, before.low, before.high, limits.rate
    for path, expected, actual, *_ in (
        fault for rule in limits.safety.rules for fault in rule.too_slow(*numbers)
    ):
        raise RequestRejected(
            f'`rate` is too low to brake by: {".".join(map(str, path))} would have to be another '
            f'(expected {expected}, got {actual:g}). Give a higher rate, or lower bounds while '
            'the robot rests.'
        )
