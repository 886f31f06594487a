# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a plugin can do beside its steps, by the game of the examples, whose agents share it."""

from __future__ import annotations

from collections.abc import Iterator
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import odd_plugins

pytest.importorskip('pettingzoo', reason='needs boundary_env_ros[pettingzoo]')

from boundary_env_ros.cli.main import main
from boundary_env_ros.core.episode_events import Events
from boundary_env_ros.core.records.environment_event import EnvironmentEvent, EventKind, Push
from boundary_env_ros.errors import InvalidAction, RequestRejected, ResultCode
from boundary_env_ros.facade.multi_agent import env
from boundary_env_ros.simulation.plugin_robot import PluginRobot
from boundary_env_ros.storage.contract_file import load
from boundary_env_ros.storage.run_folder import RunFolder

EXAMPLES = Path(__file__).parents[2] / 'examples'
SQUARES = ('a1', 'a2', 'a3', 'b1', 'b2', 'b3', 'c1', 'c2', 'c3')
CONTRACT = EXAMPLES / 'tic_tac_toe.yaml'


@pytest.fixture
def game(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    robot = PluginRobot(load(CONTRACT).contract, plugin='tic_tac_toe:TicTacToe')
    made = env(CONTRACT, world='embedded', robot=robot, first_step=tmp_path / 'first')
    made.reset(seed=1)
    yield made
    made.close()
    robot.close()


def play(game: Any, *squares: int) -> None:
    for square in squares:
        game.step(square)


def test_two_agents_play_in_one_plugin_with_discrete_actions(game: Any) -> None:
    play(game, 4, 0, 1, 3)
    assert game.observe('x')['board'].tolist() == [-1, 1, 0, -1, 1, 0, 0, 0, 0]
    play(game, 7)
    assert [game.infos[agent]['ending'] for agent in 'xo'] == ['success', 'failure']
    assert game.rewards == {'x': 1.0, 'o': -1.0}


def test_action_that_is_not_legal_now_is_an_invalid_action_with_the_reason(game: Any) -> None:
    play(game, 4)
    with pytest.raises(InvalidAction, match='o cannot do this now: b2 is taken'):
        game.step(4)
    # Nothing happened, and the episode goes on.
    assert game.agent_selection == 'o'
    assert sum(map(abs, game.observe('x')['board'])) == 1
    play(game, 0)
    with pytest.raises(InvalidAction, match='shape'):
        game.step([1.0, 2.0])


def test_action_out_of_turn_is_an_invalid_action(game: Any) -> None:
    with pytest.raises(InvalidAction, match='expected one of whose turn it is: x, got o'):
        game._world.step({'o': (4.0,)})
    play(game, 4)


def test_affordances_say_what_can_be_done_now_and_why_not(game: Any) -> None:
    play(game, 4)
    found = {each['name']: each for each in game.affordances('o')}
    assert found['play a1'] == {
        'name': 'play a1',
        'available': True,
        'reason': 'it is free, and the turn of o',
        'parameters': {'action': 0},
    }
    assert (found['play b2']['available'], found['play b2']['reason']) == (False, 'it is taken')
    assert game.affordances('x')[0]['reason'] == 'it is free, and the turn of o'


def test_plan_is_answered(game: Any) -> None:
    play(game, 4, 0, 1, 3)
    assert game.plan({}, 'x') == {'action': 7}
    assert game.plan({}, 'o') == {'action': 6}


def test_world_is_rendered_as_pixels_and_as_text(game: Any) -> None:
    play(game, 4, 0)
    assert game.render_world('ansi', 'x') == 'o..\n.x.\n...'
    pixels = game.render_world(agent='x')
    assert (pixels.shape, pixels.dtype) == ((3, 3, 3), np.uint8)
    assert pixels[1, 1].tolist() == [0, 0, 200]


def test_state_that_was_saved_is_restored_by_an_option_of_the_reset(game: Any) -> None:
    play(game, 4, 0)
    saved = game.save()
    play(game, 1)
    game.reset(seed=2, options={'state': saved})
    assert game.observe('x')['board'].tolist() == [-1, 0, 0, 0, 1, 0, 0, 0, 0]
    with pytest.raises(RequestRejected, match='Unknown reset options .*got stat'):
        game.reset(seed=2, options={'stat': saved})


def test_push_tells_episode_step_action_type_and_delta(game: Any) -> None:
    every: list[EnvironmentEvent] = []
    moved: list[EnvironmentEvent] = []
    game.on(None, every.append)
    stop = game.on('moved', moved.append)
    game.reset(seed=1)
    play(game, 4, 0)
    first, second = [event for event in moved if event.reason == f'{event.id.agent} moved']
    episode = game.last_results['x'].transition.id.episode_id
    assert (first.id.episode_id, first.id.step, first.action_sequence) == (episode, 1, 1)
    assert (first.kind, first.event_type) == (EventKind.PLUGIN, 'moved')
    assert (first.payload, first.reason) == ('{"square": "b2"}', 'x moved')
    assert (second.id.step, second.action_sequence) == (2, 1)
    assert (second.payload, len(moved)) == ('{"square": "a1"}', 4)
    own = [event for event in every if event.id.episode_id == episode and event.id.agent == 'x']
    assert {event.kind for event in own} == {
        EventKind.OBSERVATION, EventKind.REWARD, EventKind.PLUGIN,
    }  # fmt: skip
    assert [event.sequence for event in own] == list(range(1, len(own) + 1)), 'a gap is a loss'
    stop()
    play(game, 1)
    assert len(moved) == 4


def test_push_is_ignored_while_no_episode_is_active(game: Any) -> None:
    contract = load(CONTRACT).contract
    events = Events(contract, game.digest)
    push = Push(agent='x', event_type='moved', payload='{}')
    assert events.pushed(push) == ()
    ended: list[EnvironmentEvent] = []
    game.on('moved', ended.append)
    play(game, 4, 0, 1, 3, 7)
    assert len(ended) == 10
    events.transition(game.last_results['x'].transition)
    assert events.pushed(push) == (), 'the episode is over'


def test_info_and_static_model_of_a_plugin_reach_the_client(game: Any) -> None:
    assert game.infos['x']['world'] == {'free': list(SQUARES)}
    play(game, 4)
    assert game.infos['o']['world'] == {'free': [s for s in SQUARES if s != 'b2']}
    assert game.last_results['x'].transition.info == json.dumps(game.infos['x']['world'])


def test_record_of_a_game_is_audited(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    run = RunFolder(tmp_path / 'run')
    robot = PluginRobot(load(CONTRACT).contract, plugin='tic_tac_toe:TicTacToe')
    game = env(CONTRACT, world='embedded', robot=robot, record=run.path)
    game.reset(seed=1)
    play(game, 4, 0)
    game.reset(seed=2, options={'state': game.save()})
    play(game, 1, 3, 7)
    game.close()
    robot.close()
    assert main(['audit', str(run.path)]) == 3, capsys.readouterr().out
    assert '0 fatal, 0 suspicious in 16 transitions' in capsys.readouterr().out


def test_what_a_plugin_cannot_do_is_unsupported(tmp_path: Path) -> None:
    from test_plugin import contract_data, yaml

    file = tmp_path / 'place.yaml'
    file.write_text(yaml.safe_dump(contract_data()))
    robot = PluginRobot(load(file).contract, plugin=odd_plugins.Plain)
    assert robot.can == frozenset()
    for method in ('render', 'affordances', 'plan', 'save'):
        with pytest.raises(RequestRejected, match=f'has no method {method!r}') as refused:
            robot.ask(method, {'agent': 'pusher', 'mode': 'ansi', 'query': {}})
        assert refused.value.code is ResultCode.UNSUPPORTED
    robot.close()
