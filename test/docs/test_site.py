# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The page on why it failed has every ending and every reason."""

from __future__ import annotations

from boundary_env_ros.core.records.decision import Reason
from boundary_env_ros.core.records.endings import BUILT_IN
from support.pages import first_code, section, text_of

WHY = text_of('doc/why_it_failed.md')


def test_every_ending_and_every_reason_has_its_remedy() -> None:
    assert set(first_code(section(WHY, 'The episode ended'))) == set(BUILT_IN)
    reasons = set(first_code(section(WHY, 'The robot did not do what was asked')))
    assert reasons == {reason.name for reason in Reason}
