# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env schema``."""

from __future__ import annotations

import argparse

from boundary_env_ros.cli.command import Command, DONE

_FILE = 'config/contract.schema.json'


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--path', action='store_true', help='print where its file is, not what is in it'
    )


def _run(options: argparse.Namespace) -> int:
    from boundary_env_ros.resources import share_file

    path = share_file(_FILE)
    print(path if options.path else path.read_text(encoding='utf-8').rstrip('\n'))
    return DONE


COMMAND = Command(
    name='schema',
    summary='print the JSON Schema of contracts, for editors',
    text="""\
Print the JSON Schema (draft 2020-12) of contracts, with which an editor completes keys, shows
their meaning and unit, and underlines what has no place. Put its file beside the contract and name
it in the first line:

  boundary-env schema > contract.schema.json

  # yaml-language-server: $schema=contract.schema.json
  contract: my_robot

It knows keys, types, enumerations and simple bounds. What two keys say together, and what is in a
message, `boundary-env check` knows.""",
    exit_codes="""\
  0  done
  2  wrong arguments, or the file is not installed""",
    arguments=_arguments,
    run=_run,
)
