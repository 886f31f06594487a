# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the sensors of one agent send: one raw subscription for each topic."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain
import time
from typing import Any, TypeAlias

from boundary_env_ros.core.contract.model import Qos
from boundary_env_ros.core.sources.inputs import Input, TF_STATIC
from boundary_env_ros.core.sources.listener import Listener
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.ros import names
from boundary_env_ros.ros.clock import steady_of
from boundary_env_ros.ros.contract_node import ContractNode
from boundary_env_ros.ros.conversions import header_stamp, message_class
from boundary_env_ros.ros.executors import STAMPS_AT_TAKE, take, with_info

#: Messages of a topic that wait for a poll. A field is read from the newest that has it; there may
#: be an image in each.
KEPT = 10

#: Is given a topic of the contract, the stamp of a message (ns; lockstep only), and when it
#: arrived on the steady clock, ns; returns whether it is time to poll.
Arrived: TypeAlias = Callable[[str, int | None, int], bool]


class SensorBuffer:
    """
    One subscription for each topic, however many fields and groups of the action read it.

    What comes is kept by a listener, undecoded.

    Parameters
    ----------
    node, agent
        A node that is being configured, and whose sensors it subscribes to.
    listener
        Keeps and reads what comes.
    arrived
        Is called with every message.
    due
        Is called when it is time to poll after a message that the executor handed over.

    """

    def __init__(
        self,
        node: ContractNode,
        agent: str,
        listener: Listener,
        *,
        arrived: Arrived,
        due: Callable[[], None],
    ) -> None:
        self._node, self._listener, self._arrived = node, listener, arrived
        self._framed: set[Input] = set()
        self._polled = 0  # when it began to be polled last, ns of the steady clock
        self._subscriptions: list[tuple[Any, int, Callable[[bytes, Any], bool]]] = []
        lockstep = node.contract.is_lockstep
        for at in dict.fromkeys(item.at for item in listener.inputs):
            items = [item for item in listener.inputs if item.at == at]
            kind, topic = message_class(items[0].type), items[0].topic
            # Where the newest counts nobody needs it before the next poll, if the middleware knows
            # when it came.
            each = any(item.is_each for item in items)
            unattended = not (lockstep or each or STAMPS_AT_TAKE)
            qos = names.sensor(
                Qos(
                    depth=max(item.qos.depth for item in items),
                    reliable=any(item.qos.reliable for item in items),
                    transient_local=any(item.qos.transient_local for item in items),
                ),
                node.contract.pacing,
                least=KEPT if unattended else 1,
                latched=any(item.name == TF_STATIC for item in items),
            )
            store = partial(self._store, at, topic, header_stamp(kind) if lockstep else None)
            subscription = node.add_subscription(
                kind,
                node.topic_of(agent, topic),
                with_info(_caller(store, due)),
                qos,
                raw=True,
                unattended=unattended,
            )
            self._subscriptions.append((subscription, qos.depth, store))

    def _store(
        self,
        at: str,
        topic: str,
        stamp: Callable[[bytes], int | None] | None,
        data: bytes,
        info: Any,
    ) -> bool:
        """Store a message, and return whether it is time to poll."""
        published, arrived = info['source_timestamp'], info['received_timestamp']
        self._listener.on_message(at, data, published, arrived)
        # It was not here at the last poll, however the system clock has been set since.
        came = max(self._polled, steady_of(arrived))
        return self._arrived(topic, stamp and stamp(data), came)

    def poll(self, on_reading: Callable[[Input, Reading], None], now: int) -> None:
        """
        Hand over what is read from all that has come, that of every message first.

        What the executor has not handed over yet is taken as well: it runs a timer when it is due,
        and a step would be closed on what is old while the newer is there already.

        Parameters
        ----------
        on_reading
            Is given the readings.
        now
            Present time, ns.

        """
        began = time.monotonic_ns()
        for subscription, depth, store in self._subscriptions:
            for taken in take(subscription, depth):
                store(*taken)
        self._polled = began
        listener = self._listener
        for item, reading in chain(
            listener.poll_each(), listener.poll_newest(), listener.look_up(now)
        ):
            if reading.frame and item not in self._framed:
                self._framed.add(item)
                self._warn_of_frame(item, reading.frame)
            try:
                on_reading(item, reading)
            except Exception as error:  # noqa: BLE001 - whatever a message leads to
                self._node.refuse(item.topic, error)

    def compare_types(self) -> None:
        """Take note why nothing comes of a topic: it is published as another type."""
        for item in self._listener.inputs:
            if item not in self._listener.problems and (
                problem := self._node.other_type(item.at, item.type)
            ):
                self._listener.note(item, problem)

    def _warn_of_frame(self, item: Input, frame: str) -> None:
        """Warn of a field whose messages are of another frame than the contract says."""
        expected = min(filter(None, item.frames), key=len)
        self._node.get_logger().warning(
            f'Wrong frame in the header of {item.topic} ({item.name}; expected {expected!r}, got '
            f'{frame!r}). The values are observed as they come: nothing transforms them. Change '
            '`frame` in the contract, or let the driver publish in that frame.'
        )


def _caller(
    store: Callable[[bytes, Any], bool], due: Callable[[], None]
) -> Callable[[bytes, Any], None]:
    def on_message(data: bytes, info: Any) -> None:
        if store(data, info):
            due()

    return on_message
