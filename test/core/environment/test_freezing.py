# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Observations: aged from the capture, bounded in the open, and never filled up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.contract.model import FieldSpec, OnStale, OutOfBounds
from boundary_env_ros.core.environment.freezing import bring_inside, freeze, is_lost, status_of
from boundary_env_ros.core.records.observation import FieldStatus, Observation, ObservationField
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.core.timebase import age_of, Clock, Stamp
from support.core_world import shipped, step_id, Timepiece

CONTRACT = shipped()
SPECS = CONTRACT.observation
SOURCES = {spec.name: f'/{spec.topic}' for spec in SPECS}
POSE = SPECS[0]
assert POSE.max_age is not None


def observe(time: Timepiece, **samples: Reading) -> Observation:
    fields = freeze(SPECS, samples, SOURCES, observed=time.now)
    return Observation(id=step_id(3), observed=time.now, fields=fields)


def pose(
    time: Timepiece, ago: float = 0.0, values: tuple[float, ...] = (1.0, 2.0, 0.5)
) -> Reading:
    return Reading(values=values, captured=time.stamp(ago=ago), arrived=time.stamp())


def test_the_age_is_that_of_the_capture_not_of_the_arrival() -> None:
    time = Timepiece()
    sample = Reading(
        values=(1.0, 2.0, 0.5), captured=time.stamp(ago=POSE.max_age + 0.1), arrived=time.stamp()
    )
    field = observe(time, pose=sample)['pose']
    assert field.age == pytest.approx(POSE.max_age + 0.1)
    assert field.status is FieldStatus.STALE
    assert field.values == (1.0, 2.0, 0.5)


@pytest.mark.parametrize(
    ('age', 'status'),
    [(0.0, FieldStatus.FRESH), (0.5, FieldStatus.FRESH), (0.500001, FieldStatus.STALE)],
)
def test_a_field_is_fresh_up_to_its_limit(age: float, status: FieldStatus) -> None:
    time = Timepiece()
    assert observe(time, pose=pose(time, age))['pose'].status is status


def test_a_field_from_the_future_is_no_better_than_one_from_the_past() -> None:
    time = Timepiece()
    assert POSE.max_age is not None
    for ahead, status in ((0.9, FieldStatus.FRESH), (1.1, FieldStatus.STALE)):
        sample = pose(time, -ahead * POSE.max_age)
        assert observe(time, pose=sample)['pose'].status is status


def test_a_negative_age_is_reported_as_it_is() -> None:
    time = Timepiece()
    assert observe(time, pose=pose(time, -0.25))['pose'].age == pytest.approx(-0.25)


def test_an_age_that_cannot_be_known_is_unknown_and_not_fresh() -> None:
    time = Timepiece()
    for captured in (
        None,
        Stamp(clock=Clock.ROS, nanoseconds=time.ros, host=time.host),
        Stamp(clock=Clock.STEADY, nanoseconds=time.steady, host=time.host),
    ):
        sample = Reading(values=(0.0, 0.0, 0.0), captured=captured, arrived=time.stamp())
        field = observe(time, pose=sample)['pose']
        assert field.age is None
        assert field.status is FieldStatus.STALE


def test_a_field_without_an_age_limit_is_fresh_for_ever() -> None:
    time = Timepiece()
    goal = Reading(values=(1.0, 1.0), captured=time.stamp(ago=1e6))
    assert observe(time, goal=goal)['goal'].status is FieldStatus.FRESH


def test_a_field_that_never_came_is_missing_and_empty_never_filled_up() -> None:
    observation = observe(Timepiece())
    assert tuple(f.name for f in observation.fields) == tuple(spec.name for spec in SPECS)
    for field in observation.fields:
        assert field.status is FieldStatus.MISSING
        assert field.values == ()
        assert field.age is field.captured is field.image is None
        assert not field.clipped


def test_the_fields_stand_in_the_order_of_the_contract() -> None:
    time = Timepiece()
    observation = observe(time, pose=pose(time))
    assert [f.name for f in observation.fields] == [spec.name for spec in SPECS]
    assert observation.id == step_id(3)
    assert observation.observed == time.now


def test_a_field_knows_its_source_and_frame() -> None:
    time = Timepiece()
    field = observe(time, pose=pose(time))['pose']
    assert (field.source, field.frame_id) == ('/pose_detections', 'hall')
    assert field.arrived == time.stamp()


def test_an_unknown_name_is_a_key_error() -> None:
    with pytest.raises(KeyError, match='speed'):
        observe(Timepiece())['speed']


def test_a_clipped_value_is_flagged_and_one_inside_is_not() -> None:
    time = Timepiece()
    inside = observe(time, pose=pose(time, values=POSE.high))['pose']
    beyond = observe(time, pose=pose(time, values=(99.0, 0.0, 0.0)))['pose']
    assert (inside.values, inside.clipped) == (POSE.high, False)
    assert (beyond.values, beyond.clipped) == ((POSE.high[0], 0.0, 0.0), True)


@given(st.tuples(*[st.floats(allow_nan=False)] * 3))
def test_what_was_brought_inside_is_inside_and_says_whether_it_changed(
    values: tuple[float, ...],
) -> None:
    inside, changed = bring_inside(values, POSE)
    for value, low, high in zip(inside, POSE.low, POSE.high, strict=True):
        assert low <= value <= high
    assert changed is (inside != values)


def lost(specs: Sequence[FieldSpec], fields: Sequence[ObservationField]) -> set[str]:
    return {s.name for s, field in zip(specs, fields, strict=True) if is_lost(s, field)}


def test_a_truncating_field_is_brought_inside_too_and_ends_the_episode() -> None:
    time = Timepiece()
    specs = (replace(POSE, out_of_bounds=OutOfBounds.TRUNCATE), *SPECS[1:])
    good = {
        spec.name: Reading(values=spec.low, captured=time.stamp()) for spec in SPECS if spec.low
    }
    wild = {**good, 'pose': pose(time, values=(99.0, 0.0, 0.0))}
    fine = freeze(specs, good, SOURCES, observed=time.now)
    broken = freeze(specs, wild, SOURCES, observed=time.now)
    assert broken[0].values[0] == POSE.high[0]
    assert broken[0].clipped
    assert lost(specs, broken) == {'pose'}
    assert lost(specs, fine) == set()


@pytest.mark.parametrize('status', [FieldStatus.STALE, FieldStatus.MISSING])
def test_only_fields_that_truncate_are_lost(status: FieldStatus) -> None:
    time = Timepiece()
    samples = {}
    if status is FieldStatus.STALE:
        samples = {
            spec.name: Reading(values=spec.low, captured=time.stamp(ago=100.0)) for spec in SPECS
        }
    fields = freeze(SPECS, samples, SOURCES, observed=time.now)
    names = {s.name for s in SPECS if s.on_stale is OnStale.TRUNCATE}
    assert names == {'pose', 'velocity'}
    assert lost(SPECS, fields) == names


def test_a_steady_stamp_has_no_age() -> None:
    time = Timepiece()
    assert age_of(Stamp(clock=Clock.STEADY, nanoseconds=0), time.now) is None
    assert age_of(None, time.now) is None


# Cameras that belong together --------------------------------------------------------------------

LEFT, RIGHT, ALONE = (
    replace(POSE, name=name, max_age=1.0, skew=skew)
    for name, skew in (('left', 0.05), ('right', 0.02), ('alone', None))
)


def statuses(time: Timepiece, **ages: float | None) -> dict[str, FieldStatus]:
    samples = {
        name: replace(pose(time, age or 0.0), **({} if age is not None else {'captured': None}))
        for name, age in ages.items()
    }
    specs = (LEFT, RIGHT, ALONE)
    fields = freeze(
        specs, samples, dict.fromkeys(('left', 'right', 'alone'), '/c'), observed=time.now
    )
    return {field.name: field.status for field in fields}


FRESH, STALE, MISSING = FieldStatus.FRESH, FieldStatus.STALE, FieldStatus.MISSING


@pytest.mark.parametrize(
    ('left', 'right', 'expected'),
    [
        (0.1, 0.1, (FRESH, FRESH)),
        (0.15, 0.1, (FRESH, FRESH)),
        (0.151, 0.1, (STALE, FRESH)),
        (0.1, 0.12, (FRESH, FRESH)),
        (0.1, 0.121, (FRESH, STALE)),
        (1.01, 1.0, (STALE, FRESH)),  # too old by itself
        (0.3, 0.0, (STALE, FRESH)),
        (-0.1, 0.1, (FRESH, STALE)),  # one ahead of time leaves the other behind
    ],
)
def test_the_camera_that_lags_behind_the_newest_is_stale(
    left: float, right: float, expected: tuple[FieldStatus, FieldStatus]
) -> None:
    found = statuses(Timepiece(), left=left, right=right, alone=0.9)
    assert (found['left'], found['right']) == expected
    assert found['alone'] is FRESH, 'it belongs to no other'


def test_a_camera_is_as_far_behind_as_its_contract_says_to_the_nanosecond() -> None:
    time = Timepiece()
    spec, newest = replace(LEFT, skew=1.001), time.stamp().nanoseconds
    for lag, status in ((1_001_000_000, FRESH), (1_001_000_001, STALE)):
        captured = replace(time.stamp(), nanoseconds=newest - lag)
        assert status_of(spec, captured, 0.0, newest) is status


def test_a_field_that_belongs_to_no_other_makes_none_stale() -> None:
    assert statuses(Timepiece(), left=0.5, alone=0.0) == {
        'left': FRESH, 'right': MISSING, 'alone': FRESH,
    }  # fmt: skip


def test_a_camera_without_a_stamp_cannot_be_told_to_belong() -> None:
    assert statuses(Timepiece(), left=None, right=0.1)['left'] is STALE
    assert statuses(Timepiece(), left=None, right=0.1)['right'] is FRESH


@given(ages=st.lists(st.integers(0, 400), min_size=2, max_size=2))
def test_of_two_cameras_at_most_one_lags(ages: list[int]) -> None:
    left, right = ages  # ms
    found = statuses(Timepiece(), left=left / 1000, right=right / 1000)
    assert (found['left'] is STALE) is (left - right > 50)
    assert (found['right'] is STALE) is (right - left > 20)
