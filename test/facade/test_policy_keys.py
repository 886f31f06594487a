# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The keys of policies that others trained, on the fields of the arm that opens a door."""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image
import pytest

from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.facade.policies.policy_keys import PolicyKeys
from boundary_env_ros.storage.contract_file import load
from support.shipped import changed

ARM = load('door_arm').contract
PLAIN: dict[str, Any] = {'action': {'actions': {}}}
SEEN = PolicyKeys(ARM, PLAIN).example()


def sent(**said: Any) -> Any:
    """Return what a policy is sent under a key of which this is said."""
    return PolicyKeys(ARM, {**PLAIN, 'observation': {'key': said}}).values(SEEN, '')['key']


def test_fields_and_parts_of_them_are_put_one_after_the_other() -> None:
    state = sent(fields=['joints[0:6]', 'gripper', 'joints[10:]'])
    np.testing.assert_array_equal(
        state, [*SEEN['joints'][:6], *SEEN['gripper'], *SEEN['joints'][10:]]
    )
    assert state.dtype == np.float32


def test_units_and_normalisation_come_in_the_order_that_is_said() -> None:
    mean, std = [0.0, 1.0, 0.0, 0.0, 0.0, 0.0], 2.0
    state = sent(fields='joints[0:6]', degrees=[0, 1], mean=mean, std=std)
    angles = SEEN['joints'][:6].astype(np.float64)
    wanted = [*np.rad2deg(angles[:2]), *angles[2:]] - np.array(mean)
    np.testing.assert_allclose(state, wanted / std, rtol=1e-6)
    assert sent(fields='gripper', scale=1000.0, dtype='int32').dtype == np.int32


def test_a_picture_keeps_its_proportions_between_black_margins() -> None:
    square = sent(fields='scene', resize=[224, 224])
    assert (square.shape, square.dtype) == ((224, 224, 3), np.uint8)
    inside = Image.fromarray(SEEN['scene']).resize((224, 168), Image.Resampling.BILINEAR)
    np.testing.assert_array_equal(square[28:196], np.asarray(inside))
    assert not square[:28].any()
    assert not square[196:].any()


def test_a_picture_is_sent_in_the_layout_and_range_of_the_policy() -> None:
    floats = sent(
        fields='scene', layout='chw', dtype='float32', scale=1.0 / 255.0, std=[0.5, 1, 2]
    )
    assert (floats.shape, floats.dtype) == ((3, 48, 64), np.float32)
    plain = SEEN['scene'].astype(np.float64) / 255.0 / [0.5, 1.0, 2.0]
    np.testing.assert_allclose(floats, plain.transpose(2, 0, 1), rtol=1e-5)
    np.testing.assert_array_equal(sent(fields='scene'), SEEN['scene'])


def test_words_are_those_of_the_episode_or_else_the_usual_ones() -> None:
    data = {**PLAIN, 'observation': {'prompt': {'instruction': 'open'}, 'mode': {'constant': 3}}}
    keys = PolicyKeys(ARM, data)
    assert keys.values(SEEN, '')['prompt'] == 'open'
    assert keys.values(SEEN, 'close it')['prompt'] == 'close it'
    np.testing.assert_array_equal(keys.values(SEEN, '')['mode'], [3.0])


ANSWER = {
    'hand': np.array([[0.5], [0.25]]),
    'arm': np.arange(16.0).reshape(1, 2, 8),
}


def test_an_answer_becomes_actions_of_the_contract_and_these_the_answer_again() -> None:
    arm = {'select': [5, 4, 3, 2, 1, 0], 'degrees': [0, 1], 'delta': 'joints[0:6]', 'std': 2.0}
    keys = PolicyKeys(ARM, {'action': {'arm': arm, 'hand': {'scale': 10.0}}})
    actions = keys.actions(ANSWER, SEEN)
    turned = ANSWER['arm'][0][:, [5, 4, 3, 2, 1, 0]] * 2.0
    turned[:, :2] = np.deg2rad(turned[:, :2])
    np.testing.assert_allclose(actions[:, :6], turned + SEEN['joints'][:6])
    np.testing.assert_allclose(actions[:, 6:], ANSWER['hand'] / 10.0)
    # What a policy is told of its last chunk is what it answered, where the contract took it.
    prefix = keys.prefix_of(actions, SEEN)
    assert prefix.dtype == np.float32
    np.testing.assert_allclose(prefix[:, :6], ANSWER['arm'][0][:, :6], rtol=1e-5)
    np.testing.assert_array_equal(prefix[:, 6:8], 0.0)
    np.testing.assert_allclose(prefix[:, 8:], ANSWER['hand'], rtol=1e-5)


KEY = {'fields': 'gripper'}


@pytest.mark.parametrize(
    ('data', 'says'),
    [
        ({'observation': {'a': {'fields': 'grip'}}}, r"for observation 'a', .*got 'grip'"),
        ({'observation': {'a': {'fields': 'scene[0:3]'}}}, r"got 'scene.0:3.'"),
        ({'observation': {'a': {'fields': 'joints[6:13]'}}}, r"got 'joints\[6:13\]'"),
        ({'observation': {'a': {'fields': 'joints[3:3]'}}}, r"got 'joints\[3:3\]'"),
        ({'observation': {'a': {'fields': 'joints[x]'}}}, r"got 'joints\[x\]'"),
        (
            {'observation': {'a': {'fields': ['scene', 'gripper']}}},
            "observation 'a' is no picture",
        ),
        ({'observation': {'a': {**KEY, 'resize': [2, 2]}}}, "observation 'a' is no picture"),
        ({'observation': {'a': {'fields': 'scene', 'resize': [2]}}}, r'expected `resize: \[H, W'),
        ({'observation': {'a': {'fields': 'scene', 'layout': 'hcw'}}}, "and 'hcw'"),
        ({'observation': {'a': {**KEY, 'dtype': 'strange'}}}, "'a'.dtype is none of numbers"),
        ({'observation': {'a': {**KEY, 'degrees': 1}}}, r"'a'.degrees .*0 to 0, got \[1\]"),
        ({'observation': {'a': {**KEY, 'mean': [1, 2]}}}, r"'a'.mean .*expected 1 or 1"),
        ({'observation': {'a': {**KEY, 'std': 0}}}, 'zero, which cannot be undone'),
        ({'observation': {'a': {**KEY, 'scale': 'x'}}}, r"'a'.scale\[0\]: expected a number"),
        ({'observation': {'a': {**KEY, 'unit': 'deg'}}}, "'a' says something unknown .*got unit"),
        ({'observation': {'a': {**KEY, 'constant': 1}}}, r'one of fields, .*got 2 of them'),
        ({'observation': {'a': {}}}, r'one of fields, .*got 0 of them'),
        ({'observation': 3}, 'observation is no mapping'),
        ({'action': {}}, 'The mapping has other parts'),
        ({'extra': 1}, 'The mapping has other parts'),
        ({'chunk': 'all'}, '`chunk` a number'),
        ({'delay': 3}, 'the last two keys'),
    ],
)
def test_what_a_mapping_cannot_say_is_refused_by_its_key(data: dict[str, Any], says: str) -> None:
    with pytest.raises(BoundaryError, match=says):
        PolicyKeys(ARM, {**PLAIN, **data})


@pytest.mark.parametrize(
    ('action', 'answer', 'says'),
    [
        ({'arm': {}}, {'hand': 1}, 'expected arm, got hand'),
        ({'hand': {}}, ANSWER, r'expected 7 numbers: arm/.*got hand \(2, 1\)\). Choose'),
        ({'arm': {'select': [8] * 7}}, ANSWER, "'arm' .*expected 9 numbers an action, got 8"),
        ({'arm': {'select': [0] * 7, 'delta': 'gripper'}}, ANSWER, 'expected 7 measured values'),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_by_its_key(
    action: Any, answer: dict[str, Any], says: str
) -> None:
    with pytest.raises(BoundaryError, match=says):
        PolicyKeys(ARM, {'action': action}).actions(answer, SEEN)


def test_the_keys_of_a_policy_need_actions_that_are_numbers() -> None:
    contract = changed(
        'warehouse_cart',
        action__base__kind='multi_discrete',
        action__base__levels=[[0.0, 0.5]] * 2,
    ).contract
    with pytest.raises(BoundaryError, match='groups of numbers alone, got MultiDiscrete'):
        PolicyKeys(contract, PLAIN)
