# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a change of a part of a contract means for results that were made under it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Meaning(IntEnum):
    """
    What a change does to results, from the mildest.

    ``COSMETIC``: nothing. ``BEHAVIOURAL``: numbers mean what they meant, but robot, world or task
    may behave otherwise, so that two results are not of the same experiment. ``BREAKING``: numbers
    mean something else, or fit no more: neither policies nor records of the one go with the other.
    """

    COSMETIC = 0
    BEHAVIOURAL = 1
    BREAKING = 2


@dataclass(frozen=True, slots=True)
class Change:
    """
    What a change of one attribute means.

    Attributes
    ----------
    meaning
        Its class; of a container, of what came or went as a whole.
    why
        A sentence.

    """

    meaning: Meaning
    why: str


def breaking(why: str) -> Change:
    """Return a change after which numbers mean something else, or fit no more."""
    return Change(Meaning.BREAKING, why)


def behavioural(why: str) -> Change:
    """Return a change after which robot, world or task may behave otherwise."""
    return Change(Meaning.BEHAVIOURAL, why)


def cosmetic(why: str) -> Change:
    """Return a change that does nothing."""
    return Change(Meaning.COSMETIC, why)


SPACE = breaking('It is the space: a policy or record of the one does not fit the other.')
OTHER_VALUES = breaking('The values are of something else.')
OTHER_JOINTS = breaking('The values are of other joints, or in another order.')
OTHER_COMMAND = breaking('The same action commands something else.')
OTHER_QUANTITY = breaking('The same number is another quantity.')
OTHER_PLACE = breaking('The same number is another place or direction.')
TOPIC = behavioural('The values come from another topic, whose noise and delay may be others.')
TYPE = behavioural('The values come by another message, whose stamps and rate may be others.')
MESSAGES = behavioural('Other messages may be lost.')
CONFIDENCE = behavioural('Its confidence in the record is another.')
DRIVER = behavioural('Another driver may carry out the command.')
LIMIT = behavioural('The gate makes another command of the same action.')
SENSOR = behavioural('The gate looks at another sensor, or at something else of it.')
NAME = behavioural('What the gate measures and does for it has another name.')
SAFETY = behavioural('The robot is stopped, held or let go at another moment.')
HAND = behavioural('A person may move the robot otherwise, or at other moments.')
EXECUTION = behavioural('Execution is seen earlier or later, and so are reaction times.')
LOST = behavioural('Episodes with the same silence end at another moment, or not at all.')
SLOW = behavioural('Slow policies are stopped sooner or later.')
STALE = behavioural('Another share of steps is stale, held or truncated.')
TASK = behavioural('It may reward, end or sample otherwise.')
RESET = behavioural('Episodes may begin in another state, or fail to begin.')
