# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The key ``derive`` of a field: which function, of which fields."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields

import numpy as np

from boundary_env_ros.core.contract.model import FieldSpec
from boundary_env_ros.core.contract.problem_text import nearest, Text
from boundary_env_ros.core.contract.sources import Derived, MOST_VALUES
from boundary_env_ros.core.sources.derived import FUNCTIONS, Unfit
from boundary_env_ros.frozen import replace
from boundary_env_ros.storage.contract.forms import word_form
from boundary_env_ros.storage.contract.section_reader import Reader

#: Beyond this nothing is even computed.
_MOST_PAST = 4 * MOST_VALUES


def parse_derived(
    waiting: Mapping[str, Reader], direct: Mapping[str, FieldSpec]
) -> dict[str, FieldSpec]:
    """
    Return the derived fields; one may be derived from another.

    Parameters
    ----------
    waiting
        The fields with the key ``derive``, unread.
    direct
        All other fields that they may be derived from.

    """
    known = dict(direct)
    wanted = {name: _derived(key, {*known, *waiting}) for name, key in waiting.items()}
    while wanted:
        ready = [name for name, derived in wanted.items() if all(of in known for of in derived.of)]
        for name in ready:
            known[name] = _spec(name, wanted.pop(name), known, waiting[name])
        if not ready:
            for name, derived in wanted.items():
                # Unknown ones were named before.
                circle = ', '.join(of for of in derived.of if of in wanted)
                if circle:
                    expected = 'fields that are not derived from this one'
                    waiting[name].problem(('derive', 'of'), expected, Text(circle))
                known[name] = placeholder(name)
            break
    return {name: known[name] for name in waiting}


def _derived(key: Reader, names: Collection[str]) -> Derived:
    section = key.section('derive')
    function = section.one('function', word_form({name: name for name in FUNCTIONS}))
    if not function:
        # Which keys belong to it is unknown.
        section.names()
        return Derived(function='', of=())
    rule = FUNCTIONS[function]
    of: tuple[str, ...] = section.value(Derived, 'of')
    for index, field in enumerate(of):
        if field not in names:
            expected = f'a field of observation or state: {", ".join(sorted(names))}'
            section.problem(('of', index), expected, field, nearest(field, names))
    if of and len(of) != rule.inputs:
        section.problem(('of',), f'{rule.inputs} fields for {function}', Text(f'{len(of)}'))
    parameters = {rule.parameter: section.value(Derived, rule.parameter)} if rule.parameter else {}
    return Derived(function=function, of=of, parameters=parameters)


def _spec(name: str, derived: Derived, known: Mapping[str, FieldSpec], key: Reader) -> FieldSpec:
    dtype = key.value(FieldSpec, 'dtype')
    if not (derived.function and dtype):
        return placeholder(name)
    rule = FUNCTIONS[derived.function]
    inputs = [known[of] for of in derived.of]
    if len(inputs) != rule.inputs:
        return placeholder(name)
    for index, field in enumerate(inputs):
        if field.is_image:
            key.problem(('derive', 'of', index), 'a field of numbers', Text('an image'))
            return placeholder(name)
    parameter = derived.parameters.get(rule.parameter, 0)
    if inputs[0].size * rule.frames(parameter) > _MOST_PAST:
        key.problem(('derive',), f'at most {MOST_VALUES} values', Text('far more'))
        return placeholder(name)
    try:
        space = rule.space(inputs, parameter)
    except Unfit as unfit:
        key.problem(('derive', 'of'), str(unfit), Text(''))
        return placeholder(name)
    spec = replace(
        placeholder(name),
        derived=derived,
        dtype=dtype,
        **{each.name: getattr(space, each.name) for each in fields(space)},
    )
    if spec.size > MOST_VALUES:
        key.problem(('derive',), f'at most {MOST_VALUES} values', spec.size)
    most = float(np.finfo(dtype).max)
    if any(abs(bound) > most for bound in (*spec.low, *spec.high)):
        expected = f'fields whose bounds give one that {dtype} can hold'
        key.problem(('derive', 'of'), expected, Text('farther ones'))
    return spec


def placeholder(name: str) -> FieldSpec:
    """Return what stands for a field that could not be read, so that reading goes on."""
    return FieldSpec(name=name, shape=(1,), dtype='float32', unit=('',), low=(0.0,), high=(0.0,))
