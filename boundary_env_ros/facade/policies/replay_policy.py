# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The actions of a recorded run, once more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.records.decision import Source
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import BoundaryError, DigestMismatch
from boundary_env_ros.facade.policies.baselines import NoOpPolicy
from boundary_env_ros.facade.policies.policy import Array
from boundary_env_ros.facade.replay_world import recorded_episodes
from boundary_env_ros.storage.contract_file import LoadedContract
from boundary_env_ros.storage.record_reader import open_records


class ReplayPolicy:
    """
    Asks for what was asked for in a recorded run, blind to what it sees.

    An episode replays the recorded one with its seed. A step that no action answered asks for the
    action before it once more. After the last one the safe command is asked for; or the last once
    more, if no action means that, as for an arm that is told where to be.

    Parameters
    ----------
    loaded
        The contract.
    path
        The run.
    other_contract
        Replay actions that were recorded under a contract with another digest, too.
    any_seed
        Replay the recorded episodes in their order, whatever their seeds.

    Raises
    ------
    DigestMismatch
        If the run was recorded under another contract.
    RecordError
        If there is no record.

    """

    source = Source.REPLAY

    def __init__(
        self,
        loaded: LoadedContract,
        path: Path,
        *,
        other_contract: bool = False,
        any_seed: bool = False,
    ) -> None:
        self._path, self._any_seed = path, any_seed
        self._recorded: list[tuple[int, tuple[Vector, ...]]] = []
        self._left: list[tuple[int, tuple[Vector, ...]]] = []
        self._actions: Iterator[Vector] = iter(())
        self._last: Vector = ()
        size, digests = loaded.contract.action_size, set()
        for episode in recorded_episodes(open_records(path)):
            digests.add(episode.reset.id.digest)
            actions = tuple(step.requested_action for step, _ in episode.steps[1:])
            self._recorded.append((episode.reset.seed, actions))
        if not self._recorded:
            raise BoundaryError(f'{path} has no episode to replay.')
        if digests != {loaded.digest} and not other_contract:
            raise DigestMismatch(
                f'{path} was recorded under another contract (expected the digest '
                f'{loaded.digest}, got {", ".join(sorted(digests))}). Run it under the contract '
                '(and pacing) that it was recorded under, or say other_contract=true.'
            )
        recorded = {len(action) for _, actions in self._recorded for action in actions if action}
        if recorded - {size}:
            raise BoundaryError(
                f'The actions in {path} have another size (expected {size} numbers, got '
                f'{", ".join(map(str, sorted(recorded)))}).'
            )
        self._rest = _rest(loaded.contract)

    def reset(self, seed: int) -> None:
        """Begin the recorded episode of this seed; the next of them, if there are several."""
        if not self._left:
            self._left = list(self._recorded)
        for index, (recorded, _) in enumerate(self._left):
            if self._any_seed or recorded == seed:
                self._actions, self._last = iter(self._left.pop(index)[1]), ()
                return
        known = sorted({recorded for recorded, _ in self._recorded})
        few = ', '.join(map(str, known[:10])) + (' ...' if len(known) > 10 else '')
        raise BoundaryError(
            f'No recorded episode has the seed {seed} (got {few} in {self._path}). '
            'Begin with one of them, or say any_seed=true.'
        )

    def __call__(self, observation: Mapping[str, Array]) -> Array:
        """Return the next recorded action."""
        recorded = next(self._actions, None)
        self._last = recorded or self._last
        if self._last and (recorded is not None or self._rest is None):
            return np.array(self._last)
        if self._rest is None:
            raise BoundaryError(f'{self._path} has no recorded action.')
        return self._rest(observation)


def _rest(contract: Contract) -> NoOpPolicy | None:
    try:
        return NoOpPolicy(contract)
    except BoundaryError:
        return None
