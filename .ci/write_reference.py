# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Make the schema, the tables of the contract, of reasons, and the commands' page again."""

from pathlib import Path

from command_reference import page as commands
import contract_schema
from contract_tables import with_tables
from reason_table import with_reasons

ROOT = Path(__file__).parents[1]

(ROOT / 'config' / 'contract.schema.json').write_text(contract_schema.text(), encoding='utf-8')
page = ROOT / 'doc' / 'contract.md'
page.write_text(with_tables(page.read_text(encoding='utf-8')), encoding='utf-8')
page = ROOT / 'doc' / 'nodes' / 'safety_gate.md'
page.write_text(with_reasons(page.read_text(encoding='utf-8')), encoding='utf-8')
(ROOT / 'doc' / 'commands.md').write_text(commands(), encoding='utf-8')
