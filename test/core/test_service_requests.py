# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What clients ask for is either taken as it is, or refused by name before anything is sent."""

from __future__ import annotations

from collections.abc import Callable
import json
import math
from typing import Any, SupportsIndex

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.records.parts import KeyValue
from boundary_env_ros.core.service_requests import (
    action_of,
    batch_of,
    metadata_of,
    metadata_pairs,
    MOST_ACTIONS,
    numbers_of,
    options_of,
    options_text,
    refuse_another,
    seed_of,
)
from boundary_env_ros.errors import (
    BoundaryError,
    code_of,
    DigestMismatch,
    InvalidAction,
    RequestRejected,
    ResultCode,
)
from support.contract_strategies import contracts
from support.core_world import AGENT, DIGEST, shipped


def outcome(call: Callable[[], object]) -> tuple[ResultCode, Any]:
    """Return the code that a call is answered with, and what it returns."""
    try:
        return ResultCode.OK, call()
    except BoundaryError as error:
        return code_of(error), None


def means(environment: str = '', digest: str = '', agent: str = '') -> None:
    refuse_another(
        environment=environment,
        digest=digest,
        agent=agent,
        contract=shipped(),
        own_digest=DIGEST,
        own_agent=AGENT,
    )


def test_who_says_nothing_of_it_means_what_is_served() -> None:
    means()
    means(environment='warehouse_cart', digest=DIGEST, agent=AGENT)


def test_another_environment_contract_or_agent_is_refused_by_name() -> None:
    with pytest.raises(RequestRejected, match="expected 'warehouse_cart', got 'kitchen'"):
        means(environment='kitchen')
    with pytest.raises(DigestMismatch, match='sha256:00'):
        means(digest='sha256:00')
    with pytest.raises(RequestRejected, match="expected 'cart', got 'other'") as refusal:
        means(agent='other')
    assert refusal.value.code is ResultCode.UNKNOWN_AGENT


@given(st.text(), st.text(), st.text())
def test_whatever_they_mean_only_what_is_served_is_taken(
    environment: str, digest: str, agent: str
) -> None:
    code, _ = outcome(lambda: means(environment, digest, agent))
    if code is ResultCode.OK:
        assert environment in ('', 'warehouse_cart')
        assert digest in ('', DIGEST)
        assert agent in ('', AGENT)


# Options and metadata ----------------------------------------------------------------------------


def test_options_are_a_json_object() -> None:
    assert options_of('') == {}
    assert options_of('{"scenario": "clear"}') == {'scenario': 'clear'}
    for wrong in ('[1]', 'null', '3', '"x"', '{', '{]', '[' * 100_000):
        with pytest.raises(RequestRejected, match='JSON object'):
            options_of(wrong)
    with pytest.raises(RequestRejected, match='line 2 column 1 '):
        options_of('{"scenario":\n')


@given(st.text())
def test_any_text_is_options_or_is_refused(text: str) -> None:
    code, options = outcome(lambda: options_of(text))
    assert code in (ResultCode.OK, ResultCode.INVALID_ARGUMENT)
    if code is ResultCode.OK:
        assert options == (json.loads(text) if text else {})


@given(st.lists(st.tuples(st.text(max_size=3), st.text(max_size=3)), max_size=5))
def test_metadata_is_taken_whole_or_refused(pairs: list[tuple[str, str]]) -> None:
    keys = [key for key, _ in pairs]
    try:
        found = metadata_of(KeyValue(key=key, value=value) for key, value in pairs)
    except RequestRejected:
        assert '' in keys or len(set(keys)) < len(keys)
    else:
        assert found == dict(pairs)
        assert len(found) == len(pairs)


# Actions -----------------------------------------------------------------------------------------


def drawn(data: st.DataObject, right: int) -> list[float]:
    """Draw numbers, as often as not as many as are right, and often finite ones."""
    size = data.draw(st.sampled_from([right, right, right + 1, max(0, right - 1), 0]))
    finite = st.floats(allow_nan=False, allow_infinity=False)
    some = data.draw(st.sampled_from([finite, finite, st.floats()]))
    return data.draw(st.lists(some, min_size=size, max_size=size))


@given(contracts(), st.data())
def test_an_action_is_sent_as_it_is_exactly_if_it_has_the_right_shape(
    contract: Contract, data: st.DataObject
) -> None:
    horizon = data.draw(st.integers(0, contract.horizon + 2))
    right = (horizon or 1) * contract.action_size
    values = drawn(data, right)
    code, action = outcome(lambda: action_of(contract, values, horizon))
    fits = horizon <= contract.horizon and len(values) == right and all(map(math.isfinite, values))
    assert code is (ResultCode.OK if fits else ResultCode.INVALID_ACTION)
    assert not fits or action == tuple(values)


@given(contracts(), st.data())
def test_a_batch_is_sent_whole_exactly_if_it_has_the_right_shape(
    contract: Contract, data: st.DataObject
) -> None:
    count = data.draw(st.integers(0, 4))
    right = count * contract.action_size
    values = drawn(data, right)
    code, actions = outcome(lambda: batch_of(contract, values, count))
    if count and len(values) == right and all(map(math.isfinite, values)):
        assert code is ResultCode.OK
        assert [list(action) for action in actions] == [
            values[at : at + contract.action_size] for at in range(0, right, contract.action_size)
        ]
    else:
        assert code is (ResultCode.INVALID_ACTION if count else ResultCode.INVALID_ARGUMENT)


def test_refused_actions_say_what_was_expected() -> None:
    contract = shipped()
    with pytest.raises(InvalidAction, match='expected 2 numbers, 1 times 2, got 3'):
        action_of(contract, [0.0, 0.0, 0.0], 1)
    with pytest.raises(InvalidAction, match='not finite .got nan at 1'):
        action_of(contract, [0.0, math.nan], 0)
    with pytest.raises(InvalidAction, match='at most 1 steps, got 2'):
        action_of(contract, [0.0] * 4, 2)
    with pytest.raises(RequestRejected, match=f'expected 1 to {MOST_ACTIONS}, got 0'):
        batch_of(contract, [], 0)
    with pytest.raises(RequestRejected, match='got 4294967295'):
        batch_of(contract, [], 2**32 - 1)


@pytest.mark.parametrize('seed', [0, 7, np.int64(7), np.uint64(2**64 - 1), 2**64 - 1])
def test_a_seed_travels_as_a_whole_number_of_64_bits(seed: SupportsIndex) -> None:
    assert (type(seed_of(seed)), seed_of(seed)) == (int, int(seed))


@pytest.mark.parametrize('seed', [-1, 2**64, 1.0, '1', None, [1]])
def test_another_seed_is_refused_before_it_travels(seed: Any) -> None:
    with pytest.raises(
        RequestRejected, match=r'Wrong seed \(expected a whole number from 0 to 2\*\*64 - 1'
    ):
        seed_of(seed)


def test_options_travel_as_they_come_back() -> None:
    options = {'scenario': 'clear', 'goal': [1, 2.5], 'more': {'a': None}}
    assert options_of(options_text(options)) == options
    assert (options_text({}), options_of('')) == ('', {})


@pytest.mark.parametrize(
    'options', [['start'], 'clear', {'goal': np.zeros(2)}, {'goal': math.nan}, {(1, 2): 3}]
)
def test_options_that_are_no_plain_data_are_refused_before_they_travel(options: Any) -> None:
    with pytest.raises(RequestRejected, match='^Options need their names|options are not plain'):
        options_text(options)


@pytest.mark.parametrize('action', ['abc', [[1.0, 2.0], [3.0]], None, {'base': 1.0}, np.zeros(2)])
def test_a_batch_of_anything_but_rows_of_numbers_is_an_invalid_action(action: Any) -> None:
    with pytest.raises(
        InvalidAction, match='^An action is made of numbers|^Wrong shape of an action'
    ):
        numbers_of(action, 2)


def test_metadata_travel_as_texts_and_nothing_else() -> None:
    assert dict(metadata_of(metadata_pairs({'why': 'to see'}))) == {'why': 'to see'}
    with pytest.raises(RequestRejected, match="Metadata are texts .got 'attempt': 1"):
        metadata_pairs({'attempt': 1})
