# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Drive the simulated cart through services alone; the nodes run, in lockstep, with services."""

from boundary_env_ros.core.records.environment_event import EnvironmentEvent, EventKind
from boundary_env_ros.facade.policies import GoToGoalPolicy
from boundary_env_ros.ros.service_client import BoundaryClient


def tell(event: EnvironmentEvent) -> None:
    """Print what the gate did; called on a thread of its own."""
    print(event.id.step, event.reason)


policy = GoToGoalPolicy()
with BoundaryClient('example') as client:
    client.on(EventKind.SAFETY, tell)
    seen = client.reset(environment='warehouse_cart', seed=1, options={'scenario': 'clear'})
    while not client.is_done:
        values = {field.name: field.values for field in seen.observation.fields}
        seen = client.step(policy(values), metadata={'policy': 'go_to_goal'})
print(seen.transitions[-1].ending)
