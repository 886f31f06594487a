# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The section ``episode.reset`` of a contract: what is done to bring the world into a state."""

from __future__ import annotations

from collections.abc import Mapping
import math

from boundary_env_ros.core.contract import (
    CallStep,
    ConfirmStep,
    PublishStep,
    ResetProcedure,
    ResetStep,
    WaitStep,
    WorldStep,
)
from boundary_env_ros.core.contract_reader import Reader, said
from boundary_env_ros.core.grammar import (
    A_NAME,
    A_SERVICE,
    A_SERVICE_TYPE,
    A_TOPIC,
    A_TYPE,
    is_name,
    is_service_type,
    is_topic,
    is_type,
)
from boundary_env_ros.core.sources import Vector


def parse_reset(key: Reader) -> ResetProcedure:
    """Return the procedure; ``service`` is short for one of a single ``world`` step."""
    deadline = key.number('deadline', unit='s', above=0.0)
    tolerance = key.section('tolerance', required=False)
    within = {
        name: tolerance.list_of_numbers(name, unit='in the unit of the value', least=0.0)
        for name in tolerance.names()
    }
    steps: tuple[ResetStep, ...]
    if key.has('procedure'):
        steps = tuple(_step(item) for item in key.sections('procedure'))
        if not steps:
            key.problem(('procedure',), 'at least one step', said('none'))
        if key.has('service'):
            key.problem(('service',), 'either `service` or `procedure`', said('both'))
            key.skip('service')
    else:
        service = key.text('service', expected=A_SERVICE, check=is_topic)
        steps = (WorldStep(service=service, deadline=deadline),)
    worlds = [index for index, step in enumerate(steps) if isinstance(step, WorldStep)]
    if len(worlds) > 1:
        key.problem(('procedure', worlds[1], 'world'), 'one step `world` at most', said('two'))
    if tolerance.names() and not worlds:
        key.problem(
            ('tolerance',),
            'a step `world`, whose answer says what was achieved',
            said('none'),
            'To compare a field with its target, use a step `wait`.',
        )
    for index, step in enumerate(steps):
        if not isinstance(step, PublishStep) and step.deadline > deadline:
            path = ('procedure', index, 'deadline') if key.has('procedure') else ('deadline',)
            key.problem(path, f'not more than that of the reset ({deadline:g} s)', step.deadline)
    procedure = ResetProcedure(
        steps=steps,
        settle=key.number('settle', unit='s', least=0.0, default=0.0),
        deadline=deadline,
        tolerance=within,
        wrap=_wrap(key, within),
    )
    key.finish()
    return procedure


def _wrap(key: Reader, tolerance: Mapping[str, Vector]) -> Mapping[str, tuple[int, ...]]:
    section = key.section('wrap', required=False)
    for name in section.names():
        if name not in tolerance:
            section.problem((name,), 'a value with a `tolerance`', said(name))
    return {
        name: section.dimensions(name, len(tolerance[name]))
        for name in section.names()
        if name in tolerance
    }


def _step(key: Reader) -> ResetStep:
    step = _one_step(key)
    key.finish()
    return step


def _one_step(key: Reader) -> ResetStep:
    kinds = [kind for kind in ('world', 'call', 'publish', 'wait', 'confirm') if key.has(kind)]
    if len(kinds) != 1:
        there = ' and '.join(kinds or key.names()) or 'nothing'
        key.problem((), 'one of world, call, publish, wait, confirm', said(there))
        key.names()
        return ConfirmStep(prompt='', deadline=math.nan)
    if kinds == ['publish']:
        return PublishStep(
            topic=key.text('publish', expected=A_TOPIC, check=is_topic),
            type=key.text('type', expected=A_TYPE, check=is_type),
            message=key.plain('message'),
        )
    deadline = key.number('deadline', unit='s', above=0.0)
    if kinds == ['world']:
        service = key.text('world', expected=A_SERVICE, check=is_topic)
        return WorldStep(service=service, deadline=deadline)
    if kinds == ['call']:
        return CallStep(
            service=key.text('call', expected=A_SERVICE, check=is_topic),
            type=key.text('type', expected=A_SERVICE_TYPE, check=is_service_type),
            request=key.plain('request'),
            deadline=deadline,
        )
    if kinds == ['wait']:
        return _wait(key, deadline)
    prompt = key.text('confirm', expected='what a person is to do, then to confirm', check=bool)
    return ConfirmStep(prompt=prompt, deadline=deadline)


def _wait(key: Reader, deadline: float) -> WaitStep:
    field = key.text('wait', expected=A_NAME, check=is_name)
    tolerance = key.list_of_numbers(
        'tolerance', unit='in the unit of the value', least=0.0, like='target'
    )
    sampled = ''
    target: Vector = ()
    if key.has('sampled'):
        sampled = key.text('sampled', expected='the name of a sampled value')
    else:
        target = key.numbers('target', len(tolerance), unit='in the unit of the value')
    return WaitStep(
        field=field,
        target=target,
        sampled=sampled,
        tolerance=tolerance,
        deadline=deadline,
        wrap=key.dimensions('wrap', len(tolerance)),
    )
