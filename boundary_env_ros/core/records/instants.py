# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
From the instants of a step to its latency stages.

::

    captured    observed   delivered   requested   received   commanded   actuated
       |--capture--|-transport-|-inference-|-transport-|---gate---|-actuation-|
       |------------------------------- reaction -----------------------------|

In lockstep the world waits for gate and policy, so its clock stands still between ``observed`` and
``commanded``: what these take is measured on the steady clock, and is no part of the reaction.
"""

from __future__ import annotations

from collections.abc import Mapping

from boundary_env_ros.core.records.latency import Latency, LatencyStage
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.timebase import (
    between,
    Clock,
    ClockOffset,
    ClockReading,
    elapsed,
    offset_from_exchange,
    Stamp,
)


def measured_offsets(step: Transition) -> tuple[ClockOffset, ...]:
    """
    Return the offset of the policy's clock to that of the robot, if they are of two hosts.

    Each step is an exchange that measures it: an observation goes there, and an action comes back.
    Simulated time is one clock for every host, and what a client stamps by another clock measures
    nothing.
    """
    observed, delivered = step.observed, step.delivered
    requested, received = step.requested, step.received
    if observed is None or delivered is None or requested is None or received is None:
        return ()
    robot, policy = observed.ros.host, delivered.ros.host
    if (robot == policy) or (received.ros.host, requested.ros.host) != (robot, policy):
        return ()
    if any(i.ros.clock is not Clock.SYSTEM for i in (observed, delivered, requested, received)):
        return ()
    return (
        offset_from_exchange(
            sent=observed.ros, received=delivered.ros, returned=requested.ros, back=received.ros
        ),
    )


def measure(step: Transition, budget: Mapping[str, float], *, lockstep: bool) -> Latency:
    """
    Return the stages of a step from its instants.

    In realtime all stages are differences of the ROS clock, so that they add up exactly to the
    reaction time; free of steps of the system clock are the steady readings in
    the instants. In lockstep see :data:`STEADY_IN_LOCKSTEP`.

    Parameters
    ----------
    step
        With its instants, None where unknown.
    budget
        Budget of each stage that has one, seconds.
    lockstep
        Whether the world waited.

    """
    offsets = measured_offsets(step)

    def waited(name: str, *pairs: tuple[ClockReading | None, ClockReading | None]) -> LatencyStage:
        if not lockstep:
            return stage(name, *((ros(start), ros(end)) for start, end in pairs))
        parts = [elapsed(start, end) for start, end in pairs]
        known = [part for part in parts if part is not None]
        return LatencyStage(duration=sum(known) if len(known) == len(parts) else None)

    def ros(instant: ClockReading | None) -> Stamp | None:
        return None if instant is None else instant.ros

    def stage(name: str, *pairs: tuple[Stamp | None, Stamp | None]) -> LatencyStage:
        seconds, added, doubt = 0.0, 0.0, 0.0
        doubtful = False
        for start, end in pairs:
            part = between(start, end, offsets)
            if part is None:
                return LatencyStage(budget=budget.get(name))
            seconds += part.seconds
            added += part.clock_offset
            if part.uncertainty is None:
                doubtful = True
            elif start is not None and end is not None:
                # On the way there and back an error of the offset cancels itself.
                doubt += part.uncertainty if start.host < end.host else -part.uncertainty
        return LatencyStage(
            duration=seconds,
            clock_offset=None if doubtful else added,
            uncertainty=None if doubtful else abs(doubt),
            budget=budget.get(name),
        )

    return Latency(
        capture=stage('capture', (step.captured, ros(step.observed))),
        transport=waited(
            'transport', (step.observed, step.delivered), (step.requested, step.received)
        ),
        inference=waited('inference', (step.delivered, step.requested)),
        gate=waited('gate', (step.received, step.commanded)),
        actuation=stage('actuation', (ros(step.commanded), step.actuated)),
        reaction=stage('reaction', (step.captured, step.actuated)),
    )
