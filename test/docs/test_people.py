# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the page on people shows of a contract is one, and does what the page says."""

from __future__ import annotations

import re

import yaml

from boundary_env_ros.core.sources.readers import reader
from boundary_env_ros.simulation.messages import PlainMessage
from boundary_env_ros.storage.contract_file import loads
from support.pages import text_of

_BLOCK = re.compile(r'<!-- contract: safety -->\n```yaml\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def test_joystick_on_the_page_fits_the_cart() -> None:
    (block,) = _BLOCK.findall(text_of('doc/people.md'))
    data = yaml.safe_load(text_of('config/warehouse_cart.yaml'))
    data['safety'].update(yaml.safe_load(block))
    operator = loads(yaml.safe_dump(data), source='the page').contract.safety.operator
    assert operator is not None
    left, right = [0.0, 0.5], [-0.25, 0.0]
    buttons = [0] * 9 + [1]
    message = PlainMessage({'axes': [*left, *right], 'buttons': buttons})
    values = reader(operator.source)(message)
    scaled = [value * scale for value, scale in zip(values, operator.scale, strict=True)]
    assert scaled == [0.2, -0.25], 'forward at half speed, to the right at a quarter'
    assert operator.enable == 'buttons[9]'
