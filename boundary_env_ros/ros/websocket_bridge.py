# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
``boundary-env serve``: the services and events of an environment over WebSocket.

The bridge keeps nothing: it is one more client of ``policy_server`` and gate, whose rules hold for
its clients.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
import json
import signal
from typing import Any

from boundary_env_ros.errors import (
    BoundaryError,
    code_of,
    needed,
    RequestRejected,
    ResultCode,
)
from boundary_env_ros.ros.client import BoundaryClient, SERVICES
from boundary_env_ros.ros.json_messages import from_json, to_json

with needed('The WebSocket bridge needs aiohttp', 'pip install aiohttp'):
    from aiohttp import web, WSMsgType

Json = dict[str, Any]

#: The services by the name that A2E has for them, ``env/step``, with the ROS service and its type.
WIRE: Mapping[str, tuple[str, Any]] = {
    f'env/{name.rpartition("/")[2]}': (name, kind) for name, kind in SERVICES
}
PUSH = 'env/state_push'

# Calls under way at a time: each waits in a thread.
_MOST_CALLS = 32
# Events that a slow listener may be behind; then it is let go of.
_MOST_BEHIND = 1000
_say = partial(print, flush=True)
_LOCAL = ('127.0.0.1', 'localhost', '::1')


class Bridge:
    """
    Passes calls on to the services of one environment, and events to its clients.

    Parameters
    ----------
    namespace, domain_id
        Where the nodes are.
    timeout
        Seconds that a call waits for its answer.

    """

    def __init__(self, *, namespace: str = '', domain_id: int | None = None, timeout: float):
        self._loop = asyncio.get_running_loop()
        #: Where the events go; None ends one that is too far behind.
        self.listeners: set[asyncio.Queue[Json | None]] = set()
        self._threads = ThreadPoolExecutor(_MOST_CALLS, 'call')
        self._client = BoundaryClient(
            'websocket_bridge',
            namespace=namespace,
            domain_id=domain_id,
            timeout=timeout,
            startup_timeout=timeout,
        )
        self._client.on_message(self._on_event)

    def close(self) -> None:
        """Let go of the listeners, of ROS and of the threads."""
        for queue in self.listeners:
            queue.put_nowait(None)
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._client.close()

    # Calls ---------------------------------------------------------------------------------------

    async def answer(self, text: str) -> Json:
        """
        Call what a message asks for, and return the message that answers it.

        The body of an error is a ``result`` and nothing else.
        """
        name, number = 'error', None
        try:
            asked = json.loads(text)
            name, number = str(asked['type']).removesuffix('/req'), asked.get('id')
            if name not in WIRE:
                raise RequestRejected(
                    f'Unknown service (expected {", ".join(WIRE)}, got {name!r}).'
                )
            service, kind = WIRE[name]
            request = from_json(kind.Request, asked.get('body', {}))
            body = to_json(
                await self._loop.run_in_executor(
                    self._threads, self._client.call, service, request
                )
            )
        except BoundaryError as error:
            body = {'result': {'code': int(code_of(error)), 'message': str(error)}}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            message = 'Expected {"type": "env/step/req", "id": 1, "body": {...}}.'
            body = {'result': {'code': int(ResultCode.INVALID_ARGUMENT), 'message': message}}
        return {'type': f'{name}/resp' if name != 'error' else name, 'id': number, 'body': body}

    # Events --------------------------------------------------------------------------------------

    def _on_event(self, event: Any) -> None:
        if self.listeners:
            self._loop.call_soon_threadsafe(self._tell, {'type': PUSH, 'body': to_json(event)})

    def _tell(self, event: Json) -> None:
        for queue in tuple(self.listeners):
            if queue.qsize() >= _MOST_BEHIND:
                self.listeners.discard(queue)
                queue.put_nowait(None)
            else:
                queue.put_nowait(event)


# WebSocket ---------------------------------------------------------------------------------------


def application(bridge: Bridge, *, host: str, origins: frozenset[str]) -> web.Application:
    """
    Return the web application of a bridge.

    Parameters
    ----------
    bridge
        The bridge.
    host
        The address that it is bound to. On loopback it answers to the names of loopback alone, so
        that no web page reaches it by a name that leads here.
    origins
        Origins of web pages that may call it besides its own.

    """

    async def socket(request: web.Request) -> web.WebSocketResponse:
        origin = request.headers.get('Origin', '')
        if origin not in ('', f'{request.scheme}://{request.host}', *origins):
            raise web.HTTPForbidden(
                text=f'The web page is not allowed (got {origin}). Use --origin.'
            )
        if host in _LOCAL and (request.url.host or '') not in _LOCAL:
            raise web.HTTPForbidden(text=f'Wrong host (expected {host}, got {request.host}).')
        answers = web.WebSocketResponse(heartbeat=20.0, max_msg_size=2**20)
        await answers.prepare(request)
        events: asyncio.Queue[Json | None] = asyncio.Queue()
        bridge.listeners.add(events)

        async def push() -> None:
            while (event := await events.get()) is not None:
                await answers.send_json(event)
            await answers.close()

        async def reply(text: str) -> None:
            answer = await bridge.answer(text)
            if not answers.closed:
                await answers.send_json(answer)

        pushing = asyncio.create_task(push())
        running: set[asyncio.Task[None]] = set()
        try:
            async for message in answers:
                while len(running) >= _MOST_CALLS:
                    # What else it asks stays on its side.
                    await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                if message.type is WSMsgType.TEXT:
                    task = asyncio.create_task(reply(message.data))
                    running.add(task)
                    task.add_done_callback(running.discard)
        finally:
            bridge.listeners.discard(events)
            for task in (pushing, *running):
                task.cancel()
        return answers

    made = web.Application()
    made.add_routes([web.get('/ws', socket)])
    return made


def serve(
    *,
    host: str,
    port: int,
    origins: tuple[str, ...],
    timeout: float,
    namespace: str = '',
    domain_id: int | None = None,
) -> int:
    """
    Serve until Ctrl-C or SIGTERM.

    Parameters
    ----------
    host, port
        Address to bind to; port 0 takes a free one.
    origins
        Origins of web pages that may call it.
    timeout
        Seconds that a call waits for its answer.
    namespace, domain_id
        Where the nodes are.

    """

    async def run() -> None:
        stopped = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
        bridge = Bridge(namespace=namespace, domain_id=domain_id, timeout=timeout)
        app = application(bridge, host=host, origins=frozenset(origins))
        runner = web.AppRunner(app, shutdown_timeout=1.0)
        try:
            await runner.setup()
            await web.TCPSite(runner, host, port).start()
            bound = runner.addresses[0]
            _say(f'ws://{f"[{bound[0]}]" if ":" in bound[0] else bound[0]}:{bound[1]}/ws')
            await stopped.wait()
        finally:
            bridge.close()
            await runner.cleanup()

    asyncio.run(run())
    return 0
