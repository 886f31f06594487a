# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env audit``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from boundary_env_ros.cli.command import (
    argument,
    Command,
    contract_option,
    COUNT,
    DONE,
    FOUND,
    json_option,
    option,
    PathType,
    print_result,
    Progress,
    ros_command,
    ros_options,
)

if TYPE_CHECKING:
    from boundary_env_ros.evidence.findings import AuditReport

#: Exit code for a record without a fatal finding of which not all could be checked.
NOT_ALL = 3
#: Exit code for a record without a fatal finding of which a part is missing.
MISSING = 4

_LIVE = 'With --live'


@click.command(cls=Command)
@argument(
    'path',
    'RUN',
    'run folder, bag, .mcap, .db3, .jsonl, or folder of an exported data set',
    required=False,
    type=PathType(),
)
@contract_option('the contract to check the record against (default: the one in it)')
@json_option
@option('--rules', is_flag=True, help='list all rules')
@option('--explain', metavar='RULE', help='print the page of a rule')
@option('--live', is_flag=True, help='audit what is published now, until Ctrl-C')
@option('--episodes', group=_LIVE, type=COUNT, metavar='N', help='end after so many episodes')
@option(
    '--replayed',
    group=_LIVE,
    is_flag=True,
    help='what is published is a record (boundary-env replay), in the time of its /clock',
)
@ros_options
def audit(
    path: Path | None,
    contract: str | None,
    as_json: bool,
    rules: bool,
    explain: str | None,
    live: bool,
    episodes: int | None,
    replayed: bool,
    namespace: str,
    domain_id: int | None,
) -> int:
    """
    Check whether a record can be believed.

    Recomputes everything that can be recomputed, from the raw messages of a bag too. Reports each
    contradiction with rule, episode and step, and which rules could not be checked and why. With
    --live it audits the running nodes, from the next episode on.

      boundary-env audit runs/demo-20261122-024000
      boundary-env audit bag/ --contract my_robot.yaml --json
      boundary-env audit --live --episodes 10
      boundary-env audit --explain values-from-sensors

    Exit codes:
      0  SUPPORTED: no finding is fatal, and all was checked
      1  CONTRADICTED: at least one finding is fatal
      2  wrong arguments, no record, no such rule, or nothing to listen to
      3  CONSISTENT: no finding is fatal, but not all could be checked, or too much was excused
      4  INCOMPLETE: no finding is fatal, but a part of the record is missing
    """
    if sum(map(bool, (path, rules, explain, live))) != 1:
        raise click.UsageError('give one of RUN, --live, --rules and --explain RULE')
    if rules or explain:
        from boundary_env_ros.evidence.pages import explain as page
        from boundary_env_ros.evidence.pages import listed

        print(page(explain) if explain else listed())
        return DONE
    if path is None:
        if contract is not None:
            raise click.UsageError('--live takes the contract of the nodes; leave out --contract')
        report = _live(
            as_json,
            episodes=episodes,
            replayed=replayed,
            namespace=namespace,
            domain_id=domain_id,
        )
    else:
        from boundary_env_ros.evidence.audit import audit_path
        from boundary_env_ros.storage.contract_file import load

        report = audit_path(path, None if contract is None else load(contract).contract)
    print_result(report, as_json=as_json)
    return _exit_code(report)


def _live(as_json: bool, **options: object) -> AuditReport:
    show = Progress()

    def told(finding: object) -> None:
        show.done()
        if not as_json:
            print(finding, flush=True)

    def progress(ended: int, messages: int) -> None:
        show(f'{ended} episodes, {messages} messages; Ctrl-C ends it')

    show('connecting; Ctrl-C ends it')
    try:
        report: AuditReport = ros_command('live_audit')(told=told, progress=progress, **options)
        return report
    finally:
        show.done()


def _exit_code(report: AuditReport) -> int:
    from boundary_env_ros.evidence.findings import Outcome

    return {
        Outcome.SUPPORTED: DONE,
        Outcome.CONSISTENT: NOT_ALL,
        Outcome.INCOMPLETE: MISSING,
        Outcome.CONTRADICTED: FOUND,
    }[report.outcome]
