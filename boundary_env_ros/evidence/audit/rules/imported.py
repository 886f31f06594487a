# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What the audit can say of transitions that were imported from a bag.

No request, decision of a gate or reset was recorded there, and the steady clock was not
read: checks of them would find fault with what is not claimed, or praise what was not looked at.
Each function returns why a check is not applied to an imported step; empty if it is.
"""

from __future__ import annotations

from typing import Final

from boundary_env_ros.core.environment.observation import FieldStatus
from boundary_env_ros.core.imported import is_unknown
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.evidence.audit.rules import catalogue

WHY: Final = 'the record was imported from a bag, which has no request, decision or reset'
UNJUDGED: Final = 'steps of the import that the task could not judge'
ABSENT: Final = 'steps of the import with fields that the bag has no topic for'


def never(now: Transition) -> str:
    """Return why what an import has not is not checked."""
    return WHY


def if_judged(now: Transition) -> str:
    """Return why a judgement of the task is not checked, which an import may lack."""
    return UNJUDGED if is_unknown(now, 'reward') else ''


def if_complete(now: Transition) -> str:
    """Return why missing fields do not count, which the bag never had."""
    missing = any(f.status is FieldStatus.MISSING for f in (*now.after, *now.state))
    return ABSENT if missing else ''


def if_supplied(now: Transition) -> str:
    """Return why fields that the task makes of the reset are not checked."""
    unknown = is_unknown(now, 'reward') or is_unknown(now, 'reset')
    return UNJUDGED if unknown else if_complete(now)


#: Rules about a gate that look at raw messages, too.
OF_THE_GATE: Final = (
    catalogue.AS_PUBLISHED,
    catalogue.COMMAND_ON_TOPIC,
    catalogue.EMERGENCY_STOP_HEARD,
)
