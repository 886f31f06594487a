# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The services and events of a boundary over WebSocket, in the node that has them."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
import json
import threading
from typing import Any

from boundary_env_ros.errors import (
    BoundaryError,
    code_of,
    LinkError,
    needed,
    RequestRejected,
    ResultCode,
)
from boundary_env_ros.ros import names
from boundary_env_ros.ros.agent_services import AgentServices
from boundary_env_ros.ros.json_messages import from_json, to_json
from boundary_env_ros.storage.atomic import Closing

with needed('WebSocket needs aiohttp', 'pip install aiohttp'):
    from aiohttp import web, WSMsgType

#: The requests by the names that A2E has for them, ``env/step``, and the service of each.
WIRE: Mapping[str, str] = {f'env/{name.rpartition("/")[2]}': name for name in names.SERVICES}
PUSH = 'env/state_push'

# Calls under way at a time: each waits in a thread.
_MOST_CALLS = 32
# Events that a slow listener may be behind; then it is dropped.
_MOST_BEHIND = 1000
_LOCAL = ('127.0.0.1', 'localhost', '::1')
# For the server to begin or to end, s.
_PATIENCE = 10.0


class WebSocketServer(Closing):
    """
    Serves the conversation with each agent, in a thread of its own.

    Parameters
    ----------
    agents
        The services of each agent, by the path of its sockets.
    address
        ``HOST:PORT`` to listen on; port 0 is a free one. On loopback it answers to the names of
        loopback alone, so that no web page reaches it by a name that leads here.
    origins
        Origins of web pages that may call it besides its own.

    Attributes
    ----------
    places
        Where the sockets are, as URLs.

    Raises
    ------
    LinkError
        If that is no address, or it cannot be listened on.

    """

    def __init__(
        self, agents: Mapping[str, AgentServices], address: str, origins: Collection[str]
    ) -> None:
        host, _, port = address.rpartition(':')
        host = host.strip('[]')
        if not host or not port.isdecimal():
            raise LinkError(
                f'Not an address (expected one such as 127.0.0.1:8480, got {address!r}).'
            )
        self._loop = asyncio.new_event_loop()
        self._threads = ThreadPoolExecutor(_MOST_CALLS, 'call')
        self._sockets = [Sockets(each, self._loop, self._threads) for each in agents.values()]
        app = web.Application()
        for path, sockets in zip(agents, self._sockets, strict=True):
            handle = partial(sockets.handle, host=host, origins=frozenset(origins))
            app.add_routes([web.get(path, handle)])
        self._runner = web.AppRunner(app, shutdown_timeout=1.0)
        # Daemonic: a loop that hangs keeps no node alive.
        self._thread = threading.Thread(
            target=self._loop.run_forever, name='websocket', daemon=True
        )
        self._thread.start()
        try:
            self._run(self._begin(host, int(port)))
        except (OSError, OverflowError, ValueError) as error:  # or no name of a host
            self.close()
            raise LinkError(
                f'Nothing can listen on {address} ({error}). Take another address or port.'
            ) from error
        bound, number, *_ = self._runner.addresses[0]
        place = f'ws://{f"[{bound}]" if ":" in bound else bound}:{number}'
        self.places: Sequence[str] = tuple(f'{place}{path}' for path in agents)

    async def _begin(self, host: str, port: int) -> None:
        await self._runner.setup()
        await web.TCPSite(self._runner, host, port).start()

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(_PATIENCE)

    def close(self) -> None:
        """Let go of the listeners, of the port and of the threads."""
        if self._loop.is_closed():
            return
        for sockets in self._sockets:
            sockets.close()
        try:
            self._run(self._runner.cleanup())
        finally:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(_PATIENCE)
            if not self._thread.is_alive():
                self._loop.close()


class Sockets:
    """
    Passes calls on to the services of an agent, and its events to whoever is connected.

    Parameters
    ----------
    services
        The services.
    loop, threads
        Where the sockets are handled, and where calls wait.

    """

    def __init__(
        self,
        services: AgentServices,
        loop: asyncio.AbstractEventLoop,
        threads: ThreadPoolExecutor,
    ) -> None:
        self._services, self._loop, self._threads = services, loop, threads
        # Where the events go; None ends one that is too far behind.
        self._listeners: set[asyncio.Queue[str | None]] = set()
        services.on_event = self._on_event

    def close(self) -> None:
        """Let go of the listeners."""
        self._services.on_event = None
        for queue in tuple(self._listeners):
            self._loop.call_soon_threadsafe(queue.put_nowait, None)

    def _answer(self, text: str) -> str:
        """
        Call what a message asks for, and return the message that answers it.

        The body of an error is a ``result`` and nothing else.
        """
        name, number = 'error', None
        try:
            call = json.loads(text)
            name, number = str(call['type']).removesuffix('/req'), call.get('id')
            if name not in WIRE:
                raise RequestRejected(
                    f'Unknown service (expected {", ".join(WIRE)}, got {name!r}).'
                )
            service = WIRE[name]
            request = from_json(names.SERVICES[service].Request, call.get('body', {}))
            answer = self._services.call(service, request)
            failed = answer.result.code and not getattr(answer, 'completed', 0)
            body = {'result': to_json(answer.result)} if failed else to_json(answer)
        except BoundaryError as error:
            body = {'result': {'code': int(code_of(error)), 'message': str(error)}}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            message = 'Expected {"type": "env/step/req", "id": 1, "body": {...}}.'
            body = {'result': {'code': int(ResultCode.INVALID_ARGUMENT), 'message': message}}
        answered = f'{name}/resp' if name != 'error' else name
        return json.dumps({'type': answered, 'id': number, 'body': body})

    def _on_event(self, event: Any) -> None:
        if self._listeners:
            text = json.dumps({'type': PUSH, 'body': to_json(event)})
            self._loop.call_soon_threadsafe(self._push, text)

    def _push(self, text: str) -> None:
        for queue in tuple(self._listeners):
            if queue.qsize() >= _MOST_BEHIND:
                self._listeners.discard(queue)
                queue.put_nowait(None)
            else:
                queue.put_nowait(text)

    async def handle(
        self, request: web.Request, *, host: str, origins: Collection[str]
    ) -> web.WebSocketResponse:
        """Answer what comes over a socket, and push every event, until it is closed."""
        origin = request.headers.get('Origin', '')
        if origin not in ('', f'{request.scheme}://{request.host}', *origins):
            raise web.HTTPForbidden(
                text=f'The web page is not allowed (got {origin}). Name its origin.'
            )
        if host in _LOCAL and (request.url.host or '') not in _LOCAL:
            raise web.HTTPForbidden(text=f'Wrong host (expected {host}, got {request.host}).')
        answers = web.WebSocketResponse(heartbeat=20.0, max_msg_size=2**20)
        await answers.prepare(request)
        events: asyncio.Queue[str | None] = asyncio.Queue()
        self._listeners.add(events)

        async def push() -> None:
            while (event := await events.get()) is not None:
                await answers.send_str(event)
            await answers.close()

        async def reply(text: str) -> None:
            answer = await self._loop.run_in_executor(self._threads, self._answer, text)
            if not answers.closed:
                await answers.send_str(answer)

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
            self._listeners.discard(events)
            for task in (pushing, *running):
                task.cancel()
        return answers
