# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A command as a user runs it on a terminal, whose processes can be told from all others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import os
from pathlib import Path
import signal
import subprocess
import sys
from types import MappingProxyType
import uuid

from support.ros_world import processes_of, wait_until

MARK = 'BOUNDARY_ENV_TEST_COMMAND'
"""Variable that every process inherits which the command starts."""

DEADLINE = 120.0
"""Seconds for a command to end, or to come to what is waited for."""


class OwnCommand:
    """
    One run of ``boundary-env``.

    Parameters
    ----------
    folder
        Where its output is kept.
    arguments
        Those of the command.
    environment
        Variables besides those of this process.
    within
        From the command to what runs it elsewhere.

    """

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        environment: Mapping[str, str] = MappingProxyType({}),
        within: Callable[[Sequence[str]], Sequence[str]] = list,
    ) -> None:
        self._mark = uuid.uuid4().hex
        self.environment = {**os.environ, **environment, MARK: self._mark, 'PYTHONUNBUFFERED': '1'}
        self._output = folder / 'output.txt'
        with self._output.open('wb') as output:
            self.process = subprocess.Popen(
                within([sys.executable, '-m', 'boundary_env_ros.cli.main', *arguments]),
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def text(self) -> str:
        """Return what it printed until now."""
        return self._output.read_text(errors='replace')

    @property
    def processes(self) -> Mapping[int, str]:
        """Return the command lines of its processes and itself, by id."""
        return processes_of(self._mark, MARK)

    def wait(self) -> int:
        """Return its exit code."""
        return self.process.wait(DEADLINE)

    def wait_until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait while it runs; what it printed is in the error."""
        wait_until(
            lambda: condition() or self.process.poll() is not None,
            DEADLINE,
            lambda: f'{what}, among: {self.text}',
        )
        assert self.process.poll() is None, self.text

    def assert_gone(self) -> None:
        """Expect that none of its processes is left."""
        wait_until(lambda: not self.processes, 20.0, lambda: f'no processes, got {self.processes}')

    def kill(self) -> None:
        """Kill what is left of it."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for pid in self.processes:
            os.kill(pid, signal.SIGKILL)
        self.assert_gone()
