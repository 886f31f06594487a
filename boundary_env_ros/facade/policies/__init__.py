# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Policies: what one is, the ones that come along, and adapters for those that others trained.

An adapter imports what it adapts when it is made, so that nothing of it needs to be installed.
"""

from boundary_env_ros.facade.policies.baselines import (
    GoToGoalPolicy,
    NoOpPolicy,
    OpenDoorPolicy,
    RandomPolicy,
)
from boundary_env_ros.facade.policies.making import make_policy
from boundary_env_ros.facade.policies.policy import Policy

__all__ = [
    'GoToGoalPolicy',
    'NoOpPolicy',
    'OpenDoorPolicy',
    'Policy',
    'RandomPolicy',
    'make_policy',
]
