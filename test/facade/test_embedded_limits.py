# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What one process has not is refused when the world is made, by its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from boundary_env_ros.core.records.decision import Verdict
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.errors import (
    BoundaryError,
    ContractError,
    LinkError,
    ResetFailed,
)
from boundary_env_ros.facade.embedded_world import EmbeddedWorld
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.storage.contract_file import load, LoadedContract
from support.shipped import changed

WORLD = {'world': 'reset_world', 'deadline': 8.0}
CALL = {'call': 'home', 'type': 'std_srvs/srv/Trigger', 'request': {}, 'deadline': 2.0}
PUBLISH = {'publish': 'lamp', 'type': 'std_msgs/msg/Bool', 'message': {'data': True}}
CONFIRM = {'confirm': 'Put the box on the mark.', 'deadline': 6.0}
WAIT = {'wait': 'velocity', 'target': [0.0, 0.0], 'tolerance': [0.05, 0.1], 'deadline': 5.0}


def reset_by(name: str, *steps: Mapping[str, object]) -> LoadedContract:
    return changed(
        name,
        episode__reset={'procedure': [dict(s) for s in steps], 'settle': 0.3, 'deadline': 8.0},
    )


@pytest.mark.parametrize(
    ('name', 'steps', 'says'),
    [
        ('warehouse_cart', (WORLD, CALL), r'procedure\[1\].*`world` and `wait`.*`call`'),
        ('warehouse_cart', (PUBLISH, WORLD), r'procedure\[0\].*got `publish`'),
        ('warehouse_cart', (WORLD, WAIT, CONFIRM), r'procedure\[2\].*got `confirm`'),
        ('two_carts', (WORLD, WAIT), r'procedure\[1\].*only `world` steps.*got `wait`'),
    ],
)
def test_a_reset_that_needs_somebody_else_is_refused_at_once(
    name: str, steps: Sequence[Mapping[str, object]], says: str
) -> None:
    with pytest.raises(BoundaryError, match=says):
        EmbeddedWorld(reset_by(name, *steps))


def test_a_reset_may_wait_for_a_field() -> None:
    world = EmbeddedWorld(reset_by('warehouse_cart', WORLD, WAIT))
    begun = world.reset(seed=1, options={'scenario': 'clear'}, wrappers=())
    assert begun['cart'].transition.kind.name == 'RESET'
    world.step({'cart': (0.1, 0.0)})


def test_a_field_that_never_comes_fails_the_reset_at_the_deadline_of_its_step() -> None:
    never = {**WAIT, 'target': [1.5, 0.0], 'deadline': 0.2}
    world = EmbeddedWorld(reset_by('warehouse_cart', WORLD, never))
    with pytest.raises(ResetFailed, match=r'after 0\.2 s \(expected velocity\[0\] within'):
        world.reset(seed=1, options={'scenario': 'clear'}, wrappers=())


def test_the_environment_of_one_agent_refuses_several_and_says_what_takes_them() -> None:
    env = BoundaryEnv('two_carts', world='embedded')
    with pytest.raises(LinkError, match=r'one of cart_a, cart_b, got none.*multi_agent'):
        env.reset()


def looked_up(of: str) -> dict[str, object]:
    return {
        'transform': {'of': of, 'in': 'hall'}, 'fields': ['translation.x', 'translation.z'],
        'unit': ['m', 'm'], 'low': [-20.0] * 2, 'high': [20.0] * 2,
    }  # fmt: skip


def test_the_cart_tells_its_frames_and_they_are_looked_up_where_its_odometry_says() -> None:
    world = EmbeddedWorld(
        changed(
            'warehouse_cart',
            observation__where=looked_up('base_link'),
            observation__eye=looked_up('camera'),
            observation__odom={
                'topic': 'odom',
                'type': 'nav_msgs/msg/Odometry',
                'unit': 'm',
                'low': -20.0,
                'high': 20.0,
                'fields': 'pose.pose.position.x',
            },
        )
    )
    result = world.reset(seed=1, options={'scenario': 'clear'}, wrappers=())['cart']
    seen = set()
    for _ in range(5):
        fields = {field.name: field for field in result.transition.after}
        where, eye, odometry = fields['where'], fields['eye'], fields['odom']
        assert where.source == 'tf:base_link in hall'
        assert where.captured == eye.captured == odometry.captured
        assert where.values[0] == pytest.approx(odometry.values[0])
        assert eye.values[1] > 0.1  # m above the wheels
        seen.add(where.values)
        (result,) = world.step({'cart': (0.5, 0.0)})['cart']
    assert len(seen) == 5


def test_the_arm_tells_the_frame_of_its_tool() -> None:
    looked = {**looked_up('tool0'), 'transform': {'of': 'tool0', 'in': 'base_link'}}
    world = EmbeddedWorld(changed('door_arm', observation__hand=looked))
    (result,) = world.reset(seed=1, options={}, wrappers=()).values()
    fields = {field.name: field for field in result.transition.after}
    pose = fields['tool']
    assert fields['hand'].captured == pose.captured
    assert fields['hand'].values == pytest.approx((pose.values[0], pose.values[2]))


def test_a_frame_that_nobody_tells_fails_the_reset_which_says_why() -> None:
    world = EmbeddedWorld(changed('warehouse_cart', observation__where=looked_up('gripper')))
    with pytest.raises(ResetFailed, match=r"where: Unknown frame .*got 'gripper'"):
        world.reset(seed=1, options={'scenario': 'clear'}, wrappers=())


def test_several_agents_cannot_look_frames_up() -> None:
    with pytest.raises(ContractError, match='a topic, with several agents'):
        changed('two_carts', observation__where=looked_up('base_link'))


def test_realtime_is_refused() -> None:
    with pytest.raises(LinkError, match='in lockstep'):
        EmbeddedWorld(load('two_carts'))


def test_a_contract_of_another_name_needs_the_name_of_its_robot() -> None:
    mine = changed('warehouse_cart', contract='my_cart')
    with pytest.raises(BoundaryError, match="installed simulated robot .*got 'my_cart'"):
        EmbeddedWorld(mine)
    world = EmbeddedWorld(mine, robot='warehouse_cart')
    assert set(world.reset(seed=1, options={}, wrappers=())) == {'cart'}


def test_a_contract_of_one_agent_has_topics_without_its_name() -> None:
    world = EmbeddedWorld(load('warehouse_cart', Pacing.LOCKSTEP))
    (result,) = world.reset(seed=1, options={}, wrappers=()).values()
    sources = {field.name: field.source for field in result.transition.after}
    assert sources['scan'] == 'scan'


def test_an_agent_more_is_one_boundary_more() -> None:
    loaded = load('warehouse_cart', Pacing.LOCKSTEP)
    several = replace(loaded, contract=replace(loaded.contract, agents=('one', 'two')))
    with pytest.raises(ResetFailed, match=r'one\.start'):
        EmbeddedWorld(several).reset(seed=1, options={}, wrappers=())


def test_the_cart_speaks_in_the_frames_of_its_contract_and_in_another_it_is_stopped() -> None:
    pytest.importorskip('ruckig', reason='needs boundary_env_ros[motion]')
    world = EmbeddedWorld(changed('guarded_cart', safety__obstacles__hall__frame='laser'))
    world.reset(seed=1, options={'scenario': 'clear'}, wrappers=())
    world.step({'cart': (0.1, 0.0)})
    moved = EmbeddedWorld(changed('guarded_cart', safety__workspace__pose__frame='map'))
    moved.reset(seed=1, options={'scenario': 'clear'}, wrappers=())
    result = moved.step({'cart': (0.1, 0.0)})['cart'][-1]
    assert result.transition.verdict is Verdict.STOPPED
