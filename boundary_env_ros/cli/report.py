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
@option('--text', is_flag=True, help='print the summary')
@json_option
def report(path: Path, output: Path | None, text: bool, as_json: bool) -> int:
    """
    Explain a run: as an HTML page, or by its figures.

    The page needs no network and no other file. It shows where to look first and why; the
    summary; and for each episode a time line with requested, admitted, commanded and measured
    action, what the gate did and why, observations with their ages, events, and camera images.
    doc/report.md explains it.

    --text prints the summary: success with truncated episodes counted as failures, and without
    them; endings, interventions, latency by stage. --json prints it as JSON.

      boundary-env report runs/demo-20261122-024000 -o demo.html
      boundary-env report runs/demo-20261122-024000 --text
      boundary-env report bag/ --json | jq '.groups[].success'

    Exit codes:
      0  done
      2  wrong arguments, the record cannot be read, or the page exists
    """
    if (output is None) is not (as_json or text):
        raise click.UsageError('give one of -o PAGE.html, --text and --json')
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
