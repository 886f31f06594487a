# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Every error travels as a code of its own, and comes back as what it was."""

from __future__ import annotations

import inspect
import re

import pytest

from boundary_env_ros import errors
from boundary_env_ros.errors import (
    BoundaryError,
    code_of,
    ContractError,
    error_of,
    PeerLost,
    RequestRejected,
    ResultCode,
)
from support.core_world import MESSAGES

ALL = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, BoundaryError)
]


def make(kind: type[BoundaryError]) -> BoundaryError:
    return kind([]) if kind is ContractError else kind('in words')


def test_no_error_travels_as_ok() -> None:
    assert len(ALL) > 15
    assert [kind for kind in ALL if code_of(make(kind)) is ResultCode.OK] == []


def test_every_code_comes_back_as_an_error_of_that_code() -> None:
    for code in set(ResultCode) - {ResultCode.OK}:
        error = error_of(int(code), 'in words')
        assert code_of(error) is code
        assert str(error) == 'in words'


@pytest.mark.parametrize(
    'kind',
    ['InvalidAction', 'ResetNeeded', 'EpisodeEnded', 'ResetFailed', 'SimulationFailed',
     'PeerLost', 'LinkTimeout', 'DigestMismatch', 'RequestRejected'],
)  # fmt: skip
def test_typed_errors_come_out_as_they_went_in(kind: str) -> None:
    error = make(getattr(errors, kind))
    back = error_of(int(code_of(error)), str(error))
    assert type(back) is type(error)


def test_whoever_was_lost_is_still_that_one_on_the_other_side() -> None:
    for code in (ResultCode.ROBOT_LOST, ResultCode.GATE_LOST, ResultCode.ENVIRONMENT_LOST):
        back = error_of(int(code_of(PeerLost('gone', code))), 'gone')
        assert isinstance(back, PeerLost)
        assert back.code is code


def test_a_code_of_a_later_version_is_a_refusal_that_names_it() -> None:
    error = error_of(999, 'in words')
    assert isinstance(error, RequestRejected)
    assert '999' in str(error)


def test_codes_are_those_of_the_message() -> None:
    text = (MESSAGES / 'Result.msg').read_text(encoding='utf-8')
    found = {name: int(n) for name, n in re.findall(r'^uint16 (\w+)=(\d+)$', text, re.MULTILINE)}
    assert found == {code.name: int(code) for code in ResultCode}
