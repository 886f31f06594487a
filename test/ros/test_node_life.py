# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The life of a node: what it refuses it says, and what it says last is heard."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import gc
import os
from pathlib import Path
import signal
import subprocess
import sys
import time
from typing import Any, TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from lifecycle_msgs.msg import State
from lifecycle_msgs.msg import Transition as Lifecycle
from lifecycle_msgs.srv import ChangeState
import rclpy
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.qos import QoSProfile
from std_msgs.msg import Bool
from std_srvs.srv import Trigger
import yaml

from boundary_env_ros.core.gate.gate_events import ClearEmergencyStop, EmergencyStop
from boundary_env_ros.core.records.decision import GateState
from boundary_env_ros.errors import BoundaryError, LinkError
from boundary_env_ros.ros import names
from boundary_env_ros.ros.bring_up import BringUp
from boundary_env_ros.ros.contract_node import ContractNode
from boundary_env_ros.ros.interfaces import srv
from boundary_env_ros.ros.nodes.safety_gate import SafetyGate
from boundary_env_ros.ros.processes import isolated_environment, NodeProcess, NodeSpec
from boundary_env_ros.storage.contract_file import load
from support.ros_world import PATIENT, reserved_domain, World, write_contract

if TYPE_CHECKING:
    from conftest import MakeWorld

pytestmark = pytest.mark.ros

_SOON = 20.0
_STILL = np.zeros(2, dtype=np.float32)


@pytest.fixture(scope='module')
def world(make_world: MakeWorld) -> World:
    return make_world(changes=PATIENT)


def _probed(world: World) -> Path:
    """Return the contract of the world, with a command to probe its driver by."""
    return write_contract(
        world.file.parent / 'probed' / 'contract.yaml',
        {'action': {'base': {'driver_timeout_probe': [0.1, 0.0]}}},
    )


def test_the_stop_service_does_not_release_a_button_that_is_still_pressed(world: World) -> None:
    stop = world.loaded.contract.safety.emergency_stop
    with world.probe.publisher(Bool, stop, names.RECORD) as button:
        button.publish(Bool(data=True))
        world.probe.until(lambda: not world.clears(), _SOON, 'the button to count')
        service = 'safety_gate/emergency_stop'
        assert world.probe.call(Trigger, service, Trigger.Request()).success
        assert not world.clears()
        button.publish(Bool(data=False))
        world.probe.until(world.clears, _SOON, 'the button to be released')


def test_a_client_that_asks_again_during_its_reset_goes_on_with_it(world: World) -> None:
    request = srv.BeginEpisode.Request(
        digest=world.loaded.digest, client='ann', seed_given=True, seed=3
    )
    first, second = (
        world.probe.call(srv.BeginEpisode, names.BEGIN_EPISODE, request) for _ in range(2)
    )
    assert first.episode_id
    assert (second.episode_id, second.seed) == (first.episode_id, 3)
    request.seed = 4
    third = world.probe.call(srv.BeginEpisode, names.BEGIN_EPISODE, request)
    assert third.episode_id not in ('', first.episode_id)
    end = srv.EndEpisode.Request(
        digest=world.loaded.digest, client='ann', episode_id=third.episode_id, ending='abandoned'
    )
    world.probe.call(srv.EndEpisode, names.END_EPISODE, end)


@pytest.mark.parametrize('qos', [names.RECORD, names.SENSOR, names.LATCHED])
def test_a_press_is_heard_however_it_is_offered(world: World, qos: QoSProfile) -> None:
    stop = world.loaded.contract.safety.emergency_stop
    with world.probe.publisher(Bool, stop, qos) as button:

        def heard() -> bool:
            # As buttons do, it repeats itself: best effort may lose one.
            button.publish(Bool(data=True))
            return world.gate_state() is GateState.EMERGENCY_STOPPED

        world.probe.until(heard, _SOON, 'an emergency stop')
        _clear(world, lambda: button.publish(Bool(data=False)))


def test_a_gate_that_comes_late_hears_a_press_that_was_latched(world: World) -> None:
    stop = world.loaded.contract.safety.emergency_stop
    with world.probe.publisher(Bool, stop, names.LATCHED) as button:
        world.kill('safety_gate')
        world.processes['safety_gate'].process.wait(_SOON)
        button.publish(Bool(data=True))
        since = time.monotonic_ns()
        world.revive()
        world.probe.until(
            lambda: world.gate_state() is GateState.EMERGENCY_STOPPED, _SOON, 'an emergency stop'
        )
        # The middleware may believe in its predecessor for 20 s; the successor must not.
        said = world.probe.messages(names.GATE_STATUS, since)
        assert {status.foreign_publishers for status in said} == {0}
        _clear(world, lambda: button.publish(Bool(data=False)))


def _clear(world: World, release: Callable[[], None]) -> None:
    def cleared() -> bool:
        release()  # as buttons do, again and again
        return world.clears()

    world.probe.until(cleared, _SOON, 'the emergency stop to be cleared')


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
def test_an_episode_that_a_signal_interrupts_has_an_ending(
    world: World, number: signal.Signals
) -> None:
    env = world.environment(startup_timeout=_SOON)
    env.reset(seed=1, options={'scenario': 'clear'})
    env.step(_STILL)
    world.kill('environment', number)
    over = False
    while not over:
        _, _, terminated, over, info = env.step(_STILL)
        assert not terminated
    assert (info['ending'], info['declared_by']) == ('operator_stop', 'environment')
    assert world.processes['environment'].process.wait(_SOON) == 0
    world.revive()


def test_a_node_of_which_dds_does_not_let_go_ends_nevertheless() -> None:
    with (
        reserved_domain() as domain,
        subprocess.Popen(
            [sys.executable, '-m', 'support.hung_node'],
            env={**os.environ, **isolated_environment(domain), 'PYTHONPATH': 'test'},
            cwd=Path(__file__).parents[2],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == 'there\n'
            process.terminate()
            _, said = process.communicate(timeout=_SOON)
        finally:
            process.kill()
    assert process.returncode == 1
    assert 'destroy_node' in said


def expect_refusal(world: World, log: Path, match: str, name: str, **parameters: Any) -> None:
    """Bring a node up that cannot be: in a namespace of its own, so that no other finds it."""
    node = NodeProcess(
        NodeSpec(name=name, parameters=parameters),
        environment=isolated_environment(world.domain_id),
        log=log,
        namespace='/other',
    )
    bring_up = BringUp(domain_id=world.domain_id, namespace='/other')
    try:
        with pytest.raises(LinkError, match=match):
            bring_up.run([node], _SOON)
    finally:
        bring_up.close()
        node.stop()


def test_a_node_says_which_parameter_it_refuses(world: World, tmp_path: Path) -> None:
    expect_refusal(
        world,
        tmp_path / 'robot.log',
        'expected driver_timeout above actuator_delay',
        'simulated_robot',
        contract=str(world.file),
        actuator_delay=0.9,
    )


def test_an_environment_says_which_field_of_a_reset_step_is_wrong(
    world: World, tmp_path: Path
) -> None:
    contract = yaml.safe_load(world.file.read_text())
    step = {'call': 'go', 'type': 'std_srvs/srv/SetBool', 'request': {'date': True}}
    steps = [{'world': contract['episode']['reset'].pop('service'), 'deadline': 1.0}]
    contract['episode']['reset']['procedure'] = [*steps, {**step, 'deadline': 1.0}]
    file = tmp_path / 'contract.yaml'
    file.write_text(yaml.safe_dump(contract, sort_keys=False))
    expect_refusal(
        world,
        tmp_path / 'environment.log',
        'Wrong fields for go in the reset procedure',
        'environment',
        contract=str(file),
    )


class Clumsy(ContractNode):
    """A node that fails in a way that nobody thought of, the first time; and to be activated."""

    def __init__(self) -> None:
        super().__init__('clumsy', 'robot')
        self.made: list[str] = []
        self.failures = self.refusals = 1

    def configure(self) -> None:
        self.made.append('something')
        if self.failures:
            self.failures -= 1
            raise ZeroDivisionError

    def activate(self) -> None:
        self.every(1.0, self._nothing)
        self.made.append('half of it')
        if self.refusals:
            self.refusals -= 1
            raise BoundaryError('Expect the other half, actually: none.')

    def deactivate(self) -> None:
        self.made = [thing for thing in self.made if thing != 'half of it']

    def cleanup(self) -> None:
        self.made.clear()

    def _nothing(self) -> None:
        pass


@pytest.fixture
def within(world: World) -> Iterator[None]:
    """Let nodes be made in this process, in a namespace where nobody hears them."""
    parameters = ('probe_on_activation:=true', f'contract:={_probed(world)}')
    told = [word for parameter in parameters for word in ('-p', parameter)]
    rclpy.init(
        domain_id=world.domain_id,
        args=['--ros-args', '-r', '__ns:=/within', *told],
        signal_handler_options=rclpy.signals.SignalHandlerOptions.NO,
    )
    yield
    rclpy.shutdown()
    gc.unfreeze()  # a node that is activated freezes itself, and its participant with it


@pytest.fixture
def clumsy(within: None) -> Iterator[Clumsy]:
    node = Clumsy()
    yield node
    node.destroy_node()


def test_a_failure_nobody_thought_of_is_logged_and_the_node_can_be_configured_again(
    clumsy: Clumsy, capfd: pytest.CaptureFixture[str]
) -> None:
    assert clumsy.trigger_configure() is TransitionCallbackReturn.ERROR
    assert 'ZeroDivisionError' in capfd.readouterr().err
    assert clumsy.made == []
    assert clumsy.trigger_configure() is TransitionCallbackReturn.SUCCESS
    assert clumsy.made == ['something']


def test_a_refused_activation_leaves_nothing_half_done(clumsy: Clumsy) -> None:
    clumsy.failures = 0
    clumsy.trigger_configure()
    assert clumsy.trigger_activate() is TransitionCallbackReturn.FAILURE
    assert clumsy.made == ['something']
    assert list(clumsy.timers) == []
    assert clumsy.trigger_activate() is TransitionCallbackReturn.SUCCESS
    # Its own, that of the diagnostics, and one that looks for publishers which are not heard.
    assert len(list(clumsy.timers)) == 3


def test_a_short_timeout_brings_more_heartbeats_and_short_steps_do_not(
    clumsy: Clumsy, tmp_path: Path
) -> None:
    changes = {**PATIENT, 'period': 0.01, 'safety': {**PATIENT['safety'], 'gate_period': 0.01}}
    clumsy._loaded = load(write_contract(tmp_path / 'contract.yaml', changes))
    assert [clumsy.heartbeat(timeout) for timeout in (3.0, 0.2)] == [0.1, 0.05]


def test_a_gate_whose_probe_is_refused_protects_and_is_not_armed(
    within: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = SafetyGate()
    errors: list[str] = []
    monkeypatch.setattr(node.get_logger(), 'error', errors.append)
    try:
        node.trigger_configure()
        # As launch does with the successor of one that died.
        node.gate.apply(EmergencyStop(pressed=True, now=node.clock.now()))
        assert node.trigger_activate() is TransitionCallbackReturn.SUCCESS
        assert any(
            'The drivers are not probed on activation: The emergency stop is latched' in e
            for e in errors
        )
        assert not node.gate.state.probing
        timers = len(list(node.timers))
        assert node.trigger_deactivate() is TransitionCallbackReturn.SUCCESS
        node.gate.apply(EmergencyStop(pressed=False, now=node.clock.now()))
        node.gate.apply(ClearEmergencyStop(now=node.clock.now()))
        assert node.trigger_activate() is TransitionCallbackReturn.SUCCESS
        assert len(list(node.timers)) == timers
        assert node.gate.state.probing
    finally:
        node.finish()
        node.destroy_node()


@pytest.mark.parametrize(
    'wrong',
    [
        Lifecycle(id=Lifecycle.TRANSITION_ACTIVATE),
        pytest.param(Lifecycle(label='activate'), marks=pytest.mark.nightly),
        pytest.param(Lifecycle(id=99), marks=pytest.mark.nightly),
        Lifecycle(label='fly', id=Lifecycle.TRANSITION_CONFIGURE),
    ],
    ids=str,
)
def test_a_transition_that_there_is_not_is_refused_and_the_node_lives(
    world: World, tmp_path: Path, wrong: Lifecycle
) -> None:
    node = NodeProcess(
        NodeSpec(name='environment', parameters={'contract': str(world.file)}),
        environment=isolated_environment(world.domain_id),
        log=tmp_path / 'environment.log',
        namespace='/asked',
    )
    try:

        def change(transition: Lifecycle) -> bool:
            request = ChangeState.Request(transition=transition)
            service = '/asked/environment/change_state'
            return bool(world.probe.call(ChangeState, service, request, _SOON).success)

        assert not change(wrong)
        assert change(Lifecycle(id=Lifecycle.TRANSITION_CONFIGURE))
        assert node.alive
    finally:
        node.stop()
    said = f'(expected configure, shutdown, got {wrong.label or wrong.id})'
    assert node.log is not None
    [error] = [line for line in node.log.read_text().splitlines() if '[ERROR]' in line]
    assert f'No such transition while unconfigured {said}' in error


def test_a_node_is_deactivated_and_activated_between_episodes(world: World) -> None:
    env = world.environment(startup_timeout=_SOON)
    bring_up = BringUp(domain_id=world.domain_id)
    try:
        for name in ('environment', 'safety_gate', 'simulated_robot'):
            process = world.processes[name]
            for transition in (
                Lifecycle.TRANSITION_DEACTIVATE,
                Lifecycle.TRANSITION_CLEANUP,
                Lifecycle.TRANSITION_CONFIGURE,
                Lifecycle.TRANSITION_ACTIVATE,
            ):
                bring_up.change(process, transition, time.monotonic() + _SOON)
                if name == 'safety_gate' and transition is Lifecycle.TRANSITION_DEACTIVATE:
                    # Latched: what it said last is what the next one reads who comes.
                    world.probe.until(
                        lambda: world.gate_state() is GateState.INACTIVE, _SOON, 'its last word'
                    )
            assert bring_up.state(process) == State.PRIMARY_STATE_ACTIVE
            env.reset(seed=1, options={'scenario': 'clear'})
            env.step(_STILL)
            world.end_episode()
    finally:
        bring_up.close()
