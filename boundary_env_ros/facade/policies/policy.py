# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a policy is: anything that answers an observation with an action."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy.typing as npt

Array = npt.NDArray[Any]


class Policy(Protocol):
    """
    Answers an observation with an action, or with a chunk of them.

    A function is one. An object may have more: ``instruct(text)`` and ``reset(seed)`` are called
    at the beginning of every episode and before the warm-up, ``close()`` at the end of all;
    ``source`` says who chooses, if that is no policy, see
    :class:`boundary_env_ros.core.records.decision.Source`. All calls come from one thread.

    Before each call ``condition(delay, prefix)`` tells a policy that continues its last chunk what
    is left of it behind the observation, shape (k, n), and how many of these are executed before
    the first action of the next chunk. After each call ``metadata``, texts by name, is what the
    record is to say of the answer. One that raises
    :class:`~boundary_env_ros.errors.PolicyLost` is asked again in the next episode.
    """

    def __call__(self, observation: Mapping[str, Array], /) -> Any:
        """
        Return an action.

        Parameters
        ----------
        observation
            A member of the observation space: arrays by field, units of the contract.

        Returns
        -------
        object
            An action of the contract, shape ``(n,)``, or a chunk of shape ``(k, n)``: one for each
            of the next k steps.

        """
