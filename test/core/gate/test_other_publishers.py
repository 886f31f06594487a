# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which nodes count as publishing on the topics that the gate commands by, and goes by."""

from __future__ import annotations

import pytest

from boundary_env_ros.core.gate.other_publishers import (
    after_silence,
    Echoes,
    foreign_publishers,
    NodesByPublisher,
    OtherPublishers,
    possible_publishers,
    relied_on,
    ReliedOnTopic,
    Replies,
    Silence,
)
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.timebase import NANOSECONDS
from support.core_world import rich, shipped

GATE = '/safety_gate'
OLD: NodesByPublisher = {b'1': '/driver'}
NEW: NodesByPublisher = {b'2': '/driver'}
BOTH: NodesByPublisher = {**OLD, **NEW}


def at(seconds: float) -> int:
    return round(seconds * NANOSECONDS)


# On the topics of the commands -------------------------------------------------------------------


@pytest.mark.parametrize(
    ('found', 'duplicate', 'foreign_command', 'others'),
    [
        ((GATE,), False, False, ()),
        ((), False, False, ()),
        ((GATE, '/joystick'), False, False, ('/joystick',)),
        ((GATE, GATE), False, False, (f'a second {GATE}',)),
        # One that said so itself may not have been found yet.
        ((GATE,), True, False, (f'a second {GATE}',)),
        ((GATE, GATE), True, False, (f'a second {GATE}',)),
        ((GATE,), False, True, ('one that did not stay',)),
        ((GATE, '/joystick'), False, True, ('/joystick',)),
    ],
)
def test_the_gate_is_the_only_publisher_of_its_commands(
    found: tuple[str, ...], duplicate: bool, foreign_command: bool, others: tuple[str, ...]
) -> None:
    assert (
        foreign_publishers(found, GATE, duplicate=duplicate, foreign_command=foreign_command)
        == others
    )


def test_what_was_replaced_does_not_count_when_its_replacement_hangs_and_wakes_up() -> None:
    # Killed at 10 s, replaced, and that one hangs from 20 s on.
    killed = after_silence(Silence(), OLD, received=at(10), now=at(11), patience=0.5)
    hangs = after_silence(killed, BOTH, received=at(20), now=at(21), patience=0.5)
    assert possible_publishers(BOTH, hangs, at(25)) == tuple(NEW.values())
    # Longer than discovery keeps what was killed, both are there.
    assert len(possible_publishers(BOTH, hangs, at(42))) == 2
    # Discovery may have forgotten another that was killed before.
    first: NodesByPublisher = {b'0': '/driver'}
    killed = after_silence(Silence(), first | OLD, received=at(10), now=at(11), patience=0.5)
    hangs = after_silence(killed, BOTH, received=at(20), now=at(21), patience=0.5)
    assert possible_publishers(BOTH, hangs, at(25)) == tuple(NEW.values())


def test_a_topic_may_be_silent_for_as_long_as_its_patience_to_the_nanosecond() -> None:
    for silence, begins in ((1_001_000_000, False), (1_001_000_001, True)):
        after = after_silence(
            Silence(), OLD, received=at(10), now=at(10) + silence, patience=1.001
        )
        assert (after != Silence()) is begins


def test_every_own_command_is_known_once_though_some_get_lost() -> None:
    echoes = Echoes()
    for command in ('a', 'b', 'c', 'a'):
        echoes.sent(command)
    assert not echoes.is_own('x')
    assert echoes.is_own('b')
    assert not echoes.is_own('b')
    assert echoes.is_own('a')
    assert not echoes.is_own('c'), 'it was sent before one that came'
    assert not echoes.is_own('a')


def publishers(**changes: ReliedOnTopic) -> OtherPublishers:
    topics = {'scan': ReliedOnTopic(patience=0.5), **changes}
    return OtherPublishers(GATE, commands=['cmd_vel'], relied_on=topics, patience=0.4)


def test_a_foreign_command_counts_for_a_while() -> None:
    known, found = publishers(), {'cmd_vel': {b'g': GATE}, 'scan': OLD}
    assert known.unexpected(found, at(9.9)).commands == ()
    assert known.foreign_command('cmd_vel', at(10.0))
    assert not known.foreign_command('cmd_vel', at(10.1)), 'told already'
    late, later = known.unexpected(found, at(10.4)), known.unexpected(found, at(10.6))
    assert late.commands == (('cmd_vel', 'one that did not stay'),)
    assert later.commands == ()
    assert known.foreign_command('cmd_vel', at(10.7))


def test_another_gate_of_the_same_name_counts_for_a_while_after_its_last_word() -> None:
    known, found = publishers(), {'cmd_vel': {b'g': GATE}, 'scan': OLD}
    known.duplicate_seen(at(10.0))
    assert known.unexpected(found, at(10.3)).commands == (('cmd_vel', f'a second {GATE}'),)
    assert known.unexpected(found, at(10.5)).commands == ()


# On the topics that it goes by -------------------------------------------------------------------


def test_of_two_publishers_on_a_topic_one_is_too_many() -> None:
    found = {'cmd_vel': {b'g': GATE}, 'scan': {b'1': '/lidar', b'2': '/forger'}}
    unexpected = publishers().unexpected(found, at(1.0))
    assert unexpected.relied_on == {'scan': ('/lidar', '/forger')}
    assert unexpected.beyond == {'scan': 1}
    assert unexpected.commands == ()


def test_a_topic_may_have_as_many_publishers_as_the_contract_says_and_no_more() -> None:
    known = publishers(joint_states=ReliedOnTopic(most=2, patience=0.5))
    drivers = {b'3': '/arm', b'4': '/gripper'}
    found = {'cmd_vel': {b'g': GATE}, 'scan': OLD, 'joint_states': drivers}
    assert known.unexpected(found, at(1.0)).beyond == {}
    found['joint_states'] = {**drivers, b'5': '/forger'}
    assert known.unexpected(found, at(1.0)).beyond == {'joint_states': 1}
    # What a sensor may have, a command may not.
    found['cmd_vel'] = {b'g': GATE, b'5': '/forger'}
    assert known.unexpected(found, at(1.0)).commands == (('cmd_vel', '/forger'),)


def test_one_that_may_publish_besides_is_not_counted() -> None:
    known = publishers(status=ReliedOnTopic(beside='recorder'))
    found = {'cmd_vel': {}, 'scan': {}, 'status': {b'1': '/a/environment', b'2': '/a/recorder'}}
    assert known.unexpected(found, at(1.0)).relied_on == {}


def test_a_killed_publisher_gives_way_to_its_successor_once_its_topic_was_silent() -> None:
    known = publishers()
    found: dict[str, NodesByPublisher] = {'cmd_vel': {}, 'scan': OLD}
    known.received('scan', at(1.0))
    assert known.unexpected(found, at(1.6)).beyond == {}  # silent since then
    found['scan'] = BOTH
    known.received('scan', at(3.0))
    assert known.unexpected(found, at(3.0)).beyond == {}


def test_a_second_publisher_that_came_before_the_silence_does_not_give_way() -> None:
    known = publishers()
    found: dict[str, NodesByPublisher] = {'cmd_vel': {}, 'scan': BOTH}
    known.received('scan', at(1.0))
    assert known.unexpected(found, at(1.6)).beyond == {'scan': 1}
    known.received('scan', at(2.0))
    assert known.unexpected(found, at(2.1)).beyond == {'scan': 1}


def test_a_topic_that_was_never_heard_is_not_silent() -> None:
    assert after_silence(Silence(), OLD, received=None, now=at(9.0), patience=0.5) == Silence()


def test_a_silence_begins_once() -> None:
    first = after_silence(Silence(), OLD, received=at(1.0), now=at(2.0), patience=0.5)
    assert first == Silence(since=at(2.0), publishers=frozenset(OLD))
    assert after_silence(first, BOTH, received=at(1.0), now=at(3.0), patience=0.5) == first


def test_who_was_there_when_a_topic_fell_silent_counts_again_after_a_while() -> None:
    silence = Silence(since=at(10.0), publishers=frozenset(OLD))
    assert possible_publishers(BOTH, silence, at(11.0)) == ('/driver',)
    assert possible_publishers(BOTH, silence, at(41.0)) == ('/driver', '/driver')
    # Alone it counts, silent or not.
    assert possible_publishers(OLD, silence, at(11.0)) == ('/driver',)


# Which these are ---------------------------------------------------------------------------------


def test_the_gate_goes_by_the_topics_of_its_rules_for_as_long_as_these_wait() -> None:
    timeout = shipped().safety.sensor_timeout
    assert relied_on(shipped()) == {
        'scan': ReliedOnTopic(patience=timeout),
        'odom': ReliedOnTopic(patience=timeout),
    }


def test_a_topic_is_silent_when_the_most_patient_of_its_rules_says_so() -> None:
    contract = shipped({('observation', 'scan', 'on_stale'): 'stop'})
    ages = {f.name: f.max_age for f in contract.observation}
    assert relied_on(contract)['scan'].patience == max(
        ages['scan'] or 0.0, contract.safety.sensor_timeout
    )


def test_in_lockstep_silence_tells_nothing() -> None:
    found = relied_on(shipped(pacing=Pacing.LOCKSTEP))
    assert {topic.patience for topic in found.values()} == {None}


def test_the_emergency_stop_is_gone_by_if_it_has_a_heartbeat() -> None:
    contract = shipped({('safety', 'emergency_stop_heartbeat'): 0.7})
    assert relied_on(contract)['emergency_stop'] == ReliedOnTopic(patience=0.7)


def test_several_drivers_may_publish_joints_where_the_contract_says_so() -> None:
    contract = rich({
        ('action', 'arm', 'feedback', 'publishers'): 2,
        ('observation', 'joints', 'publishers'): 2,
    })  # fmt: skip
    assert relied_on(contract)['joint_states'].most == 2


# Who is answered ---------------------------------------------------------------------------------


@pytest.mark.parametrize(('rate', 'share'), [(30.0, 1.0), (90.0, 1.0), (200.0, 0.98), (1e3, 0.99)])
def test_who_does_not_wait_for_an_answer_gets_one_nearly_each_time(
    rate: float, share: float
) -> None:
    replies, answered, number = Replies(), 0, round(20 * rate)
    for i in range(number):
        for subscription in (0, 1):
            replies.received(subscription)
        if replies.due(at(i / rate)):
            answered += 1
            replies.commanded()
    assert answered >= share * number


@pytest.mark.parametrize('periods', [(100, 100), (100, 20)])
def test_two_gates_answer_each_other_a_hundred_times_a_second_and_no_more(
    periods: tuple[int, int],
) -> None:
    """Each hears the other 1 ms later, and its timer says the stop once a period, ms."""
    gates = [Replies(), Replies()]
    said, received = [0, 0], [False, True]  # the first has just spoken
    for now in range(10_000):
        speaks = [False, False]
        for own, replies in enumerate(gates):
            if received[own]:
                for subscription in (0, 1):
                    replies.received(subscription)
                speaks[own] = replies.due(at(now / 1000.0))
            speaks[own] |= now % periods[own] == own
            if speaks[own]:
                replies.commanded()
                said[own] += 1
        received = speaks[::-1]
    timers = sum(10_000 / period for period in periods)
    assert sum(said) <= 2 * (1000 + timers)
