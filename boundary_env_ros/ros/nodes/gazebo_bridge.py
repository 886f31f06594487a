# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The node ``gazebo_bridge``: Gazebo behind its bridge, as drivers would be."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
import math
import sys
import time
from types import SimpleNamespace
from typing import Any

from geometry_msgs.msg import Point, Pose, Quaternion, Twist
from nav_msgs.msg import Odometry
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.task import Future

from boundary_env_ros.core.contract.model import WorldStep
from boundary_env_ros.core.environment.arrivals import refuse_long
from boundary_env_ros.core.environment.reset import ResetWorld
from boundary_env_ros.core.records.lockstep import SimStepRequest
from boundary_env_ros.core.records.parts import NamedValues
from boundary_env_ros.core.sources.inputs import sensor_topics
from boundary_env_ros.core.sources.readers import reader, stamp_of
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import (
    BoundaryError,
    needed,
    RequestRejected,
    ResultCode,
    SimulationFailed,
)
from boundary_env_ros.ros import names
from boundary_env_ros.ros.command_domain import command_domain, declare_command_domain
from boundary_env_ros.ros.contract_node import ContractNode, run
from boundary_env_ros.ros.conversions import (
    fill,
    from_bytes,
    from_msg,
    message_class,
    set_time,
    to_bytes,
    to_msg,
)
from boundary_env_ros.ros.interfaces import srv
from boundary_env_ros.ros.released_stop import ReleasedStop
from boundary_env_ros.simulation.cart_config import CartConfig
from boundary_env_ros.simulation.cart_state import BodyState, target_of
from boundary_env_ros.simulation.gazebo.cart import (
    GazeboCart,
    MADE,
    SensorArrivals,
    state_of,
)
from boundary_env_ros.simulation.gazebo.server import GazeboWorld
from boundary_env_ros.simulation.messages import WIRE

# How often the driver checks its clock, and what was made is sent, s.
_PERIOD = 0.005

_TRUTH, _CONTACTS, _COMMAND = 'ground_truth', 'gazebo/contacts', 'gazebo/cmd_vel'


class GazeboBridge(ContractNode):
    """
    Stands between a contract and the cart in Gazebo.

    Outside it is what drivers and ``simulated_robot`` are: it takes the commands of the gate, and
    stands still when none comes; it resets the world, and in lockstep advances it. Gazebo's own
    services and its sensors come by the bridge.

    Attributes
    ----------
    cart
        What stands between contract and Gazebo, once the node is configured.
    truth
        The last true state of the cart that came.

    """

    cart: GazeboCart

    def __init__(self) -> None:
        super().__init__('gazebo_bridge', 'robot')
        self.declare('world', 'warehouse', 'Name of the world in the simulator.')
        self.declare('entity', 'warehouse_cart', 'Name of the cart in the simulator.')
        self.declare('goal', 'goal', 'Name of the mark of the goal; empty: there is none.')
        self.declare('step', 0.002, 'Seconds of one step of the simulator.')
        self.declare('patience', 5.0, 'Seconds, steady, for an answer of the simulator.')
        declare_command_domain(self)
        self._active = False
        # What was asked of the simulator: until when it is waited for, and of whom.
        self._calls: list[tuple[float, Future, Any]] = []
        self._moments: list[Future] = []
        self.truth: BodyState | None = None
        self._touches = 0
        # An advance that waits for its command, that waits for its steps, that waits for messages.
        self._pending: SimStepRequest | None = None
        self._stepping: SimStepRequest | None = None
        self._advancing: tuple[SimStepRequest, int, float] | None = None
        self._commanded = 0.0

    def configure(self) -> None:
        """Make subscriptions, publishers and clients."""
        contract = self.contract
        if not contract.sim_time:
            raise BoundaryError(
                'A simulator with a clock of its own needs a contract on simulated time '
                '(got `clock: ros`). Write `clock: sim`, or pass pacing:=lockstep.'
            )
        self._check_step()
        self._commanded = 0.0
        self.cart = GazeboCart(contract)
        config = CartConfig()
        (group,) = contract.action
        callback = partial(self._on_command, reader(group.source))
        at = self.resolve_topic_name(group.topic)
        subscribe = (command_domain(self) or self).add_subscription
        subscribe(message_class(group.type), at, callback, names.COMMAND)

        topics = dict(sensor_topics(contract))
        self._arrivals = SensorArrivals(config, tuple(topics))
        self._resolved = {topic: self.resolve_topic_name(topic) for topic, _ in WIRE.values()}
        for topic in self._arrivals.topics:
            # Of the truth more is wanted than its stamp.
            if self.contract.is_lockstep and topic != _TRUTH:
                note = partial(self._on_sensor, topic)
                self.add_subscription(
                    message_class(topics[topic]), topic, note, names.SENSOR_LOCKSTEP
                )
        self.add_subscription(Odometry, _TRUTH, self._on_truth, names.SENSOR_LOCKSTEP)
        self._made = {
            WIRE[name][0]: self.add_publisher(
                message_class(WIRE[name][1]), WIRE[name][0], names.SENSOR_LOCKSTEP
            )
            for name in MADE
        }
        self._stop = ReleasedStop(self)
        self._reach()
        self._world = GazeboWorld(
            self,
            step=self.value('step'),
            patience=self.value('patience'),
            paused=self.contract.is_lockstep,
        )
        steps = contract.episode.reset.steps
        for service in sorted({step.service for step in steps if isinstance(step, WorldStep)}):
            # It waits for answers and messages, whose callbacks are of the other group.
            self.add_service(
                srv.ResetWorld, service, self._on_reset, group=MutuallyExclusiveCallbackGroup()
            )
        if self.contract.is_lockstep:
            self._advanced = self.publisher_of(names.SIM_STEP_RESPONSE)
            self.subscribe(names.SIM_STEP_REQUEST, self._on_advance)

    def _reach(self) -> None:
        """Make the clients of the simulator, the publisher of its drive, and that of contacts."""
        self._types = _gazebo_interfaces()
        world = f'/world/{self.value("world")}'
        self._placer = self.add_client(self._types.set_entity_pose, f'{world}/set_pose')
        self._control = self.add_client(self._types.control_world, f'{world}/control')
        self._drive = self.add_publisher(Twist, _COMMAND, names.COMMAND)
        self.add_subscription(
            self._types.contacts, _CONTACTS, self._on_contacts, names.SENSOR_LOCKSTEP
        )

    def _check_step(self) -> None:
        step, period = self.value('step'), self.contract.period
        steps = period / step if step > 0.0 else 0.0
        if steps < 0.5 or (self.contract.is_lockstep and not math.isclose(steps, round(steps))):
            raise BoundaryError(
                'The parameter step does not fit into the period (expected more than 0 s, and '
                f'to fit a whole number of times into {period:g} s of {self.contract.name}, got '
                f'{step:g} s). Set it to the step of the simulator, or take another period.'
            )

    def activate(self) -> None:
        """Let the driver work, and the world run or, in lockstep, stand."""
        self._active = True
        self.halt()
        self.every(_PERIOD, self._on_timer)
        self._stop.beat()
        self.executor.create_task(self._set_running)

    def deactivate(self) -> None:
        """Let the cart stand."""
        if self._active:
            self.halt()
            self._abandon_advance()
        self._active = False
        # No timer will: the caller learns now that it was in vain.
        self._give_up(math.inf)
        self._end_moments()

    def cleanup(self) -> None:
        """Forget what was received."""
        self.truth = None

    def world_time(self) -> int:
        """Return the time of the world as far as it was received, ns."""
        return int(self.get_clock().now().nanoseconds)

    def _driver_time(self) -> int:
        """Return the time of the driver's timeout: in lockstep the world's, which stands still."""
        return self.world_time() if self.contract.is_lockstep else time.monotonic_ns()

    # Asking the simulator ------------------------------------------------------------------------

    async def _ask(self, client: Any, request: Any, what: str) -> None:
        """
        Ask the simulator for something, and come back when it has done it.

        Raises
        ------
        SimulationFailed
            If it is not there, does not answer in time, or says that it could not.

        """
        if not client.service_is_ready():
            raise SimulationFailed(
                f'No node serves {client.srv_name}, which is needed to {what}. '
                'Start the simulator and its bridge, or name its world with the parameter world.'
            )
        future = client.call_async(request)
        deadline = time.monotonic() + self.value('patience')
        self._calls.append((deadline, future, client))
        response = await future
        self._calls = [call for call in self._calls if call[1] is not future]
        self._check_active()
        if response is None:
            raise SimulationFailed(
                f'{client.srv_name} did not answer within {self.value("patience"):g} s. '
                f'The simulator did not {what}.'
            )
        if not response.success:
            raise SimulationFailed(f'The simulator refused to {what} ({client.srv_name}).')

    def _check_active(self) -> None:
        if not self._active:
            raise SimulationFailed(
                'The simulator was deactivated meanwhile. Activate it, and begin again.'
            )

    def _give_up(self, now: float) -> None:
        """Wait no more for what should have come by now, s of the steady clock."""
        for deadline, future, client in self._calls:
            if now > deadline and not future.done():
                # An answer that comes later is dropped.
                client.remove_pending_request(future)
                future.set_result(None)

    async def _set_running(self) -> None:
        try:
            await self._ask_to(
                'pause' if self.contract.is_lockstep else 'run', pause=self.contract.is_lockstep
            )
        except SimulationFailed as error:
            self.get_logger().error(str(error))

    async def step(self, steps: int) -> None:
        """Ask for steps of a world that is paused."""
        await self._ask_to('step', pause=True, multi_step=steps)

    async def _ask_to(self, what: str, **control: Any) -> None:
        request = self._types.control_world.Request()
        request.world_control = type(request.world_control)(**control)
        await self._ask(self._control, request, what)

    async def place(self, entity: str, x: float, y: float, z: float, yaw: float) -> None:
        """Ask for an entity to be put in a place, m and rad."""
        request = self._types.set_entity_pose.Request()
        request.entity.name, request.entity.type = entity, request.entity.MODEL
        request.pose = Pose(
            position=Point(x=x, y=y, z=z),
            orientation=Quaternion(z=math.sin(yaw / 2.0), w=math.cos(yaw / 2.0)),
        )
        await self._ask(self._placer, request, f'put {entity} in its place')

    async def moment(self) -> None:
        """Let other callbacks run."""
        future: Future = Future(executor=self.executor)
        self._moments.append(future)
        await future
        self._check_active()

    def _end_moments(self) -> None:
        moments, self._moments = self._moments, []
        for moment in moments:
            moment.set_result(None)

    # Commands ------------------------------------------------------------------------------------

    def _on_command(self, read: Callable[[Any], Vector], message: Any) -> None:
        if not self._active:
            return
        try:
            self.cart.command(read(message), self._driver_time())
        except BoundaryError as error:
            self.get_logger().error(str(error), throttle_duration_sec=1.0)
            return
        # One without a stamp is the newest there can be, until the world has moved on.
        stamp = stamp_of(message)
        self._commanded = math.inf if stamp is None else stamp
        self._move()
        self._try_to_advance()

    def _move(self) -> None:
        velocity = self.cart.drive(self._driver_time())
        if velocity is not None:
            self._publish_velocity(velocity)

    def halt(self) -> None:
        """Tell the drive to stand."""
        self._publish_velocity(self.cart.halt(self._driver_time()))

    def _publish_velocity(self, values: Vector) -> None:
        message = Twist()
        message.linear.x, message.angular.z = values
        self._drive.publish(message)

    def _on_timer(self) -> None:
        self._give_up(time.monotonic())
        self._end_moments()
        if self.contract.is_lockstep:
            self._check_advance()
            return
        self._move()
        self._send_made(self.world_time())

    # What Gazebo says ----------------------------------------------------------------------------

    def _on_sensor(self, topic: str, message: Any) -> None:
        stamp = stamp_of(message)
        if stamp is not None:
            self._arrivals.note(topic, stamp)
            self._check_advance()

    def _on_truth(self, message: Any) -> None:
        stamp = stamp_of(message) or 0
        pose, twist = message.pose.pose, message.twist.twist
        point, turn = pose.position, pose.orientation
        self.truth = state_of(
            stamp,
            (point.x, point.y, point.z),
            (turn.x, turn.y, turn.z, turn.w),
            (twist.linear.x, twist.linear.y, twist.linear.z),
            (twist.angular.x, twist.angular.y, twist.angular.z),
            self._touches,
        )
        self.cart.see(self.truth)
        if self.contract.is_lockstep and _TRUTH in self._arrivals.topics:
            self._on_sensor(_TRUTH, message)

    def _on_contacts(self, message: Any) -> None:
        if message.contacts:
            self._touches += 1

    def _send_made(self, until: int) -> tuple[Any, ...]:
        emissions = self.cart.emissions(until)
        for emission in emissions:
            if emission.fields is not None:
                publisher = self._made[emission.topic]
                publisher.publish(fill(publisher.msg_type(), emission.fields))
        return emissions

    # Lockstep ------------------------------------------------------------------------------------

    def _on_advance(self, data: bytes) -> None:
        request = from_bytes(SimStepRequest, data)
        refuse_long(request, self.contract)
        self._pending = request
        self._try_to_advance()

    def _try_to_advance(self) -> None:
        request = self._pending
        if not self._active or request is None or self._commanded < request.command_stamp:
            return
        self._abandon_advance()  # the one before is not waited for any more
        self._commanded = self._commanded if math.isfinite(self._commanded) else 0.0
        self._stepping = request
        self.executor.create_task(self._advance, request)

    async def _advance(self, request: SimStepRequest) -> None:
        if self._stepping is not request:
            return
        self._arrivals.begin()
        self._move()
        error = ''
        try:
            until = await self._world.advance(request.duration / NANOSECONDS)
        except SimulationFailed as failed:
            error = str(failed)
        if self._stepping is not request:
            return  # a reset came in between, or another advance, or the end
        self._stepping = None
        if error:
            self._publish_advanced(request, error)
            return
        self._advancing = (request, until, time.monotonic() + self.value('patience'))
        self._check_advance()

    def _abandon_advance(self) -> None:
        self._pending = self._stepping = self._advancing = None
        self._arrivals.end()

    def _check_advance(self) -> None:
        """Answer, once the world's time and all that was measured on the way have come."""
        if self._advancing is None:
            return
        request, until, deadline = self._advancing
        missing = self._arrivals.missing(until)
        late = '' if self.world_time() >= until else '/clock'
        if not missing and not late:
            self._advancing = None
            self._publish_advanced(request, '', until)
        elif time.monotonic() > deadline:
            self._advancing = None
            self._publish_advanced(
                request,
                f'Messages up to {until / NANOSECONDS:g} s of simulated time are missing after '
                f'{self.value("patience"):g} s: {", ".join(filter(None, (late, *missing)))}. '
                'Look at the bridge.',
            )

    def _publish_advanced(self, request: SimStepRequest, error: str, until: int = 0) -> None:
        made = self._send_made(until) if not error else ()
        report = self._arrivals.report(request.id, made, error, self._resolved)
        self._arrivals.end()
        self._advanced.publish(to_bytes(report, until or self.world_time()))

    # Reset ---------------------------------------------------------------------------------------

    async def _on_reset(self, request: Any, response: Any) -> Any:
        if not self._active:
            raise RequestRejected(
                'The simulator is not active. Activate it.', ResultCode.NOT_ACTIVE
            )
        self._abandon_advance()
        reset = ResetWorld(
            seed=request.seed,
            target=tuple(from_msg(NamedValues, values) for values in request.target),
        )
        try:
            target = target_of(reset)
            state = await self._world.put(target, self.value('entity'), self.value('goal'))
        except BoundaryError as error:
            raise RequestRejected(str(error), ResultCode.RESET_FAILED) from error
        answer = self.cart.begin(state, target, reset.seed)
        response.achieved = [to_msg(values) for values in answer.achieved]
        set_time(response.completed, answer.completed)
        return response


def _gazebo_interfaces() -> SimpleNamespace:
    """Return the types that are spoken with Gazebo, which come with it and not with ROS itself."""
    with needed('Gazebo is reached by ros_gz_interfaces', 'apt install ros-$ROS_DISTRO-ros-gz'):
        from ros_gz_interfaces.msg import Contacts
        from ros_gz_interfaces.srv import ControlWorld, SetEntityPose
    return SimpleNamespace(
        contacts=Contacts, control_world=ControlWorld, set_entity_pose=SetEntityPose
    )


def main() -> int:
    """Run the node ``gazebo_bridge``."""
    return run(GazeboBridge)


if __name__ == '__main__':
    sys.exit(main())
