# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Train PPO to drive the simulated cart to a goal, then drive the same policy over ROS 2.

Training runs in one process for each cart, without ROS. With ``--world ros`` the saved policy
drives nodes that are started here, through the same safety gate.
"""

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
import os
from pathlib import Path
import tempfile
import time
from typing import Any

import gymnasium
from gymnasium.wrappers import RescaleAction, TransformObservation
import numpy as np
import numpy.typing as npt
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import SubprocVecEnv
import torch

CART = 'boundary_env_ros:boundary_env_ros/WarehouseCart-v0'

#: Goal in the frame of the cart, m, then forward speed, m/s, and turn rate, rad/s.
SEEN = np.array([16.0, 16.0, 2.0, 6.0], dtype=np.float32)

#: Episodes that are judged begin with seeds that training does not draw.
FIRST_SEED = 1000


class Scenario(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Begins every episode in one scenario of the task."""

    def __init__(self, env: gymnasium.Env[Any, Any], name: str) -> None:
        super().__init__(env)
        self._options = {'scenario': name}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Reset, unless told otherwise, into the scenario."""
        return super().reset(seed=seed, options={**self._options, **(options or {})})


def goal_ahead(observation: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.float32]:
    """Return what the policy sees: where the goal is, as seen from the cart, and how it moves."""
    x, y, yaw = observation['pose']
    to_x, to_y = observation['goal'] - np.array([x, y])
    ahead = np.cos(yaw) * to_x + np.sin(yaw) * to_y
    aside = np.cos(yaw) * to_y - np.sin(yaw) * to_x
    seen = np.array([ahead, aside, *observation['velocity']], dtype=np.float32)
    return np.clip(seen / SEEN, -1.0, 1.0)


def make_cart(world: str, **arguments: Any) -> gymnasium.Env[Any, Any]:
    """Return the cart as the policy sees it, whatever the world."""
    env = gymnasium.make(CART, world=world, pacing='lockstep', **arguments)
    env = Scenario(env, 'clear')
    box = gymnasium.spaces.Box(-1.0, 1.0, shape=SEEN.shape)
    env = TransformObservation(env, goal_ahead, box)
    return RescaleAction(env, np.float32(-1.0), np.float32(1.0))


class Curve(BaseCallback):
    """Prints after each rollout how many episodes reached the goal."""

    def _on_training_start(self) -> None:
        self._begin, self._endings = time.monotonic(), Counter[str]()

    def _on_step(self) -> bool:
        infos = self.locals['infos']
        self._endings.update(info['ending'] for info in infos if info['ending'])
        return True

    def _on_rollout_end(self) -> None:
        print(
            f'{self.num_timesteps:>6} steps, {time.monotonic() - self._begin:3.0f} s: '
            f'{self._endings["success"]} of {self._endings.total()} episodes reached the goal'
        )
        self._endings.clear()


def train(steps: int, carts: int, contract: str) -> PPO:
    """Return a policy that was trained on some carts at once."""
    # Many small matrices: more threads would only wait for each other.
    torch.set_num_threads(1)
    world = make_vec_env(
        make_cart,
        n_envs=carts,
        seed=0,
        env_kwargs={'world': 'embedded', 'contract': contract},
        vec_env_cls=SubprocVecEnv,
    )
    try:
        model = PPO(
            'MlpPolicy',
            world,
            n_steps=min(1024, steps) // carts,
            batch_size=64,
            gamma=0.95,
            learning_rate=1e-3,
            seed=0,
            device='cpu',
        )
        begin = time.monotonic()
        model.learn(steps, callback=Curve())
        print(f'trained {model.num_timesteps} steps in {time.monotonic() - begin:.0f} s')
    finally:
        world.close()
    return model


def drive(model: PPO, env: gymnasium.Env[Any, Any], episodes: int) -> Counter[str]:
    """Drive some episodes without exploration, and return the number of each ending."""
    endings: Counter[str] = Counter()
    for number in range(episodes):
        observation, info = env.reset(seed=FIRST_SEED + number)
        terminated = truncated = False
        while not (terminated or truncated):
            action, _ = model.predict(observation, deterministic=True)
            observation, _, terminated, truncated, info = env.step(action)
        endings[info['ending']] += 1
    return endings


@contextmanager
def nodes(run: Path, contract: str) -> Iterator[int]:
    """Run robot, gate, environment and recorder as processes; yield their ROS domain."""
    from boundary_env_ros.ros.domain import free_domain
    from boundary_env_ros.ros.processes import isolated_environment, NodeSpec, running

    domain = free_domain()
    os.environ.update(isolated_environment(domain))
    common = {'contract': contract, 'pacing': 'lockstep'}
    specs = [
        NodeSpec(name='recorder', parameters={**common, 'run': str(run)}),
        *(
            NodeSpec(name=name, parameters=common)
            for name in ('simulated_robot', 'safety_gate', 'environment')
        ),
    ]
    with (
        tempfile.TemporaryDirectory() as logs,
        running(specs, domain_id=domain, logs=Path(logs), timeout=60.0),
    ):
        yield domain


def main() -> None:
    """Train, or load, and drive."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        '--policy',
        type=Path,
        default=Path('train_cart.zip'),
        help='where the policy is saved; if it is there already, it is not trained again '
        '(default: %(default)s)',
    )
    parser.add_argument(
        '--world',
        choices=('embedded', 'ros'),
        default='embedded',
        help='which world the policy is judged in (default: %(default)s)',
    )
    parser.add_argument(
        '--run',
        type=Path,
        default=Path('runs/train_cart'),
        help='new folder that the record over ROS goes to (default: %(default)s)',
    )
    parser.add_argument(
        '--contract',
        default='warehouse_cart',
        help='name of a shipped contract of the cart, or a file (default: %(default)s)',
    )
    parser.add_argument('--steps', type=int, default=16384, help='of training (%(default)s)')
    parser.add_argument('--carts', type=int, default=4, help='in training (%(default)s)')
    parser.add_argument('--episodes', type=int, default=20, help='to judge by (%(default)s)')
    given = parser.parse_args()

    if given.policy.exists():
        model = PPO.load(given.policy, device='cpu')
    else:
        model = train(given.steps, given.carts, given.contract)
        model.save(given.policy)
    if given.world == 'embedded':
        env = make_cart('embedded', contract=given.contract)
        endings = drive(model, env, given.episodes)
        env.close()
    else:
        with nodes(given.run, given.contract) as domain:
            env = make_cart('ros', contract=given.contract, domain_id=domain)
            endings = drive(model, env, given.episodes)
            env.close()
    print(f'{given.world}: {endings["success"]} of {given.episodes} reach the goal', dict(endings))
    print('success' if endings['success'] == given.episodes else 'not always')


if __name__ == '__main__':
    main()
