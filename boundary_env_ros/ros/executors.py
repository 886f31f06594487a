# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which executor a node runs on, and what of rclpy's executors is not public."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from inspect import Parameter, Signature
from typing import Any

import rclpy
from rclpy._rclpy_pybind11 import InvalidHandle
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.context import Context
from rclpy.executors import Executor, MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.service import Service
from rclpy.subscription import Subscription


def fastest_executor(context: Context | None = None) -> Executor:
    """
    Return the executor with the least latency: the EventsExecutor where rclpy has it.

    That is Jazzy and later. Spin it for a limited time, in a loop: its ``spin`` starves.
    """
    try:
        from rclpy.experimental import EventsExecutor

        executor: Executor = EventsExecutor(context=context)
    except (ImportError, OSError):
        # The second where there is no stderr, which it wants for the reports of its crashes.
        return SingleThreadedExecutor(context=context)
    return executor


#: Whether the middleware stamps a message when it is taken; others stamp it when it came.
STAMPS_AT_TAKE = 'cyclonedds' in rclpy.get_rmw_implementation_identifier()


class Unattended(ReentrantCallbackGroup):
    """
    Marks a subscription that no executor looks at: who needs what came takes it.

    The middleware keeps it, notes when it came, and wakes nobody.
    """


class UnattendedNode(Node):
    """A node that shows executors only the subscriptions that are not :class:`Unattended`."""

    @property
    def subscriptions(self) -> Iterator[Subscription]:
        """The subscriptions of the executor."""
        for subscription in super().subscriptions:
            if not isinstance(subscription.callback_group, Unattended):
                yield subscription


class Round:
    """
    What ends a round of an executor, to which it is a future; a signal handler may call it.

    A Future of rclpy must not be completed in a handler: the signal may have come while the same
    thread holds the lock of the future, which would then wait for itself.
    """

    def __init__(self) -> None:
        self._ended = False
        self._callbacks: list[Callable[[Any], object]] = []

    def end(self) -> None:
        """End the round; one that has not begun ends at once."""
        self._ended = True
        for callback in tuple(self._callbacks):
            callback(self)

    def add_done_callback(self, callback: Callable[[Any], object]) -> None:
        """Take what the executor wants to be called."""
        self._callbacks.append(callback)
        if self._ended:
            callback(self)

    def remove_done_callback(self, callback: Callable[[Any], object]) -> None:
        """Forget it: the round is over."""
        self._callbacks.remove(callback)


def spin_until(executor: Executor, round_: Round, seconds: float) -> None:
    """
    Let messages in for some seconds, or until the round is ended.

    A round of the EventsExecutor that calls back many times costs a seventh less of the processor
    than one round for each. While messages never cease it ends by :meth:`Round.end` alone.
    """
    if isinstance(executor, (SingleThreadedExecutor, MultiThreadedExecutor)):
        executor.spin_once(timeout_sec=seconds)
    else:
        executor.spin_until_future_complete(round_, timeout_sec=seconds)


def with_info(callback: Callable[[Any, Any], None]) -> Callable[..., None]:
    """
    Return a callback of a subscription that gets a message and what the middleware says of it.

    The EventsExecutor passes both as one tuple, the others as two arguments.
    """

    @wraps(callback)
    def on_message(*taken: Any) -> None:
        callback(*(taken[0] if len(taken) == 1 else taken))

    # rclpy counts its parameters.
    kinds = (Parameter(name, Parameter.POSITIONAL_ONLY) for name in ('message', 'info'))
    on_message.__signature__ = Signature(tuple(kinds))  # type: ignore[attr-defined]
    on_message.takes_info = True  # type: ignore[attr-defined]
    return on_message


def take(subscription: Any, most: int) -> Iterator[tuple[Any, Any]]:
    """Yield what waits in a subscription, with what the middleware says of it."""
    handle = subscription.handle
    with handle:
        for _ in range(most):
            # It is not public, but what executors call themselves.
            taken = handle.take_message(subscription.msg_type, subscription.raw)
            if taken is None:
                return
            yield taken


def dispatch(subscription: Any, most: int) -> None:
    """Call a subscription back with what waits in it."""
    callback = subscription.callback
    informed = getattr(callback, 'takes_info', False)
    for taken in take(subscription, most):
        callback(taken if informed else taken[0])


def dispatch_rest(
    executor: Executor, node: Any, on_error: Callable[[Exception], object], most: int = 1000
) -> None:
    """
    Dispatch what came to a node together with a message or request that raised.

    The EventsExecutor is notified of several at once, by their number, and stops at the first that
    raises. Each later one would then wait for the next one, for ever.

    Parameters
    ----------
    executor
        That of the node, whose thread this is.
    node
        The node.
    on_error
        Is called with what another message or request leads to.
    most
        How many of one topic or service are dispatched.

    """
    if isinstance(executor, (SingleThreadedExecutor, MultiThreadedExecutor)):
        return  # it is notified that there is one, again and again
    for port in (*node.subscriptions, *node.services):
        process = _answer if isinstance(port, Service) else dispatch
        for _ in range(most):
            try:
                process(port, most)
            except InvalidHandle:
                break  # a message before ended it
            except Exception as error:  # noqa: BLE001 - whatever the bytes lead to
                on_error(error)
            else:
                break


def _answer(service: Any, most: int) -> None:
    """Answer what waits in a service, whose callback is no coroutine."""
    handle, kind = service.handle, service.srv_type
    take_request = getattr(handle, 'service_take_request', None)
    if take_request is None:
        return
    for _ in range(most):
        with handle:
            request, header = take_request(kind.Request)
        if header is None:
            return
        service.send_response(service.callback(request, kind.Response()), header)
