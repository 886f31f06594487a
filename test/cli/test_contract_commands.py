# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The commands about contracts: check, describe, diff, schema."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from boundary_env_ros.cli.main import main
from boundary_env_ros.storage import contract_types
from boundary_env_ros.storage.contract_file import installed_tasks, load
from boundary_env_ros.storage.message_types import MessageTypes
from support.contract_corpus import BAD, GOOD, SCHEMA, SHIPPED

pytestmark = pytest.mark.skipif(
    not {'go_to_goal', 'open_door', 'swap_places'} <= set(installed_tasks()),
    reason='needs the package installed',
)

Output = pytest.CaptureFixture[str]
CART = SHIPPED[0]
TEXT = CART.read_text(encoding='utf-8')


def written(folder: Path, *edits: tuple[str, str], name: str = 'mine.yaml') -> Path:
    """Return a file with the contract of the cart, changed in some places."""
    text = TEXT
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path = folder / name
    path.write_text(text, encoding='utf-8')
    return path


def line_of(path: Path, part: str) -> int:
    """Return the line, counted from 1, of the only place of a text in a file."""
    text = path.read_text(encoding='utf-8')
    assert text.count(part) == 1, part
    return text[: text.index(part)].count('\n') + 1


# check -------------------------------------------------------------------------------------------


def test_of_a_type_without_msg_only_the_type_is_told(tmp_path: Path, capsys: Output) -> None:
    arm = (BAD.parents[2] / 'config/quadruped.yaml').read_text(encoding='utf-8')
    [told, _] = _checked(arm.replace('sensor_msgs/msg/Imu', 'sensor_msgs/Imu'), tmp_path, capsys)
    assert told.endswith("got 'sensor_msgs/Imu'. Write 'sensor_msgs/msg/Imu'.")


def test_a_threshold_that_no_command_can_reach_is_noted(tmp_path: Path, capsys: Output) -> None:
    path = written(tmp_path, ('threshold: [0.03, 0.15]', 'threshold: [0.3, 1.5]'))
    assert main(['contract', 'check', str(path)]) == 0
    told = capsys.readouterr().out.splitlines()
    note = next(line for line in told if 'feedback.threshold' in line)
    assert 'in every step it will be unknown when a command was executed' in note
    assert note.endswith('Lower it, or leave it out.')


@pytest.mark.parametrize('path', [*SHIPPED, *GOOD], ids=lambda path: path.stem)
def test_a_good_contract_has_no_problem(path: Path, capsys: Output) -> None:
    assert main(['contract', 'check', str(path)]) == 0
    output = capsys.readouterr()
    loaded = load(path)
    told = f'{loaded.contract.name} {loaded.contract.version}, {loaded.digest}'
    assert output.out.splitlines()[0] == f'{path}: no problem. {told}'
    assert not output.err


def test_shipped_contracts_go_by_their_names(capsys: Output) -> None:
    assert (
        main(['contract', 'check', 'warehouse_cart', 'guarded_cart', 'door_arm', 'two_carts']) == 0
    )
    assert capsys.readouterr().out.count('no problem') == 4


def test_a_name_that_is_nearly_that_of_a_shipped_contract_is_suggested(capsys: Output) -> None:
    assert main(['contract', 'check', 'warehouse_carts']) == 2
    assert "Did you mean 'warehouse_cart'?" in capsys.readouterr().err


def test_every_problem_is_told_at_once_with_its_line(tmp_path: Path, capsys: Output) -> None:
    path = written(
        tmp_path,
        ('    beams: 36', '    beam: 36'),
        ('  hold_timeout: 0.15', '  hold_timeout: 0.05'),
        ('  name: go_to_goal', '  name: go_home'),
    )
    assert main(['contract', 'check', str(path)]) == 1
    output = capsys.readouterr()
    head, *lines = output.out.splitlines()
    assert head == f'{path}: 4 problems'
    places = [line.split(':')[0].strip() for line in lines[:-1]]
    assert places == [
        f'observation.scan (line {line_of(path, "  scan: ")})',
        f'observation.scan.beam (line {line_of(path, "beam: 36")})',
        f'safety.hold_timeout (line {line_of(path, "hold_timeout: 0.05")})',
        f'task.name (line {line_of(path, "name: go_home")})',
    ]
    assert lines[-1].endswith('are checked once these are fixed.')


def test_what_is_not_in_a_message_is_told_with_its_line(tmp_path: Path, capsys: Output) -> None:
    path = written(
        tmp_path,
        ('    fields: [twist.linear.x, twist.angular.z]', '    fields: [twist.linear.x, twist.z]'),
        ("variance: 'pose.covariance[0]'", "variance: 'pose.covariances[0]'"),
    )
    assert main(['contract', 'check', str(path)]) == 1
    text = capsys.readouterr().out
    line = line_of(path, 'covariances')
    assert f'observation.pose.confidence.variance (line {line}): ' in text
    assert "no field 'covariances' in" in text
    assert "Did you mean 'covariance'?" in text
    assert f'action.base.fields.1 (line {line_of(path, "twist.z")}): ' in text


def test_what_task_and_contract_disagree_about_is_told(tmp_path: Path, capsys: Output) -> None:
    path = written(tmp_path, ('    task: goal', '    task: gaol'))
    assert main(['contract', 'check', str(path)]) == 1
    assert "a field that the task supplies: goal, got 'gaol'. Did you mean 'goal'?" in (
        capsys.readouterr().out
    )


def test_types_that_nobody_knows_here_are_no_problem_but_said(
    monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.setattr(contract_types, 'message_types', lambda: MessageTypes([]))
    assert main(['contract', 'check', 'warehouse_cart']) == 0
    head, *_, note = capsys.readouterr().out.splitlines()
    assert 'no problem' in head
    assert note.startswith('  Not checked: geometry_msgs/msg/')


def test_a_driver_that_nobody_probes_is_noted_with_its_line(
    tmp_path: Path, capsys: Output
) -> None:
    path = written(tmp_path)
    assert main(['contract', 'check', str(path)]) == 0
    head, *notes = capsys.readouterr().out.splitlines()
    assert 'no problem' in head
    assert notes[0] == (
        f'  Note: action.base.driver_timeout (line {line_of(path, "    driver_timeout: ")}): '
        '0.25 s is taken on trust, and is all that stops the robot when the gate dies. Declare '
        '`driver_timeout_probe`, a small command, and start the nodes with `up --probe`: the '
        'gate measures it before it can be armed.'
    )


@pytest.mark.parametrize(
    'edits',
    [
        [('    driver_timeout:', '    driver_timeout_probe: [0.1, 0.0]\n    driver_timeout:')],
        [('driver_timeout: 0.25', 'driver_timeout: none\n    driver_timeout_acknowledged: true')],
        [('clock: ros', 'clock: sim'), ('pacing: realtime', 'pacing: lockstep')],
    ],
    ids=['it is probed', 'it has no timeout', 'the world stands still'],
)
def test_a_driver_is_not_noted_if(
    edits: list[tuple[str, str]], tmp_path: Path, capsys: Output
) -> None:
    assert main(['contract', 'check', str(written(tmp_path, *edits))]) == 0
    assert 'Note:' not in capsys.readouterr().out


def test_several_files_are_all_checked_and_the_worst_decides(
    tmp_path: Path, capsys: Output
) -> None:
    bad = written(tmp_path, ('period: 0.1 ', 'period: 0.0 '))
    assert main(['contract', 'check', 'warehouse_cart', str(bad)]) == 1
    assert (
        main(['contract', 'check', str(tmp_path / 'nowhere.yaml'), str(bad), 'warehouse_cart'])
        == 2
    )
    output = capsys.readouterr()
    assert output.out.count('mine.yaml: 1 problem\n') == 2
    assert output.out.count('no problem') == 2
    assert 'nowhere.yaml' in output.err


# describe ----------------------------------------------------------------------------------------


@pytest.mark.parametrize('path', SHIPPED, ids=lambda path: path.stem)
def test_a_description_answers_the_questions_and_is_yaml(path: Path, capsys: Output) -> None:
    assert main(['contract', 'show', path.stem]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f'{path.stem} 1.0.0\n{load(path).digest}\n\nThe observation: ')
    body = yaml.safe_load(text[text.index('\n\ncontract: ') :])
    assert body['contract'] == path.stem
    assert set(body['observation']) == {f.name for f in load(path).contract.observation}


def test_a_bad_contract_is_not_described(capsys: Output) -> None:
    [path] = BAD.rglob('*_period_zero.yaml')
    assert main(['contract', 'show', str(path)]) == 2
    output = capsys.readouterr()
    assert not output.out
    assert 'period (line 3): expected a finite number (s) greater than 0' in output.err


# diff --------------------------------------------------------------------------------------------


def diff(capsys: Output, *arguments: object) -> tuple[int, str]:
    """Return the exit code of a difference, and what it says."""
    code = main(['contract', 'diff', *map(str, arguments)])
    return code, capsys.readouterr().out


def test_the_same_file_has_no_change(capsys: Output) -> None:
    code, text = diff(capsys, 'warehouse_cart', CART)
    assert code == 0
    assert text == f'No change: the same text ({load(CART).digest}).\n'


def test_comments_and_layout_are_no_change(tmp_path: Path, capsys: Output) -> None:
    other = written(tmp_path, ('period: 0.1 ', 'period:    0.10 # ten times a second '))
    code, text = diff(capsys, 'warehouse_cart', other)
    assert code == 0
    assert text.startswith('No change: the texts differ, and mean the same (sha256:')


def test_another_version_is_cosmetic_but_another_digest(tmp_path: Path, capsys: Output) -> None:
    other = written(tmp_path, ('version: 1.0.0', 'version: 1.0.1'))
    code, text = diff(capsys, 'warehouse_cart', other)
    assert code == 0
    assert text.startswith('1 cosmetic change\nfrom sha256:')
    assert text.endswith('Start all nodes with one of the two contracts.\n')


def test_a_behavioural_change_is_3_and_says_what_follows(tmp_path: Path, capsys: Output) -> None:
    other = written(tmp_path, ('command_timeout: 0.3 ', 'command_timeout: 0.4 '))
    code, text = diff(capsys, 'warehouse_cart', other)
    assert code == 3
    assert ('behavioural  safety.command_timeout\n    before   0.3\n    after    0.4\n') in text
    assert text.endswith('otherwise: results are of two experiments.\n')


def test_a_breaking_change_is_1_and_comes_first(tmp_path: Path, capsys: Output) -> None:
    other = written(
        tmp_path, ('command_timeout: 0.3 ', 'command_timeout: 0.4 '), ('beams: 36', 'beams: 18')
    )
    code, text = diff(capsys, 'warehouse_cart', other)
    assert code == 1
    # The gate's own lateness goes with the timeout unless the contract says otherwise.
    assert text.startswith('2 breaking, 2 behavioural changes\n')
    assert text.index('observation.scan.beams') < text.index('safety.command_timeout')
    assert text.endswith('Policies and records of one contract do not fit the other.\n')


@pytest.mark.parametrize('order', [1, -1])
def test_an_unusable_contract_is_3_and_no_breaking_change(
    order: int, tmp_path: Path, capsys: Output
) -> None:
    bad = written(tmp_path, ('period: 0.1 ', 'period: 0.0 '))
    assert main(['contract', 'diff', *[str(bad), 'warehouse_cart'][::order]]) == 2
    assert main(['contract', 'diff', *['nowhere', 'warehouse_cart'][::order]]) == 2
    assert not capsys.readouterr().out
    assert main(['contract', 'diff', 'warehouse_cart']) == 2
    assert main(['contract', 'diff', 'warehouse_cart', 'door_arm', 'two_carts']) == 2


# schema ------------------------------------------------------------------------------------------


def test_the_schema_that_is_printed_is_the_one_that_is_published(capsys: Output) -> None:
    assert main(['contract', 'schema']) == 0
    assert capsys.readouterr().out == SCHEMA.read_text(encoding='utf-8')


ARM = """
contract: my_arm
period: 0.1
observation:
  joints: &joints {topic: joint_states, type: sensor_msgs/msg/JointState, joints: [a, b], unit: rad, low: -3.0, high: 3.0}
action:
  arm:
    topic: commands
    type: trajectory_msgs/msg/JointTrajectory
    joints: [a, b]
    duration: 0.1
    unit: deg
    low: -1.0
    high: 1.0
    max_velocity: 0.5
    driver_timeout: 0.25
    feedback: {topic: joint_states, type: sensor_msgs/msg/JointState}
episode:
  time_limit: 5.0
  reset: {procedure: [{wait: joints, target: 0.0, tolerance: 0.02}]}
"""  # noqa: E501


def _checked(text: str, tmp_path: Path, capsys: Output) -> list[str]:
    path = tmp_path / 'arm.yaml'
    path.write_text(text)
    main(['contract', 'check', str(path)])
    return capsys.readouterr().out.splitlines()[1:]


def test_a_unit_that_is_converted_nowhere_is_noted(tmp_path: Path, capsys: Output) -> None:
    (unit,) = _checked(ARM, tmp_path, capsys)
    assert unit.startswith('  Note: action.arm.unit (line 12): deg: no unit is converted')
    assert 'the numbers are those of the message' in unit
    right = ARM.replace('deg', 'rad')
    assert _checked(right, tmp_path, capsys) == []
    gripper = 'gripper: {transform: {of: a, in: b}, parts: translation, low: 0.0, high: 1.0}'
    problem, *_ = _checked(
        right.replace('action:', f'  {gripper}\naction:').replace('translation', 'position'),
        tmp_path,
        capsys,
    )
    assert problem.endswith("got 'position'. Did you mean 'translation'?")


@pytest.mark.parametrize(
    ('field', 'says'),
    [
        (
            'type: nav_msgs/msg/Odometry, fields: [yaw(pose.pose.orientation)], unit: deg',
            'yaw(pose.pose.orientation) is in rad, not in deg',
        ),
        (
            'type: geometry_msgs/msg/Twist, fields: [linear.x, angular.z], unit: [m/s, deg/s]',
            'angular.z is in rad/s, not in deg/s',
        ),
        (
            'transform: {of: a, in: b}, fields: [translation.x], unit: mm',
            'translation.x is in m, not in mm',
        ),
        ('type: sensor_msgs/msg/NavSatFix, fields: [latitude], unit: deg', ''),
        ('type: geometry_msgs/msg/Accel, fields: [linear.x], unit: m/s²', ''),
        ('type: sensor_msgs/msg/Image, encoding: 16UC1, shape: [4, 4, 1], unit: mm', ''),
    ],
)
def test_a_unit_that_is_not_that_of_the_message_is_noted(
    tmp_path: Path, capsys: Output, field: str, says: str
) -> None:
    topic = '' if field.startswith('transform') else 'topic: other, '
    more = f'  other: {{{topic}{field}, low: 0.0, high: 9.0}}\naction:'
    told = _checked(ARM.replace('deg', 'rad').replace('action:', more), tmp_path, capsys)
    what = f'  Note: observation.other.unit (line 6): {says}: no unit is converted'
    assert [line.startswith(what) for line in told] == [True] * bool(says), told


def test_the_open_decisions_of_a_draft_are_noted_with_their_lines(
    tmp_path: Path, capsys: Output
) -> None:
    text = ARM.replace('unit: deg', 'unit: rad  # DECIDE: what the driver takes')
    text = text.replace('low: -1.0', 'low: -1.0 # GUESS: what was seen')
    text = text.replace('[{wait', '[{confirm: Move it., deadline: 5}, {wait')
    told = (
        '  Note: decisions of a draft (DECIDE) in lines 12. Decide them, then delete the marks.',
        '  Note: guesses of a draft (GUESS) in lines 13. Confirm them.',
    )
    assert _checked(text, tmp_path, capsys) == [*told]
    wrong = _checked(text.replace('max_velocity', 'max_velocitx'), tmp_path, capsys)
    assert wrong[-3:-1] == [*told]


@pytest.mark.parametrize(
    ('was', 'now', 'key'),
    [
        ('topic: commands', 'topic: /commands', 'action.arm.topic'),
        ('msg/JointTrajectory', 'msg/JointTrajectoryX', 'action.arm.type'),
    ],
)
def test_one_mistake_is_one_problem(
    was: str, now: str, key: str, tmp_path: Path, capsys: Output
) -> None:
    problem, *rest = _checked(ARM.replace(was, now), tmp_path, capsys)
    assert problem.startswith(f'  {key} ')
    assert rest == ['  Field paths and the task are checked once these are fixed.']
