# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Running one test of the kit on a subject that is broken on purpose."""

from __future__ import annotations

import re

import pytest

from boundary_env_ros.testing import Failure


def must_find(tests: object, method: str, says: str) -> None:
    """
    Check that a test of the kit fails, and with which sentence.

    Parameters
    ----------
    tests
        An instance of a class of the kit.
    method
        Its test.
    says
        Pattern of the sentence.

    """
    with pytest.raises(Failure) as caught:
        getattr(tests, method)()
    sentence = str(caught.value)
    assert re.search(says, sentence, re.DOTALL), sentence
    assert re.search(r'[Ee]xpected .*, got ', sentence, re.DOTALL), sentence
