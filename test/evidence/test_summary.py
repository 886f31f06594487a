# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The figures of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
import gc
import json
import math
import tracemalloc
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.records.decision import Reason, Verdict
from boundary_env_ros.core.records.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.records.latency import LatencyStage
from boundary_env_ros.core.records.observation import FieldStatus
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.records.transition import ActuationEvidence, Kind, Transition
from boundary_env_ros.evidence.summary.figures import FigureGroup
from boundary_env_ros.evidence.summary.statistics import ACCURACY, Proportion, Quantiles
from boundary_env_ros.evidence.summary.summary import summarise
from support.record_maker import Piece


@pytest.fixture(scope='module')
def clients(record: list[Piece], contract: Contract) -> dict[str, FigureGroup]:
    """Return the figures of the run by client."""
    return {g.origin.client: g for g in summarise(record, contract).groups}


# Proportions and quantiles -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ('count', 'of', 'low', 'high'),
    [
        # Brown, Cai and DasGupta (2001), Statistical Science 16(2), and by hand from the formula.
        (0, 10, 0.0, 0.2775),
        (5, 10, 0.2366, 0.7634),
        (10, 10, 0.7225, 1.0),
        (1, 2, 0.0945, 0.9055),
    ],
)
def test_interval_is_that_of_wilson(count: int, of: int, low: float, high: float) -> None:
    found = Proportion(count=count, of=of).interval
    assert found is not None
    assert found == pytest.approx((low, high), abs=5e-4)


@given(of=st.integers(1, 2000), part=st.floats(0, 1))
def test_interval_holds_the_proportion_within_zero_and_one(of: int, part: float) -> None:
    proportion = Proportion(count=round(part * of), of=of)
    assert proportion.interval is not None
    assert proportion.value is not None
    low, high = proportion.interval
    assert 0.0 <= low <= proportion.value + 1e-12
    assert proportion.value <= high + 1e-12 <= 1.0 + 1e-9


def test_proportion_of_nothing_is_no_number() -> None:
    assert Proportion(count=0, of=0).value is None
    assert Proportion(count=0, of=0).interval is None
    assert str(Proportion(count=0, of=0)) == 'none'


@given(
    st.lists(
        st.floats(-1e3, 1e3).filter(lambda v: v == 0.0 or abs(v) > 1e-9), min_size=1, max_size=80
    ),
    st.sampled_from([0.0, 0.5, 0.99, 1.0]),
)
def test_quantile_is_right_to_within_its_accuracy(values: list[float], fraction: float) -> None:
    quantiles = Quantiles()
    for value in values:
        quantiles.add(value)
    found = quantiles.at(fraction)
    expected = float(np.quantile(values, fraction, method='lower'))
    assert found == pytest.approx(expected, rel=1.01 * ACCURACY, abs=1e-12)
    assert quantiles.greatest == max(values)


# A run -------------------------------------------------------------------------------------------


def test_clients_are_summed_up_apart(clients: dict[str, FigureGroup]) -> None:
    assert list(clients) == ['goal_seeking', 'no_op']
    assert clients['no_op'].endings == {'time_limit': 1}
    assert clients['no_op'].clipped.count == clients['no_op'].intervened.count == 0


def test_success_rate_is_told_both_ways(clients: dict[str, FigureGroup]) -> None:
    found = clients['goal_seeking']
    assert found.endings == {'success': 2, 'safety_stop': 1, 'time_limit': 1}
    assert found.success == Proportion(count=2, of=4)
    assert found.success_of_terminated == Proportion(count=2, of=2)
    assert found.truncated == 2
    assert clients['no_op'].success_of_terminated.of == 0


@pytest.mark.parametrize(
    'other',
    [
        {'software_version': '9.9.9'},
        {'client_version': '9.9.9'},
        {'pacing': Pacing.LOCKSTEP},
        {'wrappers': ('ClipAction()',)},
        {'contract_version': '9.9.9'},
    ],
    ids=lambda other: next(iter(other)),
)
def test_the_evaluator_does_not_compare_runs_from_different_environment_versions(
    transitions: list[Transition], other: dict[str, Any]
) -> None:
    ids = list(dict.fromkeys(t.id.episode_id for t in transitions))
    mixed = [replace(t, **other) if t.id.episode_id == ids[0] else t for t in transitions]
    before, after = summarise(transitions), summarise(mixed)
    assert len(after.groups) == len(before.groups) + 1
    assert sum(g.episodes for g in after.groups) == len(ids)
    (name,) = other
    _, apart = after.origins()
    assert name.removesuffix('_version').replace('_', ' ') in ' '.join(apart)


def test_rates_are_those_of_the_steps(
    clients: dict[str, FigureGroup], transitions: list[Transition]
) -> None:
    found = clients['goal_seeking']
    own = [
        t
        for t in transitions
        if t.kind is Kind.STEP
        and all(d.request is None or d.request.client == 'goal_seeking' for d in t.decisions)
    ]
    assert found.steps == len(own)
    assert found.overruns == Proportion(count=sum(t.overrun for t in own), of=len(own))
    assert found.verdicts['NONE'] == found.overruns.count > 0
    clipped = [
        t
        for t in own
        if t.decision >= 0
        and any(r.reason is Reason.OUT_OF_BOUNDS for r in t.decisions[t.decision].rules)
    ]
    assert found.clipped.count == len(clipped) > 0
    touched = [t for t in own if any(d.verdict is not Verdict.ADMITTED for d in t.decisions)]
    assert found.intervened.count == len(touched) > len(clipped)


def test_return_and_length_are_means_of_the_ended_episodes(
    clients: dict[str, FigureGroup], transitions: list[Transition]
) -> None:
    last = [t for t in transitions if t.id.episode_id == transitions[-1].id.episode_id]
    assert clients['no_op'].mean_return == pytest.approx(math.fsum(t.reward for t in last))
    assert clients['no_op'].mean_length == len(last) - 1


def test_latency_is_that_of_the_stages(
    clients: dict[str, FigureGroup], transitions: list[Transition], contract: Contract
) -> None:
    found = clients['no_op'].stages['inference']
    last = [t for t in transitions if t.id.episode_id == transitions[-1].id.episode_id]
    durations = [d for t in last if (d := t.latency.inference.duration) is not None]
    assert found.known == len(durations)
    assert found.quantiles.at(0.5) == pytest.approx(
        float(np.quantile(durations, 0.5, method='lower')), rel=0.01
    )
    assert found.quantiles.at(0.99) == pytest.approx(
        float(np.quantile(durations, 0.99, method='lower')), rel=0.01
    )
    assert found.quantiles.greatest == max(durations)
    assert found.budget == contract.latency_budget['inference']
    assert found.over == sum(d > contract.latency_budget['inference'] for d in durations)


def test_late_evidence_completes_the_stages_of_its_step(
    record: list[Piece], contract: Contract
) -> None:
    late = sum(isinstance(p, ActuationEvidence) for p in record)
    with_it = summarise(record, contract).groups[0].stages['actuation']
    without = (
        summarise((p for p in record if not isinstance(p, ActuationEvidence)), contract)
        .groups[0]
        .stages['actuation']
    )
    assert without.known < with_it.known <= without.known + late
    assert with_it.quantiles.greatest > without.quantiles.greatest


def test_what_was_not_seen_executed_is_estimated_and_never_mixed_with_what_was(
    clients: dict[str, FigureGroup], contract: Contract
) -> None:
    found = clients['goal_seeking']
    execution = found.execution
    assert execution.measured == found.stages['actuation'].known
    assert 0 < execution.measured < execution.changed <= found.steps
    assert execution.measured + execution.estimated >= 0.8 * execution.changed
    for delay in execution.delays.values():
        assert contract.period / 2 < delay.uncertainty < contract.period
        assert abs(delay.seconds - 0.1) < delay.uncertainty
    nothing = clients['no_op'].execution
    assert (nothing.measured, nothing.estimated, nothing.delays) == (0, 0, {})


def test_a_robot_that_follows_nothing_is_noticed(
    record: list[Piece], contract: Contract, clients: dict[str, FigureGroup]
) -> None:
    assert not any(group.execution.ignored for group in clients.values())

    def deaf(piece: Piece) -> Piece:
        if not isinstance(piece, Transition):
            return piece
        still = tuple(0.0 for _ in piece.measured_action)
        latency = replace(piece.latency, actuation=LatencyStage(), reaction=LatencyStage())
        return replace(piece, measured_action=still, actuated=None, latency=latency)

    heard = [deaf(p) for p in record if not isinstance(p, ActuationEvidence)]
    summary = summarise(heard, contract)
    assert [group.execution.ignored for group in summary.groups] == ['all', '']
    assert 'does the driver take them?' in str(summary)


def test_one_dimension_that_never_moves_is_named_beside_one_that_does(
    record: list[Piece], contract: Contract
) -> None:
    def half_deaf(piece: Piece) -> Piece:
        if not isinstance(piece, Transition) or not piece.measured_action:
            return piece
        return replace(piece, measured_action=(piece.measured_action[0], 0.0))

    groups = summarise(map(half_deaf, record), contract).groups
    assert [group.execution.ignored for group in groups] == ['base/angular.z (rad/s)', '']


def test_stale_and_missing_fields_are_counted(
    transitions: list[Transition], contract: Contract
) -> None:
    def spoil(t: Transition) -> Transition:
        statuses = {'scan': FieldStatus.STALE, 'front': FieldStatus.MISSING}
        return replace(
            t, after=tuple(replace(f, status=statuses.get(f.name, f.status)) for f in t.after)
        )

    (one, *_) = summarise([spoil(t) for t in transitions[:3]], contract).groups
    assert one.stale['scan'] == 3
    assert one.stale['pose'] == 0
    assert one.missing['front'] == 3


def test_episode_without_an_ending_is_in_no_rate(transitions: list[Transition]) -> None:
    (one,) = summarise(transitions[:5]).groups
    assert (one.episodes, [e.why for e in one.excluded]) == (0, ['no ending in the record'])
    assert one.success.of == 0
    assert 'in no rate of success: no ending in the record' in str(summarise(transitions[:5]))


def test_without_a_task_no_success_is_told(record: list[Piece], contract: Contract) -> None:
    free = replace(contract, task=replace(contract.task, name=''))
    for group in summarise(record, free).groups:
        assert (group.success.of, group.success_of_terminated.of) == (0, 0)
        assert 'no task: no success is defined' in {one.why for one in group.excluded}


def test_ending_that_was_only_announced_counts(
    record: list[Piece], transitions: list[Transition]
) -> None:
    cut = transitions[:5]
    status = next(p for p in record if isinstance(p, EpisodeStatus) and p.id == cut[-1].id)
    lost = replace(
        status, state=EpisodeState.TRUNCATED, ending='environment_lost', declared_by='recorder'
    )
    (one,) = summarise([*cut, lost]).groups
    assert one.endings == {'environment_lost': 1}
    assert one.truncated == 1


def test_failed_success_is_none() -> None:
    summary = summarise([])
    assert summary.groups == ()
    assert 'No transitions' in str(summary)


def test_json_is_strict_and_has_the_intervals(record: list[Piece], contract: Contract) -> None:
    summary = summarise(record, contract)
    data = json.loads(json.dumps(summary.to_json(), allow_nan=False))
    assert [c['client'] for c in data['groups']] == ['goal_seeking', 'no_op']
    success = data['groups'][0]['success']
    assert (success['count'], success['of'], success['value']) == (2, 4, 0.5)
    assert success['low'] < 0.5 < success['high']


def test_table_shows_clients_side_by_side(record: list[Piece], contract: Contract) -> None:
    lines = str(summarise(record, contract)).splitlines()
    head = next(line for line in lines if 'goal_seeking' in line)
    assert 'no_op' in head
    (success,) = (line for line in lines if line.startswith('success, a truncation as failure'))
    assert '50 % (2 of 4; 15-85)' in success
    assert '0 % (0 of 1; 0-79)' in success
    (inference,) = (line for line in lines if line.startswith('  inference'))
    assert 'budget 50' in inference
    assert max(map(len, lines)) < 120


@pytest.mark.nightly
def test_memory_stays_flat_while_the_record_grows(
    transitions: list[Transition], contract: Contract
) -> None:
    def repeated(times: int) -> Iterator[Transition]:
        for i in range(times):
            for t in transitions:
                yield replace(t, id=replace(t.id, episode_id=f'{i}{t.id.episode_id}'))

    def peak(times: int) -> int:
        gc.collect()
        tracemalloc.start()
        summarise(repeated(times), contract)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    # Free lists of the interpreter fill first.
    assert peak(48) < peak(24) * 1.3
