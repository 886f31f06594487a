# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The wire of GR00T's policy server (from N1.6 on): MessagePack with arrays, over ZeroMQ."""

from __future__ import annotations

from collections.abc import Mapping
import io
import time
from typing import Any

import numpy as np

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.errors import BoundaryError, needed
from boundary_env_ros.terminal import one_line

_KINDS = ('video', 'state', 'language')


class Gr00tWire:
    """
    A connection to GR00T's policy server, which says its keys.

    They are ``video.NAME``, ``state.NAME`` and ``language.NAME`` here, and of the answer the names
    alone.

    Parameters
    ----------
    address
        ``HOST:PORT``.
    api_token
        Sent with every request.

    """

    conditions = False

    def __init__(self, address: str, *, api_token: str = '') -> None:
        with needed('GR00T needs two packages', 'pip install msgpack pyzmq'):
            import msgpack
            import zmq
        self.address = address
        self.inputs: tuple[str, ...] = ()
        self.outputs: tuple[str, ...] = ()
        self._token = {'api_token': api_token} if api_token else {}
        self._msgpack: Any = msgpack
        self._zmq: Any = zmq
        self._socket: Any = None
        self._chunk: int | None = None

    def open(self, timeout: float) -> Mapping[str, Any]:
        """Ask for the keys, and for how many observations and actions there are of each."""
        self._socket = self._zmq.Context.instance().socket(self._zmq.REQ)
        self._socket.setsockopt(self._zmq.LINGER, 0)
        self._socket.connect(f'tcp://{self.address}')
        config: Mapping[str, Any] = self._call('get_modality_config', timeout)
        for kind in _KINDS:
            if kind not in config:
                raise BoundaryError(
                    f'The server has no {kind} (expected {", ".join(_KINDS)}, got '
                    f'{one_line(", ".join(map(str, config)))}).'
                )
            if len(config[kind]['delta_indices']) != 1:
                raise BoundaryError(
                    f'The policy looks back (expected one observation of {kind}, got those at '
                    f'{config[kind]["delta_indices"]}).'
                )
        self.inputs = tuple(
            f'{kind}.{k}' for kind in _KINDS for k in config[kind]['modality_keys']
        )
        self.outputs = tuple(map(str, config['action']['modality_keys']))
        self._chunk = len(config['action']['delta_indices'])
        return config

    def usual(self, contract: Contract) -> Mapping[str, Any]:
        """Return each key of the server from the field of that name."""
        keys: dict[str, Any] = {}
        for key in self.inputs:
            kind, _, name = key.partition('.')
            keys[key] = {'instruction': ''} if kind == 'language' else {'fields': name}
        return {
            'observation': keys,
            'action': {key: {} for key in self.outputs},
            'chunk': self._chunk,
        }

    def begin(self, example: Mapping[str, Any], timeout: float) -> None:
        """Reset the policy."""
        self._call('reset', timeout, options=None)

    def infer(
        self, values: Mapping[str, Any], timeout: float
    ) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """Return the answer to a batch of one observation, of one instant."""
        observation: dict[str, dict[str, Any]] = {kind: {} for kind in _KINDS}
        for key, value in values.items():
            kind, _, name = key.partition('.')
            batch = [[value]] if isinstance(value, str) else np.asarray(value)[None, None]
            observation.setdefault(kind, {})[name] = batch
        answer, details = self._call('get_action', timeout, observation=observation, options=None)
        return answer, details

    def _call(self, endpoint: str, timeout: float, **data: Any) -> Any:
        request = {'endpoint': endpoint, **({'data': data} if data else {}), **self._token}
        deadline = time.monotonic() + timeout
        packed = self._msgpack.packb(request, default=_packed)
        for event in (self._zmq.POLLOUT, self._zmq.POLLIN):
            left = max(0.0, deadline - time.monotonic())
            if not self._socket.poll(1e3 * left, event):
                raise TimeoutError
            if event == self._zmq.POLLOUT:
                self._socket.send(packed, self._zmq.DONTWAIT)
        data = self._socket.recv(self._zmq.DONTWAIT)
        answer = self._msgpack.unpackb(data, object_hook=_unpacked)
        if isinstance(answer, dict) and 'error' in answer:
            raise BoundaryError(f'It sent an error: {one_line(str(answer["error"])[:500])!r}.')
        return answer

    def close(self) -> None:
        """Close the connection; a request that was not sent is dropped."""
        if self._socket is not None:
            self._socket.close()
        self._socket = None


def _packed(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        file = io.BytesIO()
        np.save(file, value, allow_pickle=False)
        return {'__ndarray_class__': True, 'as_npy': file.getvalue()}
    raise TypeError(f'{type(value).__name__} has no place on the wire of GR00T')


def _unpacked(found: dict[Any, Any]) -> Any:
    if '__ndarray_class__' in found:
        return np.load(io.BytesIO(found['as_npy']), allow_pickle=False)
    return found['as_json'] if '__ModalityConfig_class__' in found else found
