# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The episodes of a recorded run, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from boundary_env_ros.core.gate.decision import ActionRequest
from boundary_env_ros.core.transition import Kind, Transition
from boundary_env_ros.storage.records import Entry, RecordSource


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedEpisode:
    """
    One episode of a record, to be read once.

    Attributes
    ----------
    index
        Its place among the episodes of the agent, counted from 0.
    reset
        The transition that it begins with.
    entry
        Where that stands.
    steps
        Those after it, in order. They are read from the record as they are asked for, and are
        gone once the next episode was.

    """

    index: int
    reset: Transition
    entry: Entry
    steps: Iterator[Entry]


def recorded_episodes(source: RecordSource, agent: str = '') -> Iterator[RecordedEpisode]:
    """
    Yield the episodes of a record whose beginning was recorded.

    Parameters
    ----------
    source
        The record.
    agent
        Whose; empty: of all, for records of one agent.

    Raises
    ------
    RecordError
        If the record has no transitions, or a bad one.

    """
    entries = (
        entry
        for entry in source.entries(Transition)
        if not agent or transition_of(entry).id.agent == agent
    )
    begun = next(entries, None)
    if begun is None:
        # Says what there is instead; of another agent there may be something.
        next(source.transitions())
    index = 0
    while begun is not None:
        if transition_of(begun).kind is not Kind.RESET:
            begun = next(entries, None)
            continue
        following: list[Entry] = []
        steps = _steps(transition_of(begun).id.episode_id, entries, following)
        yield RecordedEpisode(index=index, reset=transition_of(begun), entry=begun, steps=steps)
        index += 1
        for _ in steps:
            pass  # what was not asked for
        begun = following[0] if following else None


def _steps(episode: str, entries: Iterator[Entry], following: list[Entry]) -> Iterator[Entry]:
    """Yield the rest of an episode, and leave what comes after it."""
    for entry in entries:
        if transition_of(entry).id.episode_id != episode:
            following.append(entry)
            return
        yield entry


def transition_of(entry: Entry) -> Transition:
    """Return the transition of an entry that is one."""
    transition = entry.record
    assert isinstance(transition, Transition)  # nothing else was asked for
    return transition


def request_in(transition: Transition) -> ActionRequest | None:
    """Return the request that a step was closed by; None if no action did."""
    return None if transition.answer is None else transition.answer.request
