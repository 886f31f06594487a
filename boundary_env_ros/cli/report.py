# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env report``."""

from __future__ import annotations

from pathlib import Path

import click

from boundary_env_ros.cli.command import (
    Command,
    counting,
    DONE,
    json_option,
    option,
    output_option,
    print_result,
    record_argument,
)


@click.command(cls=Command)
@record_argument()
@output_option('HTML page to write')
@option(
    '--rrd', type=click.Path(path_type=Path), metavar='FILE', help='write a recording for Rerun'
)
@option('--text', is_flag=True, help='print the summary')
@json_option
def report(path: Path, output: Path | None, rrd: Path | None, text: bool, as_json: bool) -> int:
    """
    Explain a run: as a page, in Rerun's viewer, or by its figures.

    The page needs no network and no other file. It shows where to look first and why; the
    summary; and for each episode a time line with requested, admitted, commanded and measured
    action, what the gate did and why, observations with their ages, events, and camera images.
    doc/report.md explains it.

    --text prints the summary: success with truncated episodes counted as failures, and without
    them; endings, interventions, latency by stage. --json prints it as JSON. --rrd has every
    step with its images, the action four ways, what the gate did and the latency, for `rerun
    FILE`; it needs the extra `rerun`.

      boundary-env report runs/demo-20261122-024000 -o demo.html
      boundary-env report runs/demo-20261122-024000 --text
      boundary-env report bag/ --json | jq '.groups[].success'
      boundary-env report runs/demo-20261122-024000 --rrd demo.rrd

    Exit codes:
      0  done
      2  wrong arguments, the record cannot be read, the file exists, or Rerun is not installed
    """
    if sum((output is not None, rrd is not None, as_json or text)) != 1:
        raise click.UsageError('give one of -o PAGE.html, --rrd FILE, --text and --json')
    if rrd is not None:
        from boundary_env_ros.evidence.report.rerun_recording import write_rerun

        with counting('records') as progress:
            steps = write_rerun(path, rrd, progress=progress)
        print(f'Recording: {rrd} ({steps} steps). Look at it with `rerun {rrd}`.')
        return DONE
    if output is None:
        from boundary_env_ros.evidence.summary.summary import summarise_path

        print_result(summarise_path(path), as_json=as_json)
        return DONE
    from boundary_env_ros.evidence.report.gather import gather
    from boundary_env_ros.evidence.report.page import render
    from boundary_env_ros.storage.atomic import check_new, write_new

    check_new(output)
    with counting('records') as progress:
        page = ''.join(render(gather(path, progress=progress))).encode('utf-8')
    write_new(output, page)
    print(f'Page: {output} ({len(page) / 1e6:.1f} MB)')
    return DONE
