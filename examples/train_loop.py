# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Train PPO in one loop that can be read through, in the way of CleanRL, with PyTorch alone.

Several carts of this process are stepped as one Gymnasium vector environment. What the loop has
to mind is what every learner on this boundary has to mind: a truncated episode is bootstrapped
from its last observation, a terminated one is not.
"""

import argparse
from collections import Counter
from typing import Any

import gymnasium
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import RescaleAction, TransformObservation
import numpy as np
import torch
from torch import nn
from torch.distributions import Normal

CART = 'boundary_env_ros:boundary_env_ros/WarehouseCart-v0'
SCALE = np.array([16.0, 16.0, 2.0, 6.0], dtype=np.float32)  # m, m, m/s, rad/s
GAMMA, LAMBDA, CLIP, EPOCHS, BATCH = 0.95, 0.95, 0.2, 10, 64


def goal_ahead(observation: dict[str, Any]) -> np.ndarray:
    """Return the goal in the frame of the cart, and how the cart moves, shape (4,), scaled."""
    x, y, yaw = observation['pose']
    dx, dy = observation['goal'] - np.array([x, y])
    ahead, aside = np.cos(yaw) * dx + np.sin(yaw) * dy, np.cos(yaw) * dy - np.sin(yaw) * dx
    seen = np.array([ahead, aside, *observation['velocity']], dtype=np.float32)
    return np.clip(seen / SCALE, -1.0, 1.0)


class Clear(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Begins every episode without obstacles, those too that a vector begins by itself."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Reset into the scenario."""
        return super().reset(seed=seed, options={'scenario': 'clear', **(options or {})})


def make_cart() -> gymnasium.Env[Any, Any]:
    """Return a cart that sees where its goal is, and takes actions from -1 to 1."""
    env = Clear(gymnasium.make(CART, world='embedded'))
    env = TransformObservation(env, goal_ahead, gymnasium.spaces.Box(-1.0, 1.0, shape=(4,)))
    return RescaleAction(env, np.float32(-1.0), np.float32(1.0))


class Agent(nn.Module):
    """The mean of the action, its spread, and the value of an observation."""

    def __init__(self) -> None:
        super().__init__()
        self.actor = nn.Sequential(
            nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2)
        )
        self.critic = nn.Sequential(
            nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1)
        )
        self.log_spread = nn.Parameter(torch.zeros(2))

    def policy(self, observation: torch.Tensor) -> Normal:
        """Return the distribution of the action, shape (n, 2)."""
        return Normal(self.actor(observation), self.log_spread.exp())

    def value(self, observation: torch.Tensor) -> torch.Tensor:
        """Return the expected return, shape (n,)."""
        return self.critic(observation).squeeze(-1)


def main() -> None:
    """Train, and print after each rollout how the episodes ended."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--steps', type=int, default=16384, help='of training (%(default)s)')
    parser.add_argument('--carts', type=int, default=4, help='stepped at once (%(default)s)')
    parser.add_argument(
        '--rollout', type=int, default=256, help='steps of each before an update (%(default)s)'
    )
    given = parser.parse_args()

    torch.manual_seed(0)
    torch.set_num_threads(1)
    carts = SyncVectorEnv([make_cart] * given.carts, autoreset_mode=AutoresetMode.SAME_STEP)
    agent = Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3)
    shape = (given.rollout, given.carts)
    seen = torch.zeros((*shape, 4))
    acted = torch.zeros((*shape, 2))
    chance, reward, value, after, ends = (torch.zeros(shape) for _ in range(5))

    observation, _ = carts.reset(seed=0)
    for begin in range(0, given.steps, given.rollout * given.carts):
        endings: Counter[str] = Counter()
        for t in range(given.rollout):
            seen[t] = torch.from_numpy(observation)
            with torch.no_grad():
                policy = agent.policy(seen[t])
                acted[t] = policy.sample()
                chance[t], value[t] = policy.log_prob(acted[t]).sum(-1), agent.value(seen[t])
            observation, gained, terminated, truncated, info = carts.step(
                acted[t].clamp(-1, 1).numpy()
            )
            # What came next in the same episode, which is over in `final_obs`.
            next_seen = observation.copy()
            for cart in np.flatnonzero(terminated | truncated):
                next_seen[cart] = info['final_obs'][cart]
                endings[info['final_info']['ending'][cart]] += 1
            with torch.no_grad():
                after[t] = agent.value(torch.from_numpy(next_seen)) * torch.from_numpy(~terminated)
            reward[t] = torch.from_numpy(gained)
            ends[t] = torch.from_numpy(terminated | truncated)

        advantage, ahead = torch.zeros(shape), torch.zeros(given.carts)
        for t in reversed(range(given.rollout)):
            surprise = reward[t] + GAMMA * after[t] - value[t]
            ahead = advantage[t] = surprise + GAMMA * LAMBDA * (1.0 - ends[t]) * ahead
        wanted = (advantage + value).flatten()
        flat = [part.flatten(0, 1) for part in (seen, acted, chance, advantage)]
        for _ in range(EPOCHS):
            for rows in torch.randperm(len(wanted)).split(BATCH):
                x, a, before, gain = (part[rows] for part in flat)
                policy = agent.policy(x)
                ratio = (policy.log_prob(a).sum(-1) - before).exp()
                gain = (gain - gain.mean()) / (gain.std() + 1e-8)
                loss = -torch.min(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain).mean()
                loss = loss + 0.5 * (agent.value(x) - wanted[rows]).square().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
        done = begin + given.rollout * given.carts
        print(
            f'{done:>6} steps: {endings["success"]} of {endings.total()} episodes reached the goal'
        )
    carts.close()


if __name__ == '__main__':
    main()
