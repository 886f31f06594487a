# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Five steps: each as JSON, success counted both ways, and the audit of the first one."""

import json
from pathlib import Path

import numpy as np

from boundary_env_ros.core.serialization import to_json
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.facade import BoundaryEnv

run = Path('five_steps')
env = BoundaryEnv('warehouse_cart', world='embedded', first_step=run)
env.reset(seed=1)
steps = []
for _ in range(5):
    *_, terminated, truncated, info = env.step(np.array([0.3, 0.0], dtype=np.float32))
    steps.append(env.last.transition)
    if terminated or truncated:
        break
env.close()

(run / 'steps.jsonl').write_text(''.join(json.dumps(to_json(step)) + '\n' for step in steps))
# An episode that was left before its end did not succeed, as one that was truncated.
succeeded, finished = steps[-1].ending == 'success', steps[-1].terminated
print(f'success, truncation as failure: {int(succeeded)} of 1')
print(f'success of those that terminated: {int(succeeded)} of {int(finished)}')

# The same as: boundary-env audit five_steps/first_transition.json
print(audit_path(run / 'first_transition.json'))
