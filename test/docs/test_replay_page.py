# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The page on replay lists the options, the services and the arguments that there are."""

from __future__ import annotations

from dataclasses import fields
import inspect
import re

from boundary_env_ros.facade.replay_world import ReplayWorld
from boundary_env_ros.facade.steps import Replayed
from support.pages import first_code, section, text_of

PAGE = text_of('doc/replay.md')


def test_page_has_the_arguments_of_the_link_and_what_it_tells() -> None:
    table = re.search(r'^\| World `replay`.*?\n\n', PAGE, re.MULTILINE | re.DOTALL)
    assert table is not None
    assert ['loaded', *first_code(table[0])] == list(inspect.signature(ReplayWorld).parameters)
    told = section(PAGE, 'Behind the facade').split('| Key | Meaning |')[1]
    assert list(first_code(f'| Key |{told}'))[: len(fields(Replayed))] == [
        field.name for field in fields(Replayed)
    ]
