# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Field paths: what is one, and what it reads from a message."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.contract.grammar import COMMAND_PATH, PATH
from boundary_env_ros.core.contract.paths import getter, getters, pitch, roll, yaw
from boundary_env_ros.errors import RecordError
from support.core_messages import odometry, quaternion
from support.core_world import Message


@pytest.mark.parametrize(
    'path',
    [
        'data',
        'twist.linear.x',
        'pose.covariance[0]',
        'a[0][12].b',
        'yaw(pose.pose.orientation)',
        'roll(a)',
        'pitch(a[0].b)',
        '_a',
    ],
)
def test_a_field_path_is_names_and_indices_or_a_known_function(path: str) -> None:
    assert PATH.fits(path)


@pytest.mark.parametrize(
    'path',
    [
        '', '.', 'a.', '.a', 'a..b', 'a b', 'a[-1]', 'a[]', 'a[x]', '[0]', 'a()', 'tilt(a)',
        'yaw()', 'yaw(yaw(a))', 'yaw(roll(a))', 'yaw(a', 'yaw a', 'a-b', '1a', 'a/b', 'ä',
        'a[\u0661]', 'yaw(a) ',
        '__import__("os")',
    ],
)  # fmt: skip
def test_anything_else_is_no_field_path(path: str) -> None:
    assert not PATH.fits(path)


def test_a_path_reads_nested_names_and_indices() -> None:
    message = odometry()
    assert getter('pose.pose.position.x')(message) == 1.0
    assert getter('pose.covariance[0]')(message) == 0.01
    assert getter('yaw(pose.pose.orientation)')(message) == pytest.approx(0.5)


def test_several_paths_are_read_in_their_order_as_floats() -> None:
    read = getters(('pose.pose.position.y', 'pose.pose.position.x'))
    assert read(odometry()) == (2.0, 1.0)
    assert getters(('data',))(Message(data=True)) == (1.0,)


@pytest.mark.parametrize(
    ('path', 'found'),
    [
        ('pose.pose.positon.x', 'positon'),
        ('pose.covariance[99]', 'out of range'),
        ('pose[0]', 'not subscriptable'),
        ('yaw(pose.pose)', "'x'"),
    ],
)
def test_a_message_without_the_field_is_refused_by_its_path(path: str, found: str) -> None:
    with pytest.raises(RecordError) as caught:
        getter(path)(odometry())
    assert f'Message has no field {path!r}' in str(caught.value)
    assert found in str(caught.value)
    assert 'ros2 interface show' in str(caught.value)


@pytest.mark.parametrize('path', ['pose.pose', 'header.frame_id', 'pose.covariance'])
def test_a_field_that_is_no_number_is_refused_by_its_path(path: str) -> None:
    with pytest.raises(RecordError, match=f"The field '{path}' is not a number"):
        getters((path,))(odometry())


angle = st.floats(-math.pi, math.pi)


@given(heading=angle, nose=st.floats(-1.5, 1.5), lean=angle)
def test_roll_pitch_and_yaw_are_the_angles_of_rep_103(
    heading: float, nose: float, lean: float
) -> None:
    attitude = quaternion(lean, nose, heading)
    assert math.remainder(yaw(attitude) - heading, math.tau) == pytest.approx(0.0, abs=1e-7)
    assert math.remainder(roll(attitude) - lean, math.tau) == pytest.approx(0.0, abs=1e-7)
    assert pitch(attitude) == pytest.approx(nose, abs=1e-7)


@given(lean=angle, heading=angle)
def test_straight_up_is_a_pitch_of_a_right_angle_and_no_error(lean: float, heading: float) -> None:
    """Rounding may make the sine greater than 1 there."""
    assert pitch(quaternion(lean, math.pi / 2, heading)) == pytest.approx(math.pi / 2, abs=1e-6)


@pytest.mark.parametrize('path', ['data', 'a.b', 'yaw(pose.orientation)', 'roll(q)'])
def test_a_command_path_is_names_or_an_angle(path: str) -> None:
    assert COMMAND_PATH.fits(path)


@pytest.mark.parametrize('path', ['', 'a[0]', 'a.b[1].c', 'yaw(a[0])', 'yaw(yaw(a))', 'a..b'])
def test_a_command_path_has_no_index(path: str) -> None:
    """A message that is made for a command has no element to write to."""
    assert not COMMAND_PATH.fits(path)


@given(
    st.text(max_size=12)
    | st.from_regex(r'(yaw|roll|pitch)?\(?[a-z.\[\]0-9()]{0,9}', fullmatch=True)
)
def test_what_can_be_written_to_can_be_read(text: str) -> None:
    if COMMAND_PATH.fits(text):
        assert PATH.fits(text)
