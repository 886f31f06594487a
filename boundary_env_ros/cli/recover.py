# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env recover``."""

from __future__ import annotations

import argparse
from pathlib import Path

from boundary_env_ros.cli.command import Command, DONE
from boundary_env_ros.cli.progress import Progress
from boundary_env_ros.errors import RecordError

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
    if not (recovery.done or recovery.damaged):
        print(f'{options.path} is whole; nothing was changed.')
    for sentence in recovery.done:
        print(f'{sentence}.')
    for sentence in recovery.lost:
        print(f'Lost: {sentence}.')
    if recovery.damaged:
        raise RecordError(' '.join(recovery.damaged))
    return DONE


COMMAND = Command(
    name='recover',
    summary='make whole what a crash left of a run',
    text="""\
Make whole what `kill -9`, a power loss or a full disk left of a run, and say what is lost.

Torn MCAP files get what their writer had not written yet: index, summary and footer, so that
`ros2 bag`, Foxglove and rosbags read them; metadata.yaml names every file with what is in it; a
torn last line of transitions.jsonl is cut off, and transitions that only the bag has are added;
the index of episodes gets the steps, states and marks that it lacks.

Messages are copied as they are, and none is made up. A file of which something could not be read
is kept beside the new one, as NAME.torn. Each file is written beside the old one (it needs as much
space as that), and takes its place when it is complete and on the disk; a recovery that is
interrupted is simply begun again. A run that is being recorded is refused, one that is whole is
left alone: it is read through, and a file that was damaged after it was closed is named, since
no recovery is for that. A bag of other recorders is made whole too, if it is of MCAP files.

The audit still says of a recovered record that it ends where its writer died.

  boundary-env recover runs/demo-20261122-024000
  boundary-env recover bag/bag_3.mcap""",
    exit_codes="""\
  0  it is whole now; what is lost is said
  2  wrong arguments, no run, somebody still writes it, the new files cannot be written, or a file
     was damaged after its writer had closed it""",
    arguments=_arguments,
    run=_run,
)
