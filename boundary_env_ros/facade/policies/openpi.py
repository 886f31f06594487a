# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The wire of openpi's policy server: MessagePack with arrays, over a WebSocket."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
import socket
import struct
from typing import Any

import numpy as np

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.contract.paths import put
from boundary_env_ros.errors import BoundaryError, needed
from boundary_env_ros.facade.policies.policy_keys import usual_keys
from boundary_env_ros.terminal import one_line

#: Most bytes of an answer.
_MOST = 2**24


class OpenPiWire:
    """
    A connection to openpi's policy server.

    It says nothing of its keys. A dot in a key leads into a mapping: ``images.cam_high``.

    Parameters
    ----------
    address
        ``HOST:PORT``, or a URL with ``ws://`` or ``wss://``.
    api_key
        Sent with the request to connect.

    """

    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    conditions = True

    def __init__(self, address: str, *, api_key: str = '') -> None:
        with needed('openpi needs two packages', 'pip install msgpack websockets'):
            import msgpack
            from websockets.sync.client import connect
        self.address = address
        self._url = address if '://' in address else f'ws://{address}'
        self._headers = {'Authorization': f'Api-Key {api_key}'} if api_key else {}
        self._msgpack: Any = msgpack
        self._dial: Any = connect
        self._socket: Any = None
        self._closing = ExitStack()

    def open(self, timeout: float) -> Mapping[str, Any]:
        """Connect; the server sends first, and about itself."""
        self._socket = self._closing.enter_context(
            self._dial(
                self._url,
                additional_headers=self._headers,
                compression=None,
                max_size=_MOST,
                open_timeout=timeout,
                close_timeout=1.0,
                # A server that infers answers no ping.
                ping_interval=None,
            )
        )
        found: Mapping[str, Any] = self._received(timeout)
        return found

    def usual(self, contract: Contract) -> Mapping[str, Any]:
        """Return the keys of most of openpi's own robots: pictures of 224 x 224, one state."""
        return usual_keys(
            contract, 'observation/{}', 'observation/state', 'prompt', 'actions', resize=[224, 224]
        )

    def begin(self, example: Mapping[str, Any], timeout: float) -> None:
        """Do nothing: the protocol knows no episodes."""

    def infer(
        self, values: Mapping[str, Any], timeout: float
    ) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """Return the answer, and how long the server says that it took."""
        # A server that stopped reading must not stop this process as well.
        limit = struct.pack('ll', int(timeout), int(timeout % 1.0 * 1e6))
        self._socket.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
        self._socket.send(self._msgpack.packb(nested(values), default=_packed))
        answer = self._received(timeout)
        timing = answer.get('server_timing') if isinstance(answer, dict) else None
        return answer, timing or {}

    def _received(self, timeout: float) -> Any:
        data = self._socket.recv(timeout=timeout)
        if isinstance(data, str):
            last = data.strip().rpartition('\n')[2][:500]
            raise BoundaryError(f'It sent text, as openpi does of an error: {one_line(last)!r}.')
        return self._msgpack.unpackb(data, object_hook=_unpacked)

    def close(self) -> None:
        """Close the connection."""
        self._closing.close()


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by keys with dots as mappings in a mapping."""
    whole: dict[str, Any] = {}
    for key, value in values.items():
        put(whole, key, value)
    return whole


def _packed(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return {
            b'__ndarray__': True,
            b'data': value.tobytes(),
            b'dtype': value.dtype.str,
            b'shape': value.shape,
        }
    raise TypeError(f'{type(value).__name__} has no place on the wire of openpi')


def _unpacked(found: dict[Any, Any]) -> Any:
    if b'__ndarray__' in found:
        array = np.frombuffer(found[b'data'], dtype=np.dtype(found[b'dtype']))
        return array.reshape(found[b'shape'])
    if b'__npgeneric__' in found:
        return np.dtype(found[b'dtype']).type(found[b'data'])
    return found
