# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the mixins have in common: the contract that a subject is tested under, and how long."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.storage.contract_file import find, load, LoadedContract
from boundary_env_ros.testing.verdicts import described, fail


class UnderContract:
    """
    A subject that is tested under a contract.

    Attributes
    ----------
    seed
        Of all that is random in the tests: what failed once fails again.
    trials
        How often a test tries what it draws at random.
    pacing
        Pacing instead of the one in the file: 'realtime', 'lockstep', or None for that one.

    """

    seed = 1
    trials = 200
    pacing: str | None = None

    def contract(self) -> str | Path:
        """Return the file of the contract, or the name of a shipped one; to be overridden."""
        raise NotImplementedError(
            f'{type(self).__name__} does not say what it tests: contract() is not overridden. '
            'Let it return the file of your contract.'
        )

    def loaded(self) -> LoadedContract:
        """Return that contract, loaded; fail with all its problems if it is not valid."""
        place = self.contract()
        try:
            path = find(place)
            changed = path.stat().st_mtime_ns if path.is_file() else 0
            return _load(path, changed, self.pacing)
        except BoundaryError as error:
            fail('a valid contract', described(error), where=str(place))


@lru_cache(maxsize=16)
def _load(path: Path, changed: int, pacing: str | None) -> LoadedContract:
    """Load a contract; only once for all tests, unless the file was changed (ns) meanwhile."""
    return load(path, pacing)
