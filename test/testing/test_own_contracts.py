# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The shipped contracts and tasks keep the boundary, as the kit sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from boundary_env_ros.storage.message_types import MessageTypes, rosbags_definitions
from boundary_env_ros.testing import TaskTests
from support.whole_contract_tests import WholeContractTests


class TestWarehouseCart(WholeContractTests, TaskTests):
    def contract(self) -> str:
        return 'warehouse_cart'

    def valid_options(self) -> Sequence[Mapping[str, object]]:
        return ({}, {'scenario': 'clear', 'start': [0.0, 0.0, 0.0], 'goal': [1.0, 1.0]})


class TestGuardedCart(WholeContractTests, TaskTests):
    def contract(self) -> str:
        pytest.importorskip('ruckig', reason='needs boundary_env_ros[motion]')
        return 'guarded_cart'

    def valid_options(self) -> Sequence[Mapping[str, object]]:
        return ({}, {'scenario': 'charging'})


class TestDoorArm(WholeContractTests, TaskTests):
    def contract(self) -> str:
        return 'door_arm'

    def message_types(self) -> MessageTypes:
        # The arm's command is of a package that the ROS wheels of this one do not bring.
        pytest.importorskip('rosbags')
        return MessageTypes([], rosbags_definitions())

    def valid_options(self) -> Sequence[Mapping[str, object]]:
        start = [0.0, -2.0, 2.2, -0.2, 0.0, 0.0]
        given = {'scenario': 'ajar', 'start': start, 'door': [0.2, 1.0], 'handle': [0.5, 0.2]}
        return ({}, given)


class TestTwoCarts(WholeContractTests, TaskTests):
    def contract(self) -> str:
        return 'two_carts'

    def valid_options(self) -> Sequence[Mapping[str, object]]:
        place = {'start': [0.0, 0.0, 0.0], 'goal': [1.0, 1.0]}
        return ({}, {'scenario': 'aisle', 'cart_a': place, 'cart_b': place})


class TestSmallestInTurn(WholeContractTests):
    trials = 20

    def contract(self) -> Path:
        return Path(__file__).parents[1] / 'storage/good_contracts/in_turn.yaml'
