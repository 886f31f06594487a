# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The keys ``obstacle`` and ``obstacles`` of the section ``safety``."""

from __future__ import annotations

import math

from boundary_env_ros.core.contract_key import parts_of
from boundary_env_ros.core.contract_reader import Reader, said
from boundary_env_ros.core.safety import Corridor, Obstacle, Sector, Side
from boundary_env_ros.core.sources import RANGE, SCAN


def parse_obstacles(safety: Reader, size: int) -> tuple[Obstacle, ...]:
    """
    Return the only rule, or several in the order of their names.

    ``size`` is that of the command. How rules stand in the file has no meaning.
    """
    if safety.has('obstacle') and safety.has('obstacles'):
        safety.problem(('obstacles',), '`obstacle`, or several by name here', said('both'))
        safety.skip('obstacles')
    if safety.has('obstacle'):
        return (_obstacle(safety.section('obstacle'), '', size),)
    if not safety.has('obstacles'):
        return ()
    section = safety.section('obstacles')
    return tuple(_obstacle(section.section(name), name, size) for name in sorted(section.named()))


def obstacle_path(rule: Obstacle) -> tuple[str, ...]:
    """Return the keys that lead to a rule in a contract."""
    return ('safety', 'obstacles', rule.name) if rule.name else ('safety', 'obstacle')


def _obstacle(key: Reader, name: str, size: int) -> Obstacle:
    type_name = key.value(Obstacle, 'type')
    rule = key.make(Obstacle, name=name, type=type_name, zone=_zone(key, type_name))
    if rule.dimension >= size:
        key.problem(('dimension',), f'an index into the action, below {size}', rule.dimension)
    slow, stop = rule.slow_distance, rule.stop_distance
    if stop >= slow:
        key.problem(('stop_distance',), f'a distance below slow_distance ({slow:g} m)', stop)
    key.finish()
    return rule


def _zone(key: Reader, type_name: str) -> Sector | Side | Corridor:
    if not type_name:  # reported, and nobody knows what else was meant
        for name in ('direction', *parts_of(Sector), *parts_of(Corridor)):
            key.skip(name)
        return Sector(half_angle=math.nan)
    if type_name == RANGE:
        side: Side = key.value(Obstacle, 'direction')
        return side
    if type_name == SCAN:
        return key.make(Sector)
    zone = key.make(Corridor)
    if zone.bottom >= zone.top:
        key.problem(('top',), f'a height above bottom ({zone.bottom:g} m)', zone.top)
    return zone
