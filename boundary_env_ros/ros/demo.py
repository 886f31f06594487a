# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The demo: a simulated cart is driven through the whole boundary and leaves its record."""

from __future__ import annotations

from itertools import cycle, islice
import json
from pathlib import Path
import sys
import time
from typing import Any

import gymnasium

from boundary_env_ros.core.contract import Contract
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.evidence.audit import audit_path
from boundary_env_ros.evidence.report.gather import gather
from boundary_env_ros.evidence.report.page import render
from boundary_env_ros.evidence.runs import summarise_path
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.facade.policies import GoToGoalPolicy, NoOpPolicy, Policy
from boundary_env_ros.ros.domain import free_domain
from boundary_env_ros.ros.processes import (
    boundary_nodes,
    new_run,
    next_commands,
    one_interrupt,
    recorded,
)
from boundary_env_ros.storage.atomic import write_atomically
from boundary_env_ros.storage.contract_file import load
from boundary_env_ros.storage.run_folder import RunFolder
from boundary_env_ros.terminal import steer

_ID, _CONTRACT = 'boundary_env_ros/WarehouseCart-v0', 'warehouse_cart'
# What the scripted policy meets, over and over: mostly a clear way, sometimes a rack in it,
# sometimes a goal that is farther than the time limit allows.
_SCENARIOS = ('clear', 'clear', 'blocked', 'clear', 'far')


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
        Episodes of the scripted policy, and of the one that does nothing.
    pacing
        ``realtime`` or ``lockstep``.
    seed
        Seed of the first episode.
    domain_id
        ROS domain; None: one that nobody uses.

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
        simulated=True,
    )
    interrupted = False
    with one_interrupt():
        try:
            with recorded(nodes, place, domain_id=domain):
                _drive(domain, pacing, episodes, baseline, seed)
        except KeyboardInterrupt:
            interrupted = True
            print('\nInterrupted: the nodes are stopped, what was recorded is kept.')
        code = _evaluate(place)
    return 130 if interrupted else code


# Driving -----------------------------------------------------------------------------------------


def _drive(domain: int, pacing: str, episodes: int, baseline: int, seed: int) -> None:
    scenarios = list(islice(cycle(_SCENARIOS), episodes))
    _policy_episodes('go_to_goal', domain, pacing, scenarios, seed)
    _policy_episodes('no_op', domain, pacing, ['clear'] * baseline, seed)


def _policy_episodes(name: str, domain: int, pacing: str, scenarios: list[str], seed: int) -> None:
    if not scenarios:
        return
    env = gymnasium.make(_ID, link='ros', pacing=pacing, domain_id=domain, client=name)
    try:
        boundary: Any = env.unwrapped
        policy = _policy(name, boundary.contract)
        print(f'\nPolicy {name}, {len(scenarios)} episodes, {pacing}')
        for number, scenario in enumerate(scenarios):
            _episode(env, boundary, policy, number, len(scenarios), scenario, seed + number)
    finally:
        env.close()


def _policy(name: str, contract: Contract) -> Policy:
    return GoToGoalPolicy() if name == 'go_to_goal' else NoOpPolicy(contract)


def _episode(
    env: gymnasium.Env[Any, Any],
    boundary: BoundaryEnv,
    policy: Policy,
    number: int,
    count: int,
    scenario: str,
    seed: int,
) -> None:
    observation, info = env.reset(seed=seed, options={'scenario': scenario})
    progress = _Progress(f'  {number + 1:>2}/{count} {scenario:<8}', boundary.contract.max_steps)
    total, limited, overruns = 0.0, 0, 0
    ended = False
    while not ended:
        observation, reward, terminated, truncated, info = env.step(policy(observation))
        ended = terminated or truncated
        total += float(reward) + sum(missed for _, missed in info['missed'])
        limited += any(info['clipped'])
        overruns += len(info['missed'])
        progress.show(info['step'])
    ending = 'terminated' if terminated else 'truncated'
    progress.done(
        f'{info["step"]:>3} steps  return {total:+6.2f}  {ending:<10} {info["cause"]:<12} '
        f'limited {limited:>2}  overruns {overruns}'
    )


class _Progress:
    """One line a episode; on a terminal it grows while the episode runs."""

    def __init__(self, head: str, most: int) -> None:
        self._head = head
        self._most = most
        self._live = sys.stdout.isatty()
        self._shown = 0.0

    def show(self, step: int) -> None:
        """Show how far the episode is."""
        now = time.monotonic()
        if self._live and now - self._shown > 0.1:
            self._shown = now
            filled = round(20 * step / self._most)
            bar = '█' * filled + '·' * (20 - filled)
            steer(sys.stdout, '\r')
            print(f'{self._head} {bar} step {step:>3}', end='', flush=True)

    def done(self, tail: str) -> None:
        """Replace the line by its result."""
        steer(sys.stdout, '\r\x1b[K' if self._live else '')
        print(f'{self._head} {tail}', flush=True)


# Evaluating --------------------------------------------------------------------------------------


def _evaluate(place: Path) -> int:
    try:
        folder = RunFolder.open(place)
        summary = summarise_path(place)
    except BoundaryError as error:
        print(f'Nothing to sum up: {error}', file=sys.stderr)
        return 2
    about = 'An export that nothing reads: `boundary-env summary` makes it from the records anew.'
    figures = {'about': about, **summary.to_json()}
    write_atomically(folder.summary, json.dumps(figures, indent=2).encode())
    print(f'\n{summary}')
    write_atomically(folder.report, ''.join(render(gather(place))).encode())
    report = audit_path(place)
    print(f'\n{report}')
    print(f'\nRecord: {place}')
    for path, text in (
        (folder.report, 'what happened and why, as a page'),
        (folder.summary, 'the figures above, an export that nothing reads'),
        (folder.bag, 'everything, for ros2 bag and Foxglove'),
    ):
        if path.exists():
            print(f'  {path.name:<20} {text}')
    print(next_commands(place))
    return 0 if report.ok else 1
