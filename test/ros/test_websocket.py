# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The services over WebSocket: what a browser and any other client without ROS can do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import json
from pathlib import Path
import queue
import re
import shutil
import signal
import subprocess
import threading
from typing import Any, TYPE_CHECKING

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')
pytest.importorskip('aiohttp', reason='needs boundary_env_ros[http]')

from aiohttp import ClientSession, WSServerHandshakeError

from boundary_env_ros.errors import LinkError, ResultCode
from boundary_env_ros.ros import names
from boundary_env_ros.ros.interfaces import msg, srv
from boundary_env_ros.ros.websocket import PUSH, WebSocketServer, WIRE
from support.ros_world import PATIENT, SOON, wait_until, World

if TYPE_CHECKING:
    from conftest import MakeWorld

pytestmark = pytest.mark.ros

CLEAR = json.dumps({'scenario': 'clear'})
AHEAD = [0.3, 0.0]
BROWSER = shutil.which('chromium') or shutil.which('chromium-browser')
PAGE = """<!doctype html><title>waiting</title><script>
const waiting = {}, pushed = [];
const socket = new WebSocket('ADDRESS');
socket.onmessage = event => {
  const told = JSON.parse(event.data);
  if (told.id in waiting) waiting[told.id](told.body); else pushed.push(told.type);
};
const call = (name, body) => new Promise(answered => {
  waiting[name] = answered;
  socket.send(JSON.stringify({type: 'env/' + name + '/req', id: name, body}));
});
(async () => {
  await new Promise(open => socket.onopen = open);
  const began = await call('reset', {client: 'browser', options: '{"scenario": "clear"}'});
  const stepped = await call('step', {episode_id: began.episode_id, action: [0.3, 0.0]});
  const closed = await call('close', {episode_id: began.episode_id, client: 'browser'});
  return JSON.stringify({
    step: stepped.transitions[0].id.step, closed: closed.result.code, pushed});
})().catch(error => 'failed: ' + error).then(body => fetch('/', {method: 'POST', body}));
</script>"""


class Pages(BaseHTTPRequestHandler):
    """Serves one page, and takes what it tells."""

    page = b''
    told: queue.SimpleQueue[str] = queue.SimpleQueue()

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header('Content-Type', 'text/html')
        self.end_headers()
        self.wfile.write(self.page)

    def do_POST(self) -> None:
        self.told.put(self.rfile.read(int(self.headers['Content-Length'])).decode())
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope='module')
def world(make_world: MakeWorld, pages: str) -> World:
    """Return one world for all tests of this module."""
    changes = {**PATIENT, 'lockstep': {'deadline': 120.0}}
    services = {'websocket': '127.0.0.1:0', 'origins': f'{pages} http://other.example'}
    made = make_world(pacing='lockstep', services=services, changes=changes)
    made.probe.subscribe(names.ACTION_REQUEST, msg.ActionRequest, names.RECORD)
    return made


@pytest.fixture(autouse=True)
def _no_episode_is_left(world: World) -> Iterator[None]:
    yield
    world.end_episode()


@pytest.fixture(scope='module')
def pages() -> Iterator[str]:
    """Serve pages of another origin than the socket's; return that."""
    server = ThreadingHTTPServer(('127.0.0.1', 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f'http://127.0.0.1:{server.server_port}'
    server.shutdown()
    server.server_close()


@pytest.fixture
def address(world: World) -> str:
    """Return the address, as the node has logged it."""
    return re.findall(r'ws://\S+', world.processes['policy_server'].log.read_text())[-1]


def talk(address: str, *messages: object, **headers: str) -> list[Any]:
    """Send messages, one after the other, and return what answers each."""

    async def answers() -> list[Any]:
        found = []
        async with ClientSession() as session, session.ws_connect(address, headers=headers) as ws:
            for message in messages:
                await ws.send_str(message if isinstance(message, str) else json.dumps(message))
                told = {'type': PUSH}
                while told['type'] == PUSH:
                    told = await ws.receive_json(timeout=90.0)
                found.append(told)
        return found

    return asyncio.run(answers())


def call(address: str, name: str, body: object) -> Any:
    """Call a service and return the body of its answer."""
    (told,) = talk(address, {'type': f'env/{name}/req', 'id': 7, 'body': body})
    assert (told['type'], told['id']) == (f'env/{name}/resp', 7)
    return told['body']


def test_all_wire_types_are_answered(address: str) -> None:
    a2e = {'reset', 'step', 'observe', 'close', 'spaces', 'render', 'plan', 'batch_step'}
    assert {f'env/{name}' for name in a2e | {'evaluate_actions'}} == set(WIRE)

    def said(name: str, body: dict[str, Any]) -> Any:
        answer = call(address, name, body)
        assert answer['result']['code'] == 0, answer
        return answer

    spaces = said('spaces', {})
    assert spaces['contract'] == 'warehouse_cart'
    began = said('reset', {'client': 'curl', 'seed_given': True, 'seed': 3, 'options': CLEAR})
    assert began['transition'][0]['seed'] == 3
    episode = began['episode_id']
    stepped = said('step', {'episode_id': episode, 'action': AHEAD})
    assert stepped['transitions'][0]['requested_action'] == AHEAD
    batch = {'episode_id': episode, 'actions': AHEAD * 2, 'count': 2}
    assert said('batch_step', batch)['completed'] == 2
    assert said('observe', {})['observation']['id']['step'] == 3
    image = said('render', {'source': 'front'})['image']
    assert len(image['data']) == 2 * image['height'] * image['step']
    asked = {'digest': spaces['digest'], 'agent': spaces['agents'][0]}
    candidates = said('evaluate_actions', {**asked, 'actions': AHEAD, 'count': 1})
    assert candidates['decisions'][0]['request'][0]['action'] == AHEAD
    said('close', {'episode_id': episode, 'client': 'curl'})


@pytest.mark.parametrize(
    ('body', 'told'),
    [
        ({'seeed': 1}, "unknown key 'seeed' (expected digest"),
        ({'seed': -1}, 'seed: expected a whole number from 0 to 18446744073709551615, got -1'),
        ({'client': 7}, 'client: expected a text, got 7'),
        ({'wrappers': ['a', 1]}, 'wrappers[1]: expected a text, got 1'),
        ([], 'The request: expected an object, got []'),
    ],
)
def test_bad_input_is_one_sentence_that_names_the_place(
    address: str, body: object, told: str
) -> None:
    answer = call(address, 'reset', body)
    assert answer['result']['code'] == ResultCode.INVALID_ARGUMENT
    assert told in answer['result']['message']


def test_what_is_no_request_is_refused(address: str) -> None:
    for message in ('{', '[]', '{"id": 7}', '[' * 100_000):
        (told,) = talk(address, message)
        assert told['type'] == 'error'
        assert told['body']['result']['message'].startswith('Expected {"type": "env/step/req"')
    assert 'Unknown service (expected env/reset, ' in call(address, 'fly', {})['result']['message']


def test_an_error_of_the_environment_says_its_code_and_its_sentence(address: str) -> None:
    answer = call(address, 'step', {'episode_id': 'no such', 'action': AHEAD})
    assert answer['result']['code'] in (ResultCode.UNKNOWN_EPISODE, ResultCode.NOT_RESET)
    assert set(answer) == {'result'}


def test_web_pages_that_were_not_named_are_refused(address: str, pages: str) -> None:
    asked = {'type': 'env/spaces/req'}
    for headers in ({'Origin': 'http://evil.example'}, {'Host': 'evil.example'}):
        with pytest.raises(WSServerHandshakeError) as refused:
            talk(address, asked, **headers)
        assert refused.value.status == 403
    (told,) = talk(address, asked, Origin=pages)
    assert told['body']['contract'] == 'warehouse_cart'


def test_every_event_is_pushed(address: str) -> None:
    async def listen() -> tuple[str, list[Any]]:
        pushed: list[Any] = []
        async with ClientSession() as session, session.ws_connect(address) as ws:

            async def ask(name: str, body: object) -> Any:
                await ws.send_json({'type': f'env/{name}/req', 'id': name, 'body': body})
                return await told(name)

            async def told(name: str) -> Any:
                message = await ws.receive_json(timeout=60.0)
                while message['type'] == PUSH:
                    pushed.append(message['body'])
                    if name == PUSH:
                        return None
                    message = await ws.receive_json(timeout=60.0)
                return message['body']

            episode = (await ask('reset', {'client': 'ws', 'options': CLEAR}))['episode_id']
            await ask('step', {'episode_id': episode, 'action': AHEAD})
            await ask('close', {'episode_id': episode, 'client': 'ws'})
            while not any(event['truncated'] for event in pushed):
                await told(PUSH)
        return episode, pushed

    episode, pushed = asyncio.run(listen())
    assert {event['id']['episode_id'] for event in pushed} == {episode}


def listens(process: int, port: int) -> bool:
    """Return whether a process has a socket that listens on a port."""
    rows = [row.split() for row in Path('/proc/net/tcp').read_text().splitlines()[1:]]
    inodes = {row[9] for row in rows if int(row[1].rpartition(':')[2], 16) == port}
    for file in Path(f'/proc/{process}/fd').iterdir():
        with suppress(FileNotFoundError):
            if str(file.readlink()).strip('socket:[]') in inodes:
                return True
    return False


def test_one_process_has_the_sockets_and_the_services_of_an_episode(
    world: World, address: str
) -> None:
    process = world.processes['policy_server'].process.pid
    assert listens(process, int(address.rpartition(':')[2].partition('/')[0]))
    episode = call(address, 'reset', {'client': 'ws', 'options': CLEAR})['episode_id']
    call(address, 'step', {'episode_id': episode, 'action': AHEAD})

    ask = world.probe.call
    seen = ask(srv.Observe, names.OBSERVE, srv.Observe.Request())
    assert (seen.observation.id.episode_id, seen.observation.id.step) == (episode, 1)
    stepped = ask(srv.Step, names.STEP, srv.Step.Request(episode_id=episode, action=AHEAD))
    assert stepped.observation.id.step == 2
    assert call(address, 'observe', {})['observation']['id']['step'] == 2
    refused = ask(srv.Reset, names.RESET, srv.Reset.Request(client='ros'))
    assert refused.result.code == ResultCode.LEASE_HELD
    assert (
        ask(srv.Close, names.CLOSE, srv.Close.Request(episode_id=episode, client='ws')).result.code
        == ResultCode.OK
    )
    ended = call(address, 'step', {'episode_id': episode, 'action': AHEAD})['result']
    assert ended['code'] == ResultCode.EPISODE_ENDED


def test_who_goes_while_its_step_waits_leaves_the_episode(world: World, address: str) -> None:
    def requests() -> list[Any]:
        return world.probe.messages(names.ACTION_REQUEST)

    episode = call(address, 'reset', {'client': 'ws', 'options': CLEAR})['episode_id']
    step = {'type': 'env/step/req', 'body': {'episode_id': episode, 'action': AHEAD}}
    robot, asked = world.processes['simulated_robot'], len(requests())
    robot.send(signal.SIGSTOP)
    try:

        async def go() -> None:
            async with ClientSession() as session, session.ws_connect(address) as ws:
                await ws.send_json(step)
                await asyncio.to_thread(
                    world.probe.until, lambda: len(requests()) > asked, SOON, 'the request'
                )

        asyncio.run(go())
        assert call(address, 'observe', {})['observation']['id']['step'] == 0
    finally:
        robot.send(signal.SIGCONT)

    def newest() -> int:
        return int(call(address, 'observe', {})['observation']['id']['step'])

    wait_until(lambda: newest() == 1, SOON, 'the step that was asked for')
    assert call(address, 'step', step['body'])['observation']['id']['step'] == 2


def test_what_is_asked_at_once_is_answered_to_the_last(address: str) -> None:
    async def answered() -> list[int]:
        found: list[int] = []
        async with ClientSession() as session, session.ws_connect(address) as ws:
            for number in range(100):
                await ws.send_json({'type': 'env/spaces/req', 'id': number})
            while len(found) < 100:
                told = await ws.receive_json(timeout=60.0)
                assert told['body']['result']['code'] == ResultCode.OK
                found.append(told['id'])
        return found

    assert sorted(asyncio.run(answered())) == list(range(100))


def test_where_nothing_can_listen_the_server_says_so(address: str) -> None:
    taken = address.removeprefix('ws://').removesuffix('/ws')
    for place, why in (
        (taken, 'Nothing can listen on .* Take another'),
        ('127.0.0.1:70000', 'Nothing can listen on'),
        ('8480', 'Not an address'),
        ('127.0.0.1:http', 'Not an address'),
        ('..:80', 'Nothing can listen on'),
    ):
        with pytest.raises(LinkError, match=why):
            WebSocketServer({}, place, ())
    assert 'websocket' not in {thread.name for thread in threading.enumerate()}


@pytest.mark.skipif(BROWSER is None, reason='needs a browser: chromium')
def test_a_web_page_drives_the_robot(address: str, pages: str) -> None:
    Pages.page = PAGE.replace('ADDRESS', address).encode()
    options = ('--headless', '--no-sandbox', '--disable-gpu', '--remote-debugging-port=0')
    with subprocess.Popen([str(BROWSER), *options, pages], stderr=subprocess.DEVNULL) as browser:
        try:
            told = Pages.told.get(timeout=90.0)
        finally:
            browser.terminate()
    assert told.startswith('{'), told
    page = json.loads(told)
    assert (page['step'], page['closed']) == (1, 0)
    assert PUSH in page['pushed']
