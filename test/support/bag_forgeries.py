# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Forgeries of a whole bag that are consistent in themselves, each with the rules that must name it.

Each changes two or more things together, wherever they are told: in the steps, on the topics of
gate, environment and policy, and, where it says so, on the topic of a sensor or of the commands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from support import bag_forgeries_of_records as records
from support import bag_forgeries_of_sensors as sensors
from support.bag_forging import Forge


@dataclass(frozen=True)
class Forgery:
    """One forgery, and the rules that must name it; without rules nobody sees it."""

    name: str
    rules: tuple[str, ...]
    forge: Callable[[Forge], None]


FORGERIES: tuple[Forgery, ...] = (
    Forgery(
        'obstacle farther in measurement, output, command and message',
        ('values-from-sensors',),
        sensors.obstacle_farther_and_no_limit,
    ),
    Forgery(
        'obstacle of an older scan with its stamp and age',
        (),
        sensors.obstacle_from_an_older_scan,
    ),
    Forgery(
        'stamp and age of a measurement',
        ('values-from-sensors',),
        sensors.obstacle_stamped_later,
    ),
    Forgery(
        'measured state and the command before',
        ('values-from-sensors',),
        sensors.feedback_and_seed,
    ),
    Forgery(
        'emergency stop out of flag, verdicts, commands and messages',
        ('step-recomputed',),
        sensors.stop_made_an_admission,
    ),
    Forgery(
        'press that nobody heard', ('emergency-stop-heard',), records.stop_taken_from_its_topic
    ),
    Forgery(
        'pose and reward',
        ('values-from-sensors',),
        sensors.pose_and_reward,
    ),
    Forgery(
        'success with pose, reward, ending and announcement',
        ('values-from-sensors',),
        sensors.success_made_up,
    ),
    Forgery('older pose with its stamps', ('step-recomputed',), sensors.pose_of_the_step_before),
    Forgery('stamp, age and reaction time', ('values-from-sensors',), sensors.stamp_and_age),
    Forgery('clip flag with values', ('values-from-sensors',), sensors.clip_flag_and_values),
    Forgery('image that never came', ('step-recomputed',), sensors.detector_that_never_spoke),
    Forgery('confidence in every copy', ('values-from-sensors',), sensors.confidence_raised),
    Forgery('older image with its hash and stamps', (), sensors.image_of_another_time),
    Forgery('image and its hash', ('values-from-sensors',), sensors.image_swapped_with_its_hash),
    Forgery('pixels on the topic', ('values-from-sensors',), sensors.pixels_changed),
    Forgery(
        'scan on its topic',
        ('values-from-sensors',),
        sensors.scan_on_its_topic,
    ),
    Forgery(
        'sensor message taken out',
        ('values-from-sensors',),
        sensors.sensor_message_taken_out,
    ),
    Forgery('goal and rewards', ('step-recomputed',), sensors.goal_moved),
    Forgery('truth mended', ('values-from-sensors',), sensors.truth_mended),
    Forgery(
        'truth shown to the policy', ('truth-withheld', 'values-from-sensors'), sensors.truth_shown
    ),
    Forgery(
        'truth shown, as that of nobody',
        ('truth-withheld', 'one-contract'),
        sensors.truth_shown_but_of_nobody,
    ),
    Forgery('truth of another episode', ('truth-withheld',), sensors.truth_of_another_episode),
    Forgery('truth in another frame', ('fields-as-contract',), sensors.truth_in_another_frame),
    Forgery('evidence of another step', ('execution-measured',), sensors.evidence_of(step=9999)),
    Forgery(
        'evidence of another episode',
        ('execution-measured',),
        sensors.evidence_of(episode_id='0'),
    ),
    Forgery('evidence of nobody', ('one-contract',), sensors.evidence_of(agent='nobody')),
    Forgery(
        'evidence from nowhere',
        ('execution-measured',),
        sensors.evidence_saying(source='/nowhere'),
    ),
    Forgery(
        'evidence that is exact', ('execution-measured',), sensors.evidence_saying(quantum=1e-9)
    ),
    Forgery(
        'measured action and evidence',
        ('values-from-sensors',),
        sensors.measured_action_and_message,
    ),
    Forgery('actuation, stage and reaction', ('values-from-sensors',), sensors.actuated_earlier),
    Forgery(
        'request, decision, command and message',
        ('as-published',),
        records.request_and_all_behind_it,
    ),
    Forgery('command in every record', ('command-on-topic',), records.command_in_every_record),
    Forgery(
        'command in every record and its message',
        ('decision-recomputed',),
        records.command_message_and_copies,
    ),
    Forgery('refusal that moves', ('allowed-to-move',), records.refusal_with_a_command),
    Forgery('decided elsewhere', ('instants-in-order',), records.decided_elsewhere),
    Forgery(
        'decision taken out, others renumbered', ('command-on-topic',), records.decision_taken_out
    ),
    Forgery(
        'decision, its copies and its message taken out, others renumbered',
        ('request-answered', 'decision-recomputed'),
        records.decision_and_message_taken_out,
    ),
    Forgery('command of somebody else', ('command-on-topic',), records.strange_command),
    Forgery('command that says more', ('command-on-topic',), records.command_that_says_more),
    Forgery('command in another frame', ('command-on-topic',), records.command_in_another_frame),
    Forgery(
        'command messages taken out', ('command-on-topic',), records.command_messages_taken_out
    ),
    Forgery('step with everything of it taken out', ('step-recomputed',), records.step_taken_out),
    Forgery('lease and client renamed', ('decision-recomputed',), records.lease_renamed),
    Forgery('episode renamed', ('as-published',), records.episode_renamed),
    Forgery('digest everywhere', ('one-contract',), records.digest_everywhere),
    Forgery('seed and sampled start', ('step-recomputed',), records.seed_and_sample),
    Forgery(
        'statuses of the environment taken out',
        (),
        records.statuses_taken_out,
    ),
    Forgery(
        'instants of the statuses of the environment',
        ('instants-in-order',),
        records.statuses_of_long_ago,
    ),
    Forgery(
        'status heard in the time to come',
        ('inputs-recomputed',),
        records.status_to_come,
    ),
    Forgery('reward and its terms', ('step-recomputed',), records.reward_and_its_terms),
)
