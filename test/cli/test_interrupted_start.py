# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""An interrupt while a program still imports ends it without a word."""

from __future__ import annotations

from pathlib import Path
import signal
import subprocess
import sys

ROOT = Path(__file__).parents[2]

# Ctrl-C comes as the named module is looked for.
_INTERRUPTED = """
import os, signal, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
"""


def _run(program: str, *, cwd: Path) -> tuple[int, str]:
    ended = subprocess.run(
        [sys.executable, '-c', program],
        capture_output=True,
        text=True,
        timeout=120.0,
        check=False,
        cwd=cwd,
    )
    return ended.returncode, ended.stdout + ended.stderr


def test_the_command_is_interrupted_while_it_imports(tmp_path: Path) -> None:
    entry = 'from boundary_env_ros.cli import boundary_env\nsys.exit(boundary_env())'
    for name in ('boundary_env_ros.cli.main', 'click', 'boundary_env_ros.terminal'):
        told = _run(_INTERRUPTED.format(name=name) + entry, cwd=tmp_path)
        assert told == (-signal.SIGINT, '')


def test_a_node_is_interrupted_while_it_imports(tmp_path: Path) -> None:
    (tmp_path / 'slow_node.py').write_text('import needed\n\ndef main():\n    print("runs")\n')
    (tmp_path / 'needed.py').write_text('')
    script = (ROOT / 'cmake/executable.in').read_text().replace('@module@', 'slow_node')
    assert _run(f'import sys\n{script}', cwd=tmp_path) == (0, 'runs\n')
    told = _run(_INTERRUPTED.format(name='needed') + script, cwd=tmp_path)
    assert told == (-signal.SIGINT, '')
