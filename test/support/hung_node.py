# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A node of which DDS never lets go: the call does not return, and nothing else in Python runs."""

from __future__ import annotations

import ctypes
import sys

from boundary_env_ros.ros import contract_node
from boundary_env_ros.ros.contract_node import ContractNode, run


class Hung(ContractNode):
    """A node whose end takes for ever."""

    def destroy_node(self) -> None:
        """Wait within C, as Fast DDS does, with the lock of the interpreter held."""
        ctypes.PyDLL(None).pause()


def make() -> Hung:
    """Return the node, once it can be ended."""
    node = Hung('hung', 'none')
    print('there', flush=True)
    return node


if __name__ == '__main__':
    contract_node.LETS_GO = 0.5
    sys.exit(run(make))
