# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Commands of imported steps, held against the command topics."""

from __future__ import annotations

from boundary_env_ros.core.imported import is_import
from boundary_env_ros.core.transition import Kind, Transition
from boundary_env_ros.evidence.audit.raw_messages.message_history import MessageHistory
from boundary_env_ros.evidence.audit.rules import catalogue
from boundary_env_ros.evidence.audit.rules.base import Mismatch, same, vector


class ImportChecks:
    """
    Holds what an imported step says was commanded against what was published.

    Parameters
    ----------
    history
        What the topics said.

    """

    def __init__(self, history: MessageHistory) -> None:
        self._tape = history

    def check(self, now: Transition) -> None:
        """Look at a step, if it was imported."""
        wiring = self._tape.wiring.get(now.id.agent)
        if (
            wiring is None
            or now.kind is not Kind.STEP
            or now.observed is None
            or not is_import(now)
        ):
            return
        begin, end = self._tape.on_tape(now.observed), self._tape.on_tape(now.closed)
        if begin is None or end is None:
            return
        published, size = False, self._tape.contract.command_size
        values: list[float] = []
        for group, _ in wiring.groups:
            use = self._tape.use(now.id.agent, f'command {group.name}')
            if use is None:
                return  # which the report says
            # A command at the instant of an observation answers that one.
            heard = self._tape.window(use).last_before(end, use.name)
            if heard is not None:
                published = published or heard.log_time >= begin
                values += heard.readings[use.name].values
        expected = tuple(values) if published and len(values) == size else ()
        if expected:
            self._tape.took('commands', 'commands')
        if not same(now.commanded_action, expected):
            self._tape.find(
                catalogue.COMMAND_ON_TOPIC,
                Mismatch(
                    'commanded_action',
                    f'{vector(expected)} as on the command topics',
                    vector(now.commanded_action),
                ),
                now.id,
            )
