# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The keys ``obstacle`` and ``obstacles`` of the section ``safety``."""

from __future__ import annotations

import math

from boundary_env_ros.core.contract_reader import Reader, said
from boundary_env_ros.core.grammar import A_NAME, A_TOPIC, is_name, is_topic
from boundary_env_ros.core.safety import Corridor, Obstacle, Sector, Side

SCAN = 'sensor_msgs/msg/LaserScan'
RANGE = 'sensor_msgs/msg/Range'
CLOUD = 'sensor_msgs/msg/PointCloud2'


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
    for name in section.names():
        if not is_name(name):
            section.problem((name,), A_NAME, name)
    return tuple(_obstacle(section.section(name), name, size) for name in sorted(section.names()))


def obstacle_path(rule: Obstacle) -> tuple[str, ...]:
    """Return the keys that lead to a rule in a contract."""
    return ('safety', 'obstacles', rule.name) if rule.name else ('safety', 'obstacle')


def _obstacle(key: Reader, name: str, size: int) -> Obstacle:
    dimension = key.integer('dimension')
    if dimension >= size:
        key.problem(('dimension',), f'an index into the action, below {size}', dimension)
    slow = key.number('slow_distance', unit='m', above=0.0)
    stop = key.number('stop_distance', unit='m', least=0.0)
    if stop >= slow:
        key.problem(('stop_distance',), f'a distance below slow_distance ({slow:g} m)', stop)
    type_name = key.choice('type', (SCAN, RANGE, CLOUD), default=SCAN, fallback='')
    rule = Obstacle(
        name=name,
        topic=key.text('topic', expected=A_TOPIC, check=is_topic),
        type=type_name,
        frame=key.text('frame', default=''),
        zone=_zone(key, type_name),
        dimension=dimension,
        slow_distance=slow,
        slow_speed=key.number('slow_speed', unit='m/s', least=0.0),
        stop_distance=stop,
        time_to_collision=key.number('time_to_collision', unit='s', above=0.0)
        if key.has('time_to_collision')
        else None,
        # With 0 a sensor that sees nothing at all would be free space.
        min_valid=key.number('min_valid', unit='', above=0.0, most=1.0, default=0.5),
    )
    key.finish()
    return rule


def _zone(key: Reader, type_name: str) -> Sector | Side | Corridor:
    if not type_name:  # reported, and nobody knows what else was meant
        for name in ('half_angle', 'direction', 'half_width', 'bottom', 'top'):
            key.skip(name)
        return Sector(half_angle=math.nan)
    if type_name == RANGE:
        return key.one_of('direction', Side)
    if type_name == SCAN:
        return Sector(half_angle=key.number('half_angle', unit='rad', above=0.0, most=math.pi / 2))
    zone = Corridor(
        half_width=key.number('half_width', unit='m', above=0.0),
        bottom=key.number('bottom', unit='m'),
        top=key.number('top', unit='m'),
    )
    if zone.bottom >= zone.top:
        key.problem(('top',), f'a height above bottom ({zone.bottom:g} m)', zone.top)
    return zone
