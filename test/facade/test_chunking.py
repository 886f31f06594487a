# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which predicted actions are executed: splicing, as a pure function."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from boundary_env_ros.core.records.parts import StepId
from boundary_env_ros.errors import InvalidAction
from boundary_env_ros.facade.chunking import (
    Prediction,
    rows_of,
    spliced,
)
from support.shipped import changed

CART = changed('warehouse_cart').contract


@dataclass
class _Transition:
    id: StepId


@dataclass
class _Delivery:
    """As much of a delivery as a prediction looks at: the step of its observation."""

    step: int
    transition: _Transition = field(init=False)

    def __post_init__(self) -> None:
        self.transition = _Transition(
            StepId(digest='d', agent='cart', episode_id='', step=self.step)
        )


def prediction(step: int, rows: list[tuple[float, ...]]) -> Prediction:
    return Prediction(answers=_Delivery(step), rows=tuple(rows))  # type: ignore[arg-type]


NUMBERS = st.floats(-1e6, 1e6)
ROWS = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=12)
STEPS = st.integers(0, 1000)


# Splicing ----------------------------------------------------------------------------------------


@settings(deadline=None)
@given(observed=STEPS, rows=ROWS, ahead=st.integers(1, 15), most=st.integers(1, 12))
def test_what_is_spliced_is_what_was_predicted_for_those_steps(
    observed: int, rows: list[tuple[float, ...]], ahead: int, most: int
) -> None:
    whole, step = prediction(observed, rows), observed + ahead
    left, skipped = spliced(whole, step, most)
    assert left == tuple(rows[ahead - 1 : ahead - 1 + most])
    assert len(left) == min(most, max(0, len(rows) - ahead + 1))
    assert skipped == min(ahead - 1, len(rows))
    if left:
        # What the record says adds up: the step that is asked for follows what was skipped.
        assert observed + skipped + 1 == step


@settings(deadline=None)
@given(execute=st.integers(1, 5), lead=st.integers(1, 4), count=st.integers(1, 6), first=STEPS)
def test_chunks_that_are_spliced_one_behind_the_other_leave_no_step_out(
    execute: int, lead: int, count: int, first: int
) -> None:
    step, asked = first + 1, []
    observed = first
    for _ in range(count):
        rows = [(float(observed + 1 + i),) for i in range(execute + lead)]
        left, _ = spliced(prediction(observed, rows), step, execute)
        asked += [row[0] for row in left]
        step += len(left)
        observed = step - 1 - min(lead, len(left))
    assert asked == [float(first + 1 + i) for i in range(count * execute)]


@settings(deadline=None)
@given(observed=STEPS, rows=ROWS, late=st.integers(0, 5))
def test_nothing_is_left_of_a_prediction_whose_steps_are_over(
    observed: int, rows: list[tuple[float, ...]], late: int
) -> None:
    whole = prediction(observed, rows)
    assert spliced(whole, observed + len(rows) + 1 + late, 5)[0] == ()


# What a policy may answer ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('answer', 'rows'),
    [
        (np.array([0.5, -1.0], dtype=np.float32), ((0.5, -1.0),)),
        ([0.5, -1.0], ((0.5, -1.0),)),
        (np.array([[0.5, -1.0]]), ((0.5, -1.0),)),
        (np.array([[1, 2], [3, 4], [5, 6]]), ((1.0, 2.0), (3.0, 4.0), (5.0, 6.0))),
    ],
)
def test_an_action_is_one_row_and_a_chunk_several(
    answer: object, rows: tuple[tuple[float, ...], ...]
) -> None:
    assert rows_of(CART, answer) == rows


@pytest.mark.parametrize(
    'answer',
    [None, 0.5, [0.1], [0.1, 0.2, 0.3], [[]], np.zeros((0, 2)), np.zeros((1, 3, 2)), 'go',
     [np.nan, 0.0], [[0.0, 0.0], [np.inf, 0.0]], [[0.0], [0.0, 0.0]]],
)  # fmt: skip
def test_what_is_no_action_is_refused(answer: object) -> None:
    with pytest.raises(InvalidAction, match=r'Invalid action \(expected shape \(2,\), or a chunk'):
        rows_of(CART, answer)
