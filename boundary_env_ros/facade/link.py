# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The link between a policy process and its world.

The facade knows nothing else of the world. Over ROS the link is
:class:`boundary_env_ros.ros.link.RosLink`; in one process
:class:`boundary_env_ros.facade.embedded.EmbeddedLink`; over a record
:class:`boundary_env_ros.facade.replay.ReplayLink`. Others are installed as entry points of the
group ``boundary_env_ros.links``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import entry_points
import inspect
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from boundary_env_ros import __version__
from boundary_env_ros.core.contract.model import Contract, Pacing
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.gate.decision import ActionRequest, KeyValue, Source, Verdict
from boundary_env_ros.core.timebase import Instant
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.errors import LinkError
from boundary_env_ros.storage.contract_file import load, LoadedContract

GROUP = 'boundary_env_ros.links'

Image = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """
    What a delivery out of a record has to do with the action that was asked for: nothing.

    Attributes
    ----------
    run, episode
        The record, and the place of the episode in it, counted from 0.
    recorded, asked
        The action that the record was made with, and the one that was asked for now; empty where
        there is none.
    differs
        Whether they differ; None if one is missing.
    difference
        The greatest difference of two of their numbers; infinite if they are not as many, None if
        one is missing.
    first_difference
        The first step of the episode in which they differed; None if none did. From there on the
        record is the answer to other actions.

    """

    run: str
    episode: int
    recorded: Vector
    asked: Vector
    differs: bool | None
    difference: float | None
    first_difference: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """
    A transition as it reached the policy process.

    Attributes
    ----------
    transition
        The record of the step; its ``after`` is the new observation.
    delivered
        When this process had it.
    images
        Image fields, by name, shape of the contract.
    unresolved
        Those whose image did not come in time; ``images`` then holds the newest there is, or none.
    replayed
        What it has to do with the action that was asked for, if it comes out of a record.

    """

    transition: Transition
    delivered: Instant
    images: Mapping[str, Image] = field(default_factory=dict)
    unresolved: tuple[str, ...] = ()
    replayed: Replayed | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """
    An action, and what a client says of how it came by it.

    Attributes
    ----------
    action
        Shape ``(n,)``, or ``(h * n,)`` for a chunk: action space of the contract.
    answers
        The delivery that it was chosen from; default: the last one. A policy that infers while the
        world goes on answers an older one, of the same episode.
    skipped
        Actions that were predicted from that observation before the first one here, and left out
        since their step was over.
    blended
        Predictions that the first action is the weighted mean of; 0: not said.
    metadata
        Goes into the diagnostics of the transition.
    source
        Who chose it.
    on_delivery
        Is called with each transition as it comes, before ``step`` returns them all: with those
        within a chunk. It must return soon.

    """

    action: Vector
    answers: Delivery | None = None
    skipped: int = 0
    blended: int = 0
    metadata: Mapping[str, str] = field(default_factory=dict)
    source: Source = Source.POLICY
    on_delivery: Callable[[Delivery], None] | None = None


def asked_of(action: Vector | Asked) -> Asked:
    """Return what is asked for by an action alone, or by one that says more of itself."""
    return action if isinstance(action, Asked) else Asked(action=action)


def request_of(
    asked: Asked,
    last: Delivery,
    contract: Contract,
    *,
    lease_id: str,
    sequence: int,
    requested: Instant,
    client: str,
) -> ActionRequest:
    """
    Return the request that a link sends.

    Parameters
    ----------
    asked
        What its client asks for.
    last
        The last delivery of the episode.
    contract
        The contract.
    lease_id, sequence, requested, client
        See :class:`~boundary_env_ros.core.gate.decision.ActionRequest`.

    Raises
    ------
    LinkError
        If the action answers an observation of another episode, or is meant for a step that is
        still to come after the next; in lockstep, for another than the next.

    """
    answered = last if asked.answers is None else asked.answers
    seen, newest = answered.transition.id, last.transition.id
    if replace(seen, step=newest.step) != newest:
        raise LinkError(
            'The action answers an observation of another episode (expected '
            f'{newest.episode_id!r} of {newest.agent!r}, got {seen.episode_id!r} of '
            f'{seen.agent!r}).'
        )
    step, following = seen.step + asked.skipped + 1, newest.step + 1
    if step > following or (step < following and contract.pacing is Pacing.LOCKSTEP):
        raise LinkError(
            f'Expected an action for step {following}'
            f'{"" if contract.pacing is Pacing.LOCKSTEP else " or one before it"}, got one '
            f'for step {step}, {asked.skipped} skipped after the observation of step {seen.step}.'
        )
    return ActionRequest(
        id=replace(seen, step=step),
        lease_id=lease_id,
        sequence=sequence,
        action=asked.action,
        observed=answered.transition.closed,
        delivered=answered.delivered,
        requested=requested,
        source=asked.source,
        client=client,
        client_version=__version__,
        horizon=max(1, len(asked.action) // contract.action_size),
        unresolved=answered.unresolved,
        observed_step=seen.step,
        skipped=asked.skipped,
        blended=asked.blended,
        metadata=tuple(KeyValue(key=key, value=value) for key, value in asked.metadata.items()),
    )


def agent_of(contract: Contract, wanted: str) -> str:
    """
    Return the agent of a contract that is wanted; empty: the only one.

    Raises
    ------
    LinkError
        If there is no such agent, or not one alone.

    """
    if wanted in contract.agents:
        return wanted
    if wanted or len(contract.agents) != 1:
        raise LinkError(
            f'Which agent? (expected one of {", ".join(contract.agents)}, '
            f'got {wanted or "none"}). Pass agent=..., or use '
            'boundary_env_ros.facade.multi_agent, which steps all of them.'
        )
    return contract.agents[0]


def closed_by(transition: Transition, request: ActionRequest) -> bool:
    """
    Return whether a transition is the one that a request closed, or the last of the episode.

    A chunk closes as many as it has actions, unless a stop drops what is left of it.
    """
    if transition.terminated or transition.truncated:
        return True
    last = request.id.step + request.horizon - 1
    return any(
        decision.verdict in _DROPPING or decision.id.step == last
        for decision in transition.decisions
        if decision.request is not None
        and decision.request.lease_id == request.lease_id
        and decision.request.sequence == request.sequence
    ) or (
        request.horizon > 1
        and any(decision.verdict is Verdict.STOPPED for decision in transition.decisions)
    )


#: Verdicts after which nothing is left of a chunk.
_DROPPING = (Verdict.STOPPED, Verdict.REJECTED)


class Link(Protocol):
    """
    One client's conversation with one world.

    Every call has a deadline and raises a named error when it passes; none returns half an answer.
    """

    def begin(
        self, *, seed: int | None, options: Mapping[str, object], wrappers: Sequence[str]
    ) -> Delivery:
        """
        Begin an episode and return its reset.

        Raises
        ------
        Refused
            If environment or gate refuses.
        ResetFailed
            If the world could not be reset; the message says what is missing.
        LinkTimeout
            If somebody does not answer; the message names who.

        """
        ...

    def step(self, action: Vector | Asked) -> tuple[Delivery, ...]:
        """
        Send one action and return the transitions that were closed since.

        The one that the action closed is the last.

        Those before it were closed without an action, because none came in time, or by the first
        actions of a chunk.

        Raises
        ------
        PeerLost
            If the environment died before it could close the step.

        """
        ...

    def observe(self) -> tuple[Delivery, ...]:
        """
        Return the transitions that were closed since the last call, without any action.

        At once: nothing is sent, and nothing waited for. In lockstep there are none.
        """
        ...

    def close(self) -> None:
        """End what this client began, and let go of all that it holds. May be called again."""
        ...


def load_for(contract: str | Path, *, pacing: str | None, link: str) -> LoadedContract:
    """
    Return a contract as it is run over a link.

    Parameters
    ----------
    contract
        File of a contract, or the name of a shipped one.
    pacing
        ``'realtime'`` or ``'lockstep'``; None: as in the contract, but in one process in lockstep,
        as there is no other.
    link
        Name of the link.

    Raises
    ------
    ContractError
        If the contract is not valid.
    LinkError
        If there is no such pacing.

    """
    if pacing is None:
        return load(contract, Pacing.LOCKSTEP if link == 'embedded' else None)
    names = {each.name.lower(): each for each in Pacing}
    if pacing not in names:
        raise LinkError(f'Unknown pacing (expected {", ".join(names)}, got {pacing!r}).')
    return load(contract, names[pacing])


def make_link(name: str, loaded: LoadedContract, **arguments: Any) -> Link:
    """
    Return an installed link.

    Parameters
    ----------
    name
        Entry-point name: ``ros``, ``embedded``, ``replay`` or somebody else's.
    loaded
        The contract.
    arguments
        What that link takes.

    Raises
    ------
    LinkError
        If no link of that name is installed, or it takes no such arguments.

    """
    link: Link = made(GROUP, name, 'an installed link', loaded, arguments)
    return link


def seed_for(link: object, seed: int | None, draw: Callable[[], int]) -> int | None:
    """
    Return the seed that an episode is begun with: a drawn one where none is given.

    A link with the attribute ``recorded`` has its episodes already, and no use for one that nobody
    asked for.
    """
    return draw() if seed is None and not getattr(link, 'recorded', False) else seed


def made(
    group: str, name: str, what: str, loaded: LoadedContract, arguments: Mapping[str, Any]
) -> Any:
    """
    Return what an entry point makes of a contract and the arguments that it takes.

    Raises
    ------
    LinkError
        If there is none of that name, which lists those that there are, or if it takes others,
        which lists these.

    """
    entries = {entry.name: entry for entry in entry_points(group=group)}
    if name not in entries:
        raise LinkError(
            f'{name!r} is not installed '
            f'(expected {what}: {", ".join(sorted(entries)) or "there is none"}).'
        )
    make = entries[name].load()
    signature = inspect.signature(make)
    try:
        signature.bind(loaded, **arguments)
    except TypeError as error:
        taken = ', '.join(list(signature.parameters)[1:])
        raise LinkError(f'The link {name!r} takes ({taken}): {error}.') from error
    return make(loaded, **arguments)
