# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Forgeries of a whole bag that are consistent in themselves.

Each changes two or more things together, wherever they are told: in the steps, on the topics of
gate, environment and policy, and, where it says so, on the topic of a sensor or of the commands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from boundary_env_ros.core.environment.freezing import bring_inside
from boundary_env_ros.core.records.decision import GateDecision, Reason, Verdict
from boundary_env_ros.core.records.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.records.observation import FieldStatus, ObservationField
from boundary_env_ros.core.records.transition import (
    ActuationEvidence,
    PrivilegedObservation,
    Transition,
)
from boundary_env_ros.core.timebase import NANOSECONDS
from support.bag_forging import Forge, measured
from support.core_messages import changed_decision
from support.damage import MS, remeasured


def is_slowed(decision: GateDecision) -> bool:
    return any(result.reason is Reason.OBSTACLE_SLOW for result in decision.rules)


def is_driving(step: Transition) -> bool:
    return step.id.step > 5 and step.verdict is Verdict.ADMITTED and not step.ending


def shifted(forge: Forge, values: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(value + 0.25 for value in values)


# What the gate measured --------------------------------------------------------------------------


def obstacle_farther_and_no_limit(forge: Forge) -> None:
    # Nothing was near, and so nothing was slowed: measurement, output, command, message.

    def change(decision: GateDecision) -> GateDecision:
        return measured(
            decision, 'obstacle.scan', lambda m: replace(m, values=(3.0, *m.values[1:]))
        )

    forge.regate(forge.decision(is_slowed), change)


def obstacle_from_an_older_scan(forge: Forge) -> None:
    # The scan of a second ago, a real one, with the stamps and the age that it would have.
    slowed = forge.decision(is_slowed)
    older = forge.decision(
        lambda d: d.sequence == slowed.sequence - 6 and d.id.episode_id == slowed.id.episode_id
    )
    (source,) = (m for m in older.inputs.measurements if m.name == 'obstacle.scan')

    def change(decision: GateDecision) -> GateDecision:
        assert decision.received is not None
        since = (decision.received.ros.nanoseconds - MS * 2) - source.captured.nanoseconds
        made = replace(
            source,
            # As if it had come only now.
            received_steady=decision.received.steady - 2 * MS,
            age=(since + 2 * MS) / NANOSECONDS,
        )
        return measured(decision, 'obstacle.scan', lambda _: made)

    forge.regate(slowed, change)


def obstacle_stamped_later(forge: Forge) -> None:
    # A measurement is made younger: stamp and age together, the verdict with them.

    def change(decision: GateDecision) -> GateDecision:
        def younger(m: Any) -> Any:
            captured = replace(m.captured, nanoseconds=m.captured.nanoseconds + 5 * MS)
            worst = max(
                decision.received.steady - m.received_steady,
                decision.received.ros.nanoseconds - captured.nanoseconds,
            )
            return replace(m, captured=captured, age=worst / NANOSECONDS)

        return measured(decision, 'obstacle.scan', younger)

    forge.regate(forge.decision(is_slowed), change)


def feedback_and_seed(forge: Forge) -> None:
    # The measured state that the first command of an episode started from, and all behind it.

    def change(decision: GateDecision) -> GateDecision:
        made = measured(decision, 'feedback.base', lambda m: replace(m, values=(0.3, 0.0)))
        return changed_decision(made, previous_command=(0.3, 0.0))

    forge.regate(
        forge.decision(lambda d: d.inputs.seeded and d.verdict is not Verdict.REJECTED), change
    )


def stop_made_an_admission(forge: Forge) -> None:
    # The emergency stop never was: flag, verdicts, commands, messages, and the ending.
    stopped = forge.decision(lambda d: d.inputs.emergency_stop)

    def change(decision: GateDecision) -> GateDecision:
        return changed_decision(decision, emergency_stop=False)

    new = {d.sequence: change(d) for d in forge.decisions if d.inputs.emergency_stop}
    forge.put_decisions(new)
    forge.regate(forge.decision(lambda d: d.sequence == stopped.sequence), change)


# What the policy saw -----------------------------------------------------------------------------


def pose_and_reward(forge: Forge) -> None:
    # The pose is nearer to the goal, and the reward says so.
    step = forge.step(is_driving)
    forge.refield(step, 'pose', lambda f: replace(f, values=shifted(forge, f.values)))
    forge.rewarded()


def success_made_up(forge: Forge) -> None:
    # The last pose is at the goal: observation, reward, ending and announcement.
    step = forge.step(lambda s: s.ending == 'safety_stop')
    (goal,) = (field.values for field in step.after if field.name == 'goal')
    forge.refield(step, 'pose', lambda f: replace(f, values=(*goal, f.values[2])))
    forge.rewarded()

    def change(value: Any) -> Any:
        if isinstance(value, (Transition, EpisodeStatus)) and value.ending == 'safety_stop':
            ending = {'ending': 'success', 'declared_by': 'task:go_to_goal'}
            if isinstance(value, Transition):
                return replace(value, terminated=True, truncated=False, **ending)
            return replace(value, state=EpisodeState.TERMINATED, **ending)
        return value

    forge.everywhere(change)


def pose_of_the_step_before(forge: Forge) -> None:
    # An older pose, a real one, with its stamps and its age.
    step = forge.step(is_driving)
    before = forge.step(lambda s: s.id == replace(step.id, step=step.id.step - 2))
    (old,) = (field for field in before.after if field.name == 'pose')
    forge.refield(step, 'pose', lambda f: old)
    forge.rewarded()


def stamp_and_age(forge: Forge) -> None:
    # A field was captured later than it was: stamp, age, and the reaction time from it.
    step = forge.step(is_driving)

    def later(field: ObservationField) -> ObservationField:
        captured = replace(field.captured, nanoseconds=field.captured.nanoseconds + 20 * MS)
        return replace(field, captured=captured)

    forge.refield(step, 'pose', later)


def clip_flag_and_values(forge: Forge) -> None:
    # A value was out of bounds, so it says; flag and values fit each other.
    step = forge.step(is_driving)
    (spec,) = (s for s in forge.contract.observation if s.name == 'velocity')

    def clipped(field: ObservationField) -> ObservationField:
        values, flag = bring_inside((9.0, field.values[1]), spec)
        return replace(field, values=values, clipped=flag)

    forge.refield(step, 'velocity', clipped)
    forge.rewarded()


def detector_that_never_spoke(forge: Forge) -> None:
    # The image never came, in one observation: value, status and stamps are gone.
    step = forge.step(is_driving)

    def gone(field: ObservationField) -> ObservationField:
        return ObservationField(
            name=field.name,
            status=FieldStatus.MISSING,
            source=field.source,
            frame_id=field.frame_id,
        )

    forge.refield(step, 'front', gone)


def confidence_raised(forge: Forge) -> None:
    # A detector was surer than it was, in every copy.
    step = forge.step(is_driving)
    forge.refield(step, 'pose', lambda f: replace(f, confidence=1.0))


def image_of_another_time(forge: Forge) -> None:
    # An older image with its hash, its reference and its stamps.
    step = forge.step(is_driving)
    before = forge.step(lambda s: s.id == replace(step.id, step=step.id.step - 3))
    (old,) = (field for field in before.after if field.name == 'front')
    forge.refield(step, 'front', lambda f: old)


def image_swapped_with_its_hash(forge: Forge) -> None:
    # Another image under the stamp of this one, its hash in every copy.
    step = forge.step(is_driving)
    other = forge.step(lambda s: s.id.step == 3)
    (source,) = (field for field in other.after if field.name == 'front')

    def swap(field: ObservationField) -> ObservationField:
        return replace(field, image=replace(field.image, sha256=source.image.sha256))

    forge.refield(step, 'front', swap)


def pixels_changed(forge: Forge) -> None:
    # The image on its topic is another one; its hash in the record is the old.
    step = forge.step(is_driving)
    (field,) = (field for field in step.after if field.name == 'front')
    sent = forge.heard('/camera/image_raw', field.captured)
    what = {**sent.what, 'data': bytes(len(sent.what['data']))}
    forge.raw('/camera/image_raw', lambda s: replace(s, what=what) if s is sent else s)


def scan_on_its_topic(forge: Forge) -> None:
    # The scan itself is changed afterwards, on its topic; what was made of it stays.
    slowed = forge.decision(is_slowed)
    (m,) = (m for m in slowed.inputs.measurements if m.name == 'obstacle.scan')
    sent = forge.heard('/scan', m.captured)
    what = {**sent.what, 'ranges': [4.0] * 36}
    forge.raw('/scan', lambda s: replace(s, what=what) if s is sent else s)


def sensor_message_taken_out(forge: Forge) -> None:
    # The message that a measurement is of is gone from its topic.
    slowed = forge.decision(is_slowed)
    (m,) = (m for m in slowed.inputs.measurements if m.name == 'obstacle.scan')
    sent = forge.heard('/scan', m.captured)
    forge.raw('/scan', lambda s: None if s is sent else s)


def goal_moved(forge: Forge) -> None:
    # Another goal in every observation of the episode, the rewards with it.
    episode = forge.steps[0].id.episode_id
    values = next(f.values for f in forge.steps[0].after if f.name == 'goal')
    moved = (values[0] - 0.2, values[1])

    def change(value: Any) -> Any:
        if isinstance(value, ObservationField) and value.values == values:
            return replace(value, values=moved)
        return value

    assert episode
    forge.everywhere(change)
    forge.rewarded()


# What the evaluator saw, and what the robot did --------------------------------------------------


def truth_mended(forge: Forge) -> None:
    # The true pose is brought to where the policy thought it was.
    step = forge.step(is_driving)
    (pose,) = (field for field in step.after if field.name == 'pose')

    def change(value: Any) -> Any:
        if isinstance(value, PrivilegedObservation) and value.id == step.id:
            return replace(
                value,
                fields=tuple(
                    replace(f, values=tuple(v + 1e-3 for v in pose.values))
                    if f.name == 'true_pose'
                    else f
                    for f in value.fields
                ),
            )
        return value

    forge.everywhere(change)


def truth_shown(forge: Forge) -> None:
    # The policy was fed the true pose, as that of the detector: every record agrees.
    truly = {
        record.id: field.values
        for sent in forge.tape
        if isinstance(record := sent.what, PrivilegedObservation)
        for field in record.fields
        if field.name == 'true_pose'
    }
    told = {
        field: replace(field, values=truly[step.id])
        for step in forge.steps
        for field in step.after
        if field.name == 'pose'
    }
    forge.everywhere(lambda v: told.get(v, v) if isinstance(v, ObservationField) else v)
    forge.rewarded()


def renamed(
    kind: type[PrivilegedObservation] | type[ActuationEvidence], forge: Forge, **changes: Any
) -> None:
    """Give every record of a kind another identity."""
    forge.everywhere(
        lambda v: replace(v, id=replace(v.id, **changes)) if isinstance(v, kind) else v
    )


def truth_shown_but_of_nobody(forge: Forge) -> None:
    truth_shown(forge)
    renamed(PrivilegedObservation, forge, agent='nobody')


def truth_of_another_episode(forge: Forge) -> None:
    renamed(PrivilegedObservation, forge, episode_id='0')


def truth_in_another_frame(forge: Forge) -> None:
    def change(value: Any) -> Any:
        if isinstance(value, PrivilegedObservation):
            fields = tuple(replace(field, frame_id='moon') for field in value.fields)
            return replace(value, fields=fields)
        return value

    forge.everywhere(change)


def evidence_of(**changes: Any) -> Callable[[Forge], None]:
    """Return a forgery of the identity of evidence of execution."""
    return lambda forge: renamed(ActuationEvidence, forge, **changes)


def evidence_saying(**changes: Any) -> Callable[[Forge], None]:
    """Return a forgery of what evidence of execution says."""
    return lambda forge: forge.everywhere(
        lambda v: replace(v, **changes) if isinstance(v, ActuationEvidence) else v
    )


def measured_action_and_message(forge: Forge) -> None:
    # The robot did what it was told, so the step says, and the late evidence too.
    step = forge.step(is_driving)

    def change(value: Any) -> Any:
        if isinstance(value, Transition) and value.id == step.id:
            return replace(value, measured_action=value.commanded_action)
        if isinstance(value, ActuationEvidence) and value.id == step.id:
            return replace(value, measured=step.commanded_action)
        return value

    forge.everywhere(change)


def actuated_earlier(forge: Forge) -> None:
    # The robot reacted faster: the instant, the stage and the reaction time.
    step = forge.step(lambda s: s.actuated is not None)

    def change(value: Any) -> Any:
        if isinstance(value, Transition) and value.id == step.id:
            actuated = replace(value.actuated, nanoseconds=value.actuated.nanoseconds - 7 * MS)
            return remeasured(replace(value, actuated=actuated))
        return value

    forge.everywhere(change)
