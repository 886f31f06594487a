# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The errors that Gymnasium has a name for: caught as its own, and as those of this package."""

from __future__ import annotations

import gymnasium

from boundary_env_ros import errors


class InvalidAction(errors.InvalidAction, gymnasium.error.InvalidAction):
    """Raised when an action cannot be a command: its shape, type, or a number not finite."""


class ResetNeeded(errors.ResetNeeded, gymnasium.error.ResetNeeded):
    """Raised when a step is asked for before the first reset."""


class EpisodeEnded(errors.EpisodeEnded, gymnasium.error.ResetNeeded):
    """Raised when a step is asked for after the episode ended; call ``reset`` first."""
