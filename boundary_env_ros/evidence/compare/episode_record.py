# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One episode while it is read: what comparing needs of it, without images."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from boundary_env_ros.core.records.imported import is_import
from boundary_env_ros.core.records.latency import STAGES
from boundary_env_ros.core.records.observation import FieldStatus, ObservationField
from boundary_env_ros.core.records.transition import Kind
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.evidence.episodes import Episode, EpisodeStep
from boundary_env_ros.evidence.response import Motion


@dataclass(slots=True)
class FieldTrack:
    """
    One field, observation by observation.

    Attributes
    ----------
    values
        Empty where there was none.
    ages
        Known ages, s.

    """

    values: list[Vector] = field(default_factory=list)
    ages: list[float] = field(default_factory=list)
    stale: int = 0
    missing: int = 0
    clipped: int = 0

    def add(self, found: ObservationField) -> None:
        """Take the field of the next observation."""
        there = found.status is not FieldStatus.MISSING
        self.values.append(found.values if there else ())
        self.stale += found.status is FieldStatus.STALE
        self.missing += not there
        self.clipped += found.clipped
        if found.age is not None:
            self.ages.append(found.age)


@dataclass(slots=True)
class EpisodeRecord:
    """
    What is kept of a running episode.

    Attributes
    ----------
    episode
        The episode.
    imported
        Whether it was made from a bag: no gate decided in it, and its seed is unknown.
    motion
        What was commanded and measured.
    answers
        Of each step whose action was executed, its number and its command.
    seen
        Numbers of the steps whose execution was seen in the feedback.

    """

    episode: Episode
    imported: bool = False
    motion: Motion = field(default_factory=Motion)
    answers: list[tuple[int, Vector]] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)
    fields: dict[str, FieldTrack] = field(default_factory=dict)
    truth: dict[str, FieldTrack] = field(default_factory=dict)
    stages: dict[str, list[float]] = field(default_factory=lambda: {s: [] for s in STAGES})
    reasons: Counter[str] = field(default_factory=Counter)
    terms: dict[str, float] = field(default_factory=dict)

    def add(self, step: EpisodeStep) -> None:
        """Take its next step."""
        now = step.transition
        self.imported = self.imported or is_import(now)
        for found in (*now.after, *now.state):
            self.fields.setdefault(found.name, FieldTrack()).add(found)
        for found in step.truth.fields if step.truth else ():
            self.truth.setdefault(found.name, FieldTrack()).add(found)
        for term in now.reward_terms:
            self.terms[term.name] = self.terms.get(term.name, 0.0) + term.value
        if now.kind is Kind.RESET:
            return
        self.motion.add(now)
        if now.actuated is not None or step.late is not None:
            self.seen.add(now.id.step)
        for name in STAGES:
            duration = step.stage(name).duration
            if duration is not None:
                self.stages[name].append(duration)
        answer = now.answer
        if answer is not None and answer.published:
            self.answers.append((now.id.step, answer.command))
        self.reasons.update({r.reason.name.lower() for d in now.decisions for r in d.rules})
