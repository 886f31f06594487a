# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is remembered of a record while it streams: the last few of something, and no more."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

K = TypeVar('K')
V = TypeVar('V')


class Bounded(OrderedDict[K, V]):
    """The last few of something, by what distinguishes it."""

    def put(self, key: K, value: V, most: int) -> V | None:
        """Remember a value; return the one that has to be forgotten for it."""
        self[key] = value
        return self.popitem(last=False)[1] if len(self) > most else None

    def known(self, key: K, make: Callable[[], V], most: int) -> V:
        """Return what is remembered; if nothing is, remember what is made for it."""
        if key not in self:
            self.put(key, make(), most)
        return self[key]
