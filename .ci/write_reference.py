# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Make the JSON Schema and the tables of the reference again, from the values of a contract."""

from pathlib import Path

from boundary_env_ros.storage import contract_schema
from boundary_env_ros.storage.contract_tables import with_tables

ROOT = Path(__file__).parents[1]

(ROOT / 'config' / 'contract.schema.json').write_text(contract_schema.text(), encoding='utf-8')
page = ROOT / 'doc' / 'contract.md'
page.write_text(with_tables(page.read_text(encoding='utf-8')), encoding='utf-8')
