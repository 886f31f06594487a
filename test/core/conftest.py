# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the tests of the core start from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.episode_world import EpisodeWorld
    from support.gate_bench import Bench


@pytest.fixture
def bench() -> Bench:
    """Return a gate that runs an episode, everything around it well."""
    from support.gate_bench import Bench

    return Bench().start()


@pytest.fixture
def world() -> EpisodeWorld:
    """Return a world whose episode runs, with a policy that drives straight on."""
    from support.episode_world import EpisodeWorld

    return EpisodeWorld().start()
