# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A world is what its interface says, whoever made it, and says itself what it cannot do."""

from __future__ import annotations

from pathlib import Path

import pytest

from boundary_env_ros.errors import LinkError, RequestRejected, ResultCode
from boundary_env_ros.facade import BoundaryEnv
from boundary_env_ros.facade.policies import make_policy
from boundary_env_ros.facade.runner import Plan, Runner
from boundary_env_ros.facade.world import make_world
from support.shipped import changed

HASTY = changed('warehouse_cart', episode__time_limit=0.3)

#: A package with two worlds: one that has only what it says itself, and one that has everything.
WORLDS = """
from boundary_env_ros.facade.embedded_world import EmbeddedWorld
from boundary_env_ros.facade.world import World

class Plain(World):
    def __init__(self, loaded):
        self._world = EmbeddedWorld(loaded)
    agents = property(lambda self: self._world.agents)
    running = property(lambda self: self._world.running)
    def reset(self, **arguments):
        return self._world.reset(**arguments)
    def step(self, actions):
        return self._world.step(actions)
    def observe(self):
        return self._world.observe()
    def close(self):
        self._world.close()

class Half:
    agents = running = ('cart',)
    def __init__(self, loaded):
        pass
"""


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / 'other_worlds-1.0.dist-info'
    package.mkdir()
    (package / 'METADATA').write_text('Metadata-Version: 2.1\nName: other_worlds\nVersion: 1.0\n')
    (package / 'entry_points.txt').write_text(
        '[boundary_env_ros.worlds]\nplain = other_worlds:Plain\nhalf = other_worlds:Half\n'
    )
    (tmp_path / 'other_worlds.py').write_text(WORLDS)
    monkeypatch.syspath_prepend(str(tmp_path))


def test_what_is_no_whole_world_is_refused_when_it_is_made() -> None:
    with pytest.raises(LinkError, match=r"'half' is none \(expected all of .*World, got Half\)"):
        make_world('half', HASTY)


def test_a_world_of_another_package_is_run_and_refuses_what_it_has_not(tmp_path: Path) -> None:
    world = make_world('plain', HASTY)
    runner = Runner(HASTY.contract, world, make_policy('no-op', HASTY, {}), Plan(warm_up=0))
    assert runner.episode(3, {}).ending == 'time_limit'
    runner.close()
    world.close()

    contract = tmp_path / 'hasty.yaml'
    contract.write_text(HASTY.text)
    env = BoundaryEnv(contract, world='plain', pacing='lockstep')
    stop = env.on(None, print)
    for refused in (env.reset, env.affordances, env.save):
        with pytest.raises(RequestRejected, match='Plain') as error:
            refused()
        assert error.value.code is ResultCode.UNSUPPORTED
    stop()
    assert env.reset(seed=3)[1]['step'] == 0
    env.close()


def test_a_world_that_waits_for_each_step_refuses_a_send_that_does_not() -> None:
    embedded = make_world('embedded', changed('warehouse_cart'))
    embedded.reset(seed=1, options={}, wrappers=())
    with pytest.raises(RequestRejected, match='EmbeddedWorld waits for each step'):
        embedded.send({'cart': (0.0, 0.0)})
    embedded.close()
