# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Rules about how the sequence of published commands moves, without the functions of the gate.

Of a curve whose second derivative is at most A everywhere, the second divided difference of any
three points is at most A / 2 in magnitude; of one whose third is at most J, that of any four is at
most J / 6: a divided difference of order k is the mean of the k-th derivative over k! [1]_. So a
sequence that is not on such a curve is found, whatever the gate computed.

.. [1] Hermite-Genocchi; see C. de Boor: Divided Differences. Surveys in Approximation Theory 1,
   2005.
"""

from __future__ import annotations

from collections.abc import Sequence
import math

from boundary_env_ros.core.records.decision import GateDecision, Verdict
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.evidence.audit.rules.base import (
    AuditTerms,
    DecisionLink,
    Found,
    known,
    limits_of,
    Mismatch,
    of_decision,
)
from boundary_env_ros.evidence.audit.rules.command import begins_anew, brakes
from boundary_env_ros.evidence.record_difference import number

#: A value that went through the path of a profile may be off by this, relative to its size.
_RESOLVED = 1e-13

#: Part of a limit by which a divided difference may be over it.
_SLACK = 1e-6

#: Angle (rad) by which a rotation may be off.
_ANGLE = 1e-7

#: Difference from 1 of the norm of four numbers that are a rotation.
_NORM = 2e-6

#: Places that a third derivative needs besides the newest.
_MOST = 3

#: A place of the sequence: seconds, and the command.
Node = tuple[float, Vector]


def _path(link: DecisionLink, terms: AuditTerms) -> list[Node]:
    """
    Return the last places of the emitted sequence, the newest first, at most four.

    The stop profile and a measured state begin a sequence anew; the first is no part of it.
    """
    decision: GateDecision = link.decision
    size = len(terms.limits.low)
    if brakes(decision, terms):
        return []
    time, nodes = 0.0, [(0.0, decision.command)]
    for last in (*reversed(link.emitted), None):
        previous, step = decision.inputs.previous_command, decision.inputs.time_step
        if len(previous) != size:
            break
        time -= step
        if step > 0.0:
            nodes.append((time, previous))
        if (
            last is None
            or len(nodes) > _MOST
            or decision.inputs.seeded
            or begins_anew(last, decision)
            or brakes(last, terms)
            or last.command != previous
        ):
            break
        decision = last
    return nodes


def divided_difference(nodes: Sequence[Node], dimension: int) -> tuple[float, float]:
    """
    Return the divided difference of one dimension, and what rounding may have made of it.

    Parameters
    ----------
    nodes
        Places at different times.
    dimension
        Which dimension of the command.

    """
    total = noise = 0.0
    for i, (at, command) in enumerate(nodes):
        weight = 1.0
        for j, (other, _) in enumerate(nodes):
            if i != j:
                weight /= at - other
        total += weight * command[dimension]
        noise += abs(weight) * max(1.0, abs(command[dimension])) * _RESOLVED
    return total, noise


@of_decision('command-motion', contract=True)
def _command_motion(link: DecisionLink) -> Found:
    bound, decision = known(link.terms), link.decision
    limits = bound.limits
    if not limits.profiled or len(decision.command) != len(limits.rate):
        return
    nodes = _path(link, bound)
    for i in limits.profiled:
        for count, factor, limit, name in (
            (3, 2.0, limits.acceleration[i], 'acceleration'),
            (4, 6.0, limits.jerk[i], 'jerk'),
        ):
            if len(nodes) < count or limit == math.inf:
                continue
            found, noise = divided_difference(nodes[:count], i)
            if factor * (abs(found) - noise) > limit * (1.0 + _SLACK):
                yield Mismatch(
                    f'command[{limits.names[i]}]',
                    f'at most {number(limit)} of {name} over {count} commands',
                    number(factor * abs(found)),
                )


@of_decision('command-motion', contract=True)
def command_rotation(link: DecisionLink) -> Found:
    """Yield where a rotation is none, or is turned too far."""
    declared, decision = known(link.terms), link.decision
    command, previous = decision.command, decision.inputs.previous_command
    if len(command) != len(declared.limits.low):
        return
    stopped = decision.verdict is Verdict.STOPPED
    seconds = decision.inputs.time_step
    for rotation in limits_of(decision, declared).rotations:
        now = [command[i] for i in rotation.dimensions]
        place = f'command[{rotation.dimensions[0]}..{rotation.dimensions[-1]}]'
        norm = math.hypot(*now)
        if not abs(norm - 1.0) <= _NORM:
            yield Mismatch(place, 'a norm of 1', number(norm))
            continue
        if len(previous) != len(command):
            continue
        was = [previous[i] for i in rotation.dimensions]
        most, angle = 0.0 if stopped else rotation.rate * seconds, _angle(was, now)
        if not angle <= most + _ANGLE:
            yield Mismatch(
                place,
                f'turned by at most {number(most)} rad in {number(seconds)} s',
                f'by {number(angle)} rad',
            )


def _angle(one: Sequence[float], other: Sequence[float]) -> float:
    """
    Return the angle (rad) from one rotation to another.

    Of the vector part of the product q p*, whose length is the sine of half the angle.
    """
    x, y, z, w = one
    a, b, c, d = other
    vector = (
        w * a - d * x + y * c - z * b,
        w * b - d * y + z * a - x * c,
        w * c - d * z + x * b - y * a,
    )
    scalar = w * d + x * a + y * b + z * c
    return 2.0 * math.atan2(math.hypot(*vector), abs(scalar))
