# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Five steps: each as JSON, success counted both ways, and the audit of the first one."""

import json
from pathlib import Path

import numpy as np

from boundary_env_ros.core.serialization import to_json
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.evidence.summary.summary import summarise_path
from boundary_env_ros.facade import BoundaryEnv

run = Path('five_steps')
env = BoundaryEnv('warehouse_cart', world='embedded', record=run)
env.reset(seed=1)
steps = []
for _ in range(5):
    *_, terminated, truncated, info = env.step(np.array([0.3, 0.0], dtype=np.float32))
    steps.append(env.last.transition)
    if terminated or truncated:
        break
env.close()  # an episode that still runs is truncated by that, as abandoned

(run / 'steps.jsonl').write_text(''.join(json.dumps(to_json(step)) + '\n' for step in steps))

# The same as: boundary-env report five_steps --text
print(summarise_path(run))

# The same as: boundary-env audit five_steps/first_transition.json
print(audit_path(run / 'first_transition.json'))
