# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env audit``."""

from __future__ import annotations

from pathlib import Path

import click

from boundary_env_ros.cli.command import (
    Command,
    contract_option,
    counting,
    DONE,
    FOUND,
    json_option,
    option,
    PATH,
    print_result,
    record_argument,
)

#: Exit code for a record without a fatal finding of which not all could be checked.
NOT_ALL = 3
#: Exit code for a record without a fatal finding of which a part is missing.
MISSING = 4


@click.command(cls=Command)
@record_argument()
@contract_option('the contract to check the record against (default: the one in it)')
@option('--key', type=PATH, metavar='FILE', help='public key that must have signed it (PEM)')
@option('--head', metavar='HASH', help='head that its chain must have, as the recorder printed it')
@json_option
def audit(
    path: Path,
    contract: str | None,
    key: Path | None,
    head: str | None,
    as_json: bool,
) -> int:
    """
    Check whether a record can be believed.

    Recomputes everything that can be recomputed, from the raw messages of a bag too. Reports each
    contradiction with rule, episode and step, and which rules could not be checked and why. A bag
    that is still being recorded is audited as far as it goes.

      boundary-env audit runs/demo-20261122-024000
      boundary-env audit bag/ --contract my_robot.yaml --json
      boundary-env audit runs/demo-20261122-024000 --key robot.pub.pem

    Exit codes:
      0  SUPPORTED: no rule is broken, and all was checked
         PASSED: one transition, in which nothing is wrong or missing
      1  CONTRADICTED: at least one finding is fatal
      2  wrong arguments, or no record
      3  CONSISTENT: no finding is fatal, but one is suspicious, or not all could be checked
      4  INCOMPLETE: no finding is fatal, but a part of the record is missing
    """
    from boundary_env_ros.evidence.audit.audit import audit_path
    from boundary_env_ros.evidence.audit.findings import AuditOutcome
    from boundary_env_ros.storage.contract_file import load
    from boundary_env_ros.storage.signing import public_key

    with counting('records') as progress:
        report = audit_path(
            path,
            None if contract is None else load(contract).contract,
            key=b'' if key is None else public_key(key),
            head=head or '',
            progress=progress,
        )
    print_result(report, as_json=as_json)
    return {
        AuditOutcome.SUPPORTED: DONE,
        AuditOutcome.PASSED: DONE,
        AuditOutcome.CONSISTENT: NOT_ALL,
        AuditOutcome.INCOMPLETE: MISSING,
        AuditOutcome.CONTRADICTED: FOUND,
    }[report.outcome]
