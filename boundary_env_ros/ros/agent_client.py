# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One agent's part of a client of the nodes: its episodes, requests and results."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
import re
import time
from typing import Any

from rclpy.duration import Duration

from boundary_env_ros import __version__
from boundary_env_ros.core.records.decision import (
    ActionRequest,
    GateDecision,
    GateState,
    GateStatus,
)
from boundary_env_ros.core.records.endings import ENVIRONMENT_LOST, OPERATOR_STOP
from boundary_env_ros.core.records.environment_event import EnvironmentEvent
from boundary_env_ros.core.records.episode import EpisodeStatus
from boundary_env_ros.core.records.transition import Kind, Transition
from boundary_env_ros.core.service_requests import options_text, seed_of
from boundary_env_ros.core.sources.inputs import image_fields
from boundary_env_ros.core.timebase import ClockReading, NANOSECONDS
from boundary_env_ros.errors import (
    BoundaryError,
    LinkError,
    LinkTimeout,
    PeerLost,
    RecordError,
    RequestRejected,
    ResetFailed,
    ResultCode,
)
from boundary_env_ros.facade.steps import (
    action_request,
    Image,
    StepRequest,
    StepResult,
)
from boundary_env_ros.facade.world import check_open
from boundary_env_ros.ros import names
from boundary_env_ros.ros.authenticity import Authenticity
from boundary_env_ros.ros.call_with_retry import ask, SIGN_OF_LIFE, wait_until
from boundary_env_ros.ros.clock import NodeClock, not_before, steady_of
from boundary_env_ros.ros.conversions import (
    decoded,
    from_bytes,
    header_stamp,
    message_class,
    to_bytes,
)
from boundary_env_ros.ros.executors import Unattended, with_info
from boundary_env_ros.ros.interfaces import msg, srv
from boundary_env_ros.ros.isolated_node import IsolatedNode
from boundary_env_ros.ros.message_guard import most_of_request, Throttle
from boundary_env_ros.storage.contract_file import LoadedContract
from boundary_env_ros.storage.pixels import pixels_of

# Of each camera, also in the queue while no call waits for them.
_IMAGES_KEPT = 32

# Seconds between two checks for an image that a transition names.
_IMAGE_POLL = 0.002

# The longest that messages are dispatched without a check of what is waited for, s.
_SLICE = 0.05

# A service is gone after so many seconds without it: while a successor is being discovered, it is
# not ready for a moment.
_LOST_AFTER = 0.3

#: The way out where no node is there.
_START = 'Start them with `boundary-env up CONTRACT`, or a launch file.'
_DRIVER = 'Start what publishes it, or look why it ended.'

# For the last requests to reach the recorder, s; a reader that died acknowledges nothing.
_ACK_TIMEOUT = 0.5

#: States in which the gate lets nothing through yet, or any more.
_SHUT = (GateState.ARMED, GateState.DISARMED, GateState.INACTIVE)

#: A reset that takes longer says what it waits for, s.
_QUICK = 4.0

#: Seconds until what a reset waits for is said again.
_AGAIN = 10.0
_NUMBER = re.compile(r'\d[\d.]*(e[-+]\d+)?')

#: Seconds until what was refused is asked for again.
_ASK_AGAIN = 0.02
#: Refusals of an arming that pass by themselves: the gate has not received the episode or its
#: sensors yet, or still probes the drivers.
_PASSING = (ResultCode.UNKNOWN_EPISODE, ResultCode.PROBING, ResultCode.SENSOR_MISSING)


class AgentClient:
    """
    What a client of the nodes does for one of its agents; several share a node.

    It receives in the thread of its caller, while that waits; every wait has a deadline.

    Parameters
    ----------
    own
        The node of the client.
    loaded
        The contract; the nodes must run under the same.
    agent
        The agent.
    client
        Name of the client in the record.
    holder
        Tells this client from another of the same name: two processes must not share a lease.
    startup_timeout, sink
        See :class:`boundary_env_ros.ros.world.RosWorld`.
    authenticity
        What is done with the key of the boundary.

    Attributes
    ----------
    client
        Name of the client in the record.

    """

    def __init__(
        self,
        own: IsolatedNode,
        loaded: LoadedContract,
        agent: str,
        *,
        client: str,
        holder: str,
        startup_timeout: float,
        sink: Callable[[object], None] | None,
        authenticity: Authenticity,
    ) -> None:
        contract = loaded.contract
        self._contract, self._digest, self._agent = contract, loaded.digest, agent
        self.client, self._holder = client, holder
        self._startup_timeout = startup_timeout
        self._sink = sink or (lambda record: None)
        # Also of the episodes of others, while this client waits for none.
        self._transitions: deque[tuple[Transition, ClockReading]] = deque(
            maxlen=names.RECORD.depth
        )
        self._episode: EpisodeStatus | None = None
        self._environment_seen = time.monotonic()
        self._gate: GateStatus | None = None
        self._images = self._no_images()
        self._episode_id = ''
        self._lease_id = ''
        self._sequence = 0
        self._last: StepResult | None = None
        self._deadline = self._since = self._log_from = 0.0
        self._logged = Throttle(_AGAIN)

        self._own, self._node, self._authenticity = own, own.node, authenticity
        self._clock = NodeClock(self._node.get_clock(), sim_time=contract.sim_time)
        self._subscriptions = []
        if sink is not None:
            # Before the others: of what has come, a step is passed on before the ending it led to.
            self._subscriptions.append(
                self._subscribe(names.GATE_DECISION, partial(self._on_other, GateDecision))
            )
            self._subscribe(names.PUSHED, partial(self._on_other, EnvironmentEvent))
        self._subscriptions += [
            self._subscribe(names.TRANSITION, with_info(self._on_transition)),
            self._subscribe(names.EPISODE_STATUS, with_info(self._on_episode), names.LATCHED_MANY),
            self._subscribe(names.GATE_STATUS, self._on_gate),
        ]
        # An image is needed when a transition names it. In lockstep one that comes later is waited
        # for, and wakes who waits.
        group = None if contract.is_lockstep else Unattended()
        self._cameras = []
        for spec in image_fields(contract):
            kept = names.sensor(spec.qos, contract.pacing, least=_IMAGES_KEPT)
            kind, topic = message_class(spec.type), self._named(spec.topic)
            on_image = partial(self._on_image, spec.name, header_stamp(kind))
            camera = own.incoming.subscribe(
                kind, topic, on_image, kept, raw=True, callback_group=group
            )
            self._cameras.append((camera, kept.depth))
            self._subscriptions.append(camera)
        self._requests = authenticity.publisher(
            self._node.create_publisher(
                msg.ActionRequest, self._named(names.ACTION_REQUEST), names.RECORD
            )
        )
        self._begin = self._node.create_client(srv.BeginEpisode, self._named(names.BEGIN_EPISODE))
        self._end = self._node.create_client(srv.EndEpisode, self._named(names.END_EPISODE))
        self._arm = authenticity.client(self._node.create_client(srv.Arm, self._named(names.ARM)))

    def _named(self, name: str) -> str:
        return self._contract.topic_of(self._agent, name)

    def _subscribe(self, topic: str, callback: Callable[..., None], qos: Any = None) -> Any:
        own, place = names.OWN_TOPICS[topic], self._named(topic)
        # What has waited is dispatched at once, and none of it is a flood: somebody waits for it.
        return self._own.incoming.subscribe(
            own.kind, place, callback, qos or own.qos, raw=True, authenticity=self._authenticity
        )

    # Receiving -----------------------------------------------------------------------------------

    def _on_transition(self, data: bytes, info: Any) -> None:
        transition = from_bytes(Transition, data)
        self._note_environment(info)
        delivered = not_before(self._clock.now(), transition.closed)
        try:
            self._sink(transition)
        finally:
            # Last, so that whoever waits for it finds what was made of it, and in any case.
            self._transitions.append((transition, delivered))

    def _on_episode(self, data: bytes, info: Any) -> None:
        status = from_bytes(EpisodeStatus, data)
        if status.id.digest == self._digest:
            self._note_environment(info)
            self._episode = status
        self._sink(status)

    def _on_other(self, kind: type[GateDecision | EnvironmentEvent], data: bytes) -> None:
        self._sink(from_bytes(kind, data))

    def _note_environment(self, info: Any) -> None:
        """Take note of a heartbeat of the environment; it may have waited to be dispatched."""
        arrived = steady_of(info['received_timestamp']) / NANOSECONDS
        self._environment_seen = max(self._environment_seen, arrived)

    def _on_gate(self, data: bytes) -> None:
        self._gate = from_bytes(GateStatus, data)

    def _on_image(self, name: str, stamp: Callable[[bytes], int | None], data: bytes) -> None:
        self._images[name].append((stamp(data) or 0, data))

    def _take_images(self) -> None:
        """Take the images that wait in the middleware (realtime)."""
        if not self._contract.is_lockstep:
            for camera, depth in self._cameras:
                self._own.dispatch(camera, depth)

    # Beginning -----------------------------------------------------------------------------------

    def ask_begin(
        self,
        *,
        seed: int | None,
        options: Mapping[str, object],
        wrappers: Sequence[str],
        client: str = '',
    ) -> None:
        """
        Ask for an episode, the first part of a reset; it is answered at once.

        Of several agents in one world each must have asked before the world is reset. Where it is
        refused, the episode that runs goes on.
        """
        self._log_from, self._logged = time.monotonic() + _QUICK, Throttle(_AGAIN)
        request = srv.BeginEpisode.Request(
            digest=self._digest,
            client=client or self.client,
            client_version=__version__,
            wrappers=list(wrappers),
            seed_given=seed is not None,
            seed=0 if seed is None else seed_of(seed),
            options=options_text(options),
        )
        self._wait_for_peers(time.monotonic() + self._startup_timeout)
        self._own.drain()
        self._take_images()
        # What comes from here on may already be of the new episode; what is not is passed over.
        before, self._images = self._images, self._no_images()
        try:
            answer = self._call_until_granted(
                self._begin,
                request,
                'the environment node (begin_episode)',
                (ResultCode.NOT_ACTIVE,),
                sign_of_life=self._contract.safety.environment_timeout,
                deadline=time.monotonic() + self._startup_timeout,
            )
        except BoundaryError:
            self._images = before
            raise
        self.client, self._episode_id, self._last = request.client, answer.episode_id, None
        self._sequence = 0
        self._deadline = time.monotonic() + self._contract.episode.reset.deadline + 1.0

    def _no_images(self) -> dict[str, deque[tuple[int, bytes]]]:
        fields = image_fields(self._contract)
        return {spec.name: deque(maxlen=_IMAGES_KEPT) for spec in fields}

    def arm(self) -> None:
        """Arm the gate for the episode that was asked for, the second part of a reset."""
        self._wait(
            lambda: self._recorder_listens() or self._over(),
            self._deadline,
            f'the recorder to listen to {self._requests.topic_name}',
        )
        request = srv.Arm.Request(
            digest=self._digest,
            agent=self._agent,
            episode_id=self._episode_id,
            # Two processes of one name must not share a lease.
            client=f'{self.client} {self._holder}',
        )
        answer = self._call_until_granted(
            self._arm,
            request,
            'the safety gate (arm)',
            _PASSING,
            sign_of_life=self._contract.safety.gate_timeout,
            deadline=self._deadline,
        )
        self._lease_id = str(answer.lease_id)

    def finish_begin(self) -> StepResult:
        """Wait for the reset, the third part of a reset."""
        deadline = self._deadline
        try:
            self._wait(self._has_transition, deadline, 'the reset of the environment (transition)')
        except LinkTimeout as error:
            if self._over():
                raise ResetFailed(self._ending_message()) from error
            raise
        transition, delivered = self._transitions.popleft()
        if transition.truncated:
            raise ResetFailed(self._ending_message() or f'The reset failed: {transition.ending}.')
        # One that ended at once, at its goal or by a stop, tells so in the first step.
        self._wait(
            lambda: (
                (
                    self._gate is not None
                    and self._gate.episode_id == self._episode_id
                    and self._gate.state not in _SHUT
                )
                or self._over()
            ),
            deadline,
            'the safety gate to let commands through (gate_status)',
        )
        # No older image is there to fall back on; the action that answers must still be young
        # enough.
        patience = self._contract.safety.max_action_age / 2.0
        return self._result(transition, delivered, time.monotonic() + patience)

    def _wait_for_peers(self, deadline: float) -> None:
        while missing := self._missing():
            if self._was_stopped():
                raise LinkError(
                    f'The nodes were stopped (missing: {" and ".join(missing)}). {_START}'
                )
            self._log_wait(' and '.join(missing))
            if time.monotonic() > deadline:
                nobody = not (self._begin.service_is_ready() or self._arm.service_is_ready())
                begin = f'No boundary runs here (domain {self._own.domain_id}). ' if nobody else ''
                all_there = self._begin.service_is_ready() and self._arm.service_is_ready()
                raise LinkTimeout(
                    f'{begin}Missing after {self._startup_timeout:g} s: {" and ".join(missing)} '
                    f'in the namespace {self._node.get_namespace()}, '
                    f'ROS_DOMAIN_ID {self._own.domain_id}. {_DRIVER if all_there else _START}'
                )
            self._spin(0.02)

    def _was_stopped(self) -> bool:
        """Return whether the environment ended the last episode since it was stopped itself."""
        last = self._episode
        return (
            last is not None
            and last.id.episode_id == self._episode_id
            and (last.ending, last.declared_by) == (OPERATOR_STOP, 'environment')
        )

    def _missing(self) -> list[str]:
        """
        Return what is not connected yet.

        A message that is sent before its reader is matched is lost.
        """
        services = {
            'the node environment (service begin_episode)': self._begin,
            'the node safety_gate (service arm)': self._arm,
        }
        missing = [name for name, client in services.items() if not client.service_is_ready()]
        missing += [
            f'a publisher of {subscription.topic_name}'
            for subscription in self._subscriptions
            if not subscription.get_publisher_count()
        ]
        readers = self._node.count_subscribers(self._requests.topic_name)
        if not readers or self._requests.get_subscription_count() < readers:
            missing.append(f'the subscriber of {self._requests.topic_name}')
        return missing

    def _recorder_listens(self) -> bool:
        """
        Return whether a recorder that is required has the first request, sooner or later.

        It listens before any client is there, and what it lacks is sent again to it. But only
        readers that the publisher knows are sent anything, and it may know the gate's first.
        """
        if not self._contract.recorder_required:
            return True
        readers = self._node.get_subscriptions_info_by_topic(self._requests.topic_name)
        return any(
            reader.node_name == names.RECORDER for reader in readers
        ) and self._requests.get_subscription_count() >= len(readers)

    def _call_until_granted(
        self,
        client: Any,
        request: Any,
        service: str,
        passing: Collection[ResultCode],
        *,
        sign_of_life: float,
        deadline: float,
    ) -> Any:
        """Ask a service, and again while it refuses for a reason that passes by itself."""
        why = ''
        while True:
            try:
                return self._call(
                    client, request, service, sign_of_life=sign_of_life, deadline=deadline
                )
            except RequestRejected as refusal:
                if refusal.code not in passing or time.monotonic() > deadline:
                    raise
                if refusal.code is not ResultCode.UNKNOWN_EPISODE:
                    why = f'. Refused by {refusal}'
                if client is self._arm and self._over():
                    raise ResetFailed(self._ending_message() + why) from refusal
                self._log_wait(str(refusal))
            # However much comes meanwhile: nodes have a budget for requests.
            again = time.monotonic() + _ASK_AGAIN
            wait_until(lambda: False, again, lambda: self._spin(_ASK_AGAIN))

    def _has_transition(self) -> bool:
        """Drop what is not of this episode; return whether something is left."""
        while self._transitions and self._transitions[0][0].id.episode_id != self._episode_id:
            self._transitions.popleft()
        return bool(self._transitions)

    def _over(self) -> bool:
        episode = self._episode
        return (
            episode is not None
            and episode.id.episode_id == self._episode_id
            and episode.state.over
        )

    def _ending_message(self) -> str:
        wait_until(self._over, time.monotonic() + 1.0, lambda: self._spin(0.01))
        return '' if self._episode is None else self._episode.message

    def _call(
        self, client: Any, request: Any, service: str, *, sign_of_life: float, deadline: float
    ) -> Any:
        """
        Ask a service, and ask again if no answer comes; see :func:`.call_with_retry.ask`.

        Parameters
        ----------
        sign_of_life
            Seconds within which a living node says something; it is asked again after twice that.
        deadline
            Monotonic time, s, until which an answer is waited for.

        """
        begun = time.monotonic()
        found = client.service_is_ready()

        lost_since: float | None = None

        def spin() -> None:
            nonlocal lost_since
            self._spin(_SLICE)
            if not found or client.service_is_ready():
                lost_since = None
            elif lost_since is None:
                lost_since = time.monotonic()
            elif time.monotonic() - lost_since > _LOST_AFTER:
                # It said so when it ended; of one that was killed nothing comes for a while.
                raise LinkError(
                    f'The nodes were stopped (expected an answer of {service}, got none). {_START}'
                )

        answer = ask(client, request, until=deadline, patience=2.0 * sign_of_life, spin=spin)
        if answer is None:
            raise LinkTimeout(
                f'No answer of {service} within {max(0.0, deadline - begun):.3g} s. '
                'Is the node active, and alive?'
            )
        if answer.result.code:
            raise RequestRejected(
                f'{service}: {answer.result.message}', ResultCode(answer.result.code)
            )
        return answer

    # Stepping ------------------------------------------------------------------------------------

    def request(self, wanted: StepRequest) -> ActionRequest:
        """Send one action and return the message."""
        last = self.last
        # What has come was there before the request.
        self._own.drain()
        requested = not_before(self._clock.now(), last.delivered)
        request = action_request(
            wanted,
            last,
            self._contract,
            lease_id=self._lease_id,
            sequence=self._sequence + 1,
            requested=requested,
            client=self.client,
        )
        data, most = to_bytes(request, requested.ros.nanoseconds), most_of_request(self._contract)
        if len(data) > most:
            raise RequestRejected(
                f'The request is too large (expected at most {most} bytes, got {len(data)}). '
                'Shorten its metadata: the gate would refuse it unread.'
            )
        self._sequence += 1
        self._requests.publish(data)
        self._since = time.monotonic()
        return request

    def skip(self) -> None:
        """Let a step go by without an action, in place of :meth:`request`."""
        self._since = time.monotonic()

    def next_result(self, seconds: float) -> StepResult | None:
        """Return the next transition that is closed; None if none comes within these seconds."""
        if not self._wait_for_transition(seconds):
            return None
        return self._result(*self._transitions.popleft(), self._half_a_period())

    def observe(self) -> tuple[StepResult, ...]:
        """Return what was closed meanwhile."""
        self._own.drain()
        closed: list[StepResult] = []
        # One for all: however many there are, fewer must come meanwhile.
        until = self._half_a_period()
        while self._has_transition():
            closed.append(self._result(*self._transitions.popleft(), until))
        return tuple(closed)

    def _half_a_period(self) -> float:
        return time.monotonic() + self._contract.period / 2.0

    @property
    def last(self) -> StepResult:
        """The last result of the episode that runs."""
        assert self._last is not None  # only asked for where an episode runs
        return self._last

    @property
    def running(self) -> bool:
        """Whether, as far as was delivered, an episode runs."""
        return self._last is not None and not self._last.transition.over

    def _wait_for_transition(self, seconds: float) -> bool:
        safety = self._contract.safety
        patience = safety.environment_timeout + safety.policy_timeout + 2 * self._contract.period
        if self._contract.is_lockstep:
            patience += self._contract.lockstep_deadline
        until = time.monotonic() + seconds
        # Silence is judged by what has come, not by what was dispatched.
        self._own.drain()
        while not self._has_transition():
            now = time.monotonic()
            if now > until:
                return False
            silent = now - self._environment_seen
            episode = self._episode
            if episode is not None and self._over() and episode.ending == ENVIRONMENT_LOST:
                raise PeerLost(
                    f'The environment is lost: {episode.declared_by} declared {episode.ending}. '
                    f'{episode.message}'
                )
            # The recorder's word on a dead environment is waited for a little, since it says why.
            if now > self._since + patience or silent > 2.0 * safety.environment_timeout + 1.0:
                raise PeerLost(
                    f'The environment is silent for {silent:.2f} s (expected a transition or a '
                    'heartbeat). Its node died or hangs; the safety gate stops the robot by '
                    'itself.'
                )
            self._spin(min(_SLICE, until - now))
        self._since = time.monotonic()
        return True

    def _result(self, transition: Transition, delivered: ClockReading, until: float) -> StepResult:
        """Return the result of a transition, whose images are waited for until a time."""
        images: dict[str, Image] = {}
        unresolved = []
        for spec in image_fields(self._contract):
            reference = next(f.image for f in transition.after if f.name == spec.name)
            image = None if reference is None else self._resolve(spec.name, reference.stamp, until)
            if image is None:
                unresolved.append(spec.name)
                if transition.kind is Kind.RESET:
                    # There is no earlier one to go on with; the newest since the reset is named
                    # unresolved, too.
                    image = self.newest_image(spec.name)
            if image is not None:
                try:
                    images[spec.name] = pixels_of(spec, decoded(message_class(spec.type), image))
                except RecordError as error:
                    unresolved.append(spec.name)
                    if self._logged.due(spec.name):
                        self._node.get_logger().warning(str(error))
        self._last = StepResult(
            transition=transition,
            delivered=delivered,
            images=images,
            unresolved=tuple(unresolved),
        )
        return self._last

    def newest_image(self, name: str) -> bytes | None:
        """Return the newest message of an image field since the episode began; None: none came."""
        self._own.drain()
        self._take_images()
        return self._images[name][-1][1] if self._images[name] else None

    def _resolve(self, name: str, stamp: int, until: float) -> bytes | None:
        while True:
            self._take_images()
            kept = tuple(self._images[name])
            for found, data in reversed(kept):
                if found == stamp:
                    return data
            # What newer ones have pushed out comes no more.
            dropped = len(kept) == _IMAGES_KEPT and stamp < kept[0][0]
            if dropped or time.monotonic() > until:
                return None
            self._spin(_IMAGE_POLL)

    def _spin(self, seconds: float) -> None:
        """Let one message in, unless the client was closed meanwhile, by another thread."""
        check_open(self._own.closed)
        self._own.spin(seconds)

    def _wait(self, condition: Callable[[], bool], deadline: float, what: str) -> None:
        while not condition():
            left = deadline - time.monotonic()
            if left <= 0.0:
                raise LinkTimeout(f'Timed out (expected {what}). Is the node active, and alive?')
            episode = self._episode
            status = '' if episode is None or episode.state.over else episode.message
            self._log_wait(f'{what}. {status}')
            self._spin(min(left, _SLICE))

    def _log_wait(self, missing: str) -> None:
        """Log what a reset waits for, if it takes long; each cause, whatever its numbers, once."""
        if time.monotonic() > self._log_from and self._logged.due(_NUMBER.sub('', missing)):
            place = f'{self._node.get_namespace()}, ROS_DOMAIN_ID {self._own.domain_id}'
            self._node.get_logger().warning(f'reset() waits for {missing} ({place})')

    # Ending --------------------------------------------------------------------------------------

    def close(self) -> None:
        """End a running episode of this client as ``abandoned``."""
        self.abandon()
        # What the recorder has not received yet would go with the publisher.
        self._requests.wait_for_all_acked(Duration(seconds=_ACK_TIMEOUT))

    def give_up(self, client: str, why: str) -> None:
        """End what was begun of a reset for a client that failed; nothing of it is stepped."""
        if self.client == client:
            self.abandon(f'the reset failed: {why}')
            self._last = None

    def abandon(self, why: str = 'the client closed') -> None:
        """End a running episode of this client as ``abandoned``, and stay open."""
        if not self._episode_id or self._over() or not self._end.service_is_ready():
            return
        request = srv.EndEpisode.Request(
            digest=self._digest,
            episode_id=self._episode_id,
            client=self.client,
            ending='abandoned',
            message=why,
        )
        until = time.monotonic() + SIGN_OF_LIFE
        ask(self._end, request, until=until, spin=lambda: self._own.spin(_SLICE))
