# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import os
import sys

from boundary_env_ros import __version__
from boundary_env_ros.cli import (
    audit,
    check,
    compare,
    confirm,
    demo,
    describe,
    diff,
    episodes,
    export,
    import_bag,
    init,
    inspect_step,
    mark,
    recover,
    replay,
    report,
    run,
    schema,
    summary,
    up,
    verdict,
)
from boundary_env_ros.cli.command import Command, complain, DONE, Parser
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.terminal import printing

#: Every command, in the order of the help.
COMMANDS: tuple[Command, ...] = (
    init.COMMAND,
    check.COMMAND,
    describe.COMMAND,
    diff.COMMAND,
    schema.COMMAND,
    demo.COMMAND,
    up.COMMAND,
    run.COMMAND,
    confirm.COMMAND,
    replay.COMMAND,
    audit.COMMAND,
    verdict.COMMAND,
    summary.COMMAND,
    report.COMMAND,
    inspect_step.COMMAND,
    compare.COMMAND,
    episodes.COMMAND,
    mark.COMMAND,
    recover.COMMAND,
    import_bag.COMMAND,
    export.COMMAND,
)

INTERRUPTED = 130
#: Exit code for an error that nobody foresaw (EX_SOFTWARE).
FAULT = 70
#: Environment variable with which such an error ends with its traceback.
TRACEBACK = 'BOUNDARY_ENV_TRACEBACK'

_EXIT_CODES = """\
exit codes:
  0    done, and nothing was found
  1    something was found
  2    wrong arguments, unreadable input, or something missing
  70   a fault of this program; BOUNDARY_ENV_TRACEBACK=1 shows where
  130  interrupted
A command whose codes say more has them in its own help: boundary-env COMMAND --help"""


def parser() -> Parser:
    """Return the parser of all commands."""
    top = Parser(
        prog='boundary-env',
        description=(
            'The boundary between a policy and a robot, as a contract: '
            'write it, check it, run it, audit it.'
        ),
        epilog=_EXIT_CODES,
    )
    top.add_argument('--version', action='version', version=f'boundary-env {__version__}')
    commands = top.add_subparsers(metavar='COMMAND', required=True, title='commands')
    for command in COMMANDS:
        one = commands.add_parser(
            command.name,
            help=command.summary,
            description=command.text,
            epilog=f'exit codes:\n{command.exit_codes}',
            unusable=command.unusable,
        )
        command.arguments(one)
        one.set_defaults(command=command, parser=one)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run a command and return its exit code.

    Parameters
    ----------
    arguments
        Words after ``boundary-env``; default: those of this process.

    """
    with printing():
        try:
            options, unknown = parser().parse_known_args(arguments)
            if unknown:
                options.parser.error(f'unrecognized arguments: {" ".join(unknown)}')
        except SystemExit as stop:
            # Help was asked for, or the arguments are wrong; it is said already.
            return stop.code if isinstance(stop.code, int) else DONE
        return _run(options.command, options)


def _run(command: Command, options: argparse.Namespace) -> int:
    try:
        code = command.run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough (`| head`); Python must not complain about it when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except (BoundaryError, OSError) as error:
        complain(error)
        return command.unusable
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        what = ' '.join(str(error).split())
        complain(
            f'{type(error).__name__}: {what} (expected no such error, so boundary_env_ros has a '
            f'fault); set {TRACEBACK}=1 to see where, and report it'
        )
        return FAULT
    return code


if __name__ == '__main__':
    sys.exit(main())
