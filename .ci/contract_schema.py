# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The JSON Schema of contracts, made from the values of a contract.

Keys, types, words and bounds come from the annotations of those values. What keys of one section
say together is written here, as far as an editor can show it; ``boundary-env contract check``
knows it all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
import inspect
import json
import math
import re
from typing import Any, get_args, get_origin

from contract_tables import ABOUT, keys_of, models_in, words_of

from boundary_env_ros.core.contract.grammar import (
    NAME,
    PATH,
    SERVICE,
    SERVICE_TYPE,
    TOPIC,
    TYPE,
    UNIT,
    VERSION,
    WORD,
)
from boundary_env_ros.core.contract.key import (
    DIMENSION,
    DIMENSIONS,
    meanings_of,
    Part,
    parts_of,
    REQUIRED,
    Section,
    spelt,
)
from boundary_env_ros.core.contract.model import (
    Acknowledgement,
    ActionSpec,
    Confidence,
    Contract,
    Feedback,
    FieldSpec,
    ResetStep,
    WorldStep,
)
from boundary_env_ros.core.contract.safety import Corridor, Operator, Sector
from boundary_env_ros.core.contract.sources import (
    Array,
    Beams,
    CLOUD,
    COMPRESSED,
    Derived,
    IMAGE,
    JOINTS,
    Joints,
    Lookup,
    Paths,
    Picture,
    Points,
    SCAN,
    TRAJECTORY,
    Trajectory,
)
from boundary_env_ros.core.gate.rules.obstacles import Obstacle
from boundary_env_ros.core.gate.rules.stopping import SENSOR_RULES
from boundary_env_ros.core.gate.rules.workspace import Workspace
from boundary_env_ros.core.records.decision import Reason
from boundary_env_ros.core.sources.derived import FUNCTIONS
from boundary_env_ros.core.sources.message_parts import ARRAYS, PARTS

Schema = dict[str, Any]

_COMMENT = (
    'Editors use it when the first line of a contract is: # yaml-language-server: '
    '$schema=contract.schema.json (a path from the contract to this file, as `boundary-env '
    'contract schema` prints it). It knows keys, types, enumerations and simple bounds; what keys '
    'say together, and what is in a message, `boundary-env contract check` knows.'
)
_NUMBER: Schema = {'type': 'number'}
_POLYGON: Schema = {
    'type': 'array',
    'items': {'type': 'array', 'items': _NUMBER, 'minItems': 2, 'maxItems': 2},
    'minItems': 3,
}
_INDEX: Schema = {'type': 'integer', 'minimum': 0}
_DIMENSION: Schema = {'type': 'string'}
_IMAGES = (IMAGE, COMPRESSED)


def schema() -> Schema:
    """Return the schema, draft 2020-12."""
    command = (Paths, Joints, Array)
    step = _object(*get_args(ResetStep))
    group = _object(ActionSpec, Trajectory, *command)
    del group['properties']['publishers']  # the gate is the only one
    # A service, or a message.
    step['properties']['type'] = {'description': 'Of `call` and `publish`.', 'type': 'string'}
    return {
        '$schema': 'https://json-schema.org/draft/2020-12/schema',
        '$comment': _COMMENT,
        'title': 'Contract of boundary_env_ros',
        **_object(Contract),
        'anyOf': [{'required': ['period']}, {'required': ['rate']}],
        'description': 'What crosses the boundary between a policy and a robot. SI units, rad.',
        '$defs': {
            **_grammars(),
            'policy_field': _object(FieldSpec, Lookup, *command, Beams, Points, Picture),
            'privileged_field': {
                'description': 'A privileged field, which no policy sees.',
                '$ref': '#/$defs/policy_field',
                **_no('task', 'derive'),
            },
            'derive': _object(Derived),
            'confidence': _object(Confidence),
            'group': group,
            'feedback': _object(Feedback, *command),
            'acknowledgement': _object(Acknowledgement, *command),
            **{rule.section: _object(rule, *_BESIDE.get(rule, ())) for rule in SENSOR_RULES},
            'operator': _object(Operator, *command),
            'step': step,
        },
    }


def text() -> str:
    """Return the text of its file."""
    return json.dumps(schema(), indent=1, ensure_ascii=False) + '\n'


# Keys --------------------------------------------------------------------------------------------

#: Definitions of what stands in several places.
_DEFINED = {
    FieldSpec: 'policy_field',
    ActionSpec: 'group',
    Feedback: 'feedback',
    Acknowledgement: 'acknowledgement',
    **{rule: rule.section for rule in SENSOR_RULES},
    Operator: 'operator',
    Derived: 'derive',
    Confidence: 'confidence',
    WorldStep: 'step',
}
#: What stands beside the keys of a rule of the gate.
_BESIDE: Mapping[type, tuple[type, ...]] = {
    Obstacle: (Sector, Corridor),
    Workspace: (Paths, Joints, Array),
}
#: Values of several forms, each with keys of its own.
_OF_FORMS = (FieldSpec, Confidence)


def _object(*models: type) -> Schema:
    """Return a section that has the keys of some values."""
    summary = (inspect.getdoc(models[0]) or '').partition('\n\n')[0]
    found = {'description': _plain(summary.replace('``', '`')), **_section()}
    rules: list[Schema] = []
    for model in models:
        for part in keys_of(model):
            if part.key is None or not part.path:
                continue
            *outer, name = part.path.split('.')
            section = found
            if outer:
                section = found['properties'].setdefault(outer[0], _section())
            meaning = ABOUT.get(part.attribute) or meanings_of(model)[part.attribute]
            described = {'description': _plain(meaning)}
            new = {**described, **_value(part)}
            if part.type is Section:
                section['properties'].setdefault(name, _section()).update(described)
                continue
            section['properties'].setdefault(name, new)
            required = part.default is REQUIRED and not part.key.one_of and not part.key.same_as
            if part.key.when:
                rules.append(_when(part.key.when, name, required=required))
            elif required and (outer or (model is models[0] and model not in _OF_FORMS)):
                section['required'].append(name)
    if Array in models:
        shape = parts_of(FieldSpec)['shape']
        meaning = _plain(meanings_of(FieldSpec)['shape'])
        found['properties'].setdefault('shape', {'description': meaning, **_value(shape)})
    if rules:
        found['allOf'] = rules
    return found


def _section() -> Schema:
    return {'type': 'object', 'properties': {}, 'required': [], 'additionalProperties': False}


def _plain(meaning: str) -> str:
    """Return a meaning without links."""
    return re.sub(r'\[([^][]+)\]\([^()]*\)', r'\1', meaning)


def _value(part: Part) -> Schema:
    """Return what a key may hold."""
    key, kind = part.key, part.type
    assert key is not None
    usual = _usual(part)
    if part.attribute in _SPECIAL:
        return _SPECIAL[part.attribute]()
    models = [one for one in models_in(kind) if one is not Section]
    if models:
        defined = _DEFINED.get(models[0])
        if part.attribute == 'privileged':
            defined = 'privileged_field'
        inner = {'$ref': f'#/$defs/{defined}'} if defined else _object(models[0])
        if part.attribute == 'steps':
            return {'type': 'array', 'items': inner, 'minItems': 1}
        return _named(inner, least=int(part.default is REQUIRED)) if key.item else inner
    words = words_of(part)
    if kind == Mapping[str, float]:
        section = _section()
        one = {**_NUMBER, **_range(part)}
        section['properties'] = {w: {'description': 'Seconds.', **one} for w in words}
        return section
    if key.item and words:
        return {'type': 'object', 'additionalProperties': {'enum': list(words)}}
    if words:
        one = {'enum': list(words)}
        return (
            one | usual
            if get_origin(kind) is None
            else _some(one, unique=part.attribute == 'quantities')
        )
    if kind is bool:
        return {'type': 'boolean', **usual}
    if key.shown in (DIMENSION, DIMENSIONS):
        return _DIMENSION if kind is int else _some(_DIMENSION, unique=True)
    if kind is int:
        return {'type': 'integer', **_range(part), **usual}
    if kind is float:
        return _or_words({**_NUMBER, **_range(part)}, part) | usual
    if kind is str:
        return {**_spelt(part), **usual}
    if kind == tuple[str, ...]:
        return _some(_spelt(part), least=int(part.default is REQUIRED or key.spelt is UNIT))
    if kind == tuple[int, ...]:
        return _some(_INDEX, unique=True)
    if kind == Mapping[str, object]:
        return {'type': 'object'}
    number = {**_NUMBER, **_range(part)}
    if key.item:
        return {'type': 'object', 'additionalProperties': _some(number)}
    return _some(_or_words(number, part))


def _reasons() -> Schema:
    return {
        'type': 'object',
        'propertyNames': {'enum': [reason.name.lower() for reason in Reason]},
        'additionalProperties': {'type': 'string'},
    }


_SPECIAL: Mapping[str, Callable[[], Schema]] = {
    'parts': lambda: {
        **_some({'type': 'string'}, least=1),
        'examples': sorted({name for parts in PARTS.values() for name in parts}),
    },
    'polygon': lambda: _POLYGON,
    'keep_out': lambda: _named(_POLYGON, least=1),
    'choices': lambda: _named(_some(_NUMBER), least=2),
    'levels': lambda: {
        'type': 'array',
        'items': {'type': 'array', 'items': _NUMBER, 'minItems': 2},
    },
    'on_stop': _reasons,
    'function': lambda: {'enum': list(FUNCTIONS)},
    'rotation': lambda: {'type': 'array', 'items': _DIMENSION, 'minItems': 4, 'maxItems': 4},
    'scale_together': lambda: {'type': 'array', 'items': _DIMENSION, 'minItems': 2},
    'shape': lambda: _some({**_NUMBER, 'minimum': 1}, least=1),
}


def _usual(part: Part) -> Schema:
    default = part.default
    if isinstance(default, Enum):
        return {'default': spelt(default)}
    if part.key is not None and part.key.words and isinstance(default, bool):
        return {'default': part.key.words[default]}
    plain = isinstance(default, (str, int, float)) and default != ''
    return {'default': default} if plain else {}


def _range(part: Part) -> Schema:
    key = part.key
    assert key is not None
    whole = int if part.type is int else float
    found = {'exclusiveMinimum': key.above, 'minimum': key.least, 'maximum': key.most}
    return {name: whole(bound) for name, bound in found.items() if not math.isinf(bound)}


def _spelt(part: Part) -> Schema:
    grammar = part.key.spelt if part.key is not None else None
    if grammar is None or grammar is UNIT:
        return {'type': 'string'}
    if grammar is WORD:
        return {'type': 'string', 'pattern': r'\S'}
    return {'$ref': f'#/$defs/{grammar.name.replace(" ", "_")}'}


def _grammars() -> Schema:
    """Return how names, topics, types and paths are spelt."""
    found: Schema = {
        grammar.name.replace(' ', '_'): {
            'description': f'{grammar.expected[0].upper()}{grammar.expected[1:]}.',
            'type': 'string',
            'pattern': f'^{grammar.pattern}$',
        }
        for grammar in (NAME, VERSION, TOPIC, SERVICE, TYPE, SERVICE_TYPE, PATH)
    }
    found['message_type']['examples'] = sorted({*PARTS, *ARRAYS, *_READY})
    return found


_READY = (IMAGE, COMPRESSED, SCAN, CLOUD, JOINTS, TRAJECTORY)


def _or_words(number: Schema, part: Part) -> Schema:
    assert part.key is not None
    words = part.key.words
    return {'anyOf': [{'enum': list(words)}, number]} if words else number


def _some(one: Schema, *, least: int = 0, unique: bool = False) -> Schema:
    """Return one value, or a list of them."""
    several: Schema = {'type': 'array', 'items': one}
    if least:
        several['minItems'] = least
    if unique:
        several['uniqueItems'] = True
    return {'anyOf': [one, several]}


def _named(inner: Schema, *, least: int = 0) -> Schema:
    """Return values by names of the user's choice."""
    found = {
        'type': 'object',
        'propertyNames': {'pattern': f'^{NAME.pattern}$'},
        'additionalProperties': inner,
    }
    return {**found, 'minProperties': least} if least else found


def _has(*keys: str) -> Schema:
    return {'required': list(keys)}


def _no(*keys: str) -> Schema:
    return {'properties': dict.fromkeys(keys, False)}


def _when(when: tuple[str, ...], name: str, *, required: bool) -> Schema:
    """Return that a key is there with some words of another, and with no others."""
    other, *words = when
    there = {'properties': {other: {'enum': words}}, **_has(*(() if '' in words else (other,)))}
    return {'if': there, 'then': _has(name) if required else {}, 'else': _no(name)}
