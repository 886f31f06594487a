# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A description of a contract answers who owns what, and leaves nothing out."""

from __future__ import annotations

from dataclasses import replace
import json
import re

from contract_corpus import data_of, GOOD, SHIPPED
import pytest

from boundary_env_ros.core.contract.digest import digest_of
from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.contract.safety import (
    Corridor,
    Moves,
    OnTimeout,
    Operator,
    Overruns,
    Side,
    Workspace,
)
from boundary_env_ros.core.contract.sources import Paths
from boundary_env_ros.evidence.describe import as_data, describe, owners
from boundary_env_ros.storage.contract.parser import parse
from boundary_env_ros.storage.yaml_text import YamlText

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
        *contract.episode.endings,
        *contract.episode.on_stop,
        *contract.episode.reset.tolerance,
        *contract.latency_budget,
        *contract.agents,
        contract.task.name,
        'some-package' if contract.task.name else 'There is no task',
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
        cart.safety, gate_lateness=0.31, clock_jump=0.26, on_timeout=OnTimeout.RAMP,
        republish_period=0.04,
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
        cart.action[0], max_jerk=(2.5, 9.5), max_tracking_error=(0.22, 0.6),
        scale_together=(0, 1), rotation=(0,),
    )  # fmt: skip
    return replace(cart, safety=safety, action=(base,))


EVERYTHING = everything()


def test_every_rule_is_told_with_its_numbers() -> None:
    text = ' '.join(text_of(EVERYTHING, 999).split())
    for told in (
        'gate_lateness 0.31 s:',
        'clock_jump 0.26 s:',
        'on_timeout ramp:',
        'republish_period 0.04 s:',
        'exceeded 3: More than so many',
        'depth topic depth type sensor_msgs/msg/LaserScan half_width 0.35 m:',
        'direction behind:',
        'time_to_collision 2.5 s:',
        'min_valid 0.15',
        'turn base/angular.z:',
        'braking 1.9, 7.5:',
        'inside.low inside.high position.x 0.25 5.75 position.y none 4.5',
        'stairs [1, 1], [2, 1], [1, 2]',
        'scale base/linear.x 0.5 base/angular.z 1',
        'scale_together base/linear.x, base/angular.z:',
    ):
        assert told in text, told


def test_a_value_that_the_file_does_not_say_is_said_to_be_the_default() -> None:
    path = SHIPPED[0]
    lines = YamlText(path.read_text(encoding='utf-8'), str(path)).lines
    sections = describe(by_name('warehouse_cart'), '', written=lines)
    told = {line.split()[0]: line for s in sections for line in s.lines if line.strip()}
    assert told['chunk.horizon'].split()[1:3] == ['1', '(default):']
    assert (
        ' '.join(told['agent_order'].split())
        == 'agent_order none (default): Without it all act at once.'
    )
    assert '(default)' not in told['period']


def test_a_sentence_is_told_once() -> None:
    text = text_of(by_name('warehouse_cart'), 999)
    assert text.count('Up to this age *since capture*') == 1


def test_topics_are_told_with_what_reads_and_writes_them() -> None:
    topics = describe(by_name('warehouse_cart'), '')[-1]
    told = {line.split()[0]: ' '.join(line.split()[1:]) for line in topics.lines}
    assert told['scan'].startswith('sensor_msgs/msg/LaserScan: observation.scan')
    assert told['cmd_vel'].endswith('action.base (safety_gate alone writes)')


@every_contract
def test_endings_stand_in_their_precedence_with_what_they_are(contract: Contract) -> None:
    episode = next(s for s in describe(contract, '') if s.title == 'episode')
    endings = contract.episode.endings
    words = [tuple(line.split()) for line in episode.lines if len(line.split()) == 2]
    assert [w for w in words if w[0] in endings] == [
        (ending, kind.name.lower()) for ending, kind in endings.items()
    ]


def test_a_driver_that_never_stops_is_told() -> None:
    text = ' '.join(text_of(by_name('every_sensor')).split())
    assert 'driver_timeout none: the driver NEVER STOPS BY ITSELF' in text


def test_choices_and_levels_are_told_with_their_commands() -> None:
    text = text_of(by_name('choices'))
    assert re.search(r'\n {6}on +0\.3, 0\n {6}off +0, 0\n {6}left +0, 0\.5\n', text)
    assert re.search(r'\n +lift/mast .* 0, 0\.5, 1 .*\n +lift/fork .* 0, 0\.2 .*\n', text)


def test_every_step_of_a_reset_is_told_with_its_deadline() -> None:
    reset = next(s for s in describe(by_name('every_sensor'), '') if s.title == 'episode')
    text = ' '.join(' '.join(reset.lines).split())
    for told in (
        'confirm Put the box on the mark.',
        'call controller/enable',
        'publish led',
        'world reset_world',
        'target 0.3, 0, 0',
        'tolerance 0.02, 0.02, 0.05',
        'sampled start',
        'deadline 90 s',
    ):
        assert told in text, told


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
        assert field['on_stale'] == spec.on_stale.value
    assert list(data['episode']['endings']) == list(contract.episode.endings)
    assert data['max_steps'] == contract.max_steps


def test_several_quantities_of_a_joint_are_several_dimensions() -> None:
    data = data_of(next(path for path in GOOD if path.stem == 'choices'))
    lift = data['action']['lift']
    lift |= {'quantity': ['position', 'velocity'], 'unit': ['m', 'm', 'm/s', 'm/s']}
    lift['feedback'] |= {'quantity': ['position', 'velocity']}
    lift['levels'] = [[0, 1], [0, 0.2], [0, 0.1], [0, 0.3]]
    lift['safe'] = ['hold_position', 'hold_position', 0, 0]
    lift |= {
        'max_velocity': [0.3, 0.3, 'none', 'none'],
        'max_acceleration': ['none', 'none', 1, 1],
    }
    text = text_of(parse(data))
    for name, levels in (('lift/mast velocity', '0, 0.1'), ('lift/fork velocity', '0, 0.3')):
        assert re.search(rf'\n +{name} .* {levels}  ', text)


@every_contract
def test_every_dimension_of_a_command_has_a_row(contract: Contract) -> None:
    action = next(s for s in describe(contract, '') if s.title == 'action')
    for name in contract.command_dimensions:
        assert any(line.startswith(f'      {name}  ') for line in action.lines)
