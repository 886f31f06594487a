# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A policy that is asked for what it would have done at the observations of a record."""

from __future__ import annotations

from collections.abc import Mapping
import contextlib
from typing import Any

import numpy.typing as npt

from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.transition import Kind, Transition
from boundary_env_ros.errors import BoundaryError, PolicyFailed, RecordError
from boundary_env_ros.facade.chunking import rows_of
from boundary_env_ros.facade.policies import make_policy, Policy
from boundary_env_ros.facade.spaces import observation_values
from boundary_env_ros.storage.contract_file import LoadedContract
from boundary_env_ros.storage.pixels import pixels_of
from boundary_env_ros.storage.recorded_images import RecordedImages
from boundary_env_ros.storage.records import RecordSource


class RecordedPolicy:
    """
    Asks a policy, one for each agent, about recorded observations.

    Parameters
    ----------
    name, options
        The policy, as for :func:`~boundary_env_ros.facade.policies.make_policy`.
    loaded
        The contract that the observations are frozen under.
    source
        The bag, which has the images; None if the record has none.

    Attributes
    ----------
    lost
        Observations whose images the record does not have; the policy was not asked there.

    """

    def __init__(
        self,
        name: str,
        options: Mapping[str, object],
        loaded: LoadedContract,
        source: RecordSource | None,
    ) -> None:
        self._name, self._options, self._loaded = name, options, loaded
        self._specs = {spec.name: spec for spec in loaded.contract.observation if spec.is_image}
        if self._specs and source is None:
            raise RecordError(
                f'The record has no raw messages, and so no images of {", ".join(self._specs)}. '
                'Name the run folder or its bag.'
            )
        self._images = (
            None
            if source is None or not self._specs
            else RecordedImages(source, tuple(self._specs.values()))
        )
        self._policies: dict[str, Policy] = {}
        self.lost = 0
        self._policy(loaded.contract.agents[0])  # what cannot be made is said at once

    def __call__(self, then: Transition, log_time: int) -> tuple[Vector, ...]:
        """
        Return what the policy predicts from an observation, one action a step.

        Nothing if an image of it is lost.

        Raises
        ------
        PolicyFailed
            If the policy raises, or gives no action.

        """
        policy = self._policy(then.id.agent)
        contract = self._loaded.contract
        images: dict[str, npt.NDArray[Any]] = {}
        for field in then.after:
            spec = self._specs.get(field.name)
            if spec is None or self._images is None or field.image is None:
                continue
            message = self._images.message(field.image, log_time)
            if message is not None:
                images[field.name] = pixels_of(spec, message)
        try:
            if then.kind is Kind.RESET and hasattr(policy, 'reset'):
                policy.reset(then.seed)
            if len(images) < len(self._specs):
                self.lost += 1
                return ()
            return rows_of(contract, policy(observation_values(contract, then.after, images)))
        except BoundaryError as error:
            raise PolicyFailed(f'The policy, asked for step {then.id.step}: {error}') from error
        except Exception as error:
            raise PolicyFailed(
                f'The policy failed in step {then.id.step} of {then.id.episode_id}: '
                f'{type(error).__name__}: {error}'
            ) from error

    def close(self) -> None:
        """Close the policies, if they want to know."""
        for policy in self._policies.values():
            close = getattr(policy, 'close', None)
            if close is not None:
                with contextlib.suppress(Exception):  # nothing depends on it any more
                    close()

    def _policy(self, agent: str) -> Policy:
        policy = self._policies.get(agent)
        if policy is None:
            policy = make_policy(self._name, self._loaded, self._options)
            self._policies[agent] = policy
        return policy
