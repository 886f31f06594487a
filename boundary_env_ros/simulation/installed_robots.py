# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which simulated robots are installed, and one of them made for a contract."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partialmethod
import math
from typing import cast, Protocol

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.errors import BoundaryError, MissingDependency
from boundary_env_ros.resources import entry_points
from boundary_env_ros.simulation.robot import SimulatedRobot

GROUP = 'boundary_env_ros.robots'


#: Worlds that are no robots, each a subclass of EnvironmentPlugin; found like robots.
PLUGINS = 'boundary_env_ros.plugins'


class RobotType(Protocol):
    """
    What an entry point of the group ``boundary_env_ros.robots`` is: a class of robots.

    It takes the contract, the present time (``start``, ns) and the values of its options, and
    raises BoundaryError for what it cannot be.
    """

    #: Default and description of each option.
    OPTIONS: Mapping[str, tuple[float, str]]

    def __call__(
        self, contract: Contract, *, start: int, options: Mapping[str, float]
    ) -> SimulatedRobot:
        """Return a robot."""


def robot_type(contract: Contract, name: str = '') -> RobotType:
    """
    Return an installed class of robots; a plugin's is one around its process.

    Parameters
    ----------
    contract
        The contract, whose name it has by default.
    name
        Name of its entry point, if that is another.

    """
    wanted = name or contract.name
    installed = {entry.name: entry for entry in entry_points(group=GROUP)}
    plugins = {entry.name: entry.value for entry in entry_points(group=PLUGINS)}
    if wanted not in installed and wanted in plugins:
        from boundary_env_ros.simulation.plugin_robot import PluginRobot

        # It is imported in the plugin's own process only.
        begin = partialmethod(PluginRobot.__init__, plugin=plugins[wanted])
        return cast(RobotType, type(wanted, (PluginRobot,), {'__init__': begin}))
    if wanted not in installed:
        raise BoundaryError(
            'Unknown robot (expected an installed simulated robot '
            f'({", ".join(sorted({*installed, *plugins})) or "there is none"}), got {wanted!r}). '
            'Install the package that has it, or pass your own in Python: '
            "BoundaryEnv(CONTRACT, world='embedded', robot=MyRobot())."
        )
    try:
        return cast(RobotType, installed[wanted].load())
    except MissingDependency:
        raise
    except (ImportError, AttributeError) as error:
        raise BoundaryError(
            f'The simulated robot {wanted!r} cannot be imported '
            f'({installed[wanted].value}): {error}.'
        ) from error


def make_robot(
    contract: Contract,
    start: int,
    options: Mapping[str, float] | None = None,
    name: str = '',
) -> SimulatedRobot:
    """
    Return an installed robot for a contract.

    Parameters
    ----------
    contract
        The contract.
    start
        Present time, ns.
    options
        Values of its options; what is not named is as by default.
    name
        Name of its entry point; empty: that of the contract.

    Raises
    ------
    BoundaryError
        If no such robot is installed, or it does not take the contract or the options.

    """
    made = robot_type(contract, name)
    given = dict(options or {})
    for option, value in given.items():
        if option not in made.OPTIONS:
            raise BoundaryError(
                'Unknown option of the robot (expected options of the robot '
                f'({", ".join(made.OPTIONS) or "it has none"}), got {option!r}).'
            )
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise BoundaryError(f'{option}: expected a number, got {value!r}.')
        if not math.isfinite(value):
            raise BoundaryError(f'{option}: expected a finite number, got {value}.')
    defaults = {option: default for option, (default, _) in made.OPTIONS.items()}
    return made(contract, start=start, options={**defaults, **given})
