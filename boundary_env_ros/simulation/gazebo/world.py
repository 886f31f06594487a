# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The world of Gazebo, as SDF, made from the model that MuJoCo runs.

There is one description of hall and cart, ``warehouse.xml``, and one of the sensors,
:class:`~boundary_env_ros.simulation.config.CartConfig`. This turns them into what Gazebo reads, so
that the two simulations cannot drift apart. The result stands in ``config/gazebo/warehouse.sdf``::

    python -m boundary_env_ros.simulation.gazebo.world > warehouse.sdf

What differs all the same: the engine of the physics and its contacts (the caster slides with a
friction of 0 in both), how light falls, and that Gazebo's lidar renders where MuJoCo casts rays.
And the wheels, which are crowned in MuJoCo: they roll on a disc here, see :func:`_rolling`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import resources
import math
import sys
from xml.etree import ElementTree as ET

import numpy as np
import numpy.typing as npt

from boundary_env_ros.simulation.config import CartConfig

#: Of the world in Gazebo, and of the cart in it.
WORLD, MODEL = 'warehouse', 'warehouse_cart'

#: Names of Gazebo's own topics, on which the cart moves and is seen; the bridge maps them.
COMMAND, ODOMETRY, TRUTH, SCAN, CAMERA, IMU, JOINTS, CONTACTS = (
    f'/model/{MODEL}/{name}'
    for name in (
        'cmd_vel',
        'odometry',
        'ground_truth',
        'scan',
        'camera',
        'imu',
        'joint_state',
        'contacts',
    )
)

# libsdformat 12 to 15 read it (Gazebo Fortress to Jetty).
_VERSION = '1.9'

_SYSTEMS = (
    ('gz-sim-physics-system', 'gz::sim::systems::Physics'),
    ('gz-sim-user-commands-system', 'gz::sim::systems::UserCommands'),
    ('gz-sim-scene-broadcaster-system', 'gz::sim::systems::SceneBroadcaster'),
    ('gz-sim-contact-system', 'gz::sim::systems::Contact'),
    ('gz-sim-imu-system', 'gz::sim::systems::Imu'),
)

# Geom groups, as warehouse.xml explains them.
_HALL, _FLOOR, _CART, _MARK = '0', '1', '2', '3'

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Geom:
    """
    One solid of the model.

    Attributes
    ----------
    name, shape, group
        As the model has them.
    size
        Half extents of a box or an ellipsoid; radius and half length of a cylinder; radius of a
        sphere; half extents of a plane; m.
    pose
        x, y, z (m) and roll, pitch, yaw (rad) in its body.
    mass
        kg; 0 for what does not move.
    friction
        Of sliding.
    colour
        red, green, blue, alpha, 0 to 1.

    """

    name: str
    shape: str
    group: str
    size: tuple[float, ...]
    pose: tuple[float, ...]
    mass: float
    friction: float
    colour: str


def world_sdf(config: CartConfig | None = None) -> str:
    """
    Return the world as SDF.

    Parameters
    ----------
    config
        What is declared about driver and sensors; default: that of the simulated cart.

    """
    source = _Source()
    root = ET.Element('sdf', version=_VERSION)
    world = _add(root, 'world', name=WORLD)
    physics = _add(world, 'physics', name='as_in_mujoco', type='ignored')
    _add(physics, 'max_step_size', source.timestep)
    _add(physics, 'real_time_factor', '1.0')
    for file, name in _SYSTEMS:
        _add(world, 'plugin', filename=file, name=name)
    sensors = _add(
        world, 'plugin', filename='gz-sim-sensors-system', name='gz::sim::systems::Sensors'
    )
    _add(sensors, 'render_engine', 'ogre2')
    _add(world, 'gravity', '0 0 -9.81')
    light = _add(world, 'light', name='lamps', type='directional')
    _add(light, 'cast_shadows', 'false')
    _add(light, 'direction', '-0.3 0.2 -1')
    _hall(world, source)
    _goal(world, source)
    _cart(world, source, config or CartConfig())
    ET.indent(root)
    head = (
        '<?xml version="1.0"?>\n'
        '<!-- Copyright 2026 The boundary_env_ros developers -->\n'
        '<!-- SPDX-License-Identifier: Apache-2.0 -->\n'
        '<!-- Made from warehouse.xml by boundary_env_ros.simulation.gazebo.world. -->'
    )
    return f'{head}\n{ET.tostring(root, encoding="unicode")}\n'


# The model ---------------------------------------------------------------------------------------


class _Source:
    """What the model of MuJoCo says, with the defaults of its classes filled in."""

    def __init__(self) -> None:
        package = resources.files('boundary_env_ros.simulation')
        text = package.joinpath('warehouse.xml').read_text(encoding='utf-8')
        self._root = ET.fromstring(text)  # noqa: S314 - our own file
        self._defaults: dict[str, dict[str, dict[str, str]]] = {}
        outermost = self._find(self._root, 'default')
        for child in outermost.findall('default'):
            self._take_defaults(child, {})
        self.timestep = self._find(self._root, 'option').attrib['timestep']
        world = self._find(self._root, 'worldbody')
        self.hall = tuple(self._geoms(world, ''))
        self.goal = self._find(world, "body[@name='goal']")
        self.base = self._find(world, "body[@name='base_link']")

    @staticmethod
    def _find(parent: ET.Element, path: str) -> ET.Element:
        found = parent.find(path)
        if found is None:
            raise ValueError(f'warehouse.xml: expected an element {path}, got none.')
        return found

    def _take_defaults(self, element: ET.Element, above: dict[str, dict[str, str]]) -> None:
        own = {
            kind: {**above.get(kind, {}), **dict(child.attrib)}
            for kind in ('geom', 'joint')
            for child in [element.find(kind)]
            if child is not None
        }
        merged = {**above, **own}
        self._defaults[element.attrib['class']] = merged
        for child in element.findall('default'):
            self._take_defaults(child, merged)

    def _filled(self, element: ET.Element, inherited: str) -> dict[str, str]:
        name = element.attrib.get('class', inherited)
        return {**self._defaults.get(name, {}).get(element.tag, {}), **element.attrib}

    def geoms(self, body: ET.Element) -> tuple[Geom, ...]:
        """Return the solids of one body of the cart, or of the goal."""
        return tuple(self._geoms(body, 'cart' if body is not self.goal else ''))

    def _geoms(self, body: ET.Element, inherited: str) -> Iterator[Geom]:
        for element in body.findall('geom'):
            found = self._filled(element, inherited)
            # A body of the hall is none of the cart's class unless it says so.
            yield Geom(
                name=found['name'],
                shape=found.get('type', 'sphere'),
                group=found.get('group', _HALL),
                size=_numbers(found['size']),
                pose=(
                    *_numbers(found.get('pos', '0 0 0')),
                    *_numbers(found.get('euler', '0 0 0')),
                ),
                mass=float(found.get('mass', 0.0)),
                friction=0.0
                if found.get('condim') == '1'
                else _numbers(found.get('friction', '1 0 0'))[0],
                colour=found.get('rgba', '0.5 0.5 0.5 1'),
            )

    def joint(self, body: ET.Element) -> dict[str, str]:
        """Return the joint of a wheel."""
        return self._filled(self._find(body, 'joint'), 'cart')

    def wheels(self) -> tuple[ET.Element, ...]:
        """Return the bodies of the wheels, the left one first."""
        return tuple(self.base.findall('body'))

    def site(self, name: str) -> tuple[float, ...]:
        """Return the pose of a mount in base_link: x, y, z (m), roll, pitch, yaw (rad)."""
        found = self._find(self.base, f"site[@name='{name}']").attrib
        return (*_numbers(found['pos']), *_numbers(found.get('euler', '0 0 0')))


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(map(float, text.split()))


# What is made of it ------------------------------------------------------------------------------


def _hall(world: ET.Element, source: _Source) -> None:
    model = _add(world, 'model', name='hall')
    _add(model, 'static', 'true')
    link = _add(model, 'link', name='hall')
    for geom in source.hall:
        _solid(link, geom)


def _goal(world: ET.Element, source: _Source) -> None:
    model = _add(world, 'model', name='goal')
    _add(model, 'static', 'true')
    _add(model, 'pose', _text((*_numbers(source.goal.attrib['pos']), 0.0, 0.0, 0.0)))
    link = _add(model, 'link', name='goal')
    for geom in source.geoms(source.goal):
        # Seen by the camera, and met by nothing. Lidars see by a mask that leaves it out.
        _add(_visual(link, geom), 'visibility_flags', str(_UNSEEN_BY_LIDAR))


# A lidar sees what has a bit in common with its mask.
_UNSEEN_BY_LIDAR, _LIDAR_MASK = 0x01, 0xFFFFFFFE


def _cart(world: ET.Element, source: _Source, config: CartConfig) -> None:
    model = _add(world, 'model', name=MODEL, canonical_link='base_link')
    _add(model, 'pose', _text((*_numbers(source.base.attrib['pos']), 0.0, 0.0, 0.0)))
    base = _add(model, 'link', name='base_link')
    solids = source.geoms(source.base)
    _inertial(base, solids)
    for geom in solids:
        _solid(base, geom)
    _sensors(base, source, config)
    wheels = source.wheels()
    for body in wheels:
        link = _add(model, 'link', name=body.attrib['name'])
        _add(link, 'pose', _text((*_numbers(body.attrib['pos']), 0.0, 0.0, 0.0)))
        (tyre,) = source.geoms(body)
        _inertial(link, (tyre,))
        _collision(link, _rolling(tyre))
        _visual(link, tyre)
        joint = source.joint(body)
        made = _add(model, 'joint', name=joint['name'], type='revolute')
        _add(made, 'parent', 'base_link')
        _add(made, 'child', body.attrib['name'])
        axis = _add(made, 'axis')
        _add(axis, 'xyz', joint['axis'])
        _add(_add(axis, 'dynamics'), 'damping', joint['damping'])
    _drive(model, source, config, wheels)


def _drive(
    model: ET.Element, source: _Source, config: CartConfig, wheels: tuple[ET.Element, ...]
) -> None:
    left, right = wheels
    (tyre,) = source.geoms(left)
    radius = tyre.size[0]
    separation = _numbers(left.attrib['pos'])[1] - _numbers(right.attrib['pos'])[1]
    drive = _add(
        model, 'plugin', filename='gz-sim-diff-drive-system', name='gz::sim::systems::DiffDrive'
    )
    fastest, acceleration = config.max_wheel_speed * radius, config.max_wheel_accel * radius
    for key, value in (
        ('left_joint', source.joint(left)['name']),
        ('right_joint', source.joint(right)['name']),
        ('wheel_separation', separation),
        ('wheel_radius', radius),
        ('odom_publish_frequency', config.odometry.rate),
        ('topic', COMMAND),
        ('odom_topic', ODOMETRY),
        ('tf_topic', f'/model/{MODEL}/tf'),
        ('frame_id', 'hall'),
        ('child_frame_id', 'base_link'),
        ('max_linear_velocity', fastest),
        ('min_linear_velocity', -fastest),
        ('max_angular_velocity', 2.0 * fastest / separation),
        ('min_angular_velocity', -2.0 * fastest / separation),
        ('max_linear_acceleration', acceleration),
        ('min_linear_acceleration', -acceleration),
        ('max_angular_acceleration', 2.0 * acceleration / separation),
        ('min_angular_acceleration', -2.0 * acceleration / separation),
    ):
        _add(drive, key, value if isinstance(value, str) else _text((value,)))
    truth = _add(
        model,
        'plugin',
        filename='gz-sim-odometry-publisher-system',
        name='gz::sim::systems::OdometryPublisher',
    )
    for key, value in (
        ('odom_frame', 'hall'),
        ('robot_base_frame', 'base_link'),
        ('odom_topic', TRUTH),
        ('odom_publish_frequency', config.ground_truth.rate),
        ('dimensions', '3'),
    ):
        _add(truth, key, value if isinstance(value, str) else _text((value,)))
    joints = _add(
        model,
        'plugin',
        filename='gz-sim-joint-state-publisher-system',
        name='gz::sim::systems::JointStatePublisher',
    )
    _add(joints, 'topic', JOINTS)
    # Releases before 2026 ignore it, and publish at every step.
    _add(joints, 'update_rate', _text((config.joint_states.rate,)))


def _sensors(base: ET.Element, source: _Source, config: CartConfig) -> None:
    scan = _sensor(base, 'scan', 'gpu_lidar', source.site('scan'), config.scan.rate, SCAN, 'laser')
    lidar = _add(scan, 'lidar')
    horizontal = _add(_add(lidar, 'scan'), 'horizontal')
    step = 2.0 * math.pi / config.scan.beams
    _add(horizontal, 'samples', str(config.scan.beams))
    _add(horizontal, 'resolution', '1')
    _add(horizontal, 'min_angle', _text((-math.pi,)))
    _add(horizontal, 'max_angle', _text((math.pi - step,)))
    reach = _add(lidar, 'range')
    _add(reach, 'min', _text((config.scan.range_min,)))
    _add(reach, 'max', _text((config.scan.range_max,)))
    _noise(lidar, config.scan.range_noise)
    _add(lidar, 'visibility_mask', str(_LIDAR_MASK))

    seen = config.camera
    view = _sensor(base, 'camera', 'camera', source.site('camera'), seen.rate, CAMERA, 'camera')
    camera = _add(view, 'camera')
    _add(camera, 'horizontal_fov', _text((seen.field_of_view,)))
    image = _add(camera, 'image')
    _add(image, 'width', str(seen.width))
    _add(image, 'height', str(seen.height))
    _add(image, 'format', 'R8G8B8')
    clip = _add(camera, 'clip')
    _add(clip, 'near', '0.02')
    _add(clip, 'far', '20')
    _noise(camera, seen.intensity_noise / 255.0)

    imu = _sensor(base, 'imu', 'imu', source.site('imu'), config.imu.rate, IMU, 'base_link')
    inside = _add(imu, 'imu')
    for kind, deviation in (
        ('angular_velocity', config.imu.angular_velocity_noise),
        ('linear_acceleration', config.imu.linear_acceleration_noise),
    ):
        measured = _add(inside, kind)
        for axis in 'xyz':
            _noise(_add(measured, axis), deviation, kind='noise', type='gaussian')

    bumper = _sensor(
        base, 'bumper', 'contact', (0.0,) * 6, config.contact.rate, CONTACTS, 'base_link'
    )
    touched = _add(bumper, 'contact')
    _add(touched, 'collision', 'chassis')
    _add(touched, 'topic', CONTACTS)


def _sensor(
    link: ET.Element,
    name: str,
    kind: str,
    pose: tuple[float, ...],
    rate: float,
    topic: str,
    frame: str,
) -> ET.Element:
    sensor = _add(link, 'sensor', name=name, type=kind)
    _add(sensor, 'pose', _text(pose))
    _add(sensor, 'topic', topic)
    _add(sensor, 'gz_frame_id', frame)
    _add(sensor, 'update_rate', _text((rate,)))
    _add(sensor, 'always_on', 'true')
    return sensor


def _noise(
    parent: ET.Element,
    deviation: float,
    *,
    kind: str = 'noise',
    type: str = '',  # noqa: A002
) -> None:
    noise = _add(parent, kind, **({'type': type} if type else {}))
    if not type:
        _add(noise, 'type', 'gaussian')
    _add(noise, 'mean', '0')
    _add(noise, 'stddev', _text((deviation,)))


def _rolling(tyre: Geom) -> Geom:
    """
    Return what a wheel touches the floor with: a disc of its radius, 4 mm wide.

    DART makes a mesh of 16 x 16 corners of an ellipsoid, on which the speed of the cart swings by
    a fifth. On a disc as wide as the tyre, 40 mm, the cart turns 13 % too fast.
    """
    return replace(
        tyre,
        shape='cylinder',
        size=(tyre.size[0], 0.002),
        # The axis of a cylinder is z, that of a wheel y.
        pose=(*tyre.pose[:3], math.pi / 2.0, 0.0, 0.0),
    )


def _solid(link: ET.Element, geom: Geom) -> None:
    _collision(link, geom)
    _visual(link, geom)


def _collision(link: ET.Element, geom: Geom) -> None:
    collision = _add(link, 'collision', name=geom.name)
    _add(collision, 'pose', _text(geom.pose))
    _shape(collision, geom)
    ode = _add(_add(_add(collision, 'surface'), 'friction'), 'ode')
    _add(ode, 'mu', _text((geom.friction,)))
    _add(ode, 'mu2', _text((geom.friction,)))


def _visual(link: ET.Element, geom: Geom) -> ET.Element:
    # Siblings have names of their own in SDF, whatever they are.
    visual = _add(link, 'visual', name=f'{geom.name}_visual')
    _add(visual, 'pose', _text(geom.pose))
    _shape(visual, geom)
    material = _add(visual, 'material')
    for kind in ('ambient', 'diffuse'):
        _add(material, kind, geom.colour)
    return visual


def _shape(parent: ET.Element, geom: Geom) -> None:
    geometry = _add(parent, 'geometry')
    shape = _add(geometry, geom.shape)
    size = geom.size
    match geom.shape:
        case 'box':
            _add(shape, 'size', _text(tuple(2.0 * half for half in size)))
        case 'cylinder':
            _add(shape, 'radius', _text(size[:1]))
            _add(shape, 'length', _text((2.0 * size[1],)))
        case 'sphere':
            _add(shape, 'radius', _text(size[:1]))
        case 'ellipsoid':
            _add(shape, 'radii', _text(size))
        case 'plane':
            _add(shape, 'normal', '0 0 1')
            _add(shape, 'size', _text(tuple(2.0 * half for half in size[:2])))
        case _:
            raise ValueError(
                f'Unknown shape (expected a shape that SDF knows, got {geom.shape!r}).'
            )


def _inertial(link: ET.Element, geoms: tuple[Geom, ...]) -> None:
    """Add mass, its middle, and the inertia about that, as MuJoCo works them out of the solids."""
    mass = sum(geom.mass for geom in geoms)
    middle = np.sum([geom.mass * np.array(geom.pose[:3]) for geom in geoms], axis=0) / mass
    inertia = np.zeros((3, 3))
    for geom in geoms:
        off = np.array(geom.pose[:3]) - middle
        inertia += _own_inertia(geom) + geom.mass * (off @ off * np.eye(3) - np.outer(off, off))
    made = _add(link, 'inertial')
    _add(made, 'pose', _text((*middle, 0.0, 0.0, 0.0)))
    _add(made, 'mass', _text((mass,)))
    tensor = _add(made, 'inertia')
    for row, column in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
        _add(tensor, f'i{"xyz"[row]}{"xyz"[column]}', _text((inertia[row, column],)))


def _own_inertia(geom: Geom) -> Matrix:
    """Return the inertia of a solid of even density about its middle, kg m^2, shape (3, 3)."""
    match geom.shape:
        case 'box':
            squares = np.square(geom.size) / 3.0
        case 'ellipsoid':
            squares = np.square(geom.size) / 5.0
        case 'sphere':
            squares = np.full(3, geom.size[0] ** 2 / 5.0)
        case 'cylinder':
            radius, half = geom.size
            squares = np.array([radius**2 / 4.0, radius**2 / 4.0, half**2 / 3.0])
        case _:
            raise ValueError(f'The shape is not solid (expected a solid, got {geom.shape!r}).')
    # Of x^2, y^2 and z^2 the mean over the solid.
    return geom.mass * np.diag(squares.sum() - squares)


# XML ---------------------------------------------------------------------------------------------


def _add(parent: ET.Element, tag: str, text: str = '', **attributes: str) -> ET.Element:
    made = ET.SubElement(parent, tag, attributes)
    made.text = text or None
    return made


def _text(numbers: tuple[float, ...]) -> str:
    return ' '.join(f'{0.0 if abs(n) < 1e-12 else n:.9g}' for n in numbers)


if __name__ == '__main__':
    sys.stdout.write(world_sdf())
