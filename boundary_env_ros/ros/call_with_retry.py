# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Asking a service, and asking again where no answer comes.

The middleware loses questions and answers, and says nothing of it. It believes for up to 20 s that
a node which was killed still serves: what is asked then is lost. And a server drops an
answer if it has not found the client within 0.1 s that asked: a client that is new is ready before
it is known on the other side (``rmw_fastrtps``, ``__rmw_send_response``).
"""

from __future__ import annotations

from collections.abc import Callable
import math
import threading
import time
from typing import Any

#: Within which a living node answers what takes no time, s.
SIGN_OF_LIFE = 1.0


def wait_for(future: Any, seconds: float) -> bool:
    """Wait for a future that another thread completes; return whether it is done."""
    done = threading.Event()
    future.add_done_callback(lambda _: done.set())
    return done.wait(seconds)


def _sleep() -> None:
    time.sleep(0.02)


def wait_until(
    condition: Callable[[], object], until: float, spin: Callable[[], None] = _sleep
) -> bool:
    """
    Wait until a condition holds, such as a client that has found its service.

    Parameters
    ----------
    condition
        Is checked again and again.
    until
        Monotonic time, s, until which it is waited for.
    spin
        Lets messages in for a moment; default: another thread does that.

    """
    while not condition():
        if time.monotonic() > until:
            return False
        spin()
    return True


def ask(
    client: Any,
    request: Any,
    *,
    until: float,
    patience: float = math.inf,
    spin: Callable[[], None] | None = None,
) -> Any | None:
    """
    Ask a service; return its answer, or None if there is none in time.

    Parameters
    ----------
    client
        Client of the service.
    request
        What is asked. Where patience is finite, asking it twice must come to the same as once.
    until
        Monotonic time, s, until which an answer is waited for.
    patience
        Seconds after which it is asked again, then after twice as long, and so on. The answer to
        the last time is the one that counts.
    spin
        Lets messages in for a moment; default: another thread does that.

    """
    while True:
        future = client.call_async(request)
        left = until - time.monotonic()
        seconds = max(0.0, min(patience, left))
        if spin is None:
            done = wait_for(future, seconds)
        else:
            done = wait_until(future.done, time.monotonic() + seconds, spin)
        if done:
            return future.result()
        client.remove_pending_request(future)
        if left <= patience:
            return None
        patience *= 2.0
