# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The conversation with the policy of one agent, as services, and the events of its episodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
import json
import threading
import time
from typing import Any

from rclpy.callback_groups import CallbackGroup
from sensor_msgs.msg import Image

from boundary_env_ros.core.contract.model import FieldSpec
from boundary_env_ros.core.contract.space_fields import (
    action_fields,
    fields_of,
    reward_fields,
)
from boundary_env_ros.core.environment.task import reward_space
from boundary_env_ros.core.episode_events import Events
from boundary_env_ros.core.records import endings
from boundary_env_ros.core.records.decision import GateDecision
from boundary_env_ros.core.records.episode import EpisodeStatus
from boundary_env_ros.core.records.parts import KeyValue
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.service_requests import (
    action_of,
    batch_of,
    metadata_of,
    options_of,
    refuse_another,
    refuse_another_agent,
)
from boundary_env_ros.core.sources.images import as_rgb
from boundary_env_ros.core.sources.inputs import image_fields
from boundary_env_ros.core.timebase import ClockReading
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import (
    BoundaryError,
    code_of,
    EpisodeEnded,
    InvalidAction,
    LinkError,
    LinkTimeout,
    PeerLost,
    RequestRejected,
    ResetNeeded,
    ResultCode,
    SimulationFailed,
)
from boundary_env_ros.facade.contract_env import WORLD
from boundary_env_ros.facade.rendering import as_text
from boundary_env_ros.facade.steps import StepRequest
from boundary_env_ros.ros import names
from boundary_env_ros.ros.call_with_retry import ask, SIGN_OF_LIFE
from boundary_env_ros.ros.contract_node import ContractNode
from boundary_env_ros.ros.conversions import from_msg, message_class, message_of, to_msg
from boundary_env_ros.ros.interfaces import msg, srv
from boundary_env_ros.ros.world import RosWorld
from boundary_env_ros.simulation.plugin_wire import pixels_in
from boundary_env_ros.storage.contract_file import make_task
from boundary_env_ros.storage.pixels import pixels_of

# For the last answers, s, and for one of the gate.
_ACK_TIMEOUT, _GATE_ANSWERS = 2.0, 10.0

# For a step that was answered by its ending to come back, before a reset is refused, s.
_COMING_BACK = 1.0

# What to blame where an episode ended so.
_LOST = {
    endings.ROBOT_LOST: ResultCode.ROBOT_LOST,
    endings.GATE_LOST: ResultCode.GATE_LOST,
    endings.ENVIRONMENT_LOST: ResultCode.ENVIRONMENT_LOST,
}

# Episodes whose last step may be observed.
_REMEMBERED = 64

_MODES = ('rgb_array', 'ansi')


class AgentServices:
    """
    Serves reset, step and the rest to the clients of one agent, and publishes what happens to it.

    The answer to an error holds the error and nothing else.

    Parameters
    ----------
    node
        A node that is being configured; what is made here lives until its cleanup.
    agent
        The agent.
    waiting
        Group of the callbacks that wait.

    """

    def __init__(self, node: ContractNode, agent: str, waiting: CallbackGroup) -> None:
        contract = node.contract
        self._node, self.agent, self.contract = node, agent, contract
        # Of the calls that are answered; held for a moment only.
        self._lock = threading.Condition()
        # Of the world: a call that has it may take long.
        self._conversation = threading.Lock()
        self._calls = 0
        self._world: RosWorld | None = None
        # The client that holds the episode, and the ending of that; empty while it runs.
        self._client = self._episode_id = self._over = ''
        self._status: EpisodeStatus | None = None
        #: The last step of each episode; of the latest episode it is the last one here.
        self._latest: dict[str, Transition] = {}
        self._events = Events(contract, node.loaded.digest)
        self._rewards = reward_fields(reward_space(make_task(contract)), contract.task.name)
        self._event = node.publisher_of(names.EVENT, agent)
        #: Is called with the message of each event, in the thread that receives.
        self.on_event: Callable[[Any], None] | None = None
        self._gate = node.add_client(
            srv.EvaluateActions, contract.topic_of(agent, names.EVALUATE_ACTIONS)
        )
        self._answers = {
            names.EVALUATE_ACTIONS: self._answering(srv.EvaluateActions, self._evaluate_actions)
        }
        for name, answer in (
            (names.RESET, self._reset),
            (names.STEP, self._step),
            (names.BATCH_STEP, self._batch_step),
            (names.OBSERVE, self._observe),
            (names.SPACES, self._spaces),
            (names.RENDER, self._render),
            (names.PLAN, self._plan),
            (names.CLOSE, self._close),
        ):
            kind, place = names.SERVICES[name], contract.topic_of(agent, name)
            made = node.add_service(kind, place, self._answering(kind, answer), group=waiting)
            self._answers[name] = made.callback

    def activate(self) -> None:
        """Make the client, which looks for environment and gate from now on."""
        node = self._node
        self._client = self._episode_id = self._over = ''
        self._world = RosWorld(
            node.loaded,
            namespace=node.get_namespace(),
            domain_id=node.context.get_domain_id(),
            client=node.get_name(),
            agent=self.agent,
            sink=self._on_record,
        )

    def deactivate(self) -> None:
        """End a running episode as ``abandoned``, and answer the clients that wait."""
        world, self._world = self._world, None
        if world is None:
            return
        world.close()
        with self._lock:
            self._lock.wait_for(lambda: not self._calls, _ACK_TIMEOUT)

    @property
    def world(self) -> RosWorld:
        """The client of environment and gate; there is one while the node is active."""
        if self._world is None:
            raise RequestRejected(
                f'{self._node.get_name()} is not active. Activate it.',
                ResultCode.NOT_ACTIVE,
            )
        return self._world

    @property
    def refused(self) -> int:
        """How many messages of environment, gate and robot could not be read."""
        return 0 if self._world is None else self._world.refused

    # Events --------------------------------------------------------------------------------------

    def _on_record(self, record: object) -> None:
        """Keep what may be asked for, and publish what it means; in the thread that receives."""
        at: ClockReading | None = None
        if isinstance(record, Transition):
            at, episode_id = record.closed, record.id.episode_id
            # One after the other: a call that looks has the step before or this one.
            others = {key: last for key, last in self._latest.items() if key != episode_id}
            self._latest = dict([*others.items(), (episode_id, record)][-_REMEMBERED:])
        elif isinstance(record, GateDecision):
            at = record.commanded or record.received
        elif isinstance(record, EpisodeStatus):
            at, self._status = record.stamp, record
        for event in self._events.of(record):
            message = to_msg(event, at or self._node.clock.now())
            self._event.publish(message)
            if self.on_event is not None:
                self.on_event(message)

    # Services ------------------------------------------------------------------------------------

    def call(self, name: str, request: Any) -> Any:
        """Return the answer to a request, as over ROS: by the name of the service there."""
        return self._answers[name](request, names.SERVICES[name].Response())

    def _answering(self, kind: Any, answer: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
        """Return a callback that answers as told, or with the error alone."""

        def on_request(request: Any, _: Any) -> Any:
            with self._lock:
                self._calls += 1
            try:
                return answer(request)
            except BoundaryError as error:
                return kind.Response(result=_result(error))
            finally:
                with self._lock:
                    self._calls -= 1
                    self._lock.notify_all()

        return on_request

    def _reset(self, request: Any) -> Any:
        world = self.world
        refuse_another(
            environment=request.environment,
            digest=request.digest,
            agent=request.agent,
            contract=self.contract,
            own_digest=self._node.loaded.digest,
            own_agent=self.agent,
        )
        if not request.client:
            raise RequestRejected('The name of the client is missing. Say who calls.')
        options = options_of(request.options)
        with self._conversing(_COMING_BACK):
            # The environment refuses it while the episode of another client runs.
            begun = world.reset(
                seed=request.seed if request.seed_given else None,
                options=options,
                wrappers=tuple(request.wrappers),
                client=request.client,
            )
            transition = begun[self.agent].transition
            self._client, self._over = request.client, ''
            self._episode_id = episode_id = transition.id.episode_id
        return srv.Reset.Response(
            episode_id=episode_id,
            observation=to_msg(transition.observation, transition.closed),
            transition=_messages((transition,)),
            info=transition.info,
        )

    @contextmanager
    def _conversing(self, patience: float = 0.0) -> Iterator[None]:
        """Have the world for a call that waits."""
        if not self._conversation.acquire(timeout=patience):
            raise RequestRejected(
                f'Another step of this episode, or a reset, is under way, for {self._client!r}. '
                'Wait for its answer.',
                ResultCode.LEASE_HELD,
            )
        try:
            yield
        finally:
            self._conversation.release()

    def _steps(
        self, actions: Iterable[tuple[Vector, str]], pairs: Iterable[Any]
    ) -> tuple[list[Transition], int, Any]:
        """
        Step up to the first ending or error.

        Parameters
        ----------
        actions
            Each with its payload.
        pairs
            Metadata of all, as messages.

        Returns
        -------
        tuple
            What was closed, how many actions were carried out, and what stopped the others.

        """
        world, completed = self.world, 0
        metadata = metadata_of(from_msg(KeyValue, pair) for pair in pairs)
        closed: list[Transition] = []
        for action, payload in actions:
            wanted = StepRequest(action=action, payload=payload, metadata=metadata)
            try:
                results = world.step({self.agent: wanted})[self.agent]
            except BoundaryError as error:
                if isinstance(error, PeerLost):
                    self._over = endings.ENVIRONMENT_LOST
                if not completed:
                    raise
                return closed, completed, _result(error)
            closed += (result.transition for result in results)
            completed += 1
            self._over = self._over or closed[-1].ending
            if self._over:
                break
        return closed, completed, msg.Result()

    def _step(self, request: Any) -> Any:
        self._check(request.episode_id)
        with self._conversing():
            action = action_of(self.contract, request.action, request.horizon)
            closed, *_ = self._steps([(action, request.payload)], request.metadata)
        return srv.Step.Response(**_snapshot(closed), transitions=_messages(closed))

    def _batch_step(self, request: Any) -> Any:
        self._check(request.episode_id)
        with self._conversing():
            actions = batch_of(self.contract, request.actions, request.count)
            payloads = request.payloads or [''] * len(actions)
            if len(payloads) != len(actions):
                raise InvalidAction(
                    f'Wrong number of payloads (expected {len(actions)} or none, '
                    f'got {len(payloads)}).'
                )
            closed, completed, result = self._steps(
                zip(actions, payloads, strict=True), request.metadata
            )
        fields = {'result': result, 'completed': completed, **_snapshot(closed)}
        return srv.BatchStep.Response(**fields, transitions=_messages(closed))

    def _observe(self, request: Any) -> Any:
        self._refuse_inactive(request.agent)
        last = self._newest(request.episode_id)
        return srv.Observe.Response(**_snapshot((last,)), transition=_messages((last,)))

    def _spaces(self, request: Any) -> Any:
        self._refuse_inactive(request.agent)
        contract = self.contract
        return srv.Spaces.Response(
            contract=contract.name,
            contract_version=contract.version,
            digest=self._node.loaded.digest,
            agents=list(contract.agents),
            period=contract.period,
            observation=[to_msg(field) for field in fields_of(contract.observation)],
            action=[to_msg(field) for field in action_fields(contract)],
            privileged=[to_msg(field) for field in fields_of(contract.privileged)],
            reward=[to_msg(field) for field in self._rewards],
            static_model=json.dumps(self._static_model()),
        )

    def _render(self, request: Any) -> Any:
        self._refuse_inactive(request.agent)
        if request.mode not in ('', *_MODES):
            raise RequestRejected(
                f'Unknown mode (expected {", ".join(_MODES)}, got {request.mode!r}).'
            )
        cameras = {spec.name: spec for spec in image_fields(self.contract)}
        source = request.source or next(iter(cameras), '')
        if source == WORLD:
            return self._by_world(request.mode or _MODES[0])
        if request.mode == 'ansi':
            return srv.Render.Response(text=as_text(self.contract, self._newest()))
        if source not in cameras:
            raise RequestRejected(
                f'Unknown source (expected {", ".join((*cameras, WORLD))}, got {source!r}).'
            )
        return srv.Render.Response(image=self._picture(cameras[source]))

    def _evaluate_actions(self, request: Any) -> Any:
        """Ask the gate, whose own service this is over ROS."""
        _ = self.world
        until = time.monotonic() + _GATE_ANSWERS
        answer = ask(self._gate, request, until=until, patience=SIGN_OF_LIFE)
        if answer is None:
            raise LinkTimeout(
                f'{self._gate.srv_name} did not answer within {_GATE_ANSWERS:g} s. '
                'Is the gate alive?'
            )
        return answer

    def _by_world(self, mode: str) -> Any:
        answer = self._ask('render', mode=mode)
        if isinstance(answer, str):
            return srv.Render.Response(text=answer)
        return srv.Render.Response(image=_image(pixels_in(answer)))

    def _plan(self, request: Any) -> Any:
        self._refuse_inactive(request.agent)
        if request.episode_id:
            newest = self._newest().id.episode_id
            if request.episode_id != newest:
                raise self._unknown(request.episode_id)
        plan = ''
        if request.goal:
            plan = json.dumps(self._ask('plan', query=options_of(request.goal)))
        try:
            affordances = self._ask('affordances')
        except RequestRejected:
            if not plan:
                raise
            affordances = []
        return srv.Plan.Response(
            plan=plan,
            affordances=[
                msg.Affordance(**{**each, 'parameters': json.dumps(each['parameters'])})
                for each in affordances
            ],
        )

    def _ask(self, method: str, **arguments: Any) -> Any:
        return self.world.ask(method, {'agent': self.agent, **arguments})

    def _static_model(self) -> dict[str, Any]:
        """Return what of the world never changes; nothing, if it is unknown."""
        try:
            model: dict[str, Any] = self.world.describe()['static_model']
        except LinkError:
            return {}
        return model

    def _picture(self, spec: FieldSpec) -> Image:
        data = self.world.newest_image(self.agent, spec.name)
        if data is None:
            raise RequestRejected(
                f'No image has come on {spec.topic}. Is the camera running?',
                ResultCode.SENSOR_MISSING,
            )
        message = message_of(message_class(spec.type), data)
        image = _image(as_rgb(spec, pixels_of(spec, message)))
        image.header = message.header
        return image

    def _close(self, request: Any) -> Any:
        world, episode_id = self.world, request.episode_id
        if not episode_id or episode_id != self._episode_id:
            if episode_id not in self._latest:
                raise self._unknown(episode_id)
            self._refuse_foreign(episode_id)
        elif request.client != self._client:
            raise RequestRejected(
                f'The episode is of another client (expected {self._client!r}, '
                f'got {request.client!r}).',
                ResultCode.LEASE_HELD,
            )
        elif not self._over:
            world.abandon()
            self._over = endings.ABANDONED
        return srv.Close.Response()

    def _check(self, episode_id: str) -> None:
        """Refuse to step what does not run, or was not begun here: with what became of it."""
        _ = self.world
        if episode_id and episode_id == self._episode_id:
            if self._over:
                raise _ended(self._over)
            return
        self._refuse_foreign(episode_id)
        last = self._latest.get(episode_id)
        if last is not None:
            # An environment that was started again knows nothing of the episode.
            raise _ended(last.ending or endings.ENVIRONMENT_LOST)
        if not self._latest:
            raise ResetNeeded('No episode was begun. Call reset first.')
        raise self._unknown(episode_id)

    def _refuse_foreign(self, episode_id: str) -> None:
        """Refuse an episode that runs beside the services."""
        status = self._status
        if (
            episode_id
            and status is not None
            and status.id.episode_id == episode_id
            and not status.state.over
        ):
            raise RequestRejected(
                f'The episode was not begun by this service: {status.client!r} began '
                f'{episode_id}. Reset when it is over.',
                ResultCode.LEASE_HELD,
            )

    def _refuse_inactive(self, agent: str) -> None:
        """Refuse while the node is not active, and what is meant for another agent."""
        _ = self.world
        refuse_another_agent(agent, self.agent)

    def _unknown(self, episode_id: str) -> RequestRejected:
        return RequestRejected(
            f'Unknown episode (expected one of the last {_REMEMBERED}, got '
            f'{episode_id or "none"}). '
            'Name the episode that the answer to your reset named.',
            ResultCode.UNKNOWN_EPISODE,
        )

    def _newest(self, episode_id: str = '') -> Transition:
        """Return the last transition, of an episode or of all."""
        previous = self._latest
        if not episode_id and not previous:
            raise ResetNeeded('No episode was observed yet. Call reset first.')
        last = previous.get(episode_id or next(reversed(previous)))
        if last is None:
            raise self._unknown(episode_id)
        return last


def _result(error: BoundaryError) -> Any:
    return msg.Result(code=int(code_of(error)), message=str(error))


def _ended(ending: str) -> BoundaryError:
    """Return the error of a step in an ended episode: what failed, if something did."""
    message = f'The episode has ended ({ending}). Call reset first.'
    if ending == endings.SIMULATION_FAILED:
        return SimulationFailed(message)
    if ending in _LOST:
        return PeerLost(message, _LOST[ending])
    return EpisodeEnded(message)


def _messages(closed: Sequence[Transition]) -> list[Any]:
    return [to_msg(each, each.closed) for each in closed]


def _snapshot(closed: Sequence[Transition]) -> dict[str, Any]:
    """Return what every answer says of what was closed: observation, reward, flags and info."""
    last = closed[-1]
    return {
        'observation': to_msg(last.observation, last.closed),
        'reward': sum(each.reward for each in closed),
        'terminated': last.terminated,
        'truncated': last.truncated,
        'info': last.info,
        'done': bool(last.ending),
    }


def _image(pixels: Any) -> Image:
    """Return pixels, shape (height, width, 3), as a message."""
    height, width, _ = pixels.shape
    image = Image(height=height, width=width, encoding='rgb8', step=3 * width)
    image.data.frombytes(pixels.tobytes())
    return image
