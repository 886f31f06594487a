# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The process of a plugin, seen from its robot: every call has a deadline, and an end."""

from __future__ import annotations

from collections import deque
import os
from pathlib import Path
import select
import socket
import subprocess
import sys
import time
from typing import Any
import weakref

from boundary_env_ros.errors import BoundaryError, RequestRejected, ResultCode, SimulationFailed
from boundary_env_ros.simulation.plugin import EnvironmentPlugin
from boundary_env_ros.simulation.plugin_host import FILE
from boundary_env_ros.simulation.plugin_wire import packed, receive

# For a plugin to release its world, s.
_FAREWELL = 2.0

# For the rest of an event whose beginning is there, s.
_REST = 1.0

# Events that wait to be taken; of more the oldest are dropped.
_EVENTS = 1000


def target_of(plugin: type[EnvironmentPlugin] | str) -> str:
    """
    Return how another process finds a class of plugins.

    Raises
    ------
    BoundaryError
        If it cannot: a class within a function, or one that was typed in.

    """
    if isinstance(plugin, str):
        return plugin
    module, name = plugin.__module__, plugin.__qualname__
    if module == '__main__':
        script = getattr(sys.modules['__main__'], '__file__', None)
        module = '' if script is None else f'{FILE}{Path(script).absolute()}'
    if not module or '<locals>' in name:
        raise BoundaryError(
            'The plugin cannot be imported (expected a plugin that another process can import, '
            f'got {plugin.__module__}.{name}). Put the class at the top of a file.'
        )
    return f'{module}:{name}'


class PluginProcess:
    """
    A plugin in a process of its own, which lives no longer than this object or this process.

    Parameters
    ----------
    target
        The class, as :func:`target_of` returns it.

    """

    def __init__(self, target: str) -> None:
        self.target = target
        self._failure = ''
        self._events: deque[dict[str, Any]] = deque(maxlen=_EVENTS)
        parent_end, child_end = socket.socketpair()
        with child_end:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    '-m',
                    'boundary_env_ros.simulation.plugin_host',
                    str(child_end.fileno()),
                    target,
                ],
                pass_fds=(child_end.fileno(),),
                env={**os.environ, 'PYTHONPATH': os.pathsep.join(p or '.' for p in sys.path)},
                stdin=subprocess.DEVNULL,
                # What a plugin prints is no answer of the program that runs it.
                stdout=2,
                # Ctrl-C is for the parent, which closes it in order.
                start_new_session=True,
            )
        self._connection = parent_end
        self._finalizer = weakref.finalize(self, _end, self._process, parent_end)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Return whether it can be asked."""
        return not self._failure and self._finalizer.alive

    def call(self, name: str, deadline: float, /, **arguments: object) -> dict[str, Any]:
        """
        Call a method of the plugin; return its ``answer``, and what it ``can``.

        Parameters
        ----------
        name
            Of the method.
        deadline
            Seconds, steady. A plugin that misses it is killed.
        arguments
            Of the method by name, plain; those that it does not take are left out.

        Raises
        ------
        SimulationFailed
            If it raises, does not answer in time, or is gone.
        RequestRejected
            If it has no such method.

        """
        if not self.alive:
            raise SimulationFailed(self._failure or f'The plugin {self.target} was closed.')
        try:
            self._connection.settimeout(deadline)
            self._connection.sendall(packed({'call': name, 'arguments': arguments}))
            answer = self._answer(time.monotonic() + deadline)
        except TimeoutError:
            raise self._lost(name, f'nothing within {deadline:g} s; it was killed') from None
        except (EOFError, OSError):
            raise self._lost(name, f'its process ended ({self._ending()})') from None
        except ValueError as error:
            raise self._lost(name, f'{error}; it was killed') from error
        if answer.get('unsupported'):
            raise RequestRejected(
                f'The plugin {self.target} has no method {name!r}. Write one, or do without.',
                ResultCode.UNSUPPORTED,
            )
        if 'error' in answer:
            raise SimulationFailed(f'The plugin {self.target} in {name}: {answer["error"]}')
        return answer

    def _answer(self, until: float) -> dict[str, Any]:
        """Return the next message that is an answer; events that come before it are kept."""
        while 'push' in (message := receive(self._connection, until - time.monotonic())):
            self._events.append(message['push'])
        return message

    def pushed(self) -> tuple[dict[str, Any], ...]:
        """Return what the plugin has pushed since the last call, the oldest first."""
        try:
            for _ in range(_EVENTS if self.alive else 0):
                if not select.select([self._connection], [], [], 0.0)[0]:
                    break
                message = receive(self._connection, _REST)
                if 'push' in message:
                    self._events.append(message['push'])
        except (EOFError, OSError, ValueError):
            pass  # The next call says what has become of it.
        events = tuple(self._events)
        self._events.clear()
        return events

    def close(self) -> None:
        """Let the plugin close its world, and end its process."""
        self._finalizer()

    def _lost(self, name: str, got: str) -> SimulationFailed:
        self._failure = (
            f'The plugin {self.target} did not answer to {name}: {got}. A reset starts it again.'
        )
        self._process.kill()
        self._process.wait()
        self._connection.close()
        return SimulationFailed(self._failure)

    def _ending(self) -> str:
        try:
            code = self._process.wait(_FAREWELL)
        except subprocess.TimeoutExpired:
            return 'it closed its connection'
        return f'signal {-code}' if code < 0 else f'exit code {code}'


def _end(process: subprocess.Popen[bytes], connection: socket.socket) -> None:
    """End a process: in order if it answers, by force if not."""
    try:
        if process.poll() is None:
            connection.settimeout(_FAREWELL)
            connection.sendall(packed({'call': 'close', 'arguments': {}}))
            process.wait(_FAREWELL)
    except (OSError, subprocess.TimeoutExpired):
        pass
    finally:
        connection.close()
        if process.poll() is None:
            process.kill()
        process.wait()
