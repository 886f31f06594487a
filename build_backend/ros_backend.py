# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
PEP 517 backend: setuptools, which also asks for ROS 2 where ROS 2 can be had.

The build requirements depend on the machine (there are no ROS wheels for most of them) and on the
ROS distribution to build for, so they cannot stand in pyproject.toml. See setup.py for the
environment variables.
"""

from __future__ import annotations

from ros_distributions import build_requirements
from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    'build_editable',
    'build_sdist',
    'build_wheel',
    'get_requires_for_build_editable',
    'get_requires_for_build_sdist',
    'get_requires_for_build_wheel',
    'prepare_metadata_for_build_editable',
    'prepare_metadata_for_build_wheel',
]


def get_requires_for_build_wheel(
    config_settings: dict[str, str | list[str] | None] | None = None,
) -> list[str]:
    """Return what setuptools asks for, and the ROS wheels that the interfaces need."""
    return [*build_meta.get_requires_for_build_wheel(config_settings), *build_requirements()]


def get_requires_for_build_editable(
    config_settings: dict[str, str | list[str] | None] | None = None,
) -> list[str]:
    """Return the same as for a wheel: an editable install has built interfaces, too."""
    return [*build_meta.get_requires_for_build_editable(config_settings), *build_requirements()]
