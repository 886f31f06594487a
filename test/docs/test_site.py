# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The site builds without a warning, which a broken link inside it is, too."""

from __future__ import annotations

from pathlib import Path
import subprocess
import sys

import pytest

from boundary_env_ros.core.records.decision import Reason
from boundary_env_ros.core.records.endings import BUILT_IN
from support.pages import first_code, REPOSITORY, section, text_of

WHY = text_of('doc/why_it_failed.md')


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip('furo', reason='needs boundary_env_ros[docs]')
    pytest.importorskip('myst_parser', reason='needs boundary_env_ros[docs]')
    words = ['-q', '-W', '--keep-going', '-n', '-d', tmp_path / 'cache', 'doc', tmp_path / 'site']
    done = subprocess.run(
        [sys.executable, '-m', 'sphinx', *map(str, words)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, '')
    assert (tmp_path / 'site' / 'README.html').is_file()


def test_every_ending_and_every_reason_has_its_remedy() -> None:
    assert set(first_code(section(WHY, 'The episode ended'))) == set(BUILT_IN)
    reasons = set(first_code(section(WHY, 'The robot did not do what was asked')))
    assert reasons == {reason.name for reason in Reason}
