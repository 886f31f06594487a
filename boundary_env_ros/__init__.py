# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The boundary between a robot and its policy as a contract.

Importing the package makes the shipped contracts known to ``gymnasium.make``. It loads neither
ROS nor Gymnasium.
"""

from __future__ import annotations

from pathlib import Path as _Path
from pkgutil import extend_path as _extend_path

from boundary_env_ros.registration import register_when_imported as _register_when_imported

__version__ = '0.1.0'

# In an editable install the built messages and services lie in site-packages and the sources here:
# join the two. Elsewhere they lie together, and no other copy may mix in.
if not _Path(__file__).with_name('msg').is_dir():
    __path__ = _extend_path(__path__, __name__)

_register_when_imported()
