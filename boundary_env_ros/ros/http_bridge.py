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
from functools import cache
import json
import math
import signal
import time
from typing import Any

from boundary_env_ros.errors import (
    BoundaryError,
    code_of,
    LinkTimeout,
    MissingDependency,
    RequestRejected,
    ResultCode,
)
from boundary_env_ros.ros import names
from boundary_env_ros.ros.call_with_retry import ask, SIGN_OF_LIFE
from boundary_env_ros.ros.interfaces import msg, srv
from boundary_env_ros.ros.isolated_node import IsolatedNode
from boundary_env_ros.ros.json_messages import from_json, schema_of, to_json
from boundary_env_ros.ros.message_guard import Incoming

try:
    from aiohttp import web, WSMsgType
except ImportError as missing:
    raise MissingDependency(
        f'The HTTP bridge needs aiohttp: {missing}. Install it with `pip install aiohttp`.'
    ) from missing

Json = dict[str, Any]

#: The services by the name that A2E has for them, with the name of the ROS service.
SERVICES: Mapping[str, tuple[Any, str]] = {
    'env/reset': (srv.Reset, names.RESET),
    'env/step': (srv.Step, names.STEP),
    'env/observe': (srv.Observe, names.OBSERVE),
    'env/close': (srv.Close, names.CLOSE),
    'env/spaces': (srv.Spaces, names.SPACES),
    'env/render': (srv.Render, names.RENDER),
    'env/plan': (srv.Plan, names.PLAN),
    'env/batch_step': (srv.BatchStep, names.BATCH_STEP),
    'env/evaluate_actions': (srv.EvaluateActions, names.EVALUATE_ACTIONS),
}
PUSH = 'env/state_push'

#: What is done each time that it is asked for, so it is asked for once.
_ONCE = ('env/reset', 'env/step', 'env/batch_step')
# Calls under way at a time: each waits in a thread.
_MOST_CALLS = 32
# Events that a slow listener may be behind; then it is let go of.
_MOST_BEHIND = 1000
_LONGEST = 3600.0
_LOCAL = ('127.0.0.1', 'localhost', '::1')
#: Result codes that are the caller's mistake; all others are of the environment.
_BAD_INPUT = (ResultCode.INVALID_ARGUMENT, ResultCode.INVALID_ACTION)


@cache
def schemas() -> Mapping[str, Json]:
    """Return the JSON Schema of each wire type by its name, ``env/step/req``."""
    found: dict[str, Json] = {}
    for name, (kind, _) in SERVICES.items():
        for end, of in (('req', kind.Request), ('resp', kind.Response)):
            title = f'{name}/{end}'
            found[title] = schema_of(of, title, complete=end == 'resp')
    found[PUSH] = schema_of(msg.EnvironmentEvent, PUSH, complete=True)
    return found


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
        Seconds that a call waits for its answer if it says nothing else.

    """

    def __init__(self, *, namespace: str = '', domain_id: int | None = None, timeout: float):
        self._timeout = timeout
        self._met = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listeners: set[asyncio.Queue[Json | None]] = set()
        self._threads = ThreadPoolExecutor(_MOST_CALLS, 'call')
        self._own = IsolatedNode('http_bridge', domain_id=domain_id, namespace=namespace)
        node = self._own.node
        self._clients = {
            name: node.create_client(kind, service) for name, (kind, service) in SERVICES.items()
        }
        node.create_subscription(
            msg.EnvironmentEvent,
            names.EVENT,
            Incoming(node).guarded(names.EVENT, self._on_event),
            names.RECORD,
        )

    async def start(self) -> None:
        """Receive from now on."""
        self._loop = asyncio.get_running_loop()
        self._own.spin_in_thread('http_bridge')

    async def close(self) -> None:
        """Let go of the listeners, of ROS and of the threads."""
        for queue in self._listeners:
            queue.put_nowait(None)
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._own.close()

    # Calls ---------------------------------------------------------------------------------------

    async def call(self, name: str, data: Any, seconds: float | None = None) -> Json:
        """
        Call a service with plain data, and return its answer as plain data.

        An error is an answer that has a ``result`` and nothing else.
        """
        if name not in SERVICES:
            known = ', '.join(SERVICES)
            return _error(
                ResultCode.INVALID_ARGUMENT, f'Unknown service (expected {known}, got {name!r}).'
            )
        loop, limit = asyncio.get_running_loop(), self._timeout if seconds is None else seconds
        try:
            request = from_json(SERVICES[name][0].Request, data)
            answer = await loop.run_in_executor(self._threads, self._ask, name, request, limit)
        except BoundaryError as error:
            return _error(code_of(error), str(error))
        if answer.result.code and not getattr(answer, 'completed', 0):
            return _error(ResultCode(answer.result.code), answer.result.message)
        found: Json = to_json(answer)
        return found

    def _ask(self, name: str, request: Any, limit: float) -> Any:
        until = time.monotonic() + limit
        if name in _ONCE and not self._met:
            # Who serves drops an answer to a client that it has not found yet.
            self._ask('env/spaces', srv.Spaces.Request(), limit)
            self._met = True
        client = self._clients[name]
        while not client.service_is_ready():
            if time.monotonic() > until:
                raise LinkTimeout(
                    f'No node serves {client.srv_name} (waited {limit:g} s). Start the nodes with '
                    '`boundary-env up CONTRACT --services`.'
                )
            time.sleep(0.05)
        patience = math.inf if name in _ONCE else SIGN_OF_LIFE / 2.0
        answer = ask(client, request, until=until, patience=patience)
        if answer is None:
            raise LinkTimeout(
                f'{client.srv_name} did not answer within {limit:g} s. '
                'Is the node alive? What was asked for may still be done.'
            )
        return answer

    # Events --------------------------------------------------------------------------------------

    def _on_event(self, event: Any) -> None:
        if self._loop is not None and self._listeners:
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


def _seconds(request: web.Request) -> float | None:
    text = request.query.get('timeout')
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0.0 < seconds <= _LONGEST:
        raise RequestRejected(f'timeout: expected seconds up to {_LONGEST:g}, got {text!r}.')
    return seconds


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
            data, seconds = json.loads(text) if text else {}, _seconds(request)
        except (ValueError, RecursionError) as error:
            return refused(400, f'The request is not JSON: {error}.')
        except RequestRejected as error:
            return refused(400, str(error))
        answer = await bridge.call(f'env/{request.match_info["name"]}', data, seconds)
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

    async def all_schemas(_: web.Request) -> web.Response:
        return web.json_response(dict(schemas()))

    async def begin(_: web.Application) -> None:
        await bridge.start()

    async def end(_: web.Application) -> None:
        await bridge.close()

    made = web.Application(middlewares=[guard], client_max_size=2**20)
    made.add_routes(
        [
            web.post('/env/{name}', call),
            web.get('/ws', socket),
            web.get('/schemas', all_schemas),
        ]
    )
    made.on_startup.append(begin)
    made.on_cleanup.append(end)
    return made


def serve(
    *,
    host: str,
    port: int,
    origins: tuple[str, ...],
    timeout: float,
    namespace: str = '',
    domain_id: int | None = None,
    say: Callable[[str], None],
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
            await runner.cleanup()

    asyncio.run(run())
    return 0
