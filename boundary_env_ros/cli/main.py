# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env``."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
import json
import os
from pathlib import Path
import sys

from boundary_env_ros import __version__
from boundary_env_ros.errors import BoundaryError, MissingDependency

#: Commands that need ROS are reached by entry point, so that this module runs without.
_GROUP = 'boundary_env_ros.commands'

_EXIT_CODES = """\
exit codes:
  0  done; an audit found nothing wrong
  1  an audit found something wrong
  2  wrong arguments, unreadable input, or something missing
  130  interrupted"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    top = argparse.ArgumentParser(
        prog='boundary-env',
        description=(
            'The boundary between a policy and a robot, as a contract: '
            'run it, audit it, sum it up.'
        ),
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument('--version', action='version', version=f'boundary-env {__version__}')
    commands = top.add_subparsers(metavar='COMMAND', required=True)
    _demo(commands)
    _audit(commands)
    _summary(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run a command and return its exit code.

    Parameters
    ----------
    arguments
        Words after ``boundary-env``; default: those of this process.

    """
    options = parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = options.run_command
    try:
        return run(options)
    except BoundaryError as error:
        print(f'boundary-env: {error}', file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader has seen enough (`| head`); Python must not complain about it when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, help_: str, text: str
) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=help_,
        description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _demo(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = _command(
        commands,
        'demo',
        'drive a simulated cart through the whole boundary',
        """\
Drive a simulated warehouse cart through the whole boundary, on real ROS 2.

Starts environment, safety gate, recorder and simulated robot as processes of their own, on a ROS
domain that nobody else uses, lets a scripted policy drive (and then a policy that does nothing,
for comparison), and leaves a folder with everything that happened: bag, contract, transitions,
index of
episodes, summary and picture. Ctrl-C ends it in order at any moment.""",
    )
    command.add_argument(
        '--run',
        type=Path,
        metavar='FOLDER',
        help='where to leave the record; must not exist (default: runs/demo-DATE-TIME)',
    )
    command.add_argument(
        '--episodes',
        type=_count,
        default=10,
        metavar='N',
        help='episodes of the scripted policy (default: %(default)s)',
    )
    command.add_argument(
        '--baseline',
        type=_count,
        default=2,
        metavar='N',
        help='episodes of the policy that does nothing (default: %(default)s)',
    )
    command.add_argument(
        '--pacing',
        choices=('realtime', 'lockstep'),
        default='realtime',
        help='whether the world waits for the policy (default: %(default)s)',
    )
    command.add_argument(
        '--seed',
        type=_count,
        default=1,
        metavar='N',
        help='seed of the first episode; the others follow (default: %(default)s)',
    )
    command.add_argument(
        '--domain-id',
        type=_count,
        metavar='N',
        help='ROS domain (default: one that nobody uses)',
    )
    command.set_defaults(run_command=_run_demo)


def _run_demo(options: argparse.Namespace) -> int:
    demo = _ros_command('demo')
    return demo(
        run=options.run,
        episodes=options.episodes,
        baseline=options.baseline,
        pacing=options.pacing,
        seed=options.seed,
        domain_id=options.domain_id,
    )


def _ros_command(name: str) -> Callable[..., int]:
    for entry in entry_points(group=_GROUP, name=name):
        try:
            command: Callable[..., int] = entry.load()
        except MissingDependency:
            raise
        except ImportError as error:
            raise MissingDependency(
                f'Expect ROS 2 for `boundary-env {name}`, actually: {error}. '
                "Install it with `pip install 'boundary_env_ros[ros,sim]'`, "
                'or source a ROS 2 workspace.'
            ) from error
        return command
    raise BoundaryError(
        f'Expect the command {name!r} to be installed, actually: no entry point of that name. '
        'Reinstall the package.'
    )


def _audit(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = _command(
        commands,
        'audit',
        'check that a record keeps its contract',
        """\
Check that a record keeps its contract, and that it explains every step.

Reads a run folder, a bag, an .mcap file or a .jsonl file; computes again what can be computed
again;
names every finding with its rule, episode and step. doc/audit.md lists the rules.""",
    )
    command.add_argument('path', type=Path, metavar='RUN', help='run folder, bag, .mcap or .jsonl')
    command.add_argument(
        '--contract',
        type=Path,
        metavar='FILE',
        help='contract to hold it against (default: the one in the record)',
    )
    command.add_argument('--json', action='store_true', help='print the report as JSON')
    command.set_defaults(run_command=_run_audit)


def _run_audit(options: argparse.Namespace) -> int:
    from boundary_env_ros.evidence.audit import audit_path
    from boundary_env_ros.storage.contract_file import load

    contract = None if options.contract is None else load(options.contract).contract
    report = audit_path(options.path, contract)
    print(json.dumps(report.to_json(), indent=2) if options.json else report)
    return 0 if report.ok else 1


def _summary(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = _command(
        commands,
        'summary',
        'sum up a record',
        """\
Sum up a record: success both ways, endings by cause, interventions, latency by stage.

Reads a run folder, a bag, an .mcap file or a .jsonl file.""",
    )
    command.add_argument('path', type=Path, metavar='RUN', help='run folder, bag, .mcap or .jsonl')
    command.add_argument('--json', action='store_true', help='print it as JSON')
    command.set_defaults(run_command=_run_summary)


def _run_summary(options: argparse.Namespace) -> int:
    from boundary_env_ros.evidence.runs import summarise_path

    summary = summarise_path(options.path)
    print(json.dumps(summary.to_json(), indent=2) if options.json else summary)
    return 0


def _count(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0:
        raise argparse.ArgumentTypeError(f'expect a whole number, 0 or more, actually: {text!r}')
    return number


if __name__ == '__main__':
    sys.exit(main())
