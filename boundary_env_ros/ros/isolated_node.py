# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A node with a ROS context of its own, for a program that is no node itself."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
import os
import sys
import threading
import uuid

import rclpy
from rclpy.context import Context
from rclpy.exceptions import InvalidNamespaceException
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions
from rclpy.subscription import Subscription

from boundary_env_ros.errors import LinkError
from boundary_env_ros.ros import enclaves
from boundary_env_ros.ros.domain import check_domain
from boundary_env_ros.ros.executors import dispatch, dispatch_rest, UnattendedNode
from boundary_env_ros.ros.message_guard import Incoming
from boundary_env_ros.storage.atomic import Closing

# Messages of one topic that are dispatched at once: a flood does not keep others waiting.
_MOST = 1000


class IsolatedNode(Closing):
    """
    A node with a context and an executor of its own, beside any other use of rclpy.

    Closing it touches no other. Signals stay with the program. Its enclave is that of its name,
    unless the program was started with one.

    Parameters
    ----------
    name
        Begin of its name; random digits follow.
    domain_id
        ROS domain; None: that of ``ROS_DOMAIN_ID``, or 0.
    namespace
        Its namespace.
    listens_only
        Whether it offers nothing to others, neither its log nor its parameters.
    parameters
        Values of its parameters.
    executor
        Makes its executor.

    Attributes
    ----------
    incoming
        What guards its callbacks.

    Raises
    ------
    LinkError
        If ROS does not start, or refuses its enclave, or there can be no such domain or namespace.

    """

    def __init__(
        self,
        name: str,
        *,
        domain_id: int | None,
        namespace: str = '',
        listens_only: bool = False,
        parameters: tuple[Parameter, ...] = (),
        executor: Callable[..., Executor] = SingleThreadedExecutor,
    ) -> None:
        self._ending = threading.Event()
        # Reentrant: a signal may end the program within a callback.
        self._spinning = threading.RLock()
        self._thread: threading.Thread | None = None
        # How much has come in that thread, and what of it each waiting thread knows.
        self._rounds, self._arrival, self._seen = 0, threading.Condition(), threading.local()
        with ExitStack() as made:
            # Without that mark rcl takes `name:=value` for a remapping: those of `ros2 launch`.
            arguments = sys.argv[1:] if '--ros-args' in sys.argv else []
            if enclaves.enabled() and enclaves.ARGUMENT not in arguments:
                own = enclaves.enclave_of(name, namespace)
                arguments = [*arguments, '--ros-args', enclaves.ARGUMENT, own]
            enclave = enclaves.enclave_in(arguments)
            self.context = _context(domain_id, arguments, enclave)
            # It may have been shut down already.
            made.callback(self.context.try_shutdown)
            check_domain(self.domain_id)
            name = f'{name}_{uuid.uuid4().hex[:8]}'
            try:
                self.node = UnattendedNode(
                    name,
                    namespace=namespace or None,
                    context=self.context,
                    # `ros2 launch` renames the node of a process, which means every node in it.
                    cli_args=['--ros-args', '-r', f'__node:={name}'],
                    parameter_overrides=list(parameters),
                    enable_rosout=not listens_only,
                    start_parameter_services=not listens_only,
                )
            except InvalidNamespaceException as error:
                raise LinkError(
                    f'Not a namespace of ROS (expected one such as cart_1, got {namespace!r}).'
                ) from error
            except RuntimeError as error:
                raise enclaves.refused(error, enclave, self.domain_id) from error
            made.callback(self.node.destroy_node)
            self.incoming = Incoming(self.node)
            self.executor = executor(context=self.context)
            made.callback(self.executor.shutdown)
            self.executor.add_node(self.node)
            self._made = made.pop_all()
        # A thread that is still within ROS when the interpreter is taken down aborts the process.
        atexit.register(self.close)

    @property
    def domain_id(self) -> int:
        """The ROS domain."""
        return int(self.context.get_domain_id())

    @property
    def closed(self) -> bool:
        """Whether it was closed: nothing comes in any more."""
        return self._ending.is_set()

    def spin_in_thread(self, name: str) -> None:
        """Receive in a thread of its own from now on."""
        self._thread = threading.Thread(target=self._spin, name=name, daemon=True)
        self._thread.start()
        self._made.callback(self._thread.join, timeout=5.0)

    def _spin(self) -> None:
        while self.context.ok() and not self._ending.is_set():
            try:
                self.executor.spin_once(timeout_sec=0.2)
            except ExternalShutdownException:
                return
            except Exception as error:  # noqa: BLE001 - whatever the bytes of a message lead to
                refuse = partial(self.incoming.refuse, 'executor')
                refuse(error)
                dispatch_rest(self.executor, self.node, refuse)
            with self._arrival:
                self._rounds += 1
                self._arrival.notify_all()

    def spin(self, seconds: float) -> None:
        """
        Let one message in, if one comes within so many seconds, or has since this thread did last.

        Any thread may do so; while another does, this one waits for it.
        """
        if self._thread is not None:
            seen = getattr(self._seen, 'rounds', -1)
            with self._arrival:
                self._arrival.wait_for(lambda: self._rounds != seen, seconds)
                self._seen.rounds = self._rounds
            return
        if not self._spinning.acquire(timeout=max(seconds, 0.001)):
            return
        try:
            with suppress(ExternalShutdownException):
                if self.context.ok() and not self._ending.is_set():
                    self.executor.spin_once(timeout_sec=seconds)
        finally:
            self._spinning.release()

    def drain(self) -> None:
        """Let all messages in that have come by now; a thread of its own has."""
        if self._thread is None:
            for subscription in tuple(self.node.subscriptions):
                self.dispatch(subscription, _MOST)

    def dispatch(self, subscription: Subscription, most: int) -> None:
        """Let in what waits in a subscription, at most so many messages."""
        with self._spinning:
            if self.context.ok() and not self._ending.is_set():
                dispatch(subscription, most)

    def close(self) -> None:
        """Let go of thread, executor, node and context; the end of the interpreter does, too."""
        atexit.unregister(self.close)
        self._ending.set()
        with self._spinning:
            self._made.close()


def _context(domain_id: int | None, arguments: list[str], enclave: str) -> Context:
    context = Context()
    try:
        rclpy.init(
            args=arguments,
            context=context,
            domain_id=domain_id,
            signal_handler_options=SignalHandlerOptions.NO,
        )
    except (RuntimeError, TypeError, ValueError) as error:
        domain = os.environ.get('ROS_DOMAIN_ID') or 0 if domain_id is None else domain_id
        raise enclaves.refused(error, enclave, domain) from error
    return context
