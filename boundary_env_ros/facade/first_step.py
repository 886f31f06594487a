# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The first step of every run, kept as soon as it exists."""

from __future__ import annotations

from pathlib import Path
import sys

from boundary_env_ros.core.records.transition import Kind, Transition
from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.atomic import write_atomically
from boundary_env_ros.storage.contract_file import LoadedContract
from boundary_env_ros.storage.run_folder import new_run, RunFolder

#: Contracts of which this process has written a step, by digest.
_written: set[str] = set()


class FirstStep:
    """
    Writes the first step that it is given, as ``first_transition.json``, beside the contract.

    ``boundary-env audit first_transition.json`` then audits that one step, before any result is
    believed. Where the folder is said on the terminal.

    Parameters
    ----------
    loaded
        The contract.
    folder
        A new folder; None: ``runs/CONTRACT-DATE-TIME``, once for a contract in a process.
    recorded
        Whether the step is in the run folder of a record, so that it is kept here only if a folder
        is given.

    """

    def __init__(
        self, loaded: LoadedContract, folder: str | Path | None, *, recorded: bool
    ) -> None:
        self._loaded = loaded
        self._folder = None if folder is None else Path(folder)
        self._done = folder is None and recorded

    def __call__(self, transition: Transition) -> None:
        """
        Keep it, if it is the first step.

        Raises
        ------
        RecordError
            If it cannot be kept in the folder that was asked for.

        """
        if self._done or transition.kind is not Kind.STEP:
            return
        self._done = True
        if self._folder is None:
            if self._loaded.digest in _written:
                return
            _written.add(self._loaded.digest)
        try:
            place = self._folder or new_run(None, self._loaded.contract.name)
            run = RunFolder.create(place)
            write_atomically(run.contract, self._loaded.text.encode())
            run.write_first_transition(transition)
        except RecordError as error:
            if self._folder is not None:
                raise
            sys.stderr.write(f'The first step is not kept: {error}\n')
        else:
            sys.stderr.write(f'First step: {run.first_transition}\n')
