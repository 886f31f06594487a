# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How the tests of the core run, and what they start from: the same cases every time."""

from __future__ import annotations

import os
from pathlib import Path
import sys
from typing import Any, TYPE_CHECKING

from hypothesis import HealthCheck, settings
import pytest

if TYPE_CHECKING:
    from episode_world import EpisodeWorld
    from gate_bench import Bench

sys.path.insert(0, str(Path(__file__).parent))

#: A property that a machine under load checks slowly is still the same property.
_COMMON: dict[str, Any] = {'deadline': None, 'suppress_health_check': [HealthCheck.too_slow]}
settings.register_profile('boundary', derandomize=True, max_examples=60, **_COMMON)
settings.register_profile('boundary-long', max_examples=3000, print_blob=True, **_COMMON)
settings.load_profile(
    'boundary-long' if os.environ.get('BOUNDARY_ENV_LONG') == '1' else 'boundary'
)


@pytest.fixture
def bench() -> Bench:
    """Return a gate that runs an episode, everything around it well."""
    from gate_bench import Bench

    return Bench().start()


@pytest.fixture
def world() -> EpisodeWorld:
    """Return a world whose episode runs, with a policy that drives straight on."""
    from episode_world import EpisodeWorld

    return EpisodeWorld().start()
