# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The process of a plugin: it makes the plugin, and answers one call after the other.

Events that the plugin pushes go between the answers, as soon as they are there. The process ends
when it is told to, or when its parent process is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from importlib import import_module
import os
import runpy
import socket
import sys
import threading
import time
from typing import Any

from boundary_env_ros.simulation.plugin import EnvironmentPlugin
from boundary_env_ros.simulation.plugin_wire import (
    from_baseline,
    from_reading,
    from_update,
    Plain,
    receive,
    send,
)

# Between two looks for the parent, s.
_LOOK = 0.5

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

    def say(message: Plain) -> None:
        with lock:
            send(connection, message)

    while True:
        try:
            call = receive(connection, None)
        except EOFError:
            return
        if plugin is None and call['call'] == 'close':
            return
        try:
            if plugin is None:
                plugin = load(target)()
                plugin.sender = say
            answer = _CALLS[call['call']](plugin, call)
        except NotImplementedError as error:
            answer = {'error': f'{type(error).__name__}: {error}', 'unsupported': True}
        except Exception as error:  # noqa: BLE001 - whatever it is, the robot is told
            answer = {'error': f'{type(error).__name__}: {error}'}
        try:
            say(answer)
        except OSError:
            return
        if call['call'] == 'close':
            return


def _start(plugin: EnvironmentPlugin, call: Plain) -> Plain:
    baseline = plugin.start(call['seed'], _vectors(call['target']), call['options'])
    return {**from_baseline(baseline), 'can': _can(plugin)}


def _reset(plugin: EnvironmentPlugin, call: Plain) -> Plain:
    baseline = plugin.reset(call['seed'], _vectors(call['target']), call['options'])
    return {**from_baseline(baseline), 'can': _can(plugin)}


def _can(plugin: EnvironmentPlugin) -> list[str]:
    """Return the optional methods that a plugin has."""
    base = EnvironmentPlugin
    return [m for m in base.OPTIONAL if getattr(type(plugin), m) is not getattr(base, m)]


def _update(plugin: EnvironmentPlugin, call: Plain) -> Plain:
    return from_update(plugin.update(_vectors(call['setpoints']), call['seconds']))


def _close(plugin: EnvironmentPlugin, call: Plain) -> Plain:
    plugin.close()
    return {}


def _check(plugin: EnvironmentPlugin, call: Plain) -> Plain:
    return {'reason': str(plugin.check(call['agent'], _vectors(call['setpoints'])))}


def _affordances(plugin: EnvironmentPlugin, call: Plain) -> Plain:
    return {'affordances': [asdict(each) for each in plugin.affordances(call['agent'])]}


def _plan(plugin: EnvironmentPlugin, call: Plain) -> Plain:
    return {'plan': plugin.plan(call['agent'], call['query'])}


def _render(plugin: EnvironmentPlugin, call: Plain) -> Plain:
    picture = plugin.render(call['agent'], call['mode'])
    return {'text': picture} if isinstance(picture, str) else {'pixels': from_reading(picture)}


def _save(plugin: EnvironmentPlugin, call: Plain) -> Plain:
    return {'state': plugin.save()}


def _vectors(data: Plain) -> dict[str, tuple[float, ...]]:
    return {name: tuple(v) if isinstance(v, list) else v for name, v in data.items()}


_CALLS: dict[str, Callable[[EnvironmentPlugin, Plain], Plain]] = {
    'start': _start,
    'reset': _reset,
    'update': _update,
    'close': _close,
    'check': _check,
    'affordances': _affordances,
    'plan': _plan,
    'render': _render,
    'save': _save,
}


def _end_with(parent: int) -> None:
    """End this process when its parent is gone, also while the plugin is at work, or hangs."""
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(1)


if __name__ == '__main__':
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2])
