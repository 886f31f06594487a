# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env audit``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import cast, TYPE_CHECKING

from boundary_env_ros.cli.command import Command, count, DONE, FOUND, print_json, RECORD
from boundary_env_ros.cli.demo import ros_command
from boundary_env_ros.cli.progress import Progress
from boundary_env_ros.errors import BoundaryError

if TYPE_CHECKING:
    from boundary_env_ros.evidence.findings import AuditReport

#: Exit code for a record without a fatal finding of which not all could be checked.
NOT_ALL = 3
#: Exit code for a record without a fatal finding of which a part is missing.
MISSING = 4


def _arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        'path',
        type=Path,
        nargs='?',
        metavar='RUN',
        help=RECORD,
    )
    what.add_argument(
        '--live', action='store_true', help='audit what is published now, until Ctrl-C'
    )
    what.add_argument('--explain', metavar='ID', help='print the page of a rule')
    what.add_argument('--rules', action='store_true', help='list all rules')
    parser.add_argument(
        '--contract',
        type=Path,
        metavar='FILE',
        help='contract to check the record against (default: the one in it)',
    )
    parser.add_argument('--json', action='store_true', help='print the report as JSON')
    live = parser.add_argument_group('with --live')
    live.add_argument(
        '--episodes', type=count, metavar='N', help='end by itself after so many episodes'
    )
    live.add_argument(
        '--replayed',
        action='store_true',
        help='what is published is a record (boundary-env replay), in the time of its /clock',
    )
    live.add_argument('--namespace', default='', metavar='NS', help='namespace of the nodes')
    live.add_argument(
        '--domain-id',
        type=count,
        metavar='N',
        help='ROS domain (default: that of ROS_DOMAIN_ID)',
    )


def _run(options: argparse.Namespace) -> int:
    if options.explain is not None or options.rules:
        from boundary_env_ros.evidence.pages import explain, listed

        print(listed() if options.rules else explain(options.explain))
        return DONE
    if options.live:
        return _live(options)
    if options.path is None:
        raise BoundaryError('Nothing to audit. Give RUN, --live, --explain ID or --rules.')
    from boundary_env_ros.evidence.audit import audit_path
    from boundary_env_ros.storage.contract_file import load

    contract = None if options.contract is None else load(options.contract).contract
    report = audit_path(options.path, contract)
    if options.json:
        print_json(report.to_json())
    else:
        print(report)
    return _exit_code(report)


def _live(options: argparse.Namespace) -> int:
    if options.contract is not None:
        raise BoundaryError(
            '--live takes the contract of the nodes, not another one. Leave out --contract.'
        )
    # What the other commands return is an exit code.
    audit = cast('Callable[..., AuditReport]', ros_command('live_audit'))
    show = Progress()

    def told(finding: object) -> None:
        show.done()
        if not options.json:
            print(finding, flush=True)

    def progress(ended: int, messages: int) -> None:
        show(f'{ended} episodes, {messages} messages; Ctrl-C ends it')

    show('connecting; Ctrl-C ends it')
    try:
        report = audit(
            episodes=options.episodes,
            domain_id=options.domain_id,
            namespace=options.namespace,
            replayed=options.replayed,
            told=told,
            progress=progress,
        )
    finally:
        show.done()
    if options.json:
        print_json(report.to_json())
    else:
        print(report)
    return _exit_code(report)


def _exit_code(report: AuditReport) -> int:
    from boundary_env_ros.evidence.findings import Outcome

    return {
        Outcome.SUPPORTED: DONE,
        Outcome.CONSISTENT: NOT_ALL,
        Outcome.INCOMPLETE: MISSING,
        Outcome.CONTRADICTED: FOUND,
    }[report.outcome]


COMMAND = Command(
    name='audit',
    summary='check whether a record can be believed',
    text="""\
Check that a record keeps its contract, that it explains every step, and that it says what the
sensors said.

Reads a run folder, a bag, an .mcap file, a .jsonl file, a .json file of one transition, or an
exported data set; computes again what can be computed again, from the raw messages of a bag too;
names every finding with its rule, episode and step, and says which rules could not be checked, and
why. Or it listens to the boundary that runs now, from the next episode on. doc/audit.md has a page
for each rule.

  boundary-env audit runs/demo-20261122-024000
  boundary-env audit --contract mine.yaml bag/ --json
  boundary-env audit --live --episodes 10
  boundary-env audit --explain values-from-sensors""",
    exit_codes="""\
  0  SUPPORTED: no finding is fatal, and all was checked
  1  CONTRADICTED: at least one finding is fatal
  2  wrong arguments, no record, no such rule, or nobody to listen to
  3  CONSISTENT: no finding is fatal, but not all could be checked, or too much was excused
  4  INCOMPLETE: no finding is fatal, but a part of the record is missing""",
    arguments=_arguments,
    run=_run,
)
