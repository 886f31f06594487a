# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What can happen to an environment, as values: its state changes by nothing else."""

from __future__ import annotations

from boundary_env_ros.core.environment.reset import WorldReset
from boundary_env_ros.core.records.decision import GateDecision, GateStatus
from boundary_env_ros.core.records.lockstep import Advanced
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.core.timebase import ClockReading, Stamp
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import frozen


class InputEvent:
    """Something that happens to an environment."""

    __slots__ = ()


@frozen
class TimedEvent(InputEvent):
    """
    What an environment may act on.

    Attributes
    ----------
    now
        When it has it.

    """

    now: ClockReading


# Sensors: what they measured is used when something else happens ---------------------------------


@frozen
class MessageArrived(InputEvent):
    """
    Messages of a topic came that are not decoded yet; what they hold follows.

    Attributes
    ----------
    topic
        The topic, as the contract names it.
    captured
        The newest stamp, ns; needed in lockstep only.
    steady
        When they arrived, ns.
    count
        How many there are.

    """

    topic: str
    captured: int | None
    steady: int
    count: int = 1


@frozen
class FieldRead(InputEvent):
    """A field has a new reading; one that measured nothing leaves it as it is, and it ages."""

    name: str
    reading: Reading


@frozen
class GroupMeasured(InputEvent):
    """
    The state of a group of the action was measured, or its driver acknowledged a command.

    To be applied in the order of the messages.

    Attributes
    ----------
    name
        Of the group, or of the input of its acknowledgement.
    values, captured
        What was so, and when.

    """

    name: str
    values: Vector
    captured: Stamp | None


@frozen
class InputUnusable(InputEvent):
    """
    What came last of a field or of feedback could not be used, or can be again.

    Attributes
    ----------
    name
        Of the field; of feedback, ``feedback.`` and the name of its group.
    why
        In words; empty: it can.

    """

    name: str
    why: str


@frozen
class SensorsRead(TimedEvent):
    """All that the sensors sent is read: the episode may start, or a step of lockstep close."""


# What is asked for -------------------------------------------------------------------------------


@frozen
class Begin:
    """What a client says when it begins an episode; see ``BeginEpisode.srv``."""

    digest: str
    client: str
    client_version: str = ''
    wrappers: tuple[str, ...] = ()
    seed: int | None = None
    options: str = ''


@frozen
class BeginEpisode(TimedEvent):
    """
    A client begins an episode; it may be refused.

    Attributes
    ----------
    begin
        What the client says.
    episode_id
        UUID of the new episode.
    drawn_seed
        Seed to use if the client gives none.

    """

    begin: Begin
    episode_id: str
    drawn_seed: int


@frozen
class EndEpisode(TimedEvent):
    """The episode is ended from outside; refused if the contract does not declare the ending."""

    ending: str
    declared_by: str
    message: str = ''


@frozen
class ConfirmReset(TimedEvent):
    """A person answers what the reset procedure asked; refused if nothing is asked."""

    user: str
    confirmed: bool
    message: str = ''


# What others answer and say ----------------------------------------------------------------------


@frozen
class WorldAnswered(TimedEvent):
    """The robot answered the reset."""

    answer: WorldReset


@frozen
class ServiceAnswered(TimedEvent):
    """A service that the reset procedure called has answered; without an error it worked."""

    service: str
    error: str = ''


@frozen
class WorldAdvanced(TimedEvent):
    """The world answered an advance (lockstep)."""

    report: Advanced


@frozen
class Decided(TimedEvent):
    """
    The gate has decided.

    In lockstep, once it did on the step's action, the world advances, whatever the verdict; or
    once it is to hold for another agent whose turn the step is.
    """

    decision: GateDecision


@frozen
class GateReported(TimedEvent):
    """The heartbeat of the gate."""

    status: GateStatus


@frozen
class RecorderReported(TimedEvent):
    """The heartbeat of a recorder that records."""


# Time --------------------------------------------------------------------------------------------


@frozen
class StepDue(TimedEvent):
    """
    A step is to be closed, every period in realtime pacing.

    Attributes
    ----------
    late
        Seconds by which this came after its due time.

    """

    late: float


@frozen
class DeadlinesDue(TimedEvent):
    """A few times a period, on the steady clock: the deadlines are checked that no step sees."""


# Other agents in the same world ------------------------------------------------------------------


@frozen
class StartDelayed(InputEvent):
    """The start of the episode has to wait for this besides, in words; empty: for nothing."""

    why: str


@frozen
class AdvanceDelayed(TimedEvent):
    """The world was not asked to advance before now: another agent was waited for."""
