# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The wrappers around an environment, for its record.

A result can depend on them: on how actions are rescaled, observations normalised, frames stacked.
They need not be reported: a wrapper calls the ``reset`` and ``step`` of its environment out of
a ``reset`` or ``step`` of its own, so they stand on the stack of every call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import inspect

import gymnasium
from gymnasium.vector import VectorActionWrapper, VectorEnv
from gymnasium.wrappers import TimeLimit
import numpy as np

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.facade.gymnasium_errors import ResetNeeded

#: Packages whose wrappers do what their names say.
_KNOWN = ('boundary_env_ros', 'gymnasium', 'pettingzoo', 'stable_baselines3')

#: Characters of an argument that are shown; a chain is a line to read, not a program.
_MOST = 80

#: Where Gymnasium's asynchronous vector steps an environment; its own wrappers are elsewhere.
_WORKER = '_async_worker'


def wrappers_around(
    env: object, kinds: tuple[type, ...] = (gymnasium.Env, VectorEnv)
) -> tuple[object, ...] | None:
    """
    Return the environments out of which this one is being reset or stepped, outermost first.

    To be called in its ``reset`` and ``step``.

    Parameters
    ----------
    env
        The innermost environment.
    kinds
        Classes of what may be wrapped around it.

    Returns
    -------
    tuple or None
        None if they cannot be known: the worker of an asynchronous vector has none of the
        wrappers around the vector.

    """
    found: list[object] = []
    frame = inspect.currentframe()
    while frame is not None:
        code = frame.f_code
        if code.co_name in ('reset', 'step') and code.co_argcount:
            caller = frame.f_locals.get(code.co_varnames[0])
            known = any(caller is wrapper for wrapper in (env, *found))
            if isinstance(caller, kinds) and not known:
                found.append(caller)
        elif code.co_name == _WORKER:
            return None
        frame = frame.f_back
    return tuple(reversed(found))


def check_no_time_limit(wrappers: Sequence[object], contract: Contract) -> None:
    """
    Refuse a ``TimeLimit``.

    It would truncate a step that the task has terminated, so that both flags are set, and end an
    episode that no record knows to be over.

    Raises
    ------
    BoundaryError
        If there is one.

    """
    for limit in wrappers:
        if isinstance(limit, TimeLimit):
            steps = getattr(limit, '_max_episode_steps', '')
            raise BoundaryError(
                'Two time limits (expected that of the contract alone, '
                f'episode.time_limit: {contract.episode.time_limit:g} s, got '
                f'TimeLimit(max_episode_steps={steps}) around it). Leave max_episode_steps out, '
                'and change the contract.'
            )


def chain_of(env: object, wrappers: Sequence[object] | None) -> tuple[str, ...]:
    """
    Return wrappers and environment as they stand in a record, with their arguments.

    Empty if the wrappers are not known.
    """
    return () if wrappers is None else (*map(_described, wrappers), f'{type(env).__name__}()')


def check_same_wrappers(
    env: object, expected: Sequence[object] | None, found: Sequence[object] | None
) -> None:
    """
    Refuse a step through other wrappers than those of the reset, which the record names.

    Raises
    ------
    ResetNeeded
        If they are others.

    """
    if found != expected:
        raise ResetNeeded(
            'The episode was begun through other wrappers (expected '
            f'{" of ".join(chain_of(env, expected)) or "unknown ones"}, got '
            f'{" of ".join(chain_of(env, found)) or "unknown ones"}), and its record names those. '
            'Call reset() and step() on the same, outermost environment.'
        )


def _described(wrapper: object) -> str:
    """
    Return a wrapper as it was made, as far as it says.

    Where its own code may change actions or flags, with the known class that it is one of.
    """
    classes = type(wrapper).__mro__
    known = [cls for cls in classes if cls.__module__.partition('.')[0] in _KNOWN]
    steps = next((cls for cls in classes if 'step' in vars(cls)), object)
    name = type(wrapper).__name__
    acts = isinstance(wrapper, (gymnasium.ActionWrapper, VectorActionWrapper))
    if classes[0] not in known and (acts or steps not in known):
        name += f':{known[0].__name__ if known else "object"}'
    return f'{name}({", ".join(_arguments(wrapper))})'


def _arguments(wrapper: object) -> Iterator[str]:
    for name, value in getattr(wrapper, '_saved_kwargs', {}).items():
        yield f'{name}={_value(value)}'


def _value(value: object) -> str:
    """Return a value so that it reads the same in every run: no addresses, no long arrays."""
    if isinstance(value, np.ndarray) and value.size > 1:
        return f'{value.dtype}[{", ".join(map(str, value.shape))}]'
    if isinstance(value, gymnasium.Space):
        return f'{type(value).__name__}{value.shape or ""}'
    if callable(value):
        return str(getattr(value, '__qualname__', type(value).__qualname__))
    text = repr(value.item() if isinstance(value, (np.ndarray, np.generic)) else value)
    if ' at 0x' in text:
        return type(value).__name__
    return text if len(text) <= _MOST else f'{text[: _MOST - 1]}…'
