# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A run as a recording of Rerun."""

from __future__ import annotations

from contextlib import suppress
import os
from pathlib import Path

from boundary_env_ros.core.contract.model import FieldSpec
from boundary_env_ros.core.sources.images import Image
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.episodes import EpisodeStep
from boundary_env_ros.evidence.run_files import Progress, Run
from boundary_env_ros.storage.atomic import check_new
from boundary_env_ros.storage.recorded_images import RecordedImages
from boundary_env_ros.storage.rerun_log import RerunLog


def write_rerun(path: Path, out: Path, progress: Progress | None = None) -> int:
    """
    Write the steps of a run for Rerun's viewer, and return how many there are.

    An image whose message is not in the record, or cannot be decoded, is left out.

    Raises
    ------
    RecordError
        If there are no records at the path, or something is at ``out``.
    MissingDependency
        If Rerun is not installed.

    """
    check_new(out)
    run = Run(path, progress)
    contract = run.contract()
    specs = [spec for spec in contract.observation if spec.is_image]
    pictures = RecordedImages(run.source, specs)
    draft, count = out.with_name(f'.{out.name}.{os.getpid()}.tmp'), 0
    try:
        log = RerunLog(contract, draft)
        for step in run.episodes():
            log.add(step.transition, _images(step, specs, pictures))
            count += 1
        log.close()
        draft.replace(out)
    finally:
        draft.unlink(missing_ok=True)
    return count


def _images(
    step: EpisodeStep, specs: list[FieldSpec], pictures: RecordedImages
) -> dict[str, Image]:
    found = {}
    references = {field.name: field.image for field in step.transition.after}
    for spec in specs:
        with suppress(RecordError):
            pixels = pictures.pixels(spec, references.get(spec.name), step.log_time)
            if pixels is not None:
                found[spec.name] = pixels
    return found
