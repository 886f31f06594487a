# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A policy that a server elsewhere runs, whatever the wire to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
import json
import math
from pathlib import Path
import time
from typing import Any, Protocol

import numpy as np

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.silence import policy_limit
from boundary_env_ros.errors import BoundaryError, PolicyLost
from boundary_env_ros.facade.policies.policy import Array
from boundary_env_ros.facade.policies.policy_keys import PolicyKeys
from boundary_env_ros.storage.contract_file import LoadedContract
from boundary_env_ros.storage.size_limits import load_yaml, read_file
from boundary_env_ros.terminal import one_line

#: Seconds between two tries to reach a server that does not listen yet.
_AGAIN = 0.2
#: Bytes of a mapping, and characters of what the record keeps of a server's metadata.
_MAPPING, _METADATA = 2**20, 8000


class Wire(Protocol):
    """
    One connection to a server, in the calls that all have. Times out with ``TimeoutError``.

    Attributes
    ----------
    address
        Where the server is.
    inputs, outputs
        Keys that the server says it knows, once it is open; empty if it does not say.
    conditions
        Whether what a policy is sent may have more keys than its observation.

    """

    address: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    conditions: bool

    def open(self, timeout: float) -> Mapping[str, Any]:
        """Connect, and return what the server says of itself; any error may go away in time."""

    def usual(self, contract: Contract) -> Mapping[str, Any]:
        """Return the mapping where none is given; see :class:`.policy_keys.PolicyKeys`."""

    def begin(self, example: Mapping[str, Any], timeout: float) -> None:
        """Tell the server that an episode begins, with observations like the example."""

    def infer(
        self, values: Mapping[str, Any], timeout: float
    ) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """Return the answer to an observation, by key, and what the server says of it."""

    def close(self) -> None:
        """Let go of the connection; may be called again, and before :meth:`open`."""


class ServedPolicy:
    """
    Asks a server for every action, and checks what it answers.

    That server and contract fit each other is found out here, before anything moves: by the keys
    that the server says, and by its answer to an observation that is drawn from its space.

    Parameters
    ----------
    loaded
        The contract.
    wire
        The connection, not open yet.
    mapping
        A YAML file, or its content: what of it is not said is as usual for the wire.
    timeout
        Seconds that an answer may take; default: those after which an episode ends as
        ``policy_lost``.
    connect
        Seconds that a server may take to be there, to begin an episode, and for its first answer;
        once the run has begun, the patience of the runner is the longest.
    any_range
        Whether an action may be far out of the bounds of the contract, where the gate limits it.

    Raises
    ------
    BoundaryError
        If the server is not there, or contract, mapping and server do not fit each other.

    """

    def __init__(
        self,
        loaded: LoadedContract,
        wire: Wire,
        *,
        mapping: str | dict[str, Any] | None = None,
        timeout: float | None = None,
        connect: float = 30.0,
        any_range: bool = False,
    ) -> None:
        self._wire, self._connect = wire, connect
        for name, seconds in (('timeout', timeout), ('connect', connect)):
            is_number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
            if seconds is not None and not (is_number and 0.0 < seconds < math.inf):
                raise BoundaryError(
                    f'The option {name} is no duration (expected seconds above 0, got '
                    f'{seconds!r}).'
                )
        self._timeout = policy_limit(loaded.contract) if timeout is None else timeout
        self._open = False
        self._instruction = ''
        self._delay, self._left = 0, np.zeros((0, loaded.contract.action_size))
        #: What the record says of the last answer.
        self.metadata: dict[str, str] = {}
        self._of_server: dict[str, str] = {}
        try:
            self._server = self._reach()
            usual = wire.usual(loaded.contract)
            self._keys = PolicyKeys(loaded.contract, {**usual, **_read(mapping)})
            self._check_keys()
            example = self._keys.example()
            self._example = self._keys.values(example, '')
            self._begin()
            actions = self._ask(example, connect)
            if not any_range:
                self._keys.check_range(actions)
        except BaseException:
            wire.close()
            raise

    # As a policy ---------------------------------------------------------------------------------

    def instruct(self, instruction: str) -> None:
        """Tell it what the robot is to do, if the episode says it."""
        self._instruction = instruction

    def reset(self, seed: int) -> None:
        """Reach the server again, if it was lost; begin an episode there."""
        if not self._open and (server := self._reach()) != self._server:
            self._drop()
            raise BoundaryError(
                f'Another server is at {self._wire.address} (expected {self._server}, got '
                f'{server}). Start the run anew.'
            )
        self._begin()

    def condition(self, delay: int, prefix: Array) -> None:
        """Keep what is left of the last chunk, for a server that is to continue it."""
        self._delay, self._left = delay, prefix

    def __call__(self, observation: Mapping[str, Array]) -> Array:
        """Return the chunk that the server answers, shape (k, n)."""
        return self._ask(observation, self._timeout)

    def close(self) -> None:
        """Let go of the connection."""
        self._drop()

    # To the server -------------------------------------------------------------------------------

    @contextmanager
    def _guarded(self, wanted: str, seconds: float) -> Iterator[None]:
        """Make of whatever goes wrong at the server one error, and of the connection none."""
        try:
            yield
        except Exception as error:
            self._drop()
            server = f'The policy server {self._wire.address}'
            if isinstance(error, BoundaryError):
                raise PolicyLost(f'{server}: {error}') from error
            got = f'{type(error).__name__}: {one_line(str(error)[:500])}'
            if isinstance(error, TimeoutError):
                got = f'nothing within {seconds:g} s'
            raise PolicyLost(f'{server} is lost (expected {wanted}, got {got}).') from error

    def _drop(self) -> None:
        self._open = False
        self._wire.close()

    def _reach(self) -> str:
        """Connect, and return what the server says of itself, as JSON."""
        deadline = time.monotonic() + self._connect
        with self._guarded('a server that listens', self._connect):
            while True:
                left = deadline - time.monotonic()
                try:
                    details = self._wire.open(max(left, _AGAIN))
                    break
                except Exception as error:
                    # One that starts or ends may break off; no error of its own goes away.
                    self._wire.close()
                    if left < 0.0 or isinstance(error, (TimeoutError, BoundaryError)):
                        raise
                time.sleep(_AGAIN)
            text = json.dumps(details, sort_keys=True, default=_plain)
        self._open = True
        return text

    def _begin(self) -> None:
        server = self._server
        short = server if len(server) <= _METADATA else f'{server[:_METADATA]}...'
        self._of_server = {'policy_server': self._wire.address, 'policy_server_metadata': short}
        self._delay, self._left = 0, self._left[:0]
        with self._guarded('to begin an episode', self._connect):
            self._wire.begin(self._example, self._connect)

    def _ask(self, observation: Mapping[str, Array], timeout: float) -> Array:
        if not self._open:
            raise PolicyLost(
                f'The policy server {self._wire.address} was lost in this episode (expected a '
                'connection, got none). The next episode reaches for it again.'
            )
        values = self._keys.values(observation, self._instruction)
        if self._keys.delay:
            values[self._keys.delay] = self._delay
        if self._keys.prefix and len(self._left):
            values[self._keys.prefix] = self._keys.prefix_of(self._left, observation)
        with self._guarded('an answer', timeout):
            answer, details = self._wire.infer(values, timeout)
            if not isinstance(answer, Mapping):
                raise BoundaryError(f'The answer has no keys (got {type(answer).__name__}).')
            actions = self._keys.actions(answer, observation)
        self.metadata, self._of_server = {**self._of_server, **_scalars(details)}, {}
        return actions

    def _check_keys(self) -> None:
        """Refuse a mapping with other keys than the server says."""
        wire = self._wire
        if (self._keys.delay or self._keys.prefix) and not wire.conditions:
            raise BoundaryError(
                f'The policy server {wire.address} takes no `delay` and no `prefix`. Leave them '
                'out of the mapping.'
            )
        for wanted, given, what in zip(
            (wire.inputs, wire.outputs), self._keys.keys, ('observation', 'action'), strict=True
        ):
            if wanted and set(wanted) != given:
                raise BoundaryError(
                    f'The policy server {wire.address} has other keys in its {what} (expected '
                    f'{", ".join(sorted(wanted))}, got {", ".join(sorted(given))} in the mapping).'
                )


def _read(mapping: str | dict[str, Any] | None) -> dict[str, Any]:
    if mapping is None or isinstance(mapping, dict):
        return mapping or {}
    if not isinstance(mapping, str):
        raise BoundaryError(f'The option mapping is no file (expected its name, got {mapping!r}).')
    try:
        data = load_yaml(read_file(Path(mapping), _MAPPING), mapping)
    except OSError as error:
        raise BoundaryError(f'The mapping cannot be read: {error}.') from error
    if not isinstance(data, dict):
        raise BoundaryError(f'{mapping} is no mapping (expected keys, got {data!r}).')
    return data


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, 'tolist') else repr(value)


def _scalars(details: Any) -> dict[str, str]:
    """Return what is short enough for each record."""
    if not isinstance(details, Mapping):
        return {}
    pairs = [(str(k), v) for k, v in details.items() if isinstance(v, (bool, int, float, str))]
    return {f'policy_server_{k[:40]}': str(v)[:80] for k, v in pairs[:16]}
