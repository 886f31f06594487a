# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is told of nodes that do not come up."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from boundary_env_ros.errors import LinkError, LinkTimeout
from boundary_env_ros.ros.bring_up import BringUp
from boundary_env_ros.ros.processes import isolated_environment
from support.ros_world import reserved_domain, SOON

pytestmark = pytest.mark.ros


@dataclass
class Silent:
    """A node that never answers."""

    place: str
    exit_code: int | None = None

    def last_output(self) -> str:
        return f'the end of {self.place}'


def test_a_node_that_hangs_does_not_hide_that_another_died(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with reserved_domain() as domain:
        for key, value in isolated_environment(domain).items():
            monkeypatch.setenv(key, value)
        bring_up = BringUp(domain_id=domain)
        try:
            with pytest.raises(LinkError, match=r'dead ended .* code 7\).\nthe end of dead$'):
                bring_up.run([Silent('hangs'), Silent('dead', 7)], SOON)
            with pytest.raises(LinkTimeout, match=r'hangs, .* in time.\nthe end of hangs$'):
                bring_up.run([Silent('hangs')], 0.1)
        finally:
            bring_up.close()
