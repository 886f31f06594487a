# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is asked of a :class:`~boundary_env_ros.facade.world.World`, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

import numpy as np
import numpy.typing as npt

from boundary_env_ros import __version__
from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.records.decision import ActionRequest, Source, Trigger, Verdict
from boundary_env_ros.core.records.parts import KeyValue
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.timebase import ClockReading
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import LinkError
from boundary_env_ros.frozen import frozen, replace

Image = npt.NDArray[np.uint8]


@frozen
class Replayed:
    """
    How the action of a replayed step compares with the recorded one; it changes nothing.

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


@frozen
class StepResult:
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
    delivered: ClockReading
    images: Mapping[str, Image] = field(default_factory=dict)
    unresolved: tuple[str, ...] = ()
    replayed: Replayed | None = None


def ignore(result: StepResult) -> None:
    """Take a result, and do nothing."""


@frozen
class StepRequest:
    """
    An action, and what a client says of how it came by it.

    Attributes
    ----------
    action
        Shape ``(n,)``, or ``(h * n,)`` for a chunk: action space of the contract.
    answers
        The result whose observation it was chosen from; default: the last one. A policy that
        infers while the world goes on answers an older one, of the same episode.
    skipped
        Actions that were predicted from that observation before the first one here, and left out
        since their step was over.
    blended
        Predictions that the first action is the weighted mean of; 0: not said.
    metadata
        Stays in the request, and so in the transition. Over ROS a request of more than 64 KiB
        beside its action and documents is refused before it is sent.
    source
        Who chose it.
    on_result
        Is called with each transition as it comes, before ``step`` returns them all: with those
        within a chunk. It must return soon.
    payload
        A JSON object with a document for each group that is sent one; empty: none.

    """

    action: Vector
    answers: StepResult | None = None
    skipped: int = 0
    blended: int = 0
    metadata: Mapping[str, str] = field(default_factory=dict)
    source: Source = Source.POLICY
    on_result: Callable[[StepResult], None] = ignore
    payload: str = ''


def as_request(action: Vector | StepRequest) -> StepRequest:
    """Return an action as a request; one that is a request already as it is."""
    return action if isinstance(action, StepRequest) else StepRequest(action=action)


def action_request(
    wanted: StepRequest,
    last: StepResult,
    contract: Contract,
    *,
    lease_id: str,
    sequence: int,
    requested: ClockReading,
    client: str,
) -> ActionRequest:
    """
    Return the message that a world sends to the gate.

    Parameters
    ----------
    wanted
        What the client asks for.
    last
        The last result of the episode.
    contract
        The contract.
    lease_id, sequence, requested, client
        See :class:`~boundary_env_ros.core.records.decision.ActionRequest`.

    Raises
    ------
    LinkError
        If the action answers an observation of another episode, or is meant for a step that is
        still to come after the next; in lockstep, for another than the next.

    """
    answered = last if wanted.answers is None else wanted.answers
    seen, newest = answered.transition.id, last.transition.id
    if replace(seen, step=newest.step) != newest:
        raise LinkError(
            'The action answers an observation of another episode (expected '
            f'{newest.episode_id!r} of {newest.agent!r}, got {seen.episode_id!r} of '
            f'{seen.agent!r}).'
        )
    step, following = seen.step + wanted.skipped + 1, newest.step + 1
    if step > following or (step < following and contract.is_lockstep):
        raise LinkError(
            'Wrong step of the action (expected an action for step '
            f'{following}{"" if contract.is_lockstep else " or one before it"}, got '
            f'one for step {step}, {wanted.skipped} skipped after the observation of step '
            f'{seen.step}).'
        )
    return ActionRequest(
        id=replace(seen, step=step),
        lease_id=lease_id,
        sequence=sequence,
        action=wanted.action,
        observed=answered.transition.closed,
        delivered=answered.delivered,
        requested=requested,
        source=wanted.source,
        client=client,
        client_version=__version__,
        horizon=max(1, len(wanted.action) // max(1, contract.action_size)),
        unresolved=answered.unresolved,
        observed_step=seen.step,
        skipped=wanted.skipped,
        blended=wanted.blended,
        metadata=tuple(KeyValue(key=key, value=value) for key, value in wanted.metadata.items()),
        payload=wanted.payload,
    )


def closed_by(transition: Transition, request: ActionRequest | None) -> bool:
    """
    Return whether a transition is the one that a request closed, or the last of the episode.

    A chunk closes as many as it has actions, unless a stop or an operator drops what is left.
    """
    if request is None or transition.over:
        return transition.over
    last = request.id.step + request.horizon - 1
    return any(
        decision.verdict in _DROPPING or decision.id.step == last
        for decision in transition.decisions
        if decision.request is not None
        and decision.request.lease_id == request.lease_id
        and decision.request.sequence == request.sequence
    ) or (
        request.horizon > 1
        and any(
            decision.verdict is Verdict.STOPPED or decision.trigger is Trigger.OPERATOR
            for decision in transition.decisions
        )
    )


#: Verdicts after which nothing is left of a chunk.
_DROPPING = (Verdict.STOPPED, Verdict.REJECTED)
