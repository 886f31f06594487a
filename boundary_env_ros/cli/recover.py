# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env recover``."""

from __future__ import annotations

import argparse
from pathlib import Path

from boundary_env_ros.cli.command import Command, DONE
from boundary_env_ros.cli.progress import Progress

_MEGABYTE = 1e6


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('path', type=Path, metavar='RUN', help='run folder, bag or .mcap')


def _run(options: argparse.Namespace) -> int:
    from boundary_env_ros.storage.recovery import recover

    show = Progress()

    def progress(what: str, done: int, total: int) -> None:
        show(f'{what}: {done / _MEGABYTE:.0f} of {total / _MEGABYTE:.0f} MB')

    try:
        recovery = recover(options.path, progress)
    finally:
        show.done()
    if not recovery.done:
        print(f'{options.path} is whole; nothing was changed.')
    for sentence in recovery.done:
        print(f'{sentence}.')
    for sentence in recovery.lost:
        print(f'Lost: {sentence}.')
    return DONE


COMMAND = Command(
    name='recover',
    summary='repair a run after a crash or a bad disk',
    text="""\
Make whole what `kill -9`, a power loss, a full or a bad disk left of a run, and say what is lost.

Torn MCAP files get what their writer had not written yet: index, summary and footer, so that
`ros2 bag`, Foxglove and rosbags read them; metadata.yaml names every file with what is in it; a
torn last line of transitions.jsonl (of a run without ROS) is cut off; the index of episodes gets
the steps, states and marks that it lacks.

Messages are copied as they are, and none is made up. A file of which something could not be read
is kept beside the new one, as NAME.torn, the next one as NAME.torn.2. Each file is written beside
the old one (it needs as much space as that), and takes its place when it is complete and on the
disk; a recovery that is interrupted is simply begun again. A run that is being recorded is
refused, one that is whole is left alone, after it was read through: a file that was damaged after
it was closed loses the chunks that cannot be read, and nothing else. A bag of other recorders is
made whole too, if it is of MCAP files.

The audit still says of a recovered record what it lacks.

  boundary-env recover runs/demo-20261122-024000
  boundary-env recover bag/bag_3.mcap""",
    exit_codes="""\
  0  it is whole now; what is lost is said
  2  wrong arguments, no run, somebody still writes it, or the new files cannot be written""",
    arguments=_arguments,
    run=_run,
)
