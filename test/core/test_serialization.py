# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Records as JSON and as messages: nothing is lost, and they are what the .msg files say."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import IntEnum
from functools import cache
import json
import math
import re
from types import UnionType
import typing
from typing import Any, NamedTuple, Union

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from boundary_env_ros.core.contract.space_fields import SpaceKind
from boundary_env_ros.core.records import endings
from boundary_env_ros.core.records.decision import (
    ActionRequest,
    ForeignPublishers,
    GateDecision,
    GateState,
    GateStatus,
    Measurement,
    Reason,
    RuleInput,
    RuleResult,
    RuntimeLimits,
    SentCommand,
    Source,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.records.environment_event import EventKind
from boundary_env_ros.core.records.episode import EpisodeLabel, EpisodeState, EpisodeStatus
from boundary_env_ros.core.records.latency import Latency, LatencyStage
from boundary_env_ros.core.records.lockstep import SimStepRequest, SimStepResponse
from boundary_env_ros.core.records.observation import (
    FieldStatus,
    ImageReference,
    Observation,
    ObservationField,
)
from boundary_env_ros.core.records.parts import NamedValues, Pacing, StepId
from boundary_env_ros.core.records.transition import (
    ActuationEvidence,
    Kind,
    PrivilegedObservation,
    ResetRecord,
    RewardTerm,
    Transition,
)
from boundary_env_ros.core.serialization import from_json, to_json, Unlike
from boundary_env_ros.core.timebase import Clock, ClockReading, RosTime, Stamp
from boundary_env_ros.errors import RecordError
from support.core_world import Message, MESSAGES
from support.record_messages import from_message, to_message

#: Every record that has a message of its own in msg/.
RECORDS: tuple[type, ...] = (
    ActionRequest, ActuationEvidence, EpisodeLabel, EpisodeStatus, ForeignPublishers, RuleInput,
    PrivilegedObservation, GateDecision, GateStatus, ImageReference, ClockReading, Latency,
    LatencyStage, Measurement, NamedValues, Observation, ObservationField, ResetRecord, RewardTerm,
    RuleResult, SentCommand, Stamp, StepId, RuntimeLimits, Transition, SimStepRequest,
    SimStepResponse,
)  # fmt: skip
each_record = pytest.mark.parametrize('cls', RECORDS, ids=lambda cls: cls.__name__)


# The .msg files, read independently of ROS -------------------------------------------------------


class MsgField(NamedTuple):
    """One field of a message: its type without bounds, and whether it is an array, a fixed one."""

    type: str
    array: bool
    fixed: bool


class Msg(NamedTuple):
    """A parsed .msg file."""

    fields: dict[str, MsgField]
    constants: dict[str, str]


def parse_msg(name: str) -> Msg:
    """Return fields and constants of one message of the package."""
    found, constants = {}, {}
    for line in (MESSAGES / f'{name}.msg').read_text(encoding='utf-8').splitlines():
        text = line.split('#')[0].strip()
        if not text:
            continue
        constant = re.fullmatch(r'(\w+)\s+([A-Z][A-Z0-9_]*)\s*=\s*(\S+)', text)
        if constant:
            constants[constant[2]] = constant[3]
            continue
        field = re.fullmatch(r'([\w/]+)(\[(?:<=)?\d*\])?\s+([a-z]\w*)', text)
        assert field, f'{name}.msg: {line!r} is neither a field nor a constant'
        found[field[3]] = MsgField(
            field[1], bool(field[2]), bool(re.fullmatch(r'\[\d+\]', field[2] or ''))
        )
    return Msg(found, constants)


NUMBERS = {'float64', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64', 'bool', 'string'}
OTHERS = {
    'std_msgs/Header': Msg({'stamp': MsgField('builtin_interfaces/Time', False, False),
                            'frame_id': MsgField('string', False, False)}, {}),
    'builtin_interfaces/Time': Msg({'sec': MsgField('int32', False, False),
                                    'nanosec': MsgField('uint32', False, False)}, {}),
    'diagnostic_msgs/KeyValue': Msg({'key': MsgField('string', False, False),
                                     'value': MsgField('string', False, False)}, {}),
}  # fmt: skip


def empty_message(type_name: str) -> Message:
    """Return a message like those of ROS: every field there, and no other may be set."""
    parsed = OTHERS.get(type_name) or parse_msg(type_name.removeprefix('boundary_env_ros/'))

    def default(field: MsgField) -> object:
        if field.fixed:
            return np.zeros(32, dtype=np.uint8)
        if field.array:
            return []
        if field.type in NUMBERS:
            return {'string': '', 'bool': False, 'float64': 0.0}.get(field.type, 0)
        return empty_message(field.type)

    class Strict(Message):
        __slots__ = ()

        def __setattr__(self, name: str, value: object) -> None:
            if name not in parsed.fields:
                raise AttributeError(f'{type_name} has no field {name!r}')
            object.__setattr__(self, name, value)

    return Strict(**{name: default(field) for name, field in parsed.fields.items()})


def factory(cls: type) -> Message:
    foreign = {'KeyValue': 'diagnostic_msgs/KeyValue', 'RosTime': 'builtin_interfaces/Time'}
    return empty_message(foreign.get(cls.__name__, cls.__name__))


# Any record, from its type hints -----------------------------------------------------------------

texts = st.text(alphabet=st.characters(codec='utf-8', exclude_characters='\x00'), max_size=8)
any_float = st.floats(allow_nan=True, allow_infinity=True)
known_float = st.floats(allow_nan=False, allow_infinity=True)


def strategy(hint: Any) -> st.SearchStrategy[Any]:
    """Return values of a hint, as a record holds them and a message can carry them."""
    if typing.get_origin(hint) in (Union, UnionType):
        inner = next(a for a in typing.get_args(hint) if a is not type(None))
        # NaN is how a message says None, so a known number is not NaN.
        known = known_float if inner is float else strategy(inner)
        return st.none() | known
    if typing.get_origin(hint) is tuple:
        return st.lists(strategy(typing.get_args(hint)[0]), max_size=2).map(tuple)
    if hint is RosTime:
        return st.integers(min_value=0, max_value=(2**31 - 1) * 10**9)
    if isinstance(hint, type) and issubclass(hint, IntEnum):
        return st.sampled_from(list(hint))
    if is_dataclass(hint):
        return records(typing.cast(type, hint))
    return {
        float: any_float,
        int: st.integers(min_value=0, max_value=2**31 - 1),
        str: texts,
        bool: st.booleans(),
        bytes: st.binary(max_size=4),
    }[hint]


@cache
def records(cls: type) -> st.SearchStrategy[Any]:
    """Return records of a class."""
    hints = typing.get_type_hints(cls)
    chosen = {f.name: strategy(hints[f.name]) for f in fields(cls)}
    if 'sha256' in chosen:
        chosen['sha256'] = st.binary(min_size=32, max_size=32)
    return st.builds(cls, **chosen)


def same(one: Any, other: Any) -> bool:
    """Return whether two values are equal and of one type, NaN being equal to NaN."""
    if is_dataclass(one):
        return type(one) is type(other) and all(
            same(getattr(one, f.name), getattr(other, f.name)) for f in fields(one)
        )
    if isinstance(one, tuple):
        return isinstance(other, tuple) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and math.isnan(one):
        return isinstance(other, float) and math.isnan(other)
    return type(one) is type(other) and bool(one == other)


@each_record
@given(data=st.data())
def test_every_record_survives_json(cls: type, data: st.DataObject) -> None:
    record = data.draw(records(cls))
    text = json.dumps(to_json(record), allow_nan=False)
    assert same(from_json(cls, json.loads(text)), record)


@each_record
@given(data=st.data())
def test_every_record_survives_its_message(cls: type, data: st.DataObject) -> None:
    record = data.draw(records(cls))
    assert same(from_message(cls, to_message(record, factory)), record)


def test_the_json_keys_are_the_fields_of_the_record_in_order() -> None:
    for cls in RECORDS:
        assert list(to_json(_one(cls)[0])) == [f.name for f in fields(cls)]


def _one(cls: type) -> list[Any]:
    found: list[Any] = []

    @settings(max_examples=1, database=None)
    @given(records(cls))
    def draw(record: Any) -> None:
        found.append(record)

    draw()
    return found


# Special values ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('value', 'json_form'),
    [(math.nan, 'nan'), (math.inf, 'inf'), (-math.inf, '-inf'), (-0.0, -0.0)],
)
def test_numbers_that_json_has_not_are_words(value: float, json_form: object) -> None:
    written = to_json(RewardTerm(name='progress', value=value))
    assert written == {'name': 'progress', 'value': json_form}
    assert same(from_json(RewardTerm, json.loads(json.dumps(written))).value, value)


def test_unknown_is_null_in_json_and_nan_in_a_message_but_never_zero() -> None:
    stage = LatencyStage()
    assert to_json(stage)['duration'] is None
    message = to_message(stage, factory)
    assert math.isnan(message.duration)
    assert from_message(LatencyStage, message).duration is None


def test_an_unknown_instant_is_the_unknown_clock_in_a_message() -> None:
    request = ActionRequest(
        id=StepId(digest='d', agent='cart', episode_id=''),
        lease_id='l', sequence=1, action=(0.5,),
        observed=None, delivered=None, requested=None,
    )  # fmt: skip
    message = to_message(request, factory)
    assert message.observed.ros.clock == 0
    assert from_message(ActionRequest, message).observed is None


def test_a_known_zero_stays_a_known_zero() -> None:
    stamp = Stamp(clock=Clock.ROS, nanoseconds=0)
    measurement = Measurement(name='obstacle.scan', topic='/scan', captured=stamp, age=0.0)
    assert from_message(Measurement, to_message(measurement, factory)) == measurement
    assert from_json(Measurement, to_json(measurement)) == measurement


def test_a_verdict_that_never_came_is_zero_in_a_message_and_null_in_json() -> None:
    transition = _one(Transition)[0]
    without = type(transition)(
        **{f.name: getattr(transition, f.name) for f in fields(Transition) if f.name != 'verdict'}
    )
    assert to_message(without, factory).verdict == 0
    assert to_json(without)['verdict'] is None


def test_a_time_of_a_message_is_split_without_loss() -> None:
    advance = SimStepRequest(
        id=StepId(digest='d', agent='cart', episode_id=''),
        duration=1,
        command_stamp=RosTime(1_700_000_000_123_456_789),
    )
    message = to_message(advance, factory)
    assert (message.command_stamp.sec, message.command_stamp.nanosec) == (
        1_700_000_000,
        123_456_789,
    )


# Errors name the place ---------------------------------------------------------------------------


HUGE = 10**400


def written_decision() -> dict[str, Any]:
    """Return the JSON form of a decision with something in every list."""
    stamp = Stamp(clock=Clock.SYSTEM, nanoseconds=1, host='robot')
    decision = GateDecision(
        id=StepId(digest='d', agent='cart', episode_id=''),
        sequence=1,
        verdict=Verdict.LIMITED,
        inputs=RuleInput(
            trigger=Trigger.REQUEST,
            time_step=0.1,
            measurements=(Measurement(name='obstacle.scan', topic='/scan', captured=stamp),),
        ),
        decided=ClockReading(ros=stamp, steady=1),
        command=(0.5, 0.0),
        rules=(RuleResult(rule='rate', outcome=Verdict.LIMITED, reason=Reason.RATE_LIMIT),) * 2,
    )
    return typing.cast(dict[str, Any], to_json(decision))


@pytest.mark.parametrize(
    ('path', 'value', 'message'),
    [
        (('sequence',), '1', r"\.sequence: expected a value of type int, got '1'\."),
        (('sequence',), True, r'\.sequence: expected a value of type int, got True'),
        (('inputs', 'seeded'), 1, r'\.inputs\.seeded: expected a value of type bool, got 1'),
        (('software_version',), None, r'\.software_version: expected a value of type str'),
        (('verdict',), 'ALLOWED', r'GateDecision\.verdict: expected one of ADMITTED, .*REJECTED'),
        (('verdict',), 2, r'GateDecision\.verdict: expected one of ADMITTED'),
        (('command', 1), 'fast', r'\.command\[1\]: expected a number, "nan", "inf" or "-inf"'),
        (('command', 1), True, r'GateDecision\.command\[1\]: expected a number'),
        (('command', 1), None, r'GateDecision\.command\[1\]: expected a number'),
        (('command', 1), HUGE, r'\.command\[1\]: expected a number that a float64 can hold'),
        (('command',), 0.5, r'GateDecision\.command: expected a list, got 0\.5'),
        (('rules', 1), [], r'GateDecision\.rules\[1\]: expected an object \(RuleResult\)'),
        (('rules', 1, 'reason'), 'NONE', r'\.rules\[1\]\.reason: expected one of NOT_FINITE'),
        (('inputs', 'measurements', 0, 'captured', 'clock'), 'GPS', r'\.clock: expected one'),
        (('id',), None, r'GateDecision\.id: expected an object \(StepId\), got None'),
    ],
    ids=lambda value: None if isinstance(value, str) else repr(value)[:24],
)  # fmt: skip
def test_a_wrong_value_is_refused_by_its_path(
    path: tuple[Any, ...], value: object, message: str
) -> None:
    data = written_decision()
    target: Any = data
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    with pytest.raises(RecordError, match=message):
        from_json(GateDecision, data)


def test_a_key_that_may_be_lacking_is_unknown_and_counted() -> None:
    data, unlike = written_decision(), Unlike()
    for rule in data['rules']:
        del rule['limit'], rule['unit']
    del data['command'], data['runtime_limits']
    read = from_json(GateDecision, data, unlike=unlike)
    assert [(rule.limit, rule.unit) for rule in read.rules] == [(None, '')] * 2
    assert (read.command, read.runtime_limits) == ((), RuntimeLimits())
    expected = {'RuleResult.limit': 2, 'RuleResult.unit': 2}
    expected |= {'GateDecision.command': 1, 'GateDecision.runtime_limits': 1}
    assert (unlike.unknown, unlike.passed_over) == (expected, {})


def test_what_is_unknown_is_never_zero() -> None:
    stage = from_json(LatencyStage, {}, unlike=Unlike())
    assert (stage.duration, stage.clock_offset, stage.uncertainty) == (None, None, None)
    data = to_json(_one(Transition)[0])
    del data['reward']
    assert math.isnan(from_json(Transition, data, unlike=Unlike()).reward)


@pytest.mark.parametrize('key', ['sequence', 'inputs', 'verdict', 'decided', 'id'])
def test_a_key_without_which_a_record_means_nothing_is_refused_by_its_path(key: str) -> None:
    data = written_decision()
    del data[key]
    with pytest.raises(
        RecordError, match=rf"^line 7 cannot be read \(expected the field '{key}', .*, got none\)"
    ):
        from_json(GateDecision, data, 'line 7')


def test_in_this_format_no_key_is_lacking_and_none_too_many() -> None:
    data = written_decision()
    data['id']['run'] = 7
    with pytest.raises(RecordError, match=r"^GateDecision\.id cannot be read .* got 'run'\)"):
        from_json(GateDecision, data)
    del data['id']['run'], data['rules'][1]['limit']
    with pytest.raises(RecordError, match=r"^GateDecision\.rules\[1\] cannot .* field 'limit', "):
        from_json(GateDecision, data)


def test_an_unknown_key_is_passed_over_and_counted() -> None:
    data, unlike = written_decision(), Unlike()
    data['id']['run'] = 7
    assert from_json(GateDecision, data, unlike=unlike).id == StepId(
        digest='d', agent='cart', episode_id=''
    )
    assert (unlike.unknown, unlike.passed_over) == ({}, {'StepId.run': 1})


def test_a_long_wrong_value_is_cut_in_the_message() -> None:
    with pytest.raises(RecordError) as caught:
        from_json(RewardTerm, {'name': ['x' * 1000], 'value': 1.0})
    assert len(str(caught.value)) < 150


@pytest.mark.parametrize('text', ['zz', 'abc', 5, None])
def test_bytes_are_hexadecimal_digits_or_refused(text: object) -> None:
    data = to_json(_one(ImageReference)[0])
    data['sha256'] = text
    with pytest.raises(RecordError, match=r'ImageReference\.sha256: expected hexadecimal digits'):
        from_json(ImageReference, data)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(data=st.data(), garbage=json_values)
def test_no_garbage_raises_anything_but_a_record_error(data: st.DataObject, garbage: Any) -> None:
    written = written_decision()
    target: Any = written
    for _ in range(data.draw(st.integers(min_value=1, max_value=4))):
        key = data.draw(
            st.sampled_from(sorted(target) if isinstance(target, dict) else [*range(len(target))])
        )
        if isinstance(target[key], (dict, list)) and target[key] and data.draw(st.booleans()):
            target = target[key]
            continue
        target[key] = garbage
        break
    try:
        assert isinstance(from_json(GateDecision, written), GateDecision)
    except RecordError as error:
        assert 'GateDecision' in str(error)  # noqa: PT017 - both outcomes are right


def test_a_message_without_a_field_is_refused() -> None:
    message = to_message(RewardTerm(name='progress', value=1.0), factory)
    del message.value
    with pytest.raises(RecordError, match='does not have the fields of RewardTerm') as caught:
        from_message(RewardTerm, message)
    assert 'another version of this package' in str(caught.value)


def test_a_message_with_an_unknown_constant_is_refused() -> None:
    message = to_message(_one(RuleResult)[0], factory)
    message.reason = 99
    with pytest.raises(RecordError, match='does not have the fields of RuleResult'):
        from_message(RuleResult, message)


def test_the_header_of_a_message_is_passed_over() -> None:
    message = to_message(_one(PrivilegedObservation)[0], factory)
    message.header = None
    assert isinstance(from_message(PrivilegedObservation, message), PrivilegedObservation)


# The dataclasses are the messages ----------------------------------------------------------------


def test_a_record_has_the_fields_of_its_message_in_their_types() -> None:
    wrong = []
    for cls in RECORDS:
        hints = typing.get_type_hints(cls)
        declared = parse_msg(cls.__name__).fields
        declared.pop('header', None)
        assert {f.name for f in fields(cls)} == set(declared), cls
        for name, field in declared.items():
            if not fits(hints[name], field):
                wrong.append(f'{cls.__name__}.{name}: {hints[name]} is no {field}')
    assert wrong == []


def fits(hint: Any, field: MsgField) -> bool:
    """Return whether a message field can carry what a hint says, by the table of the module."""
    if typing.get_origin(hint) in (Union, UnionType):
        inner = next(a for a in typing.get_args(hint) if a is not type(None))
        if inner in (Stamp, ClockReading) or not is_dataclass(inner):
            return fits(inner, field)
        return field.array and fits(inner, field._replace(array=False))
    if typing.get_origin(hint) is tuple:
        return field.array and fits(typing.get_args(hint)[0], field._replace(array=False))
    if hint is bytes:
        return field.array and field.type == 'uint8'
    if field.array:
        return False
    if hint is RosTime:
        return field.type == 'builtin_interfaces/Time'
    if is_dataclass(hint):
        return field.type.rsplit('/', 1)[-1] == typing.cast(type, hint).__name__
    if isinstance(hint, type) and issubclass(hint, IntEnum):
        bits = int(field.type.removeprefix('uint'))
        return all(0 < member < 2**bits for member in hint)
    if hint is int:
        return field.type in ('int32', 'int64', 'uint32', 'uint64')
    return field.type == {float: 'float64', str: 'string', bool: 'bool'}[hint]


def test_every_message_that_holds_a_record_is_mirrored() -> None:
    """The rest are messages of the nodes; a new message must be put into one of the two lists."""
    of_the_nodes = {
        'Affordance',
        'ContractDescription',
        'EnvironmentEvent',
        'RecordChain',
        'RecorderStatus',
        'Result',
        'SpaceField',
    }
    there = {file.stem for file in MESSAGES.glob('*.msg')}
    assert there - of_the_nodes == {cls.__name__ for cls in RECORDS}


@pytest.mark.parametrize(
    ('enum', 'message', 'prefix'),
    [
        (Clock, 'Stamp', 'CLOCK_'),
        (Reason, 'RuleResult', 'REASON_'),
        (Verdict, 'GateDecision', ''),
        (Trigger, 'RuleInput', 'TRIGGER_'),
        (GateState, 'GateStatus', ''),
        (EpisodeState, 'EpisodeStatus', ''),
        (FieldStatus, 'ObservationField', ''),
        (Source, 'ActionRequest', 'SOURCE_'),
        (Kind, 'Transition', 'KIND_'),
        (EventKind, 'EnvironmentEvent', 'KIND_'),
        (SpaceKind, 'SpaceField', 'KIND_'),
        (Pacing, 'Transition', 'PACING_'),
    ],
)
def test_an_enum_has_the_constants_of_its_message(
    enum: type[IntEnum], message: str, prefix: str
) -> None:
    constants = parse_msg(message).constants
    others = ('ENDING_',) if not prefix else ()
    declared = {
        name.removeprefix(prefix): int(value)
        for name, value in constants.items()
        if name.startswith(prefix) and not name.startswith(others)
    }
    # Zero is how a message says None: the clock has a word for it, the others need none.
    assert declared.pop('UNKNOWN', 0) == 0
    assert {member.name: member.value for member in enum} == declared


def test_the_built_in_endings_are_the_constants_of_the_message() -> None:
    constants = parse_msg('EpisodeStatus').constants
    declared = {value for name, value in constants.items() if name.startswith('ENDING_')}
    assert set(endings.BUILT_IN) == declared
    assert all(
        name == f'ENDING_{value.upper()}'
        for name, value in constants.items()
        if name.startswith('ENDING_')
    )


def test_every_reason_has_its_text() -> None:
    assert len({reason.text for reason in Reason}) == len(Reason)
