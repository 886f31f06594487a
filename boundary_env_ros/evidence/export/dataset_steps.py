# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The steps of one agent, episode by episode, as they stream out of a run.

One step is held back until the next record of its agent says how it ended: the recorder signs the
ending of an environment that died, and evidence of an actuation may come late.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
import math

from boundary_env_ros.core.contract.model import Contract, FieldSpec
from boundary_env_ros.core.gate.commands import as_action
from boundary_env_ros.core.records.decision import Trigger
from boundary_env_ros.core.records.endings import SUCCESS
from boundary_env_ros.core.records.episode import agreed, EpisodeLabel
from boundary_env_ros.core.records.intervention import intervention_in
from boundary_env_ros.core.records.observation import ObservationField
from boundary_env_ros.core.records.transition import Kind, Transition
from boundary_env_ros.core.sources.images import Image
from boundary_env_ros.core.timebase import Stamp
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.episodes import Episodes, EpisodeStep, Key
from boundary_env_ros.frozen import frozen
from boundary_env_ros.storage.recorded_images import RecordedImages

#: Who declares the ending of an episode that the record breaks off in.
EXPORT = 'export'

#: Labels that say whether an episode succeeded.
_VERDICTS = ('success', 'failure')


class DatasetOrigin(IntEnum):
    """
    Where the applied action is known from.

    ``ADMITTED``: the gate admitted it. ``COMMAND``: it is what the last command of the step means,
    a stop or the operator's for example. ``HELD``: nothing was sent; the driver kept the last
    command. ``REQUESTED``: none of the choices means what was sent, on the way to the one that was
    asked for. ``UNKNOWN``: no command is known.
    """

    UNKNOWN = 0
    ADMITTED = 1
    COMMAND = 2
    HELD = 3
    REQUESTED = 4


@frozen
class DatasetObservation:
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


@frozen
class DatasetStep:
    """
    One step, with what is known of it by later records.

    Attributes
    ----------
    transition
        Its record.
    label
        What the people say who have labelled its episode: ``success``, ``failure``, ``unclear``;
        empty if it has no label.
    instruction
        The instruction of the robot, in words; empty if it has none.
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
    terminated, truncated, ending, declared_by
        How the episode ended with it. The last step of an episode without an ending is truncated,
        without an ending, declared by the export.

    """

    transition: Transition
    label: str = ''
    instruction: str = ''
    before: DatasetObservation
    after: DatasetObservation
    applied: Vector
    origin: DatasetOrigin
    intervened: bool
    actuated: Stamp | None
    last: bool = False
    terminated: bool = False
    truncated: bool = False
    ending: str = ''
    declared_by: str = ''

    @property
    def is_success(self) -> bool:
        """Return whether its episode ends with it as a success: people say so, or its ending."""
        if self.label in _VERDICTS:
            return self.last and self.label == _VERDICTS[0]
        return self.ending == SUCCESS and not self.truncated


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
        Images of observations whose message is not in the record, or cannot be decoded, by field.
    why_lost
        Why the first of them could not be decoded, by field.

    """

    without_steps: int = 0
    lost_steps: int = 0
    lost_images: Counter[str] = field(default_factory=Counter)
    why_lost: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class EpisodeStream:
    """
    The episodes of one agent.

    Attributes
    ----------
    contract, agent
        The contract, and one of its agents.
    images
        Image fields whose pixels are wanted.
    pictures
        Where they are found; None if there are none.
    gaps
        Counts what is missing.
    labels
        What people said, by episode and agent.

    """

    contract: Contract
    agent: str
    images: Sequence[FieldSpec]
    pictures: RecordedImages | None
    gaps: Gaps
    labels: Mapping[Key, Sequence[EpisodeLabel]]
    _command: Vector | None = field(default=None, init=False)

    def follow(
        self, entries: Iterable[object], wanted: Container[Key] | None = None
    ) -> Iterator[DatasetStep]:
        """Yield the steps of the agent's episodes, of those that are wanted or all."""
        seen: tuple[int, DatasetObservation] | None = None
        for step in Episodes(entries):
            now = step.transition
            if now.id.agent != self.agent or (
                wanted is not None and step.episode.key not in wanted
            ):
                continue
            if now is step.episode.first:
                seen, self._command = None, None
            if now.kind is Kind.RESET:
                seen = (now.id.step, self._see(now.after, step.log_time))
                self.gaps.without_steps += step.last
                continue
            if seen is not None and seen[0] == now.id.step - 1:
                before = seen[1]
            else:
                # A step that stands there twice makes up for none that is lost.
                lost = 0 if seen is None else now.id.step - 1 - seen[0]
                self.gaps.lost_steps += max(lost, 0)
                self._command = None  # what was sent in between is not known
                before = self._see(now.before, step.log_time)
            after = self._see(now.after, step.log_time)
            seen = (now.id.step, after)
            yield self._step(step, before, after)

    def _step(
        self, step: EpisodeStep, before: DatasetObservation, after: DatasetObservation
    ) -> DatasetStep:
        now, episode = step.transition, step.episode
        applied, origin = self._applied(now)
        asked = now.requested_action
        if origin is not DatasetOrigin.UNKNOWN and asked and any(map(math.isnan, applied)):
            applied, origin = (
                tuple(a if math.isnan(b) else b for a, b in zip(asked, applied, strict=True)),
                DatasetOrigin.REQUESTED,
            )
        label = agreed(self.labels.get(episode.key, ()))
        # A step that is the last has the ending that was announced, or none.
        ended = episode if step.last else now
        breaks_off = step.last and not episode.ending
        return DatasetStep(
            transition=now,
            label='' if label is None else label.name.lower(),
            instruction='' if episode.first.reset is None else episode.first.reset.instruction,
            before=before,
            after=after,
            applied=applied,
            origin=origin,
            intervened=intervention_in(now) is not None,
            actuated=step.late.actuated if step.late else now.actuated,
            last=step.last,
            terminated=bool(ended.ending) and not ended.truncated,
            truncated=ended.truncated or breaks_off,
            ending=ended.ending,
            declared_by=EXPORT if breaks_off else ended.declared_by,
        )

    # Values --------------------------------------------------------------------------------------

    def _see(self, fields: tuple[ObservationField, ...], log_time: int) -> DatasetObservation:
        by_name = {found.name: found for found in fields}
        images = {}
        for spec in self.images:
            reference = by_name[spec.name].image if spec.name in by_name else None
            if reference is None:
                continue
            pixels = None
            if self.pictures is not None:
                try:
                    pixels = self.pictures.pixels(spec, reference, log_time)
                except RecordError as error:
                    self.gaps.why_lost.setdefault(spec.name, str(error))
            if pixels is None:
                self.gaps.lost_images[spec.name] += 1
            else:
                images[spec.name] = pixels
        return DatasetObservation(fields=fields, images=images)

    def _applied(self, transition: Transition) -> tuple[Vector, DatasetOrigin]:
        groups = self.contract.action
        sent = [decision for decision in transition.decisions if decision.published]
        before, self._command = self._command, sent[-1].command if sent else self._command
        by_hand = any(decision.trigger is Trigger.OPERATOR for decision in sent)
        if transition.admitted_action and not by_hand:
            # An imported step has no decision: its action was worked out from the command.
            origin = DatasetOrigin.ADMITTED if transition.decisions else DatasetOrigin.COMMAND
            return transition.admitted_action, origin
        if sent:
            previous = sent[-1].inputs.previous_command or before
            return as_action(groups, sent[-1].command, previous), DatasetOrigin.COMMAND
        if before is not None:
            return as_action(groups, before, before), DatasetOrigin.HELD
        return (math.nan,) * self.contract.action_size, DatasetOrigin.UNKNOWN
