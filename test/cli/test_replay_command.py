# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which topics of a record `boundary-env replay` has `ros2 bag play` publish."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
import shlex

import pytest

from boundary_env_ros.cli.main import main
from support.infer_contract_messages import cart_and_arm, write_bag

Output = pytest.CaptureFixture[str]

RUN = Path(__file__).parents[1] / 'records' / '0.1.0' / 'warehouse_cart_ros'
BAG = RUN / 'bag'
COMMAND = '/cmd_vel'


@pytest.fixture(autouse=True)
def _no_ros2(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Have no `ros2` on PATH, so that the command is told and not run."""
    monkeypatch.setenv('PATH', str(tmp_path))


def told(output: Output, *arguments: str) -> list[str]:
    """Return the command that is told where it cannot be run."""
    assert main(['replay', *arguments]) == 2
    said = output.readouterr().err
    assert 'apt install ros-$ROS_DISTRO-ros2bag' in said
    return shlex.split(said.partition(' for: ')[2].splitlines()[0])


def topics(command: list[str]) -> set[str]:
    return set(command[command.index('--topics') + 1 :])


def test_what_moves_a_robot_is_published_only_if_it_is_asked_for(capsys: Output) -> None:
    command = told(capsys, str(RUN), '--rate', '0.5')
    assert command[: command.index('--topics')] == [
        *('ros2', 'bag', 'play', str(BAG)),
        *('--clock', '--rate', '0.5'),
        *('--delay', '5'),  # or who listens is not found before the first messages
    ]
    assert {'/scan', '/boundary/transition'} <= topics(command)
    assert not {COMMAND, '/clock', '/rosout'} & topics(command)
    with_commands = topics(told(capsys, str(RUN), '--commands'))
    assert with_commands - topics(command) == {COMMAND}


def test_named_topics_alone_are_published(capsys: Output) -> None:
    assert topics(told(capsys, str(RUN), '--topic', '/scan')) == {'/scan'}
    for named, why in (('/scam', 'does not have these topics'), (COMMAND, 'some that move no')):
        assert main(['replay', str(RUN), '--topic', named]) == 2
        assert why in capsys.readouterr().err


def test_without_a_contract_nobody_knows_what_moves_a_robot(
    capsys: Output, tmp_path: Path
) -> None:
    bag = str(write_bag(tmp_path / 'drive', islice(cart_and_arm(), 9)))
    assert main(['replay', bag]) == 2
    assert 'says what commands the robot' in capsys.readouterr().err
    everything = topics(told(capsys, bag, '--commands'))
    assert everything - topics(told(capsys, bag, '--contract', 'warehouse_cart')) == {COMMAND}
