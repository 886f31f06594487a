# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command line as a whole: its table, its help, its exit codes, and no traceback ever."""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path
import re
import subprocess
import sys

import click
from command_reference import tree
from hypothesis import given
from hypothesis import strategies as st
import pytest

from boundary_env_ros import __version__, resources
from boundary_env_ros.cli.command import Progress
from boundary_env_ros.cli.main import boundary_env, main
from boundary_env_ros.errors import BoundaryError
from support.contract_corpus import BAD

COMMANDS = {words[1:]: command for words, command in tree(boundary_env)}
NAMES = [words for words, command in COMMANDS.items() if not isinstance(command, click.Group)]

Output = pytest.CaptureFixture[str]


# The table ---------------------------------------------------------------------------------------


def test_commands_are_in_groups() -> None:
    assert [' '.join(words) for words in NAMES] == [
        *(f'contract {name}' for name in ('init', 'check', 'show', 'diff', 'schema')),
        *('demo', 'up', 'watch', 'run', 'operator', 'security'),
        *('audit', 'replay', 'report', 'inspect', 'compare'),
        *(f'episodes {name}' for name in ('list', 'label')),
        *('bag import', 'bag recover', 'export'),
    ]


def test_one_option_has_one_meaning_in_all_commands() -> None:
    metavars: dict[str, set[str | None]] = {}
    for command in COMMANDS.values():
        for parameter in command.params:
            for name in parameter.opts:
                if name.startswith('-'):
                    metavars.setdefault(name, set()).add(parameter.metavar)
    assert {name: found for name, found in metavars.items() if len(found) > 1} == {}
    assert {name for name in metavars if not name.startswith('--')} == {'-o'}


def test_the_help_lists_every_command_with_its_whole_sentence(capsys: Output) -> None:
    for words, group in COMMANDS.items():
        if isinstance(group, click.Group):
            assert main([*words, '--help']) == 0
            text = ' '.join(capsys.readouterr().out.split())
            assert '...' not in text.replace('ARGS]...', '')
            for name, command in group.commands.items():
                assert f'{name} {str(command.help).split(chr(10))[0]}' in text


def test_the_help_of_a_command_has_an_example_and_its_exit_codes(capsys: Output) -> None:
    for words in NAMES:
        assert main([*words, '--help']) == 0
        text = capsys.readouterr().out
        assert f'\n  boundary-env {" ".join(words)}' in text
        assert re.search(r'\nExit codes:\n  0 .*\n(.*\n)*  2 +wrong arguments', text), words
        assert [line for line in text.splitlines() if len(line) > 100] == []
        for parameter in COMMANDS[words].params:
            if isinstance(parameter, click.Option):
                _, said = parameter.get_help_record(click.Context(COMMANDS[words])) or ('', '')
                assert said, f'{words} {parameter.name}'


def test_the_version_is_that_of_the_package(capsys: Output) -> None:
    assert main(['--version']) == 0
    assert capsys.readouterr().out == f'boundary-env {__version__}\n'


def test_a_shell_completes_commands_and_options() -> None:
    cases = ('boundary-env con', 'contract'), ('boundary-env up --sim', 'simulated')
    for words, wanted in cases:
        done = command_line(
            _BOUNDARY_ENV_COMPLETE='bash_complete', COMP_WORDS=words, COMP_CWORD=words.count(' ')
        )
        assert done.returncode == 0
        assert wanted in done.stdout


# Exit codes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    'arguments',
    [
        ['chek'],
        ['--verbose'],
        ['contract', 'check', '--jsn', 'x'],
        ['replay', 'x', '--policy', 'y'],
    ],
)
def test_wrong_arguments_are_told_in_one_line_after_the_usage(
    arguments: list[str], capsys: Output
) -> None:
    assert main(arguments) == 2
    output = capsys.readouterr()
    assert not output.out
    usage, error = output.err.splitlines()
    assert usage.startswith('Usage: boundary-env')
    assert error.startswith('boundary-env')


def test_a_group_alone_shows_its_help(capsys: Output) -> None:
    # An error only from click 8.2 on; Ubuntu 24.04 has 8.1.
    code, place = (2, 1) if hasattr(click.exceptions, 'NoArgsIsHelpError') else (0, 0)
    for words in ([], ['contract']):
        assert main(words) == code
        assert 'Commands:' in capsys.readouterr()[place]


def test_an_unknown_option_is_said_with_its_command(capsys: Output) -> None:
    for words in COMMANDS:
        assert main([*words, '--no-such-option']) == 2, words
        assert f'{" ".join(("boundary-env", *words))}: ' in capsys.readouterr().err


def test_an_option_is_not_guessed_from_its_beginning(capsys: Output) -> None:
    assert main(['contract', 'check', '--js', 'warehouse_cart']) == 2
    assert 'No such option' in capsys.readouterr().err


def raising(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let a command fail."""

    def fails(name: str) -> None:
        raise error

    monkeypatch.setattr(resources, 'share_file', fails)


@pytest.mark.parametrize(
    'error',
    [BoundaryError('Expected a, got b.'), OSError(28, 'No space left on device')],
)
def test_an_error_is_one_line_and_exit_code_2(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    raising(monkeypatch, error)
    assert main(['contract', 'schema']) == 2
    assert capsys.readouterr().err == f'boundary-env: {error}\n'


def test_an_interrupt_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    raising(monkeypatch, KeyboardInterrupt())
    assert main(['contract', 'schema']) == 130


def command_line(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Run the command line as a process of its own."""
    return subprocess.run(
        [sys.executable, '-m', 'boundary_env_ros.cli.main', *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **{key: str(value) for key, value in options.items()}},
    )


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    process = subprocess.Popen(
        [sys.executable, '-m', 'boundary_env_ros.cli.main', 'contract', 'schema'],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b''
    assert process.wait(60) == 0


def test_a_terminal_without_unicode_shows_everything() -> None:
    done = command_line('contract', 'show', 'warehouse_cart', PYTHONIOENCODING='ascii')
    assert (done.returncode, done.stderr) == (0, '')
    assert '  capture: 0.2\n' in done.stdout


def test_no_command_of_contracts_needs_ros_or_a_simulator() -> None:
    code = (
        'import sys\n'
        'from boundary_env_ros.cli.main import main\n'
        "assert 'numpy' not in sys.modules, 'numpy'\n"
        "show, diff = ['show', 'warehouse_cart'], ['diff', 'warehouse_cart', 'two_carts']\n"
        "words = ['check', 'warehouse_cart'], show, diff, ['schema']\n"
        "codes = [main(['contract', *some]) for some in words]\n"
        'assert codes == [0, 0, 1, 0], codes\n'
        "loaded = {'rclpy', 'mujoco', 'nav_msgs'} & set(sys.modules)\n"
        'assert not loaded, loaded\n'
    )
    done = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize('on_terminal', [True, False])
def test_progress_is_shown_on_a_terminal_only(
    on_terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.setattr(sys.stderr, 'isatty', lambda: on_terminal, raising=False)
    show = Progress()
    show('1 of 2')
    show.done()
    output = capsys.readouterr()
    assert not output.out
    assert output.err == ('\r\x1b[K1 of 2\r\x1b[K' if on_terminal else '')


# Whatever is typed -------------------------------------------------------------------------------

FILES = [str(path) for path in sorted(BAD.rglob('*.yaml'))]
UNTIL_CTRL_C = {('demo',), ('up',), ('watch',), ('operator',)}
WORDS = st.one_of(
    st.sampled_from([words for words in COMMANDS if words not in UNTIL_CTRL_C]),
    st.sampled_from(['--json', '--contract', '--bag', '--path', '--help', '--', '-', '', '-h']),
    st.sampled_from(['warehouse_cart', 'door_arm', 'two_carts', 'nothing', '/', '.', '/dev/zero']),
    st.sampled_from(FILES),
    st.text(max_size=12),
)
CODES = {0, 1, 2, 3}


@given(words=st.lists(WORDS, max_size=5))
def test_no_arguments_make_a_traceback(
    words: list[str | tuple[str, ...]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    arguments = [word for some in words for word in ([some] if isinstance(some, str) else some)]
    if 'init' in arguments:
        # A draft that succeeds writes a file, and a live robot is not for this test.
        arguments = [*arguments, '--bag', 'nothing']
    output, errors = io.StringIO(), io.StringIO()
    home = Path.cwd()
    os.chdir(tmp_path_factory.mktemp('here'))
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            code = main(arguments)
    finally:
        os.chdir(home)
    assert code in CODES
    if code == 2:
        assert errors.getvalue().strip()
    assert 'Traceback' not in output.getvalue() + errors.getvalue()


@pytest.mark.parametrize(
    'command', ['contract check', 'contract show', 'audit', 'report --text', 'contract diff']
)
def test_no_file_makes_a_traceback(command: str, tmp_path: Path, capsys: Output) -> None:
    (tmp_path / 'folder').mkdir()
    (tmp_path / 'empty').touch()
    (tmp_path / 'binary').write_bytes(bytes(range(256)) * 10)
    (tmp_path / 'empty.mcap').touch()
    (tmp_path / 'empty.json').touch()
    (tmp_path / 'binary.mcap').write_bytes(bytes(range(256)) * 10)
    (tmp_path / 'binary.json').write_bytes(bytes(range(256)) * 10)
    (tmp_path / 'nested.json').write_text('{"a": ' + '[' * 10_000)
    (tmp_path / 'other.json').write_text('{"kind": 3}')
    (tmp_path / 'loop').symlink_to(tmp_path / 'loop')
    places = [*sorted(tmp_path.iterdir()), tmp_path / 'nothing', Path('a' * 5000)]
    for place in places:
        arguments = [*command.split(), str(place)]
        arguments += ['warehouse_cart'] if 'diff' in command else []
        code = main(arguments)
        output = capsys.readouterr()
        # A summary of what is no record has nothing to sum up, and says so.
        assert code in {0 if '--text' in command else 1, 1, 2}, (place, output)
        assert 'Traceback' not in output.out + output.err
        assert (output.err if code == 2 else output.out).strip(), place
