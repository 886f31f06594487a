# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What a step costs over ROS: processor time of each node, steps that are missed, and lockstep.

The cart's nodes run as on a robot, each in a process, with camera and scan, beyond 100 Hz without
camera. What other programs do on the machine makes steps late, and costs none of the processor
time that is counted here.

    python -m bench.step_path [--rates 10,50] [--seconds 10] [--lockstep STEPS] [--json]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
import json
import math
import os
from pathlib import Path
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np
import yaml

from bench.ring import measure as ring
from bench.table import Figure
from boundary_env_ros.core.records.transition import Kind, Transition
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.resources import share_file
from boundary_env_ros.ros.domain import free_domain
from boundary_env_ros.ros.processes import isolated_environment, NodeSpec, running
from boundary_env_ros.storage.record_reader import open_records

_NODES = ('recorder', 'simulated_robot', 'safety_gate', 'environment')
_TICKS = os.sysconf('SC_CLK_TCK')
_WARM_UP = 20
_MESSAGES = ('transition', 'gate_decision', 'observation', 'action_request')
# Of a step at 10 Hz, ms.
_BUDGETS = {'environment': '<= 12', 'safety_gate': '<= 6', 'recorder': '<= 8', 'policy': '<= 5'}
# Steps a second beyond which the cart has no camera: its pictures come 10 times a second.
_WITH_CAMERA = 100.0


def spent(process: int) -> float:
    """Return the seconds of processor time that a process, with all its threads, has used."""
    fields = Path(f'/proc/{process}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _resident(process: int) -> float:
    """Return the memory of a process, MB."""
    pages = int(Path(f'/proc/{process}/statm').read_text().split()[1])
    return pages * os.sysconf('SC_PAGE_SIZE') / 1e6


def slow_contract(folder: Path, rate: float) -> Path:
    """Write the shipped contract with another period; an episode of it outlasts the bench."""
    data = yaml.safe_load(share_file('config/warehouse_cart.yaml').read_text())
    data['period'] = 1.0 / rate
    data['episode']['time_limit'] = 600.0
    data['safety']['gate_period'] = min(data['safety']['gate_period'], data['period'])
    if rate > _WITH_CAMERA:
        del data['observation']['front']
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


def measure(
    rate: float, *, pacing: str, enough: Callable[[int, float], bool], one_process: bool = False
) -> dict[str, Any]:
    """
    Drive the cart, with a recorder, and return the figures.

    Parameters
    ----------
    rate
        Steps a second that the contract asks for.
    pacing
        ``realtime`` or ``lockstep``.
    enough
        Whether so many steps in so many seconds will do.
    one_process
        Whether the nodes share a process.

    """
    domain = free_domain()
    os.environ.update(isolated_environment(domain))
    with tempfile.TemporaryDirectory() as name, _sleeper(rate) as overslept:
        folder, run = Path(name), Path(name) / 'run'
        contract = slow_contract(folder, rate)
        found = drive(
            contract,
            folder,
            run=run,
            rate=rate,
            pacing=pacing,
            domain=domain,
            enough=enough,
            one_process=one_process,
        )
        return {
            **found,
            'audited_per_second': _audited(run),
            'bytes': _sizes(run),
            'period_error_ms': _period_errors(run, rate),
            'bare_period_error_ms': overslept(),
        }


@contextmanager
def _sleeper(rate: float) -> Iterator[Callable[[], list[float]]]:
    """Run the bare thing beside: a loop that sleeps until it is time, and says how late it was."""
    program = (
        'import signal, sys, time\n'
        # A shell has it ignored by what it starts in the background.
        'signal.signal(signal.SIGINT, signal.default_int_handler)\n'
        'period, late = float(sys.argv[1]), []\n'
        'begin = time.monotonic()\n'
        'try:\n'
        '    while True:\n'
        '        due = begin + (len(late) + 1) * period\n'
        '        time.sleep(max(0.0, due - time.monotonic()))\n'
        '        late.append(1e3 * (time.monotonic() - due))\n'
        'except KeyboardInterrupt:\n'
        '    print(*late)\n'
    )
    command = [sys.executable, '-c', program, str(1.0 / rate)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:

        def overslept() -> list[float]:
            process.send_signal(signal.SIGINT)
            return [float(word) for word in process.communicate(timeout=10.0)[0].split()]

        try:
            yield overslept
        finally:
            process.kill()


def drive(
    contract: Path,
    folder: Path,
    *,
    run: Path,
    rate: float,
    pacing: str,
    domain: int,
    enough: Callable[[int, float], bool],
    one_process: bool = False,
) -> dict[str, Any]:
    """Drive the cart in a domain, record it in the folder of a run, and return the figures."""
    shared = {'contract': str(contract), 'pacing': pacing}
    own: Mapping[str, Mapping[str, object]] = {
        'recorder': {'run': str(run)},
        'simulated_robot': {'camera_rate': 0.0} if rate > _WITH_CAMERA else {},
    }
    specs = [NodeSpec(name=node, parameters={**shared, **own.get(node, {})}) for node in _NODES]
    begun = time.perf_counter()
    with running(
        specs, domain_id=domain, logs=folder / 'logs', one_process=one_process
    ) as processes:
        env = BoundaryEnv(contract, world='ros', pacing=pacing, domain_id=domain)
        try:
            ids = {'nodes' if one_process else n: p.process.pid for n, p in processes.items()}
            return _drive(env, {**ids, 'policy': os.getpid()}, rate, enough, begun)
        finally:
            env.close()


def _sizes(run: Path) -> dict[str, float]:
    """Return the mean bytes of a message on each recorded topic."""
    found: dict[str, list[int]] = {}
    for message in open_records(run).messages():
        found.setdefault(message.topic, []).append(len(message.data))
    return {topic: sum(sizes) / len(sizes) for topic, sizes in sorted(found.items())}


def _period_errors(run: Path, rate: float) -> list[float]:
    """Return how far each step was closed from its place on a grid of periods, ms."""
    closed = [
        entry.record.closed.steady
        for entry in open_records(run).entries(Transition)
        if entry.record.kind is Kind.STEP
    ]
    period = 1e9 / rate
    after = [(time - closed[0]) / period for time in closed]
    return [abs(steps - round(steps)) * period / 1e6 for steps in after]


def _audited(run: Path) -> float:
    """Return how many steps of a record the audit checks in a second of processor time."""
    begun = time.process_time()
    report = audit_path(run)
    return report.transitions / (time.process_time() - begun)


def _step(env: BoundaryEnv, step: int) -> dict[str, Any]:
    _, _, terminated, truncated, info = env.step(_action(step))
    if terminated or truncated:
        raise SystemExit(f'The episode ended (expected it to go on, got {info["ending"]}).')
    return info


def _drive(
    env: BoundaryEnv,
    processes: Mapping[str, int],
    rate: float,
    enough: Callable[[int, float], bool],
    started: float,
) -> dict[str, Any]:
    env.reset(seed=1, options={'scenario': 'clear'})
    env.step(_action(0))
    first_step = time.perf_counter() - started
    step = 0
    for step in range(1, _WARM_UP):
        _step(env, step)
    before = {name: spent(process) for name, process in processes.items()}
    begun, calls, missed = time.perf_counter(), 0, 0
    while not enough(calls, time.perf_counter() - begun):
        calls += 1
        missed += len(_step(env, step + calls)['missed'])
    seconds = time.perf_counter() - begun
    steps = calls + missed
    used = {name: spent(process) - before[name] for name, process in processes.items()}
    return {
        'rate': rate,
        'seconds_to_first_step': first_step,
        'megabytes': {name: _resident(process) for name, process in processes.items()},
        'steps': steps,
        'missed': missed,
        'steps_per_second': steps / seconds,
        'share': {name: value / seconds for name, value in used.items()},
        'ms_per_step': {name: 1e3 * value / steps for name, value in used.items()},
    }


def figures(rates: Sequence[float], seconds: float, steps: int) -> Sequence[Figure]:
    """Return the figures, lockstep beside a bare ring of as many hops."""
    found = []
    for rate in rates:
        run = measure(rate, pacing='realtime', enough=lambda _, passed: passed >= seconds)
        if rate == rates[0]:
            found += _once(run)
        found += [
            Figure(
                name=f'{name} at {rate:g} Hz{"" if rate <= _WITH_CAMERA else " without camera"}',
                unit='ms CPU a step',
                values=[milliseconds],
                budget=_BUDGETS.get(name, '') if rate == 10.0 else '',
            )
            for name, milliseconds in run['ms_per_step'].items()
        ]
        missed = 100.0 * run['missed'] / run['steps']
        late, bare_late = (
            float(np.percentile(run[key], 99.9))
            for key in ('period_error_ms', 'bare_period_error_ms')
        )
        found += [
            Figure(
                name=f'missed at {rate:g} Hz',
                unit='% of steps',
                values=[missed],
                budget='< 0.5' if rate <= _WITH_CAMERA else '',
            ),
            Figure(
                name=f'period error p99.9 at {rate:g} Hz',
                unit='ms',
                values=[late],
                bare=[bare_late],
                ratio='ours/bare',
                budget='<= 1.3' if rate == 100.0 else '',
            ),
        ]
    run, shared = (
        measure(
            10.0, pacing='lockstep', enough=lambda calls, _: calls >= steps, one_process=together
        )
        for together in (False, True)
    )
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
            name='lockstep over ROS, nodes in one process, beside four',
            unit='ms CPU',
            values=[sum(shared['ms_per_step'].values())],
            bare=[sum(run['ms_per_step'].values())],
            ratio='bare/ours',
            budget='>= 2',
        ),
        Figure(
            name='audit of that record',
            unit='steps/s CPU',
            values=[run['audited_per_second']],
            budget='>= 1000 steps/s',
        ),
    ]


def _once(run: Mapping[str, Any]) -> list[Figure]:
    """Return what does not depend on the rate: start-up, memory and sizes of messages."""
    return [
        Figure(name='start to first step', unit='s', values=[run['seconds_to_first_step']]),
        *(
            Figure(name=f'memory of {name}', unit='MB', values=[megabytes])
            for name, megabytes in run['megabytes'].items()
        ),
        *(
            Figure(name=f'a message on {topic}', unit='bytes', values=[size])
            for topic, size in run['bytes'].items()
            if topic.rpartition('/')[2] in _MESSAGES
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
