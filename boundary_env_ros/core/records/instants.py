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

from boundary_env_ros.core.records.clock_offsets import offsets_of
from boundary_env_ros.core.records.latency import Latency, LatencyStage
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.timebase import Clock, ClockReading, elapsed, seconds_between, Stamp


def measure(step: Transition, budget: Mapping[str, float], *, lockstep: bool) -> Latency:
    """
    Return the stages of a step from its instants.

    In realtime all stages are differences of the ROS clock, so that they add up exactly to the
    reaction time; free of steps of the system clock are the steady readings in
    the instants. Between hosts what the step says of their clocks is taken out. In lockstep see
    :data:`.latency.STEADY_IN_LOCKSTEP`.

    Parameters
    ----------
    step
        With its instants, None where unknown.
    budget
        Budget of each stage that has one, seconds.
    lockstep
        Whether the world waited.

    """
    own = step.closed.ros.host
    ahead = {o.host: (o.offset, o.uncertainty) for o in offsets_of(step)} | {own: (0.0, 0.0)}

    def waited(name: str, *pairs: tuple[ClockReading | None, ClockReading | None]) -> LatencyStage:
        if not lockstep:
            return stage(name, *((ros(start), ros(end)) for start, end in pairs))
        parts = [elapsed(start, end) for start, end in pairs]
        known = [part for part in parts if part is not None]
        return LatencyStage(duration=sum(known) if len(known) == len(parts) else None)

    def ros(instant: ClockReading | None) -> Stamp | None:
        return None if instant is None else instant.ros

    def stage(name: str, *pairs: tuple[Stamp | None, Stamp | None]) -> LatencyStage:
        seconds, crossed = 0.0, dict[str, int]()
        for start, end in pairs:
            part = seconds_between(start, end)
            if part is None or start is None or end is None:
                return LatencyStage(budget=budget.get(name))
            seconds += part
            # Simulated time is one clock for every host.
            if start.host != end.host and start.clock is not Clock.ROS:
                crossed[start.host] = crossed.get(start.host, 0) + 1
                crossed[end.host] = crossed.get(end.host, 0) - 1
        # To a host and back, its offset goes in and comes out again, and its error with it.
        times = {host: count for host, count in crossed.items() if count}
        known = times.keys() <= ahead.keys()
        added = sum((n * ahead[host][0] for host, n in times.items()), 0.0) if known else None
        doubt = sum((abs(n) * ahead[host][1] for host, n in times.items()), 0.0) if known else None
        return LatencyStage(
            duration=seconds + (added or 0.0),
            clock_offset=added,
            uncertainty=doubt,
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
