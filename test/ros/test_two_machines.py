# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The boundary on two machines: what is said of their clocks is true, and no link is no motion."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial
import os
from pathlib import Path
import shutil
import subprocess
import sys
import time

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from boundary_env_ros.core.records.clock_offsets import offsets_of
from boundary_env_ros.core.records.decision import GateDecision, Verdict
from boundary_env_ros.core.records.transition import Kind, Transition
from boundary_env_ros.core.timebase import Clock, NANOSECONDS
from boundary_env_ros.ros.processes import PROFILES_FILE
from boundary_env_ros.storage.contract_file import load
from boundary_env_ros.storage.record_reader import open_records
from support.own_command import OwnCommand
from support.ros_world import MARK, NOISE, PATIENT, write_contract
from support.wrong_clock import MILLISECOND, on_host, WrongClock
from tools.faults.two_hosts import TwoHosts, why_not

pytestmark = [pytest.mark.ros, pytest.mark.nightly, pytest.mark.timed]

_ROBOT, _POLICY = 'cart-host', 'policy-host'

_STEPS = """
import sys
import numpy as np
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.facade import BoundaryEnv
while True:
    try:
        with BoundaryEnv(sys.argv[1], world='ros', startup_timeout=60.0) as env:
            while True:
                env.reset(options={'scenario': 'far'})
                ended = False
                while not ended:
                    *_, terminated, truncated, info = env.step(np.array([0.0, 0.5], np.float32))
                    ended = terminated or truncated
                    print('stepped', info['latency'], flush=True)
                print(info['ending'], flush=True)
    except BoundaryError as error:
        print(error, flush=True)
"""


# What IP cuts into pieces is lost with each of them, and sent again whole; what Fast DDS cuts is
# sent again by the piece.
_PROFILE = """
<profiles xmlns="http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles">
  <transport_descriptors>
    <transport_descriptor>
      <transport_id>short</transport_id>
      <type>UDPv4</type>
      <maxMessageSize>1400</maxMessageSize>
    </transport_descriptor>
  </transport_descriptors>
  <participant profile_name="short" is_default_profile="true">
    <rtps>
      <userTransports><transport_id>short</transport_id></userTransports>
      <useBuiltinTransports>false</useBuiltinTransports>
    </rtps>
  </participant>
</profiles>
"""


class Machines:
    """The two, each with its side of the boundary."""

    def __init__(self, folder: Path, hosts: TwoHosts) -> None:
        self.folder, self.hosts, self.run = folder, hosts, folder / 'run'
        self._spaces = dict(zip((_ROBOT, _POLICY), hosts.spaces.values(), strict=True))
        changes = {
            'robot': {'host': _ROBOT},
            # What a late message does is another test's: here the links lose a fifth of them.
            'observation': {**PATIENT['observation'], 'front': None},
            'safety': {**PATIENT['safety'], 'command_timeout': 0.3, 'hold_timeout': 0.15},
            'episode': {'time_limit': 600.0, 'reset': {'deadline': 60.0}},
        }
        self.contract = write_contract(folder / 'contract.yaml', changes)
        self.clock = WrongClock(folder, 100 * MILLISECOND, 200)
        (folder / 'profile.xml').write_text(_PROFILE)
        self._sides: list[OwnCommand] = []
        self._policies: list[subprocess.Popen[bytes]] = []

    def environment(self, host: str) -> dict[str, str]:
        """Return the variables of a host; the policy's has the wrong clock."""
        found = {
            'ROS_HOME': str(self.folder / host),
            'ROS_DOMAIN_ID': '0',
            PROFILES_FILE: str(self.folder / 'profile.xml'),
        }
        return {**found, **self.clock.environment} if host == _POLICY else found

    def up(self, host: str, *arguments: str) -> OwnCommand:
        """Start one side; return it once its nodes are active."""
        folder = self.folder / host
        folder.mkdir(exist_ok=True)
        side = OwnCommand(
            folder, 'up', str(self.contract), *arguments,
            environment=self.environment(host),
            within=partial(on_host, self._spaces[host], host),
        )  # fmt: skip
        self._sides.append(side)
        side.wait_until(lambda: 'All nodes are active' in side.text, 'all nodes to be active')
        return side

    def copy_key(self) -> None:
        """Copy the key as a person does."""
        place = Path('boundary_env_ros') / 'keys'
        (self.folder / _POLICY / place).mkdir(parents=True)
        key = place / 'domain_0'
        shutil.copy2(self.folder / _ROBOT / key, self.folder / _POLICY / key)

    def step(self) -> None:
        """Start a policy that steps whatever happens."""
        with (self.folder / 'policy.txt').open('wb') as output:
            self._policies.append(
                subprocess.Popen(
                    on_host(
                        self._spaces[_POLICY],
                        _POLICY,
                        [sys.executable, '-c', _STEPS, str(self.contract)],
                    ),
                    env={**os.environ, **self.environment(_POLICY)},
                    stdout=output,
                    stderr=subprocess.STDOUT,
                )
            )

    @property
    def steps(self) -> int:
        """How many steps the policy has made."""
        return (self.folder / 'policy.txt').read_text().count('stepped')

    def close(self) -> None:
        """End everything, whatever its state."""
        for policy in self._policies:
            policy.kill()
            policy.wait()
        for side in reversed(self._sides):
            side.process.terminate()
        while self._sides:
            side = self._sides.pop()
            side.wait()
            side.assert_gone()


@pytest.fixture
def machines(_run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machines]:
    for name in ('ROS_LOCALHOST_ONLY', 'ROS_AUTOMATIC_DISCOVERY_RANGE', 'CYCLONEDDS_URI'):
        monkeypatch.delenv(name, raising=False)
    for name in [each for each in os.environ if each.endswith('DEFAULT_PROFILES_FILE')]:
        monkeypatch.delenv(name)
    assert MARK in os.environ
    if 'not allowed' in (why := why_not()):
        pytest.skip(f'no network namespace can be made here: {why}')
    with TwoHosts() as hosts, closing(Machines(tmp_path, hosts)) as made:
        yield made
        hosts.cable('good')


def test_over_a_bad_link_the_clocks_are_known_and_the_robot_stops_when_it_dies(
    machines: Machines,
) -> None:
    """Recorder, gate and robot are on one side, environment and policy on the other."""
    cable, folder = machines.hosts.cable, machines.folder
    # To the robot it takes longer than back: the whole difference is in the uncertainty.
    bad = 'delay 0.001 back 0.009 jitter 0.003 loss'
    cable(f'{bad} 0')
    robot = machines.up(_ROBOT, '--on', 'robot', '--simulated', '--run', str(machines.run))
    machines.copy_key()
    policy = machines.up(_POLICY, '--on', 'policy')
    machines.step()
    policy.wait_until(lambda: machines.steps > 20, 'steps')
    phases = []
    for loss in (0.01, 0.05, 0.2):
        cable(f'{bad} {loss}')
        begin = time.time_ns()
        time.sleep(12.0)
        phases.append((loss, begin, time.time_ns()))
    cable(f'{bad} 0.05')
    before = machines.steps
    policy.wait_until(lambda: machines.steps > before + 20, 'steps')
    died = time.time_ns()
    cable('loss 1')
    time.sleep(5.0)
    text = (folder / 'policy.txt').read_text()
    # The robot's side has gone on, and closes its record.
    machines.close()
    assert 'safety_gate ended' not in robot.text
    source = open_records(machines.run)
    steps = [step for step in source.transitions() if step.kind is Kind.STEP]
    for loss, begin, end in phases:
        seen = [s for s in steps if begin <= _true(machines.clock, s) < end]
        right = [_right(machines.clock, s) for s in seen]
        known = [r for r in right if r is not None]
        print(f'loss {loss}: {len(seen)} steps, {len(known)} with an estimate, {sum(known)} right')
        doubts = sorted(o.uncertainty for s in seen for o in offsets_of(s) if o.host == _ROBOT)
        print(f'  median {1e3 * doubts[len(doubts) // 2]:.2f} ms, most {1e3 * doubts[-1]:.2f} ms')
        assert len(known) > 30, text
        assert all(known)
    contract = load(machines.contract).contract
    decisions = [entry.record for entry in source.entries(GateDecision)]
    asked = [d.received for d in decisions if d.request is not None and d.received is not None]
    last = asked[-1].ros.nanoseconds
    assert last < died + 2 * NANOSECONDS
    after = [d for d in decisions if d.decided.ros.nanoseconds > last]
    stop = next(d for d in after if d.verdict is Verdict.STOPPED)
    took = (stop.decided.ros.nanoseconds - last) / NANOSECONDS
    print(f'last request {(died - last) / 1e9:.3f} s before; stopped {took:.3f} s after it')
    assert took <= contract.safety.command_timeout + contract.safety.gate_period + NOISE
    assert [d.command for d in after if d.published][-1] == (0.0, 0.0)


def _true(clock: WrongClock, step: Transition) -> int:
    """Return when a step was closed, by the right clock."""
    closed = step.closed.ros.nanoseconds
    return closed - clock.ahead(closed - clock.ahead(closed))


def _right(clock: WrongClock, step: Transition) -> bool | None:
    """Return whether what a step says of the robot's clock is true; None if it says nothing."""
    assert step.closed.ros.clock is Clock.SYSTEM
    for found in offsets_of(step):
        if found.host == _ROBOT:
            truth = -clock.ahead(_true(clock, step)) / NANOSECONDS
            drift = (found.drift or 0.0) + clock.ppm / 1e6
            grows = found.drift is None or abs(drift) <= (found.drift_uncertainty or 0.0)
            return grows and abs(found.offset - truth) <= found.uncertainty
    return None
