# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Hold a simulation against reality: the same policy on both, and what differs, by its name.

Reality is a variant of the simulated cart here: heavier, slower to answer, with friction, a
noisier scanner and a detector that is 8 cm off. With a robot, B is the run folder that its
recorder left.
"""

from pathlib import Path
import tempfile

from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.evidence.compare.compare import compare_paths
from boundary_env_ros.evidence.compare.text import format_comparison
from boundary_env_ros.facade.embedded_world import EmbeddedWorld
from boundary_env_ros.facade.policies import make_policy
from boundary_env_ros.facade.runner import Plan, Runner
from boundary_env_ros.storage.contract_file import load

EPISODES = 8


def drive(robot: str, first_seed: int, folder: Path) -> Path:
    """Drive some episodes with one robot, and leave their record in a new folder."""
    loaded = load('warehouse_cart', Pacing.LOCKSTEP)
    world = EmbeddedWorld(loaded, robot=robot, record=folder)
    runner = Runner(loaded.contract, world, make_policy('scripted', loaded, {}), Plan(warm_up=0))
    for seed in range(first_seed, first_seed + EPISODES):
        runner.episode(seed, {'scenario': 'clear'})
    runner.close()
    world.close()
    return folder


def main() -> None:
    """Drive both, compare, and say whether what is wrong with the simulation was found."""
    with tempfile.TemporaryDirectory() as place:
        simulated = drive('warehouse_cart', 1, Path(place) / 'simulated')
        built = drive('warehouse_cart_reality', 101, Path(place) / 'built')
        comparison = compare_paths(simulated, built)
    print(format_comparison(comparison))
    found = {finding.name for finding in comparison.differences}
    print('success' if {'response.delay', 'observations.scan.noise'} <= found else 'missed')


if __name__ == '__main__':
    main()
