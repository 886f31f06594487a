# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command line as a whole: its table, its help, its exit codes, and no traceback ever."""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import io
import os
from pathlib import Path
import subprocess
import sys

from contract_corpus import BAD
from hypothesis import given
from hypothesis import strategies as st
import pytest

from boundary_env_ros import __version__
from boundary_env_ros.cli import main as module
from boundary_env_ros.cli.command import Command
from boundary_env_ros.cli.main import COMMANDS, main, parser
from boundary_env_ros.cli.progress import Progress
from boundary_env_ros.errors import BoundaryError

NAMES = [command.name for command in COMMANDS]

Output = pytest.CaptureFixture[str]


# The table ---------------------------------------------------------------------------------------


def test_every_command_is_there_once() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert {'init', 'check', 'describe', 'diff', 'schema', 'demo', 'audit', 'summary'} <= set(
        NAMES
    )


def test_the_help_lists_every_command_with_a_line(capsys: Output) -> None:
    assert main(['--help']) == 0
    text = ' '.join(capsys.readouterr().out.split())
    for command in COMMANDS:
        assert f'{command.name} {command.summary}' in text
    assert 'exit codes:' in text


def test_the_help_of_every_command_has_its_text_an_example_and_its_exit_codes(
    capsys: Output,
) -> None:
    missing = []
    for command in COMMANDS:
        assert main([command.name, '--help']) == 0
        text = capsys.readouterr().out
        wanted = (
            command.text,
            f'  boundary-env {command.name}',
            command.exit_codes,
            f'  {command.unusable}  wrong arguments',
        )
        missing += [(command.name, part) for part in wanted if part not in text]
        missing += [(command.name, line) for line in text.splitlines() if len(line) > 100]
    assert missing == []


def test_every_argument_is_explained() -> None:
    [choices] = [a.choices for a in parser()._actions if a.choices]
    assert isinstance(choices, dict)
    for name, command in choices.items():
        for action in command._actions:
            assert action.help, f'{name} {action.option_strings or action.dest}'


def test_the_version_is_that_of_the_package(capsys: Output) -> None:
    assert main(['--version']) == 0
    assert capsys.readouterr().out == f'boundary-env {__version__}\n'


# Exit codes --------------------------------------------------------------------------------------


@pytest.mark.parametrize('arguments', [[], ['chek'], ['--verbose'], ['check', '--jsn', 'x']])
def test_wrong_arguments_are_told_in_one_line_after_the_usage(
    arguments: list[str], capsys: Output
) -> None:
    assert main(arguments) == 2
    output = capsys.readouterr()
    assert not output.out
    usage, *_, error = output.err.splitlines()
    assert usage.startswith('usage: boundary-env')
    assert error.startswith('boundary-env')


def test_an_unknown_option_is_unusable_input_of_its_command(capsys: Output) -> None:
    for command in COMMANDS:
        assert main([command.name, '--no-such-option']) == command.unusable, command.name
        assert f'boundary-env {command.name}: ' in capsys.readouterr().err


def test_an_option_is_not_guessed_from_its_beginning(capsys: Output) -> None:
    assert main(['check', '--js', 'warehouse_cart']) == 2
    assert 'unrecognized arguments: --js' in capsys.readouterr().err


def run_as(monkeypatch: pytest.MonkeyPatch, run: Callable[[object], int]) -> None:
    """Put a command in place of all others."""
    command = Command(
        name='try',
        summary='try',
        text='Try.',
        exit_codes='',
        arguments=lambda _: None,
        run=run,
        unusable=7,
    )
    monkeypatch.setattr(module, 'COMMANDS', (command,))


@pytest.mark.parametrize(
    'error',
    [BoundaryError('Expected a, got b.'), OSError(28, 'No space left on device')],
)
def test_an_error_is_one_line_and_the_exit_code_of_the_command(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    def run(_: object) -> int:
        raise error

    run_as(monkeypatch, run)
    assert main(['try']) == 7
    assert capsys.readouterr().err == f'boundary-env: {error}\n'


def test_an_interrupt_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(_: object) -> int:
        raise KeyboardInterrupt

    run_as(monkeypatch, run)
    assert main(['try']) == 130


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
        [sys.executable, '-m', 'boundary_env_ros.cli.main', 'schema'],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b''
    assert process.wait(60) == 0


def test_a_terminal_without_unicode_shows_everything() -> None:
    done = command_line('describe', 'warehouse_cart', PYTHONIOENCODING='ascii')
    assert (done.returncode, done.stderr) == (0, '')
    assert '  capture    0.2 s\n' in done.stdout


def test_no_command_of_contracts_needs_ros_or_a_simulator() -> None:
    code = (
        'import sys\n'
        'from boundary_env_ros.cli.main import main\n'
        "codes = main(['check', 'warehouse_cart']), main(['describe', 'warehouse_cart'])\n"
        "codes += main(['diff', 'warehouse_cart', 'two_carts']), main(['schema'])\n"
        'assert codes == (0, 0, 2, 0), codes\n'
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
WORDS = st.one_of(
    st.sampled_from([name for name in NAMES if name != 'demo']),
    st.sampled_from(['--json', '--contract', '--bag', '--path', '--help', '--', '-', '', '-h']),
    st.sampled_from(['warehouse_cart', 'door_arm', 'two_carts', 'nothing', '/', '.', '/dev/zero']),
    st.sampled_from(FILES),
    st.text(max_size=12),
)
CODES = {0, 1, 2, 3}


@given(arguments=st.lists(WORDS, max_size=5))
def test_no_arguments_make_a_traceback(
    arguments: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    if arguments[:1] == ['init']:
        # A draft that succeeds writes a file, and a live robot is not for this test.
        arguments = ['init', '--bag', *arguments[1:]]
    output, errors = io.StringIO(), io.StringIO()
    home = Path.cwd()
    os.chdir(tmp_path_factory.mktemp('here'))
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            code = main(arguments)
    finally:
        os.chdir(home)
    assert code in CODES
    command = next((c for c in COMMANDS if c.name in arguments[:1]), None)
    if code == (command.unusable if command else 2):
        assert errors.getvalue().strip()
    assert 'Traceback' not in output.getvalue() + errors.getvalue()


@pytest.mark.parametrize('command', ['check', 'describe', 'audit', 'summary', 'diff'])
def test_no_file_makes_a_traceback(command: str, tmp_path: Path, capsys: Output) -> None:
    (tmp_path / 'folder').mkdir()
    (tmp_path / 'empty').touch()
    (tmp_path / 'binary').write_bytes(bytes(range(256)) * 10)
    (tmp_path / 'empty.mcap').touch()
    (tmp_path / 'empty.jsonl').touch()
    (tmp_path / 'binary.mcap').write_bytes(bytes(range(256)) * 10)
    (tmp_path / 'binary.jsonl').write_bytes(bytes(range(256)) * 10)
    (tmp_path / 'json.jsonl').write_text('{"kind": 3}\n[]\nnull\n{"a": ' + '[' * 10_000)
    (tmp_path / 'loop').symlink_to(tmp_path / 'loop')
    places = [*sorted(tmp_path.iterdir()), tmp_path / 'nothing', Path('a' * 5000), Path('a\0b')]
    unusable = next(c.unusable for c in COMMANDS if c.name == command)
    for place in places:
        arguments = [command, str(place)] + (['warehouse_cart'] if command == 'diff' else [])
        code = main(arguments)
        output = capsys.readouterr()
        # A summary of lines that are no records has nothing to sum up, and says so.
        assert code in {0 if command == 'summary' else 1, 1, unusable}, (place, output)
        assert 'Traceback' not in output.out + output.err
        assert (output.err if code == unusable else output.out).strip(), place
