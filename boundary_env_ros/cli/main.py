# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env``."""

from __future__ import annotations

from collections.abc import Sequence
import os
import signal
import sys

import click
from click.shell_completion import shell_complete

from boundary_env_ros import __version__
from boundary_env_ros.cli.bag import bag
from boundary_env_ros.cli.command import CommandGroup, complain, DONE, UNUSABLE
from boundary_env_ros.cli.contract_commands import contract
from boundary_env_ros.cli.episode_commands import episodes
from boundary_env_ros.cli.export_command import export
from boundary_env_ros.cli.nodes import demo, operator, security, up, watch
from boundary_env_ros.cli.record_commands import audit, compare, inspect, report
from boundary_env_ros.cli.replay_command import replay
from boundary_env_ros.cli.run_command import run
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.terminal import printing

INTERRUPTED = 130
#: Exit code for an unexpected error (EX_SOFTWARE).
FAULT = 70
#: Environment variable with which such an error ends with its traceback.
TRACEBACK = 'BOUNDARY_ENV_TRACEBACK'
#: Environment variable with which a shell asks for completion.
COMPLETE = '_BOUNDARY_ENV_COMPLETE'


@click.group(
    cls=CommandGroup,
    context_settings={'help_option_names': ['-h', '--help'], 'max_content_width': 99},
)
@click.version_option(__version__, message='boundary-env %(version)s')
def boundary_env() -> None:
    """
    Turn a ROS 2 robot into a Gymnasium environment that can be trusted.

    A contract says what a policy sees and may do. Write and check it, start the nodes on the
    robot, run a policy, then audit, replay and explain the record.

      boundary-env demo                             see it drive a simulated cart
      boundary-env contract init my_robot.yaml      begin with a robot of your own
      boundary-env COMMAND --help                   options, examples and exit codes

    Exit codes:
      0    done, and nothing was found
      1    something was found, or did not work
      2    wrong arguments, unreadable input, or something is missing
      70   a fault of this program; BOUNDARY_ENV_TRACEBACK=1 shows where
      130  interrupted

    Completion, for bash (or zsh, fish), in ~/.bashrc:
      eval "$(_BOUNDARY_ENV_COMPLETE=bash_source boundary-env)"
    """


for command in (
    contract,
    demo,
    up,
    watch,
    run,
    operator,
    security,
    audit,
    replay,
    report,
    inspect,
    compare,
    episodes,
    bag,
    export,
):
    boundary_env.add_command(command)


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run a command and return its exit code.

    Parameters
    ----------
    arguments
        Words after ``boundary-env``; default: those of this process.

    """
    if arguments is None and (instruction := os.environ.get(COMPLETE)):
        return shell_complete(boundary_env, {}, 'boundary-env', COMPLETE, instruction)
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # see the package
    with printing():
        try:
            code = _run(sys.argv[1:] if arguments is None else list(arguments))
            sys.stdout.flush()
        except BrokenPipeError:
            # The reader has seen enough (`| head`); Python must not complain when it flushes.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return DONE
        return code


def _run(arguments: list[str]) -> int:
    try:
        with boundary_env.make_context('boundary-env', arguments) as context:
            return int(boundary_env.invoke(context) or DONE)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        place = getattr(error, 'ctx', None)
        name = place.command_path if place else 'boundary-env'
        # Its message is the help, from click 8.2 on.
        if place and type(error).__name__ != 'NoArgsIsHelpError':
            print(place.get_usage(), file=sys.stderr)
        print(f'{name}: {error.format_message()}', file=sys.stderr)
        return UNUSABLE
    except BrokenPipeError:
        raise
    except (BoundaryError, OSError) as error:
        complain(error)
        return UNUSABLE
    except (KeyboardInterrupt, click.Abort):
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


if __name__ == '__main__':
    sys.exit(main())
