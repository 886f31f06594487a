# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env replay``: publish a record again, or recompute it."""

from __future__ import annotations

import os
from pathlib import Path
import shlex
import shutil
from typing import Any, TYPE_CHECKING

import click
from click.core import ParameterSource

from boundary_env_ros.cli.command import (
    Command,
    contract_option,
    counting,
    domain_option,
    DONE,
    FOUND,
    option,
    print_result,
    record_argument,
    SECONDS,
    UNUSABLE,
)

if TYPE_CHECKING:
    from boundary_env_ros.core.contract.model import Contract

#: Options with a meaning only when the record is published.
_PUBLISHING = ('rate', 'topics', 'commands', 'domain_id')

#: Seconds before the first message: what listens has to find its publisher.
_DISCOVERY = 5


@click.command(cls=Command)
@record_argument()
@option('--check', is_flag=True, help='recompute the record instead of publishing it; no ROS')
@contract_option('the contract to use instead of that of the record')
@option('--json', 'as_json', is_flag=True, help='with --check: print the report as JSON')
@option('--rate', type=SECONDS, default=1.0, metavar='X', help='playback speed')
@option(
    '--topic',
    'topics',
    multiple=True,
    metavar='TOPIC',
    help='publish only this; repeatable',
)
@option(
    '--commands',
    is_flag=True,
    help="publish what can move a robot, too: command topics and the operator's",
)
@domain_option()
@click.pass_context
def replay(context: click.Context, /, path: Path, check: bool, **options: Any) -> int:
    """
    Publish a record again, or recompute it with --check.

    Recorded topics are published by `ros2 bag play`, with /clock, for RViz, Foxglove and nodes
    with use_sim_time. What can move a robot is left out, unless --commands asks for it. The space
    bar pauses. Foxglove opens the bag of a run without this.

      boundary-env replay runs/demo-20261122-024000 --rate 0.5

    --check feeds the record to gate, environment and task again and reports the first difference:
    step, field, recorded, recomputed. With another --contract it says which decisions would have
    been different, at which steps, by which rule and by how much. The recorded states are kept:
    what the robot would have done then is unknown.

      boundary-env replay --check runs/demo-20261122-024000
      boundary-env replay --check bag/ --contract stricter.yaml

    Exit codes:
      0  the record was published to its end or stopped; with --check, nothing differs
      1  with --check: something differs, or a part could not be recomputed
      2  wrong arguments, no record, `ros2 bag` is missing, or the contract does not fit
    """
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or '')
        if parameter.name in (_PUBLISHING if check else ('as_json',)) and (
            source is not ParameterSource.DEFAULT
        ):
            state = 'has no meaning with' if check else 'needs'
            raise click.UsageError(f'{parameter.opts[0]} {state} --check')
    return _recompute(path, **options) if check else _publish(path, **options)


def _publish(
    path: Path,
    *,
    contract: str | None,
    rate: float,
    topics: tuple[str, ...],
    commands: bool,
    domain_id: int | None,
    **_: object,
) -> int:
    from boundary_env_ros.errors import MissingDependency
    from boundary_env_ros.storage.record_reader import open_bag
    from boundary_env_ros.storage.run_folder import RunFolder

    run = RunFolder(path)
    place = run.bag if run.bag.is_dir() else path
    command = ['ros2', 'bag', 'play', str(place), '--clock', '--rate', f'{rate:g}']
    command += ['--delay', str(_DISCOVERY), '--topics']
    there = {channel.topic for channel in open_bag(path).channels()}
    command += _chosen(path, there, contract, topics, commands)
    shown = shlex.join(command)
    if shutil.which('ros2') is None:
        raise MissingDependency(
            f'`ros2 bag` is needed (expected ros2 on PATH, got none) for: {shown}\n'
            'Install it with `apt install ros-$ROS_DISTRO-ros2bag` and source ROS, or open the '
            'bag in Foxglove.'
        )
    print(shown, flush=True)
    domain = {} if domain_id is None else {'ROS_DOMAIN_ID': str(domain_id)}
    os.execvpe('ros2', command, {**os.environ, **domain})  # noqa: S606, S607 - its own signals


def _chosen(
    path: Path, there: set[str], contract: str | None, topics: tuple[str, ...], commands: bool
) -> list[str]:
    """Return the topics to publish: without what can move a robot, unless it is asked for."""
    from boundary_env_ros.errors import BoundaryError, RecordError
    from boundary_env_ros.evidence.run_files import Run
    from boundary_env_ros.storage.contract_file import load

    unknown = sorted(set(topics) - there)
    if unknown:
        raise RecordError(
            f'{path} does not have these topics (expected {", ".join(sorted(there)) or "none"}, '
            f'got {", ".join(unknown)}).'
        )
    chosen = set(topics) or there - {'/rosout', '/parameter_events'}
    chosen.discard('/clock')  # the replay has a clock of its own
    if not commands:
        terms = Run(path).terms()
        known = load(contract).contract if contract else terms.contract
        if known is None:
            raise BoundaryError(
                f'No contract of {path} says what commands the robot '
                f'({terms.problem or "it has none"}). Name one with --contract, or publish every '
                'topic with --commands where no robot listens.'
            )
        chosen = {topic for topic in chosen if not _commands(known, topic)}
    if not chosen:
        raise RecordError(
            f'{path} has no topic to publish (expected some that move no robot, or --commands).'
        )
    return sorted(chosen)


def _commands(contract: Contract, topic: str) -> bool:
    """
    Return whether a topic may move the robot of a contract, in whatever namespace.

    The operator's topic does, through a gate.
    """
    named = list(contract.command_topics)
    if contract.safety.operator is not None:
        named.append(contract.safety.operator.topic)
    return any(
        topic.endswith(f'/{contract.topic_of(agent, name).lstrip("/")}')
        for agent in contract.agents
        for name in named
    )


def _recompute(path: Path, *, contract: str | None, as_json: bool, **_: object) -> int:
    from boundary_env_ros.evidence.replay.recompute import recompute

    with counting('records') as progress:
        report = recompute(path, None if contract is None else Path(contract), progress)
    print_result(report, as_json=as_json)
    if report.unreadable:
        return UNUSABLE
    return DONE if report.same else FOUND
