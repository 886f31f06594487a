# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Short embedded runs of the cart as it was thought of, or with a difference planted in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.timebase import to_nanoseconds
from boundary_env_ros.evidence.compare.side import ComparedRun, read_side
from boundary_env_ros.evidence.episodes import Episodes
from boundary_env_ros.facade.embedded_world import EmbeddedWorld
from boundary_env_ros.facade.policies import make_policy
from boundary_env_ros.facade.runner import Plan, Runner
from boundary_env_ros.resources import share_file
from boundary_env_ros.simulation.cart_config import CartConfig, ImuConfig, JointStateConfig
from boundary_env_ros.simulation.cart_robot import CartRobot, RealityCartRobot
from boundary_env_ros.storage.contract_file import LoadedContract, loads

#: What the contract does not ask for takes time to simulate.
_LEAN = replace(CartConfig(), imu=ImuConfig(rate=0.0), joint_states=JointStateConfig(rate=0.0))


def cart_contract(**changes: Any) -> LoadedContract:
    """Return the cart's contract without its camera, three seconds an episode, and changed."""
    data = yaml.safe_load(share_file('config/warehouse_cart.yaml').read_text(encoding='utf-8'))
    del data['observation']['front']
    data['episode']['time_limit'] = 3.0
    for path, value in changes.items():
        *parents, last = path.split('__')
        section = data
        for key in parents:
            section = section[key]
        if value is None:
            del section[last]
        else:
            section[last] = value
    return loads(yaml.safe_dump(data, sort_keys=False), pacing=Pacing.LOCKSTEP)


def real(*names: str) -> dict[str, float]:
    """Return what some options of the cart are in reality."""
    return {name: RealityCartRobot.OPTIONS[name][0] for name in names}


def drive(
    loaded: LoadedContract,
    seeds: Iterable[int],
    *,
    options: Mapping[str, float] | None = None,
    policy: str = 'scripted',
    scenario: str = 'clear',
    folder: Path | None = None,
) -> list[object]:
    """Return everything that a run of the cart leaves; in a folder too, if one is named."""
    records: list[object] = []
    robot = CartRobot(
        loaded.contract,
        start=to_nanoseconds(loaded.contract.period),
        options={'camera_rate': 0.0, **(options or {})},
        config=_LEAN,
    )
    world = EmbeddedWorld(loaded, robot=robot, sink=records.append, client=policy, record=folder)
    runner = Runner(loaded.contract, world, make_policy(policy, loaded, {}), Plan(warm_up=0))
    for seed in seeds:
        runner.episode(seed, {'scenario': scenario})
    runner.close()
    world.close()
    return records


def side_of(records: Iterable[object], contract: Contract, name: str) -> ComparedRun:
    """Return a side of a comparison."""
    return read_side(Episodes(records), contract, name=name, agent='cart')
