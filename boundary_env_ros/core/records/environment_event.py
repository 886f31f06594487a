# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Events of an episode as values; :mod:`boundary_env_ros.core.episode_events` makes them."""

from __future__ import annotations

from enum import IntEnum

from boundary_env_ros.core.records.parts import NamedValues, StepId
from boundary_env_ros.frozen import frozen


class EventKind(IntEnum):
    """
    What an event is about.

    ``OBSERVATION``: a step was closed, and this changed. ``REWARD``: what it was worth.
    ``TERMINATION``: the episode is over. ``SAFETY``: the gate limited, held, stopped or rejected
    something. ``OPERATOR``: a person took over, gave back, or is asked for something.
    ``PLUGIN``: the environment itself pushed it.
    """

    OBSERVATION = 1
    REWARD = 2
    TERMINATION = 3
    SAFETY = 4
    OPERATOR = 5
    PLUGIN = 6


@frozen
class EnvironmentEvent:
    """
    Something that happened in an episode; see ``EnvironmentEvent.msg``.

    Attributes
    ----------
    id
        The step that it happened in.
    sequence
        Counts the events of an episode from 1.
    delta
        New values of what changed: fields of the observation, terms of the reward, dimensions of
        the command; an image is named without values.
    reason
        One sentence for a person.
    action_sequence
        Number of the request that it belongs to; 0: none.
    event_type, payload
        What the environment calls an event that it pushed, and what it says of it, a JSON object.

    """

    id: StepId
    sequence: int
    kind: EventKind
    delta: tuple[NamedValues, ...] = ()
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    reason: str = ''
    action_sequence: int = 0
    event_type: str = ''
    payload: str = ''


def is_of(event: EnvironmentEvent, kind: EventKind | str | None) -> bool:
    """Return whether an event is of a kind, or pushed under that word; None: any is."""
    return kind in (None, event.kind) or (isinstance(kind, str) and kind == event.event_type)


@frozen
class Push:
    """
    What a plugin tells of its own accord.

    Attributes
    ----------
    agent
        Whom it concerns.
    event_type
        Any word of the plugin's.
    payload
        What changed, a JSON object.
    reason
        One sentence for a person.

    """

    agent: str
    event_type: str
    payload: str
    reason: str = ''
