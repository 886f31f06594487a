# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The page on several agents has the arguments that there are, and its program runs."""

from __future__ import annotations

import inspect
import re

import pytest
import yaml

from support.pages import first_code, text_of

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')
pytest.importorskip('pettingzoo', reason='needs boundary_env_ros[pettingzoo]')

from boundary_env_ros.facade.contract_env import ContractEnv
from boundary_env_ros.resources import share_file
from boundary_env_ros.storage.contract_file import loads

PAGE = text_of('doc/agents.md')


def test_page_has_the_arguments_of_the_environment() -> None:
    table = re.search(r'^\| Argument.*?\n\n', PAGE, re.MULTILINE | re.DOTALL)
    assert table is not None
    assert list(first_code(table[0])) == list(inspect.signature(ContractEnv).parameters)


def test_the_program_on_the_page_runs() -> None:
    program = re.search(r'^```python\n(.*?)^```$', PAGE, re.MULTILINE | re.DOTALL)
    assert program is not None
    names: dict[str, object] = {}
    exec(program[1], names)
    assert names['truncations'] or names['terminations']


def test_the_turns_on_the_page_fit_the_shipped_contract() -> None:
    keys = re.search(r'^```yaml\n(.*?)^```$', PAGE, re.MULTILINE | re.DOTALL)
    assert keys is not None
    changes = yaml.safe_load(keys[1])
    data = yaml.safe_load(share_file('config/two_carts.yaml').read_text(encoding='utf-8'))
    data['agent_order'] = changes['agent_order']
    data['safety'].update(changes['safety'])
    data['action']['base'].update(changes['action']['base'])
    assert loads(yaml.safe_dump(data, sort_keys=False)).contract.turn_of(1) == 'cart_b'
