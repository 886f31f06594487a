# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Making a policy from what a command line names: a short name, or ``module:factory``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import importlib
import importlib.util
import inspect
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.facade.policies.baselines import (
    GoToGoalPolicy,
    NoOpPolicy,
    OpenDoorPolicy,
    RandomPolicy,
)
from boundary_env_ros.facade.policies.gr00t import Gr00tWire
from boundary_env_ros.facade.policies.lerobot import LeRobotPolicy
from boundary_env_ros.facade.policies.lerobot_async import LeRobotWire
from boundary_env_ros.facade.policies.openpi import OpenPiWire
from boundary_env_ros.facade.policies.policy import Policy
from boundary_env_ros.facade.policies.replay_policy import ReplayPolicy
from boundary_env_ros.facade.policies.served import ServedPolicy, Wire
from boundary_env_ros.facade.policies.stable_baselines import StableBaselinesPolicy
from boundary_env_ros.storage.contract_file import LoadedContract

T = TypeVar('T')

#: The script for each task that has one.
_SCRIPTS: dict[str, Callable[..., Policy]] = {
    'go_to_goal': GoToGoalPolicy,
    'open_door': OpenDoorPolicy,
}


def _scripted(contract: Contract, **options: Any) -> Policy:
    script = _SCRIPTS.get(contract.task.name)
    if script is None:
        raise BoundaryError(
            f'No script for this task (expected one of {", ".join(_SCRIPTS)}, got '
            f'{contract.task.name or "no task"!r}).'
        )
    return _called(script, 'scripted', options)


#: Policies that come along, by name.
BASELINES: dict[str, Callable[..., Policy]] = {
    'no-op': NoOpPolicy,
    'random': RandomPolicy,
    'scripted': _scripted,
}

#: What reads a policy from a file: ``NAME:PATH``.
READERS: dict[str, Callable[..., Policy]] = {
    'replay': ReplayPolicy,
    'sb3': StableBaselinesPolicy,
    'lerobot': LeRobotPolicy,
}

#: What reaches a server that runs a policy: ``NAME:HOST:PORT``.
WIRES: dict[str, Callable[..., Wire]] = {
    'openpi': OpenPiWire,
    'lerobot-async': LeRobotWire,
    'gr00t': Gr00tWire,
}


def make_policy(name: str, loaded: LoadedContract, options: Mapping[str, object]) -> Policy:
    """
    Return a policy.

    Parameters
    ----------
    name
        ``no-op``, ``random`` or ``scripted``; ``replay:RUN``, ``sb3:ZIP`` or
        ``lerobot:FOLDER``; ``openpi:HOST:PORT``, ``lerobot-async:HOST:PORT`` or
        ``gr00t:HOST:PORT``; else ``module:factory`` or ``file.py:factory``. The factory is called
        with the contract and the options, and returns the policy; a class is a factory too.
    loaded
        The contract.
    options
        By name, for the factory.

    Raises
    ------
    BoundaryError
        If there is no such policy, it takes no such option, or cannot be made.

    """
    head, colon, tail = name.partition(':')
    if name in BASELINES:
        return _called(BASELINES[name], name, options, loaded.contract)
    if head in READERS and tail:
        return _called(READERS[head], head, options, loaded, Path(tail))
    if head in WIRES and tail:
        own = inspect.signature(WIRES[head]).parameters
        of_wire = {key: value for key, value in options.items() if key in own}
        rest = {key: value for key, value in options.items() if key not in own}
        wire = _called(WIRES[head], head, of_wire, tail)
        return _called(ServedPolicy, head, rest, loaded, wire)
    head, colon, tail = name.rpartition(':')
    if not colon or not head or not tail:
        raise BoundaryError(
            f'Unknown policy (expected {", ".join(BASELINES)}, '
            f'{", ".join(f"{r}:PATH" for r in READERS)}, '
            f'{", ".join(f"{w}:HOST:PORT" for w in WIRES)}, '
            f'module:factory or file.py:factory, got {name!r}).'
        )
    factory = getattr(_module(head), tail, None)
    if not callable(factory):
        raise BoundaryError(
            f'{head} has no function or class {tail!r}'
            f'{"" if factory is None else f" (got {factory!r})"}.'
        )
    policy: Policy = _called(factory, name, options, loaded.contract)
    if not callable(policy):
        raise BoundaryError(
            f'{name} returned no policy (expected something to call, got {policy!r}).'
        )
    return policy


def _module(name: str) -> ModuleType:
    try:
        if not name.endswith('.py'):
            return importlib.import_module(name)
        spec = importlib.util.spec_from_file_location(Path(name).stem, name)
        assert spec is not None  # so it is for every name with that ending
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except (ImportError, OSError) as error:
        raise BoundaryError(
            f'The policy {name} cannot be imported: {error}. Run the command where '
            'the module is, or install it.'
        ) from error
    return module


def _called(
    factory: Callable[..., T], name: str, options: Mapping[str, object], *arguments: object
) -> T:
    """Call a factory; say which options it takes if these are others."""
    try:
        signature = inspect.signature(factory)
    except ValueError:  # something built in has none
        return factory(*arguments, **options)
    try:
        signature.bind(*arguments, **options)
    except TypeError as error:
        raise BoundaryError(
            f'{name} takes other options (expected {signature}): {error}.'
        ) from error
    return factory(*arguments, **options)
