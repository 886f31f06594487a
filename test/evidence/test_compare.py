# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Two runs compared with each other: every planted difference is found by name, and no other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import combinations
import math

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.records.imported import import_marks
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.records.transition import ActuationEvidence, Kind, Transition
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.compare.compare import agent_of, compare
from boundary_env_ros.evidence.compare.comparison import Comparison
from boundary_env_ros.evidence.compare.permutation import Deals
from boundary_env_ros.evidence.compare.side import ComparedRun, read_side
from boundary_env_ros.evidence.compare.tests_of_difference import findings_of
from boundary_env_ros.evidence.compare.text import format_comparison, numbers
from boundary_env_ros.evidence.episodes import Episodes
from boundary_env_ros.simulation.cart_robot import CartRobot
from boundary_env_ros.storage.contract_file import load, LoadedContract
from support.cart_runs import cart_contract, drive, real, side_of
from support.record_maker import Piece

CONTRACT = cart_contract()

#: What is planted, by the name of the test that has to find it, and what else must not be found.
PLANTED: Mapping[str, tuple[str, str]] = {
    'actuator_delay': ('response.delay', 'response.gain'),
    'payload': ('response.delay', 'observations.scan.noise'),
    'scan_noise': ('observations.scan.noise', 'response.delay'),
    'wheel_friction': ('response.gain', 'observations.scan.noise'),
}


@cache
def records(first: int, *planted: str, policy: str = 'scripted') -> tuple[object, ...]:
    """Return what eight episodes leave, the first with this seed."""
    return tuple(drive(CONTRACT, range(first, first + 8), options=real(*planted), policy=policy))


@cache
def side(first: int, *planted: str, policy: str = 'scripted') -> ComparedRun:
    """Return these as a side."""
    name = '+'.join(planted) or policy
    return side_of(records(first, *planted, policy=policy), CONTRACT.contract, name)


def held(a: ComparedRun, b: ComparedRun) -> Comparison:
    return compare(a, b, agent='cart')


def names(comparison: Comparison) -> set[str]:
    return {finding.name for finding in comparison.differences}


# What is planted, and what is not ----------------------------------------------------------------


@pytest.mark.parametrize('planted', PLANTED)
def test_a_planted_difference_is_found_by_its_name(planted: str) -> None:
    wanted, unwanted = PLANTED[planted]
    comparison = held(side(1), side(201, planted))
    assert comparison.comparable
    assert comparison.exit_code == 1
    assert wanted in names(comparison)
    assert unwanted not in names(comparison)


def test_none_is_invented_between_runs_of_the_same_side() -> None:
    for first, second in combinations((1, 101, 301), 2):
        comparison = held(side(first), side(second))
        assert comparison.comparable
        assert len(comparison.findings) > 15
        assert not comparison.differences, (first, second, names(comparison))
        assert comparison.exit_code == 0


def test_a_difference_is_told_with_its_size_and_an_interval_around_what_was_planted() -> None:
    comparison = held(side(1), side(201, 'actuator_delay'))
    (finding,) = (f for f in comparison.differences if f.name == 'response.delay')
    quantity = next(q for q in finding.shown if q.label == 'base/linear.x')
    assert quantity.unit == 's'
    planted = real('actuator_delay')['actuator_delay'] - CartRobot.OPTIONS['actuator_delay'][0]
    assert quantity.low < planted < quantity.high
    assert quantity.size > 1.0
    assert finding.p <= quantity.p < 0.05


def test_equal_values_have_no_spread_whatever_the_rounding_of_their_mean() -> None:
    # The mean of seven times 0.1 is not 0.1: a scatter of 1e-17, and a d of 1e16.
    first, second = np.full((7, 1), 0.1), np.full((7, 1), 0.3)
    assert first.std() > 0.0
    deals = Deals(7, 7)
    sides = [
        [{'response.delay': {'delay': float(v)}} for v in each[:, 0]] for each in (first, second)
    ]
    (finding,), _ = findings_of(*sides, deals, alpha=0.05, units={})
    (quantity,) = finding.quantities
    assert quantity.size == math.inf
    assert numbers(quantity)[3] == 'no spread'


def test_another_policy_is_found_in_what_it_does_and_not_in_the_robot() -> None:
    comparison = held(side(1), side(201, policy='no-op'))
    found = names(comparison)
    assert {'outcome.return', 'observations.velocity.level'} <= found
    assert not found & {'response.delay', 'response.gain', 'observations.pose.noise'}
    assert comparison.b.clients == {'no-op': 8}


def test_executions_that_no_feedback_shows_do_not_make_a_slow_robot_look_quick() -> None:
    # Without the evidence that comes after a step was closed, as in a file of transitions.
    a, b = (
        side_of([r for r in some if isinstance(r, Transition)], CONTRACT.contract, name)
        for some, name in ((records(1), 'A'), (records(201, 'actuator_delay'), 'B'))
    )
    comparison = held(a, b)
    assert 'latency.unseen' in names(comparison)
    assert not names(comparison) & {'latency.actuation', 'latency.reaction'}
    (finding,) = (f for f in held(side(1), side(201, 'actuator_delay')).findings
                  if f.name == 'latency.actuation')  # fmt: skip
    assert finding.quantities[0].difference > 0.03


def test_of_several_agents_one_is_named() -> None:
    two = load('two_carts', Pacing.LOCKSTEP).contract
    with pytest.raises(RecordError, match='Name one with --agent'):
        agent_of(two, two, '')


# A record over ROS -------------------------------------------------------------------------------


def test_what_only_the_evaluator_sees_and_late_evidence_are_read(
    record: list[Piece], contract: Contract
) -> None:
    whole = read_side(Episodes(record), contract, name='run', agent='cart')
    assert dict(whole.clients) == {'goal_seeking': 4, 'no_op': 1}
    for episode in whole.episodes:
        assert 'privileged.true_pose.level' in episode.values
    driven = [e for e in whole.episodes if e.of.client == 'goal_seeking']
    late = sum(e.values['latency.unseen']['actuation'] for e in driven)
    without = read_side(
        Episodes(r for r in record if not isinstance(r, ActuationEvidence)),
        contract,
        name='run',
        agent='cart',
        client='goal_seeking',
    )
    assert sum(e.values['latency.unseen']['actuation'] for e in without.episodes) > late


# What cannot be compared -------------------------------------------------------------------------


def made(loaded: LoadedContract, count: int = 4) -> ComparedRun:
    return side_of(drive(loaded, range(1, 1 + count)), loaded.contract, 'made')


def test_three_episodes_of_each_show_nothing_and_that_is_not_called_equal() -> None:
    a, b = (
        replace(side(1), episodes=side(1).episodes[:3]),
        replace(side(201, 'payload'), episodes=side(201, 'payload').episodes[:3]),
    )
    comparison = held(a, b)
    assert comparison.exit_code == 2
    assert not comparison.comparable
    (why,) = comparison.obstacles
    assert 'with 3 and 3 no p can be smaller than 0.1' in why
    assert '6 episodes of each side are needed' in why


def test_what_few_episodes_have_is_not_called_equal() -> None:
    def sparse(whole: ComparedRun) -> ComparedRun:
        episodes = [
            e._replace(values={n: v for n, v in e.values.items() if n != 'response.delay'})
            for e in whole.episodes[3:]
        ]
        return replace(whole, episodes=[*whole.episodes[:3], *episodes])

    few = held(sparse(side(1)), sparse(side(101)))
    assert few.untested['response.delay'] == 'only 3 episodes of A and 3 of B have a value'
    assert 'response.gain' in {finding.name for finding in few.findings}
    assert 'response.delay' not in {finding.name for finding in few.findings}


def test_a_side_without_whole_episodes_is_named() -> None:
    empty = side_of((), CONTRACT.contract, 'nothing')
    comparison = held(side(1), empty)
    assert comparison.exit_code == 2
    assert (
        'in nothing (expected at least 2 whole ones, and about 6 for anything to be shown, got 0'
        in comparison.obstacles[0]
    )


def test_another_limit_is_a_difference_by_itself() -> None:
    comparison = held(made(cart_contract(action__base__max_deceleration=[1.9, 8.0]), 8), side(101))
    assert comparison.comparable
    assert comparison.exit_code == 1
    assert [change.path for change in comparison.contracts.changes] == [
        'action.base.max_deceleration'
    ]


def test_other_options_of_the_task_are_format_comparison() -> None:
    blocked = side_of(
        drive(CONTRACT, range(1, 4), scenario='blocked'), CONTRACT.contract, 'blocked'
    )
    comparison = held(side(1), blocked)
    assert any('Episodes were begun with other options' in note for note in comparison.notes)
    assert any('"scenario": "blocked"' in note for note in comparison.notes)


def test_a_run_that_is_compared_with_itself_is_told_so() -> None:
    comparison = held(side(1), side(1))
    assert comparison.exit_code == 0
    assert any('8 episodes are on both sides' in note for note in comparison.notes)


def test_episodes_of_one_client_can_be_taken_alone() -> None:
    both = (*records(1), *records(201, policy='no-op'))
    sides = [
        read_side(Episodes(both), CONTRACT.contract, name=name, agent='cart', client=client)
        for name, client in (('A', 'scripted'), ('B', 'no-op'), ('A', ''))
    ]
    comparison = held(*sides[:2])
    assert (comparison.a.clients, comparison.b.clients) == ({'scripted': 8}, {'no-op': 8})
    assert not comparison.obstacles
    pooled = held(sides[2], sides[2]).obstacles
    assert 'A has episodes of more than one client (expected one, got no-op, scripted).' in str(
        pooled
    )
    assert 'outcome.return' in names(comparison)
    assert any('8 episodes are left out of A: it is of another' in n for n in comparison.notes)


def _sent_by(client: str, first: int) -> list[object]:
    """Return eight episodes as if a client of this name had sent the requests."""
    return [
        replace(
            record,
            decisions=tuple(
                decision
                if decision.request is None
                else replace(decision, request=replace(decision.request, client=client))
                for decision in record.decisions
            ),
        )
        for record in records(first)
        if isinstance(record, Transition)
    ]


def test_two_runs_of_one_policy_are_one_client_whatever_their_processes() -> None:
    both = [*_sent_by('scripted-pid7', 1), *_sent_by('scripted-pid12', 201)]
    sides = [
        read_side(Episodes(both), CONTRACT.contract, name='A', agent='cart', client=client)
        for client in ('', 'scripted', 'scripted-pid7')
    ]
    assert [side.clients for side in sides] == [
        {'scripted': 16},
        {'scripted': 16},
        {'scripted': 8},
    ]
    assert not held(sides[0], side(1)).obstacles


def test_without_a_task_no_success_is_told_or_tested() -> None:
    free = replace(CONTRACT.contract, task=replace(CONTRACT.contract.task, name=''))
    comparison = held(*(side_of(records(first), free, str(first)) for first in (1, 201)))
    assert {s.success.of for s in (comparison.a, comparison.b)} == {0}
    assert not {'outcome.success', 'outcome.success_of_terminated'} & set(names(comparison))
    assert 'A no task: no success is defined, B no task' in format_comparison(comparison)


def test_an_agent_that_is_not_there_is_refused() -> None:
    with pytest.raises(RecordError, match='is not an agent of both contracts'):
        agent_of(CONTRACT.contract, CONTRACT.contract, 'arm')


def test_an_episode_without_an_ending_is_left_out_and_counted() -> None:
    torn = list(records(1))
    last = max(i for i, record in enumerate(torn) if isinstance(record, Transition))
    comparison = held(side_of(torn[:last], CONTRACT.contract, 'torn'), side(101))
    assert len(comparison.a.episodes) == 7
    assert comparison.a.left_out == {'it has no ending': 1}


def imported(records: tuple[object, ...], *unknown: str) -> list[object]:
    """Return a record as if it had been made from a bag of sensors."""
    marks = import_marks('drive', derived=('closed',), unknown=('seed', *unknown))
    found = []
    for record in records:
        if isinstance(record, Transition):
            record = replace(record, seed=0, decisions=(), decision=-1, verdict=None)
            record = replace(record, diagnostics=marks)
            if 'reward' in unknown and record.kind is Kind.STEP:
                record = replace(record, reward=math.nan, reward_terms=())
        found.append(record)
    return found


def test_where_no_gate_was_no_rates_are_invented() -> None:
    bags = side_of(imported(records(1)), CONTRACT.contract, 'bags')
    comparison = held(bags, side(101))
    assert 'rates' not in {finding.name.partition('.')[0] for finding in comparison.findings}
    assert 'only 0 episodes of A and 8 of B' in comparison.untested['rates.clipped']
    assert any('8 episodes are imported, of bags' in note for note in comparison.notes)
    assert comparison.a.success.of == 8


def test_what_the_task_could_not_judge_is_no_failure() -> None:
    bags = side_of(imported(records(1), 'reward'), CONTRACT.contract, 'bags')
    comparison = held(bags, side(101))
    assert (comparison.a.success.of, comparison.a.success_of_terminated.of) == (0, 0)
    assert comparison.a.success.value is None
    assert {'outcome.success', 'outcome.return', 'outcome.reward_terms'} <= set(
        comparison.untested
    )
    assert any('8 episodes are without a judgement, of bags' in note for note in comparison.notes)


def test_the_plain_data_has_everything_and_no_number_that_json_has_not() -> None:
    import json

    comparison = held(side(1), side(201, 'payload'))
    facts = json.loads(json.dumps(comparison.to_json(), allow_nan=False))
    assert facts['exit_code'] == 1
    assert facts['differences'] == [finding.name for finding in comparison.differences]
    assert facts['a']['success']['of'] == 8
    (delay,) = (f for f in facts['findings'] if f['name'] == 'response.delay')
    assert delay['shown']
    assert delay['quantities'][0]['low'] > 0.0
