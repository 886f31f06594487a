# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The tf2_msgs of a workspace goes before the one message that pip builds, at every start."""

from __future__ import annotations

from collections.abc import Mapping
import json
from pathlib import Path
import shutil

import pytest

from support.installs import Environment, run

pytestmark = [pytest.mark.packaging, pytest.mark.timeout(900)]

# The order of a set of texts, as of the paths that the wheels join, is another in each start.
_STARTS = 6

_PROBE = """
import json
from rclpy.serialization import deserialize_message, serialize_message
import tf2_msgs.msg
sent = tf2_msgs.msg.TFMessage()
assert deserialize_message(serialize_message(sent), tf2_msgs.msg.TFMessage) == sent
with open('/proc/self/maps') as maps:
    loaded = {line.split()[-1] for line in maps if 'libtf2_msgs' in line}
print(json.dumps([tf2_msgs.__file__, *sorted(loaded)]))
"""


@pytest.fixture(scope='module')
def environment(made_tree: Path) -> Environment:
    """Return an environment in which pip has built the one message."""
    return Environment(made_tree / '.venv')


@pytest.fixture(scope='module')
def sourced(environment: Environment, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return what sourcing a workspace sets that has a tf2_msgs: one built as the other is."""
    install = tmp_path_factory.mktemp('workspace') / 'install'
    shutil.copytree(environment.prefix / 'opt/boundary_env_ros', install)
    (modules,) = install.glob('lib/python3.*/site-packages')
    return {
        'AMENT_PREFIX_PATH': str(install),
        'LD_LIBRARY_PATH': str(install / 'lib'),
        'PYTHONPATH': str(modules),
    }


def _used(environment: Environment, variables: Mapping[str, str]) -> list[Path]:
    """Return the module and the libraries that a new process uses."""
    answer = run(environment.prefix / 'bin/python', '-c', _PROBE, environment=variables)
    used = [Path(place) for place in json.loads(answer)]
    assert len(used) > 2
    return used


def test_a_sourced_workspace_is_used_at_every_start(
    environment: Environment, sourced: dict[str, str]
) -> None:
    for _ in range(_STARTS):
        for place in _used(environment, sourced):
            assert place.is_relative_to(sourced['AMENT_PREFIX_PATH'])


def test_without_one_the_message_of_pip_is_used(environment: Environment) -> None:
    for place in _used(environment, {}):
        assert place.is_relative_to(environment.prefix)
