# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The chain of Gymnasium wrappers, reported to the record.

An environment does not know what is wrapped around it, and a result can depend on it: on how
actions are rescaled, observations normalised, frames stacked. An outermost wrapper does know.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium
from gymnasium.utils import RecordConstructorArgs
from gymnasium.wrappers import TimeLimit
import numpy as np

from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.facade.env import BoundaryEnv, refused

#: Characters of an argument that are told; a chain is a line to read, not a program.
_MOST = 80


class RecordWrappers(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """
    Reports the wrappers between itself and the environment at every reset; put it outermost.

    They stand in ``info['wrappers']`` and in every record of the episode, outermost first, with
    their arguments. ``gymnasium.make`` puts one around the registered environments; one that is
    further out takes its place.

    Parameters
    ----------
    env
        Wrappers around a :class:`~boundary_env_ros.facade.env.BoundaryEnv`.

    Raises
    ------
    BoundaryError
        If there is no such environment within, or a ``TimeLimit``.

    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env)
        base = env.unwrapped
        if not isinstance(base, BoundaryEnv):
            raise BoundaryError(f'Not around a BoundaryEnv (got {type(base).__name__}).')
        self._base = base
        for wrapper in _wrappers(env):
            if isinstance(wrapper, TimeLimit):
                raise refused(wrapper, base.contract)
        self.chain = tuple(_told(wrapper) for wrapper in _wrappers(env))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environment, and report the chain to its record."""
        if self._base.wrappers:
            # One further out is just doing so.
            return super().reset(seed=seed, options=options)
        self._base.wrappers = self.chain
        try:
            return super().reset(seed=seed, options=options)
        finally:
            self._base.wrappers = ()


def _wrappers(env: gymnasium.Env[Any, Any]) -> Iterator[gymnasium.Wrapper[Any, Any, Any, Any]]:
    """Yield the wrappers around an environment, outermost first, without reporters."""
    while isinstance(env, gymnasium.Wrapper):
        if not isinstance(env, RecordWrappers):
            yield env
        env = env.env


def _told(wrapper: gymnasium.Wrapper[Any, Any, Any, Any]) -> str:
    """Return a wrapper as it was made, as far as it says."""
    given = getattr(wrapper, '_saved_kwargs', {})
    arguments = ', '.join(f'{name}={_value(value)}' for name, value in given.items())
    return f'{type(wrapper).__name__}({arguments})'


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
