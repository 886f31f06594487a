# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command line of the fault campaign; ``python -m tools.faults --help`` tells what it does."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
import shutil
import signal
import sys
import tempfile

TEXT = """\
Break the boundary in every way that is known, many times, over real DDS, and measure.

Robot (simulated), safety gate, environment, recorder and policy are processes of their own. In
every trial the policy drives an episode; at a moment drawn from the seed, while the robot speeds
up or has its full speed, one fault is made. A probe, which is none of the parties, measures the
time from the fault to the safe command on the wire, that none but safe commands follow; where the
gate itself is what failed, to the cart at rest. That time is compared with a bound that follows
from the contract alone (tools/faults/fault_bounds.py). Then all is healed, and a fresh episode
must drive. In the end the record of the recorder is audited, and must name the right ending.
"""

MORE = """\
columns (times in ms):
  bound      what the contract allows; nothing is added for the machine
  median, p95, max
             time from the fault to what is safe
  over       trials over the bound; in parentheses how many of these the lateness explains
  late       longest that a sleeping process of no part in it overslept meanwhile: how late the
             scheduler of this machine is, which is no real-time machine
  recovered  trials after which a fresh episode drove
  audited    trials in whose record the audit finds no error
  caused     trials whose record names an expected reason and ending
  why        reason of the gate's stop / ending of the episode; `driver`: no gate was there to
             say something, and the driver's own timeout stopped the cart

examples:
  make faults
  make faults ARGS='--trials 2 --kinds kill_policy,stop_button'
  make faults ARGS='--list'
  make faults ARGS='--json faults.json --records faults'

exit codes:
  0  every trial was within its bound, recovered, clean and rightly explained
  1  at least one was not
  2  wrong arguments
  130  stopped (Ctrl-C); the table has the kinds that were finished
"""


def arguments() -> argparse.ArgumentParser:
    """Return the parser."""
    parser = argparse.ArgumentParser(
        prog='make faults',
        description=TEXT,
        epilog=MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        '--trials', type=_count, default=25, metavar='N', help='of each kind (default: 25)'
    )
    parser.add_argument(
        '--kinds', metavar='A,B', help='names of kinds (default: all; --list shows them)'
    )
    parser.add_argument('--seed', type=int, default=1, metavar='N', help='of all chance')
    parser.add_argument('--json', type=Path, metavar='FILE', help='write every trial there')
    parser.add_argument(
        '--markdown', type=Path, metavar='FILE', help='write the table there, as Markdown'
    )
    parser.add_argument(
        '--records',
        type=Path,
        metavar='FOLDER',
        help='keep logs and records there (default: thrown away if all is right)',
    )
    parser.add_argument('--list', action='store_true', help='list the kinds and their bounds')
    return parser


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f'Expect 1 or more, actually: {number}.')
    return number


def main() -> int:
    """Run the campaign and return the exit code."""
    parser = arguments()
    options = parser.parse_args()
    from support.ros_world import reserved_domain
    from tools.faults.fault_campaign import Campaign, Outcome, tell
    from tools.faults.fault_kinds import Kind, KINDS
    from tools.faults.fault_table import as_markdown, as_text, Row, sums

    wanted = options.kinds.split(',') if options.kinds else list(KINDS)
    unknown = [name for name in wanted if name not in KINDS]
    if unknown:
        parser.error(f'Expect kinds out of {", ".join(KINDS)}, actually: {", ".join(unknown)}.')
    if options.list:
        return _list(wanted)
    rows: list[Row] = []

    def judged(kind: Kind, outcomes: list[Outcome], skipped: str) -> None:
        rows.append(Row(kind=kind, outcomes=outcomes, skipped=skipped))
        tell(
            f'{kind.name}: ' + ('skipped' if skipped else 'right' if rows[-1].ok else 'NOT RIGHT')
        )
        for outcome in outcomes:
            for wrong in (*outcome.problems, *outcome.findings):
                tell(f'  {kind.name} {outcome.number}: {wrong}')
        if options.json is not None:
            trials = [o.to_json() for row in rows for o in row.outcomes]
            skips = {row.kind.name: row.skipped for row in rows if row.skipped}
            options.json.write_text(
                json.dumps({'seed': options.seed, 'skipped': skips, 'trials': trials}, indent=1)
            )
        if options.markdown is not None:
            options.markdown.write_text(f'{as_markdown(rows)}\n\n{sums(rows)}\n')

    # What was started is ended, however this one is told to end.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = options.records or Path(tempfile.mkdtemp(prefix='boundary_faults_'))
    stopped = False
    try:
        with reserved_domain() as domain:
            Campaign(
                folder.resolve(),
                domain,
                trials=options.trials,
                seed=options.seed,
                told=tell,
                judged=judged,
            ).run(KINDS[name] for name in wanted)
    except KeyboardInterrupt:
        stopped = True
        tell('stopped: the kinds that were finished count')
    print(as_text(rows))
    print()
    print(sums(rows))
    right = all(row.ok for row in rows)
    if options.records is None and right:
        shutil.rmtree(folder)
    else:
        print(f'Logs and records: {folder}')
    if stopped:
        return 130
    return 0 if right else 1


def _list(wanted: list[str]) -> int:
    from boundary_env_ros.storage.contract_file import load
    from tools.faults.fault_kinds import KINDS

    contract = load('warehouse_cart').contract
    for name in wanted:
        kind = KINDS[name]
        print(f'{name:22} {1000 * kind.bound(contract):5.0f} ms  {kind.text}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
