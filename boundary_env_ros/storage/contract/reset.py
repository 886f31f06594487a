# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The section ``episode.reset`` of a contract: what is done to bring the world into a state."""

from __future__ import annotations

from collections.abc import Mapping
import math
from typing import Any, get_args

from boundary_env_ros.core.contract.key import parts_of
from boundary_env_ros.core.contract.model import (
    ConfirmStep,
    PublishStep,
    ResetProcedure,
    ResetStep,
    WaitStep,
    WorldStep,
)
from boundary_env_ros.core.contract.problem_text import Text
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.storage.contract.section_reader import Reader


def parse_reset(key: Reader, sizes: Mapping[str, int]) -> ResetProcedure:
    """
    Return the procedure; ``service`` is short for one of a single ``world`` step.

    Parameters
    ----------
    key
        Reader of the section.
    sizes
        How many values each field has that a step may wait for.

    """
    deadline = key.value(ResetProcedure, 'deadline')
    tolerance: Mapping[str, Vector] = key.value(ResetProcedure, 'tolerance')
    steps: tuple[ResetStep, ...]
    if key.has('procedure'):
        steps = tuple(_step(item, deadline, sizes) for item in key.sections('procedure'))
        if not steps:
            key.problem(('procedure',), 'at least one step', Text('none'))
        if key.has('service'):
            key.problem(('service',), 'either `service` or `procedure`', Text('both'))
    elif not key.has('service'):
        hint = 'Without a service that resets the world, write a `procedure`, a list of steps.'
        key.problem(('service',), 'a `service`, or a `procedure`', Text('nothing'), hint)
        steps = ()
    else:
        service = key.value(ResetProcedure, 'service_alone')
        steps = (WorldStep(service=service, deadline=deadline),)
    worlds = [index for index, step in enumerate(steps) if isinstance(step, WorldStep)]
    if len(worlds) > 1:
        key.problem(('procedure', worlds[1], 'world'), 'one step `world` at most', Text('two'))
    if tolerance and not worlds:
        expected = 'a step `world`, whose answer says what was achieved'
        hint = 'To compare a field with its target, use a step `wait`.'
        key.problem(('tolerance',), expected, Text('none'), hint)
    for index, step in enumerate(steps):
        if not isinstance(step, PublishStep) and step.deadline > deadline:
            path = ('procedure', index, 'deadline') if key.has('procedure') else ('deadline',)
            key.problem(path, f'not more than that of the reset ({deadline:g} s)', step.deadline)
    return key.make(
        ResetProcedure,
        steps=steps,
        deadline=deadline,
        tolerance=tolerance,
        wrap=_wrap(key, tolerance),
    )


def _wrap(key: Reader, tolerance: Mapping[str, Vector]) -> Mapping[str, tuple[int, ...]]:
    section = key.section('wrap', required=False)
    for name in section.names():
        if name not in tolerance:
            section.problem((name,), 'a value with a `tolerance`', Text(name))
    return {
        name: section.places(name, len(tolerance[name]))
        for name in section.names()
        if name in tolerance
    }


_STEPS: Mapping[str, type[ResetStep]] = {
    next(iter(parts_of(step).values())).path: step for step in get_args(ResetStep)
}


def _step(key: Reader, within: float, sizes: Mapping[str, int]) -> ResetStep:
    kinds = [kind for kind in _STEPS if key.has(kind)]
    if len(kinds) != 1:
        there = ' and '.join(kinds or key.names()) or 'nothing'
        key.problem((), f'one of {", ".join(_STEPS)}', Text(there))
        key.names()
        return ConfirmStep(prompt='', deadline=math.nan)
    (kind,) = kinds
    given: dict[str, Any] = {}
    if kind != 'publish':
        given['deadline'] = key.value(_STEPS[kind], 'deadline', default=within)
    if kind != 'wait':
        return key.make(_STEPS[kind], **given)
    given |= {'target': ()} if key.has('sampled') else {'sampled': ''}
    given['field'] = key.value(WaitStep, 'field')
    count = sizes.get(given['field']) or key.length('tolerance', 'target')
    return key.make(WaitStep, count=count, **given)
