# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A description of a contract answers who owns what, and leaves nothing out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.contract.safety import Corridor, OnTimeout, Operator, Overruns, Side
from boundary_env_ros.core.contract.sources import Paths
from boundary_env_ros.core.gate.rules.battery import Battery
from boundary_env_ros.core.gate.rules.interlock import Interlock
from boundary_env_ros.core.gate.rules.obstacles import Obstacle
from boundary_env_ros.core.gate.rules.workspace import Moves, Workspace
from boundary_env_ros.evidence.describe import describe, owners
from boundary_env_ros.storage.contract.parser import parse
from boundary_env_ros.storage.yaml_text import YamlText
from support.contract_corpus import data_of, GOOD, SHIPPED

EVERY = [*SHIPPED, *GOOD]
TASKS = dict.fromkeys(('go_to_goal', 'open_door', 'swap_places'), ('some-package', '3.2.1'))
CONTRACTS = [parse(data_of(path), tasks=TASKS) for path in EVERY]
NAMES = [path.stem for path in EVERY]
every_contract = pytest.mark.parametrize('contract', CONTRACTS, ids=NAMES)


def data_in(contract: Contract) -> dict[str, Any]:
    """Return a whole description as data."""
    data: dict[str, Any] = yaml.safe_load(describe(contract))
    return data


def by_name(name: str) -> Contract:
    """Return one of the contracts."""
    return CONTRACTS[NAMES.index(name)]


@every_contract
def test_the_four_questions_are_answered(contract: Contract) -> None:
    answers = owners(contract)
    assert list(answers) == [
        'the observation',
        'the choice of action',
        'the ending',
        'the record of timing',
    ]
    assert '`environment`' in answers['the observation']
    assert '`safety_gate`' in answers['the choice of action']
    assert contract.task.name in answers['the ending']
    assert repr(contract.reaction_of) in answers['the record of timing']


@every_contract
def test_nothing_is_left_out(contract: Contract) -> None:
    text = describe(contract)
    names = [
        *(field.name for field in contract.fields),
        *(field.topic for field in contract.fields),
        *(field.frame for field in contract.fields),
        *(unit for field in contract.fields for unit in field.unit),
        *(field.dtype for field in contract.fields),
        *(group.name for group in contract.action),
        *(group.topic for group in contract.action),
        *contract.command_unit,
        *contract.episode.endings,
        *(name.lower() for name in contract.episode.on_stop),
        *contract.episode.reset.tolerance,
        *contract.latency_budget,
        *contract.agents,
        contract.task.name,
    ]
    assert not [name for name in names if name not in text]
    data = data_in(contract)
    for section in ('observation', 'action'):
        for spec in getattr(contract, section):
            told = data[section][spec.name]
            for key in ('low', 'high'):
                values = getattr(spec, key)
                if key in told:
                    assert told[key] == (
                        values[0] if len({*values}) == 1 < len(values) else [*values]
                    )


def everything() -> Contract:
    """Return a contract whose gate has every rule."""
    cart = by_name('warehouse_cart')
    [front] = cart.safety.of(Obstacle)
    camera, bumper = Corridor(half_width=0.35, bottom=0.05, top=1.25), Side.BEHIND
    place = Workspace(
        name='floor', topic='odom', type='nav_msgs/msg/Odometry',
        source=Paths(paths=('pose.pose.position.x', 'pose.pose.position.y', 'h')),
        unit=('m', 'm', 'rad'), frame='odom', moves=Moves.BODY, dimensions=(0,), turn=1,
        low=(0.25, None), high=(5.75, 4.5), polygon=((0.0, 0.0), (5.0, 0.0), (0.0, 5.0)),
        keep_out=(('stairs', ((1.0, 1.0), (2.0, 1.0), (1.0, 2.0))),), margin=0.45, delay=0.15,
        braking=(1.9, 7.5),
    )  # fmt: skip
    safety = replace(
        cart.safety, gate_lateness=0.31, clock_jump=0.26, on_timeout=OnTimeout.RAMP,
        republish_period=0.04,
        rules=(
            replace(front, time_to_collision=2.5),
            replace(front, name='bumper', topic='bumper', zone=bumper, slow_distance=1.7),
            replace(front, name='depth', topic='depth', zone=camera, min_valid=0.15),
            place,
            Battery(name='main', topic='battery_state', min=0.15, max_age=4.5),
            Interlock(
                name='door', topic='door', type='std_msgs/msg/Bool', field='data', low=0.75,
                max_age=1.5,
            ),
        ),
        overruns=Overruns(exceeded=3, of=20),
        operator=Operator(
            topic='joy', type='sensor_msgs/msg/Joy', source=Paths(paths=('axes[1]', 'axes[0]')),
            scale=(0.5, 1.0), enable='buttons[5]', timeout=0.35,
        ),
    )  # fmt: skip
    base = replace(
        cart.action[0], max_jerk=(2.5, 9.5), max_tracking_error=(0.22, 0.6),
        scale_together=(0, 1), rotation=(0,),
    )  # fmt: skip
    return replace(cart, safety=safety, action=(base,))


EVERYTHING = everything()


def test_every_rule_is_told_with_its_numbers() -> None:
    data = data_in(EVERYTHING)
    safety, base = data['safety'], data['action']['base']
    assert (safety['gate_lateness'], safety['clock_jump']) == (0.31, 0.26)
    assert (safety['on_timeout'], safety['republish_period']) == ('ramp', 0.04)
    assert safety['overruns']['exceeded'] == 3
    assert safety['obstacles']['depth']['min_valid'] == 0.15
    assert safety['workspace']['floor']['keep_out'] == {'stairs': [[1, 1], [2, 1], [1, 2]]}
    assert safety['operator']['scale'] == [0.5, 1.0]
    assert base['scale_together'] == ['base/linear.x', 'base/angular.z']
    assert base['max_jerk'] == [2.5, 9.5]


def test_a_value_that_the_file_does_not_say_is_said_to_be_the_default() -> None:
    path = SHIPPED[0]
    lines = YamlText(path.read_text(encoding='utf-8'), str(path)).lines
    told = describe(by_name('warehouse_cart'), written=lines).splitlines()
    (order,) = (line for line in told if line.startswith('agent_order:'))
    assert order.split('#')[1] == ' Default. Without it all act at once.'
    (period,) = (line for line in told if line.startswith('period:'))
    assert period.split('#')[1] == ' s.'


def test_numbers_are_told_as_a_person_writes_them() -> None:
    cart = by_name('warehouse_cart')
    computed, written = 3 * 0.1, 3.141592653589793
    safety = replace(cart.safety, hold_timeout=computed, command_timeout=written)
    told = data_in(replace(cart, safety=safety))['safety']
    assert repr(computed) == '0.30000000000000004'
    assert (told['hold_timeout'], told['command_timeout']) == (0.3, written)


def test_a_sentence_is_told_once() -> None:
    text = ' '.join(describe(by_name('warehouse_cart')).split())
    assert text.count('keeps its last values') == 1


@every_contract
def test_endings_stand_in_their_precedence_with_what_they_are(contract: Contract) -> None:
    told = data_in(contract)['episode']['endings']
    endings = contract.episode.endings
    assert list(told.items()) == [(name, kind.name.lower()) for name, kind in endings.items()]


def test_a_driver_that_never_stops_is_told() -> None:
    text = ' '.join(describe(by_name('every_sensor')).split())
    assert 'driver NEVER STOPS BY ITSELF' in text


def test_choices_are_told_with_their_commands() -> None:
    choices = data_in(by_name('choices'))['action']['base']['choices']
    assert choices == {'on': [0.3, 0.0], 'off': [0.0, 0.0], 'left': [0.0, 0.5]}


def test_every_step_of_a_reset_is_told_with_its_deadline() -> None:
    steps = data_in(by_name('every_sensor'))['episode']['reset']['procedure']
    assert steps['1' if '1' in steps else 1]['confirm'] == 'Put the box on the mark.'
    text = describe(by_name('every_sensor'))
    for told in ('controller/enable', 'led', 'reset_world', 'deadline: 90'):
        assert told in text, told


def test_a_reaction_of_what_has_no_topic_is_said_to_be_unknown() -> None:
    cart = by_name('warehouse_cart')
    timing = owners(replace(cart, reaction_of='goal'))['the record of timing']
    assert 'comes from no topic' in timing
