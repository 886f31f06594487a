# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an environment sees: the latest reading of every field, and views frozen from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
import math

from boundary_env_ros.core.contract.model import Contract, FieldSpec
from boundary_env_ros.core.contract.sources import Lookup, value_names
from boundary_env_ros.core.environment.freezing import freeze, is_lost, why_lost
from boundary_env_ros.core.records.observation import FieldStatus, Observation, ObservationField
from boundary_env_ros.core.records.parts import StepId
from boundary_env_ros.core.records.transition import PrivilegedObservation
from boundary_env_ros.core.sources.derived import Frames, frames_needed
from boundary_env_ros.core.sources.inputs import infinite_values
from boundary_env_ros.core.sources.reading import is_measured, not_measured, Reading
from boundary_env_ros.core.timebase import ClockReading, Stamp
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.frozen import frozen, replace

#: Observations that are remembered for actions that answer them.
ANSWERABLE = 1024


@frozen
class View:
    """One observation, with the rest of the environment's state at the same instant."""

    observation: Observation
    state: tuple[ObservationField, ...]

    @property
    def fields(self) -> tuple[ObservationField, ...]:
        """All that the environment judges by."""
        return (*self.observation.fields, *self.state)


@frozen
class ObservationBuffer:
    """
    The fields of a contract, as they come and as they are frozen.

    Attributes
    ----------
    contract
        The contract.
    specs
        The fields that the environment judges by.
    fields
        All fields by name, privileged ones among them.
    sources
        What the record names as the source of each field that is not derived.
    past
        How many views that were kept derived fields need.
    latest
        Latest reading of each field that has one.
    unmeasured
        What came last of a field, in words; empty if it measured something.
    unusable
        Why what came last of a field could not be used, by its name; of feedback, by
        ``feedback.`` and the name of its group.
    captured
        When the field of the reaction time was captured, by step of the observation: of the last
        ones that were kept, the newest last.
    frames
        Values of the last ``past`` views.

    """

    contract: Contract
    specs: tuple[FieldSpec, ...]
    fields: Mapping[str, FieldSpec]
    sources: Mapping[str, str]
    past: int
    latest: Mapping[str, Reading] = field(default_factory=dict)
    unmeasured: Mapping[str, str] = field(default_factory=dict)
    unusable: Mapping[str, str] = field(default_factory=dict)
    captured: tuple[tuple[int, Stamp | None], ...] = ()
    frames: Frames = ()

    @classmethod
    def of(cls, contract: Contract, topics: Mapping[str, str]) -> ObservationBuffer:
        """
        Return that of a contract, empty.

        Parameters
        ----------
        contract
            The contract.
        topics
            Resolved topic of every topic that the contract names.

        """
        fields = {spec.name: spec for spec in contract.fields}
        derived = [spec.derived for spec in fields.values() if spec.derived is not None]
        return cls(
            contract=contract,
            specs=(*contract.observation, *contract.state),
            fields=fields,
            sources={n: _source(s, topics) for n, s in fields.items() if s.derived is None},
            past=max((frames_needed(each) - 1 for each in derived), default=0),
        )

    def forgotten(self) -> ObservationBuffer:
        """Return it without all that was seen: another episode begins."""
        return replace(self, latest={}, unmeasured={}, captured=(), frames=())

    def after(self, readings: Mapping[str, Reading]) -> ObservationBuffer:
        """
        Return it after a reading of each of some fields.

        One that measured nothing is passed over, and the field ages.
        """
        latest, unmeasured = dict(self.latest), self.unmeasured
        for name, reading in readings.items():
            spec, values, why = self.fields[name], reading.values, ''
            infinite = infinite_values(spec)
            if is_measured(values, infinite=infinite):
                latest[name] = reading
            else:
                names = value_names(spec.source) if len(values) > 1 else ('its value',)
                why = reading.problem or not_measured(values, names, infinite=infinite)
            if why != unmeasured.get(name, ''):
                unmeasured = {**unmeasured, name: why}
        return replace(self, latest=latest, unmeasured=unmeasured)

    def without(self, name: str, why: str) -> ObservationBuffer:
        """Return it after what came of a field or of feedback, and why it could not be used."""
        if self.unusable.get(name, '') == why:
            return self
        return replace(self, unusable={**self.unusable, name: why})

    def supplied(self, values: Mapping[str, Vector], now: ClockReading) -> ObservationBuffer:
        """
        Return it with the fields of the task.

        Raises
        ------
        BoundaryError
            If one is not as it should be.

        """
        latest = dict(self.latest)
        for spec in self.specs:
            if not spec.task:
                continue
            supplied = tuple(values.get(spec.task, ()))
            if len(supplied) != spec.size or not all(map(math.isfinite, supplied)):
                raise BoundaryError(
                    f'Wrong values of {spec.task!r} from the task {self.contract.task.name!r} '
                    f'(expected {spec.size} finite ones, got {list(supplied)})'
                )
            latest[spec.name] = Reading(values=supplied, captured=now.ros)
        return replace(self, latest=latest)

    @property
    def newest(self) -> int:
        """When the last reading was captured, ns; 0 if none has a stamp."""
        stamps = (reading.captured for reading in self.latest.values())
        return max((stamp.nanoseconds for stamp in stamps if stamp is not None), default=0)

    def lacking(self, since: int) -> tuple[str, ...]:
        """Return the fields, in words, that have no reading captured since then (ns, ROS time)."""
        return tuple(
            self.missing(spec.name)
            for spec in self.specs
            if spec.derived is None and not self._is_new(spec, since)
        )

    def missing(self, name: str) -> str:
        """Return a field that has no value in words: its name, its source, and why."""
        why = self.unusable.get(name)
        if unmeasured := self.unmeasured.get(name):
            why = f'heard, but {unmeasured}'
        elif not why:
            seen = name in self.latest
            why = 'nothing stamped since the reset has come' if seen else 'never heard'
        return f'{name} ({self.sources.get(name, "derived")}: {why})'

    def unfit(self, now: ClockReading) -> tuple[str, ...]:
        """Return the fields, in words, that would end an episode which began now."""
        return tuple(
            f'a fresh value of {spec.name} within its bounds ({self.sources[spec.name]})'
            for spec, field in zip(self.specs, self._frozen(now), strict=True)
            if spec.derived is None and is_lost(spec, field)
        )

    def _is_new(self, spec: FieldSpec, since: int) -> bool:
        reading = self.latest.get(spec.name)
        return reading is not None and (
            reading.captured is None or bool(spec.task) or reading.captured.nanoseconds >= since
        )

    def view(self, id_: StepId, now: ClockReading) -> View:
        """Freeze observation and state."""
        fields = self._frozen(now)
        count = len(self.contract.observation)
        return View(
            observation=Observation(id=id_, observed=now, fields=fields[:count]),
            state=fields[count:],
        )

    def _frozen(self, now: ClockReading) -> tuple[ObservationField, ...]:
        return freeze(self.specs, self.latest, self.sources, observed=now, past=self.frames)

    def keeping(self, view: View) -> ObservationBuffer:
        """Return it with a view of the episode, for what answers it or is derived from it."""
        observation = view.observation
        reaction = (observation.id.step, observation[self.contract.reaction_of].captured)
        frames = self.frames
        if self.past:
            frame = {f.name: f.values for f in view.fields if f.values}
            frames = (*frames, frame)[-self.past :]
        captured = (*self.captured[1 - ANSWERABLE :], reaction)
        return replace(self, captured=captured, frames=frames)

    def captured_at(self, step: int) -> Stamp | None:
        """Return when the field of the reaction time of an observation was captured."""
        return next((stamp for at, stamp in reversed(self.captured) if at == step), None)

    def lost(self, view: View) -> Mapping[str, str]:
        """Return the fields whose staleness or range ends the episode, each with why."""
        return {
            spec.name: why_lost(spec, field, self.unmeasured.get(spec.name, ''))
            for spec, field in zip(self.specs, view.fields, strict=True)
            if is_lost(spec, field)
        }

    def quickest(self, view: View) -> float | None:
        """Return the shortest age at which a field that is too old ends an episode; None: none."""
        pairs = zip(self.specs, view.fields, strict=True)
        stale = (s for s, f in pairs if f.status is FieldStatus.STALE and is_lost(s, f))
        return min((spec.max_age for spec in stale if spec.max_age is not None), default=None)

    def privileged(self, id_: StepId, now: ClockReading) -> PrivilegedObservation:
        """Freeze the privileged fields."""
        fields = freeze(self.contract.privileged, self.latest, self.sources, observed=now)
        return PrivilegedObservation(id=id_, fields=fields)


def _source(spec: FieldSpec, topics: Mapping[str, str]) -> str:
    """Return what the record names as the source of a field."""
    if spec.task:
        return f'task:{spec.task}'
    if isinstance(spec.source, Lookup):
        return f'tf:{spec.source.source} in {spec.source.target}'
    return topics[spec.topic]
