# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Fields that tf is asked for, where tf2 is installed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rclpy.time import Time

from boundary_env_ros.core.contract.model import FieldSpec
from boundary_env_ros.core.contract.sources import Lookup
from boundary_env_ros.core.sources.inputs import Input
from boundary_env_ros.core.sources.readers import adapter, stamp_of
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.ros.contract_node import ContractNode

# Seconds between two log entries about what tf does not know.
_SAY_AGAIN = 5.0


class Transforms:
    """
    Looks up transforms for a node; nothing here waits.

    Parameters
    ----------
    node
        A node that is being configured; what is made here lives until its cleanup.
    fields
        The fields that are transforms.

    Raises
    ------
    BoundaryError
        If tf2 is not installed.

    """

    def __init__(self, node: ContractNode, fields: Sequence[FieldSpec]) -> None:
        try:
            import tf2_ros  # type: ignore[import-not-found]  # on no package index
        except ImportError as error:
            raise BoundaryError(
                'The fields of the contract that are transforms '
                f'({", ".join(spec.name for spec in fields)}) need tf2_ros: {error}. Install it '
                '(Debian package ros-$ROS_DISTRO-tf2-ros-py), or take the pose from a topic.'
            ) from error
        self._node = node
        self._failures = (tf2_ros.TransformException,)
        self._buffer = tf2_ros.Buffer(node=node)
        # With a node, it has made a service and listens for jumps of the clock.
        node.own(node.destroy_service, self._buffer.srv)
        node.own(lambda jumps: jumps.unregister(), self._buffer.jump_handle)
        # It is spun by the executor of the node: between two look-ups, never during one.
        node.own(
            lambda listener: listener.unregister(), tf2_ros.TransformListener(self._buffer, node)
        )
        self._lookups = [
            (
                spec.source,
                Input(name=spec.name, topic='', type=spec.type, read=adapter(spec, '')),
            )
            for spec in fields
            if isinstance(spec.source, Lookup)
        ]
        self._last: dict[str, int] = {}

    def new(self) -> Iterator[tuple[Input, Any]]:
        """
        Yield the newest transform of each field, if its stamp is another than that before.

        Of a transform that tf does not know the field stays what it was, and ages; the log says
        why.
        """
        unknown: list[str] = []
        for source, item in self._lookups:
            try:
                found = self._find(source)
            except self._failures as failure:
                why = str(failure).strip()
                unknown.append(f'{item.name} ({source.source} in {source.target}): {why}')
                continue
            stamp = stamp_of(found)
            if stamp is not None and stamp != self._last.get(item.name):
                self._last[item.name] = stamp
                yield item, found
        if unknown:
            self._node.get_logger().warning(
                f'tf does not give these fields of the contract: {"; ".join(unknown)}',
                throttle_duration_sec=_SAY_AGAIN,
            )

    def _find(self, source: Lookup) -> Any:
        """Return the newest transform; a static one is as new as the look-up."""
        found = self._buffer.lookup_transform(source.target, source.source, Time())
        if stamp_of(found) is None:
            # A chain of static transforms holds at any time: tf stamps it with the one it is asked
            # for. Asked for now, a transform that its publisher did not stamp is refused.
            now = self._node.get_clock().now()
            found = self._buffer.lookup_transform(source.target, source.source, now)
        return found
