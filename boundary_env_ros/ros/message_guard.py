# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What arrives from outside: whatever a message, a request or a parameter holds, the node lives on.

Any node in the domain may send on any topic and call any service, as often as it likes. What
cannot be read is refused, counted and logged now and then; so is what exceeds the budget of its
topic or service, all senders together, or is larger than an honest message there can be; and,
where the boundary has a key, what bears no authentication under it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from functools import wraps
from inspect import iscoroutinefunction
import time
import traceback
from typing import Any

from rcl_interfaces.msg import SetParametersResult

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.contract.sources import CLOUD, SCAN
from boundary_env_ros.core.sources import json_documents
from boundary_env_ros.errors import BoundaryError, RequestRejected, ResultCode
from boundary_env_ros.ros.authenticity import Authenticity
from boundary_env_ros.ros.conversions import message_of
from boundary_env_ros.storage import yaml_text

#: Bytes of a status or a contract: its text, and as much beside it as documents may have.
MOST_BYTES = yaml_text.MOST_BYTES + json_documents.MOST_BYTES

#: Types of sensors whose messages may have megabytes each.
LARGE = frozenset({'sensor_msgs/msg/Image', 'sensor_msgs/msg/CompressedImage', CLOUD})

# Bytes of a message of another sensor; a scan has any number of beams.
_MOST_OF_SENSOR = 1 << 20

# Seconds in which a topic or service is logged once.
_LOG_PERIOD = 5.0

# Seconds over which a budget is counted.
_SPAN = 0.1

# Things of which it is known when they were logged: their names others choose.
_MOST = 1000


def most_of_request(contract: Contract) -> int:
    """
    Return how many bytes the longest ``ActionRequest`` under a contract may have.

    Names and metadata share as much as documents may have, where there are some: many small parts
    take the longest to read.
    """
    texts = json_documents.MOST_BYTES * (2 if contract.documents else 1)
    return texts + 8 * contract.horizon * contract.action_size


def most_of_decision(contract: Contract) -> int:
    """Return the same of a ``GateDecision``, with a result for each number that is not finite."""
    return 4 * MOST_BYTES + 128 * contract.horizon * contract.action_size


def most_of_sensor(kind: str) -> int:
    """
    Return how many bytes a message of a sensor may have; 0: any number.

    Many names and many parts take long to decode; pixels, points and beams are numbers.
    """
    return 0 if kind in LARGE or kind == SCAN else _MOST_OF_SENSOR


class Throttle:
    """
    Limits how often a thing is logged; rclpy throttles by the line of code only.

    Parameters
    ----------
    seconds
        For how long each thing is not logged again, on the steady clock.

    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._last_due: dict[Hashable, float] = {}

    def due(self, what: Hashable) -> bool:
        """Return whether a thing is to be logged now; if so, it counts as logged."""
        now = time.monotonic()
        last = self._last_due.get(what)
        if last is not None and now - last < self._seconds:
            return False
        if len(self._last_due) >= _MOST:
            self._last_due.clear()
        self._last_due[what] = now
        return True


class Budget:
    """
    How often something may happen.

    Parameters
    ----------
    rate
        Times a second; 0: as often as it likes.

    """

    def __init__(self, rate: float) -> None:
        self._most = max(1, round(rate * _SPAN)) if rate else 0
        self._since = 0.0
        self._count = 0

    def spend(self) -> bool:
        """Return whether it may happen once more now."""
        if not self._most:
            return True
        now = time.monotonic()
        if now - self._since >= _SPAN:
            self._since, self._count = now, 0
        self._count += 1
        return self._count <= self._most


class Incoming:
    """
    The callbacks of a node, so that nothing which arrives ends its process.

    Parameters
    ----------
    node
        The node; its logger says what was refused.
    first
        Is called before anything that has arrived is handled.

    """

    def __init__(self, node: Any, first: Callable[[], None] = lambda: None) -> None:
        self._node, self._first = node, first
        self._refused: Counter[str] = Counter()
        self._throttle = Throttle(_LOG_PERIOD)
        #: How many messages and requests were refused that bore no right authentication.
        self.forged = 0

    @property
    def refused(self) -> int:
        """How many messages, requests and parameters were refused."""
        return self._refused.total()

    def guarded(self, topic: str, callback: Callable[..., None]) -> Callable[..., None]:
        """
        Return a callback that refuses what the given one cannot read.

        Parameters
        ----------
        topic
            Where the messages come from, for the log.
        callback
            Reads a message before it does anything; what it raises is a refusal.

        """

        # rclpy looks at the signature, whether it takes the MessageInfo.
        @wraps(callback)
        def on_message(*message: Any) -> None:
            try:
                callback(*message)
            except Exception as error:  # noqa: BLE001 - whatever a message leads to
                self.refuse(topic, error)

        return on_message

    def subscription(
        self,
        topic: str,
        kind: Any,
        callback: Callable[..., None],
        rate: float,
        most: int = 0,
        fault: Callable[[bytes], str] | None = None,
    ) -> Callable[..., None]:
        """
        Return such a callback for a raw subscription; it decodes the message, too.

        Parameters
        ----------
        topic, callback
            As for :meth:`guarded`.
        kind
            Class of the message that the given callback takes; None: it takes the bytes.
        rate
            Messages a second, of all publishers, beyond which they are refused unread; 0: all are
            read.
        most
            Bytes beyond which a message is refused unread; 0: any is read.
        fault
            What is wrong with the authentication of a message; empty if nothing is.

        """
        budget = Budget(rate)

        @wraps(callback)
        def read(data: bytes, *info: Any) -> None:
            callback(data if kind is None else message_of(kind, data), *info)

        guarded = self.guarded(topic, read)

        @wraps(callback)
        def on_message(*taken: Any) -> None:
            self._first()
            # The EventsExecutor passes bytes and MessageInfo as one tuple.
            data, *info = taken[0] if isinstance(taken[0], tuple) else taken
            if not budget.spend():
                self.refuse(topic, f'more than {rate:g} messages came within a second.')
            elif most and len(data) > most:
                bounds = f'(expected at most {most} bytes, got {len(data)})'
                self.refuse(topic, f'the message is too large {bounds}.')
            elif fault is not None and (problem := fault(data)):
                self.refuse_forged(topic, problem)
            else:
                guarded(data, *info)

        return on_message

    def subscribe(
        self,
        kind: Any,
        topic: str,
        callback: Callable[..., None],
        qos: Any,
        *,
        raw: bool = False,
        authenticity: Authenticity | None = None,
        **options: Any,
    ) -> Any:
        """
        Make a guarded subscription; ``raw``: the callback is given the bytes of a message.

        With an ``authenticity``, what bears none under its key is refused. ``options`` are those
        of rclpy.
        """
        place = self._node.resolve_topic_name(topic)
        fault = None if authenticity is None else authenticity.verifier(kind, place)
        guarded = self.subscription(topic, None if raw else kind, callback, 0.0, fault=fault)
        return self._node.create_subscription(kind, topic, guarded, qos, raw=True, **options)

    def service(
        self, name: str, kind: Any, callback: Callable[[Any, Any], Any], rate: float
    ) -> Callable[[Any, Any], Any]:
        """
        Return a callback for a service that answers whatever it is asked; see above.

        A :class:`RequestRejected` is an answer with its code, and no message that cannot be read.
        """
        budget = Budget(rate)
        fields = kind.Request.get_fields_and_field_types()
        texts = [name for name, declared in fields.items() if declared == 'string']

        def refused(error: Exception | str) -> Any:
            if isinstance(error, RequestRejected):
                # It was read, and means no.
                return _refusal(kind.Response(), str(error), error.code)
            self.refuse(name, error)
            return _refusal(kind.Response(), str(error), ResultCode.INVALID_ARGUMENT)

        def too_much(request: Any) -> str:
            self._first()
            if not budget.spend():
                return f'more than {rate:g} requests came within a second.'
            for name in texts:
                if (got := len(getattr(request, name))) > MOST_BYTES:
                    bounds = f'(expected at most {MOST_BYTES} characters, got {got})'
                    return f'{name} is too long {bounds}.'
            return ''

        if iscoroutinefunction(callback):

            @wraps(callback)
            async def on_request(request: Any, response: Any) -> Any:
                if problem := too_much(request):
                    return refused(problem)
                try:
                    return await callback(request, response)
                except Exception as error:  # noqa: BLE001 - whatever a request leads to
                    return refused(error)

            return on_request

        @wraps(callback)
        def on_sync_request(request: Any, response: Any) -> Any:
            if problem := too_much(request):
                return refused(problem)
            try:
                return callback(request, response)
            except Exception as error:  # noqa: BLE001 - whatever a request leads to
                return refused(error)

        return on_sync_request

    def parameters(
        self, callback: Callable[[list[Any]], SetParametersResult]
    ) -> Callable[[list[Any]], SetParametersResult]:
        """Return a callback for parameters that refuses what the given one cannot take."""

        @wraps(callback)
        def on_parameters(parameters: list[Any]) -> SetParametersResult:
            try:
                return callback(parameters)
            except Exception as error:  # noqa: BLE001 - whatever a value leads to
                self.refuse('parameters', error)
                return SetParametersResult(successful=False, reason=str(error))

        return on_parameters

    def refuse_forged(self, name: str, fault: str) -> None:
        """Count something that bears no right authentication, as :meth:`refuse` does."""
        self.forged += 1
        # Each kind of fault is logged: the record has the log.
        self.refuse(name, fault, fault.partition('(')[0])

    def refuse(self, name: str, error: Exception | str, kind: str = '') -> None:
        """Count something that has arrived and could not be taken, and log it now and then."""
        self._refused[name] += 1
        if not self._throttle.due((name, kind)):
            return
        if isinstance(error, Exception) and not isinstance(error, BoundaryError):
            error = f'{traceback.format_exc(limit=-4)}\n'
        self._node.get_logger().error(
            f'{name}: {error} It is refused, {self._refused[name]} so far; find who sends it '
            f'with `ros2 topic info --verbose {self._node.resolve_topic_name(name)}`.'
        )


def _refusal(response: Any, message: str, code: ResultCode) -> Any:
    """Return an answer that says why it is none, as far as its type has a place for that."""
    if hasattr(response, 'result') and hasattr(response.result, 'code'):
        response.result.code = int(code)
        response.result.message = message
    elif hasattr(response, 'message'):
        response.message = message
    return response
