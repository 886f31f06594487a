# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Make the golden records of this version: what every later version has to read.

    .venv/bin/python test/records/make.py test/records/NAME

Cart and arm are run for a few short episodes, embedded and over ROS, in lockstep. Beside each
record stands `facts.json`: what this version reads in it. A new folder is made when messages,
contracts or run folders change; the old ones stay as they are.
"""

from __future__ import annotations

import json
from pathlib import Path
import shutil
import subprocess
import sys
import tempfile
from typing import Any

import yaml

from boundary_env_ros.resources import share_file
from boundary_env_ros.ros.domain import free_domain
from boundary_env_ros.ros.processes import boundary_nodes, running
from boundary_env_ros.storage.contract_file import load

#: Seconds of an episode: every step has all that a step has, and these files stay for good.
TIME_LIMIT = {'warehouse_cart': 0.6, 'door_arm': 0.4}
EPISODES = {'warehouse_cart': 2, 'door_arm': 1}
PACING = 'lockstep'
TOLD = (
    'episode_id',
    'agent',
    'environment',
    'digest',
    'client',
    'seed',
    'ending_kind',
    'ending',
    'declared_by',
    'success',
    'step_count',
    'return',
    'interventions',
)


def command(*arguments: str | Path, expected: tuple[int, ...] = (0,)) -> tuple[int, str]:
    """Run the command of this package; return its exit code, and what it printed."""
    finished = subprocess.run(
        [sys.executable, '-m', 'boundary_env_ros.cli.main', *map(str, arguments)],
        capture_output=True,
        check=False,
        text=True,
        timeout=300,
    )
    if finished.returncode not in expected:
        raise SystemExit(f'{arguments}: {finished.returncode}\n{finished.stdout}{finished.stderr}')
    return finished.returncode, finished.stdout


def shortened(name: str, folder: Path) -> Path:
    """Write a shipped contract with a short time limit."""
    data: Any = yaml.safe_load(share_file(f'config/{name}.yaml').read_text(encoding='utf-8'))
    data['episode']['time_limit'] = TIME_LIMIT[name]
    file = folder / f'{name}.yaml'
    file.write_text(yaml.safe_dump(data, sort_keys=False), encoding='utf-8')
    return file


def drive(name: str, contract: Path, link: str, *options: str | Path) -> None:
    """Run some episodes of the scripted policy."""
    arguments = ('--policy', 'scripted', '--contract', contract, '--pacing', PACING)
    episodes = ('--episodes', str(EPISODES[name]), '--seed', '1')
    command('run', '--world', link, *arguments, *episodes, *options)


def over_ros(name: str, contract: Path, run: Path, scratch: Path) -> None:
    """Record a run of the real nodes."""
    domain = free_domain()
    nodes = boundary_nodes(
        load(contract).contract,
        {'contract': str(contract), 'pacing': PACING},
        run=run,
        robot='simulated_robot',
    )
    with running(nodes, domain_id=domain, logs=scratch / 'logs', timeout=120.0):
        drive(name, contract, 'ros', '--world-option', f'domain_id={domain}')


def facts(run: Path) -> dict[str, Any]:
    """Return what this version reads in a record."""
    _, listed = command('episodes', 'list', run, '--json')
    audited, _ = command('audit', run, expected=(0, 3))
    return {
        'audit': audited,
        'episodes': [{key: episode[key] for key in TOLD} for episode in json.loads(listed)],
    }


def main(folder: Path) -> None:
    """Make all of them."""
    with tempfile.TemporaryDirectory() as made:
        for name in EPISODES:
            contract = shortened(name, Path(made))
            embedded, ros = (Path(made) / f'{name}_{link}' for link in ('embedded', 'ros'))
            drive(name, contract, 'embedded', '--run', embedded)
            over_ros(name, contract, ros, Path(made))
            for run in (embedded, ros):
                written = json.dumps(facts(run), indent=1) + '\n'
                shutil.copytree(run, folder / run.name)
                (folder / run.name / 'facts.json').write_text(written, encoding='utf-8')
                print(folder / run.name)


if __name__ == '__main__':
    main(Path(sys.argv[1]))
