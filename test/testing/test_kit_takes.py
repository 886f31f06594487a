# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The kit takes honest contracts of every kind of action, and chunks, and worlds over them."""

from __future__ import annotations

from pathlib import Path

import pytest

from boundary_env_ros.core.timebase import to_nanoseconds
from boundary_env_ros.facade.embedded_world import EmbeddedWorld
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.testing import ContractTests, EnvironmentTests
from support.small_world import Point, write
from support.whole_contract_tests import WholeContractTests
from support.whole_environment_tests import WholeEnvironmentTests
from support.world_tests import WorldTests

SAFE = 'safe: [0.0, 0.0]'
DERIVED = """\
  ahead: {derive: {function: relative_position, of: [pose, goal]}}
  past: {derive: {function: history, of: velocity, count: 3}}
"""
KINDS = {
    'delta': (SAFE, f'kind: delta\n    max_delta: [0.05, 0.2]\n    {SAFE}'),
    'delta that is refused': (
        SAFE,
        f'kind: delta\n    max_delta: [0.05, 0.2]\n    out_of_bounds: reject\n    {SAFE}',
    ),
    'refused': (SAFE, f'out_of_bounds: reject\n    {SAFE}'),
    'choices': (
        SAFE,
        f'kind: discrete\n    choices: {{stop: [0, 0], go: [0.5, 0], left: [0, 1]}}\n    {SAFE}',
    ),
    'levels': (
        SAFE,
        f'kind: multi_discrete\n    levels: [[-0.5, 0, 1], [-1, 0, 1]]\n    {SAFE}',
    ),
    'chunks': ('safety:\n', 'chunk: {horizon: 3}\nsafety:\n'),
    'derived fields': ('  goal: {task', f'{DERIVED}  goal: {{task'),
}


@pytest.mark.parametrize('change', KINDS.values(), ids=KINDS)
def test_an_honest_contract_passes(tmp_path: Path, change: tuple[str, str]) -> None:
    class Kit(WholeContractTests):
        trials = 50

        def contract(self) -> Path:
            return write(tmp_path, change)

    for kind in (ContractTests, WholeContractTests):
        _pass_all(Kit(), kind)


#: Levels apart: the shipped task does not know what to make of half a choice.
DRIVEN = ('delta', 'choices', 'chunks', 'derived fields')
ALSO = [
    pytest.param(name, marks=pytest.mark.nightly) for name in ('delta that is refused', 'refused')
]


@pytest.mark.parametrize('name', [*DRIVEN, *ALSO])
def test_an_honest_world_passes(tmp_path: Path, name: str) -> None:
    class Kit(WholeEnvironmentTests, WorldTests):
        pacing = 'lockstep'
        steps = 5

        def contract(self) -> Path:
            return write(tmp_path, KINDS[name])

        def world(self) -> EmbeddedWorld:
            return EmbeddedWorld(self.loaded(), robot=self.point())

        def env(self) -> BoundaryEnv:
            file = self.contract()
            robot = self.point()
            return BoundaryEnv(
                file, world='embedded', pacing='lockstep', robot=robot, sink=self.keep
            )

        def point(self) -> Point:
            contract = self.loaded().contract
            return Point(contract, to_nanoseconds(contract.period))

    for kind in (EnvironmentTests, WholeEnvironmentTests, WorldTests):
        _pass_all(Kit(), kind)


def _pass_all(kit: object, kind: type) -> None:
    for name in vars(kind):
        if name.startswith('test_'):
            getattr(kit, name)()
