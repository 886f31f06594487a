# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A business process behind the boundary: the policy reads documents, and sends documents."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
import random
from typing import Any

from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.simulation.plugin import Baseline, EnvironmentPlugin, PluginSpace, Update
from boundary_env_ros.simulation.plugin_robot import PluginRobot
from boundary_env_ros.storage.contract_file import load

CONTRACT = Path(__file__).with_suffix('.yaml')
INVOICES = 5


class InvoiceDesk(EnvironmentPlugin):
    """Five invoices, some of which are wrong: paying one of those costs what it asks for."""

    def start(self, seed: int, target: Mapping[str, Any], options: Mapping[str, Any]) -> Baseline:
        """Draw the invoices."""
        self._random = random.Random(seed)
        self._number, self._note = 0, ''
        self._next()
        return Baseline(
            sensors=(PluginSpace(name='invoice', document=True),),
            actuators=(PluginSpace(name='desk', document=True),),
            readings={'invoice': self._invoice},
            time_step=0.1,
            rewards=('money',),
        )

    def _next(self) -> None:
        self._number += 1
        self._amount = round(self._random.uniform(10.0, 900.0), 2)
        self._wrong = self._random.random() < 0.4
        self._note = ''

    @property
    def _invoice(self) -> dict[str, Any]:
        items = f'Goods {self._amount - 5.0:.2f}\nFreight 5.00\nTotal {self._amount:.2f}\n'
        return {
            'number': self._number,
            'supplier': 'Smith & Sons',
            'amount': self._amount,
            'note': self._note,
            'scan': b64encode(items.encode()).decode(),
        }

    def update(self, setpoints: Mapping[str, Any], seconds: float) -> Update:
        """Carry out what the policy has decided, if it has."""
        decision, money = setpoints.get('desk', {'type': 'nothing', 'number': 0}), 0.0
        if decision['number'] == self._number:
            if decision['type'] == 'ask':
                self._note = 'We never ordered this.' if self._wrong else 'It is what we ordered.'
            elif decision['type'] == 'approve':
                money = -decision['amount'] if self._wrong else 1.0
            if decision['type'] != 'ask':
                self._next()
        done = self._number > INVOICES
        return Update(
            readings={'invoice': self._invoice},
            rewards={'money': money},
            done=done,
            success=done,
        )


def policy(invoice: Mapping[str, Any]) -> dict[str, Any]:
    """Ask first, then approve or refuse."""
    number, note = invoice['number'], invoice['note']
    if not note:
        return {'type': 'ask', 'number': number, 'question': 'Did we order this?'}
    if note.startswith('It is'):
        return {'type': 'approve', 'number': number, 'amount': invoice['amount']}
    return {'type': 'refuse', 'number': number, 'reason': note}


if __name__ == '__main__':
    robot = PluginRobot(load(CONTRACT).contract, plugin=InvoiceDesk)
    env = BoundaryEnv(CONTRACT, world='embedded', robot=robot)
    seen, _ = env.reset(seed=3)
    # The gate lets nothing pass that the contract does not allow, and says where it is wrong.
    *_, info = env.step({'desk': {'type': 'approve', 'number': 1, 'amount': 5000.0}})
    print(info['verdict'], info['reasons'])
    over = False
    while not over:
        seen, reward, terminated, truncated, info = env.step({'desk': policy(seen['invoice'])})
        over = terminated or truncated
        print(info['verdict'], reward, seen['invoice'])
    print(info['ending'])
    env.close()
    robot.close()
