# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What a step costs over ROS: processor time of each node, steps that are missed, and lockstep.

The cart's nodes run as on a robot, each in a process, with camera and scan. What other programs do
on the machine makes steps late, and costs none of the processor time that is counted here.

    python -m bench.step_path [--rates 10,50] [--seconds 10] [--lockstep STEPS] [--json]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
import json
import math
import os
from pathlib import Path
import sys
import tempfile
import time
from typing import Any

import numpy as np
import yaml

from bench.ring import measure as ring
from bench.table import Figure
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.resources import share_file
from boundary_env_ros.ros.domain import free_domain
from boundary_env_ros.ros.processes import isolated_environment, NodeSpec, running

_NODES = ('recorder', 'simulated_robot', 'safety_gate', 'environment')
_TICKS = os.sysconf('SC_CLK_TCK')
_WARM_UP = 20
_SHARES = {'environment': '<= 12', 'safety_gate': '<= 6', 'recorder': '<= 8', 'policy': '<= 5'}


def _spent(process: int) -> float:
    """Return the seconds of processor time that a process, with all its threads, has used."""
    fields = Path(f'/proc/{process}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _contract(folder: Path, rate: float) -> Path:
    """Write the shipped contract with another period; an episode of it outlasts the bench."""
    data = yaml.safe_load(share_file('config/warehouse_cart.yaml').read_text())
    data['period'] = 1.0 / rate
    data['episode']['time_limit'] = 600.0
    # What is late here is counted; it is not to end the episode.
    data['safety'].update(
        policy_timeout=8.0, environment_timeout=3.0, gate_timeout=3.0, robot_timeout=3.0
    )
    for field in ('pose', 'velocity'):
        data['observation'][field]['max_age'] = 3.0
    path = folder / 'contract.yaml'
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    return path


def _action(step: int) -> np.ndarray[Any, Any]:
    return np.array([0.1 * math.sin(step / 20.0), 0.3], dtype=np.float32)


def measure(rate: float, *, pacing: str, enough: Callable[[int, float], bool]) -> dict[str, Any]:
    """
    Drive the cart and return the figures.

    Parameters
    ----------
    rate
        Steps a second that the contract asks for.
    pacing
        ``realtime`` or ``lockstep``.
    enough
        Whether so many steps in so many seconds will do.

    """
    domain = free_domain()
    os.environ.update(isolated_environment(domain))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        contract = _contract(folder, rate)
        shared = {'contract': str(contract), 'pacing': pacing}
        specs = [
            NodeSpec(
                name=node,
                parameters={**shared, 'run': str(folder / 'run')}
                if node == 'recorder'
                else shared,
            )
            for node in _NODES
        ]
        with running(specs, domain_id=domain, logs=folder / 'logs') as processes:
            env = BoundaryEnv(contract, world='ros', pacing=pacing, domain_id=domain)
            try:
                ids = {n: p.process.pid for n, p in processes.items()}
                found = _drive(env, {**ids, 'policy': os.getpid()}, rate, enough)
            finally:
                env.close()
        return {**found, 'audited_per_second': _audited(folder / 'run')}


def _audited(run: Path) -> float:
    """Return how many steps of a record the audit checks in a second of processor time."""
    begun = time.process_time()
    report = audit_path(run)
    return report.transitions / (time.process_time() - begun)


def _drive(
    env: BoundaryEnv,
    processes: Mapping[str, int],
    rate: float,
    enough: Callable[[int, float], bool],
) -> dict[str, Any]:
    env.reset(seed=1, options={'scenario': 'clear'})
    step = 0
    for step in range(_WARM_UP):
        env.step(_action(step))
    before = {name: _spent(process) for name, process in processes.items()}
    begun, calls, missed = time.perf_counter(), 0, 0
    while not enough(calls, time.perf_counter() - begun):
        _, _, terminated, truncated, info = env.step(_action(step + calls))
        calls += 1
        missed += len(info['missed'])
        if terminated or truncated:
            raise SystemExit(f'The episode ended ({info["ending"]}).')
    seconds = time.perf_counter() - begun
    steps = calls + missed
    spent = {name: _spent(process) - before[name] for name, process in processes.items()}
    return {
        'rate': rate,
        'steps': steps,
        'missed': missed,
        'steps_per_second': steps / seconds,
        'share': {name: value / seconds for name, value in spent.items()},
        'ms_per_step': {name: 1e3 * value / steps for name, value in spent.items()},
    }


def figures(rates: Sequence[float], seconds: float, steps: int) -> Sequence[Figure]:
    """Return the figures, lockstep beside a bare ring of as many hops."""
    found = []
    for rate in rates:
        run = measure(rate, pacing='realtime', enough=lambda _, passed: passed >= seconds)
        found += [
            Figure(
                name=f'{name} at {rate:g} Hz',
                unit='% of a core',
                values=[100.0 * share],
                budget=_SHARES.get(name, '') if rate == 10.0 else '',
            )
            for name, share in run['share'].items()
        ]
        missed = 100.0 * run['missed'] / run['steps']
        found.append(
            Figure(name=f'missed at {rate:g} Hz', unit='% of steps', values=[missed], budget='< 1')
        )
    run = measure(10.0, pacing='lockstep', enough=lambda calls, _: calls >= steps)
    domain = free_domain()
    os.environ.update(isolated_environment(domain))
    bare = ring(steps, domain)
    return [
        *found,
        Figure(
            name='lockstep over ROS, all processes',
            unit='ms CPU',
            values=[sum(run['ms_per_step'].values())],
            bare=[bare['cpu_ms']],
            ratio='ours/bare',
        ),
        Figure(
            name='lockstep over ROS',
            unit='steps/s',
            values=[run['steps_per_second']],
            bare=[steps / sum(bare['seconds'])],
            ratio='bare/ours',
            budget='>= 100 steps/s',
        ),
        Figure(
            name='audit of that record',
            unit='steps/s CPU',
            values=[run['audited_per_second']],
            budget='>= 1000 steps/s',
        ),
    ]


def _show(what: str, found: Mapping[str, Any]) -> None:
    print(
        f'  {what:<14} {found["steps_per_second"]:6.1f} steps/s   '
        f'missed {found["missed"]:>4} of {found["steps"]}'
    )
    for name, share in found['share'].items():
        print(
            f'    {name:<16} {100 * share:5.1f} % of a core   '
            f'{found["ms_per_step"][name]:6.2f} ms a step'
        )


def main(arguments: Sequence[str] = ()) -> None:
    """Print the figures of each rate, and of lockstep."""
    parser = argparse.ArgumentParser(prog='bench.step_path')
    parser.add_argument('--rates', default='10,50', help='steps a second, realtime')
    parser.add_argument('--seconds', type=float, default=10.0, help='for each rate')
    parser.add_argument('--lockstep', type=int, default=300, help='steps in lockstep')
    parser.add_argument('--json', action='store_true', help='print figures for a program')
    options = parser.parse_args(arguments)
    found = {}
    for rate in filter(None, options.rates.split(',')):
        found[f'{rate} Hz'] = measure(
            float(rate), pacing='realtime', enough=lambda _, seconds: seconds >= options.seconds
        )
    if options.lockstep:
        found['lockstep'] = measure(
            10.0, pacing='lockstep', enough=lambda calls, _: calls >= options.lockstep
        )
    if options.json:
        print(json.dumps(found, indent=2))
        return
    print('step path over ROS, cart with camera and scan, five processes')
    for what, figures in found.items():
        _show(what, figures)


if __name__ == '__main__':
    main(sys.argv[1:])
