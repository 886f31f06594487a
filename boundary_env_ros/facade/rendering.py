# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an environment shows of its last step: a camera image, or a block of text."""

from __future__ import annotations

from itertools import groupby

from boundary_env_ros.core.contract.model import Contract, FieldSpec
from boundary_env_ros.core.records.observation import ObservationField
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.facade.info import reasons_of

#: Values of a field that are written out; of more, the least and the greatest.
_WRITTEN = 8


def camera_of(contract: Contract, wanted: str = '') -> FieldSpec:
    """
    Return the wanted image field, else the first there is.

    Raises
    ------
    BoundaryError
        If there is no such image field.

    """
    cameras = [spec for spec in contract.observation if spec.is_image]
    for spec in cameras:
        if wanted in ('', spec.name):
            return spec
    names = ', '.join(spec.name for spec in cameras) or 'none: the contract has no image field'
    raise BoundaryError(f'Unknown render_source (expected {names}, got {wanted!r}).')


def as_text(contract: Contract, transition: Transition) -> str:
    """
    Return a step as a block of text.

    What the policy was shown, what it asked for, what the gate made of it and why, what the robot
    did, and what that was worth.
    """
    step = transition.id.step
    clock = f'{step * contract.period:.2f} s of {contract.episode.time_limit:g} s'
    lines = [f'{contract.name} {contract.version}   step {step}   {clock}']
    fields = {field.name: field for field in transition.after}
    width = max(len(name) for name in (*fields, 'requested', 'commanded'))
    for spec in contract.observation:
        lines.append(f'  {spec.name:{width}}  {_field(spec, fields[spec.name])}')
    if step:
        units = _units(contract.command_unit)
        for name in ('requested', 'admitted', 'commanded', 'measured'):
            values: Vector = getattr(transition, f'{name}_action')
            unit = units if values and name in ('commanded', 'measured') else ''
            lines.append(f'  {name:{width}}  {_numbers(values)} {unit}'.rstrip())
        verdict = transition.verdict.name if transition.verdict else 'none: no action in time'
        lines.append(f'  {"verdict":{width}}  {verdict}')
        lines += [f'  {"":{width}}  {reason}' for reason in reasons_of(contract, transition)]
        terms = ' '.join(f'{term.name} {term.value:+.4g}' for term in transition.reward_terms)
        lines.append(f'  {"reward":{width}}  {transition.reward:+.4g}   {terms}'.rstrip())
    if transition.ending:
        flag = 'terminated' if transition.terminated else 'truncated'
        lines.append(
            f'  {"ending":{width}}  {transition.ending} ({flag}), declared by '
            f'{transition.declared_by}'
        )
    return '\n'.join(lines)


def _field(spec: FieldSpec, field: ObservationField) -> str:
    state = field.status.name
    if field.age is not None:
        state += f', {field.age:.3f} s old'
    if spec.is_image:
        return f'image {"x".join(map(str, spec.shape))}   {state}'
    return f'{_numbers(field.values)} {_units(spec.unit)}'.rstrip() + f'   {state}'


def _units(units: tuple[str, ...]) -> str:
    """Return units in order, each once for all values in a row that have it."""
    return ', '.join(unit for unit, _ in groupby(units))


def _numbers(values: Vector) -> str:
    if not values:
        return '-'
    if len(values) <= _WRITTEN:
        return ' '.join(f'{value:.3f}' for value in values)
    return f'{len(values)} values, {min(values):.3f} to {max(values):.3f}'
