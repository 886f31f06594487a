# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From messages to numbers: paths, yaw, scans by REP-117, obstacle distances, images."""

from __future__ import annotations

from dataclasses import replace
import hashlib
import math
from typing import Any

from core_world import Message, shipped, stamped
from hypothesis import assume, given
from hypothesis import strategies as st
import numpy as np
import pytest

from boundary_env_ros.core.contract import Confidence, FieldSpec
from boundary_env_ros.core.fields import (
    adapter,
    getter,
    getters,
    image_reference,
    is_path,
    obstacle_distances,
    probability_within,
    put,
    stamp_of,
    yaw,
)
from boundary_env_ros.core.inputs import (
    feedback_inputs,
    field_inputs,
    gate_inputs,
    image_fields,
    sensor_topics,
)
from boundary_env_ros.errors import RecordError

CONTRACT = shipped()
SPECS = {spec.name: spec for spec in (*CONTRACT.observation, *CONTRACT.evaluator)}
RULE = CONTRACT.safety.obstacle
assert RULE is not None


def quaternion(roll: float, pitch: float, heading: float) -> Message:
    """Return the quaternion of REP-103's Z-Y-X angles, multiplied out factor by factor."""

    def axis(angle: float, *unit: float) -> np.ndarray:
        return np.array([math.cos(angle / 2), *(math.sin(angle / 2) * u for u in unit)])

    def times(p: np.ndarray, q: np.ndarray) -> np.ndarray:
        w, v = p[0] * q[0] - p[1:] @ q[1:], p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:])
        return np.array([w, *v])

    w, x, y, z = times(times(axis(heading, 0, 0, 1), axis(pitch, 0, 1, 0)), axis(roll, 1, 0, 0))
    return Message(x=x, y=y, z=z, w=w)


def odometry(x: float = 1.0, y: float = 2.0, heading: float = 0.5) -> Message:
    pose = Message(position=Message(x=x, y=y, z=0.0), orientation=quaternion(0, 0, heading))
    return stamped(12.5, pose=Message(pose=pose, covariance=[0.01, *[0.0] * 35]))


# Paths -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    'path',
    [
        'data',
        'twist.linear.x',
        'pose.covariance[0]',
        'a[0][12].b',
        'yaw(pose.pose.orientation)',
        '_a',
    ],
)
def test_a_field_path_is_names_and_indices_or_a_known_function(path: str) -> None:
    assert is_path(path)


@pytest.mark.parametrize(
    'path',
    [
        '', '.', 'a.', '.a', 'a..b', 'a b', 'a[-1]', 'a[]', 'a[x]', '[0]', 'a()', 'roll(a)',
        'yaw()', 'yaw(yaw(a))', 'yaw(a', 'yaw a', 'a-b', '1a', 'a/b', 'ä', 'a[\u0661]', 'yaw(a) ',
        '__import__("os")',
    ],
)  # fmt: skip
def test_anything_else_is_no_field_path(path: str) -> None:
    assert not is_path(path)


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
    assert f'Expect the field {path!r} in Message' in str(caught.value)
    assert found in str(caught.value)
    assert 'ros2 interface show' in str(caught.value)


@pytest.mark.parametrize('path', ['pose.pose', 'header.frame_id', 'pose.covariance'])
def test_a_field_that_is_no_number_is_refused_by_its_path(path: str) -> None:
    with pytest.raises(RecordError, match=f"Expect a number in the field '{path}'"):
        getters((path,))(odometry())


@pytest.mark.parametrize('path', ['x', 'twist.linear.x'])
def test_a_number_is_put_where_it_is_read_from(path: str) -> None:
    message = Message(x=0.0, twist=Message(linear=Message(x=0.0)))
    put(message, path, 0.7)
    assert getter(path)(message) == 0.7


@given(heading=st.floats(-math.pi, math.pi), pitch=st.floats(-1.5, 1.5), roll=st.floats(-3.1, 3.1))
def test_yaw_is_the_rotation_about_z_whatever_roll_and_pitch(
    heading: float, pitch: float, roll: float
) -> None:
    difference = yaw(quaternion(roll, pitch, heading)) - heading
    assert math.remainder(difference, math.tau) == pytest.approx(0.0, abs=1e-9)


def test_a_stamp_that_was_never_set_is_unknown_not_zero() -> None:
    assert stamp_of(stamped(0.0)) is None
    assert stamp_of(Message(data=1)) is None
    assert stamp_of(stamped(12.5)) == 12_500_000_000


# Fields with a confidence ------------------------------------------------------------------------


def test_a_pose_is_read_with_its_stamp_and_confidence() -> None:
    spec = SPECS['pose']
    reading = adapter(spec, '/pose_detections')(odometry())
    assert reading.values == (1.0, 2.0, pytest.approx(0.5))
    assert reading.stamp == 12_500_000_000
    assert reading.confidence == pytest.approx(math.erf(0.1 / math.sqrt(0.02)))


@pytest.mark.parametrize('variance', [-1.0, math.nan, math.inf])
def test_the_confidence_of_an_unknown_variance_is_unknown(variance: float) -> None:
    assert probability_within(0.1, variance) is None


@given(st.floats(1e-6, 1e3), st.floats(0.0, 1e3))
def test_a_confidence_is_a_probability(tolerance: float, variance: float) -> None:
    found = probability_within(tolerance, variance)
    assert found is not None
    assert 0.0 <= found <= 1.0


def test_a_confidence_field_is_read_as_it_is() -> None:
    spec = replace(SPECS['contact'], confidence=Confidence(field='score'))
    assert adapter(spec, '/contact')(Message(data=True, score=0.25)).confidence == 0.25


def test_a_message_without_a_header_has_a_value_and_no_stamp() -> None:
    reading = adapter(SPECS['contact'], '/contact')(Message(data=True))
    assert (reading.values, reading.stamp, reading.confidence) == ((1.0,), None, None)


# Scans -------------------------------------------------------------------------------------------


def scan(
    ranges: list[float], *, low: float = 0.1, high: float = 10.0, start: float = -math.pi
) -> Message:
    """Return a scan of equal angles all around, from ``start`` on."""
    return stamped(
        1.0, ranges=ranges, range_min=low, range_max=high, angle_min=start,
        angle_increment=math.tau / max(1, len(ranges)),
    )  # fmt: skip


def binned(ranges: list[float], beams: int, **changes: float) -> tuple[float, ...]:
    spec = replace(SPECS['scan'], beams=beams, shape=(beams,))
    return adapter(spec, '/scan')(scan(ranges, **changes)).values


def test_a_sector_is_its_nearest_return() -> None:
    assert binned([5.0, 1.0, 4.0, 3.0, 2.0, 9.0], 3) == (1.0, 3.0, 2.0)


def test_beams_that_do_not_divide_evenly_all_count_once() -> None:
    values = binned([float(i) for i in range(1, 8)], 3)
    assert len(values) == 3
    assert values[0] == 1.0
    assert sorted(values) == list(values)


@pytest.mark.parametrize(
    ('value', 'seen'),
    [
        (math.inf, 10.0),  # nothing in reach: as far as the sensor sees
        (-math.inf, 0.0),  # too near to measure
        (math.nan, 0.0),  # not measured
        (0.0, 0.0),  # below range_min: how drivers say invalid
        (0.05, 0.0),
        (10.5, 0.0),  # beyond range_max: to be discarded
        (0.1, 0.1),
        (10.0, 10.0),
    ],
)
def test_an_unusable_beam_never_looks_like_free_space(value: float, seen: float) -> None:
    assert binned([value, value], 1) == (seen,)


def test_the_confidence_of_a_scan_is_its_fraction_of_usable_beams() -> None:
    spec = replace(SPECS['scan'], beams=2, shape=(2,))
    reading = adapter(spec, '/scan')(scan([1.0, math.nan, math.inf, 0.0]))
    assert reading.confidence == 0.5


@given(
    ranges=st.lists(st.one_of(st.floats(), st.floats(0.1, 10.0)), min_size=4, max_size=60),
    beams=st.integers(1, 4),
)
def test_every_sector_of_any_scan_is_a_distance_in_reach(ranges: list[float], beams: int) -> None:
    values = binned(ranges, beams)
    assert len(values) == beams
    assert all(0.0 <= value <= 10.0 for value in values)
    usable = [r for r in ranges if 0.1 <= r <= 10.0 or r == math.inf]
    if len(usable) == len(ranges):
        assert min(values) == min(min(ranges), 10.0)


def test_a_scan_with_too_few_beams_is_refused() -> None:
    with pytest.raises(
        RecordError, match="Expect a scan of at least 36 beams for the field 'scan'"
    ):
        adapter(SPECS['scan'], '/scan')(scan([1.0] * 35))


# Obstacle distances ------------------------------------------------------------------------------

AROUND = 360


def ring(**sectors: float) -> list[float]:
    """Return ranges of one a degree, with a value ahead and behind (45 degrees wide each)."""
    angles = np.arange(AROUND) * math.tau / AROUND - math.pi
    ranges = np.full(AROUND, 5.0)
    ranges[np.abs(angles) < math.radians(40)] = sectors.get('ahead', 5.0)
    ranges[np.abs(angles) > math.radians(140)] = sectors.get('behind', 5.0)
    found: list[float] = ranges.tolist()
    return found


@pytest.mark.parametrize(
    ('sectors', 'distances', 'valid'),
    [
        ({}, (5.0, 5.0), (1.0, 1.0)),
        ({'ahead': 1.0}, (1.0, 5.0), (1.0, 1.0)),
        ({'behind': 0.3}, (5.0, 0.3), (1.0, 1.0)),
        ({'ahead': math.inf}, (math.inf, 5.0), (1.0, 1.0)),
        ({'ahead': -math.inf}, (0.0, 5.0), (1.0, 1.0)),
        ({'ahead': math.nan}, (math.inf, 5.0), (0.0, 1.0)),
        ({'ahead': 0.0}, (math.inf, 5.0), (0.0, 1.0)),
        ({'ahead': 99.0}, (math.inf, 5.0), (0.0, 1.0)),
        ({'behind': math.nan}, (5.0, math.inf), (1.0, 0.0)),
    ],
)
def test_the_nearest_of_each_sector_and_how_much_of_it_is_usable(
    sectors: dict[str, float], distances: tuple[float, ...], valid: tuple[float, ...]
) -> None:
    assert obstacle_distances(scan(ring(**sectors)), RULE) == (*distances, *valid)


def test_a_scan_of_zeros_with_no_least_range_is_an_obstacle() -> None:
    assert obstacle_distances(scan([0.0] * AROUND, low=0.0), RULE)[0] == 0.0


def test_one_beam_that_is_too_near_to_measure_is_enough() -> None:
    ranges = ring()
    ranges[AROUND // 2] = -math.inf
    assert obstacle_distances(scan(ranges), RULE)[0] == 0.0


def test_one_broken_beam_among_good_ones_does_not_hide_them() -> None:
    ranges = ring(ahead=1.0)
    ranges[AROUND // 2] = math.nan
    ahead, _, valid, _ = obstacle_distances(scan(ranges), RULE)
    assert ahead == 1.0
    assert 0.9 < valid < 1.0


def test_a_sector_that_the_scan_does_not_cover_has_nothing_usable() -> None:
    front = stamped(
        1.0, ranges=[2.0] * 90, range_min=0.1, range_max=10.0, angle_min=-0.7,
        angle_increment=1.4 / 90,
    )  # fmt: skip
    assert obstacle_distances(front, RULE) == (2.0, math.inf, 1.0, 0.0)


def test_an_empty_scan_has_nothing_usable() -> None:
    assert obstacle_distances(scan([]), RULE) == (math.inf, math.inf, 0.0, 0.0)


@given(start=st.floats(-7.0, 7.0), shift=st.integers(0, AROUND - 1))
def test_the_sectors_are_the_same_wherever_the_scan_begins(start: float, shift: int) -> None:
    """Put one near return at an angle, and let the scan begin anywhere."""
    angle = start + shift * math.tau / AROUND
    off = abs(math.remainder(angle, math.tau))
    assume(abs(off - RULE.half_angle) > 1e-6)
    assume(abs(off - (math.pi - RULE.half_angle)) > 1e-6)
    ranges = [5.0] * AROUND
    ranges[shift] = 1.0
    ahead, behind, *_ = obstacle_distances(scan(ranges, start=start), RULE)
    assert (ahead == 1.0) is (off <= RULE.half_angle)
    assert (behind == 1.0) is (off >= math.pi - RULE.half_angle)


@given(st.lists(st.floats(), max_size=50))
def test_any_scan_gives_distances_and_fractions(ranges: list[float]) -> None:
    ahead, behind, *valid = obstacle_distances(scan(ranges), RULE)
    for distance in (ahead, behind):
        assert distance >= 0.0  # not NaN, which is not
    assert all(0.0 <= fraction <= 1.0 for fraction in valid)


# Images ------------------------------------------------------------------------------------------

FRONT = SPECS['front']


def image(**changes: Any) -> Any:
    height, width, channels = FRONT.shape
    fields: dict[str, Any] = {
        'height': height, 'width': width, 'encoding': 'rgb8',
        'data': bytes(height * width * channels),
    }  # fmt: skip
    return stamped(2.0, **{**fields, **changes})


def test_an_image_is_referred_to_by_topic_stamp_and_content() -> None:
    message = image()
    reading = adapter(FRONT, '/camera/image_raw')(message)
    assert reading.values == ()
    assert reading.image is not None
    assert reading.image.topic == '/camera/image_raw'
    assert reading.image.stamp == reading.stamp == 2_000_000_000
    assert reading.image.sha256 == hashlib.sha256(message.data).digest()
    assert (reading.image.height, reading.image.width) == FRONT.shape[:2]


def test_another_content_is_another_image() -> None:
    one, other = image(), image(data=bytes([1, *bytes(48 * 64 * 3 - 1)]))
    assert image_reference(one, FRONT, '/c').sha256 != image_reference(other, FRONT, '/c').sha256


@pytest.mark.parametrize('changes', [{'height': 47}, {'width': 1}, {'encoding': 'bgr8'}])
def test_an_image_of_another_size_or_encoding_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(RecordError, match='Expect images of 64x48 rgb8 on /camera'):
        image_reference(image(**changes), FRONT, '/camera')


# Which topics are listened to --------------------------------------------------------------------

TOPICS = {topic: f'/cart/{topic}' for topic in sensor_topics(CONTRACT)}


def test_every_field_of_a_topic_is_an_input_of_the_environment() -> None:
    inputs = {item.name: item for item in field_inputs(CONTRACT, TOPICS)}
    assert set(inputs) == {name for name, spec in SPECS.items() if spec.topic}
    assert inputs['pose'].topic == 'pose_detections'
    reference = inputs['front'].read(image()).image
    assert reference is not None
    assert reference.topic == '/cart/camera/image_raw'


def test_the_gate_listens_to_what_its_rules_name_and_to_nothing_else() -> None:
    inputs = {item.name: item for item in gate_inputs(CONTRACT)}
    assert set(inputs) == {'obstacle', 'feedback.base'}
    assert inputs['obstacle'].read(scan(ring(ahead=1.0))).values == (1.0, 5.0, 1.0, 1.0)
    assert inputs['obstacle'].read(scan(ring())).stamp == 1_000_000_000
    without = replace(CONTRACT, safety=replace(CONTRACT.safety, obstacle=None))
    assert [item.name for item in gate_inputs(without)] == ['feedback.base']


def test_feedback_is_read_in_the_order_of_the_command() -> None:
    [item] = feedback_inputs(CONTRACT)
    twist = Message(twist=Message(linear=Message(x=0.3), angular=Message(z=-0.1)))
    reading = item.read(stamped(3.0, twist=twist))
    assert (reading.values, reading.stamp) == ((0.3, -0.1), 3_000_000_000)


def test_no_command_is_among_the_sensors() -> None:
    assert 'cmd_vel' not in sensor_topics(CONTRACT)
    assert sensor_topics(CONTRACT)['odom'] == 'nav_msgs/msg/Odometry'
    assert [spec.name for spec in image_fields(CONTRACT)] == ['front']


def test_a_field_spec_knows_whether_it_is_an_image() -> None:
    plain = FieldSpec(name='a', shape=(1,), dtype='float32', unit=())
    assert not plain.is_image
    assert FRONT.is_image
