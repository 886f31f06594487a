# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The shipped contracts as Gymnasium ids, from ``import boundary_env_ros`` on.

Nodes and the command line import the package too, where Gymnasium may be missing and costs time.
So it is not imported for this: once it is, the ids are there.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
import sys
from types import ModuleType

#: Those of one agent; several are stepped together, which Gymnasium has no interface for.
IDS = {
    'boundary_env_ros/WarehouseCart-v0': 'warehouse_cart',
    'boundary_env_ros/DoorArm-v0': 'door_arm',
    'boundary_env_ros/GuardedCart-v0': 'guarded_cart',
    'boundary_env_ros/SO101-v0': 'so101',
}

_GYMNASIUM = 'gymnasium.envs.registration'


def register_when_imported() -> None:
    """Register the ids: at once if Gymnasium is imported already, else as soon as it is."""
    if _GYMNASIUM in sys.modules:
        _register(sys.modules[_GYMNASIUM])
    elif not any(isinstance(finder, _Watch) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Watch())


def _register(registration: ModuleType) -> None:
    """
    Register the shipped contracts, in the simulation that needs nothing else to run.

    No ``max_episode_steps``: the time limit is the contract's, and a wrapper with another would
    truncate on top of it; the environment refuses one at its reset. No
    guard of the order of calls: the environment has its own, which says more.
    """
    for name, contract in IDS.items():
        if name not in registration.registry:
            registration.register(
                id=name,
                entry_point='boundary_env_ros.facade.env:BoundaryEnv',
                order_enforce=False,
                kwargs={'contract': contract, 'world': 'embedded'},
            )


class _Watch(MetaPathFinder):
    """Sees Gymnasium's registration being imported, and lets it be found by the others."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec that the others find, whose loader registers the ids at its end."""
        if fullname != _GYMNASIUM:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def and_register(module: ModuleType) -> None:
                execute(module)
                _register(module)

            spec.loader.exec_module = and_register  # type: ignore[method-assign]
        return spec
