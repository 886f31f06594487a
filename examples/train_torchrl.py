# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Train PPO with TorchRL: its wrapper, collector, advantage and loss on the cart."""

import argparse
from typing import Any

import gymnasium
from tensordict.nn import TensorDictModule
from tensordict.nn.distributions import NormalParamExtractor
import torch
from torch import nn
from torchrl.collectors import Collector
from torchrl.data import LazyTensorStorage, ReplayBuffer, SamplerWithoutReplacement
from torchrl.envs import GymWrapper, RewardSum, StepCounter, TransformedEnv
from torchrl.modules import ProbabilisticActor, TanhNormal, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from train_loop import make_cart


def network(out: int) -> nn.Sequential:
    """Return two hidden layers."""
    return nn.Sequential(
        nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, out)
    )


def main() -> None:
    """Train, and print after each batch what the episodes brought that ended in it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--steps', type=int, default=16384, help='of training (%(default)s)')
    parser.add_argument('--batch', type=int, default=1024, help='before an update (%(default)s)')
    given = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)

    cart: gymnasium.Env[Any, Any] = make_cart()
    env = TransformedEnv(GymWrapper(cart))
    env.append_transform(RewardSum())
    env.append_transform(StepCounter())
    env.set_seed(0)

    policy = ProbabilisticActor(
        TensorDictModule(
            nn.Sequential(network(4), NormalParamExtractor()), ['observation'], ['loc', 'scale']
        ),
        in_keys=['loc', 'scale'],
        distribution_class=TanhNormal,
        return_log_prob=True,
    )
    critic = ValueOperator(network(1), in_keys=['observation'])
    # A truncated episode is bootstrapped, a terminated one is not: GAE knows both flags.
    advantage = GAE(gamma=0.95, lmbda=0.95, value_network=critic, average_gae=True)
    loss = ClipPPOLoss(policy, critic, clip_epsilon=0.2, entropy_coeff=1e-3)
    optimizer = torch.optim.Adam(loss.parameters(), lr=1e-3)
    batch = ReplayBuffer(
        storage=LazyTensorStorage(given.batch),
        sampler=SamplerWithoutReplacement(),
        batch_size=64,
    )
    collector = Collector(env, policy, frames_per_batch=given.batch, total_frames=given.steps)
    done = 0
    for steps in collector:
        for _ in range(10):
            advantage(steps)
            batch.extend(steps.reshape(-1))
            for _ in range(given.batch // 64):
                losses = loss(batch.sample())
                total = sum(losses[f'loss_{part}'] for part in ('objective', 'critic', 'entropy'))
                optimizer.zero_grad()
                total.backward()
                nn.utils.clip_grad_norm_(loss.parameters(), 0.5)
                optimizer.step()
        done += steps.numel()
        ended = steps['next', 'done'].squeeze(-1)
        brought = steps['next', 'episode_reward'].squeeze(-1)[ended]
        mean = f'{brought.mean():.2f}' if ended.any() else 'none'
        print(f'{done:>6} steps: {int(ended.sum())} episodes ended, mean return {mean}')
    collector.shutdown()


if __name__ == '__main__':
    main()
