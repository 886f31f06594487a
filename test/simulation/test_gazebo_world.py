# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The world of Gazebo is that of MuJoCo: the same solids, masses, wheels and sensors."""

from __future__ import annotations

import math
from pathlib import Path
import shutil
import subprocess
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from boundary_env_ros.resources import share_file
from boundary_env_ros.simulation.cart_config import CartConfig
from boundary_env_ros.simulation.hall_model import hall_model

mujoco = pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

WORLD = share_file('config/gazebo/warehouse.sdf')

CHECK = """
#include <sdf/sdf.hh>
#include <iostream>
int main(int, char ** files)
{
  sdf::Root root;
  const auto errors = root.Load(files[1]);
  for (const auto & error : errors) { std::cout << error.Message() << std::endl; }
  if (errors.empty()) {
    const auto * world = root.WorldByIndex(0);
    std::cout << world->Name() << ' ' << world->ModelCount() << std::endl;
  }
}
"""


@pytest.fixture(scope='module')
def model() -> object:
    return mujoco.MjModel.from_xml_string(hall_model(1))


@pytest.fixture(scope='module')
def world() -> ET.Element:
    found = ET.parse(WORLD).find('world')
    assert found is not None
    return found


def numbers(element: ET.Element, path: str) -> np.ndarray:
    text = element.findtext(path)
    assert text is not None, path
    return np.array(text.split(), dtype=float)


def test_every_solid_of_the_hall_stands_where_it_does_in_mujoco(
    world: ET.Element, model: object
) -> None:
    solids = {c.attrib['name']: c for c in world.findall("model[@name='hall']/link/collision")}
    names = {model.geom(i).name for i in range(model.ngeom) if model.geom_bodyid[i] == 0}
    assert solids.keys() == names
    for name, solid in solids.items():
        geom = model.geom(name)
        assert numbers(solid, 'pose')[:3] == pytest.approx(geom.pos)
        turned = np.zeros(4)
        mujoco.mju_euler2Quat(turned, numbers(solid, 'pose')[3:], 'xyz')
        assert abs(turned @ geom.quat) == pytest.approx(1.0)
        sliding = 0.0 if geom.condim == 1 else geom.friction[0]
        assert numbers(solid, 'surface/friction/ode/mu') == pytest.approx([sliding])
        seen = world.find(f"model[@name='hall']/link/visual[@name='{name}_visual']")
        assert seen is not None
        assert numbers(seen, 'material/diffuse') == pytest.approx(geom.rgba)
        box, cylinder = solid.find('geometry/box'), solid.find('geometry/cylinder')
        if box is not None:
            assert numbers(box, 'size') == pytest.approx(2.0 * geom.size)
        elif cylinder is not None:
            assert numbers(cylinder, 'radius') == pytest.approx(geom.size[:1])
            assert numbers(cylinder, 'length') == pytest.approx(2.0 * geom.size[1:2])
        else:
            assert numbers(solid, 'geometry/plane/size') == pytest.approx(2.0 * geom.size[:2])


@pytest.mark.parametrize('body', ['base_link', 'left_wheel', 'right_wheel'])
def test_each_part_of_the_cart_weighs_what_it_does_in_mujoco(
    world: ET.Element, model: object, body: str
) -> None:
    inertial = world.find(f"model[@name='warehouse_cart']/link[@name='{body}']/inertial")
    assert inertial is not None
    known = model.body(body)
    assert numbers(inertial, 'mass') == pytest.approx(known.mass)
    assert numbers(inertial, 'pose')[:3] == pytest.approx(known.ipos)
    tensor = np.zeros((3, 3))
    for row, column in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
        (value,) = numbers(inertial, f'inertia/i{"xyz"[row]}{"xyz"[column]}')
        tensor[row, column] = tensor[column, row] = value
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, known.iquat)
    turn = turn.reshape(3, 3)
    assert tensor == pytest.approx(turn @ np.diag(known.inertia) @ turn.T, abs=1e-6)


@pytest.mark.parametrize('wheel', ['left_wheel', 'right_wheel'])
def test_wheels_roll_on_a_narrow_disc_of_their_radius(
    world: ET.Element, model: object, wheel: str
) -> None:
    # Seen on a server: ellipsoids bump, and a disc as wide as the tyre turns 13 % too far.
    link = world.find(f"model[@name='warehouse_cart']/link[@name='{wheel}']")
    assert link is not None
    disc = link.find('collision')
    assert disc is not None
    assert disc.find('geometry/ellipsoid') is None
    assert numbers(disc, 'geometry/cylinder/radius') == pytest.approx(model.geom(wheel).size[:1])
    assert numbers(disc, 'geometry/cylinder/length') == pytest.approx([0.004])
    assert numbers(disc, 'pose') == pytest.approx([0, 0, 0, math.pi / 2.0, 0, 0])
    assert numbers(link, 'visual/geometry/ellipsoid/radii') == pytest.approx(
        model.geom(wheel).size
    )


def test_siblings_have_names_of_their_own_as_sdf_demands() -> None:
    # `sdf -k` refused a world whose collisions and visuals shared theirs.
    for parent in ET.parse(WORLD).iter():
        names = [child.attrib['name'] for child in parent if 'name' in child.attrib]
        assert len(set(names)) == len(names), (parent.tag, parent.attrib, names)


def test_the_bumper_is_the_chassis(world: ET.Element) -> None:
    base = world.find("model[@name='warehouse_cart']/link[@name='base_link']")
    assert base is not None
    touched = base.findtext("sensor[@name='bumper']/contact/collision")
    assert touched in {solid.attrib['name'] for solid in base.findall('collision')}


def test_the_drive_has_the_wheels_and_the_limits_of_the_driver(
    world: ET.Element, model: object
) -> None:
    config = CartConfig()
    drive = world.find("model/plugin[@name='gz::sim::systems::DiffDrive']")
    assert drive is not None
    assert numbers(drive, 'wheel_radius') == pytest.approx(model.geom('left_wheel').size[:1])
    apart = model.body('left_wheel').pos[1] - model.body('right_wheel').pos[1]
    assert numbers(drive, 'wheel_separation') == pytest.approx([apart])
    radius = model.geom('left_wheel').size[0]
    assert numbers(drive, 'max_linear_velocity') == pytest.approx(
        [config.max_wheel_speed * radius]
    )
    assert numbers(drive, 'max_linear_acceleration') == pytest.approx(
        [config.max_wheel_accel * radius]
    )


def test_the_sensors_are_those_of_the_simulated_cart(world: ET.Element, model: object) -> None:
    config = CartConfig()
    found = {s.attrib['name']: s for s in world.findall('model/link/sensor')}
    for name, mount, rate in (
        ('scan', 'scan', config.scan.rate),
        ('camera', 'camera', config.camera.rate),
        ('imu', 'imu', config.imu.rate),
    ):
        assert numbers(found[name], 'pose')[:3] == pytest.approx(model.site(mount).pos)
        assert numbers(found[name], 'update_rate') == pytest.approx([rate])
    lidar = found['scan'].find('lidar')
    assert lidar is not None
    assert numbers(lidar, 'scan/horizontal/samples') == [config.scan.beams]
    step = 2.0 * math.pi / config.scan.beams
    assert numbers(lidar, 'scan/horizontal/min_angle') == pytest.approx([-math.pi])
    assert numbers(lidar, 'scan/horizontal/max_angle') == pytest.approx([math.pi - step])
    assert numbers(lidar, 'range/min') == [config.scan.range_min]
    assert numbers(lidar, 'range/max') == [config.scan.range_max]
    assert numbers(lidar, 'noise/stddev') == [config.scan.range_noise]
    camera = found['camera'].find('camera')
    assert camera is not None
    assert numbers(camera, 'horizontal_fov') == pytest.approx([config.camera.field_of_view])
    noise = config.camera.intensity_noise / 255.0
    assert numbers(camera, 'noise/stddev') == pytest.approx([noise])
    for axis in 'xyz':
        inside = found['imu'].find('imu')
        assert inside is not None
        for kind in ('angular_velocity', 'linear_acceleration'):
            (deviation,) = numbers(inside, f'{kind}/{axis}/noise/stddev')
            assert deviation == pytest.approx(getattr(config.imu, f'{kind}_noise'))
    assert numbers(camera, 'image/width') == [config.camera.width]
    assert numbers(camera, 'image/height') == [config.camera.height]


def test_libsdformat_reads_it_without_a_complaint(tmp_path: Path) -> None:
    found = shutil.which('pkg-config') and subprocess.run(
        ['pkg-config', '--list-all'], capture_output=True, text=True, check=True
    )
    packages = [
        line.split()[0]
        for line in (found.stdout.splitlines() if found else ())
        if line.startswith('sdformat')
    ]
    if not packages or shutil.which('c++') is None:
        pytest.skip('needs libsdformat-dev')
    flags = subprocess.run(
        ['pkg-config', '--cflags', '--libs', packages[-1]],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    source, program = tmp_path / 'check.cpp', tmp_path / 'check'
    source.write_text(CHECK)
    subprocess.run(['c++', '-std=c++17', source, '-o', program, *flags], check=True)
    said = subprocess.run([program, WORLD], capture_output=True, text=True, check=True)
    assert said.stdout == 'warehouse 3\n', said.stdout
    assert said.stderr == ''
