# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Spaces that are true: whatever is delivered is in them, whatever contract they follow from."""

from __future__ import annotations

import struct
from typing import Any

from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from boundary_env_ros.core.contract.model import ActionKind, Contract, FieldSpec, OutOfBounds
from boundary_env_ros.core.contract.sources import ENCODINGS, Picture
from boundary_env_ros.core.environment.freezing import freeze, is_lost
from boundary_env_ros.core.records.observation import FieldStatus, ObservationField
from boundary_env_ros.core.sources.images import decode, within_bounds
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.errors import InvalidAction, LinkError
from boundary_env_ros.facade.spaces import action_vector, observation_values
from boundary_env_ros.storage.contract_spaces import action_space, field_space, observation_space
from support.contract_strategies import chunks, contracts, samples
from support.core_messages import image as image_message
from support.core_world import rich, shipped, Timepiece

TIME = Timepiece()


# Observations ------------------------------------------------------------------------------------


def pixels_of(spec: FieldSpec, data: st.DataObject) -> Any:
    """Draw pixels of an image as its encoding may hold them, and deliver them as a world does."""
    assert isinstance(spec.source, Picture)
    channels, dtype = ENCODINGS[spec.source.encoding]
    count = spec.shape[0] * spec.shape[1] * channels
    raw = data.draw(
        st.binary(
            min_size=count * np.dtype(dtype).itemsize, max_size=count * np.dtype(dtype).itemsize
        )
    )
    if spec.source.compressed:
        return within_bounds(spec, np.frombuffer(raw, dtype).reshape(spec.shape))
    height, width = spec.shape[:2]
    return decode(spec, image_message(height, width, raw, encoding=spec.source.encoding))


def frozen(
    contract: Contract, found: dict[str, Reading], past: tuple[Any, ...] = ()
) -> tuple[ObservationField, ...]:
    specs = (*contract.observation, *contract.state)
    sources = {spec.name: f'/{spec.topic}' for spec in specs}
    return freeze(specs, found, sources, observed=TIME.now, past=past)


@given(st.data())
def test_whatever_comes_what_is_delivered_is_in_the_space(data: st.DataObject) -> None:
    contract = data.draw(contracts())
    space = observation_space(contract)
    count = len(contract.observation)
    past: tuple[Any, ...] = ()
    for _ in range(data.draw(st.integers(1, 4))):
        fields = frozen(contract, dict(data.draw(samples(contract, TIME))), past)
        images = {
            spec.name: pixels_of(spec, data) for spec in contract.observation if spec.is_image
        }
        if any(
            field.status is FieldStatus.MISSING
            for spec, field in zip(contract.observation, fields, strict=False)
            if not spec.is_image
        ):
            with pytest.raises(LinkError, match='The field .* has no value'):
                observation_values(contract, fields[:count], images)
        else:
            values = observation_values(contract, fields[:count], images)
            for name, value in values.items():
                assert space[name].contains(value), (name, value, space[name])
            assert space.contains(values)
        past = (*past, {field.name: field.values for field in fields if field.values})[-3:]


@given(st.data())
def test_what_was_out_of_bounds_is_declared(data: st.DataObject) -> None:
    contract = data.draw(contracts(images=False))
    found = dict(data.draw(samples(contract, TIME)))
    specs = (*contract.observation, *contract.state)
    fields = frozen(contract, found)
    for spec, field in zip(specs, fields, strict=True):
        if spec.derived is not None:
            assert not field.clipped, f'{spec.name} left its space, which follows from its inputs'
            continue
        sample = found.get(spec.name)
        if sample is None:
            assert (field.status, field.values, field.clipped) == (FieldStatus.MISSING, (), False)
            continue
        inside = all(
            low <= value <= high
            for low, value, high in zip(spec.low, sample.values, spec.high, strict=True)
        )
        assert field.clipped is not inside
        if inside:
            assert field.values == sample.values
        elif spec.out_of_bounds is OutOfBounds.TRUNCATE:
            assert is_lost(spec, field)


@given(st.data())
def test_every_value_of_the_state_is_in_its_bounds_too(data: st.DataObject) -> None:
    contract = data.draw(contracts(images=False))
    fields = frozen(contract, dict(data.draw(samples(contract, TIME))))
    for spec, field in zip(contract.state, fields[len(contract.observation) :], strict=True):
        if field.values:
            assert field_space(spec).contains(
                np.asarray(field.values, dtype=spec.dtype).reshape(spec.shape)
            )


@given(contract=contracts())
def test_the_space_of_any_contract_needs_no_robot_and_holds_its_own_samples(
    contract: Contract,
) -> None:
    space = observation_space(contract)
    assert list(space.spaces) == [spec.name for spec in contract.observation]
    for spec in contract.observation:
        box = space[spec.name]
        assert (box.shape, box.dtype) == (spec.shape, np.dtype(spec.dtype))
    assert space.contains(space.sample())
    assert action_space(contract).contains(action_space(contract).sample())


@pytest.mark.parametrize('dtype', ['float32', 'float64'])
@given(
    low=st.floats(-3e38, 3e38),
    width=st.floats(0.0, 1.0),
    inside=st.floats(0.0, 1.0),
    ulps=st.integers(-2, 2),
)
def test_rounding_brings_nothing_out_of_bounds(
    dtype: str, low: float, width: float, inside: float, ulps: int
) -> None:
    high = min(low + abs(low) * width, 3e38)
    spec = FieldSpec(
        name='a',
        topic='a',
        shape=(1,),
        dtype=dtype,
        unit=('',),
        low=(low,),
        high=(max(low, high),),
    )
    value = low + (max(low, high) - low) * inside
    for _ in range(abs(ulps)):
        value = float(np.nextafter(value, np.inf if ulps > 0 else -np.inf))
    [field] = freeze(
        (spec,), {'a': Reading(values=(value,), captured=None)}, {'a': '/a'}, observed=TIME.now
    )
    assert field_space(spec).contains(np.asarray(field.values, dtype=dtype))


def test_a_field_of_rows_is_delivered_in_rows() -> None:
    contract = rich()
    spec = next(spec for spec in contract.observation if spec.name == 'pads')
    box = field_space(spec)
    assert box.high.tolist() == [[1.0, 1.0, 2.0]] * 2
    assert box.low.tolist() == [[-1.0] * 3] * 2
    cloud = field_space(next(spec for spec in contract.observation if spec.name == 'cloud'))
    assert cloud.high.tolist() == [[5.0, 5.0, 9.0]] * 4


def test_a_depth_image_has_one_bound_for_all_pixels_and_a_picture_has_those_of_its_numbers() -> (
    None
):
    contract = rich()
    depth, colour = (
        field_space(spec) for spec in contract.observation if spec.name in ('depth', 'colour')
    )
    assert (depth.shape, depth.dtype) == ((2, 3, 1), np.float32)
    assert {*depth.low.ravel()} == {np.float32(0.2)}
    assert {*depth.high.ravel()} == {np.float32(5.0)}
    assert (colour.low.min(), colour.high.max(), colour.dtype) == (0, 255, np.uint8)


def test_a_depth_out_of_bounds_is_in_the_space_as_it_is_delivered() -> None:
    spec = next(spec for spec in rich().observation if spec.name == 'depth')
    data = struct.pack('<6f', np.nan, np.inf, -1.0, 0.2, 5.0, 1e9)
    assert field_space(spec).contains(decode(spec, image_message(2, 3, data, encoding='32FC1')))


def test_an_image_that_is_shown_again_is_a_copy() -> None:
    contract = shipped()
    samples_of = {
        spec.name: Reading(values=() if spec.is_image else spec.low, captured=TIME.stamp())
        for spec in contract.observation
    }
    fields = frozen(contract, samples_of)
    image = np.zeros((48, 64, 3), np.uint8)
    one = observation_values(contract, fields, {'front': image})
    one['front'][:] = 9
    assert not image.any()
    with pytest.raises(LinkError, match="No image of the field 'front' came to this process"):
        observation_values(contract, fields, {})


# Actions -----------------------------------------------------------------------------------------
@given(st.data())
def test_every_member_of_the_action_space_is_within_what_the_contract_allows(
    data: st.DataObject,
) -> None:
    """Bounds are doubles, the space holds singles: rounding must not make a member an offence."""
    contract = data.draw(contracts())
    space = action_space(contract)
    space.seed(data.draw(st.integers(0, 2**31)))
    members = [space.sample() for _ in range(3)]
    if isinstance(space, spaces.Box):
        members += [space.low, space.high]
    elif isinstance(space, spaces.Dict):
        members.append(
            {
                name: box.high if isinstance(box, spaces.Box) else box.sample()
                for name, box in space.spaces.items()
            }
        )
    for member in members:
        whole = action_vector(contract, member)
        assert len(whole) == contract.action_size * contract.horizon
        vector = whole[-contract.action_size :]
        start = 0
        for group in contract.action:
            part = vector[start : start + group.action_size]
            start += group.action_size
            if group.kind is ActionKind.CONTINUOUS:
                bounds = list(zip(group.low, group.high, strict=True))
            elif group.kind is ActionKind.DELTA:
                bounds = [(-most, most) for most in group.max_delta]
            elif group.kind is ActionKind.DISCRETE:
                bounds = [(0, len(group.choices) - 1)]
            else:
                bounds = [(0, len(levels) - 1) for levels in group.levels]
            for value, (low, high) in zip(part, bounds, strict=True):
                # As doubles: NumPy would round a Python number to the single before it compares.
                least = float(np.float32(low))
                if least < low:
                    least = float(np.nextafter(np.float32(low), np.float32(np.inf)))
                if least <= high:
                    assert low <= value <= high, group
                else:
                    # There is no single between the two; the nearest one stands for all.
                    assert np.float32(value) == np.float32(low)


@given(st.data())
def test_an_action_becomes_the_numbers_of_all_groups_in_order(data: st.DataObject) -> None:
    contract = data.draw(contracts())
    vector, steps = data.draw(chunks(contract))
    space = action_space(contract)
    if contract.horizon > 1:
        action: Any = np.reshape(vector, (steps, contract.action_size))
    elif isinstance(space, spaces.Discrete):
        action = vector[0]
    elif not isinstance(space, spaces.Dict):
        action = np.array(vector)
    else:
        action, start = {}, 0
        for group in contract.action:
            part = vector[start : start + group.action_size]
            action[group.name] = part[0] if group.kind is ActionKind.DISCRETE else list(part)
            start += group.action_size
    assert action_vector(contract, action) == vector


def test_the_space_of_an_action_tells_what_is_chosen() -> None:
    mixed = action_space(rich())
    assert isinstance(mixed, spaces.Dict)
    assert list(mixed.spaces) == ['arm', 'fingers', 'base', 'lights']
    assert mixed['arm'] == spaces.Box(-2.5, 2.5, (2,), np.float32)
    assert mixed['base'] == spaces.Discrete(3)
    assert mixed['lights'] == spaces.MultiDiscrete([2, 3])
    most = np.array([0.01, 0.02])
    assert np.allclose(mixed['fingers'].high, most)
    assert (mixed['fingers'].high.astype(float) <= most).all()


def only(*names: str) -> Contract:
    from dataclasses import replace

    contract = rich()
    return replace(contract, action=tuple(g for g in contract.action if g.name in names))


def test_groups_of_one_sort_are_one_space() -> None:
    assert action_space(only('arm', 'fingers')).shape == (4,)
    assert action_space(only('base')) == spaces.Discrete(3)
    assert action_space(only('lights')) == spaces.MultiDiscrete([2, 3])
    assert action_space(only('base', 'lights')) == spaces.MultiDiscrete([3, 2, 3])


@pytest.mark.parametrize(
    ('names', 'action'),
    [
        (('arm',), [0.0]),
        (('arm',), [[0.0, 0.0]]),
        (('arm',), [0.0, np.nan]),
        (('arm',), [0.0, np.inf]),
        (('arm',), ['a', 'b']),
        (('arm',), None),
        (('arm',), {'arm': [0.0, 0.0]}),
        (('base',), [0]),
        (('base',), 'stand'),
        (('base',), np.nan),
        (('base', 'lights'), [0, 0]),
        (('arm', 'base'), [0.0, 0.0, 0]),
        (('arm', 'base'), {'arm': [0.0, 0.0]}),
        (('arm', 'base'), {'arm': [0.0, 0.0], 'base': 0, 'more': 1}),
        (('arm', 'base'), {'arm': [0.0, 0.0], 'base': [0]}),
        (('arm', 'base'), {'arm': [0.0], 'base': 0}),
        (('arm', 'base'), {'arm': [[0.0], [0.0, 1.0]], 'base': 0}),
    ],
)
def test_what_is_no_action_is_refused_in_words(names: tuple[str, ...], action: object) -> None:
    with pytest.raises(InvalidAction, match='expected an action'):
        action_vector(only(*names), action)


@pytest.mark.parametrize('index', [0, 1, 2, np.int64(2), np.array(1), 7, -1, 0.5])
def test_a_choice_is_passed_on_by_its_index_right_or_wrong(index: Any) -> None:
    """Whether it names something is the gate's to say."""
    assert action_vector(only('base'), index) == (float(index),)
