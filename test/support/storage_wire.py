# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Records as serialized messages without ROS, by the independent implementation of rosbags.

The types come from the package's own ``.msg`` files, as any other reader would get them.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import IntEnum
from functools import cache
from pathlib import Path
import typing

from hypothesis import strategies as st
import numpy as np
from rosbags.typesys import get_types_from_msg, get_typestore, Stores

from boundary_env_ros.core.records.decision import (
    ActionRequest,
    GateDecision,
    GateStatus,
    Measurement,
    Reason,
    RuleInput,
    RuleResult,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.records.lockstep import SimStepRequest, SimStepResponse
from boundary_env_ros.core.records.observation import (
    FieldStatus,
    ImageReference,
    Observation,
    ObservationField,
)
from boundary_env_ros.core.records.parts import Pacing, StepId
from boundary_env_ros.core.records.transition import Kind, RewardTerm, Transition
from boundary_env_ros.core.timebase import Clock, ClockReading, RosTime, Stamp
from support.record_messages import to_message

#: What nodes send each other, besides what a bag is read for.
EXCHANGED = (ActionRequest, GateStatus, Observation, SimStepRequest, SimStepResponse)
MESSAGES = Path(__file__).parents[2] / 'msg'
DIGEST = 'sha256:' + 'ab' * 32
EPISODE = '0d6f6f3e-7d0c-4a55-8e42-0d0f3c1f9c11'
HOST = 'robot'
BEGIN = 1_700_000_000_000_000_000
PERIOD = 100_000_000

_FOREIGN = {
    'KeyValue': 'diagnostic_msgs/msg/KeyValue',
    'RosTime': 'builtin_interfaces/msg/Time',
}


@cache
def typestore() -> typing.Any:
    store = get_typestore(Stores.ROS2_JAZZY)
    for file in sorted(MESSAGES.glob('*.msg')):
        store.register(get_types_from_msg(file.read_text(), f'boundary_env_ros/msg/{file.stem}'))
    return store


def definition(type_name: str) -> tuple[str, str]:
    """Return text and hash of a type as rosbags makes them."""
    text, _ = typestore().generate_msgdef(type_name, ros_version=2)
    return text, typestore().hash_rihs01(type_name)


def type_of(cls: type) -> str:
    return _FOREIGN.get(cls.__name__, f'boundary_env_ros/msg/{cls.__name__}')


def cdr(record: object) -> bytes:
    """Return a record as its message on the wire."""
    message = to_message(record, lambda cls: _empty(type_of(cls)))
    _typed_arrays(message)
    return bytes(typestore().serialize_cdr(message, message.__msgtype__))


def message_cdr(type_name: str, **values: object) -> bytes:
    """Return any other message, with what is not given left empty, on the wire."""
    message = _empty(type_name)
    for name, value in values.items():
        setattr(message, name, value)
    _typed_arrays(message)
    return bytes(typestore().serialize_cdr(message, type_name))


@cache
def _fields(type_name: str) -> tuple[tuple[str, int, typing.Any], ...]:
    found = typestore().get_msgdef(type_name).fields
    return tuple((name, int(kind), detail) for name, (kind, detail) in found)


def _empty(type_name: str) -> typing.Any:
    values = {name: _default(kind, detail) for name, kind, detail in _fields(type_name)}
    return typestore().types[type_name](**values)


def _default(kind: int, detail: typing.Any) -> typing.Any:
    if kind == 1:
        base = detail[0]
        return {'string': '', 'bool': False}.get(base, 0.0 if base.startswith('float') else 0)
    if kind == 2:
        return _empty(detail)
    if kind == 4:
        return []
    (element, inner), count = detail
    if int(element) == 1 and inner[0] != 'string':
        return np.zeros(count, np.dtype(inner[0]))
    return [_default(int(element), inner) for _ in range(count)]


def _typed_arrays(message: typing.Any) -> None:
    for name, kind, detail in _fields(message.__msgtype__):
        value = getattr(message, name)
        if kind == 2:
            _typed_arrays(value)
        elif kind > 2:
            element, inner = detail[0]
            if int(element) == 2:
                for item in value:
                    _typed_arrays(item)
            elif inner[0] != 'string':
                setattr(message, name, np.array(value, np.dtype(inner[0])))


def stamp(nanoseconds: int = BEGIN) -> Stamp:
    return Stamp(clock=Clock.SYSTEM, nanoseconds=nanoseconds, host=HOST)


def instant(nanoseconds: int = BEGIN) -> ClockReading:
    return ClockReading(ros=stamp(nanoseconds), steady=nanoseconds - BEGIN + 5_000_000_000)


def step_id(step: int) -> StepId:
    return StepId(digest=DIGEST, agent='cart', episode_id=EPISODE, step=step)


def observation(at: int) -> tuple[ObservationField, ...]:
    low_dimensional = tuple(
        ObservationField(
            name=name,
            status=FieldStatus.FRESH,
            values=tuple(0.25 * i for i in range(size)),
            captured=stamp(at),
            published=stamp(at + 1),
            arrived=stamp(at + 2),
            age=0.03,
            source=f'/cart/{name}',
            frame_id='odom',
        )
        for name, size in (('pose', 3), ('velocity', 2), ('goal', 2), ('imu', 6), ('scan', 36))
    )
    front = ObservationField(
        name='front',
        status=FieldStatus.FRESH,
        captured=stamp(at),
        age=0.03,
        source='/cart/camera/image_raw',
        image=ImageReference(
            topic='/cart/camera/image_raw',
            stamp=RosTime(at),
            height=96,
            width=96,
            encoding='rgb8',
            sha256=bytes(range(32)),
        ),
    )
    return (*low_dimensional, front)


def decision(step: int) -> GateDecision:
    at = BEGIN + step * PERIOD
    return GateDecision(
        id=step_id(step),
        sequence=step,
        verdict=Verdict.LIMITED,
        request=ActionRequest(
            id=step_id(step),
            lease_id='lease',
            sequence=step,
            action=(0.5, 0.25),
            observed=instant(at),
            delivered=instant(at),
            requested=instant(at),
            client='policy',
        ),
        received=instant(at),
        decided=instant(at),
        commanded=instant(at),
        admitted_action=(0.25, 0.25),
        command=(0.25, 0.25),
        rules=(
            RuleResult(
                rule='rate',
                outcome=Verdict.LIMITED,
                reason=Reason.RATE_LIMIT,
                dimension=0,
                before=0.5,
                after=0.25,
                value=2.5,
                limit=0.5,
                unit='m/s',
            ),
        ),
        inputs=RuleInput(
            trigger=Trigger.REQUEST,
            time_step=0.1,
            previous_command=(0.2, 0.25),
            previous_rate=(0.0, 0.0),
            lease_id='lease',
            since_request=0.1,
            measurements=(
                Measurement(name='scan', topic='/cart/scan', values=(1.25,), captured=stamp(at)),
            ),
        ),
    )


def transition(step: int) -> Transition:
    """Return a step as the warehouse cart makes them."""
    at = BEGIN + step * PERIOD
    return Transition(
        contract='warehouse_cart',
        contract_version='1.0.0',
        software_version='0.1.0',
        client_version='0.1.0',
        id=step_id(step),
        kind=Kind.STEP if step else Kind.RESET,
        pacing=Pacing.REALTIME,
        seed=7,
        before=observation(at - PERIOD),
        after=observation(at),
        closed=instant(at),
        admitted_action=(0.25, 0.25),
        commanded_action=(0.25, 0.25),
        measured_action=(0.2, 0.25),
        measured_at=stamp(at),
        verdict=Verdict.LIMITED,
        decisions=(decision(step),),
        decision=0,
        reward=0.5,
        reward_terms=(RewardTerm(name='progress', value=0.5),),
        captured=stamp(at),
        opened=instant(at - PERIOD),
        commanded=instant(at),
    )


# Any record whatever, from the type hints of its class -------------------------------------------

_TEXT = st.text(st.characters(exclude_categories=('Cs',), exclude_characters='\0'), max_size=8)
_SIGNED = st.integers(-(2**63), 2**63 - 1)


@cache
def records(cls: type) -> st.SearchStrategy[typing.Any]:
    """Return a strategy for the records of a class that a message can hold."""
    hints = typing.get_type_hints(cls)
    return st.builds(cls, **{f.name: _values(f.name, hints[f.name]) for f in fields(cls)})


def _values(name: str, hint: typing.Any) -> st.SearchStrategy[typing.Any]:
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) is tuple:
        return st.lists(_values('', arguments[0]), max_size=2).map(tuple)
    if type(None) in arguments:
        return st.none() | _values('', arguments[0])
    if is_dataclass(hint):
        return records(hint)
    if isinstance(hint, type) and issubclass(hint, IntEnum):
        return st.sampled_from(hint)
    if name == 'sha256':
        return st.binary(min_size=32, max_size=32)
    if name in ('nanoseconds', 'steady', 'received_steady'):
        return _SIGNED
    if hint is RosTime:
        return st.integers(-(2**31) * 10**9, 2**31 * 10**9 - 1)
    return {
        bool: st.booleans(),
        int: st.integers(0, 2**31 - 1),
        float: st.floats(allow_nan=False),
        str: _TEXT,
        bytes: st.binary(max_size=9),
    }[hint]
