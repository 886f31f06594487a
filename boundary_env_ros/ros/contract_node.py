# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What all nodes of a boundary have in common: the contract, its latched digest, and an orderly life.

*Configured* means: the contract is loaded and its digest latched. *Active* means: no party in the
namespace has latched another digest, and the node may act.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
import faulthandler
from functools import partial, wraps
import gc
import os
import signal
import sys
import time
import traceback
from types import FrameType
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
import rclpy
from rclpy.clock import Clock as RosClock
from rclpy.clock_type import ClockType
from rclpy.duration import Duration
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.qos import qos_check_compatible, QoSCompatibility, QoSProfile
from rclpy.signals import SignalHandlerOptions

from boundary_env_ros.core.authentication import Role
from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.sources.inputs import Input, sensor_topics
from boundary_env_ros.core.sources.listener import Listener
from boundary_env_ros.errors import BoundaryError, RecordError, RequestRejected, ResultCode
from boundary_env_ros.ros import enclaves, names
from boundary_env_ros.ros.authenticity import Authenticity
from boundary_env_ros.ros.bounded_logger import BoundedLogger
from boundary_env_ros.ros.clock import NodeClock
from boundary_env_ros.ros.conversions import decoded, message_class, set_time, to_bytes
from boundary_env_ros.ros.diagnostics import condition, ERROR, OK
from boundary_env_ros.ros.executors import (
    dispatch_rest,
    Round,
    spin_until,
    Unattended,
    UnattendedNode,
)
from boundary_env_ros.ros.interfaces import msg
from boundary_env_ros.ros.message_guard import Incoming, MOST_BYTES, Throttle
from boundary_env_ros.storage.contract_file import load, LoadedContract

Success = TransitionCallbackReturn.SUCCESS
Failure = TransitionCallbackReturn.FAILURE


#: Variable with the process id of a parent without which a node must not go on.
PARENT = 'BOUNDARY_ENV_ROS_PARENT'

#: Seconds that DDS may take to release a node that has ended; then the process ends without it.
LETS_GO = 10.0

# For all that a node says last, s; a reader that was killed does not acknowledge it.
_ACK_TIMEOUT = 0.5

#: Messages or requests a second beyond which one topic or service of this package is flooded.
RATE = 1000.0

# Nodes whose contract is remembered, characters of name and digest of each, and seconds in which
# the foreign one of each is logged once.
_MOST_PEERS, _LONGEST_PEER = 1000, 500
_AGAIN = 10.0

#: A period shorter than this, s, makes heartbeats and checks of deadlines no more frequent.
OFTEN = 0.1

# Seconds between two checks for publishers whose QoS does not fit, and between two diagnostics.
_POLL = 5.0
_DIAGNOSE = 1.0


# Signals that end a process in order.
_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_Transition = Callable[[Any, LifecycleState], TransitionCallbackReturn]


def catch_ends(handler: Callable[[int, FrameType | None], object]) -> dict[int, Any]:
    """Handle what ends a process in order; return the handlers before, by signal."""
    # Of `nohup` a SIGHUP that is to be ignored stays so.
    caught = [n for n in _ENDS if n != signal.SIGHUP or signal.getsignal(n) != signal.SIG_IGN]
    return {number: signal.signal(number, handler) for number in caught}


def _reported(transition: _Transition) -> _Transition:
    """Log what a transition raises: rclpy makes an error of it without a word."""

    @wraps(transition)
    def reported(node: Any, state: LifecycleState) -> TransitionCallbackReturn:
        try:
            return transition(node, state)
        except Exception:
            node.get_logger().fatal(traceback.format_exc())
            raise

    return reported


class ContractNode(UnattendedNode, LifecycleNode):
    """
    A lifecycle node under a contract.

    Subclasses implement :meth:`configure`, :meth:`activate`, :meth:`deactivate` and
    :meth:`cleanup`; whatever :class:`BoundaryError` one of the first two raises is logged and
    refuses the transition, and what it had begun is undone by the other two. Whatever arrives by
    a subscription, a service or a parameter, those of rclpy itself included, goes through
    :class:`Incoming`: what a callback raises is a refusal, and the node lives.

    Parameters
    ----------
    name, role
        Name of the node, and its part in the boundary as ``ContractDescription`` names it.
    options
        As :class:`rclpy.node.Node` takes them.

    """

    #: Whether a timer of its own has failed: such a node must not go on.
    broken = False
    #: What it does with the key of the boundary, once it is configured.
    authenticity: Authenticity | None = None

    _bounded_logger: BoundedLogger | None = None

    def __init__(self, name: str, role: str, **options: Any) -> None:
        # rclpy makes the first subscriptions and services itself.
        self.incoming = Incoming(self, self._vital(self.urgent))
        super().__init__(name, **options)
        self._role = role
        self._peers: dict[str, str] = {}
        self._logged_peers = Throttle(_AGAIN)
        self._loaded: LoadedContract | None = None
        self._periodic: list[Any] = []
        self._owned: list[tuple[Callable[[Any], object], Any]] = []
        self._requested_qos: dict[str, QoSProfile] = {}
        self.declare(
            'contract',
            'warehouse_cart',
            'Contract file, or the name of a shipped contract.',
        )
        self.declare(
            'pacing',
            '',
            'realtime or lockstep instead of what the contract says (empty: as it says). Lockstep '
            'brings simulated time with it.',
        )
        self.declare(
            'secure', False, 'Refuse to be configured unless the security of ROS 2 is enforced.'
        )
        self._description = self.create_publisher(
            msg.ContractDescription, names.CONTRACT, names.LATCHED
        )
        self._diagnostics = self.create_publisher(DiagnosticArray, names.DIAGNOSTICS, names.RECORD)
        self._listener = self.create_subscription(
            msg.ContractDescription,
            names.CONTRACT,
            self._on_description,
            names.LATCHED_MANY,
            rate=RATE,
            most=MOST_BYTES,
        )
        self.add_on_set_parameters_callback(self._on_clock_parameter)
        # rclpy raises in this callback at a transition that there is not, which ends the process.
        change = self._service_change_state
        change.callback = self._of_this_state_only(change.callback)

    def get_logger(self) -> BoundedLogger:
        """Return the logger of the node, which has a bound."""
        if self._bounded_logger is None:
            self._bounded_logger = BoundedLogger(super().get_logger().name)
        return self._bounded_logger

    def urgent(self) -> None:
        """Do what goes before anything that has arrived; a node with a deadline overrides it."""

    # What arrives --------------------------------------------------------------------------------

    def create_subscription(
        self,
        msg_type: Any,
        topic: str,
        callback: Callable[..., None],
        qos_profile: QoSProfile | int,
        *,
        raw: bool = False,
        rate: float = 0.0,
        most: int = 0,
        **options: Any,
    ) -> Any:
        """
        Create a subscription behind the guard of the node.

        Its bytes are decoded there, for rclpy would raise in its executor. It has no events: the
        EventsExecutor crashes with those of what is destroyed (rclpy#1644). ``rate``: messages a
        second of the topic, ``most``: bytes of a message, beyond which they are refused unread.
        """
        kind = None if raw else msg_type
        fault = self.fault_of(msg_type, topic)
        guarded = self.incoming.subscription(topic, kind, callback, rate, most, fault)
        silent = SubscriptionEventCallbacks(use_default_callbacks=False)
        options.setdefault('event_callbacks', silent)
        return super().create_subscription(
            msg_type, topic, guarded, qos_profile, raw=True, **options
        )

    def fault_of(self, msg_type: Any, topic: str) -> Callable[[bytes], str] | None:
        """Return what is wrong with the authentication of a message; None if nothing can be."""
        if self.authenticity is None:
            return None
        return self.authenticity.verifier(msg_type, self.resolve_topic_name(topic))

    def create_publisher(self, msg_type: Any, topic: str, qos_profile: Any, **options: Any) -> Any:
        """Create a publisher without events, as :meth:`create_subscription` does."""
        return super().create_publisher(msg_type, topic, qos_profile, **_silent(options))

    def create_lifecycle_publisher(self, *arguments: Any, **options: Any) -> Any:
        """Create a publisher that sends while the node is active, without events."""
        return super().create_lifecycle_publisher(*arguments, **_silent(options))

    def create_service(
        self,
        srv_type: Any,
        srv_name: str,
        callback: Callable[[Any, Any], Any],
        **options: Any,
    ) -> Any:
        """Create a service behind the guard of the node, which refuses a flood of requests."""
        guarded = self.incoming.service(srv_name, srv_type, callback, RATE)
        return super().create_service(srv_type, srv_name, guarded, **options)

    def add_on_set_parameters_callback(
        self, callback: Callable[[list[Parameter]], SetParametersResult]
    ) -> None:
        """Have parameters checked, behind the guard of the node."""
        super().add_on_set_parameters_callback(self.incoming.parameters(callback))

    def _on_clock_parameter(self, parameters: list[Parameter]) -> SetParametersResult:
        """Keep a configured node on the clock that its contract asks for."""
        for parameter in parameters:
            if parameter.name == 'use_sim_time' and self._loaded is not None:
                return SetParametersResult(
                    successful=False,
                    reason='use_sim_time of a configured node cannot change '
                    f'(got {parameter.value}). Clean the node up first.',
                )
        return SetParametersResult(successful=True)

    def declare(
        self, name: str, default: Any, description: str, *, read_only: bool = True
    ) -> None:
        """Declare a parameter; a type in place of the default is that of an empty array."""
        self.declare_parameter(
            name, default, ParameterDescriptor(description=description, read_only=read_only)
        )
        if self.get_parameter_or(name).type_ is Parameter.Type.NOT_SET:
            # With one that has no value rclpy does not answer a request for several.
            self.set_parameters([Parameter(name, default, [])])

    def value(self, name: str) -> Any:
        """Return the value of a parameter."""
        return self.get_parameter(name).value

    # The contract --------------------------------------------------------------------------------

    @property
    def loaded(self) -> LoadedContract:
        """The contract; there is one while the node is configured."""
        if self._loaded is None:
            raise BoundaryError('The node is not configured. Configure it first.')
        return self._loaded

    @property
    def contract(self) -> Contract:
        """The contract; there is one while the node is configured."""
        return self.loaded.contract

    def topic_of(self, agent: str, topic: str) -> str:
        """Return the name of an agent's topic or service, relative to this node's namespace."""
        return self.contract.topic_of(agent, topic)

    def topics(self, agent: str) -> dict[str, str]:
        """Return the full name of every sensor topic of an agent, by the contract's name."""
        return {
            topic: self.resolve_topic_name(self.topic_of(agent, topic))
            for topic in sensor_topics(self.contract)
        }

    def _on_description(self, description: Any) -> None:
        name = description.node
        if name == self.get_fully_qualified_name():
            return
        if len(name) + len(description.digest) > _LONGEST_PEER:
            raise RecordError(
                f'Name and digest of a node are too long (expected at most {_LONGEST_PEER} '
                f'characters, got {len(name)} and {len(description.digest)}).'
            )
        if name not in self._peers and len(self._peers) >= _MOST_PEERS:
            raise RecordError(
                f'Too many nodes (expected at most {_MOST_PEERS}, got {name!r} besides).'
            )
        self._peers[name] = description.digest
        if (
            self._loaded is not None
            and description.digest != self._loaded.digest
            and self._logged_peers.due(name)
        ):
            self.get_logger().error(
                f'{description.node} has another contract (expected the digest '
                f'{self._loaded.digest}, got {description.digest}). Start both with the same '
                'contract, pacing and task version.'
            )

    def _forget_lost_peers(self) -> None:
        """Forget the contracts of nodes that are no more in the graph."""
        there = {
            f'{info.node_namespace.rstrip("/")}/{info.node_name}'
            for topic in dict.fromkeys((names.CONTRACT, *self.elsewhere()))
            for info in self.get_publishers_info_by_topic(self.resolve_topic_name(topic))
        }
        self._peers = {name: digest for name, digest in self._peers.items() if name in there}

    def _load(self) -> None:
        if self.value('secure'):
            enclaves.require_security()
        loaded = load(self.value('contract'), self.value('pacing') or None)
        contract = loaded.contract
        use_sim_time = self.get_parameter('use_sim_time').value
        if contract.sim_time and not use_sim_time:
            # The contract decides: a node on the wrong clock would stamp nonsense.
            self.set_parameters([Parameter('use_sim_time', Parameter.Type.BOOL, True)])
        elif use_sim_time and not contract.sim_time:
            raise BoundaryError(
                'use_sim_time is true (expected false, since the contract says `clock: ros`). '
                'Write `clock: sim` in the contract, or leave use_sim_time alone.'
            )
        self.clock = NodeClock(self.get_clock(), sim_time=contract.sim_time)
        self.authenticity = Authenticity(self.context.get_domain_id(), Role[self._role.upper()])
        if not self.authenticity.keyed:
            self.get_logger().warning(
                'There is no key: whoever is in the domain can move the robot. `boundary-env up` '
                'and the launch files make one, or name a key file by BOUNDARY_ENV_KEY_FILE.'
            )
        self._loaded = loaded
        for topic in self.elsewhere() if len(contract.agents) > 1 else ():
            self.add_subscription(
                msg.ContractDescription,
                topic,
                self._on_description,
                names.LATCHED_MANY,
                rate=RATE,
                most=MOST_BYTES,
            )

    def elsewhere(self) -> tuple[str, ...]:
        """Return where else than here contracts are latched in a world of several agents."""
        return tuple(self.topic_of(agent, names.CONTRACT) for agent in self.contract.agents)

    def _latch(self) -> None:
        described = self.loaded.described(self.get_fully_qualified_name(), self._role)
        self._description.publish(to_bytes(described, self.clock.now().ros.nanoseconds))

    # Diagnostics ---------------------------------------------------------------------------------

    def trouble(self) -> str:
        """Return what is wrong with the node; empty if nothing is."""
        return ''

    def conditions(self) -> Iterator[DiagnosticStatus]:
        """Yield what ``/diagnostics`` says of the node; one with more parts adds to it."""
        contract, trouble = self.contract, self.trouble()
        values = {
            'contract': f'{contract.name} {contract.version}',
            'digest': self.loaded.digest,
            'messages that could not be read': self.refused,
            'authentic': 'by the key' if self.keyed else 'anybody is heard: there is no key',
            'forged messages': self.incoming.forged,
        }
        level = ERROR if trouble else OK
        yield condition(f'{self.path}: node', level, trouble or 'active', values)

    @property
    def path(self) -> str:
        """The fully qualified name of the node, without the first slash."""
        return str(self.get_fully_qualified_name()).lstrip('/')

    def _diagnose(self) -> None:
        message = DiagnosticArray(status=list(self.conditions()))
        set_time(message.header.stamp, self.clock.now().ros.nanoseconds)
        self._diagnostics.publish(message)

    # Life ----------------------------------------------------------------------------------------

    def _configure(self) -> None:
        try:
            self.configure()
        except RuntimeError as error:
            if not enclaves.enabled():
                raise
            domain = self.context.get_domain_id()
            raise enclaves.refused(error, enclaves.enclave_in(sys.argv), domain) from error

    def configure(self) -> None:
        """Make what the node needs; it may not act yet."""

    def activate(self) -> None:
        """Begin to act."""

    def deactivate(self) -> None:
        """Stop acting."""

    def cleanup(self) -> None:
        """Let go of what :meth:`configure` made."""

    def busy(self) -> str:
        """Return what may not be interrupted now by whoever calls; empty if nothing is."""
        return ''

    def _of_this_state_only(self, change: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """Refuse what is no transition of the present state, and any while an episode runs."""

        def checked(request: Any, response: Any) -> Any:
            machine = self._state_machine
            possible = {label: number for number, label, *_ in machine.available_transitions}
            wanted = request.transition
            # As in rclpy, the label goes before the number.
            if wanted.label in possible or (not wanted.label and wanted.id in possible.values()):
                busy = self.busy() if self.keyed else ''
                if not busy:
                    return change(request, response)
                self.get_logger().error(
                    f'A transition is refused: {busy}, and a call of change_state does not say '
                    'whose it is. End the episode, or the process by a signal.'
                )
                response.success = False
                return response
            self.get_logger().error(
                f'No such transition while {machine.current_state[1]} (expected '
                f'{", ".join(sorted(possible)) or "none"}, got {wanted.label or wanted.id}). '
                '`ros2 lifecycle list` shows what can be done.'
            )
            response.success = False
            return response

        return checked

    @_reported
    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the contract and latch its digest."""
        try:
            self._load()
            self._configure()
            self._latch()
        except BoundaryError as error:
            self.get_logger().error(str(error))
            self._release()
            return Failure
        self.get_logger().info(
            f'configured with {self.contract.name} {self.contract.version}, '
            f'{self.loaded.digest[:19]}'
        )
        return Success

    @_reported
    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Act, unless a node in the namespace works under another contract."""
        self._forget_lost_peers()
        others = {n: d for n, d in self._peers.items() if d != self.loaded.digest}
        if others:
            self.get_logger().error(
                f'Other nodes have another contract (expected the digest {self.loaded.digest}, '
                f'got {others}). Start all nodes with the same contract, pacing and task version.'
            )
            return Failure
        before = len(self._periodic)
        self.every(_POLL, self._check_qos)
        self.every(_DIAGNOSE, self._diagnose)
        try:
            self.activate()
        except BoundaryError as error:
            self.get_logger().error(str(error))
            self._stop_timers(before)
            self.deactivate()
            return Failure
        # What lives as long as the node is not looked at again: collections stay short.
        gc.collect()
        gc.freeze()
        return super().on_activate(state)

    @_reported
    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop acting."""
        self.rest()
        return super().on_deactivate(state)

    @_reported
    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Forget the contract."""
        self._release()
        return Success

    @_reported
    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop acting and release everything."""
        self.finish()
        return Success

    # After an error the node is unconfigured, and may be configured again.
    on_error = on_shutdown

    def _release(self) -> None:
        self._stop_timers()
        self._flush()
        self.cleanup()
        for destroy, entity in self._owned:
            destroy(entity)
        self._owned.clear()
        self._requested_qos.clear()
        self._loaded = None

    def rest(self) -> None:
        """Stop acting, whatever state the node is in."""
        if self._loaded is not None:
            self._stop_timers()
            self.deactivate()

    def finish(self) -> None:
        """Let go of everything before the process ends, whatever state the node is in."""
        self.rest()
        if self._loaded is not None:
            self._release()

    def _flush(self) -> None:
        """Wait for what was said last: a publisher that goes takes along what is not sent."""
        deadline = time.monotonic() + _ACK_TIMEOUT
        for publisher in self.publishers:
            left = max(0.0, deadline - time.monotonic())
            publisher.wait_for_all_acked(Duration(seconds=left))

    # What it is made of -------------------------------------------------------------------------

    def add_publisher(self, kind: Any, topic: str, qos: QoSProfile | int) -> Any:
        """Return a publisher that lives until the cleanup, and says whose its messages are."""
        made = self.own(self.destroy_publisher, self.create_publisher(kind, topic, qos))
        return made if self.authenticity is None else self.authenticity.publisher(made)

    def publisher_of(self, topic: str, agent: str = '') -> Any:
        """Return such a publisher of a topic of this package, of an agent or of the world."""
        own = names.OWN_TOPICS[topic]
        return self.add_publisher(own.kind, self._place(topic, agent), own.qos)

    def subscribe(
        self,
        topic: str,
        callback: Callable[[bytes], None],
        agent: str = '',
        qos: QoSProfile | None = None,
    ) -> Any:
        """Listen to a topic of this package, within its bounds; the callback is given bytes."""
        own = names.OWN_TOPICS[topic]
        return self.add_subscription(
            own.kind,
            self._place(topic, agent),
            callback,
            qos or own.qos,
            raw=True,
            rate=RATE,
            most=own.most(self.contract),
        )

    def _place(self, topic: str, agent: str) -> str:
        return self.topic_of(agent, topic) if agent else topic

    def add_subscription(
        self,
        kind: Any,
        topic: str,
        callback: Callable[..., None],
        qos: QoSProfile,
        *,
        warn: bool = True,
        raw: bool = False,
        rate: float = 0.0,
        most: int = 0,
        unattended: bool = False,
    ) -> Any:
        """
        Return a subscription that lives until the cleanup.

        ``warn`` of publishers whose QoS does not fit; ``raw`` gives the bytes of a message. One
        that the callback cannot read, or that exceeds a ``rate`` (1/s) or ``most`` bytes, is
        refused, logged and counted in :attr:`refused`. What comes of one that is ``unattended``
        waits until it is taken.
        """

        @wraps(callback)
        def on_message(*message: Any) -> None:
            # The executor may still hold a message that came before the cleanup.
            if self._loaded is not None:
                callback(*message)

        group = Unattended() if unattended else None
        made = self.create_subscription(
            kind, topic, on_message, qos, raw=raw, rate=rate, most=most, callback_group=group
        )
        if warn:
            self._requested_qos[made.topic_name] = qos
        return self.own(self.destroy_subscription, made)

    def _check_qos(self) -> None:
        """Log what is not received, because its publisher offers less than is asked for."""
        for topic, requested in self._requested_qos.items():
            for info in self.get_publishers_info_by_topic(topic):
                fits, why = qos_check_compatible(info.qos_profile, requested)
                name = f'{info.node_namespace.rstrip("/")}/{info.node_name}'
                if fits == QoSCompatibility.ERROR and self._logged_peers.due((topic, name)):
                    self.get_logger().warning(
                        f'{topic}: nothing of {name} is heard (its QoS does not fit: {why}). '
                        'Have it offer more, or ask for less in the contract.'
                    )

    def other_type(self, topic: str, kind: str) -> str:
        """Say as what a topic is published, if that is not the type of the contract."""
        found = {info.topic_type for info in self.get_publishers_info_by_topic(topic)}
        if not found or kind in found:
            return ''
        return f'published as {", ".join(sorted(found))}, the contract says {kind}'

    def guarded(self, topic: str, kind: Any, callback: Callable[..., None]) -> Any:
        """Return a callback behind the guard of the node, for the bytes of a kind of message."""
        return self.incoming.subscription(topic, kind, callback, 0.0)

    def refuse(self, what: str, error: Exception) -> None:
        """Count and log something that has arrived and could not be taken."""
        self.incoming.refuse(what, error)

    @property
    def refused(self) -> int:
        """How many messages, requests and parameters were refused since the process began."""
        return self.incoming.refused

    @property
    def keyed(self) -> bool:
        """Whether the node has the key of the boundary."""
        return self.authenticity is not None and self.authenticity.keyed

    def add_own_service(self, kind: Any, name: str, callback: Callable[[Any, Any], Any]) -> None:
        """Make a service that only who has the key may call, until the cleanup."""
        assert self.authenticity is not None  # the node is being configured
        fault = self.authenticity.verifier_of_requests(self.resolve_service_name(name))

        def on_request(request: Any, response: Any) -> Any:
            if problem := fault(request):
                self.incoming.refuse_forged(name, problem)
                raise RequestRejected(f'The call is refused: {problem}', ResultCode.NOT_AUTHENTIC)
            return callback(request, response)

        self.add_service(kind, name, on_request)

    def add_service(
        self, kind: Any, name: str, callback: Callable[[Any, Any], Any], *, group: Any = None
    ) -> Any:
        """Return a service that lives until the cleanup, in a group of its own if it waits."""
        made = self.create_service(kind, name, callback, callback_group=group)
        return self.own(self.destroy_service, made)

    def add_client(self, kind: Any, name: str) -> Any:
        """Return a client of a service that lives until the cleanup."""
        return self.own(self.destroy_client, self.create_client(kind, name))

    def own(self, destroy: Callable[[Any], object], entity: Any) -> Any:
        """Return an entity that is destroyed at the cleanup."""
        self._owned.append((destroy, entity))
        return entity

    def listener(self, inputs: Sequence[Input], **options: Any) -> Listener:
        """Return what keeps the bytes of messages, and reads inputs from them."""
        return Listener(
            inputs,
            captured=partial(self.clock.captured, host=self.contract.robot_host),
            middleware=self.clock.system,
            robot_host=self.contract.robot_host,
            decoder=lambda kind: partial(decoded, message_class(kind)),
            refuse=lambda item, error: self.refuse(item.topic, error),
            **options,
        )

    def every(self, seconds: float, callback: Callable[[], None]) -> Any:
        """
        Call back periodically while active, on the steady clock: ``/clock`` may pause.

        What the callback raises is no refusal: it ends the process, in order.
        """
        timer = self.create_timer(
            seconds, self._vital(callback), clock=RosClock(clock_type=ClockType.STEADY_TIME)
        )
        self._periodic.append(timer)
        return timer

    def heartbeat(self, timeout: float) -> float:
        """Return the seconds between two heartbeats, by the seconds after which silence counts."""
        return min(max(self.contract.period, OFTEN), timeout / 4.0)

    def _vital(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Return a callback without which the node must not go on."""

        def called() -> None:
            try:
                callback()
            except BaseException:
                self.broken = True
                raise

        return called

    def _stop_timers(self, first: int = 0) -> None:
        """Stop the timers, from the one with this index on."""
        for timer in self._periodic[first:]:
            self.destroy_timer(timer)
        del self._periodic[first:]


def _silent(options: dict[str, Any]) -> dict[str, Any]:
    """Return options of a publisher that has no events."""
    return {'event_callbacks': PublisherEventCallbacks(use_default_callbacks=False), **options}


def _spin_pending(runner: Executor) -> None:
    """Let messages in that wait by now, for a moment."""
    round_ = Round()
    runner.create_task(round_.end)
    spin_until(runner, round_, 0.1)


def run(
    *makes: Callable[[], ContractNode],
    executor: Callable[[], Executor] = SingleThreadedExecutor,
) -> int:
    """
    Run a node until it is told to stop, or several on one executor, and return the exit code.

    The last of several ends first, and the others get what it sends last. If one fails, all end.
    SIGINT and SIGTERM end it in order: its last word is said, what it records is closed, what it
    holds is released. So do SIGHUP, that of a terminal which is closed, and the death of the
    parent, if that named itself in the variable ``BOUNDARY_ENV_ROS_PARENT``, as a demo does. One
    that security refuses says so.
    """
    parent = os.environ.get(PARENT) or None
    signals: list[int] = []
    current = Round()

    def end(received: int, _: FrameType | None) -> None:
        signals.append(received)
        # Also while messages never cease.
        current.end()

    catch_ends(end)
    # Not rclpy's handlers: they close the context at once, and no node could be told of the end.
    try:
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        nodes = [make() for make in makes]
    except RuntimeError as error:
        if not enclaves.enabled():
            raise
        domain = os.environ.get('ROS_DOMAIN_ID') or 0
        sys.exit(str(enclaves.refused(error, enclaves.enclave_in(sys.argv), domain)))
    runner = executor()
    for node in nodes:
        runner.add_node(node)
    try:
        # Short waits: what ends the node is looked for between two of them.
        while rclpy.ok() and not signals and (parent is None or int(parent) == os.getppid()):
            current = Round()
            if signals:
                break  # it came before this round could be ended
            try:
                spin_until(runner, current, 0.1)
            except Exception as error:  # whatever the bytes of a request lead to
                if any(node.broken for node in nodes) or not rclpy.ok():
                    raise
                refuse = partial(nodes[0].refuse, 'executor')
                refuse(error)
                for node in nodes:
                    dispatch_rest(runner, node, refuse)
    finally:
        # The end is under way, and after it the interpreter's: another signal must not tear them.
        for number in _ENDS:
            signal.signal(number, signal.SIG_IGN)
        with ExitStack() as ends:
            for node in nodes:
                ends.callback(node.finish)
            for node in nodes[1:]:
                # What it says last is for the others, who are still there.
                ends.callback(_spin_pending, runner)
                ends.callback(node.rest)
        # Fast DDS can wait for ever for a party that leaves at the same moment. Nothing is lost
        # any more: the robot is stopped, and the record closed.
        faulthandler.dump_traceback_later(LETS_GO, exit=True)
        runner.shutdown()
        for node in nodes:
            node.destroy_node()
        rclpy.try_shutdown()
        faulthandler.cancel_dump_traceback_later()
    return 0
