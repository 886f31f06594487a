# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The actions of a chunk are audited like any other, and belong to their request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from support.core_messages import changed_decision

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from boundary_env_ros.core.records.decision import GateDecision, Trigger
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.evidence.audit.audit import audit
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.resources import share_file

HORIZON = 3


@pytest.fixture(scope='module')
def honest(tmp_path_factory: pytest.TempPathFactory) -> tuple[BoundaryEnv, list[Transition]]:
    """Return an environment with chunks, closed again, and the transitions of one episode."""
    data = yaml.safe_load(share_file('config/warehouse_cart.yaml').read_text(encoding='utf-8'))
    data['chunk'] = {'horizon': HORIZON}
    path: Path = tmp_path_factory.mktemp('chunks') / 'contract.yaml'
    path.write_text(yaml.safe_dump(data, sort_keys=False), encoding='utf-8')
    records: list[object] = []
    env = BoundaryEnv(path, world='embedded', pacing='lockstep', sink=records.append)
    env.reset(seed=4, options={'scenario': 'far'})
    drawn = np.random.default_rng(4)
    over = False
    while not over:
        *_, terminated, truncated, _ = env.step(drawn.uniform(-0.4, 0.9, (HORIZON, 2)))
        over = terminated or truncated
    env.close()
    return env, [record for record in records if isinstance(record, Transition)]


def findings(env: BoundaryEnv, records: list[Transition]) -> set[str]:
    return {finding.rule for finding in audit(records, contract=env.contract).findings}


def test_an_honest_record_of_chunks_is_clean(
    honest: tuple[BoundaryEnv, list[Transition]],
) -> None:
    env, records = honest
    later = [d for r in records for d in r.decisions if d.trigger is Trigger.CHUNK]
    assert len(later) > len(records) / 2
    assert findings(env, records) == set()


def _another_step(decision: GateDecision) -> GateDecision:
    return replace(decision, id=replace(decision.id, step=decision.id.step + HORIZON))


def _another_action(decision: GateDecision) -> GateDecision:
    assert decision.request is not None
    request = replace(decision.request, action=(9.0, *decision.request.action[1:]))
    return replace(decision, request=request)


def _another_request(decision: GateDecision) -> GateDecision:
    assert decision.request is not None
    request = replace(decision.request, sequence=decision.request.sequence - 1)
    return replace(decision, request=request)


def _of_itself(decision: GateDecision) -> GateDecision:
    return changed_decision(decision, trigger=Trigger.REQUEST)


def _longer(decision: GateDecision) -> GateDecision:
    assert decision.request is not None
    longer = replace(decision.request, action=(*decision.request.action, 0.0, 0.0))
    return replace(decision, request=longer)


@pytest.mark.parametrize(
    ('forge', 'rule'),
    [
        (_another_step, 'request-valid'),
        (_another_action, 'request-valid'),
        (_another_request, 'request-valid'),
        (_of_itself, 'request-valid'),
        (_longer, 'request-valid'),
    ],
)
def test_a_forged_action_of_a_chunk_is_found(
    honest: tuple[BoundaryEnv, list[Transition]],
    forge: Callable[[GateDecision], GateDecision],
    rule: str,
) -> None:
    env, records = honest
    place, victim = next(
        (i, d)
        for i, record in enumerate(records)
        for d in record.decisions
        if d.trigger is Trigger.CHUNK and d.id.step > 2 * HORIZON
    )
    forged = list(records)
    forged[place] = replace(
        records[place],
        decisions=tuple(forge(d) if d is victim else d for d in records[place].decisions),
    )
    assert rule in findings(env, forged)
