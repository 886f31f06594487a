# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The process of a plugin: it makes the plugin, and answers one call after the other.

Events that the plugin pushes go between the answers, as soon as they are there. The process ends
when it is asked to, or when its parent process is gone.
"""

from __future__ import annotations

from importlib import import_module
import inspect
import os
import runpy
import socket
import sys
import threading
import time
from typing import Any

from boundary_env_ros.simulation.plugin import EnvironmentPlugin
from boundary_env_ros.simulation.plugin_wire import packed, receive

# Between two checks for the parent, s.
_POLL = 0.5

#: Before the path of a script whose class is the plugin.
FILE = 'file:'


def load(target: str) -> type[EnvironmentPlugin]:
    """Return the class that ``module:Class`` or ``file:path:Class`` names."""
    place, _, name = target.rpartition(':')
    if place.startswith(FILE):
        # Under another name than __main__, so that what it does as a script is not done.
        found: Any = runpy.run_path(place.removeprefix(FILE), run_name='__plugin__')
        first, *rest = name.split('.')
        found = found[first]
    else:
        found, rest = import_module(place), name.split('.')
    for part in rest:
        found = getattr(found, part)
    if not (isinstance(found, type) and issubclass(found, EnvironmentPlugin)):
        raise TypeError(f'expected a subclass of EnvironmentPlugin, got {found!r}')
    return found


def serve(connection: socket.socket, target: str) -> None:
    """Answer calls until the end."""
    plugin: EnvironmentPlugin | None = None
    lock = threading.Lock()

    def send(data: bytes) -> None:
        with lock:
            connection.sendall(data)

    while True:
        try:
            call = receive(connection)
        except EOFError:
            return
        if plugin is None and call['call'] == 'close':
            return
        try:
            if plugin is None:
                plugin = load(target)()
                plugin.sender = lambda message: send(packed(message))
            answer = packed(_answer(plugin, call['call'], call['arguments']))
        except Exception as error:  # noqa: BLE001 - whatever it is, the robot gets it
            lacks = isinstance(error, NotImplementedError)
            answer = packed({'error': f'{type(error).__name__}: {error}', 'unsupported': lacks})
        try:
            send(answer)
        except OSError:
            return
        if call['call'] == 'close':
            return


def _answer(plugin: EnvironmentPlugin, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call a method of the plugin, and return what it says."""
    base = EnvironmentPlugin
    # By their places: a plugin may call its arguments otherwise.
    _, *names = inspect.signature(getattr(base, name)).parameters
    answer = getattr(plugin, name)(*(_vectors(arguments[each]) for each in names))
    can = [m for m in base.OPTIONAL if getattr(type(plugin), m) is not getattr(base, m)]
    return {'answer': answer, 'can': can}


def _vectors(argument: Any) -> Any:
    """Return an argument with the vectors in it as tuples."""
    if not isinstance(argument, dict):
        return argument
    return {name: tuple(v) if isinstance(v, list) else v for name, v in argument.items()}


def _end_with(parent: int) -> None:
    """End this process when its parent is gone, also while the plugin is at work, or hangs."""
    while os.getppid() == parent:
        time.sleep(_POLL)
    os._exit(1)


if __name__ == '__main__':
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2])
