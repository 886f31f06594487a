# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the commands of ``boundary-env`` share: options, exit codes, help and progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import inspect
import json
import math
from pathlib import Path
import sys
from typing import Any

import click

from boundary_env_ros.errors import BoundaryError, INSTALL_ROS, MissingDependency
from boundary_env_ros.resources import entry_points
from boundary_env_ros.terminal import steer

DONE = 0
FOUND = 1
UNUSABLE = 2

#: Records, or messages, between two words about how many there are.
_OFTEN = 100

_Function = Callable[..., Any]
_Decorator = Callable[[_Function], _Function]


class Command(click.Command):
    """A command whose help is shown as it is written; its function returns the exit code."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the text without wrapping it: it has examples and tables."""
        formatter.write(f'\n{inspect.cleandoc(self.help or "")}\n')

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write arguments and options."""
        for title, kind in (('Arguments', click.Argument), ('Options', click.Option)):
            given = (p for p in self.get_params(ctx) if isinstance(p, kind))
            if rows := [row for p in given if (row := p.get_help_record(ctx))]:
                with formatter.section(title):
                    formatter.write_dl(rows)


class CommandGroup(Command, click.Group):
    """A group of commands, listed in the order in which they were added."""

    command_class = Command
    group_class = type

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the help."""
        return list(self.commands)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, then the options."""
        self.format_commands(ctx, formatter)
        super().format_options(ctx, formatter)


class _Argument(click.Argument):
    """An argument that is explained in the help."""

    def __init__(self, *names: Any, text: str, **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.text = text

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Return its name and what it is."""
        return self.metavar or self.human_readable_name, self.text


class Number(click.FloatRange):
    """A finite number in a range."""

    name = 'number'

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Return the number."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f'expected a finite number, got {value!r}', param, ctx)
        return number


#: A path, which a shell can complete.
PATH = click.Path(path_type=Path)
COUNT = click.IntRange(min=0)
SECONDS = Number(min=0, min_open=True)


def argument(name: str, metavar: str, text: str, **settings: Any) -> _Decorator:
    """Return a decorator that adds an argument and explains it."""
    return click.argument(name, cls=_Argument, metavar=metavar, text=text, **settings)


def option(*names: str, **settings: Any) -> _Decorator:
    """Return a decorator that adds an option, whose default is shown if it has one."""
    settings.setdefault('show_default', settings.get('default') not in (None, ''))
    return click.option(*names, **settings)


def _name_value(text: str) -> tuple[str, Any]:
    import yaml

    name, sign, value = text.partition('=')
    if not (name.isidentifier() and sign):
        raise click.BadParameter(f'expected NAME=VALUE, got {text!r}')
    try:
        return name, yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise click.BadParameter(f'expected a value in YAML, got {value!r}') from error


def settings_option(name: str, text: str) -> _Decorator:
    """Return a decorator that adds a repeatable option ``NAME=VALUE``."""
    return option(
        name,
        type=_name_value,
        multiple=True,
        metavar='NAME=VALUE',
        help=f'{text}; the value is read as YAML; repeatable',
    )


def record_argument(name: str = 'path', metavar: str = 'RUN') -> _Decorator:
    """Return a decorator that adds the record to read."""
    text = 'run folder or bag'
    return argument(name, metavar, text, type=PATH)


def contract_argument(name: str = 'contract', **settings: Any) -> _Decorator:
    """Return a decorator that adds a contract."""
    text = 'contract file, or name of a shipped one'
    return argument(name, name.removesuffix('s').upper(), text, **settings)


def contract_option(text: str, **settings: Any) -> _Decorator:
    """Return a decorator that adds the option ``--contract``."""
    return option('--contract', metavar='CONTRACT', help=f'file or name of {text}', **settings)


json_option = option('--json', 'as_json', is_flag=True, help='print the result as JSON')
run_option = option(
    '--run',
    type=PATH,
    metavar='FOLDER',
    help='leave the record there; must not exist (default: runs/NAME-DATE-TIME)',
)
pacing_option = option(
    '--pacing',
    type=click.Choice(('realtime', 'lockstep')),
    help='whether the world waits for the policy (default: as in the contract)',
)


def output_option(text: str, **settings: Any) -> _Decorator:
    """Return a decorator that adds the option ``-o``."""
    text = f'{text}; must not exist'
    return option('-o', '--output', type=PATH, metavar='PATH', help=text, **settings)


def domain_option(default: str = 'ROS_DOMAIN_ID', **settings: Any) -> _Decorator:
    """Return a decorator that adds the option ``--domain-id``."""
    text = f'ROS domain (default: {default})'
    return option('--domain-id', type=click.IntRange(0, 232), metavar='N', help=text, **settings)


def ros_options(function: _Function) -> _Function:
    """Add the options that say where the nodes are."""
    namespace = option('--namespace', default='', metavar='NS', help='namespace of the nodes')
    return namespace(domain_option()(function))


def _user(text: str) -> str:
    if not text.strip():
        raise click.BadParameter(f'expected the name of a person, got {text!r}')
    return text.strip()


user_option = option(
    '--user',
    required=True,
    type=_user,
    metavar='NAME',
    help='your name, for the record',
)


def ros_command(name: str) -> Callable[..., Any]:
    """
    Return a function that needs ROS; entry points name them, so that the rest runs without it.

    Raises
    ------
    MissingDependency
        If there is no ROS.

    """
    for entry in entry_points(group='boundary_env_ros.commands', name=name):
        try:
            command: Callable[..., Any] = entry.load()
        except MissingDependency:
            raise
        except ImportError as error:
            raise MissingDependency(f'This needs ROS 2: {error}. {INSTALL_ROS}.') from error
        return command
    raise BoundaryError(
        f'The command {name!r} is not installed: it has no entry point. Reinstall the package.'
    )


def complain(error: object) -> None:
    """Print what went wrong, where it does not mix with what was asked for."""
    print(f'boundary-env: {error}', file=sys.stderr)


def import_from_here() -> None:
    """Let modules be found where the command is given, as with ``python -m``."""
    here = Path.cwd().as_posix()
    if here not in sys.path:
        sys.path.insert(0, here)


def print_result(value: Any, *, as_json: bool, text: Callable[[Any], str] = str) -> None:
    """Print a result as text, or the JSON of it."""
    print_json(value.to_json()) if as_json else print(text(value))


def print_json(value: object) -> None:
    """Print a value as JSON."""
    print(json.dumps(value, indent=2))


class Progress:
    """One line that changes, on the terminal of the error output only."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()

    def __call__(self, text: str) -> None:
        """Show a text instead of the one before."""
        if self._live:
            steer(sys.stderr, '\r\x1b[K')
            print(text, end='', file=sys.stderr, flush=True)

    def done(self, *_: object) -> None:
        """Take the line away."""
        self('')

    def __enter__(self) -> Progress:
        return self

    __exit__ = done


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int | None], None]]:
    """Show how many there are, out of how many if that is known, until the block ends."""
    with Progress() as show:

        def progress(done: int, total: int | None) -> None:
            if done % _OFTEN == 0:
                show(f'{done} {what}' if total is None else f'{done} of {total} {what}')

        yield progress
