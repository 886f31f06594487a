# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Spaces for a client that has no Gymnasium."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.contract.space_fields import (
    action_fields,
    fields_of,
    SpaceKind,
)
from support.contract_strategies import contracts
from support.core_world import rich, shipped


def test_choices_say_how_many_there_are() -> None:
    fields = {field.name: field for field in action_fields(rich())}
    assert (fields['base'].kind, fields['base'].shape) == (SpaceKind.DISCRETE, ())
    assert fields['base'].high == (3.0,)
    assert (fields['lights'].kind, fields['lights'].high) == (
        SpaceKind.MULTI_DISCRETE,
        (2.0, 3.0),
    )


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
