# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The MuJoCo model of the hall, with one cart as it is written, or with several."""

from __future__ import annotations

from copy import deepcopy
from importlib import resources
from xml.etree import ElementTree as ET

#: Chassis and goal of each cart, red green blue alpha: the first has those of the file.
_PAINT = (
    ('0.75 0.10 0.10 1', '0.10 0.75 0.25 1'),
    ('0.55 0.15 0.65 1', '0.90 0.80 0.10 1'),
    ('0.90 0.50 0.10 1', '0.10 0.70 0.80 1'),
    ('0.95 0.95 0.95 1', '0.90 0.30 0.60 1'),
)
MOST_CARTS = len(_PAINT)

# How far along x the copies stand from what they are copies of, each from the one before, m.
_SHIFTS = {'base_link': 1.0, 'goal': -1.0}


def prefix(cart: int) -> str:
    """Return what the names of a cart's elements begin with in the model."""
    return f'cart_{cart}/' if cart else ''


def hall_model(carts: int, *, payload: float = 0.0, wheel_friction: float = 0.0) -> str:
    """
    Return the model as XML.

    Every further cart is a copy of the first, with a paint and a goal of its own: its names have
    the :func:`prefix` of its number, and its joints and actuators follow those of the cart before.

    Parameters
    ----------
    carts
        How many, 1 to ``MOST_CARTS``.
    payload
        Mass that lies in each chassis besides its own, kg.
    wheel_friction
        Dry friction in the bearing of each wheel, N m.

    """
    if not 1 <= carts <= MOST_CARTS:
        raise ValueError(
            f'Wrong number of carts (expected 1 to {MOST_CARTS} carts in the hall, got {carts}).'
        )
    text = resources.files(__package__).joinpath('warehouse.xml').read_text(encoding='utf-8')
    if carts == 1 and not payload and not wheel_friction:
        return text
    root = ET.fromstring(text)  # noqa: S314 - our own file
    chassis = _only(root, ".//geom[@name='chassis']")
    chassis.set('mass', str(float(chassis.attrib['mass']) + payload))
    _only(root, ".//default[@class='wheel']/joint").set('frictionloss', str(wheel_friction))
    world, actuators = _only(root, 'worldbody'), _only(root, 'actuator')
    bodies = {name: _only(world, f"body[@name='{name}']") for name in _SHIFTS}
    motors = list(actuators)
    for cart in range(1, carts):
        for name, original in bodies.items():
            body = _copy(original, cart)
            x, *rest = original.attrib['pos'].split()
            body.set('pos', ' '.join([str(float(x) + cart * _SHIFTS[name]), *rest]))
            world.append(body)
        for name, paint in zip(('chassis', 'goal_mark'), _PAINT[cart], strict=True):
            _only(world, f".//geom[@name='{prefix(cart)}{name}']").set('rgba', paint)
        actuators.extend(_copy(motor, cart) for motor in motors)
    return ET.tostring(root, encoding='unicode')


def _copy(original: ET.Element, cart: int) -> ET.Element:
    copied = deepcopy(original)
    for element in copied.iter():
        for key in ('name', 'joint'):
            if key in element.attrib:
                element.set(key, prefix(cart) + element.attrib[key])
    return copied


def _only(root: ET.Element, path: str) -> ET.Element:
    found = root.find(path)
    if found is None:
        raise ValueError(f'warehouse.xml: expected an element {path}, got none.')
    return found
