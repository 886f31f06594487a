# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""An installed plugin behind the nodes: the same class, the same contract, over DDS."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
import os
from pathlib import Path
import signal
import threading

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.ros.processes import isolated_environment, NodeSpec, running
from support.ros_world import processes_of, reserved_domain

pytestmark = pytest.mark.ros

EXAMPLES = Path(__file__).parents[2] / 'examples'
CONTRACT = EXAMPLES / 'pendulum.yaml'


@pytest.fixture
def run(_run: str) -> str:
    """Return the mark of every process that is started here."""
    return _run


@pytest.fixture(
    params=[False, pytest.param(True, marks=pytest.mark.nightly)],
    ids=['processes', 'one_process'],
)
def env(
    run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[BoundaryEnv]:
    """Return a facade on nodes that run the pendulum, which is installed for them."""
    installed = tmp_path / 'pendulum-1.0.dist-info'
    installed.mkdir()
    (installed / 'METADATA').write_text('Metadata-Version: 2.1\nName: pendulum\nVersion: 1.0\n')
    (installed / 'entry_points.txt').write_text(
        '[boundary_env_ros.plugins]\npendulum = pendulum_plugin:PendulumPlugin\n'
    )
    with ExitStack() as stack:
        domain = stack.enter_context(reserved_domain())
        for name, value in isolated_environment(domain).items():
            monkeypatch.setenv(name, value)
        before = os.environ.get('PYTHONPATH', '')
        path = [str(tmp_path), str(EXAMPLES), *filter(None, [before])]
        monkeypatch.setenv('PYTHONPATH', os.pathsep.join(path))
        contract = tmp_path / CONTRACT.name
        text, _, rest = CONTRACT.read_text().partition('environment_timeout: 5.0')
        contract.write_text(f'{text}environment_timeout: 0.5{rest}')
        nodes = [
            NodeSpec(name=name, parameters={'contract': str(contract)})
            for name in ('simulated_robot', 'safety_gate', 'environment')
        ]
        stack.enter_context(
            running(
                nodes,
                domain_id=domain,
                logs=tmp_path / 'logs',
                timeout=60.0,
                one_process=request.param,
            )
        )
        made = BoundaryEnv(contract, world='ros', domain_id=domain)
        stack.callback(made.close)
        yield made


def test_pendulum_swings_up_over_ros_and_its_death_ends_the_episode(
    run: str, env: BoundaryEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    from pendulum_plugin import swing_up

    observation, _ = env.reset(seed=1, options={'start': [3.0, 0.0]})
    terminated = truncated = False
    while not (terminated or truncated):
        observation, _, terminated, truncated, info = env.step(swing_up(observation))
    assert (terminated, info['ending']) == (True, 'success')

    observation, _ = env.reset(seed=2)
    (plugin,) = [pid for pid, line in processes_of(run).items() if 'plugin_host' in line]
    os.kill(plugin, signal.SIGKILL)
    *_, terminated, truncated, info = env.step(swing_up(observation))
    assert (terminated, truncated, info['ending']) == (False, True, 'simulation_failed')
    env.reset(seed=3)
    *_, truncated, _ = env.step(swing_up(observation))
    assert not truncated


def test_a_world_that_takes_long_is_no_silence_of_the_environment(
    run: str, env: BoundaryEnv
) -> None:
    """The gate waits for the same executor as the environment, where they share one."""
    env.reset(seed=1)
    (plugin,) = [pid for pid, line in processes_of(run).items() if 'plugin_host' in line]
    for _ in range(3):
        os.kill(plugin, signal.SIGSTOP)
        silence = 2.0 * env.contract.safety.environment_timeout
        resume = threading.Timer(silence, os.kill, (plugin, signal.SIGCONT))
        resume.start()
        *_, truncated, info = env.step(np.ones(1, dtype=np.float32))
        resume.join()
        assert not truncated, info
        assert env.last is not None
        decisions = env.last.transition.decisions
        assert [decision.verdict.name for decision in decisions] == ['ADMITTED']
