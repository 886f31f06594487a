# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a plugin can do beside its steps, as any ROS client has it: the game of the examples."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
import json
import os
from pathlib import Path
import queue
import threading
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from boundary_env_ros.core.records.environment_event import EnvironmentEvent, EventKind
from boundary_env_ros.core.records.episode import EpisodeState
from boundary_env_ros.errors import InvalidAction, RequestRejected, ResultCode
from boundary_env_ros.ros.processes import gates, isolated_environment, NodeSpec, running
from boundary_env_ros.ros.service_client import BoundaryClient, snapshot_of
from boundary_env_ros.storage.contract_file import load
from support.ros_world import reserved_domain

pytestmark = pytest.mark.ros

EXAMPLES = Path(__file__).parents[2] / 'examples'
CONTRACT = EXAMPLES / 'tic_tac_toe.yaml'


@pytest.fixture(scope='module')
def domain(_run: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Run the game, which is installed for the nodes."""
    folder = tmp_path_factory.mktemp('game')
    installed = folder / 'game-1.0.dist-info'
    installed.mkdir()
    (installed / 'METADATA').write_text('Metadata-Version: 2.1\nName: game\nVersion: 1.0\n')
    (installed / 'entry_points.txt').write_text(
        '[boundary_env_ros.plugins]\ntic_tac_toe = tic_tac_toe:TicTacToe\n'
    )
    with ExitStack() as stack:
        number = stack.enter_context(reserved_domain())
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for name, value in isolated_environment(number).items():
            patch.setenv(name, value)
        before = os.environ.get('PYTHONPATH', '')
        path = [str(folder), str(EXAMPLES), *filter(None, [before])]
        patch.setenv('PYTHONPATH', os.pathsep.join(path))
        parameters = {'contract': str(CONTRACT)}
        nodes = [
            *gates(load(CONTRACT).contract, parameters),
            *(
                NodeSpec(name=name, parameters=parameters)
                for name in ('simulated_robot', 'environment', 'policy_server')
            ),
        ]
        stack.enter_context(running(nodes, domain_id=number, logs=folder / 'logs', timeout=60.0))
        yield number


def reset(*clients: BoundaryClient, **arguments: Any) -> list[Any]:
    """Reset all agents, each of which waits for the others."""
    answers: list[Any] = [None] * len(clients)

    def one(index: int) -> None:
        answers[index] = clients[index].reset(seed=1, **arguments)

    threads = [threading.Thread(target=one, args=(index,)) for index in range(len(clients))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def test_a_game_over_services(domain: int) -> None:
    events: queue.SimpleQueue[EnvironmentEvent] = queue.SimpleQueue()
    with (
        BoundaryClient('ann', namespace='x', domain_id=domain) as x,
        BoundaryClient('bob', namespace='o', domain_id=domain) as o,
    ):
        o.on('moved', events.put)

        # A start answers with sensors, actuators, rewards, the static model and first readings.
        began, _ = reset(x, o)
        spaces = x.spaces()
        assert [field.name for field in spaces.observation] == ['board']
        assert [field.name for field in spaces.action] == ['move']
        (reward,) = spaces.reward
        assert (reward.name, list(reward.low), list(reward.high)) == ('won', [-1.0], [1.0])
        assert len(json.loads(spaces.static_model)['lines']) == 8
        assert [field.name for field in began.observation.fields] == ['board']
        assert all(len(field.values) for field in began.observation.fields)
        assert len(json.loads(began.info)['free']) == 9

        # A step answers with a snapshot, and so does an observation of an episode that is named.
        answer = x.step([4])
        assert (answer.reward, answer.terminated, answer.truncated) == (0.0, False, False)
        assert 'b2' not in json.loads(answer.info)['free']
        seen = x.observe(began.episode_id)
        assert repr(seen.observation) == repr(answer.observation)
        assert (seen.info, seen.reward, seen.done) == (answer.info, 0.0, False)
        assert seen.transition[0].id.step == 1
        with pytest.raises(RequestRejected, match='Unknown episode') as unknown:
            x.observe('no such episode')
        assert unknown.value.code is ResultCode.UNKNOWN_EPISODE

        # What is pushed comes without being asked for, with episode, step, type and delta.
        event = events.get(timeout=20.0)
        assert (event.kind, event.event_type) == (EventKind.PLUGIN, 'moved')
        assert (event.id.episode_id, json.loads(event.payload)) == (
            o.episode_id, {'square': 'b2'},
        )  # fmt: skip

        # What is not legal now is refused with the reason, and the episode goes on.
        with pytest.raises(InvalidAction, match='o cannot do this now: b2 is taken'):
            o.step([4])
        found = {each.name: each for each in o.plan().affordances}
        assert (found['play b2'].available, found['play b2'].reason) == (False, 'it is taken')
        assert json.loads(found['play a1'].parameters) == {'action': 0}
        o.step([0])
        x.step([1])
        assert json.loads(x.plan({'win': True}).plan) == {'action': 7}
        assert x.render('world', 'ansi') == 'ox.\n.x.\n...'
        pixels = x.render('world')
        assert pixels.shape == (3, 3, 3)

        o.step([3])
        last = x.step([7])
        assert (last.reward, last.terminated, last.done) == (1.0, True, True)
        snapshot = snapshot_of(last, lambda world: len(world['free']))
        assert (snapshot.status, snapshot.is_done) == (EpisodeState.TERMINATED, True)
        assert (snapshot.step, snapshot.reward, snapshot.state) == (5, 1.0, 4)
        assert snapshot.observation['board'].tolist() == [-1, 1, 0, -1, 1, 0, 0, 1, 0]
        first = snapshot_of(began)
        assert (first.status, first.reward, first.step) == (EpisodeState.RUNNING, 0.0, 0)
        assert x.is_done

        # A game goes on where another was left.
        reset(x, o, options={'state': {'board': [1, 0, 0, 0, -1, 0, 0, 0, 0]}})
        assert x.render('world', 'ansi') == 'x..\n.o.\n...'
