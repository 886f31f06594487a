# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The folder of one run: every file in it is named here, and nowhere else."""

from __future__ import annotations

from datetime import datetime
import os
from pathlib import Path

from boundary_env_ros.core.records.transition import Kind, Transition
from boundary_env_ros.errors import RecordError
from boundary_env_ros.frozen import frozen
from boundary_env_ros.storage.atomic import making, write_atomically
from boundary_env_ros.storage.transition_json import transition_text


def new_run(run: Path | None, name: str) -> Path:
    """
    Return the folder for a record: ``runs/NAME-DATE-TIME``, if no other is wanted.

    The environment variable ``BOUNDARY_ENV_RUNS`` names another folder than ``runs``.

    Raises
    ------
    RecordError
        If the one that is wanted is there already.

    """
    if run is not None:
        if run.exists():
            place = run.resolve()
            raise RecordError(
                f'The folder exists already (expected a new one, got {place}). Choose another '
                '--run.'
            )
        return run.resolve()
    stem = f'{name}-{datetime.now():%Y%m%d-%H%M%S}'
    runs = Path(os.environ.get('BOUNDARY_ENV_RUNS') or 'runs').resolve()
    names = (stem, *(f'{stem}-{number}' for number in range(2, 1000)))
    return next(runs / each for each in names if not (runs / each).exists())


@frozen(kw_only=False)
class RunFolder:
    """
    The folder of one run; a new one is made by :meth:`create`.

    Attributes
    ----------
    path
        The folder.

    """

    path: Path

    @classmethod
    def create(cls, path: Path) -> RunFolder:
        """
        Make the folder of a new run.

        Parameters
        ----------
        path
            A place where nothing is, or an empty folder.

        Raises
        ------
        RecordError
            If something is there already, or the folder cannot be made.

        """
        with making(path, 'a new run', 'folder'):
            path.mkdir(parents=True, exist_ok=True)
            if any(path.iterdir()):
                raise FileExistsError
        return cls(path)

    @property
    def bag(self) -> Path:
        """Return the folder of the bag."""
        return self.path / 'bag'

    @property
    def contract(self) -> Path:
        """Return the copy of the contract."""
        return self.path / 'contract.yaml'

    @property
    def first_transition(self) -> Path:
        """Return the first step of the run, a transition as JSON."""
        return self.path / 'first_transition.json'

    @property
    def episodes(self) -> Path:
        """Return the index of the episodes (SQLite)."""
        return self.path / 'episodes.sqlite'

    @property
    def summary(self) -> Path:
        """Return the summary as JSON: an export, which no command reads and no audit looks at."""
        return self.path / 'summary.json'

    @property
    def report(self) -> Path:
        """Return the page that explains the run."""
        return self.path / 'report.html'

    def write_first_transition(self, transition: Transition) -> bool:
        """
        Keep the first step of the run, where it can be looked at while the run goes on.

        The file is there whole or not at all. To be called with the transitions, the first ones at
        least.

        Returns
        -------
        bool
            False for that of a reset, and if one is kept already; that one stays.

        Raises
        ------
        RecordError
            If it cannot be written.

        """
        if transition.kind is not Kind.STEP or self.first_transition.exists():
            return False
        write_atomically(self.first_transition, transition_text(transition))
        return True
