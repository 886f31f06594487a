# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The rules of the gate under a contract, in their order, drawn for a reader."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from boundary_env_ros.core.contract import Contract, Pacing, WhenStale
from boundary_env_ros.core.safety import (
    Corridor,
    Hold,
    Moves,
    Obstacle,
    OnCompeting,
    Sector,
    Workspace,
)
from boundary_env_ros.core.sources import Vector
from boundary_env_ros.evidence.describe_fields import number

Term = tuple[str, str]

_HELD = {
    Hold.LAST: 'the last command again',
    Hold.RAMP: 'the way to `safe`, at `rate`',
    Hold.SAFE: '`safe` at once',
}


def sent_while_late(hold: Hold) -> str:
    """Return what is sent while the next action is late."""
    return _HELD[hold]


def rules_of_gate(contract: Contract) -> Iterator[Term]:
    """Yield the rules, each with its numbers; one that the contract does not declare is none."""
    yield '1', 'Is it heard? If not, REJECTED: nothing is published because of it.'
    yield from _admission(contract)
    yield '2', 'Must the robot stop? Then STOPPED: towards `safe`, at most `stop` per second.'
    yield from _stopping(contract)
    yield (
        '3',
        (
            'Is it a command? An index that names nothing, a value out of bounds that say '
            '`beyond: reject`, and a quaternion that is none are REJECTED.'
        ),
    )
    yield '4', 'What may be published of it? If less than was asked for, LIMITED.'
    yield from _shaping(contract)
    if contract.pacing is not Pacing.LOCKSTEP:
        yield '5', 'What is sent between two actions? What the rules of 4 leave of it: HELD.'
        yield from _between(contract)


def _admission(contract: Contract) -> Iterator[Term]:
    safety, size = contract.safety, contract.action_size
    yield '  well_formed', f'{size} finite number{"s" if size > 1 else ""}'
    yield (
        '  authority',
        'of this contract, agent and episode, by the holder of the lease, in order',
    )
    if contract.turns:
        yield '  turn', f'for a step that is its turn: {", ".join(contract.turns)}, and again'
    if safety.operator is not None:
        yield (
            '  operator',
            (
                f'the policy is not heard while {safety.operator.enable} of '
                f'{safety.operator.topic} is held, until it is let go or silent for '
                f'{number(safety.operator.timeout)} s'
            ),
        )
    yield '  age', f'answers an observation not older than {number(safety.max_action_age)} s'


def _stopping(contract: Contract) -> Iterator[Term]:
    safety, lockstep = contract.safety, contract.pacing is Pacing.LOCKSTEP
    if safety.emergency_stop:
        yield '  emergency_stop', f'true on {safety.emergency_stop}; it latches'
        if contract.heartbeat is not None:
            yield '', f'silence there for more than {number(contract.heartbeat)} s'
    else:
        yield '  emergency_stop', 'by the service of the gate alone; it latches'
    yield '  authority', 'the episode is over, or its lease has ended'
    if not lockstep:
        yield (
            '  gate',
            f'its own timer comes more than {number(safety.gate_lateness)} s after the last time',
        )
        yield (
            '  clock',
            (
                f'ROS time goes more than {number(safety.clock_jump)} s farther, or less far, '
                'than steady time between two runs of the timer'
            ),
        )
    if safety.competing_publisher is OnCompeting.STOP:
        yield (
            '  competing_publisher',
            'somebody else publishes on a command topic, or on one that the gate goes by',
        )
    yield '  environment', f'silent for more than {number(safety.environment_timeout)} s'
    yield from _sensors(contract)
    for rule in safety.obstacles:
        yield _named('obstacle_stop', rule.name), _obstacle_stop(rule)
    for place in safety.workspaces:
        yield _named('workspace_stop', place.name), 'the last command leads out of it'
    if safety.overruns is not None:
        yield (
            '  latency_budget',
            (
                f'more than {safety.overruns.exceeded} of the last {safety.overruns.of} requests '
                'were over the budget'
            ),
        )
    waited = contract.lockstep_deadline if lockstep else safety.command_timeout
    yield '  silence', f'no action for {number(waited)} s'


def _sensors(contract: Contract) -> Iterator[Term]:
    safety = contract.safety
    topics = [group.feedback.topic for group in contract.action]
    topics += [rule.topic for rule in safety.obstacles]
    topics += [place.topic for place in safety.workspaces]
    limit = number(safety.sensor_timeout)
    heard = ', '.join(dict.fromkeys(topics))
    yield '  sensors', f'{heard}: came, or was captured, more than {limit} s ago'
    for field in contract.observation + contract.state:
        if field.when_stale is WhenStale.HOLD and field.max_age is not None:
            limit = number(field.max_age)
            yield '', f'{field.topic}, for the field {field.name!r}: more than {limit} s ago'


def _obstacle_stop(rule: Obstacle) -> str:
    near, usable = number(rule.stop_distance), number(100.0 * rule.min_valid)
    zone = rule.zone
    if isinstance(zone, Sector):
        where = f'within {number(zone.half_angle)} rad of ahead (or behind)'
        what = 'beams'
    elif isinstance(zone, Corridor):
        where = (
            f'within {number(zone.half_width)} m of the axis ahead (or behind), from '
            f'{number(zone.bottom)} to {number(zone.top)} m up'
        )
        what = 'points'
    else:
        return f'in {rule.topic} nearer than {near} m, when moving {zone.value}; or no range'
    return (
        f'in {rule.topic} nearer than {near} m {where}, when moving there; or fewer than '
        f'{usable} % usable {what}'
    )


def _shaping(contract: Contract) -> Iterator[Term]:
    safety, names = contract.safety, contract.command_dimensions
    yield '  bounds', 'low and high of each dimension'
    if any(group.rotation for group in contract.action):
        turned = _of_groups(contract, 'rotation')
        yield '  rotation', f'{turned}: one unit quaternion, turned as a whole'
    if contract.angles:
        yield '  wrap', f'{_of_groups(contract, "wrap")}: angles that take the short way'
    for rule in safety.obstacles:
        slow, near = number(rule.slow_speed), number(rule.slow_distance)
        yield (
            _named('obstacle_slow', rule.name),
            (
                f'{_dimension(names, rule.dimension)} at most {slow} m/s towards what is nearer '
                f'than {near} m'
            ),
        )
    for rule in safety.obstacles:
        if rule.time_to_collision is not None:
            yield (
                _named('time_to_collision', rule.name),
                (
                    f'{_dimension(names, rule.dimension)} at most what takes '
                    f'{number(rule.time_to_collision)} s to {number(rule.stop_distance)} m before '
                    'what is there'
                ),
            )
    for place in safety.workspaces:
        yield _named('workspace', place.name), _workspace(place, names)
    if any(group.curvature for group in contract.action):
        together = _of_groups(contract, 'curvature')
        yield '  curvature', f'{together}: scaled together when one of them is limited'
    yield '  rate', 'change of each dimension per second, from the last emitted command on'
    yield from _acceleration(contract)
    parting = [
        f'{name} by more than {number(most)}'
        for group in contract.action
        for name, most in zip(group.dimensions, group.depart, strict=False)
    ]
    if parting:
        yield (
            '',
            f'begun anew from what the robot does where that departs: {", ".join(parting)}',
        )


def _acceleration(contract: Contract) -> Iterator[Term]:
    limits = []
    for group in contract.action:
        for index, (name, unit) in enumerate(zip(group.dimensions, group.unit, strict=True)):
            shown = [
                f'{number(values[index])} {unit}/{per}'
                for values, per in ((group.acceleration, 's^2'), (group.jerk, 's^3'))
                if values
            ]
            limits += [f'{name} at most {", ".join(shown)}'] if shown else []
    if limits:
        yield '  acceleration', f'how fast that rate changes: {"; ".join(limits)}'


def _between(contract: Contract) -> Iterator[Term]:
    safety = contract.safety
    if safety.republish is not None:
        yield '  republish', f'every {number(safety.republish)} s the command in force'
    late = number(safety.hold_after)
    yield '  silence', f'no action for {late} s: {sent_while_late(safety.hold)}'


def _workspace(place: Workspace, names: Sequence[str]) -> str:
    where = [
        f'{_bound(low)} .. {_bound(high)} {unit}'
        for low, high, unit in zip(place.low, place.high, place.unit, strict=False)
        if low is not None or high is not None
    ]
    if place.polygon:
        where.append(f'in a polygon of {len(place.polygon)} corners')
    if place.keep_out:
        where.append(f'out of {", ".join(name for name, _ in place.keep_out)}')
    moved = [_dimension(names, index) for index in place.moved_by]
    heading = ' by its heading' if place.moves is Moves.BODY else ''
    frame = f' ({place.frame})' if place.frame else ''
    return (
        f'{place.topic}{frame} stays {"; ".join(where)}, less {number(place.margin)}; it is moved'
        f'{heading} by {", ".join(moved)}, which brake at {_numbers(place.braking)} after '
        f'{number(place.delay)} s'
    )


def _bound(value: float | None) -> str:
    return '' if value is None else number(value)


def _numbers(values: Vector) -> str:
    return ', '.join(map(number, dict.fromkeys(values)))


def _of_groups(contract: Contract, attribute: str) -> str:
    return ', '.join(
        group.dimensions[index]
        for group in contract.action
        for index in getattr(group, attribute)
        if index < len(group.dimensions)
    )


def _dimension(names: Sequence[str], index: int) -> str:
    return names[index] if index < len(names) else f'dimension {index}'


def _named(rule: str, name: str) -> str:
    return f'  {rule}.{name}' if name else f'  {rule}'
