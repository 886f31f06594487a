# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The commands that read a record: audit, report, inspect and compare."""

from __future__ import annotations

from pathlib import Path

import click

from boundary_env_ros.cli.command import (
    Command,
    contract_option,
    counting,
    DONE,
    FOUND,
    json_option,
    option,
    output_option,
    PATH,
    print_result,
    record_argument,
)

#: Exit code for a record without a fatal finding of which not all could be checked.
NOT_ALL = 3
#: Exit code for a record without a fatal finding of which a part is missing.
MISSING = 4


@click.command(cls=Command)
@record_argument()
@contract_option('the contract to check the record against (default: the one in it)')
@option('--key', type=PATH, metavar='FILE', help='public key that must have signed it (PEM)')
@option('--head', metavar='HASH', help='head that its chain must have, as the recorder printed it')
@json_option
def audit(
    path: Path,
    contract: str | None,
    key: Path | None,
    head: str | None,
    as_json: bool,
) -> int:
    """
    Check whether a record can be believed.

    Recomputes everything that can be recomputed, from the raw messages of a bag too. Reports each
    contradiction with rule, episode and step, and which rules could not be checked and why. A bag
    that is still being recorded is audited as far as it goes.

      boundary-env audit runs/demo-20261122-024000
      boundary-env audit bag/ --contract my_robot.yaml --json
      boundary-env audit runs/demo-20261122-024000 --key robot.pub.pem

    Exit codes:
      0  SUPPORTED: no rule is broken, and all was checked
         PASSED: one transition, in which nothing is wrong or missing
      1  CONTRADICTED: at least one finding is fatal
      2  wrong arguments, or no record
      3  CONSISTENT: no finding is fatal, but one is suspicious, or not all could be checked
      4  INCOMPLETE: no finding is fatal, but a part of the record is missing
    """
    from boundary_env_ros.evidence.audit.audit import audit_path
    from boundary_env_ros.evidence.audit.findings import AuditOutcome
    from boundary_env_ros.storage.contract_file import load
    from boundary_env_ros.storage.signing import public_key

    with counting('records') as progress:
        report = audit_path(
            path,
            None if contract is None else load(contract).contract,
            key=b'' if key is None else public_key(key),
            head=head or '',
            progress=progress,
        )
    print_result(report, as_json=as_json)
    return {
        AuditOutcome.SUPPORTED: DONE,
        AuditOutcome.PASSED: DONE,
        AuditOutcome.CONSISTENT: NOT_ALL,
        AuditOutcome.INCOMPLETE: MISSING,
        AuditOutcome.CONTRADICTED: FOUND,
    }[report.outcome]


@click.command(cls=Command)
@record_argument()
@output_option('HTML page to write')
@option(
    '--rrd', type=click.Path(path_type=Path), metavar='FILE', help='write a recording for Rerun'
)
@option('--text', is_flag=True, help='print the summary')
@json_option
def report(path: Path, output: Path | None, rrd: Path | None, text: bool, as_json: bool) -> int:
    """
    Explain a run: as a page, in Rerun's viewer, or by its figures.

    The page needs no network and no other file. It shows where to look first and why; the
    summary; and for each episode a time line with requested, admitted, commanded and measured
    action, what the gate did and why, observations with their ages, events, and camera images.
    doc/report.md explains it.

    --text prints the summary: success with truncated episodes counted as failures, and without
    them; endings, interventions, latency by stage. --json prints it as JSON. --rrd has every
    step with its images, the action four ways, what the gate did and the latency, for `rerun
    FILE`; it needs the extra `rerun`.

      boundary-env report runs/demo-20261122-024000 -o demo.html
      boundary-env report runs/demo-20261122-024000 --text
      boundary-env report bag/ --json | jq '.groups[].success'
      boundary-env report runs/demo-20261122-024000 --rrd demo.rrd

    Exit codes:
      0  done
      2  wrong arguments, the record cannot be read, the file exists, or Rerun is not installed
    """
    if sum((output is not None, rrd is not None, as_json or text)) != 1:
        raise click.UsageError('give one of -o PAGE.html, --rrd FILE, --text and --json')
    if rrd is not None:
        from boundary_env_ros.evidence.report.rerun_recording import write_rerun

        with counting('records') as progress:
            steps = write_rerun(path, rrd, progress=progress)
        print(f'Recording: {rrd} ({steps} steps). Look at it with `rerun {rrd}`.')
        return DONE
    if output is None:
        from boundary_env_ros.evidence.summary.summary import summarise_path

        print_result(summarise_path(path), as_json=as_json)
        return DONE
    from boundary_env_ros.evidence.report.gather import gather
    from boundary_env_ros.evidence.report.page import render
    from boundary_env_ros.storage.atomic import check_new, write_new

    check_new(output)
    with counting('records') as progress:
        page = ''.join(render(gather(path, progress=progress))).encode('utf-8')
    write_new(output, page)
    print(f'Page: {output} ({len(page) / 1e6:.1f} MB)')
    return DONE


@click.command(cls=Command)
@record_argument()
@option(
    '--episode',
    default='last',
    metavar='N',
    help='its number in the record, from 1, or at least four digits of its id',
)
@option('--step', default='last', metavar='K', help='number of the step; 0 is the reset')
@json_option
def inspect(path: Path, episode: str, step: str, as_json: bool) -> int:
    """
    Show everything that is recorded of one step.

    Its instants and stages; the observation before and after, with ages; the action as requested,
    admitted, commanded and measured; every gate decision with its rules and numbers; the terms of
    the reward, the ending, events, and labels. Evidence that arrived later is included.

      boundary-env inspect runs/demo-20261122-024000 --episode 3 --step 17
      boundary-env inspect bag/ --episode 3f2a --json

    Exit codes:
      0  done
      2  wrong arguments, the record cannot be read, or it has no such step
    """
    from boundary_env_ros.evidence.report.one_step import find_step
    from boundary_env_ros.evidence.report.step_text import step_text

    with counting('records') as progress:
        found = find_step(path, episode, step, progress)
    print_result(found, as_json=as_json, text=step_text)
    return DONE


@click.command(cls=Command)
@record_argument('a', 'A')
@record_argument('b', 'B')
@option('--agent', default='', metavar='NAME', help='one agent of several')
@option(
    '--clients',
    nargs=2,
    default=('', ''),
    show_default=False,
    metavar='OF_A OF_B',
    help='only the episodes of these clients: policy against policy, also in one run',
)
@json_option
def compare(
    a: Path,
    b: Path,
    as_json: bool,
    agent: str,
    clients: tuple[str, str],
) -> int:
    """
    Compare two runs: simulation and reality, or two policies.

    First what differs between the contracts. Then observations, latency, interventions, endings,
    success both ways, return, and how the robot answers commands: delay, gain.

    The episode is the unit of every test: record at least six whole ones of each side, better a
    dozen. Permutation tests, corrected for their number; each difference has its size, interval
    and p value. doc/compare.md explains them.

      boundary-env compare runs/simulation runs/robot
      boundary-env compare runs/week-46 runs/week-47 --json || echo 'something changed'
      boundary-env compare runs/both runs/both --clients baseline candidate

    Exit codes:
      0  no difference beyond chance, and contracts that mean the same
      1  a difference, measured or of the contracts
      2  wrong arguments, an unreadable record, or runs that cannot be compared, for example for
         too few episodes
    """
    from boundary_env_ros.evidence.compare.compare import compare_paths
    from boundary_env_ros.evidence.compare.text import format_comparison

    with counting('records') as progress:
        comparison = compare_paths(a, b, agent=agent, clients=clients, progress=progress)
    print_result(comparison, as_json=as_json, text=format_comparison)
    return comparison.exit_code
