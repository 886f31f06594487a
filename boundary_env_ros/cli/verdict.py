# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env verdict``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from boundary_env_ros.cli.command import (
    Command,
    complain,
    count,
    DONE,
    FOUND,
    look_here,
    name_value,
    print_json,
    RECORD,
    UNUSABLE,
)
from boundary_env_ros.cli.progress import Progress
from boundary_env_ros.errors import BoundaryError

if TYPE_CHECKING:
    from boundary_env_ros.cli.recorded_policy import RecordedPolicy
    from boundary_env_ros.evidence.verdict.question import Question

#: Records after which the progress is shown anew.
_EVERY = 500


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'path',
        type=Path,
        metavar='RUN',
        help=RECORD,
    )
    parser.add_argument(
        '--contract',
        type=Path,
        metavar='FILE',
        help='what would have been under this contract (or, for a record that has none, the '
        'contract that it was made under)',
    )
    parser.add_argument(
        '--policy',
        metavar='POLICY',
        help='what would have become of the actions of this policy: no-op, random, scripted, '
        'replay:RUN, sb3:ZIP, onnx:FILE, lerobot:FOLDER, module:factory or file.py:factory',
    )
    parser.add_argument(
        '--policy-option',
        action='append',
        default=[],
        type=name_value,
        metavar='NAME=VALUE',
        help='passed to the factory; the value is read as YAML; may be given several times',
    )
    parser.add_argument(
        '--episode', type=count, metavar='N', help='only this one, counted from 1 in the record'
    )
    parser.add_argument('--json', action='store_true', help='print the report as JSON')


def _run(options: argparse.Namespace) -> int:
    from boundary_env_ros.evidence.verdict.question import Question

    if options.policy is None and options.policy_option:
        raise BoundaryError('--policy-option has no policy. Add --policy.')
    question = Question(options.path, options.contract)
    policy = None if options.policy is None else _policy(options, question)
    show = Progress()

    def progress(done: int, total: int | None) -> None:
        if done % _EVERY == 0:
            show(f'{done} records' if total is None else f'{done} of {total} records')

    try:
        report = question.answer(
            policy=options.policy or '', propose=policy, only=options.episode, progress=progress
        )
    finally:
        show.done()
        if policy is not None:
            policy.close()
    if options.json:
        print_json(report.to_json())
    else:
        print(report)
    if policy is not None and policy.lost:
        complain(f'{policy.lost} observations have images that the record does not have')
    if report.unreadable:
        return UNUSABLE
    return DONE if report.same else FOUND


def _policy(options: argparse.Namespace, question: Question) -> RecordedPolicy:
    from boundary_env_ros.cli.recorded_policy import RecordedPolicy

    look_here()
    return RecordedPolicy(
        options.policy, dict(options.policy_option), question.loaded, question.source
    )


COMMAND = Command(
    name='verdict',
    summary='recompute a record, and report what differs',
    text="""\
Run gate, environment and task again over a record, and show that the same commands, rewards and
endings come out; or say where the first other one is: step, field, recorded, recomputed.

With another contract or another policy: what would have been decided otherwise, at which steps, by
which rule and by how much. The recorded states are kept, and with them all that the robot did:
what it would have done then is not known. Reads a run folder, a bag, an .mcap file, a .jsonl file
or an exported data set. doc/verdict.md says what is run again and what is taken from the record.

  boundary-env verdict runs/demo-20261122-024000
  boundary-env verdict bag/ --episode 3 --json
  boundary-env verdict bag/ --contract stricter.yaml
  boundary-env verdict bag/ --policy mine.py:factory
  boundary-env verdict bag/ --policy replay:another_run/""",
    exit_codes="""\
  0  the same came out
  1  something else came out, or a part of the record could not be run again
  2  wrong arguments, no record, one that cannot be read or not be judged under that contract, or
     a policy that gives no action""",
    arguments=_arguments,
    run=_run,
)
