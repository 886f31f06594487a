# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What every step of an environment must show, and how an environment is stepped by the tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
from gymnasium import spaces

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.frozen import frozen
from boundary_env_ros.testing.verdicts import fail

Env = gymnasium.Env[Any, Any]
Observation = Mapping[str, Any]
Info = Mapping[str, Any]


@frozen
class StepOutcome:
    """What one step returned, and the action that it was for."""

    action: Any
    observation: Observation
    reward: float
    terminated: bool
    truncated: bool
    info: Info

    @property
    def ended(self) -> bool:
        """Return whether the episode is over."""
        return self.terminated or self.truncated


def contract_of(env: Env) -> Contract:
    """Return the contract that an environment keeps."""
    contract = getattr(env.unwrapped, 'contract', None)
    if not isinstance(contract, Contract):
        fail(
            'an environment with a `contract`, as BoundaryEnv has',
            f'{type(env.unwrapped).__name__}, which has none',
            where='env()',
        )
    return contract


def reset(env: Env, seed: int | None, options: dict[str, Any] | None) -> tuple[Observation, Info]:
    """Reset, and the draws of the action space too; check what Gymnasium asks of a reset."""
    env.action_space.seed(seed)
    observation, info = env.reset(seed=seed, options=options)
    check_member(observation, env.observation_space, 'reset')
    if info.get('step') != 0:
        fail('step 0', info.get('step', 'none'), where="reset, info['step']")
    return observation, info


def step(env: Env, action: Any) -> StepOutcome:
    """Step, and check what holds of every step."""
    returned: object = env.step(action)
    if not isinstance(returned, tuple) or len(returned) != 5:
        fail(
            'observation, reward, terminated, truncated and info',
            repr(returned)[:80],
            where='step',
        )
    observation, reward, terminated, truncated, info = returned
    check_member(observation, env.observation_space, 'step')
    seen = StepOutcome(
        action=action,
        observation=observation,
        reward=float(reward),
        terminated=bool(terminated),
        truncated=bool(truncated),
        info=info,
    )
    check_ending(seen, contract_of(env))
    return seen


def check_member(observation: object, space: spaces.Space[Any], where: str) -> None:
    """Fail unless an observation is in its space, and name the field that is not."""
    if not isinstance(space, spaces.Dict) or not isinstance(observation, Mapping):
        fail('a dictionary in a Dict space', type(observation).__name__, where=where)
    if list(observation) != list(space.spaces):
        fail(f'the fields {list(space.spaces)}', list(observation), where=where)
    for name, part in space.spaces.items():
        value, place = observation[name], f'{where}, observation[{name!r}]'
        if value.dtype != part.dtype:
            fail(f'{part.dtype}', value.dtype, where=place)
        if value not in part:
            fail(f'a member of {part}', value, where=place)


def check_ending(seen: StepOutcome, contract: Contract) -> None:
    """Fail unless an ending has one flag, one ending of the contract, and one declarer."""
    where = f'step {seen.info.get("step")}'
    if seen.terminated and seen.truncated:
        fail(
            'terminated or truncated, never both',
            'both',
            where=where,
            way_out='A learner bootstraps after the one and not after the other.',
        )
    ending, declarer = seen.info.get('ending'), seen.info.get('declared_by')
    if not seen.ended:
        if ending or declarer:
            fail('no ending while the episode runs', f'{ending!r} of {declarer!r}', where=where)
        return
    kind = contract.episode.endings.get(str(ending))
    if kind is None:
        known = ', '.join(contract.episode.endings)
        fail(f'one ending of the contract ({known})', repr(ending), where=where)
    flag = 'terminated' if seen.terminated else 'truncated'
    if kind.name.lower() != flag:
        fail(f'{kind.name.lower()}, which {ending!r} is', flag, where=where)
    if not isinstance(declarer, str) or not declarer:
        fail('a node that declared the ending', repr(declarer), where=f'{where}, declared_by')
