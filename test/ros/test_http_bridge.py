# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The services over HTTP and WebSocket: what curl and a browser can do with them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import json
import shutil
import signal
import subprocess
import sys
import threading
from typing import Any, TYPE_CHECKING

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')
pytest.importorskip('aiohttp', reason='needs boundary_env_ros[http]')

from aiohttp import ClientSession

from boundary_env_ros.errors import ResultCode
from boundary_env_ros.ros.http_bridge import PUSH, WIRE
from support.ros_world import PATIENT, World

if TYPE_CHECKING:
    from conftest import MakeWorld

pytestmark = pytest.mark.ros

CLEAR = json.dumps({'scenario': 'clear'})
AHEAD = [0.3, 0.0]
BROWSER = shutil.which('chromium') or shutil.which('chromium-browser')
PAGE = """<!doctype html><title>waiting</title><pre id="told"></pre><script>
const headers = {'Content-Type': 'application/json'};
const call = async (name, body) => (await fetch(
  'BRIDGE/env/' + name, {method: 'POST', headers, body: JSON.stringify(body)})).json();
(async () => {
  const socket = new WebSocket('BRIDGE/ws'.replace('http', 'ws'));
  const pushed = [];
  socket.onmessage = event => pushed.push(JSON.parse(event.data).type);
  await new Promise(open => socket.onopen = open);
  const began = await call('reset', {client: 'browser', options: '{"scenario": "clear"}'});
  const stepped = await call('step', {episode_id: began.episode_id, action: [0.3, 0.0]});
  const closed = await call('close', {episode_id: began.episode_id, client: 'browser'});
  document.getElementById('told').textContent = JSON.stringify({
    step: stepped.transitions[0].id.step, closed: closed.result.code, pushed});
})().catch(error => document.getElementById('told').textContent = 'failed: ' + error);
</script>"""


class Pages(BaseHTTPRequestHandler):
    """Serves one page."""

    page = b''

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header('Content-Type', 'text/html')
        self.end_headers()
        self.wfile.write(self.page)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope='module')
def world(make_world: MakeWorld) -> World:
    """Return one world for all tests of this module."""
    changes = {**PATIENT, 'lockstep': {'deadline': 120.0}}
    return make_world(pacing='lockstep', services=True, changes=changes)


@pytest.fixture(autouse=True)
def _no_episode_is_left(world: World) -> Iterator[None]:
    yield
    world.end_episode()


@pytest.fixture(scope='module')
def pages() -> Iterator[str]:
    """Serve pages of another origin than the bridge's; return that."""
    server = ThreadingHTTPServer(('127.0.0.1', 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f'http://127.0.0.1:{server.server_port}'
    server.shutdown()
    server.server_close()


@pytest.fixture(scope='module')
def bridge(world: World, pages: str) -> Iterator[str]:
    """Run the command; return its address."""
    command = [sys.executable, '-m', 'boundary_env_ros.cli.main', 'serve', '--port', '0']
    command += ['--origin', pages, '--domain-id', str(world.domain_id), '--timeout', '60']
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith('http://127.0.0.1:')
        yield address
        process.send_signal(signal.SIGTERM)
        assert process.wait(20.0) == 0


def curl(address: str, *options: str) -> tuple[int, Any]:
    """Call curl; return status and answer."""
    done = subprocess.run(
        ['curl', '-s', '-w', '\n%{http_code}', *options, address],
        capture_output=True,
        check=True,
        text=True,
        timeout=90.0,
    )
    text, status = done.stdout.rsplit('\n', 1)
    return int(status), json.loads(text)


def post(address: str, name: str, body: object, *options: str) -> tuple[int, Any]:
    """Post JSON."""
    kind = ('-H', 'Content-Type: application/json')
    return curl(f'{address}/env/{name}', *kind, *options, '-d', json.dumps(body))


def test_all_wire_types_are_answered(bridge: str) -> None:
    a2e = {'reset', 'step', 'observe', 'close', 'spaces', 'render', 'plan', 'batch_step'}
    assert {f'env/{name}' for name in a2e | {'evaluate_actions'}} == set(WIRE)

    def said(name: str, body: dict[str, Any]) -> Any:
        status, answer = post(bridge, name, body)
        assert (status, answer['result']['code']) == (200, 0), answer
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
    assert candidates['decisions'][0]['requested_action'] == AHEAD
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
    bridge: str, body: object, told: str
) -> None:
    status, answer = post(bridge, 'reset', body)
    assert (status, answer['result']['code']) == (400, ResultCode.INVALID_ARGUMENT)
    assert told in answer['result']['message']


def test_what_is_no_request_is_refused(bridge: str) -> None:
    json_type = ('-H', 'Content-Type: application/json')
    assert curl(f'{bridge}/env/reset', *json_type, '-d', '{')[0] == 400
    assert curl(f'{bridge}/env/reset', '-d', '{}')[0] == 415
    assert curl(f'{bridge}/env/reset')[0] == 405
    assert curl(f'{bridge}/elsewhere')[0] == 404
    assert post(bridge, 'fly', {})[0] == 400
    status = ('-s', '-o', '/dev/null', '-w', '%{http_code}')
    done = subprocess.run(
        ['curl', *status, *json_type, '-d', '@-', f'{bridge}/env/reset'],
        input='x' * 2**21,
        capture_output=True,
        check=True,
        text=True,
        timeout=60.0,
    )
    assert done.stdout == '413'


def test_an_error_of_the_environment_says_its_code_and_its_sentence(bridge: str) -> None:
    status, answer = post(bridge, 'step', {'episode_id': 'no such', 'action': AHEAD})
    assert status == 409
    assert answer['result']['code'] in (ResultCode.UNKNOWN_EPISODE, ResultCode.NOT_RESET)
    assert set(answer) == {'result'}


def test_web_pages_that_were_not_named_are_refused(bridge: str, pages: str) -> None:
    assert post(bridge, 'spaces', {}, '-H', 'Origin: http://evil.example')[0] == 403
    assert post(bridge, 'spaces', {}, '-H', 'Host: evil.example')[0] == 403
    assert curl(f'{bridge}/ws', '-H', 'Origin: http://evil.example')[0] == 403
    assert post(bridge, 'spaces', {}, '-H', f'Origin: {pages}')[0] == 200


def test_a_websocket_carries_calls_and_events(bridge: str) -> None:
    async def talk() -> tuple[list[Any], list[Any]]:
        answers: list[Any] = []
        pushed: list[Any] = []

        async with ClientSession() as session, session.ws_connect(f'{bridge}/ws') as ws:

            async def ask(name: str, body: object) -> Any:
                await ws.send_json({'type': f'env/{name}/req', 'id': name, 'body': body})
                while True:
                    told = await ws.receive_json(timeout=60.0)
                    if told['type'] == PUSH:
                        pushed.append(told['body'])
                    else:
                        answers.append(told)
                        return told['body']

            episode = (await ask('reset', {'client': 'ws', 'options': CLEAR}))['episode_id']
            await ask('step', {'episode_id': episode, 'action': AHEAD})
            await ask('close', {'episode_id': episode, 'client': 'ws'})
            await ws.send_str('[]')
            answers.append(await ws.receive_json(timeout=60.0))
            while not any(event['truncated'] for event in pushed):
                told = await ws.receive_json(timeout=60.0)
                if told['type'] == PUSH:
                    pushed.append(told['body'])
        return answers, pushed

    answers, pushed = asyncio.run(talk())
    assert [(told['type'], told['id']) for told in answers[:3]] == [
        (f'env/{name}/resp', name) for name in ('reset', 'step', 'close')
    ]
    assert all(told['body']['result']['code'] == 0 for told in answers[:3])
    assert {event['id']['episode_id'] for event in pushed} == {answers[0]['body']['episode_id']}


@pytest.mark.skipif(BROWSER is None, reason='needs a browser: chromium')
def test_a_web_page_drives_the_robot(bridge: str, pages: str) -> None:
    Pages.page = PAGE.replace('BRIDGE', bridge).encode()
    options = ('--headless', '--no-sandbox', '--disable-gpu', '--timeout=20000')
    done = subprocess.run(
        [str(BROWSER), *options, '--virtual-time-budget=20000', '--dump-dom', pages],
        capture_output=True,
        check=True,
        text=True,
        timeout=90.0,
    )
    told = done.stdout.partition('<pre id="told">')[2].partition('</pre>')[0]
    assert told.startswith('{'), told
    page = json.loads(told)
    assert (page['step'], page['closed']) == (1, 0)
    assert PUSH in page['pushed']
