# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A run that is written by a thread of its own, so that no caller waits for a slow disk.

What comes is put in a queue that is bounded in bytes. When it is full, messages of others
(sensors, commands) are dropped, and each is counted; the records of the boundary itself have as
much room again, and when that is used up too the recording is over: a record without them shows
nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from threading import Condition, Thread
import time
from typing import TypeVar

from boundary_env_ros.core.records.episode import EpisodeStatus
from boundary_env_ros.core.timebase import ClockReading
from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.disk_errors import reason, way_out
from boundary_env_ros.storage.run_recording import RunRecording

T = TypeVar('T')

#: How often what was written is handed to the kernel, s; with one write, the half second that is
#: promised.
FLUSH_INTERVAL = 0.4

# What a message needs in the queue besides its bytes.
_OVERHEAD = 300


class RecordingThread:
    """
    Writes a recording in a thread of its own.

    Parameters
    ----------
    recording
        The recording; from now on only its figures and notices are for others.
    queue_size
        Bytes that may wait for the disk.
    flush_interval
        How often what was written is handed to the kernel, where ``kill -9`` cannot take it, s.
    sync_interval
        How often the disk is waited for, beside the writing, s; 0: never.

    Attributes
    ----------
    failure
        Why the recording is over; None while it is not.

    """

    def __init__(
        self,
        recording: RunRecording,
        *,
        queue_size: int,
        flush_interval: float = FLUSH_INTERVAL,
        sync_interval: float = 0.0,
    ) -> None:
        self._recording = recording
        self._queue_size = queue_size
        self._flush_interval = flush_interval
        self._sync_interval = sync_interval
        self._changed = Condition()
        # When each thing to do was put here, its size, and what it is.
        self._queue: deque[tuple[float, int, Callable[[], None]]] = deque()
        self._waiting = 0
        self._dropped: dict[str, int] = {}
        self._working_since: float | None = None
        self._watch_waits = False
        self._endings: deque[EpisodeStatus] = deque()
        self.failure: RecordError | None = None
        self._close_failure: RecordError | None = None
        self._stopping = False
        self._sync: Thread | None = None
        self._sync_begun = time.monotonic()
        self._sync_failure: OSError | None = None
        self._thread = Thread(target=self._run, name='recording', daemon=True)
        self._thread.start()

    # For others ----------------------------------------------------------------------------------

    @property
    def lost(self) -> int:
        """Return the number of messages that are known to be missing."""
        with self._changed:
            return self._recording.lost + sum(self._dropped.values())

    @property
    def behind(self) -> float:
        """Return for how long the oldest message that waits for the disk has waited, s."""
        with self._changed:
            begun = self._working_since
            if begun is None:
                begun = self._queue[0][0] if self._queue else None
        return 0.0 if begun is None else max(0.0, time.monotonic() - begun)

    def write(
        self,
        topic: str,
        data: bytes,
        received: int,
        published: int,
        now: ClockReading,
        *,
        vital: bool,
    ) -> bool:
        """
        Have a message written; see :meth:`RunRecording.write`.

        Parameters
        ----------
        vital
            Whether the recording is over if there is no room for it.

        Returns
        -------
        bool
            Whether there was room; if not, it is counted as lost. Nothing is written, nor
            counted, when the recording is over.

        """
        size = len(data) + _OVERHEAD
        with self._changed:
            if self._stopping:
                return False
            room = self._queue_size * (2 if vital else 1)
            if self._waiting and self._waiting + size > room:
                self._dropped[topic] = self._dropped.get(topic, 0) + 1
                if vital:
                    # What waits is written, if the disk takes it after all.
                    self._stopping = True
                    self.failure = RecordError(
                        f'Expected a disk that takes what is recorded to '
                        f'{self._recording.run.path}, got {self._waiting} bytes wait for '
                        f'it. Record to a faster disk, or less to it; or raise `queue_size` '
                        f'({self._queue_size}).'
                    )
                return False
            self._put(size, lambda: self._recording.write(topic, data, received, published, now))
        return True

    def do(self, act: Callable[[], None]) -> None:
        """Have something done with the recording, after what came before."""
        with self._changed:
            self._put(0, act)

    def watch(self, now: ClockReading) -> None:
        """Have the environment watched, after what came before; see :meth:`endings`."""
        with self._changed:
            if not self._watch_waits:
                self._watch_waits = True
                self._put(0, lambda: self._watch(now))

    def endings(self) -> list[EpisodeStatus]:
        """Return the endings that a dead environment could not declare; each once."""
        return [self._endings.popleft() for _ in range(len(self._endings))]

    def ask(self, act: Callable[[], T], patience: float) -> T:
        """
        Return what something that is done with the recording returns, after what came before.

        Raises
        ------
        RecordError
            If it was not done within ``patience`` seconds, or the recording is over; it will not
            be done then.

        """
        answer: Future[T] = Future()

        def answering() -> None:
            if answer.set_running_or_notify_cancel():
                try:
                    answer.set_result(act())
                except Exception as error:  # noqa: BLE001 - it is the caller's
                    answer.set_exception(error)

        with self._changed:
            if self._stopping:
                raise RecordError(f'The recording to {self._recording.run.path} is over.')
            self._put(0, answering)
        try:
            return answer.result(patience)
        except FutureTimeoutError:
            answer.cancel()
            raise RecordError(
                f'The disk of {self._recording.run.path} did not answer within {patience:g} s. '
                'Try again when it has caught up.'
            ) from None

    def close(self, patience: float) -> None:
        """
        Write what waits, and complete all files.

        Raises
        ------
        RecordError
            If a file could not be completed, or the disk did not take it within ``patience``
            seconds.

        """
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join(patience)
        if self._thread.is_alive():
            raise RecordError(
                f'The disk of {self._recording.run.path} did not take the end of the record '
                f'within {patience:g} s, and {len(self._queue)} messages '
                'wait. What is on it can be read; complete it with `boundary-env bag recover`.'
            )
        if self._close_failure is not None:
            raise self._close_failure

    # The thread ----------------------------------------------------------------------------------

    def _put(self, size: int, act: Callable[[], None]) -> None:
        self._queue.append((time.monotonic(), size, act))
        self._waiting += size
        self._changed.notify()

    def _watch(self, now: ClockReading) -> None:
        self._watch_waits = False
        ending = self._recording.watch(now)
        if ending is not None:
            self._endings.append(ending)

    def _run(self) -> None:
        try:
            self._write_all()
        except RecordError as error:
            self.failure = error
        except BaseException:
            self.failure = self.failure or RecordError(
                'The recording failed through a fault of this program; '
                'the log has the trace. Report it.'
            )
            raise
        finally:
            self._give_up_queue()
            try:
                self._recording.close()
            except RecordError as error:
                self._close_failure = error

    def _write_all(self) -> None:
        due = time.monotonic() + self._flush_interval
        while True:
            with self._changed:
                if not self._queue and not self._stopping:
                    self._changed.wait(max(0.0, due - time.monotonic()))
                if self._stopping and not self._queue:
                    return
                taken = self._queue.popleft() if self._queue else None
                self._working_since = taken[0] if taken else time.monotonic()
            if taken is not None:
                taken[2]()
            if time.monotonic() >= due:
                self._flush()
                due = time.monotonic() + self._flush_interval
            with self._changed:
                self._working_since = None
                self._waiting -= taken[1] if taken else 0

    def _flush(self) -> None:
        self._count_dropped()
        self._recording.flush()
        if self._sync_failure is not None:
            raise RecordError(
                f'Expected the disk to keep {self._recording.run.path}, got '
                f'{reason(self._sync_failure)}. {way_out(self._sync_failure)}'
            ) from self._sync_failure
        due = self._sync_begun + self._sync_interval
        waits = self._sync is not None and self._sync.is_alive()
        if self._sync_interval and not waits and time.monotonic() >= due:
            sync = self._recording.begin_sync()
            self._sync_begun = time.monotonic()
            # Beside the writing: the disk may take as long as it likes.
            self._sync = Thread(
                target=self._synced, args=(sync,), name='recording-sync', daemon=True
            )
            self._sync.start()

    def _synced(self, sync: Callable[[], None]) -> None:
        try:
            sync()
        except OSError as error:
            self._sync_failure = error

    def _count_dropped(self) -> None:
        with self._changed:
            dropped, self._dropped = self._dropped, {}
            for topic, number in dropped.items():
                self._recording.add_lost(topic, number)

    def _give_up_queue(self) -> None:
        """Count what was not written when the recording came to its end."""
        with self._changed:
            # The queue is not read any more.
            self._stopping = True
            unwritten = sum(1 for _, size, _ in self._queue if size)
            self._queue.clear()
            self._waiting = 0
            self._working_since = None
        if unwritten:
            self._recording.add_lost('(waiting at the end)', unwritten)
        self._count_dropped()
