# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A policy in a thread of its own: it may take as long as it takes, the caller does not hang."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent import futures
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
import sysconfig
import threading
import time
import traceback
from typing import Any

import numpy as np

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import BoundaryError, PolicyFailed, PolicyLost
from boundary_env_ros.facade.chunking import Prediction, rows_of
from boundary_env_ros.facade.policies.policy import Array, Policy
from boundary_env_ros.facade.steps import StepResult

#: How often a wait looks whether it is to be given up, seconds.
_POLL = 0.02


class Inference:
    """
    Calls a policy, always from one thread.

    Parameters
    ----------
    policy
        The policy.
    contract
        The contract, for the shape of its actions.
    patience
        Seconds after which an answer is not waited for any longer.

    """

    def __init__(self, policy: Policy, contract: Contract, *, patience: float) -> None:
        self._policy, self._contract = policy, contract
        self._patience = patience
        self._hangs = False
        self._work: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        # A policy that hangs must not keep the process alive.
        self._thread = threading.Thread(target=self._run, name='boundary_policy', daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            work = self._work.get()
            if work is None:
                return
            call, future = work
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(call())
            except BaseException as error:  # noqa: BLE001 - the caller that waits for it gets it
                future.set_exception(error)

    def _later(self, call: Callable[[], Any]) -> Future[Any]:
        future: Future[Any] = Future()
        self._work.put((call, future))
        return future

    def begin(self, seed: int, instruction: str = '') -> None:
        """Tell the policy what to do, and that an episode begins, if it wants to know."""
        for name, value in (('instruct', instruction), ('reset', seed)):
            call = getattr(self._policy, name, None)
            if call is not None:
                self.wait(self._later(partial(call, value)), f'{name}()')

    def ask(
        self,
        observation: Mapping[str, Array],
        answers: StepResult,
        delay: int = 0,
        left: Sequence[Vector] = (),
    ) -> Future[Prediction]:
        """
        Ask for a prediction from an observation; it comes when it comes.

        Parameters
        ----------
        observation
            A member of the observation space.
        answers
            Where it came from.
        delay, left
            What the policy is given by ``condition``; see :class:`.policies.policy.Policy`.

        """

        def infer() -> Prediction:
            start = time.perf_counter()
            condition = getattr(self._policy, 'condition', None)
            if condition is not None:
                condition(delay, np.reshape(left, (len(left), self._contract.action_size)))
            action = self._policy(observation)
            seconds = time.perf_counter() - start
            rows = rows_of(self._contract, action)
            metadata = dict(getattr(self._policy, 'metadata', {}))
            return Prediction(answers=answers, rows=rows, seconds=seconds, metadata=metadata)

        return self._later(infer)

    def warm_up(self, observation: Mapping[str, Array]) -> float:
        """
        Ask for an action that is not executed; return how many seconds it took.

        Before, an episode is begun for it.

        Raises
        ------
        PolicyFailed
            If what comes is no action of the contract.

        """
        self.begin(0)
        start = time.perf_counter()
        rows = self._later(lambda: rows_of(self._contract, self._policy(observation)))
        self.wait(rows, 'an observation drawn from the space, for warming up')
        return time.perf_counter() - start

    def wait(
        self, future: Future[Any], what: str, given_up: Callable[[], bool] = lambda: False
    ) -> Any:
        """
        Return what the policy answers; None if it is given up.

        Raises
        ------
        PolicyFailed
            If the policy raised, or its time is over.

        """
        start = time.monotonic()
        while not future.done():
            if given_up():
                return None
            if time.monotonic() - start > self._patience:
                self._hangs = True
                raise PolicyFailed(
                    f'The policy did not answer to {what} within {self._patience:g} s. '
                    'Does it hang?'
                )
            with suppress(futures.TimeoutError):
                future.exception(timeout=_POLL)
        error = future.exception()
        if isinstance(error, BoundaryError):
            kind = PolicyLost if isinstance(error, PolicyLost) else PolicyFailed
            raise kind(f'The policy, asked for {what}: {error}') from error
        if error is not None:
            raise PolicyFailed(
                f'The policy failed, asked for {what}: {type(error).__name__}: {error}'
                f'{_place(error)}'
            ) from error
        return future.result()

    def close(self) -> None:
        """Close the policy, if it has a ``close``, and end the thread."""
        close = getattr(self._policy, 'close', None)
        if close is not None and not self._hangs:
            self.wait(self._later(close), 'close()')
        self._work.put(None)
        self._thread.join(timeout=1.0)


def _place(error: BaseException) -> str:
    """Return file and line of the innermost frame of the policy's own code, in brackets."""
    # This package, Python, and what is installed beside it.
    installed = (sysconfig.get_path(name) for name in ('stdlib', 'purelib', 'platlib'))
    others = tuple(f'{folder}/' for folder in (Path(__file__).parents[1], *installed))
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith(others)]
    frame = (own or frames)[-1]
    return f' ({frame.filename}, line {frame.lineno})'
