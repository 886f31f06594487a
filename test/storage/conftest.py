# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What tests of several modules of the storage need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import resource
import signal

import pytest


@pytest.fixture
def limit_files() -> Iterator[Callable[[int], None]]:
    """
    Limit the size of files that this process writes.

    A write beyond the limit fails as on a full disk: some of it is written, then comes an error.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    signal.signal(signal.SIGXFSZ, handler)
