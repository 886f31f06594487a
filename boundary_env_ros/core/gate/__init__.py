# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The safety gate, a pure state machine.

``gate_state`` is what a gate remembers, ``gate_events`` what can happen to it, ``reducer`` what it
does then, ``rules`` what may be sent. ``gate`` keeps the state on a robot. Audit and replay judge
recorded decisions by the same rules.
"""
