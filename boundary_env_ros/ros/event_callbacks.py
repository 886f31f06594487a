# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Calling back with events, on a thread apart from everything that waits for an answer."""

from __future__ import annotations

from collections.abc import Callable
import queue
import threading
import traceback

from boundary_env_ros.core.environment.events import EnvironmentEvent, EventKind

Callback = Callable[[EnvironmentEvent], None]


class EventCallbacks:
    """
    Callbacks by kind of event; one event is told after the other, in the order of their numbers.

    Parameters
    ----------
    report
        Is told what a callback raised. The next one is called all the same.

    """

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._lock = threading.Lock()
        self._callbacks: dict[EventKind, list[Callback]] = {kind: [] for kind in EventKind}
        self._queue: queue.SimpleQueue[EnvironmentEvent | None] = queue.SimpleQueue()
        self._counted: tuple[str, int] = ('', 0)
        self._lost = 0
        self._thread = threading.Thread(target=self._tell, name='boundary_events', daemon=True)
        self._thread.start()

    @property
    def lost(self) -> int:
        """How many events are known to be lost, by gaps in their numbers."""
        return self._lost

    def on(self, kind: EventKind, callback: Callback) -> Callable[[], None]:
        """Call back with every event of a kind; return what ends that."""
        with self._lock:
            self._callbacks[kind].append(callback)

        def stop() -> None:
            with self._lock:
                self._callbacks[kind] = [c for c in self._callbacks[kind] if c is not callback]

        return stop

    def put(self, event: EnvironmentEvent) -> None:
        """Take an event, to be told soon; called by one thread only."""
        episode_id, number = self._counted
        if event.id.episode_id == episode_id:
            self._lost += max(0, event.sequence - number - 1)
        self._counted = (event.id.episode_id, event.sequence)
        self._queue.put(event)

    def close(self) -> None:
        """Tell what has come, and no more; a callback may call this."""
        self._queue.put(None)
        if self._thread is not threading.current_thread():
            self._thread.join(timeout=5.0)

    def _tell(self) -> None:
        while (event := self._queue.get()) is not None:
            with self._lock:
                callbacks = tuple(self._callbacks[event.kind])
            for callback in callbacks:
                try:
                    callback(event)
                except Exception:  # noqa: BLE001 - somebody else's code must not end the events
                    name = event.kind.name
                    self._report(f'a callback of {name} failed: {traceback.format_exc()}')
