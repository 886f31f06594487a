# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Honest records of six origins and of every kind of store, none of which is contradicted.

``make nightly-honest`` audits a thousand with a fresh seed; see :mod:`honest_records`.
"""

from __future__ import annotations

import os

import pytest

pytest.importorskip('rosbags', reason='bags are written by an independent implementation')
from tools.honest_records import main

SEED = os.environ.get('BOUNDARY_ENV_SEED', '33')


def test_no_honest_record_is_contradicted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['--records', '6', '--seed', SEED]) == 0, capsys.readouterr().out
    assert capsys.readouterr().out.startswith('6 honest records: ')
