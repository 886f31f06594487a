# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The demo: a simulated cart is driven through the whole boundary and leaves its record."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice
import json
import math
from pathlib import Path
from shutil import get_terminal_size
import sys
from typing import Any

import gymnasium
import numpy as np

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.evidence.report.gather import gather
from boundary_env_ros.evidence.report.page import render
from boundary_env_ros.evidence.summary.summary import summarise_path
from boundary_env_ros.facade.policies import GoToGoalPolicy, NoOpPolicy, Policy
from boundary_env_ros.ros.domain import free_domain
from boundary_env_ros.ros.processes import (
    boundary_nodes,
    next_commands,
    one_interrupt,
    recorded,
)
from boundary_env_ros.storage.atomic import write_atomically
from boundary_env_ros.storage.contract_file import load
from boundary_env_ros.storage.run_folder import new_run, RunFolder
from boundary_env_ros.terminal import steer
from boundary_env_ros.terminal import table as aligned

_ID, _CONTRACT = 'boundary_env_ros/WarehouseCart-v0', 'warehouse_cart'
# What the scripted policy meets, over and over.
_SCENARIOS = ('clear', 'clear', 'blocked', 'clear', 'far')
# Cells of the plan, 0.25 m wide and 0.5 m high, and the racks of the hall in it (m).
_COLUMNS, _ROWS = 40, 16
_RACKS = ((-1.6, -0.35, 1.6, 0.35), (-3.6, 3.25, 0.4, 3.95), (4.25, -3.1, 4.95, -0.1))
# How that is to end, and what it shows, for each policy and scenario.
_EXPECTED = {
    ('go_to_goal', 'clear'): ('success', 'reaches its goal'),
    ('go_to_goal', 'blocked'): (
        'safety_stop',
        'is stopped by the gate before a rack',
    ),
    ('go_to_goal', 'far'): ('time_limit', 'has too little time for its way'),
    ('too_fast', 'clear'): ('success', 'asks for more than the contract allows, and gets there'),
    ('no_op', 'clear'): ('time_limit', 'stands still, for comparison'),
}


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
    interrupted = False
    endings: list[tuple[str, str, str]] = []
    with one_interrupt():
        try:
            with recorded(nodes, place, domain_id=domain):
                _drive(domain, pacing, episodes, baseline, seed, endings)
        except KeyboardInterrupt:
            interrupted = True
            print('\nInterrupted: the nodes are stopped, what was recorded is kept.')
        code = _evaluate(place, endings)
    return 130 if interrupted else code


# Driving -----------------------------------------------------------------------------------------


def _drive(
    domain: int,
    pacing: str,
    episodes: int,
    baseline: int,
    seed: int,
    endings: list[tuple[str, str, str]],
) -> None:
    """Drive all episodes; tell the policy, scenario and ending of each that ended."""
    for name, scenarios in (
        ('go_to_goal', list(islice(cycle(_SCENARIOS), episodes))),
        ('too_fast', ['clear'] * baseline),
        ('no_op', ['clear'] * baseline),
    ):
        if not scenarios:
            continue
        env = gymnasium.make(_ID, world='ros', pacing=pacing, domain_id=domain, client=name)
        try:
            boundary: Any = env.unwrapped
            plural = 's' if len(scenarios) > 1 else ''
            print(f'\nPolicy {name}, {len(scenarios)} episode{plural}, {pacing}')
            for number, scenario in enumerate(scenarios):
                policy = _policy(name, boundary.contract)
                head = f'  {number + 1:>2}/{len(scenarios)} {scenario:<8}'
                ending = _episode(env, policy, head, scenario, seed + number)
                endings.append((name, scenario, ending))
        finally:
            env.close()


def _policy(name: str, contract: Contract) -> Policy:
    if name == 'no_op':
        return NoOpPolicy(contract)
    eager = GoToGoalPolicy()
    return eager if name == 'too_fast' else _within_limits(eager, contract)


def _within_limits(policy: Policy, contract: Contract) -> Policy:
    """Return a policy that asks for what the contract allows, for one episode from rest."""
    low, high = np.array(contract.flat('low')), np.array(contract.flat('high'))
    # A command may come a little before its period is over.
    change = 0.8 * contract.period * np.array(contract.flat('rate'))
    last = np.zeros_like(low)

    def act(observation: Any) -> Any:
        nonlocal last
        last = np.clip(policy(observation), last - change, last + change).clip(low, high)
        return last

    return act


def _episode(
    env: gymnasium.Env[Any, Any],
    policy: Policy,
    head: str,
    scenario: str,
    seed: int,
) -> str:
    """Drive one episode, and return its ending."""
    observation, info = env.reset(seed=seed, options={'scenario': scenario})
    progress = _Progress(head)
    total, limited, overruns = 0.0, 0, 0
    why = ''
    ended = False
    while not ended:
        observation, reward, terminated, truncated, info = env.step(policy(observation))
        ended = terminated or truncated
        total += float(reward)
        if any(info['clipped']):
            limited += 1
            why = why or f'step {info["step"]}: {" ".join(info["reasons"])}'
        overruns += len(info['missed'])
        progress.show(info['step'], observation)
    kind = 'terminated' if terminated else 'truncated'
    progress.done(
        f'{info["step"]:>3} steps  return {total:+6.2f}  {kind:<10} {info["ending"]:<12} '
        f'limited {limited:>2}  overruns {overruns}'
    )
    if why:
        print(f'        the first in {why}')
    return str(info['ending'])


class _Progress:
    """One line an episode; on a terminal a plan of the hall below it while the episode runs."""

    def __init__(self, head: str) -> None:
        self._head = head
        high = get_terminal_size().lines > _ROWS + 4
        self._live = sys.stdout.isatty() and high
        self._drawn = 0

    def show(self, step: int, observation: Any) -> None:
        """Draw where the cart is."""
        if self._live:
            lines = [
                f'{self._head} step {step:>3}',
                *plan(observation['pose'], observation['goal']),
            ]
            self._erase()
            print(*lines, sep='\n', flush=True)
            self._drawn = len(lines)

    def _erase(self) -> None:
        steer(sys.stdout, f'\x1b[{self._drawn}A\x1b[J' if self._drawn else '')

    def done(self, tail: str) -> None:
        """Replace the plan by the result."""
        self._erase()
        print(f'{self._head} {tail}', flush=True)


def plan(pose: Sequence[float], goal: Sequence[float]) -> list[str]:
    """
    Return the lines of a plan of the hall: racks, the goal, and the cart as an arrow.

    Parameters
    ----------
    pose
        Of the cart: x, y, yaw, shape (3,), m and rad.
    goal
        x, y, shape (2,), m.

    """
    cells = [[' '] * _COLUMNS for _ in range(_ROWS)]

    def put(x: float, y: float, sign: str) -> None:
        column, row = int((x + 5.0) * 4.0), int((4.0 - y) * 2.0)
        if 0 <= column < _COLUMNS and 0 <= row < _ROWS:
            cells[row][column] = sign

    for low_x, low_y, high_x, high_y in _RACKS:
        for x in np.arange(low_x, high_x, 0.25):
            for y in np.arange(low_y, high_y, 0.5):
                put(x, y, '#')
    put(goal[0], goal[1], 'G')
    put(pose[0], pose[1], '>^<v'[round(pose[2] / (math.pi / 2.0)) % 4])
    edge = f'    +{"-" * _COLUMNS}+'
    return [edge, *(f'    |{"".join(row)}|' for row in cells), edge]


# Evaluating --------------------------------------------------------------------------------------


def _as_expected(endings: list[tuple[str, str, str]]) -> list[str]:
    """Return for each policy and scenario how many episodes ended as they were to."""
    rows = []
    for (policy, scenario), (ending, words) in _EXPECTED.items():
        found = [end for name, where, end in endings if (name, where) == (policy, scenario)]
        if found:
            rows.append((policy, scenario, f'{found.count(ending)} of {len(found)}', words))
    return aligned(rows, indent=2) if rows else []


def _latency(groups: Any) -> list[str]:
    """Return a table of the stages of the first policy, against their budgets."""
    rows = [('', 'p50', 'p99', 'budget', 'over')]
    for name, stage in groups[0]['stages'].items() if groups else ():
        p50, p99, budget = (
            'unknown' if stage[key] is None else f'{1e3 * stage[key]:.1f} ms'
            for key in ('p50', 'p99', 'budget')
        )
        over = f'{stage["over"]} of {stage["known"]}'
        rows.append((name, p50, p99, budget if stage['budget'] is not None else '-', over))
    return aligned(rows, right=(1, 2, 3, 4), indent=2)


def _evaluate(place: Path, endings: list[tuple[str, str, str]]) -> int:
    try:
        folder = RunFolder.open(place)
        summary = summarise_path(place)
    except BoundaryError as error:
        print(f'Nothing to sum up: {error}', file=sys.stderr)
        return 2
    about = 'Figures for other programs; `boundary-env report --text --json` makes them again.'
    figures = {'about': about, **summary.to_json()}
    write_atomically(folder.summary, json.dumps(figures, indent=2).encode())
    print('', 'As expected:', *_as_expected(endings), sep='\n')
    print('', 'Latency of the first policy:', *_latency(figures['groups']), sep='\n')
    write_atomically(folder.report, ''.join(render(gather(place))).encode())
    report = audit_path(place)
    print(f'\n{report}')
    print(f'\nRecord: {place}')
    for path, text in (
        (folder.report, 'what happened and why, as a page'),
        (folder.summary, 'all figures, for other programs'),
        (folder.bag, 'everything, for ros2 bag and Foxglove'),
    ):
        if path.exists():
            print(f'  {path.name:<20} {text}')
    print(next_commands(place))
    return 0 if report.ok else 1
