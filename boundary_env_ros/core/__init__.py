# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What the boundary means: pure functions and state machines on frozen values.

Standard library and NumPy only. No clock, file, thread, ROS or Gymnasium: time is an argument.
"""
