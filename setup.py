# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Build with pip: what pyproject.toml cannot say because it depends on where the build runs.

`pip install .` compiles nothing. The nodes need the ROS 2 interfaces (msg/, srv/), which take
minutes to compile; two environment variables ask for them:

BOUNDARY_ENV_ROS_INTERFACES  off (default), or on: build the interfaces.
BOUNDARY_ENV_ROS_DISTRO      jazzy (default) or kilted: which ROS 2 the build is for. The extra
                             `ros` asks for the run-time packages of the same one.

For example: BOUNDARY_ENV_ROS_INTERFACES=on pip install '.[ros,sim]'
An isolated build fetches ROS 2 wheels from PyPI (Linux x86-64, glibc, CPython 3.10 to 3.14).
Without isolation, install the build requirements first:
pip install setuptools wheel $(python build_backend/ros_distributions.py)
"""

from __future__ import annotations

from pathlib import Path
import sys

from setuptools import setup

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / 'build_backend'))

from ros_commands import COMMANDS, InterfaceDistribution  # noqa: E402
from ros_distributions import builds_interfaces, DISTRIBUTIONS, selected_distro  # noqa: E402

NAME = 'boundary_env_ros'


def share_files() -> list[tuple[str, list[str]]]:
    """Return the files that land under `share/boundary_env_ros`, as destination and sources."""
    found = [
        ('share/ament_index/resource_index/packages', [f'resource/{NAME}']),
        (f'share/{NAME}', ['package.xml']),
    ]
    # Where interfaces are built they bring their definitions; bags are written without them too.
    for top in ('config', 'launch', *(() if builds_interfaces() else ('msg',))):
        for folder in (ROOT / top, *sorted((ROOT / top).rglob('*/'))):
            names = [
                path.relative_to(ROOT).as_posix()
                for path in sorted(folder.glob('*'))
                if path.is_file() and path.suffix != '.pyc'
            ]
            if names:
                found.append((f'share/{NAME}/{folder.relative_to(ROOT).as_posix()}', names))
    return found


setup(
    distclass=InterfaceDistribution,
    cmdclass=COMMANDS,
    data_files=share_files(),
    license='Apache-2.0',
    extras_require={
        'documents': ['jsonschema>=4.0'],
        'docs': ['furo', 'myst-parser>=3', 'sphinx>=7'],
        'gr00t': ['msgpack>=1', 'Pillow>=10', 'pyzmq>=26'],
        'http': ['aiohttp>=3.9'],
        'images': ['Pillow>=10'],
        'lint': [
            'catkin_pkg',
            'import-linter',
            'mypy',
            'ruff',
            'types-PyYAML',
            'types-jsonschema',
        ],
        # LeRobot makes numbers of arrays of one element, which NumPy 2.4 refuses.
        'lerobot': [
            'lerobot[async,dataset]>=0.6; python_version >= "3.12"',
            'lerobot[async]>=0.4.4; python_version < "3.12"',
            'numpy<2.4',
        ],
        # Minari 0.5.4, the first that keeps images without loss, needs Python 3.11.
        'minari': ['minari[hdf5]>=0.5.4; python_version >= "3.11"', 'h5py>=3.8', 'Pillow>=10'],
        'motion': ['ruckig>=0.19'],
        'openpi': ['msgpack>=1', 'Pillow>=10', 'websockets>=15'],
        'parquet': ['pyarrow>=15'],
        'pettingzoo': ['pettingzoo>=1.25'],
        'render': ['pygame>=2.5'],
        'report': ['Pillow>=10'],
        'rerun': ['rerun-sdk>=0.24'],
        'ros': list(DISTRIBUTIONS[selected_distro()].run),
        'sb3': ['stable-baselines3>=2.4'],
        'signed': ['cryptography>=40'],
        'sim': ['mujoco>=3.5'],
        'test': [
            'aiohttp>=3.9',
            'colcon-common-extensions',
            'cryptography>=40',
            'h5py>=3.8',
            'hypothesis>=6.100',
            'jsonschema>=4.18',
            'mcap-ros2-support>=0.5.5',
            'minari[hdf5]>=0.5.4; python_version >= "3.11"',
            'msgpack>=1',
            'pettingzoo>=1.25',
            'Pillow>=10.1',
            'pyarrow>=15',
            'pygame>=2.5',
            'pytest>=8',
            'pytest-timeout>=2.3',
            'pytest-xdist>=3.5',
            'pyzmq>=26',
            'ruckig>=0.19',
            'uv>=0.4',
            'websockets>=15',
        ],
    },
)
