# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The steps of one agent, episode by episode, as they stream out of a run.

One step is held back until the next record of its agent says how it ended: the recorder signs the
ending of an environment that died, and evidence of an actuation may come late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
import math

from boundary_env_ros.core.commands import as_action
from boundary_env_ros.core.contract import Contract, FieldSpec
from boundary_env_ros.core.decision import StepId, Trigger
from boundary_env_ros.core.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.images import Image
from boundary_env_ros.core.intervention import intervention_in
from boundary_env_ros.core.mark import agreed, EpisodeMark
from boundary_env_ros.core.observation import ObservationField
from boundary_env_ros.core.sources import Vector
from boundary_env_ros.core.timebase import Stamp
from boundary_env_ros.core.transition import ActuationEvidence, Kind, ResetRecord, Transition
from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.pixels import pixels_of
from boundary_env_ros.storage.recorded_images import RecordedImages
from boundary_env_ros.storage.records import Entry

#: Who declares the ending of an episode that the record breaks off in.
EXPORT = 'export'


class Origin(IntEnum):
    """
    Where the applied action is known from.

    ``ADMITTED``: the gate admitted it. ``COMMAND``: it is what the last command of the step means,
    a stop or the operator's for example. ``HELD``: nothing was sent; the driver kept the last
    command. ``UNKNOWN``: no command is known.
    """

    UNKNOWN = 0
    ADMITTED = 1
    COMMAND = 2
    HELD = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """
    What the policy sees at one instant.

    Attributes
    ----------
    fields
        The fields of the observation, in contract order.
    images
        Pixels of the image fields whose message is in the record, by name.

    """

    fields: tuple[ObservationField, ...]
    images: Mapping[str, Image]


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """
    The begin of an episode.

    Attributes
    ----------
    first
        Its reset, or its first step if the reset is not in the record.
    marked
        What the people say who have marked it: ``success``, ``failure``, ``unclear``; empty if
        nobody has.

    """

    first: Transition
    marked: str = ''

    @property
    def reset(self) -> ResetRecord | None:
        """Return what the reset reached; None if it is not in the record."""
        return self.first.reset


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """
    One step, with what is known of it by later records.

    Attributes
    ----------
    transition
        Its record.
    before, after
        The two observations.
    applied, origin
        What the robot was made to do, action space of the contract, NaN where that is unknown; and
        where it is known from.
    intervened
        Whether a command of an operator went through the gate in it.
    actuated
        First evidence that the robot executed the command, late evidence too.
    last
        Whether the episode has no further step.
    terminated, truncated, cause, declared_by
        How the episode ended with it. The last step of an episode that nobody ended is truncated,
        without a cause, declared by the export.

    """

    transition: Transition
    before: Sight
    after: Sight
    applied: Vector
    origin: Origin
    intervened: bool
    actuated: Stamp | None
    last: bool = False
    terminated: bool = False
    truncated: bool = False
    cause: str = ''
    declared_by: str = ''


@dataclass(slots=True)
class Gaps:
    """
    What an export has to leave out or to fill.

    Attributes
    ----------
    without_steps
        Episodes that ended before their first step.
    lost_steps
        Steps that are missing between others of their episode.
    lost_images
        Images of observations whose message is not in the record, by field.

    """

    without_steps: int = 0
    lost_steps: int = 0
    lost_images: dict[str, int] = field(default_factory=dict)


class Marks:
    """What people made of the episodes of a run."""

    def __init__(self, marks: Iterable[EpisodeMark] = ()) -> None:
        self._marks: dict[tuple[str, str], list[EpisodeMark]] = {}
        for mark in marks:
            self.add(mark)

    def add(self, mark: EpisodeMark) -> None:
        """Take a mark; one that is known already counts once."""
        known = self._marks.setdefault((mark.id.episode_id, mark.id.agent), [])
        if mark not in known:
            known.append(mark)

    def of(self, step: StepId) -> str:
        """Return what all who are decided say of an episode; empty if nobody has marked it."""
        verdict = agreed(self._marks.get((step.episode_id, step.agent), ()))
        return '' if verdict is None else verdict.name.lower()


class EpisodeStream:
    """
    The episodes of one agent.

    Parameters
    ----------
    contract, agent
        The contract, and one of its agents.
    images
        Image fields whose pixels are wanted.
    pictures
        Where they are found; None if there are none.
    gaps
        Is told what is missing.
    marks
        What people said, by episode and agent.

    """

    def __init__(
        self,
        contract: Contract,
        agent: str,
        images: Sequence[FieldSpec],
        pictures: RecordedImages | None,
        gaps: Gaps,
        marks: Marks | None = None,
    ) -> None:
        self._contract, self._agent = contract, agent
        self._specs, self._pictures, self._gaps = images, pictures, gaps
        self._marks = Marks() if marks is None else marks
        self._head: Head | None = None
        self._told_head = False
        self._held_back: Step | None = None
        self._status: EpisodeStatus | None = None
        self._sight: tuple[int, Sight] | None = None
        self._command: Vector | None = None

    def follow(
        self, entries: Iterable[object], told: Callable[[], None] = lambda: None
    ) -> Iterator[Head | Step]:
        """
        Yield the head of each episode with steps, and its steps.

        Parameters
        ----------
        entries
            All that was read of the run; what is no entry is passed over.
        told
            Is told of each of them.

        """
        for entry in entries:
            told()
            if not isinstance(entry, Entry):
                continue
            record = entry.record
            if isinstance(record, Transition):
                if record.id.agent == self._agent:
                    yield from self._add(record, entry.log_time)
            elif isinstance(record, EpisodeStatus):
                self._hear_ending(record)
            elif isinstance(record, ActuationEvidence):
                self._hear_evidence(record)
        yield from self._close()

    def _add(self, transition: Transition, log_time: int) -> Iterator[Head | Step]:
        step = transition.id.step
        begins = transition.kind is Kind.RESET
        if begins or not self._is_of_present(transition):
            yield from self._close()
            self._head = Head(first=transition, marked=self._marks.of(transition.id))
            self._told_head = False
            self._sight, self._command = None, None
        if begins:
            self._sight = (step, self._see(transition.after, log_time))
            return
        yield from self._pass_on()
        if self._sight is not None and self._sight[0] == step - 1:
            before = self._sight[1]
        else:
            # A step that stands there twice makes up for none that is lost.
            lost = 0 if self._sight is None else step - 1 - self._sight[0]
            self._gaps.lost_steps += max(lost, 0)
            self._command = None  # what was sent in between is not known
            before = self._see(transition.before, log_time)
        after = self._see(transition.after, log_time)
        self._sight = (step, after)
        applied, origin = self._applied(transition)
        self._held_back = Step(
            transition=transition,
            before=before,
            after=after,
            applied=applied,
            origin=origin,
            intervened=intervention_in(transition, self._contract) is not None,
            actuated=transition.actuated,
            terminated=transition.terminated,
            truncated=transition.truncated,
            cause=transition.cause,
            declared_by=transition.declared_by,
        )

    def _is_of_present(self, transition: Transition) -> bool:
        return self._head is not None and self._head.first.id.episode_id == (
            transition.id.episode_id
        )

    def _hear_ending(self, status: EpisodeStatus) -> None:
        if status.id.agent == self._agent and status.state.over:
            self._status = status

    def _hear_evidence(self, evidence: ActuationEvidence) -> None:
        step = self._held_back
        if step is None or evidence.id.agent != self._agent or step.actuated is not None:
            return
        decision = step.transition.answer
        if decision is not None and decision.sequence == evidence.decision_sequence:
            self._held_back = replace(step, actuated=evidence.actuated)

    # What goes out -------------------------------------------------------------------------------

    def _pass_on(self) -> Iterator[Head | Step]:
        if self._held_back is None:
            return
        if not self._told_head and self._head is not None:
            self._told_head = True
            yield self._head
        yield self._held_back
        self._held_back = None

    def _close(self) -> Iterator[Head | Step]:
        if self._head is None:
            return
        step, status = self._held_back, self._status
        if step is None:
            self._gaps.without_steps += 1
        else:
            self._held_back = replace(self._ended(step, status), last=True)
            yield from self._pass_on()
        self._head = self._status = None

    def _ended(self, step: Step, status: EpisodeStatus | None) -> Step:
        if step.terminated or step.truncated:
            return step
        if status is not None and status.id.episode_id == step.transition.id.episode_id:
            return replace(
                step,
                terminated=status.state is EpisodeState.TERMINATED,
                truncated=status.state is EpisodeState.TRUNCATED,
                cause=status.cause,
                declared_by=status.declared_by,
            )
        return replace(step, truncated=True, declared_by=EXPORT)

    # Values --------------------------------------------------------------------------------------

    def _see(self, fields: tuple[ObservationField, ...], log_time: int) -> Sight:
        by_name = {found.name: found for found in fields}
        images = {}
        for spec in self._specs:
            reference = by_name[spec.name].image if spec.name in by_name else None
            if reference is None:
                continue
            message = None
            if self._pictures is not None:
                message = self._pictures.message(reference, log_time)
            try:
                if message is not None:
                    images[spec.name] = pixels_of(spec, message)
            except RecordError:
                message = None
            if message is None:
                lost = self._gaps.lost_images
                lost[spec.name] = lost.get(spec.name, 0) + 1
        return Sight(fields=fields, images=images)

    def _applied(self, transition: Transition) -> tuple[Vector, Origin]:
        groups = self._contract.action
        sent = [decision for decision in transition.decisions if decision.published]
        before, self._command = self._command, sent[-1].command if sent else self._command
        by_hand = any(decision.trigger is Trigger.OPERATOR for decision in sent)
        if transition.admitted_action and not by_hand:
            # An imported step has no decision: its action was worked out from the command.
            origin = Origin.ADMITTED if transition.decisions else Origin.COMMAND
            return transition.admitted_action, origin
        if sent:
            previous = sent[-1].previous_command or before
            return as_action(groups, sent[-1].command, previous), Origin.COMMAND
        if before is not None:
            return as_action(groups, before, before), Origin.HELD
        return (math.nan,) * self._contract.action_size, Origin.UNKNOWN
