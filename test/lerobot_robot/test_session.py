# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A session shows a robot by named numbers, and says of each action what became of it."""

from __future__ import annotations

from collections.abc import Iterator
import itertools
import logging
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boundary_env_ros.core.records.decision import Verdict
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.errors import BoundaryError, InvalidAction
from boundary_env_ros.simulation.installed_robots import make_robot
from boundary_env_ros.simulation.robot import Emission
from boundary_env_ros.storage.record_reader import open_records
from lerobot_robot_boundary.operators import joy_of
from lerobot_robot_boundary.session import FEATURES, Session
from support.shipped import changed

ARM = changed('so101')
JOINTS = ('shoulder_pan', 'shoulder_lift', 'elbow_flex', 'wrist_flex', 'wrist_roll', 'gripper')


def steps_in(run: Path) -> list[Transition]:
    return list(open_records(run).transitions())


@pytest.fixture
def arm(tmp_path: Path) -> Iterator[Session]:
    """Return a session with the simulated SO-101, all features, recorded in ``run``."""
    session = Session(
        ARM, world='embedded', seed=1, features=FEATURES, record=str(tmp_path / 'run')
    )
    session.open()
    yield session
    session.close()


def test_numbers_have_the_names_of_lerobots_robots_and_pictures_their_cameras(
    arm: Session,
) -> None:
    seen = arm.observation()
    assert arm.action_names == tuple(f'{joint}.pos' for joint in JOINTS)
    assert arm.state_names[:6] == arm.action_names
    assert list(seen) == [*arm.state_names, 'wrist', 'scene']
    assert all(isinstance(seen[name], float) for name in arm.state_names)
    assert seen['scene'].shape == (96, 128, 3)
    assert seen['scene'].dtype == np.uint8


def test_what_is_returned_is_what_the_gate_admitted_of_this_action(
    arm: Session, tmp_path: Path
) -> None:
    begin = [arm.observation()[name] for name in arm.action_names]
    returned = []
    for target in (0.1, 1.0, -1.0):
        wanted = dict(zip(arm.action_names, [b + target for b in begin], strict=True))
        returned.append(tuple(arm.send(wanted).values()))
        seen = arm.observation()
    arm.close()
    steps = steps_in(tmp_path / 'run')[1:4]
    assert returned == [step.admitted_action for step in steps]
    assert {step.verdict for step in steps} == {Verdict.LIMITED}
    last = steps[-1]
    for stage in ('requested', 'admitted'):
        told = tuple(seen[f'{name}.{stage}'] for name in arm.action_names)
        assert told == getattr(last, f'{stage}_action')
    for stage in ('commanded', 'measured'):
        told = tuple(seen[f'arm/{joint}.{stage}'] for joint in JOINTS)
        assert told == getattr(last, f'{stage}_action')
    assert (seen['step'], seen['verdict'], seen['intervention']) == (3.0, 2.0, 0.0)
    assert seen['reason'] in {float(rule.reason) for rule in last.answer.rules}  # type: ignore[union-attr]


def test_an_action_that_the_gate_rejects_leaves_the_command_as_it_was(arm: Session) -> None:
    begin = arm.observation()
    still = {name: begin[name] for name in arm.action_names}
    before = arm.send(still)
    assert arm.send({**still, 'gripper.pos': math.nan}) == before
    assert arm.observation()['verdict'] == float(Verdict.REJECTED)


def test_an_action_without_a_number_is_not_sent(arm: Session) -> None:
    with pytest.raises(InvalidAction, match=r'expected shoulder_pan.pos.*got none of gripper.pos'):
        arm.send({f'{joint}.pos': 0.0 for joint in JOINTS[:-1]})
    assert arm.observation()['step'] == 0.0


def test_where_an_episode_ends_the_next_observation_begins_another(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    short = changed('warehouse_cart', episode__time_limit=0.3)
    session = Session(
        short, world='embedded', seed=7, features=('step',), record=str(tmp_path / 'run')
    )
    session.open()
    seen = []
    with caplog.at_level(logging.WARNING):
        for _ in range(6):
            seen.append(session.observation()['step'])
            session.send(dict.fromkeys(session.action_names, 0.0))
    session.close()
    assert seen == [0.0, 1.0, 2.0] * 2
    assert 'time_limit, declared by environment' in caplog.text
    resets = [step for step in steps_in(tmp_path / 'run') if step.id.step == 0]
    assert [step.seed for step in resets] == [7, 8]


def test_while_a_person_has_the_robot_what_is_returned_is_what_they_command() -> None:
    guarded = changed('guarded_cart')
    session = Session(
        guarded,
        world='embedded',
        seed=1,
        features=('intervention',),
        robot=_WithStick(guarded.contract),
    )
    session.open()
    policy = dict.fromkeys(session.action_names, 0.0)
    returned, by_hand = [], []
    for _ in range(12):
        returned.append(session.send(policy))
        by_hand.append(session.observation()['intervention'])
    session.close()
    assert by_hand[:3] == [0.0, 0.0, 0.0]
    assert by_hand[-1] == 1.0
    forward = [next(iter(sent.values())) for sent in returned]
    assert forward[0] == 0.0
    assert forward[-1] > 0.1


def test_a_feature_that_there_is_not_is_refused_by_name() -> None:
    with pytest.raises(BoundaryError, match='expected some of requested, .* got torque'):
        Session(ARM, world='embedded', features=('torque',))


@pytest.mark.parametrize('feature', ['step', 'verdict'])
def test_a_field_and_a_feature_of_one_name_are_refused(feature: str) -> None:
    field = {'topic': 'count', 'type': 'std_msgs/msg/Float64', 'unit': '', 'low': 0, 'high': 1}
    named = changed('warehouse_cart', **{f'observation__{feature}': {**field, 'max_age': 1.0}})
    Session(named, world='embedded')
    with pytest.raises(BoundaryError, match=f'have one name .*got {feature}'):
        Session(named, world='embedded', features=(feature,))


#: An operator that a program can be.
STICK = {
    'topic': 'joy',
    'type': 'sensor_msgs/msg/Joy',
    'fields': ['axes[1]', 'axes[3]'],
    'scale': [0.4, 1.0],
    'enable': 'buttons[4]',
    'timeout': 2.0,
}


@pytest.mark.parametrize(
    ('change', 'problem'),
    [
        ({'fields': ['axes[1]', 'buttons[3]']}, r'expected the type .*, got .*buttons\[3\]'),
        ({'fields': ['axes[1]', 'axes[1]']}, r'another axes\[...\] for each'),
        ({'scale': [0.4, 0.0]}, 'commands nothing .*got 0.4, 0.0'),
    ],
)
def test_an_operator_that_no_program_can_be_is_refused(
    change: dict[str, Any], problem: str
) -> None:
    joy_of(changed('warehouse_cart', safety__operator=STICK).contract)
    stick = changed('warehouse_cart', safety__operator={**STICK, **change})
    with pytest.raises(BoundaryError, match=problem):
        joy_of(stick.contract)


def test_a_person_cannot_command_differences_by_a_program() -> None:
    by_hand = changed(
        'warehouse_cart',
        safety__operator=STICK,
        action__base__kind='delta',
        action__base__max_delta=[0.1, 0.1],
    )
    with pytest.raises(BoundaryError, match='expected kind: continuous, got another of base'):
        joy_of(by_hand.contract)


def test_where_the_contract_knows_no_operator_nobody_can_be_it() -> None:
    with pytest.raises(BoundaryError, match='expected safety.operator, got none'):
        joy_of(ARM.contract)


class _WithStick:
    """The simulated cart, and a stick that is pushed ahead from its fifth step on."""

    def __init__(self, contract: Any) -> None:
        self._cart = make_robot(contract, round(contract.period * 1e9))
        self.topics = {**self._cart.topics, 'joy': 'sensor_msgs/msg/Joy'}
        self.reset, self.command = self._cart.reset, self._cart.command
        self._steps = itertools.count()

    def advance(self, until: int) -> tuple[Emission, ...]:
        seconds, nanoseconds = divmod(until, 1_000_000_000)
        stick = {
            'header': {'stamp': {'sec': seconds, 'nanosec': nanoseconds}, 'frame_id': ''},
            'axes': [0.0, 0.5, 0.0, 0.0],
            'buttons': [0, 0, 0, 0, int(next(self._steps) > 5)],
        }
        return (*self._cart.advance(until), Emission(topic='joy', fields=stick))
