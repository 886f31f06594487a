# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What a crash or a bad disk left of a run, made whole: bag, first transition, index.

Each file is written again beside the old one, and takes its place when it is complete and on the
disk. Whatever ends the recovery before leaves the old file; a second one begins with what is left
to do. What is whole already is not touched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
import fcntl
from functools import partial
import itertools
from pathlib import Path, PurePosixPath
from typing import Any, Final

from boundary_env_ros.core.environment.reset import SavedState
from boundary_env_ros.core.records.episode import EpisodeLabel, EpisodeStatus
from boundary_env_ros.core.records.transition import Kind, Transition
from boundary_env_ros.errors import RecordError
from boundary_env_ros.frozen import frozen
from boundary_env_ros.storage import size_limits
from boundary_env_ros.storage.atomic import sync_folder, write_atomically
from boundary_env_ros.storage.bag_metadata import (
    folder_text,
    in_order,
    information_of,
    METADATA,
    metadata_text,
)
from boundary_env_ros.storage.episode_index import EpisodeIndex, EpisodeRow
from boundary_env_ros.storage.episode_store import AnotherDatabase, EpisodeStore
from boundary_env_ros.storage.mcap_repair import has_no_beginning, Repair, repair
from boundary_env_ros.storage.mcap_scan import McapScan
from boundary_env_ros.storage.record_chain import ChainCheck
from boundary_env_ros.storage.record_reader import open_records
from boundary_env_ros.storage.run_folder import RunFolder
from boundary_env_ros.terminal import many

#: What is being written, until it takes the place of the old file.
DRAFT: Final = '.recovering'
#: What the old file is called afterwards if not all of it could be read; a second one is numbered.
KEPT: Final = '.torn'

Progress = Callable[[str, int, int], None]


@frozen
class Recovery:
    """
    What was made whole.

    Attributes
    ----------
    done
        What was done, a sentence each; empty if everything was whole.
    lost
        What is known to be missing, likewise.

    """

    done: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


def recover(path: Path, progress: Progress = lambda what, done, total: None) -> Recovery:
    """
    Make whole what a crash left of a run.

    Parameters
    ----------
    path
        The run folder, the folder of a bag (MCAP), or one ``.mcap`` file.
    progress
        Gets the name of a file, the bytes that were read of it, and how many there are.

    Raises
    ------
    RecordError
        If there is nothing to recover at the path, it is still being written, or the new files
        cannot be written; what is there then is as it was.

    """
    try:
        return _recovered(path, progress)
    except OSError as error:
        raise RecordError(
            f'{path} cannot be recovered: {error.strerror or error} '
            f'({error.filename or "no file"}). What was there is untouched; make the place '
            'writable and start again.'
        ) from error


def _recovered(path: Path, progress: Progress) -> Recovery:
    work, run = _Work(progress), RunFolder(path)
    if path.suffix == '.db3' or any(path.glob('*.db3')):
        raise RecordError(
            f'{path} is a bag in SQLite, which is read as it is, with the log of a recorder that '
            'died beside it. There is nothing to recover; the other commands say what is lost.'
        )
    if path.is_file():
        work.file(path)
    elif not path.is_dir():
        raise RecordError(f'Nothing to recover: {path} does not exist.')
    elif run.bag.is_dir():
        work.bag(run.bag)
        work.copies(run)
    elif any(path.glob('*.mcap')):
        work.bag(path)
    else:
        raise RecordError(
            f'{path} is neither the folder of a run nor of a bag with MCAP files. '
            'Name the folder that the run printed.'
        )
    return Recovery(done=tuple(work.done), lost=tuple(work.lost))


class _Work:
    """Recovers one thing after the other, and takes note of what it did."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.done: list[str] = []
        self.lost: list[str] = []

    # Bag -----------------------------------------------------------------------------------------

    def file(self, path: Path) -> None:
        """Make one MCAP file whole that belongs to no bag."""
        if not self._is_whole(path):
            self._put(path, self._repair(path, {}, ''))

    def bag(self, folder: Path) -> None:
        """Make all files of a bag whole, and its metadata."""
        files = sorted(folder.glob('*.mcap'), key=in_order)
        information: Mapping[str, Any] = {}
        with suppress(RecordError):  # What cannot be read is made again.
            information = information_of(folder)
        if not files:
            raise RecordError(f'{folder} has no MCAP files. Nothing can be recovered of the bag.')
        kept = information.get('custom_data')
        custom_data = dict(kept) if isinstance(kept, dict) else {}
        distro = str(information.get('ros_distro') or '')
        torn = [file for file in files if not self._is_whole(file)]
        # All of them, before one is replaced: a full disk then leaves everything as it was.
        found = [(file, self._repair(file, custom_data, distro)) for file in torn]
        for file, repaired in found:
            self._put(file, repaired)
        if found:
            custom_data['recovered'] = '; '.join(repaired.tear for _, repaired in found)
        if found or not _agrees(information, files):
            contents = {file.name: McapScan(file).contents() for file in files}
            text = folder_text(metadata_text(contents, custom_data, distro))
            write_atomically(folder / METADATA, text.encode())
            named = 'the file' if len(files) == 1 else f'all {len(files)} files'
            self.done.append(f'{METADATA} names {named} of the bag, and what is in it')
        if found:
            self._report_chain(files)

    def _report_chain(self, files: Sequence[Path]) -> None:
        """Say what is left of the chain over the messages, which only their recorder can close."""
        chain = ChainCheck()
        for file in files:
            for message in McapScan(file).messages(lambda _: True):
                chain.add(*message)
        if chain.last is not None:
            self.lost.append(
                f'the chain over the messages as a whole: it confirms {chain.confirmed} of the '
                f'{chain.messages} that are left'
            )

    def _is_whole(self, path: Path) -> bool:
        """Return whether the writer of a file closed it, and all of it can still be read."""
        if not _is_closed(path):
            return False
        size = path.stat().st_size
        self._progress(path.name, 0, size)
        try:
            for _ in McapScan(path).messages(lambda _: False):
                pass
        except RecordError:
            return False
        self._progress(path.name, size, size)
        return True

    def _repair(self, path: Path, custom_data: dict[str, str], ros_distro: str) -> Repair:
        progress = partial(self._progress, path.name)
        return repair(path, _draft(path), custom_data, ros_distro, progress)

    def _put(self, path: Path, repaired: Repair) -> None:
        """Put a repaired file in the place of the torn one, which is kept if it held more."""
        kept = _keep(path) if repaired.dropped or repaired.unreadable else path
        _replace(path)
        self.done.append(f'{path.name} is whole, with {repaired.messages} messages')
        what = 'what came after the last message' if repaired.torn else 'what was damaged'
        old = f'; the old file is kept as {kept.name}'
        self.lost.append(f'{what}: {repaired.tear}{old if repaired.dropped else ""}')
        if repaired.unreadable:
            self.lost.append(f'the last {repaired.unreadable} bytes of {path.name}{old}')

    # The other files of a run --------------------------------------------------------------------

    def copies(self, run: RunFolder) -> None:
        """Make the first step and the index whole."""
        steps = (t for t in open_records(run.path).records(Transition) if t.kind is Kind.STEP)
        first = next(steps, None)
        if first is not None and run.contract.is_file() and run.write_first_transition(first):
            self.done.append(f'{run.first_transition.name} has the first step')
        self._index(run)

    def _index(self, run: RunFolder) -> None:
        """Bring the index of episodes up to what the records say."""
        place, draft = run.episodes, _draft(run.episodes)
        for stale in (draft, *_beside(draft)):
            stale.unlink(missing_ok=True)
        damage = ''
        known: tuple[EpisodeRow, ...] = ()
        states: list[SavedState] = []
        try:
            with EpisodeStore.open(place) as store:
                known = store.episodes()
                ids = dict.fromkeys(row.episode_id for row in known)
                states = [state for episode in ids for state in store.states(episode)]
        except AnotherDatabase:
            raise
        except RecordError as error:
            damage = str(error) if place.exists() else ''
        was_closed = place.exists() and not any(file.exists() for file in _beside(place))
        if was_closed and not (damage or self.done):
            return
        rows, labels = _indexed(run, known)
        with EpisodeStore.create(draft, rows) as store:
            labelled = 0
            for label in labels:
                stamp = 0 if label.stamp is None else label.stamp.ros.nanoseconds
                labelled = max(labelled + 1, stamp)
                with suppress(RecordError):  # On an episode that nothing else names.
                    store.label(label, now=labelled)
            for number, state in enumerate(states):
                store.keep_state(state, now=number)
        kept = _keep(place) if damage else place
        for stale in _beside(place):
            stale.unlink(missing_ok=True)
        _replace(place)
        self.done.append(f'{place.name} is whole, with {len(rows)} episodes')
        if damage:
            self.lost.append(
                f'labels on episodes that only {place.name} had, which is kept as '
                f'{kept.name}: {damage.rstrip(".")}'
            )
        if unended := sum(not row.done for row in rows):
            ended = many(unended, 'episode')
            self.lost.append(f'the ending of {ended}, which no node declared')


def _indexed(
    run: RunFolder, known: Sequence[EpisodeRow]
) -> tuple[Sequence[EpisodeRow], Sequence[EpisodeLabel]]:
    """Return the rows of an index by the records of its run, and all labels."""
    source, index = open_records(run.path), EpisodeIndex()
    first = next(source.records(Transition), None)
    environment = '' if first is None else first.contract
    labels = dict.fromkeys(label for row in known for label in row.labels)
    for entry in source.entries(EpisodeStatus, Transition, EpisodeLabel):
        record = entry.record
        with suppress(RecordError):  # The first ending of an episode stands.
            if isinstance(record, Transition):
                index.add_step(record, now=entry.log_time)
            elif isinstance(record, EpisodeStatus):
                index.update(record, environment=environment, now=entry.log_time)
            elif isinstance(record, EpisodeLabel):
                labels[record] = None
    # An episode that the bag has lost stays in the index.
    rows = {row.key: row for row in known} | index.rows
    return tuple(rows.values()), tuple(labels)


# Files -------------------------------------------------------------------------------------------


def _is_closed(path: Path) -> bool:
    """
    Return whether the writer of a file closed it.

    Raises
    ------
    RecordError
        If it still writes it, or the file is something else.

    """
    with size_limits.open_file(path) as file:
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RecordError(f'{path} is being written. End its recorder first.') from None
        except OSError:
            pass  # A file system that has no locks.
        return not has_no_beginning(file) and McapScan(path).complete


def _agrees(information: Mapping[str, Any], files: Sequence[Path]) -> bool:
    """Return whether the metadata of a bag knows its files, and that they are complete."""
    named = information.get('relative_file_paths')
    if not isinstance(named, list) or [PurePosixPath(str(n)).name for n in named] != [
        file.name for file in files
    ]:
        return False
    counted = sum(McapScan(file).contents().messages for file in files)
    return bool(information.get('message_count') == counted)


def _draft(path: Path) -> Path:
    return path.with_name(f'.{path.name}{DRAFT}')


def _keep(path: Path) -> Path:
    """Return what a damaged file is called from now on: another name for each that was damaged."""
    for number in itertools.count(1):
        kept = path.with_name(f'{path.name}{KEPT}' + (f'.{number}' if number > 1 else ''))
        if not kept.exists():
            kept.hardlink_to(path)
        if kept.samefile(path):  # Also if a recovery that was ended had kept it already.
            break
    return kept


def _replace(path: Path) -> None:
    """Put the draft of a file in its place, for good, with the same rights."""
    draft = _draft(path)
    if path.exists():
        draft.chmod(path.stat().st_mode)
    draft.replace(path)
    sync_folder(path.parent)


def _beside(database: Path) -> tuple[Path, ...]:
    """Return the files that a database has beside it while it is written."""
    return tuple(Path(f'{database}{end}') for end in ('-wal', '-shm', '-journal'))
