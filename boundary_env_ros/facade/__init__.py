# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a policy steps: the link protocol, its implementations, and the Gymnasium environment over it."""
