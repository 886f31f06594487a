# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A description of a contract answers who owns what, and leaves nothing out."""

from __future__ import annotations

from dataclasses import replace
import json
import re

from contract_corpus import data_of, GOOD, SHIPPED
import pytest

from boundary_env_ros.core import gate_rules
from boundary_env_ros.core.contract import Contract, Pacing
from boundary_env_ros.core.contract_parser import parse
from boundary_env_ros.core.digest import digest_of
from boundary_env_ros.core.safety import (
    Corridor,
    Hold,
    Moves,
    OnCompeting,
    Operator,
    Overruns,
    Side,
    Workspace,
)
from boundary_env_ros.core.sources import Paths
from boundary_env_ros.evidence.describe import as_data, describe, owners
from boundary_env_ros.evidence.describe_fields import describe_group

EVERY = [*SHIPPED, *GOOD]
TASKS = dict.fromkeys(('go_to_goal', 'open_door', 'swap_places'), ('some-package', '3.2.1'))
CONTRACTS = [parse(data_of(path), tasks=TASKS) for path in EVERY]
NAMES = [path.stem for path in EVERY]
every_contract = pytest.mark.parametrize('contract', CONTRACTS, ids=NAMES)


def text_of(contract: Contract, width: int = 92) -> str:
    """Return a whole description."""
    sections = describe(contract, digest_of(contract), width=width)
    return '\n'.join(line for s in sections for line in (s.title, *s.lines))


def by_name(name: str) -> Contract:
    """Return one of the contracts."""
    return CONTRACTS[NAMES.index(name)]


@every_contract
def test_the_four_questions_are_answered_first(contract: Contract) -> None:
    head, owned = describe(contract, 'sha256:0')[:2]
    assert head.title == f'{contract.name} {contract.version}'
    assert head.lines == ('sha256:0',)
    assert owned.title == 'Who owns'
    text = ' '.join(' '.join(owned.lines).split())
    answers = owners(contract)
    assert list(answers) == [
        'the observation',
        'the choice of action',
        'the ending',
        'the record of timing',
    ]
    for question, answer in answers.items():
        assert question in text
        # What wraps is broken up by the question beside it, so compare word by word.
        assert all(word in text for word in answer.split())
    assert '`environment`' in answers['the observation']
    assert '`safety_gate`' in answers['the choice of action']
    assert contract.task.name in answers['the ending']
    assert repr(contract.reaction_of) in answers['the record of timing']


@every_contract
@pytest.mark.parametrize('width', [80, 92, 100])
def test_it_fits_the_terminal(contract: Contract, width: int) -> None:
    for line in text_of(contract, width).splitlines():
        assert len(line) <= width, line
        assert line == line.rstrip()
        assert line.isprintable()


@every_contract
def test_nothing_is_left_out(contract: Contract) -> None:
    text = text_of(contract)
    names = [
        *(field.name for field in contract.fields),
        *(field.topic for field in contract.fields),
        *(field.frame for field in contract.fields),
        *(unit for field in contract.fields for unit in field.unit),
        *(field.dtype for field in contract.fields),
        *(group.name for group in contract.action),
        *(group.topic for group in contract.action),
        *contract.command_dimensions,
        *contract.command_unit,
        *contract.episode.causes,
        *contract.episode.on_stop,
        *contract.episode.reset.tolerance,
        *contract.latency_budget,
        *contract.agents,
        contract.task.name,
        'some-package 3.2.1' if contract.task.name else 'a reward of 0',
        digest_of(contract),
        f'{contract.max_steps} steps',
    ]
    missing = [name for name in names if name not in text]
    assert not missing
    for field in contract.fields:
        shape = 'x'.join(map(str, field.shape))
        assert f'  {field.name}  [{shape}] rank {len(field.shape)}, {field.dtype}' in text


def everything() -> Contract:
    """Return a contract whose gate has every rule."""
    cart = by_name('warehouse_cart')
    [front] = cart.safety.obstacles
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
        cart.safety, gate_lateness=0.31, clock_jump=0.26, hold=Hold.RAMP, republish=0.04,
        obstacles=(
            replace(front, time_to_collision=2.5),
            replace(front, name='bumper', topic='bumper', zone=bumper, slow_distance=1.7),
            replace(front, name='depth', topic='depth', zone=camera, min_valid=0.15),
        ),
        workspaces=(place,),
        overruns=Overruns(exceeded=3, of=20),
        operator=Operator(
            topic='joy', type='sensor_msgs/msg/Joy', source=Paths(paths=('axes[1]', 'axes[0]')),
            scale=(0.5, 1.0), enable='buttons[5]', timeout=0.35,
        ),
    )  # fmt: skip
    base = replace(
        cart.action[0], acceleration=(2.5, 9.5), jerk=(33.0, 44.0), depart=(0.22, 0.6),
        curvature=(0, 1), rotation=(0,),
    )  # fmt: skip
    return replace(cart, safety=safety, action=(base,))


EVERYTHING = everything()


def has(contract: Contract, rule: str) -> bool:
    """Return whether the gate has a rule under a contract."""
    safety, lockstep = contract.safety, contract.pacing is Pacing.LOCKSTEP
    declared = {
        'turn': contract.turns,
        'operator': safety.operator,
        'gate': not lockstep,
        'clock': not lockstep,
        'competing_publisher': safety.competing_publisher is OnCompeting.STOP,
        'obstacle_stop': safety.obstacles,
        'obstacle_slow': safety.obstacles,
        'time_to_collision': any(rule.time_to_collision for rule in safety.obstacles),
        'workspace_stop': safety.workspaces,
        'workspace': safety.workspaces,
        'latency_budget': safety.overruns,
        'rotation': any(group.rotation for group in contract.action),
        'curvature': any(group.curvature for group in contract.action),
        'acceleration': any(group.acceleration for group in contract.action),
    }
    return bool(declared.get(rule, True))


@pytest.mark.parametrize(
    'contract',
    [*CONTRACTS, EVERYTHING, EVERYTHING.paced(Pacing.LOCKSTEP)],
    ids=[*NAMES, 'everything', 'lockstep'],
)
def test_the_rules_of_the_gate_stand_in_their_order(contract: Contract) -> None:
    text = text_of(contract)
    rules = [name for name in re.findall(r'``(\w+)``', gate_rules.__doc__ or '') if name.islower()]
    assert len(rules) >= 23
    place = text.index('Rules of the gate')
    for rule in rules:
        assert has(contract, rule) is bool(re.search(rf'\n    {rule}[ .]', text)), rule
        if has(contract, rule):
            place += re.search(rf'\n    {rule}[ .]', text[place:]).end()  # type: ignore[union-attr]


def test_every_rule_is_told_with_its_numbers() -> None:
    text = ' '.join(text_of(EVERYTHING, 999).split())
    for told in (
        (
            'operator the policy is not heard while buttons[5] of joy is held, until it is let go '
            'or silent for 0.35 s'
        ),
        'gate its own timer comes more than 0.31 s after',
        'clock ROS time goes more than 0.26 s farther',
        'sensors odom, scan, bumper, depth: came',
        'obstacle_stop in scan nearer than 0.5 m within 0.6 rad of ahead',
        'obstacle_stop.bumper in bumper nearer than 0.5 m, when moving behind',
        (
            'obstacle_stop.depth in depth nearer than 0.5 m within 0.35 m of the axis ahead (or '
            'behind), from 0.05 to 1.25 m up, when moving there; or fewer than 15 % usable points'
        ),
        'latency_budget more than 3 of the last 20 requests',
        'obstacle_slow.bumper base/linear.x at most 0.25 m/s towards what is nearer than 1.7 m',
        'time_to_collision base/linear.x at most what takes 2.5 s to 0.5 m',
        (
            'workspace.floor odom (odom) stays 0.25 .. 5.75 m; .. 4.5 m; in a polygon of 3 '
            'corners; out of stairs, less 0.45; it is moved by its heading by base/linear.x, '
            'base/angular.z, which brake at 1.9, 7.5 after 0.15 s'
        ),
        'curvature base/linear.x, base/angular.z: scaled together',
        'acceleration how fast that rate changes: base/linear.x at most 2.5 m/s/s^2, 33 m/s/s^3',
        'departs: base/linear.x by more than 0.22, base/angular.z by more than 0.6',
        'republish every 0.04 s the command in force',
        'silence no action for 0.15 s: the way to `safe`, at `rate`',
        '0.15 s the gate sends the way to `safe`, at `rate` (HELD)',
        'the operator 0.35 s the policy is heard again',
    ):
        assert told in text


@every_contract
def test_causes_stand_in_their_precedence_with_what_they_are(contract: Contract) -> None:
    endings = next(s for s in describe(contract, '') if s.title == 'Endings')
    words = [line.split()[:3] for line in endings.lines[2:]]
    assert words == [
        [str(place), cause, ending.name.lower()]
        for place, (cause, ending) in enumerate(contract.episode.causes.items(), start=1)
    ]


def test_the_longest_stage_has_the_longest_bar() -> None:
    cart = by_name('warehouse_cart')
    budget = next(s for s in describe(cart, '', bar='=') if 'budget' in s.title)
    bars = {line.split()[0]: line.count('=') for line in budget.lines}
    assert bars['capture'] == max(bars.values()) == 2 * bars['actuation']
    assert bars['gate'] >= 1
    assert budget.lines[-1].split() == [
        'together',
        '0.38',
        's,',
        'from',
        'captured',
        'to',
        'actuated',
    ]


def test_a_stale_field_that_holds_the_robot_is_a_rule_of_the_gate() -> None:
    text = ' '.join(text_of(by_name('door_arm')).split())
    assert "wrench, for the field 'wrench': more than 0.2 s ago" in text


def test_a_driver_that_never_stops_is_not_to_be_overlooked() -> None:
    text = text_of(by_name('every_sensor'))
    assert 'THE DRIVER NEVER STOPS BY ITSELF (acknowledged)' in ' '.join(text.split())
    assert 'never the driver of arm_controller/joint_trajectory' in ' '.join(text.split())


def test_choices_and_levels_are_told_with_their_commands() -> None:
    text = text_of(by_name('choices'))
    assert '    0  on: 0.3, 0\n    1  off: 0, 0\n    2  left: 0, 0.5\n' in text
    assert '    lift/mast: 0, 0.5, 1\n    lift/fork: 0, 0.2\n' in text


def test_every_step_of_a_reset_is_told_with_its_deadline() -> None:
    reset = next(s for s in describe(by_name('every_sensor'), '') if s.title == 'Reset')
    text = '\n'.join(reset.lines)
    assert 'a person confirms, within 60 s: Put the box on the mark.' in text
    assert 'call controller/enable (std_srvs/srv/SetBool), within 2 s' in text
    assert 'publish std_msgs/msg/String on led' in text
    assert 'ask reset_world for the sampled state of the world, within 10 s' in text
    assert 'wait until pose is [0.3, 0, 0] up to 0.02, 0.02, 0.05, within 8 s' in text
    assert 'wait until pose is start up to 0.02, 0.02, 0.05, within 8 s' in text
    assert '90 s for all of it' in text


def test_lockstep_says_who_waits_and_for_how_long() -> None:
    cart = by_name('warehouse_cart')
    text = text_of(cart.paced(Pacing.LOCKSTEP))
    told = 'lockstep: the world stands still until the gate has decided, at most 10 s'
    assert told in ' '.join(text.split())
    assert '(HELD)' not in text
    assert 'realtime: nobody waits for the policy' in text_of(cart)


def test_a_reaction_of_what_has_no_topic_is_said_to_be_unknown() -> None:
    cart = by_name('warehouse_cart')
    timing = owners(replace(cart, reaction_of='goal'))['the record of timing']
    assert 'comes from no topic' in timing


@every_contract
def test_the_same_as_data_is_json_and_whole(contract: Contract) -> None:
    data = json.loads(json.dumps(as_data(contract, digest_of(contract)), allow_nan=False))
    assert data['digest'] == digest_of(contract)
    assert data['owners'] == dict(owners(contract))
    assert [field['name'] for field in data['observation']] == [
        field.name for field in contract.observation
    ]
    for field, spec in zip(data['observation'], contract.observation, strict=True):
        assert field['rank'] == len(spec.shape)
        assert field['unit'] == list(spec.unit)
        assert field['when_stale'] == spec.when_stale.value
    assert list(data['episode']['causes']) == list(contract.episode.causes)
    assert data['max_steps'] == contract.max_steps


def test_several_quantities_of_a_joint_are_several_dimensions() -> None:
    data = data_of(next(path for path in GOOD if path.stem == 'choices'))
    lift = data['action']['lift']
    lift |= {'quantity': ['position', 'velocity'], 'unit': ['m', 'm', 'm/s', 'm/s']}
    lift['feedback'] |= {'quantity': ['position', 'velocity']}
    lift['levels'] = [[0, 1], [0, 0.2], [0, 0.1], [0, 0.3]]
    lift['safe'] = ['hold', 'hold', 0, 0]
    text = text_of(parse(data))
    for name, levels in (('lift/mast velocity', '0, 0.1'), ('lift/fork velocity', '0, 0.3')):
        assert f'\n      {name}' in text
        assert f'\n    {name}: {levels}\n' in text


@every_contract
def test_every_dimension_of_a_command_has_a_row(contract: Contract) -> None:
    for group in contract.action:
        text = '\n'.join(describe_group(group, 100))
        assert text.count(' .. ') == group.size
