# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A person at a terminal: asked to confirm resets, and what they make of each episode."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import product
import select
import sys
import termios
import time
from typing import Any

from rclpy.node import Node

from boundary_env_ros.core.authentication import Role
from boundary_env_ros.core.contract.model import ConfirmStep, Contract
from boundary_env_ros.core.records.decision import GateState, GateStatus, Reason
from boundary_env_ros.core.records.episode import EpisodeState, EpisodeStatus, Label
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.frozen import frozen
from boundary_env_ros.ros import names
from boundary_env_ros.ros.authenticity import Authenticity
from boundary_env_ros.ros.call_with_retry import ask, wait_until
from boundary_env_ros.ros.clock import HOST
from boundary_env_ros.ros.conversions import from_msg
from boundary_env_ros.ros.interfaces import msg, srv
from boundary_env_ros.ros.isolated_node import IsolatedNode
from boundary_env_ros.ros.message_guard import Incoming
from boundary_env_ros.ros.processes import interrupts
from boundary_env_ros.ros.served_contract import served_contract

# Between two polls of what came over ROS and from the keyboard, s.
_POLL = 0.05
# For a node of a boundary to be found, s.
_WAIT = 30.0
# For a service to be found and to answer, s.
_ANSWER = 5.0
# How long the question may still be on its way that was just answered, s.
_STALE = 1.0
_print = partial(print, flush=True)

_MARKS = {
    key: label
    for label in (Label.SUCCESS, Label.FAILURE, Label.UNCLEAR)
    for key in (label.name.lower(), label.name[0].lower())
}


@frozen(kw_only=False)
class Question:
    """
    What a person is asked: to confirm a reset, or to label an episode that has ended.

    Attributes
    ----------
    agent, episode_id, text
        Of which episode, and what a reset asks for, or how the episode ended.
    until
        Steady clock when the step of a reset is over, s.
    is_reset
        Which of the two it is.

    """

    agent: str
    episode_id: str
    text: str
    until: float = 0.0
    is_reset: bool = False


def attend(
    *,
    user: str,
    yes: bool,
    label: bool,
    release: bool = False,
    loosen: bool = False,
    probe: bool = False,
    namespace: str = '',
    domain_id: int | None = None,
) -> int:
    """
    Ask the person at the terminal, until SIGINT; or ask the gates for something, and end.

    Parameters
    ----------
    user
        Name of the person, for the record.
    yes
        Ask no one: whatever a reset asks for is done already.
    label
        Ask for a label after each episode, too.
    release, loosen, probe
        Have the gates release the emergency stop, forget limits that were made stricter, or
        measure the timeouts of the drivers: the robot moves.
    namespace, domain_id
        Where the nodes are.

    Returns
    -------
    int
        0, after SIGINT, or when the gates have done it; 1 if one refused.

    Raises
    ------
    BoundaryError
        If there is no terminal to ask at.
    LinkError
        If ROS does not start, or no boundary is found.

    """
    calls = ('clear_emergency_stop',) * release + ('loosen',) * loosen
    calls += ('probe_driver',) * probe
    if not calls and not (yes and not label) and not sys.stdin.isatty():
        raise BoundaryError(
            'The input is not a terminal, so no person can be asked. '
            'Run it in a terminal, or with --yes for a script.'
        )
    with (
        interrupts() as raise_if_interrupted,
        IsolatedNode(
            names.OPERATOR, domain_id=domain_id, namespace=namespace, listens_only=True
        ) as own,
    ):

        def spin() -> None:
            own.spin(_POLL)
            raise_if_interrupted()

        contract = served_contract(own.node, spin, _WAIT).contract
        if calls:
            return _call_gates(own, spin, contract, calls, user)
        with suppress(KeyboardInterrupt):
            _Terminal(own.node, spin, contract, user=user, yes=yes, label=label).run()
        _print('')
    return 0


def _call_gates(
    own: IsolatedNode,
    spin: Callable[[], None],
    contract: Contract,
    calls: Sequence[str],
    user: str,
) -> int:
    """Call services of all gates that need the key; return whether one refused."""
    authenticity, refused = Authenticity(own.domain_id, Role.OPERATOR), False
    for agent, call in product(contract.agents, calls):
        service = contract.topic_of(agent, f'safety_gate/{call}')
        client = authenticity.client(own.node.create_client(srv.OperatorCall, service))
        request = srv.OperatorCall.Request(caller=f'{user} on {HOST}')
        refusal = _call(client, request, spin)
        _print(f'{service}: {refusal or "done"}')
        refused = refused or bool(refusal)
    return int(refused)


class _Terminal:
    """Hears where the episodes stand, and asks one question at a time."""

    def __init__(
        self,
        node: Node,
        spin: Callable[[], None],
        contract: Contract,
        *,
        user: str,
        yes: bool,
        label: bool,
    ) -> None:
        self._spin = spin
        self._contract = contract
        self._user = user
        self._yes, self._label = yes, label
        steps = contract.episode.reset.steps
        # The first of several with one prompt, which cannot be told apart.
        self._deadlines = {
            step.prompt: step.deadline for step in reversed(steps) if isinstance(step, ConfirmStep)
        }
        self._resets: dict[str, Question] = {}
        self._waiting: dict[str, tuple[str, set[str]]] = {}
        self._ended: deque[Question] = deque()
        self._states: dict[str, EpisodeStatus] = {}
        self._question: Question | None = None
        self._answered: tuple[str, str, float] = ('', '', 0.0)
        self._stopped: set[str] = set()
        incoming = Incoming(node)
        authenticity = Authenticity(node.context.get_domain_id(), Role.OPERATOR)
        for agent in contract.agents:
            for kind, name, callback in (
                (msg.EpisodeStatus, names.EPISODE_STATUS, self._on_status),
                (msg.GateStatus, names.GATE_STATUS, self._on_gate),
            ):
                topic, qos = contract.topic_of(agent, name), names.LATCHED_MANY
                incoming.subscribe(kind, topic, callback, qos, authenticity=authenticity)
        self._confirming = {
            agent: node.create_client(
                srv.ConfirmReset, contract.topic_of(agent, names.CONFIRM_RESET)
            )
            for agent in contract.agents
        }
        self._labelling = node.create_client(srv.LabelEpisode, names.LABEL_EPISODE)

    def run(self) -> None:
        """Ask until SIGINT."""
        contract = self._contract
        what = 'resets and labels' if self._label else 'resets'
        _print(
            f'{contract.name} {contract.version}: {what} are asked about here, as {self._user}. '
            'Ctrl-C ends it.'
        )
        if not self._deadlines:
            _print('No reset of this contract asks a person for anything.')
        while True:
            self._spin()
            self._go_on()

    # What is to be asked -------------------------------------------------------------------------

    def _on_status(self, message: Any) -> None:
        status = from_msg(EpisodeStatus, message)
        agent, episode = status.id.agent, status.id.episode_id
        before = self._resets.get(agent)
        if status.state is EpisodeState.RESETTING and status.message not in self._deadlines:
            self._resets.pop(agent, None)
            self._report_waiting(agent, episode, status.message)
        elif status.state is EpisodeState.RESETTING:
            *answered, until = self._answered
            if answered == [episode, status.message] and time.monotonic() < until:
                return  # it was sent before the answer came
            if before is None or (before.episode_id, before.text) != (episode, status.message):
                until = time.monotonic() + self._deadlines[status.message]
                self._resets[agent] = Question(
                    agent, episode, status.message, until, is_reset=True
                )
        else:
            self._resets.pop(agent, None)
        if not status.state.over:
            self._states[agent] = status
            return
        seen = self._states.get(agent)
        if seen is None or seen.id.episode_id != episode:
            return  # it ended before we came, or is said to have ended once more
        del self._states[agent]
        waited = self._waiting.pop(agent, ('', ()))[0] == episode
        if before is not None or (waited and seen.state is EpisodeState.RESETTING):
            _print(f'\nReset of {episode[:8]}: {status.ending}. {status.message}')
        if self._label and seen.state is EpisodeState.RUNNING:
            ending = f'{status.ending} ({status.state.name.lower()} after {status.id.step} steps)'
            self._ended.append(Question(agent, episode, ending))

    def _on_gate(self, message: Any) -> None:
        """Note whose emergency stop is latched; where that changes, a question is asked again."""
        status = from_msg(GateStatus, message)
        if (status.state is GateState.EMERGENCY_STOPPED) != (status.agent in self._stopped):
            self._stopped ^= {status.agent}
            self._question = None

    def _report_waiting(self, agent: str, episode: str, message: str) -> None:
        """Say once what a reset waits for that no person can confirm."""
        if not message:
            return
        messages = self._waiting.get(agent)
        if messages is None or messages[0] != episode:
            messages = self._waiting[agent] = (episode, set())
        if message not in messages[1]:
            messages[1].add(message)
            _print(f'\nReset of {episode[:8]}: {message}')

    # Asking --------------------------------------------------------------------------------------

    def _go_on(self) -> None:
        question = next(iter((*self._resets.values(), *self._ended)), None)
        is_new, self._question = question != self._question, question
        if question is None:
            return
        if is_new:
            short, text = question.episode_id[:8], question.text
            line = (
                f'Reset of {short} asks: {text}'
                if question.is_reset
                else f'Episode {short} ended: {text}.'
            )
            _print(f'\n{line}')
            if question.is_reset and question.agent in self._stopped:
                _print(f'Before you confirm: {Reason.EMERGENCY_STOP.text}.')
        if question.is_reset and self._yes:
            self._confirm(question, True, '')
            return
        if is_new:
            with suppress(termios.error):
                # What was typed before the question is no answer to it.
                termios.tcflush(sys.stdin, termios.TCIFLUSH)
            self._prompt(question)
        answer = _line()
        if answer is not None:
            self._answer(question, answer)

    def _prompt(self, question: Question) -> None:
        if question.is_reset:
            left = max(0.0, question.until - time.monotonic())
            _print(f'Done? [y, or n and why, at most {left:.0f} s left]')
        else:
            _print('What do you make of it? [s, f or u and a note; Enter: nothing]')

    def _answer(self, question: Question, line: str) -> None:
        answer, _, rest = line.strip().partition(' ')
        answer, rest = answer.lower(), rest.strip()
        if question.is_reset and answer in ('y', 'yes', 'n', 'no'):
            self._confirm(question, answer[0] == 'y', rest)
        elif not question.is_reset and not answer:
            self._ended.popleft()
        elif not question.is_reset and answer in _MARKS:
            self._send_label(question, _MARKS[answer], rest)
        else:
            self._prompt(question)

    def _confirm(self, question: Question, confirmed: bool, message: str) -> None:
        request = srv.ConfirmReset.Request(confirmed=confirmed, user=self._user, message=message)
        refusal = _call(self._confirming[question.agent], request, self._spin)
        # It is answered, whatever comes of it.
        self._resets.pop(question.agent, None)
        self._answered = (question.episode_id, question.text, time.monotonic() + _STALE)
        self._question = None
        if refusal:
            _print(f'Not taken: {refusal}')
        else:
            _print('Confirmed.' if confirmed else 'Said no: the reset has failed.')

    def _send_label(self, question: Question, verdict: Label, note: str) -> None:
        request = srv.LabelEpisode.Request(
            episode_id=question.episode_id, label=int(verdict), user=self._user, note=note
        )
        refusal = _call(self._labelling, request, self._spin)
        self._ended.popleft()
        if refusal:
            _print(f'Not kept: {refusal}\n`boundary-env episodes label` labels it afterwards.')
        else:
            _print(f'Labelled: {verdict.name.lower()}.')


def _call(client: Any, request: Any, spin: Callable[[], None]) -> str:
    """Call a service; return why it refused, empty if it did not."""
    deadline = time.monotonic() + _ANSWER
    if not wait_until(client.service_is_ready, deadline, spin):
        return f'no node serves {client.srv_name} (waited {_ANSWER:g} s).'
    answer = ask(client, request, until=deadline, spin=spin)
    if answer is None:
        return f'{client.srv_name} did not answer within {_ANSWER:g} s.'
    result = answer.result
    return str(result.message or f'code {result.code}') if result.code else ''


def _line() -> str | None:
    """Return a line that was typed; None if there is none."""
    ready, _, _ = select.select([sys.stdin], [], [], 0.0)
    if not ready:
        return None
    line = sys.stdin.readline()
    if not line:
        raise BoundaryError('The terminal was closed, so no person can be asked.')
    return line
