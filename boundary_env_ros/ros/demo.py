# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The demo: a simulated cart is driven through the whole boundary and leaves its record."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle, islice
import json
from pathlib import Path
import sys
from typing import Any

import gymnasium

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.evidence.report.gather import gather
from boundary_env_ros.evidence.report.page import render
from boundary_env_ros.evidence.summary.summary import summarise_path
from boundary_env_ros.facade.policies import GoToGoalPolicy, NoOpPolicy, Policy
from boundary_env_ros.ros.domain import free_domain
from boundary_env_ros.ros.enclaves import enabled
from boundary_env_ros.ros.processes import boundary_nodes, interrupts, next_commands, recorded
from boundary_env_ros.storage.atomic import write_atomically
from boundary_env_ros.storage.contract_file import load
from boundary_env_ros.storage.run_folder import new_run, RunFolder

_ID, _CONTRACT = 'boundary_env_ros/WarehouseCart-v0', 'warehouse_cart'
# What the scripted policy meets, over and over.
_SCENARIOS = ('clear', 'clear', 'blocked', 'clear', 'far')
_EXPECTED = (
    'clear is to reach its goal, blocked to be stopped by the gate before a rack (safety_stop), '
    'and far to have too little time (time_limit)'
)


def main(
    *,
    run: Path | None,
    episodes: int,
    baseline: int,
    pacing: str,
    seed: int,
    domain_id: int | None,
) -> int:
    """
    Run the demo and return the exit code of its audit.

    Parameters
    ----------
    run
        Folder to leave the record in; must not exist. None: ``runs/demo-DATE-TIME``.
    episodes, baseline
        Episodes of the scripted policy; and of each of two others, one that asks for more than the
        contract allows and one that does nothing.
    pacing
        ``realtime`` or ``lockstep``.
    seed
        Seed of the first episode.
    domain_id
        ROS domain; None: one that is not in use.

    """
    place = new_run(run, 'demo')
    domain = free_domain() if domain_id is None else domain_id
    print(f'Record: {place}')
    print(
        'Starting recorder, simulated_robot, safety_gate and environment '
        f'on ROS domain {domain} ...'
    )
    nodes = boundary_nodes(
        load(_CONTRACT).contract,
        {'contract': _CONTRACT, 'pacing': pacing},
        run=place,
        robot='simulated_robot',
    )
    ended = False
    with interrupts() as raise_if_interrupted:
        try:
            # Secured, each node has an enclave of its own, and so a process.
            together = pacing == 'lockstep' and not enabled()
            with recorded(
                nodes,
                place,
                domain_id=domain,
                one_process=together,
                raise_if_interrupted=raise_if_interrupted,
            ):
                _drive(domain, pacing, episodes, baseline, seed, raise_if_interrupted)
        except KeyboardInterrupt:
            ended = True
            print('\nInterrupted: the nodes are stopped, what was recorded is kept.')
    code = _evaluate(place)
    return 130 if ended else code


# Driving -----------------------------------------------------------------------------------------


def _drive(
    domain: int,
    pacing: str,
    episodes: int,
    baseline: int,
    seed: int,
    raise_if_interrupted: Callable[[], None],
) -> None:
    """Drive all episodes."""
    print(f'\nOf the scenarios {_EXPECTED}.')
    for name, scenarios in (
        ('go_to_goal', list(islice(cycle(_SCENARIOS), episodes))),
        ('too_fast', ['clear'] * baseline),
        ('no_op', ['clear'] * baseline),
    ):
        if not scenarios:
            continue
        with gymnasium.make(_ID, world='ros', pacing=pacing, domain_id=domain, client=name) as env:
            boundary: Any = env.unwrapped
            plural = 's' if len(scenarios) > 1 else ''
            print(f'\nPolicy {name}, {len(scenarios)} episode{plural}, {pacing}')
            for number, scenario in enumerate(scenarios):
                policy = _policy(name, boundary.contract)
                head = f'  {number + 1:>2}/{len(scenarios)} {scenario:<8}'
                _episode(env, policy, head, scenario, seed + number, raise_if_interrupted)


def _policy(name: str, contract: Contract) -> Policy:
    if name == 'no_op':
        return NoOpPolicy(contract)
    # The one asks for more than the contract allows all along, the other as it sets off.
    return GoToGoalPolicy() if name == 'too_fast' else GoToGoalPolicy(speed=0.7, gain=1.2)


def _episode(
    env: gymnasium.Env[Any, Any],
    policy: Policy,
    head: str,
    scenario: str,
    seed: int,
    raise_if_interrupted: Callable[[], None],
) -> None:
    """Drive one episode, and tell it in a line."""
    observation, info = env.reset(seed=seed, options={'scenario': scenario})
    raise_if_interrupted()
    total, limited, overruns, why, ended = 0.0, 0, 0, '', False
    while not ended:
        observation, reward, terminated, truncated, info = env.step(policy(observation))
        raise_if_interrupted()
        ended = terminated or truncated
        total += float(reward)
        if any(info['clipped']):
            limited += 1
            why = why or f'step {info["step"]}: {" ".join(info["reasons"])}'
        overruns += len(info['missed'])
    kind = 'terminated' if terminated else 'truncated'
    print(
        f'{head} {info["step"]:>3} steps  return {total:+6.2f}  {kind:<10} {info["ending"]:<12} '
        f'limited {limited:>2}  overruns {overruns}',
        flush=True,
    )
    if why:
        print(f'        the first in {why}')


# Evaluating --------------------------------------------------------------------------------------


def _evaluate(place: Path) -> int:
    folder = RunFolder(place)
    try:
        summary = summarise_path(place)
    except BoundaryError as error:
        print(f'Nothing to sum up: {error}', file=sys.stderr)
        return 2
    write_atomically(folder.summary, json.dumps(summary.to_json(), indent=2).encode())
    write_atomically(folder.report, ''.join(render(gather(place))).encode())
    report = audit_path(place)
    print(f'\n{report}')
    print(f'\nRecord: {place}')
    print(next_commands(place))
    return 0 if report.ok else 1
