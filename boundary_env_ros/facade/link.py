# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The link between a policy process and its world.

The facade knows nothing else of the world. Over ROS the link is
:class:`boundary_env_ros.ros.link.RosLink`; in one process
:class:`boundary_env_ros.facade.embedded.EmbeddedLink`. Others are installed as entry points of the
group ``boundary_env_ros.links``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from boundary_env_ros.core.sources import Vector
from boundary_env_ros.core.timebase import Instant
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.errors import LinkError
from boundary_env_ros.storage.contract_file import LoadedContract

GROUP = 'boundary_env_ros.links'

Image = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """
    A transition as it reached the policy process.

    Attributes
    ----------
    transition
        The record of the step; its ``after`` is the new observation.
    delivered
        When this process had it.
    images
        Image fields, by name, shape of the contract.
    unresolved
        Those whose image did not come in time; ``images`` then holds the newest there is, or none.

    """

    transition: Transition
    delivered: Instant
    images: Mapping[str, Image] = field(default_factory=dict)
    unresolved: tuple[str, ...] = ()


class Link(Protocol):
    """
    One client's conversation with one world.

    Every call has a deadline and raises a named error when it passes; none returns half an answer.
    """

    def begin(
        self, *, seed: int | None, options: Mapping[str, object], wrappers: Sequence[str]
    ) -> Delivery:
        """
        Begin an episode and return its reset.

        Raises
        ------
        Refused
            If environment or gate refuses.
        ResetFailed
            If the world could not be reset; the message says what is missing.
        LinkTimeout
            If somebody does not answer; the message names who.

        """
        ...

    def step(self, action: Vector) -> tuple[Delivery, ...]:
        """
        Send one action and return the transitions that were closed since.

        The one that the action closed is the last.

        Those before it were closed without an action, because none came in time.

        Raises
        ------
        PeerLost
            If the environment died before it could close the step.

        """
        ...

    def close(self) -> None:
        """End what this client began, and let go of all that it holds. May be called again."""
        ...


def make_link(name: str, loaded: LoadedContract, **arguments: Any) -> Link:
    """
    Return an installed link.

    Parameters
    ----------
    name
        Entry-point name: ``ros``, ``embedded`` or somebody else's.
    loaded
        The contract.
    arguments
        What that link takes.

    Raises
    ------
    LinkError
        If no link of that name is installed.

    """
    installed = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name not in installed:
        raise LinkError(
            f'Expect an installed link ({", ".join(sorted(installed)) or "there is none"}), '
            f'actually: {name!r}.'
        )
    link: Link = installed[name].load()(loaded, **arguments)
    return link
