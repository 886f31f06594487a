# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What arrives becomes readings: of a field the newest that measured, of feedback every one."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.contract.sources import Joints
from boundary_env_ros.core.sources.inputs import Input, Purpose, sensor_topics
from boundary_env_ros.core.sources.listener import inputs_of, Listener
from boundary_env_ros.core.sources.readers import reader
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.core.sources.transforms import TransformFields
from boundary_env_ros.core.timebase import Clock, NANOSECONDS, Stamp
from support.core_messages import odometry
from support.core_world import Message, shipped, stamped

CONTRACT = shipped()


def joint(name: str, purpose: Purpose, publishers: int = 1) -> Input:
    read = reader(Joints(names=(name,), quantities=('position',), publishers=publishers))
    kind = 'sensor_msgs/msg/JointState'
    return Input(purpose, name, 'joints', kind, lambda m: Reading(values=read(m)), at='/joints')


def state(second: float, **positions: float) -> Message:
    return stamped(second, name=list(positions), position=list(positions.values()))


def captured(nanoseconds: int | None) -> Stamp | None:
    if nanoseconds is None:
        return None
    return Stamp(clock=Clock.SYSTEM, nanoseconds=nanoseconds, host='robot')


class Listening:
    """A listener, what it decoded, and what it said."""

    def __init__(self, *inputs: Input, kept: int | None = None) -> None:
        self.decoded: list[Any] = []
        self.refused: list[tuple[str, str]] = []
        self.problems: list[tuple[str, str]] = []
        self.listener = Listener(
            inputs,
            captured=captured,
            decoder=lambda kind: self._decode,
            kept=kept,
            refuse=lambda item, error: self.refused.append((item.label, str(error))),
            on_problem=lambda item, why: self.problems.append((item.label, why)),
        )

    def _decode(self, came: Any) -> Any:
        if came is None:
            raise ValueError('these bytes are no message')
        self.decoded.append(came)
        return came

    def each(self) -> list[tuple[str, tuple[float, ...]]]:
        return [(item.label, reading.values) for item, reading in self.listener.poll_each()]

    def newest(self) -> list[tuple[str, tuple[float, ...]]]:
        return [(item.label, reading.values) for item, reading in self.listener.poll_newest()]


def test_what_nobody_polls_is_not_decoded_and_of_a_field_only_the_newest_is() -> None:
    listening = Listening(joint('a', Purpose.FIELD), joint('b', Purpose.FIELD))
    messages = [state(second, a=second, b=-second) for second in (1.0, 2.0, 3.0)]
    for message in messages:
        listening.listener.on_message('/joints', message)
    assert listening.decoded == []
    assert listening.newest() == [('field a', (3.0,)), ('field b', (-3.0,))]
    assert listening.decoded == messages[-1:]  # once for both
    assert listening.newest() == []


@given(st.lists(st.sampled_from(['a', 'b', 'nan', 'torn']), max_size=8), st.data())
def test_whatever_comes_a_field_is_as_the_newest_message_that_measured_it(
    tape: list[str], data: st.DataObject
) -> None:
    own, other = (
        joint('a', Purpose.FIELD, publishers=2),
        joint('a', Purpose.FEEDBACK, publishers=2),
    )
    listening = Listening(own, other)
    latest: tuple[float, ...] | None = None
    expected: float | None = None
    counted: list[float] = []
    for number, kind in enumerate(tape, start=1):
        value = math.nan if kind == 'nan' else float(number)
        name = 'b' if kind == 'b' else 'a'
        message = None if kind == 'torn' else state(number, **{name: value})
        listening.listener.on_message('/joints', message)
        expected = value if kind == 'a' else expected
        counted += [value] if kind in ('a', 'nan') else []
        if data.draw(st.booleans()) or number == len(tape):
            every = [values[0] for _, values in listening.each()]
            assert every == pytest.approx(counted, nan_ok=True)
            counted.clear()
            for _, values in listening.newest():
                latest = latest if math.isnan(values[0]) else values
            assert latest == (None if expected is None else (expected,))


def test_an_input_of_the_gate_is_as_the_newest_message_even_if_that_measured_nothing() -> None:
    listening = Listening(joint('a', Purpose.GATE))
    for value in (1.0, math.nan):
        listening.listener.on_message('/joints', state(1.0, a=value))
    [(label, (value,))] = listening.newest()
    assert label == 'gate a'
    assert math.isnan(value)


def test_a_reading_says_when_it_was_captured_and_what_the_middleware_says() -> None:
    item = joint('a', Purpose.FIELD)
    listener = Listener(
        [item], captured=captured, middleware=captured, robot_host='cart', refuse=print
    )
    sent = Stamp(clock=Clock.SYSTEM, nanoseconds=3, host='cart')
    headers: tuple[dict[str, Any], ...] = ({'header': state(2.0).header}, {})
    for header in headers:
        message = SimpleNamespace(name=['a'], position=[1.0], **header)
        listener.on_message('/joints', message, 3, 4)
        [(_, reading)] = listener.poll_newest()
        assert reading == Reading(
            values=(1.0,),
            captured=captured(2 * NANOSECONDS) if header else None,
            published=sent,
            arrived=captured(4),
        )


def test_why_an_input_cannot_be_used_is_told_when_that_changes() -> None:
    listening = Listening(joint('a', Purpose.FIELD), joint('b', Purpose.FIELD))
    missing = "The joint 'b' is missing (got a). Change `joints` in the contract."
    for message in (state(1.0, a=1.0), state(2.0, a=2.0), state(3.0, a=3.0, b=3.0)):
        listening.listener.on_message('/joints', message)
        listening.newest()
    assert listening.problems == [('field b', missing), ('field b', '')]
    assert listening.refused == [('field b', missing)] * 2
    assert set(listening.listener.problems.values()) == {''}


def test_of_many_messages_that_nobody_polls_the_last_are_kept() -> None:
    listening = Listening(joint('a', Purpose.FIELD), joint('b', Purpose.FIELD), kept=3)
    listening.listener.on_message('/joints', state(1.0, b=1.0))
    for second in range(2, 6):
        listening.listener.on_message('/joints', state(second, a=float(second)))
    assert listening.newest() == [('field a', (5.0,))]


def test_one_table_names_all_that_gate_and_environment_of_an_agent_read() -> None:
    topics = {topic: f'/cart/{topic}' for topic in sensor_topics(CONTRACT)}
    table = inputs_of(CONTRACT, topics, TransformFields(CONTRACT))
    labels = [item.label for item in table]
    assert len(set(labels)) == len(labels)
    assert {'gate obstacle.scan', 'field pose', 'feedback base'} <= set(labels)
    assert {item.at for item in table} == set(topics.values())
    [pose] = [item for item in table if item.label == 'field pose']
    assert pose.reading(odometry()).values[:2] == (1.0, 2.0)
