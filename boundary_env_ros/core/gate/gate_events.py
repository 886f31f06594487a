# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What can happen to a gate, as values: its state changes by nothing else."""

from __future__ import annotations

from boundary_env_ros.core.records.decision import ActionRequest, ForeignPublishers, RuntimeLimits
from boundary_env_ros.core.records.episode import EpisodeStatus
from boundary_env_ros.core.records.lockstep import Advanced
from boundary_env_ros.core.timebase import ClockReading, Stamp
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import frozen


@frozen
class Event:
    """
    Something that happens to a gate.

    Attributes
    ----------
    now
        When the gate has it.

    """

    now: ClockReading


# Lease and episode -------------------------------------------------------------------------------


@frozen
class Arm(Event):
    """A client asks for the lease of an episode; it may be refused."""

    digest: str
    agent: str
    episode_id: str
    client: str
    lease_id: str


@frozen
class EpisodeStatusReceived(Event):
    """The environment published where its episode stands: its heartbeat."""

    status: EpisodeStatus


@frozen
class EmergencyStop(Event):
    """The emergency stop is pressed, or is not any more; pressed once, it stays latched."""

    pressed: bool


@frozen
class ClearEmergencyStop(Event):
    """A request to unlatch the emergency stop; it may be refused. The lease ends with it."""


@frozen
class Tighten(Event):
    """
    Limits are to be stricter than the contract's, or less strict again; it may be refused.

    ``only_stricter``: than they are now.
    """

    runtime_limits: RuntimeLimits
    only_stricter: bool = False


@frozen
class ProbeDrivers(Event):
    """A request to measure the timeouts of the drivers; it may be refused."""


# What is noticed ---------------------------------------------------------------------------------


@frozen
class Measured(Event):
    """An input has a new value."""

    name: str
    values: Vector
    captured: Stamp | None


@frozen
class WorldMoved(Event):
    """The world reported how far it has come (lockstep)."""

    report: Advanced


@frozen
class PublishersSeen(Event):
    """
    The node has looked for publishers that there must not be, and for one that there must be.

    Attributes
    ----------
    foreign_commands
        How many there are on the command topics that are not this gate.
    foreign_publishers
        Those beyond what the contract allows on the topics that the gate reads. Which of them
        tells the truth is unknown.
    unpublished
        The topic of the emergency stop if it has no publisher; empty if it has one.

    """

    foreign_commands: int = 0
    foreign_publishers: tuple[ForeignPublishers, ...] = ()
    unpublished: str = ''


@frozen
class CommandPublished(Event):
    """
    The command of the last decision was published.

    What may change until the next is limited by the time between the two on the wire, not by that
    between the decisions.
    """


@frozen
class ForeignCommand(Event):
    """
    Another has published on a topic of the gate's commands.

    In an episode, or while something still moves, it is answered by the next command of the stop
    profile: the last word is the gate's. Else the contract says whether it is
    (``foreign_publisher: stop_always``).
    """


# What may be decided -----------------------------------------------------------------------------


@frozen
class Request(Event):
    """
    A policy asks for something.

    In lockstep it waits until the sensors of its observation are there.
    """

    request: ActionRequest


@frozen
class TimerStarted(Event):
    """
    The protecting timer starts, as the gate is activated.

    How long it did not run is no lateness; there is no lease, and nothing is in force, even if
    the deactivation before it was cut short.
    """


@frozen
class Tick(Event):
    """
    The protecting timer ran, on the steady clock, every ``safety.gate_period``.

    While the episode runs: hold the last command when the next is late, stop when it is too late
    or something else asks for it, and once stopped say so again every period. When the lease has
    ended: brake to the safe command, then be silent, so that the driver's own timeout is in
    charge.
    """


@frozen
class Deactivate(Event):
    """
    The gate is to go one step further along the stop profile, before it falls silent itself.

    It comes every ``safety.gate_period`` until the gate decides nothing any more: then the last
    command is the safe one, and the lease has ended. It needs nothing that could still arrive: the
    gate brakes from what was commanded last.
    """
