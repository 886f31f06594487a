# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Several agents that act one after the other, as their contract declares, in one process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')
pytest.importorskip('pettingzoo', reason='needs boundary_env_ros[pettingzoo]')

from pettingzoo.test import api_test, seed_test

from boundary_env_ros.core.contract.digest import digest_of
from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.environment_events import GateReported, RecorderReported
from boundary_env_ros.core.gate.gate_events import Request
from boundary_env_ros.core.records.decision import (
    ActionRequest,
    GateDecision,
    holds_for_another,
    Reason,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.errors import EpisodeEnded, InvalidAction, LinkError, ResetNeeded
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.evidence.summary.summary import summarise
from boundary_env_ros.facade.embedded_world import EmbeddedWorld
from boundary_env_ros.facade.multi_agent import BoundaryAECEnv, env, parallel_env
from boundary_env_ros.resources import share_file
from boundary_env_ros.storage.contract_file import load
from boundary_env_ros.storage.record_reader import open_records
from support.shipped import changed, without_options

APART = {'scenario': 'apart'}
#: The goal of cart_b right ahead of its start, so that its episode ends early.
B_ENDS = {**APART, 'cart_b': {'goal': [-0.7, 1.5]}}
AHEAD = np.array([0.4, 0.0], dtype=np.float32)

#: What declares turns, the second agent first, and gives a round of them the time that it needs.
IN_TURN: dict[str, Any] = {
    'agent_order': ['cart_b', 'cart_a'],
    'safety__hold_timeout': 0.25,
    'safety__command_timeout': 0.4,
    'action__base__driver_timeout': 0.3,
}


@pytest.fixture(scope='module')
def contract(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = yaml.safe_load(share_file('config/two_carts.yaml').read_text(encoding='utf-8'))
    for key, value in IN_TURN.items():
        *parents, last = key.split('__')
        section = data
        for parent in parents:
            section = section[parent]
        section[last] = value
    path = tmp_path_factory.mktemp('agent_order') / 'in_turn.yaml'
    path.write_text(yaml.safe_dump(data, sort_keys=False), encoding='utf-8')
    return path


def make(contract: Path, **arguments: Any) -> BoundaryAECEnv:
    made = env(contract, world='embedded', **arguments)
    assert isinstance(made, BoundaryAECEnv)
    return made


def steps_of(made: BoundaryAECEnv) -> dict[str, int]:
    return {agent: each.transition.id.step for agent, each in made.last_results.items()}


def declared(contract: Path) -> Contract:
    return load(contract, Pacing.LOCKSTEP).contract


# What a contract says ----------------------------------------------------------------------------


def test_a_turn_follows_from_the_number_of_the_step_alone(contract: Path) -> None:
    made = declared(contract)
    assert [made.turn_of(step) for step in range(1, 5)] == ['cart_b', 'cart_a'] * 2
    assert made.has_turn('cart_a', 2)
    assert not made.has_turn('cart_b', 2)
    at_once = load('two_carts').contract
    assert at_once.turn_of(1) == ''
    assert at_once.has_turn('cart_a', 1)


def test_the_order_is_part_of_the_digest(contract: Path) -> None:
    made = declared(contract)
    other = replace(made, agent_order=tuple(reversed(made.agent_order)))
    assert len({digest_of(each) for each in (made, other, replace(made, agent_order=()))}) == 3


# PettingZoo's own tests --------------------------------------------------------------------------


@pytest.mark.filterwarnings('ignore::UserWarning')
def test_it_is_a_turn_based_environment_by_pettingzoos_own_tests(contract: Path) -> None:
    api_test(without_options(make(contract)), num_cycles=60)
    seed_test(lambda: make(contract), num_cycles=20)


# A turn ------------------------------------------------------------------------------------------


def test_every_turn_takes_a_period_and_the_next_agent_sees_what_came_of_it(
    contract: Path,
) -> None:
    made = make(contract)
    made.reset(seed=1, options=APART)
    assert made.agents == ['cart_a', 'cart_b']
    assert made.agent_selection == 'cart_b'
    before = {agent: made.observe(agent)['velocity'][0] for agent in made.agents}
    made.step(AHEAD)
    assert made.agent_selection == 'cart_a'
    assert steps_of(made) == {'cart_a': 1, 'cart_b': 1}
    made.step(AHEAD)
    assert made.agent_selection == 'cart_b'
    assert steps_of(made) == {'cart_a': 2, 'cart_b': 2}
    after = {agent: made.observe(agent)['velocity'][0] for agent in made.agents}
    assert after['cart_b'] > before['cart_b'] + 0.05
    made.close()


def test_between_its_turns_an_agent_is_held_by_its_gate_in_the_command_it_asked_for(
    contract: Path,
) -> None:
    made = make(contract)
    made.reset(seed=1, options=APART)
    for _ in range(9):
        made.step(AHEAD)
    own, other = (made.last_results[agent].transition for agent in ('cart_b', 'cart_a'))
    assert own.verdict is Verdict.ADMITTED
    assert [d.trigger for d in own.decisions] == [Trigger.REQUEST]
    (held,) = other.decisions
    assert (other.decision, other.overrun, other.requested_action) == (-1, False, ())
    assert (held.trigger, held.verdict) == (Trigger.TIMER, Verdict.HELD)
    assert holds_for_another(held)
    assert held.command == pytest.approx(AHEAD)
    assert {(pair.key, pair.value) for pair in other.diagnostics} == {('turn', 'cart_b')}
    made.close()


def test_to_be_held_while_another_acts_is_no_intervention(contract: Path, tmp_path: Path) -> None:
    place = tmp_path / 'run'
    made = make(contract, record=place)
    made.reset(seed=1, options=APART)
    for _ in range(6):
        made.step(np.array([0.05, 0.0]))
    made.close()
    (client,) = summarise(open_records(place).records(Transition)).groups
    assert (client.intervened.count, client.overruns.count) == (0, 0)


def test_before_its_first_turn_an_agent_is_held_in_the_safe_command(contract: Path) -> None:
    made = make(contract)
    made.reset(seed=1, options=APART)
    made.step(AHEAD)
    (held,) = made.last_results['cart_a'].transition.decisions
    assert (held.verdict, held.inputs.seeded, held.command) == (Verdict.HELD, True, (0.0, 0.0))
    made.close()


def test_whom_an_obstacle_stops_stays_stopped_until_its_next_turn(contract: Path) -> None:
    made = make(contract)
    made.reset(seed=2, options={'scenario': 'aisle'})
    held: list[GateDecision] = []
    while made.agents and len(held) < 4:
        made.step(AHEAD)
        for each in made.last_results.values():
            last = each.transition.decisions[-1]
            if holds_for_another(last) and last.verdict is Verdict.STOPPED:
                held.append(last)
    made.close()
    reasons = {result.reason for decision in held for result in decision.rules}
    assert {Reason.STILL_STOPPED, Reason.REPUBLISHED} <= reasons
    assert held[-1].command == (0.0, 0.0)


def test_what_comes_up_since_its_own_turn_is_what_an_agent_is_rewarded(contract: Path) -> None:
    rewards: list[Transition] = []
    made = make(
        contract,
        sink=lambda record: rewards.append(record) if isinstance(record, Transition) else None,
    )
    made.reset(seed=1, options=APART)
    for _ in range(4):
        made.step(AHEAD)
    _, reward, *_ = made.last()
    assert made.agent_selection == 'cart_b'
    own = [t.reward for t in rewards if t.id.agent == 'cart_b' and t.id.step in (3, 4)]
    assert reward == pytest.approx(sum(own))
    made.close()


def test_the_info_of_an_agent_says_what_became_of_its_own_last_action(contract: Path) -> None:
    made = make(contract)
    made.reset(seed=1, options=APART)
    made.step(AHEAD)
    made.step(np.array([0.05, 0.0]))
    *_, info = made.last()
    assert made.agent_selection == 'cart_b'
    assert (info['step'], info['verdict'], info['overrun']) == (2, 'LIMITED', False)
    assert info['requested_action'] == pytest.approx(AHEAD)
    assert made.infos['cart_a']['verdict'] == 'ADMITTED'
    made.close()


# Endings -----------------------------------------------------------------------------------------


def test_who_has_ended_keeps_its_place_and_in_its_turn_the_world_goes_on(
    contract: Path, tmp_path: Path
) -> None:
    place = tmp_path / 'run'
    made = make(contract, record=place)
    made.reset(seed=1, options=B_ENDS)
    for _ in made.agent_iter():
        *_, terminated, truncated, info = made.last()
        if terminated or truncated:
            break
        made.step(AHEAD)
    assert (made.agent_selection, info['ending']) == ('cart_b', 'success')
    made.step(None)
    assert made.agents == ['cart_a'] == [made.agent_selection]
    before = steps_of(made)['cart_a']
    made.step(AHEAD)
    assert made.agent_selection == 'cart_a'
    assert steps_of(made)['cart_a'] == before + 2
    made.close()
    report = audit_path(place, declared(contract))
    assert report.ok, str(report)


def test_all_end_at_the_time_limit_and_are_gone(contract: Path, tmp_path: Path) -> None:
    data = yaml.safe_load(contract.read_text(encoding='utf-8'))
    data['episode']['time_limit'] = 0.5
    short = tmp_path / 'short.yaml'
    short.write_text(yaml.safe_dump(data), encoding='utf-8')
    made = make(short, robot='two_carts')
    made.reset(seed=1, options=APART)
    for _ in range(5):
        made.step(AHEAD)
    assert made.truncations == {'cart_a': True, 'cart_b': True}
    made.step(None)
    made.step(None)
    assert made.agents == []
    with pytest.raises(EpisodeEnded, match='Call reset'):
        made.step(AHEAD)
    made.close()


def test_only_whose_turn_it_is_is_lost_to_silence_and_the_turn_passes_on() -> None:
    loaded = changed('two_carts', **IN_TURN)
    world = EmbeddedWorld(loaded)
    world.reset(seed=1, options=APART, wrappers=())
    passed = round((loaded.contract.lockstep_deadline + 1.0) * NANOSECONDS)
    now = world._instant()
    later = replace(now, steady=now.steady + passed)
    for agent, boundary in world._boundaries.items():
        boundary.environment.apply(RecorderReported(now=later))
        boundary.environment.apply(
            GateReported(status=boundary.gate.state.status(later), now=later)
        )
        world._dispatch(boundary, world._shared.watch(agent, later))
    assert world._boundaries['cart_b'].last.transition.ending == 'policy_lost'
    assert world.running == ('cart_a',)
    # The step of the one that is lost passes, and it is the turn of the other.
    world._go_on()
    assert world._boundaries['cart_a'].last.transition.id.step == 1
    (last,) = world.step({'cart_a': (0.2, 0.0)})['cart_a'][:1]
    assert (last.transition.id.step, last.transition.ending) == (2, '')
    world.close()


# Out of turn -------------------------------------------------------------------------------------


def test_an_action_out_of_turn_is_refused_by_the_gate() -> None:
    loaded = changed('two_carts', **IN_TURN)
    records: list[Any] = []
    world = EmbeddedWorld(loaded, sink=records.append)
    world.reset(seed=1, options=APART, wrappers=())
    world.step({'cart_b': (0.2, 0.0)})
    request = next(record for record in records if isinstance(record, ActionRequest))
    boundary = world._boundaries['cart_b']
    # A client that goes on though the next step is not its own.
    early = replace(
        request, id=replace(request.id, step=2), sequence=2, observed=boundary.last.delivered
    )
    (decision,) = boundary.gate.apply(Request(request=early, now=world._instant()))
    assert decision.verdict is Verdict.REJECTED
    (result,) = decision.rules
    assert (result.rule, result.reason) == ('turn', Reason.OUT_OF_ORDER)
    assert (result.value, result.limit) == (2.0, 3.0)
    (planned,) = boundary.gate.evaluate_actions([(0.2, 0.0)], world._instant())
    assert planned.rules == (result,)
    world.close()


def test_the_world_takes_an_action_of_whose_turn_it_is_and_of_no_one_else() -> None:
    world = EmbeddedWorld(changed('two_carts', **IN_TURN))
    world.reset(seed=1, options=APART, wrappers=())
    for actions in ({'cart_a': (0.0, 0.0)}, {}, dict.fromkeys(world.running, (0.0, 0.0))):
        with pytest.raises(InvalidAction, match=r'whose turn it is: cart_b'):
            world.step(actions)
    world.close()


def test_what_does_not_fit_turns_is_refused(contract: Path) -> None:
    with pytest.raises(LinkError, match=r'cart_b, cart_a.*Use env'):
        parallel_env(contract, world='embedded')
    with pytest.raises(LinkError, match='at once'):
        BoundaryAECEnv('two_carts', world='embedded')
    made = make(contract)
    with pytest.raises(ResetNeeded, match='Call reset'):
        made.step(AHEAD)
    made.reset(seed=1, options=APART)
    with pytest.raises(InvalidAction, match=r'No action of cart_b\. In lockstep'):
        made.step(None)
    with pytest.raises(InvalidAction, match='^cart_b: '):
        made.step(np.array([0.0]))
    made.close()
