# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A policy server as openpi or GR00T has one, in a process of its own, that does what a plan says.

The plan has one word for each inference, the last one holds for all that follow. A server that
dies is started again with the rest of its plan, as somebody would.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
import io
import json
import logging
import os
from pathlib import Path
import socket
import subprocess
import sys
import time
from typing import Any

import numpy as np

#: What openpi's server says of itself, and GR00T's of its keys.
METADATA = {'model': 'steady', 'action_horizon': 4}
CHUNK = 4
_STEADY = np.tile(np.array([0.1, 0.0], dtype=np.float32), (CHUNK, 1))


@contextmanager
def serving(kind: str, plan: list[str], log: Path) -> Iterator[str]:
    """Run a server; what it is sent stands in the log, one line an inference."""
    with socket.create_server(('127.0.0.1', 0)) as free:
        port = free.getsockname()[1]
    words = [sys.executable, __file__, kind, str(port), str(log), *plan]
    process = subprocess.Popen(words)
    try:
        deadline = time.monotonic() + 60.0
        while True:
            with suppress(ConnectionRefusedError), socket.create_connection(('127.0.0.1', port)):
                break
            assert time.monotonic() < deadline, 'Expect a server that listens.'
            time.sleep(0.1)
        yield f'127.0.0.1:{port}'
    finally:
        process.kill()
        process.wait()


def sent(log: Path) -> list[dict[str, Any]]:
    """Return what a server was sent: by key the shape and type of an array, else the value."""
    return [json.loads(line) for line in log.read_text(encoding='utf-8').splitlines()]


def _answer(kind: str, word: str) -> Any:
    if word == 'slow':
        time.sleep(60.0)
    actions: Any = {
        'nan': _STEADY * np.float32('nan'),
        'wide': np.zeros((CHUNK, 3), dtype=np.float32),
        'longer': np.zeros((CHUNK + 3, 2), dtype=np.float32),
        'words': np.array(['left', 'right']),
        'degrees': _STEADY * 300.0,
    }.get(word, _STEADY)
    if kind == 'openpi':
        key = 'positions' if word == 'key' else 'actions'
        return {key: actions, 'server_timing': {'infer_ms': 1.5}}
    if word == 'key':
        return [{'positions': actions[None]}, {}]
    return [{'base': actions[None] if actions.ndim == 2 else actions}, {'infer_ms': 1.5}]


def _shown(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shown(each) for key, each in value.items()}
    return f'{value.shape} {value.dtype}' if isinstance(value, np.ndarray) else value


def _play(kind: str, port: int, log: Path, plan: list[str]) -> None:
    import msgpack

    def next_word(observation: Any) -> str:
        with log.open('a', encoding='utf-8') as file:
            file.write(f'{json.dumps(_shown(observation))}\n')
        word = plan.pop(0) if len(plan) > 1 else plan[0]
        if word == 'die':
            words = [sys.executable, __file__, kind, str(port), str(log), *plan]
            os.execv(sys.executable, words)  # noqa: S606 - as it was started
        return word

    def packed(value: Any) -> Any:
        if kind == 'openpi':
            return {
                b'__ndarray__': True,
                b'data': value.tobytes(),
                b'dtype': value.dtype.str,
                b'shape': value.shape,
            }
        file = io.BytesIO()
        np.save(file, value)
        return {'__ndarray_class__': True, 'as_npy': file.getvalue()}

    def unpacked(found: Any) -> Any:
        if b'__ndarray__' in found:
            array = np.frombuffer(found[b'data'], found[b'dtype'])
            return array.reshape(found[b'shape'])
        return np.load(io.BytesIO(found['as_npy'])) if '__ndarray_class__' in found else found

    def pack(value: Any) -> Any:
        return msgpack.packb(value, default=packed)

    def unpack(data: Any) -> Any:
        return msgpack.unpackb(data, object_hook=unpacked)

    if kind == 'openpi':
        from websockets.exceptions import ConnectionClosed
        from websockets.sync.server import serve

        def handle(connection: Any) -> None:
            connection.send(pack(METADATA))
            try:
                while True:
                    word = next_word(unpack(connection.recv()))
                    if word == 'error':
                        connection.send('Traceback (most recent call last):\nKeyError: "state"\n')
                        return
                    garbage = b'\xc1' if word == 'garbage' else None
                    connection.send(garbage or pack(_answer(kind, word)))
            except ConnectionClosed:
                pass

        # Who only looks whether it listens is no error.
        logging.disable()
        with serve(handle, '127.0.0.1', port, compression=None, max_size=None) as server:
            server.serve_forever()

    import zmq

    library: Any = zmq
    replies = library.Context().socket(library.REP)
    replies.bind(f'tcp://127.0.0.1:{port}')

    def config(names: list[str], count: int = 1) -> Any:
        said = {'delta_indices': list(range(count)), 'modality_keys': names}
        return {'__ModalityConfig_class__': True, 'as_json': said}

    while True:
        request = unpack(replies.recv())
        answer: Any = {}
        if request['endpoint'] == 'get_modality_config':
            answer = {
                'video': config(['front']),
                'state': config(['pose']),
                'language': config(['task.text']),
                'action': config(['base'], CHUNK),
            }
        elif request['endpoint'] == 'get_action':
            word = next_word(request['data']['observation'])
            error = {'error': 'KeyError: "state"'}
            answer = error if word == 'error' else _answer(kind, word)
            if word == 'garbage':
                replies.send(b'\xc1')
                continue
        replies.send(pack(answer))


if __name__ == '__main__':
    _play(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:])
