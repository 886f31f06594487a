# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The rules of the safety gate, as pure functions.

They run in one fixed order, and the strictest outcome wins:

1. :mod:`.admission`: ``authority``, ``well_formed``, ``turn``, ``operator``, ``age``, and
   :mod:`.document_rules`: ``document``, ``document_rate``. Is it obeyed? If not it is REJECTED,
   and nothing is published because of it.
2. :mod:`.stopping`: ``RULES``, each an object in a file of its own. Must the robot stop? Then the
   stop profile is followed, whatever was asked for: STOPPED.
3. :mod:`.evaluate`: an index that names nothing, what is beyond bounds that refuse it, four
   numbers that are no rotation. Is it a command? If not it is REJECTED.
4. :func:`.evaluate.shape`: ``bounds``, ``rotation``, what the rules of the list take,
   ``scale_together``, ``rate``, ``acceleration``. What may be published of what was asked for?
   LIMITED if that is less.

Why any of them steps in is a :class:`core.gate.rule_output.Cause`; :mod:`.causes` has them all.

They need nothing but the contract, the request and a
:class:`~boundary_env_ros.core.records.decision.RuleInput`, which every ``GateDecision`` carries:
:class:`.judge.Judge` computes it again from its record.
"""
