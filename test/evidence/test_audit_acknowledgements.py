# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a driver is said to have acknowledged is compared with its messages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from boundary_env_ros.core.contract.model import Acknowledgement, slices_of
from boundary_env_ros.core.contract.sources import Paths
from boundary_env_ros.core.records.parts import StepId
from boundary_env_ros.core.records.transition import ActuationEvidence
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.core.timebase import Clock, ClockReading, Stamp
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.evidence.audit.raw_messages.measured_values import FeedbackChecks
from boundary_env_ros.evidence.audit.raw_messages.ties import Tie, Ties
from boundary_env_ros.evidence.run_files import wired
from boundary_env_ros.storage.contract_file import load

ROVER = Path(__file__).parents[2] / 'examples/rover/rover.yaml'
TYPE, TOPIC, USE = 'geometry_msgs/msg/TwistStamped', '/applied', 'environment acknowledgement.base'


def found(said: dict[int, Vector], at: int, values: Vector, recorded: bool = True) -> list[str]:
    """Return what is wrong with evidence at a stamp, by what a driver said at which."""
    contract = load(ROVER).contract
    paths = Paths(paths=('twist.linear.x', 'twist.angular.z'))
    applied = Acknowledgement(topic='applied', type=TYPE, source=paths)
    contract = replace(contract, action=(replace(contract.action[0], acknowledgement=applied),))
    told: list[str] = []
    agent = contract.agents[0]
    uses = wired(contract, agent, {TOPIC: TYPE} if recorded else {})
    messages = {
        t: SimpleNamespace(readings={uses[USE]: Reading(values=v)}) for t, v in said.items()
    }

    def tie(tie: Tie) -> None:
        """Tie evidence to what was said, as for a record that is at its end."""
        assert tie.key is not None
        message: Any = messages.get(tie.key[1])
        if message is not None and not tie.differences(tie.uses[0], message):
            told.append(f'{tie.kind} was checked')
        else:
            told.append(f'{tie.none().expected}, got {tie.none().actual}')

    ties: Any = SimpleNamespace(
        uses={agent: uses},
        groups=tuple(slices_of(contract.action)),
        now=0,
        tie=tie,
    )
    stamp = Stamp(clock=Clock.SYSTEM, nanoseconds=at, host='robot')
    evidence = ActuationEvidence(
        id=StepId(agent=agent, episode_id='', digest=''), decision_sequence=1,
        commanded=ClockReading(ros=stamp, steady=0),
        actuated=stamp, quantum=0.0, source='/robot/applied' if not recorded else TOPIC,
        measured=values,
    )  # fmt: skip
    FeedbackChecks(cast('Ties', ties)).evidence(evidence)
    return told


@pytest.mark.parametrize(
    ('at', 'values', 'expected'),
    [
        (5, (0.2, 0.1), ['environment was checked']),
        (5, (0.2, 0.3), ['a message on /applied at 5 ns with [0.2, 0.3], got none']),
        (6, (0.2, 0.1), ['a message on /applied at 6 ns with [0.2, 0.1], got none']),
    ],
)
def test_an_acknowledgement_is_a_message_with_that_stamp_and_the_values_of_the_command(
    at: int, values: Vector, expected: list[str]
) -> None:
    assert found({5: (0.2, 0.1)}, at, values) == expected


def test_an_acknowledgement_whose_topic_was_not_recorded_is_not_called_wrong() -> None:
    assert found({}, 5, (0.2, 0.1), recorded=False) == []
