# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Open the simulated door: look at the handle, grasp it, pull it along its arc.

The contract has two fields for the evaluator alone: the true angle of the hinge, and contact.
"""

from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.facade.policies import OpenDoorPolicy


def main() -> None:
    """Open the door once."""
    env = BoundaryEnv('door_arm', world='embedded', pacing='lockstep')
    policy = OpenDoorPolicy()
    observation, _ = env.reset(seed=1)
    hidden = ', '.join(field.name for field in env.contract.privileged)
    print(f'the policy sees handle_yaw; only the evaluator sees {hidden}')
    assert not set(hidden.split(', ')) & set(observation)
    terminated = truncated = False
    while not (terminated or truncated):
        observation, reward, terminated, truncated, info = env.step(policy(observation))
        (opened,) = observation['handle_yaw']
        print(info['step'], info['verdict'], f'{opened:.2f} rad, reward {reward:.2f}')
    print(info['ending'])
    env.close()


if __name__ == '__main__':
    main()
