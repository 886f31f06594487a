# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Spaces for who has no Gymnasium: the schemas take what the contract takes, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
import numpy as np
import pytest

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.contract.space_fields import (
    action_fields,
    action_schema,
    fields_of,
    observation_schema,
    SpaceField,
    SpaceKind,
)
from support.contract_strategies import contracts
from support.core_world import rich, shipped


def _middle(field: SpaceField) -> Any:
    """Return a value in the middle of a field's space, as nested lists."""
    low, high = (
        np.broadcast_to(bound, field.shape) if len(bound) == 1 else np.reshape(bound, field.shape)
        for bound in (field.low, field.high)
    )
    # The halves of the least numbers are 0.
    middle = np.clip(low / 2 + high / 2, low, high)
    return (middle.astype(int) if field.dtype.startswith(('int', 'uint')) else middle).tolist()


def _observation(contract: Contract) -> dict[str, Any]:
    return {field.name: _middle(field) for field in fields_of(contract.observation)}


@given(contracts())
def test_schemas_are_schemas_and_take_what_is_within(contract: Contract) -> None:
    schema = observation_schema(contract)
    Draft202012Validator.check_schema(schema)
    Draft202012Validator.check_schema(action_schema(contract))
    Draft202012Validator(schema).validate(_observation(contract))


def test_the_schema_refuses_a_field_that_is_missing_added_or_of_another_shape() -> None:
    contract = shipped()
    judge = Draft202012Validator(observation_schema(contract))
    good = _observation(contract)
    assert judge.is_valid(good)
    assert not judge.is_valid({k: v for k, v in good.items() if k != 'pose'})
    assert not judge.is_valid({**good, 'more': [1.0]})
    for name in good:
        assert not judge.is_valid({**good, name: good[name][:-1]})
    assert not judge.is_valid({**good, 'pose': [99.0, 0.0, 0.0]})
    assert not judge.is_valid({**good, 'scan': [-1.0] * 36})


def test_the_schema_of_an_action_has_the_bounds_of_every_dimension() -> None:
    judge = Draft202012Validator(action_schema(shipped()))
    assert judge.is_valid([0.8, -1.5])
    for wrong in ([0.9, 0.0], [0.0, 1.6], [0.0], [0.0, 0.0, 0.0], ['x', 0.0], 0.0):
        assert not judge.is_valid(wrong)


def test_chunks_are_rows_one_after_the_other() -> None:
    contract = replace(rich(), horizon=3)
    judge = Draft202012Validator(action_schema(contract))
    row = [0.0] * contract.action_size
    assert judge.is_valid(row)
    assert judge.is_valid(row * contract.horizon)
    assert not judge.is_valid(row * contract.horizon + [0.0])


def test_choices_say_how_many_there_are() -> None:
    fields = {field.name: field for field in action_fields(rich())}
    assert (fields['base'].kind, fields['base'].shape) == (SpaceKind.DISCRETE, ())
    assert fields['base'].high == (3.0,)
    assert (fields['lights'].kind, fields['lights'].high) == (
        SpaceKind.MULTI_DISCRETE,
        (2.0, 3.0),
    )
    judge = Draft202012Validator(action_schema(rich()))
    row = [0.0] * rich().action_size
    assert not judge.is_valid([*row[:4], 0.5, *row[5:]])
    assert not judge.is_valid([*row[:4], 3, *row[5:]])


@given(contracts(), st.data())
def test_fields_are_those_of_the_contract_in_its_order(
    contract: Contract, data: st.DataObject
) -> None:
    specs = data.draw(st.sampled_from([contract.observation, contract.privileged, contract.state]))
    fields = fields_of(specs)
    assert [f.name for f in fields] == [spec.name for spec in specs]
    for field, spec in zip(fields, specs, strict=True):
        assert (field.shape, field.dtype, field.unit) == (spec.shape, spec.dtype, spec.unit)
        assert len(field.low) == len(field.high)
    sizes = [max(1, int(np.prod(f.shape))) for f in action_fields(contract)]
    assert sum(sizes) == contract.action_size


@pytest.mark.parametrize(
    ('name', 'source'),
    [('goal', 'task:goal'), ('scan', 'scan sensor_msgs/msg/LaserScan')],
)
def test_a_field_says_where_it_comes_from(name: str, source: str) -> None:
    [field] = [f for f in fields_of(shipped().observation) if f.name == name]
    assert field.source == source
