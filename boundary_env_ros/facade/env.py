# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The Gymnasium environment over a contract and a link."""

from __future__ import annotations

from pathlib import Path
from typing import Any, SupportsFloat

import gymnasium
import numpy.typing as npt

from boundary_env_ros.core.contract import Contract, Pacing
from boundary_env_ros.core.images import as_rgb
from boundary_env_ros.errors import BoundaryError, EpisodeEnded, ResetNeeded
from boundary_env_ros.facade.info import step_info
from boundary_env_ros.facade.link import Delivery, Link, make_link
from boundary_env_ros.facade.spaces import (
    action_space,
    action_vector,
    observation_space,
    observation_values,
)
from boundary_env_ros.storage.contract_file import load

Array = npt.NDArray[Any]
Observations = dict[str, Array]


class BoundaryEnv(gymnasium.Env[Any, Array]):
    """
    A robot behind a contract, stepped like any Gymnasium environment.

    The robot moves only through the safety gate. In realtime pacing the world does not wait: a
    ``step`` that comes late returns the transition that its action closed, and what was closed
    without one stands in ``info['missed']``, with its rewards added to none of yours. In lockstep
    the world waits.

    Parameters
    ----------
    contract
        File of a contract, or the name of a shipped one.
    link
        How to reach the world: ``'ros'``, ``'embedded'``, or the name of another installed link.
    pacing
        ``'realtime'`` or ``'lockstep'`` instead of what the contract says; every other process
        must be started with the same.
    render_mode
        ``'rgb_array'`` shows the first image field of the observation.
    link_arguments
        Passed on to the link, for example ``domain_id`` or ``namespace`` of the ROS link.

    Raises
    ------
    ContractError
        If the contract is not valid.
    LinkError
        If there is no such link. The link itself is made at the first ``reset``; the spaces need
        none.

    """

    metadata = {  # noqa: RUF012 - as Gymnasium declares it
        'render_modes': ['rgb_array'],
        'render_fps': 10,
    }

    def __init__(
        self,
        contract: str | Path = 'warehouse_cart',
        *,
        link: str = 'ros',
        pacing: str | None = None,
        render_mode: str | None = None,
        **link_arguments: Any,
    ) -> None:
        if render_mode is not None and render_mode not in self.metadata['render_modes']:
            raise BoundaryError(
                f"Expect render_mode None or 'rgb_array', actually: {render_mode!r}."
            )
        self._loaded = load(contract, _pacing(pacing))
        self._link_name = link
        self._link_arguments = link_arguments
        self._link: Link | None = None
        self._closed = False
        self._running = False
        self._ended = False
        self._last: Delivery | None = None
        self._images: dict[str, Array] = {}
        self.render_mode = render_mode
        self.observation_space = observation_space(self.contract)
        self.action_space = action_space(self.contract)

    @property
    def contract(self) -> Contract:
        """The contract that this environment keeps."""
        return self._loaded.contract

    @property
    def digest(self) -> str:
        """The identity of that contract."""
        return self._loaded.digest

    @property
    def episode_id(self) -> str:
        """UUID of the last episode, as in its record; empty before the first."""
        return '' if self._last is None else self._last.transition.id.episode_id

    @property
    def last(self) -> Delivery | None:
        """The last transition, whole, as it was delivered; None before the first reset."""
        return self._last

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """
        Begin an episode: the world is reset, the gate armed for this client alone.

        A running episode is ended first, as ``abandoned``.

        Parameters
        ----------
        seed
            Seed of the episode; without one it is drawn from the generator that the last seed
            started.
        options
            Options of the task, for example ``{'scenario': 'clear'}``.

        Raises
        ------
        LinkError
            If a node is missing (the message names it), refuses, or does not answer within its
            deadline.
        ResetFailed
            If the world could not be brought into the sampled state.

        """
        super().reset(seed=seed)
        if self._closed:
            raise BoundaryError(
                'Expect an open environment, actually: it was closed. Make a new one.'
            )
        if self._link is None:
            self._link = make_link(self._link_name, self._loaded, **self._link_arguments)
        self._running = self._ended = False
        self._images.clear()
        delivery = self._link.begin(
            seed=int(self.np_random.integers(2**63)) if seed is None else seed,
            options=options or {},
            wrappers=(),
        )
        self._running = True
        return self._observed(delivery), step_info(delivery)

    def step(
        self, action: Array
    ) -> tuple[Observations, SupportsFloat, bool, bool, dict[str, Any]]:
        """
        Ask the robot for one action, and return what came of it.

        The gate admits, limits, holds, stops or rejects it; ``info`` says which, and why. After
        ``terminated`` (the task ended) or ``truncated`` (something else ended it;
        ``info['cause']``) the robot is being stopped; call ``reset``.

        Parameters
        ----------
        action
            A member of ``action_space``, units and order of the contract. Out of bounds is
            allowed, and limited by the gate. A chunk is driven to its end, or to a stop; the
            reward is the sum over its steps.

        Raises
        ------
        InvalidAction
            If it has another shape or is not finite. Nothing was sent.
        ResetNeeded, EpisodeEnded
            If there is no running episode.
        LinkError
            If a process that the step needs is lost; the message names it.

        """
        if self._ended:
            raise EpisodeEnded(
                'Expect a running episode, actually: it has ended. Call reset() first.'
            )
        if not self._running or self._link is None:
            raise ResetNeeded(
                'Expect a running episode, actually: none was begun. Call reset() first.'
            )
        deliveries = self._link.step(action_vector(self.contract, action))
        last = deliveries[-1]
        missed = [d for d in deliveries[:-1] if d.transition.overrun]
        # The others are the steps of a chunk: what it brought is the sum.
        reward = sum(
            d.transition.reward for d in deliveries if d is last or not d.transition.overrun
        )
        transition = last.transition
        self._ended = transition.terminated or transition.truncated
        return (
            self._observed(last),
            reward,
            transition.terminated,
            transition.truncated,
            step_info(last, missed),
        )

    def render(self) -> Array | None:
        """Return the last image of the first image field, shape (height, width, 3), RGB, uint8."""
        if self.render_mode is None:
            return None
        for spec in self.contract.observation:
            if spec.is_image:
                image = self._images.get(spec.name)
                if image is None:
                    raise ResetNeeded(
                        'Expect an observation to render, actually: none. Call reset().'
                    )
                return as_rgb(spec, image)
        raise BoundaryError('Expect an image field to render, actually: the contract has none.')

    def close(self) -> None:
        """
        End a running episode as ``abandoned`` and let go of the link.

        Other environments are not touched.
        """
        self._closed = True
        self._running = False
        if self._link is not None:
            self._link.close()
            self._link = None

    def _observed(self, delivery: Delivery) -> Observations:
        self._last = delivery
        self._images.update(delivery.images)
        return observation_values(self.contract, delivery.transition.after, self._images)


def _pacing(name: str | None) -> Pacing | None:
    if name is None:
        return None
    names = {pacing.name.lower(): pacing for pacing in Pacing}
    if name not in names:
        raise BoundaryError(f'Expect a pacing out of {", ".join(names)}, actually: {name!r}.')
    return names[name]
