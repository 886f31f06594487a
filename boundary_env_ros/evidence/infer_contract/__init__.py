# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Drafts of contracts, from what was seen of a robot: in a bag, or on a live ROS graph.

:mod:`.survey` sums up the messages of a topic, and :func:`.draft.draft` makes the text of a
contract from it, with every guess marked as one.
"""
