# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env replay``: publish a record again, or recompute it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from boundary_env_ros.cli.command import (
    Command,
    contract_option,
    counting,
    domain_option,
    DONE,
    FOUND,
    Number,
    option,
    print_result,
    Progress,
    record_argument,
    ros_command,
    SECONDS,
    UNUSABLE,
)

_CHECK = 'With --check'
_PUBLISH = 'When it is published'


@click.command(cls=Command)
@record_argument()
@option('--check', is_flag=True, help='recompute the record instead of publishing it; no ROS')
@contract_option('the contract to use instead of that of the record')
@option('--json', 'as_json', group=_CHECK, is_flag=True, help='print the report as JSON')
@option('--rate', group=_PUBLISH, type=SECONDS, default=1.0, metavar='X', help='playback speed')
@option(
    '--start',
    group=_PUBLISH,
    type=Number(min=0),
    default=0.0,
    metavar='S',
    help='begin so many seconds after the beginning of the record',
)
@option(
    '--topic',
    'topics',
    group=_PUBLISH,
    multiple=True,
    metavar='TOPIC',
    help='only this; repeatable',
)
@option('--exclude', group=_PUBLISH, multiple=True, metavar='TOPIC', help='not this; repeatable')
@option(
    '--commands',
    group=_PUBLISH,
    is_flag=True,
    help="publish what can move a robot, too: command topics and the operator's",
)
@domain_option(group=_PUBLISH)
@click.pass_context
def replay(context: click.Context, /, path: Path, check: bool, **options: Any) -> int:
    """
    Publish a record again, or recompute it with --check.

    Recorded topics are published byte for byte, with /clock, for RViz, Foxglove and nodes with
    use_sim_time. What can move a robot is published only with --commands, and never beside a
    safety gate or another publisher. To pause and to step, use `ros2 bag play`, or a player such
    as Foxglove. Ctrl-C ends it.

      boundary-env replay runs/demo-20261122-024000 --rate 0.5 --start 12

    --check feeds the record to gate, environment and task again and reports the first difference:
    step, field, recorded, recomputed. With another --contract it says which decisions would have
    been different, at which steps, by which rule and by how much. The recorded states are kept:
    what the robot would have done then is unknown.

      boundary-env replay --check runs/demo-20261122-024000
      boundary-env replay --check bag/ --contract stricter.yaml

    Exit codes:
      0  the record was published to its end or stopped; with --check, nothing differs
      1  with --check: something differs, or a part could not be recomputed
      2  wrong arguments, no record, ROS is missing, another publisher is there, or the contract
         does not fit
    """
    other = _PUBLISH if check else _CHECK
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or '')
        if _is_of(parameter, other) and source is not ParameterSource.DEFAULT:
            state = 'has no meaning with' if check else 'needs'
            raise click.UsageError(f'{parameter.opts[0]} {state} --check')
    if check:
        return _recompute(path, **options)
    chosen = {p.name: options[p.name] for p in context.command.params if _is_of(p, _PUBLISH)}
    with Progress() as show:
        code = ros_command('replay')(path, contract=options['contract'], show=show, **chosen)
    return int(code)


def _is_of(parameter: click.Parameter, group: str) -> bool:
    return bool(getattr(parameter, 'group', '') == group)


def _recompute(path: Path, *, contract: str | None, as_json: bool, **_: object) -> int:
    from boundary_env_ros.evidence.replay.question import Question

    question = Question(path, None if contract is None else Path(contract))
    with counting('records', every=500) as progress:
        report = question.answer(progress)
    print_result(report, as_json=as_json)
    if report.unreadable:
        return UNUSABLE
    return DONE if report.same else FOUND
