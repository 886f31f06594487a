# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The link to a world of one agent in this process; see :mod:`.embedded_world` for several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.errors import LinkError
from boundary_env_ros.facade.embedded_world import EmbeddedWorld, Sink
from boundary_env_ros.facade.link import Asked, Delivery
from boundary_env_ros.simulation.robot import SimulatedRobot
from boundary_env_ros.storage.contract_file import LoadedContract


class EmbeddedLink:
    """
    A world of its own, in this process, for the one agent of a contract.

    Parameters
    ----------
    loaded
        The contract; its pacing must be lockstep.
    robot
        The robot, or the name of an installed one; default: that with the contract's name.
    robot_options
        Values of the options of an installed robot.
    sink
        Is given every record as it is made.
    client
        Name of this client in the record.
    record
        New file for the transitions, a line of JSON each.

    """

    def __init__(
        self,
        loaded: LoadedContract,
        *,
        robot: SimulatedRobot | str | None = None,
        robot_options: Mapping[str, float] | None = None,
        sink: Sink | None = None,
        client: str = 'embedded',
        record: str | Path | None = None,
    ) -> None:
        agents = loaded.contract.agents
        if len(agents) != 1:
            raise LinkError(
                f'The embedded link drives one agent, and the contract has '
                f'{", ".join(agents)}. Use boundary_env_ros.facade.multi_agent, which steps them '
                'together.'
            )
        (self._agent,) = agents
        self._world = EmbeddedWorld(
            loaded,
            robot=robot,
            robot_options=robot_options,
            sink=sink,
            client=client,
            record=record,
        )

    def begin(
        self, *, seed: int | None, options: Mapping[str, object], wrappers: Sequence[str]
    ) -> Delivery:
        """Begin an episode; see :meth:`Link.begin`."""
        return self._world.begin(seed=seed, options=options, wrappers=wrappers)[self._agent]

    def step(self, action: Vector | Asked) -> tuple[Delivery, ...]:
        """Send one action; see :meth:`Link.step`."""
        return self._world.step({self._agent: action})[self._agent]

    def observe(self) -> tuple[Delivery, ...]:
        """Return nothing: the world waits; see :meth:`Link.observe`."""
        return ()

    def close(self) -> None:
        """End a running episode as ``abandoned``, and let go of the world."""
        self._world.close()
