# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
``boundary-env serve``: the services of an environment over HTTP and WebSocket.

The bridge keeps nothing: it is one more client of ``policy_server`` and gate, whose rules hold for
its clients.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
import json
import signal
from typing import Any

from boundary_env_ros.errors import (
    BoundaryError,
    code_of,
    MissingDependency,
    ResultCode,
)
from boundary_env_ros.ros.client import BoundaryClient, SERVICES
from boundary_env_ros.ros.json_messages import from_json, to_json

try:
    from aiohttp import web, WSMsgType
except ImportError as missing:
    raise MissingDependency(
        f'The HTTP bridge needs aiohttp: {missing}. Install it with `pip install aiohttp`.'
    ) from missing

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
_SAY = partial(print, flush=True)
_LOCAL = ('127.0.0.1', 'localhost', '::1')
#: Result codes that are the caller's mistake; all others are of the environment.
_BAD_INPUT = (ResultCode.INVALID_ARGUMENT, ResultCode.INVALID_ACTION)


def _error(code: ResultCode, message: str) -> Json:
    return {'result': {'code': int(code), 'message': message}}


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
        self._listeners: set[asyncio.Queue[Json | None]] = set()
        self._threads = ThreadPoolExecutor(_MOST_CALLS, 'call')
        self._client = BoundaryClient(
            'http_bridge',
            namespace=namespace,
            domain_id=domain_id,
            timeout=timeout,
            startup_timeout=timeout,
        )
        self._client.on_message(self._on_event)

    def close(self) -> None:
        """Let go of the listeners, of ROS and of the threads."""
        for queue in self._listeners:
            queue.put_nowait(None)
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._client.close()

    # Calls ---------------------------------------------------------------------------------------

    async def call(self, wire_name: str, data: Any) -> Json:
        """
        Call a service with plain data, and return its answer as plain data.

        An error is an answer that has a ``result`` and nothing else.
        """
        if wire_name not in WIRE:
            return _error(
                ResultCode.INVALID_ARGUMENT,
                f'Unknown service (expected {", ".join(WIRE)}, got {wire_name!r}).',
            )
        name, kind = WIRE[wire_name]
        try:
            request = from_json(kind.Request, data)
            answer = await self._loop.run_in_executor(
                self._threads, self._client.call, name, request
            )
        except BoundaryError as error:
            return _error(code_of(error), str(error))
        found: Json = to_json(answer)
        return found

    # Events --------------------------------------------------------------------------------------

    def _on_event(self, event: Any) -> None:
        if self._listeners:
            self._loop.call_soon_threadsafe(self._tell, to_json(event))

    def _tell(self, event: Json) -> None:
        for queue in tuple(self._listeners):
            if queue.qsize() >= _MOST_BEHIND:
                self._listeners.discard(queue)
                queue.put_nowait(None)
            else:
                queue.put_nowait(event)

    def listen(self) -> asyncio.Queue[Json | None]:
        """Return a queue of the events from now on; None ends it."""
        queue: asyncio.Queue[Json | None] = asyncio.Queue()
        self._listeners.add(queue)
        return queue

    def leave(self, queue: asyncio.Queue[Json | None]) -> None:
        """Send no more events to a queue."""
        self._listeners.discard(queue)


# HTTP --------------------------------------------------------------------------------------------


def _status(answer: Json) -> int:
    code = ResultCode(answer['result']['code'])
    if code is ResultCode.OK:
        return 200
    return 400 if code in _BAD_INPUT else 504 if code is ResultCode.TIMEOUT else 409


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

    @web.middleware
    async def guard(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        origin = request.headers.get('Origin', '')
        foreign = origin and origin != f'{request.scheme}://{request.host}'
        if foreign and origin not in origins:
            return refused(403, f'The web page is not allowed (got {origin}). Use --origin.')
        if host in _LOCAL and (request.url.host or '') not in _LOCAL:
            return refused(403, f'Wrong host (expected {host}, got {request.host}).')
        try:
            response = (
                web.Response(status=204) if request.method == 'OPTIONS' else await handler(request)
            )
        except web.HTTPException as error:
            response = refused(error.status, f'{error.reason}: {request.method} {request.path}.')
        if foreign and not response.prepared:
            response.headers['Access-Control-Allow-Origin'] = origin
            response.headers['Access-Control-Allow-Headers'] = 'Content-Type'
            response.headers['Vary'] = 'Origin'
        return response

    def refused(status: int, message: str) -> web.Response:
        return web.json_response(_error(ResultCode.INVALID_ARGUMENT, message), status=status)

    async def call(request: web.Request) -> web.Response:
        # A web page may send anything else without asking first.
        if request.content_type != 'application/json':
            return refused(415, 'Content-Type: expected application/json.')
        text = await request.text()
        try:
            data = json.loads(text) if text else {}
        except (ValueError, RecursionError) as error:
            return refused(400, f'The request is not JSON: {error}.')
        answer = await bridge.call(f'env/{request.match_info["name"]}', data)
        return web.json_response(answer, status=_status(answer))

    async def socket(request: web.Request) -> web.WebSocketResponse:
        answers = web.WebSocketResponse(heartbeat=20.0, max_msg_size=2**20)
        await answers.prepare(request)
        events = bridge.listen()
        running: set[asyncio.Task[None]] = set()

        async def push() -> None:
            while (event := await events.get()) is not None:
                await answers.send_json({'type': PUSH, 'body': event})
            await answers.close()

        async def reply(text: str) -> None:
            name, number = '', None
            try:
                asked = json.loads(text)
                name, number, data = asked['type'], asked.get('id'), asked.get('body', {})
                answer = await bridge.call(str(name).removesuffix('/req'), data)
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
                message = 'Expected {"type": "env/step/req", "id": 1, "body": {...}}.'
                answer = _error(ResultCode.INVALID_ARGUMENT, message)
            kind = f'{str(name).removesuffix("/req")}/resp' if name else 'error'
            if not answers.closed:
                await answers.send_json({'type': kind, 'id': number, 'body': answer})

        pushing = asyncio.create_task(push())
        try:
            async for message in answers:
                if message.type is WSMsgType.TEXT:
                    task = asyncio.create_task(reply(message.data))
                    running.add(task)
                    task.add_done_callback(running.discard)
        finally:
            bridge.leave(events)
            for task in (pushing, *running):
                task.cancel()
        return answers

    made = web.Application(middlewares=[guard], client_max_size=2**20)
    made.add_routes([web.post('/env/{name}', call), web.get('/ws', socket)])
    return made


def serve(
    *,
    host: str,
    port: int,
    origins: tuple[str, ...],
    timeout: float,
    namespace: str = '',
    domain_id: int | None = None,
    say: Callable[[str], None] = _SAY,
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
    say
        Is told the address once it is bound.

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
            say(f'http://{f"[{bound[0]}]" if ":" in bound[0] else bound[0]}:{bound[1]}')
            await stopped.wait()
        finally:
            bridge.close()
            await runner.cleanup()

    asyncio.run(run())
    return 0
