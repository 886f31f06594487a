# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is written in several build files says the same in each of them."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from support.installs import INTERFACES, NODES, REPOSITORY

CMAKE = (REPOSITORY / 'CMakeLists.txt').read_text(encoding='utf-8')
PACKAGE = ET.parse(REPOSITORY / 'package.xml').getroot()


def test_cmake_builds_every_interface_file_and_no_other() -> None:
    found = re.search(r'set\(interfaces\n(.*?)\)', CMAKE, re.DOTALL)
    assert found is not None
    assert found.group(1).split() == INTERFACES


def test_packages_that_interfaces_use_are_found_linked_and_depended_on() -> None:
    text = '\n'.join((REPOSITORY / name).read_text(encoding='utf-8') for name in INTERFACES)
    used = set(re.findall(r'^([a-z]\w*)/\w+(?:\[\S*\])? \w', text, re.MULTILINE))
    used -= {'boundary_env_ros'}
    linked = re.search(r'DEPENDENCIES (.*)', CMAKE)
    assert linked is not None
    assert set(linked.group(1).split()) == used
    assert used <= set(re.findall(r'find_package\((\w+) REQUIRED\)', CMAKE))
    assert {element.text for element in PACKAGE.findall('depend')} == used


@pytest.mark.parametrize('node', NODES)
def test_each_node_has_an_executable_and_a_module(node: str) -> None:
    listed = re.search(r'foreach\(node (.*)\)', CMAKE)
    assert listed is not None
    assert listed.group(1).split() == list(NODES)
    assert (REPOSITORY / 'boundary_env_ros/ros/nodes' / f'{node}.py').is_file()
