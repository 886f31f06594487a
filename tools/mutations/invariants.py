# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The invariants of the gate: each with the source that keeps it, and the tests that fail without.

The sentences are those of ``doc/nodes/safety_gate.md``. A fragment is found exactly once in its
file; what stands there instead does as if nobody had thought of the invariant.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutation:
    """
    One invariant, taken out.

    Attributes
    ----------
    invariant
        What holds no more.
    file
        Below the package.
    fragment, instead
        The source that keeps it, and what is to stand there.
    tests
        Below ``test``; every one has to fail.

    """

    invariant: str
    file: str
    fragment: str
    instead: str
    tests: tuple[str, ...]


ADMISSION = 'core/gate/rules/admission.py'
STOPPING = 'core/gate/rules/stopping.py'
MACHINERY = 'core/gate/rules/machinery.py'
SENSORS = 'core/gate/rules/sensors.py'
RULE = 'core/gate/rules/rule.py'
NEEDS = 'core/gate/rules/limits.py'
BRAKING = 'core/gate/rules/braking.py'
SHAPING = 'core/gate/rules/evaluate.py'
MOTION = 'core/gate/rules/motion.py'
OBSTACLES = 'core/gate/rules/obstacles.py'
ROTATION = 'core/gate/rules/rotation.py'
SCALE_TOGETHER = 'core/gate/rules/scale_together.py'
RULING = 'core/gate/rules/evaluate.py'
COMMANDS = 'core/gate/commands.py'
MEASURED = 'core/gate/rules/measured.py'
GATE = 'core/gate/gate.py'
REDUCER = 'core/gate/reducer.py'
STATE = 'core/gate/gate_state.py'
AUTHORITY = 'core/gate/lease.py'
SENSES = 'core/gate/sensor_readings.py'
OUTPUT = 'core/gate/command_history.py'
NO_ESTIMATE = 'core/sources/no_estimate.py'
WORKSPACES = 'core/gate/rules/workspace.py'
UNDER_WAY = 'core/gate/rules/pending_motion.py'
TIGHTENING = 'core/gate/rules/runtime_limits.py'
GEOMETRY = 'core/gate/geometry.py'
DRIVER_PROBE = 'core/gate/driver_probe.py'
HEALTH = 'core/gate/health.py'
LASER_SCAN = 'core/sources/laser_scan.py'
OBSTACLE_DISTANCE = 'core/sources/obstacle_distance.py'
POINT_CLOUD = 'core/sources/point_cloud.py'
INPUTS = 'core/sources/inputs.py'
PROFILE = 'core/gate/motion_profile.py'
PUBLISHERS = 'core/gate/other_publishers.py'
DOCUMENTS = 'core/gate/rules/document_rules.py'
JUDGE = 'core/gate/rules/judge.py'

_REFUSALS = 'core/gate/test_gate_refusals.py::test_'
_CHUNKS = 'core/gate/test_gate_chunks.py::test_'
_LIMITS = 'core/gate/test_gate_limits.py::test_'
_LEASES = 'core/gate/test_gate_leases.py::test_'
_SILENCE = 'core/gate/test_gate_silence.py::test_'
_HOLD = 'core/gate/test_gate_hold.py::test_'
_IN_FORCE = 'core/gate/test_gate_in_force.py::test_'
_PRESSED = 'core/gate/test_gate_emergency_stop.py::test_'
_DEACTIVATION = 'core/gate/test_gate_deactivation.py::test_'
_LOCKSTEP = 'core/gate/test_gate_lockstep.py::test_'
_NO_ESTIMATE = 'core/sources/test_no_estimate.py::test_'
_OBSTACLES = 'core/gate/test_gate_obstacles.py::test_'
_RULES = 'core/gate/test_gate_rules.py::test_'
_MOTION = 'core/gate/test_gate_motion.py::test_'
_OF_MOTION = 'core/gate/test_limits_of_motion.py::test_'
_ROTATION = 'core/gate/test_gate_rotation.py::test_'
_SCALE_TOGETHER = 'core/gate/test_gate_scale_together.py::test_'
_PUBLISHERS = 'core/gate/test_other_publishers.py::test_'
_DOCUMENTS = 'core/sources/test_json_documents.py::test_'
_COMMANDS = 'core/gate/test_commands.py::test_'
_WORKSPACE = 'core/gate/test_workspace.py::test_'
_REPUBLISH = 'core/gate/test_gate_republish.py::test_'
_HEALTH = 'core/gate/test_gate_health.py::test_'
_FOREIGN = 'core/gate/test_gate_foreign_commands.py::test_'
_WRAP = 'core/gate/test_gate_wrap.py::test_'
_TURNS = 'core/gate/test_gate_turns.py::test_'
_IN_TIME = 'core/gate/test_gate_in_time.py::test_'
_OPERATOR = 'core/gate/test_gate_operator.py::test_'
_PLAN = 'core/gate/test_gate_evaluate_actions.py::test_'
_TIGHTENING = 'core/gate/test_gate_tightening.py::test_'
_PROBE = 'core/gate/test_driver_probe.py::test_'
_GEOMETRY = 'core/gate/test_geometry.py::test_'
_SCAN = 'core/sources/test_laser_scan.py::test_'
_INPUTS = 'core/sources/test_inputs.py::test_'
_DISTANCE = 'core/sources/test_obstacle_distance.py::test_'
_PROFILE = 'core/gate/test_motion_profile.py::test_'

_IS_IT_A_COMMAND = (
    Mutation(
        'An action of another size is no command',
        ADMISSION,
        '    if len(action) != size:',
        '    if False:',
        (_REFUSALS + 'an_action_of_another_shape_is_rejected',),
    ),
    Mutation(
        'A chunk has at most the horizon of the contract',
        ADMISSION,
        '    if not 1 <= horizon <= most:',
        '    if False:',
        (
            _CHUNKS + 'a_chunk_longer_than_the_horizon_is_rejected_whole',
            _CHUNKS + 'a_contract_without_chunks_takes_none',
        ),
    ),
    Mutation(
        'A number that is not finite is no command',
        ADMISSION,
        '        if not math.isfinite(value)',
        '        if False',
        (
            _REFUSALS + 'a_number_that_is_not_finite_is_rejected',
            _CHUNKS + 'one_number_that_is_not_finite_rejects_the_whole_chunk',
        ),
    ),
    Mutation(
        'Nobody is heard under another contract',
        ADMISSION,
        '    if request.id.digest != digest:',
        '    if False:',
        (_REFUSALS + 'only_the_holder_of_the_lease_is_heard',),
    ),
    Mutation(
        'Nobody is heard for another agent',
        ADMISSION,
        '    if request.id.agent != agent:',
        '    if False:',
        (_REFUSALS + 'only_the_holder_of_the_lease_is_heard',),
    ),
    Mutation(
        'Nobody is heard before and after the episode',
        ADMISSION,
        '    if not (inputs.armed and inputs.running):',
        '    if not inputs.armed:',
        (
            _REFUSALS + 'an_action_before_the_episode_runs_is_rejected',
            _REFUSALS + 'an_action_after_the_episode_is_rejected',
        ),
    ),
    Mutation(
        'Nobody is heard for another episode',
        ADMISSION,
        '    if request.id.episode_id != inputs.lease_episode:',
        '    if False:',
        (_REFUSALS + 'only_the_holder_of_the_lease_is_heard',),
    ),
    Mutation(
        'Nobody but the holder of the lease is heard',
        ADMISSION,
        '    if request.lease_id != inputs.lease_id:',
        '    if False:',
        (
            _REFUSALS + 'only_the_holder_of_the_lease_is_heard',
            _LOCKSTEP + 'a_stranger_does_not_take_the_place_of_a_request_that_waits',
        ),
    ),
    Mutation(
        'Each sequence number is heard once, and upwards',
        ADMISSION,
        '    if 0 < request.sequence - inputs.last_sequence <= MOST_SKIPPED:',
        '    if request.sequence - inputs.last_sequence <= MOST_SKIPPED:',
        (
            _REFUSALS + 'a_request_that_came_twice_moves_the_robot_once',
            _REFUSALS + 'a_request_that_was_overtaken_is_rejected_and_a_gap_is_not',
        ),
    ),
    Mutation(
        'The last sequence number that was heard is remembered',
        REDUCER,
        '        state = replace(state, lease_state=state.lease_state.after_request(request))\n',
        '',
        (_REFUSALS + 'a_request_that_came_twice_moves_the_robot_once',),
    ),
    Mutation(
        'An action that answers an old or unknown observation is no command',
        ADMISSION,
        '    if observation_age is not None and abs(observation_age) <= limit:',
        '    if True:',
        (_REFUSALS + 'an_action_that_answers_an_old_or_unknown_observation_is_rejected',),
    ),
    Mutation(
        'An action that answers an observation of the future is no command',
        ADMISSION,
        'abs(observation_age) <= limit',
        'observation_age <= limit',
        (_REFUSALS + 'an_action_that_answers_an_observation_of_the_future_is_rejected',),
    ),
    Mutation(
        'The age of an action is steady time, whatever the ROS clock does',
        ADMISSION,
        'None if lockstep else elapsed(request.observed, received)',
        'None',
        (_REFUSALS + 'the_age_of_an_action_is_steady_time_whatever_the_ros_clock_does',),
    ),
    Mutation(
        'An index that names nothing is no command',
        COMMANDS,
        '        if not (value.is_integer() and 0 <= value < len(options)):',
        '        if not 0 <= value < len(options):',
        (_COMMANDS + 'an_index_that_names_nothing_is_refused',),
    ),
    Mutation(
        'A difference is at most what the contract says',
        COMMANDS,
        '        allowed = min(max(value, -most), most)',
        '        allowed = value',
        (_COMMANDS + 'a_delta_beyond_its_most_is_limited_and_says_so',),
    ),
    Mutation(
        'A difference to nothing known is no command',
        COMMANDS,
        '            if before is None:\n                known = False\n'
        '                continue\n',
        '            before = before or (0.0,) * group.size\n',
        (_COMMANDS + 'a_delta_to_nothing_known_is_no_command',),
    ),
    Mutation(
        'Four numbers that are no rotation are no command',
        ROTATION,
        '        if not abs(norm - 1.0) <= NOT_MEANT:',
        '        if False:',
        (_ROTATION + 'what_is_no_rotation_is_no_command',),
    ),
)

_MUST_IT_STOP = (
    Mutation(
        'The emergency stop stops',
        MACHINERY,
        ' if inputs.emergency_stop else ()',
        ' if False else ()',
        (_PRESSED + 'the_emergency_stop_brakes_at_once_and_latches',),
    ),
    Mutation(
        'The emergency stop latches',
        AUTHORITY,
        'emergency=self.emergency or pressed)',
        'emergency=pressed)',
        (_PRESSED + 'the_emergency_stop_brakes_at_once_and_latches',),
    ),
    Mutation(
        'The emergency stop does not wait for the timer',
        REDUCER,
        'self._run_timer(state, event) if latches else (state, ())',
        '(state, ()) if latches else (state, ())',
        (
            _PRESSED + 'the_emergency_stop_brakes_at_once_and_latches',
            _LOCKSTEP + 'the_emergency_stop_does_not_wait_for_the_world',
        ),
    ),
    Mutation(
        'A latched emergency stop refuses arming',
        REDUCER,
        '        lease_state.check_released()\n        self._refuse_unpublished',
        '        self._refuse_unpublished',
        (_PRESSED + 'a_latched_emergency_stop_refuses_arming',),
    ),
    Mutation(
        'A pressed emergency stop is not cleared',
        AUTHORITY,
        '        if self.pressed:\n            raise',
        '        if False:\n            raise',
        (_PRESSED + 'a_pressed_emergency_stop_is_not_cleared',),
    ),
    Mutation(
        'The emergency stop is not cleared while its episode runs',
        AUTHORITY,
        '        if self.running:\n            raise',
        '        if False:\n            raise',
        (_PRESSED + 'the_emergency_stop_is_not_cleared_while_its_episode_runs',),
    ),
    Mutation(
        'With the emergency stop its lease is gone',
        REDUCER,
        'lease_state=state.lease_state.cleared()).without_lease()',
        'lease_state=state.lease_state.cleared())',
        (_PRESSED + 'a_lease_from_before_the_emergency_stop_does_not_outlive_its_clearing',),
    ),
    Mutation(
        'A gate that is deactivated brakes to the end',
        REDUCER,
        '        if not output.command or not state.moving:\n',
        '        if True:\n',
        (_DEACTIVATION + 'a_gate_that_is_deactivated_follows_the_stop_profile_to_the_end',),
    ),
    Mutation(
        'Silence of the environment stops',
        MACHINERY,
        '(since is not None and since <= limit)',
        'True',
        (
            _SILENCE + 'silence_stops_within_its_bound_though_the_policy_goes_on',
            _LOCKSTEP + 'the_silence_of_the_environment_stops_in_lockstep_too',
        ),
    ),
    Mutation(
        'Silence of a sensor that a rule needs stops',
        SENSORS,
        '        if not need.fresh(measurement):',
        '        if measurement is None:',
        (
            _SILENCE + 'silence_stops_within_its_bound_though_the_policy_goes_on',
            _SILENCE + 'a_scan_that_fell_silent_during_the_reset_keeps_the_robot_still',
            _HOLD + 'a_field_that_holds_and_fell_silent_during_the_reset_holds',
        ),
    ),
    Mutation(
        'A field that holds has a bound of its own',
        NEEDS,
        'Need(most=field.max_age, size=1)',
        'Need(most=timeout, size=1)',
        (
            _HOLD + 'a_field_that_holds_stops_by_the_timer_too',
            _HOLD + 'in_lockstep_a_field_that_holds_is_judged_by_the_time_of_the_world',
        ),
    ),
    Mutation(
        'Frozen stamps are silence, however punctual',
        SENSES,
        'age = received if age is None else max(received, abs(age))',
        'age = received',
        (
            _SILENCE + 'a_sensor_that_is_punctual_with_frozen_stamps_is_a_silent_one',
            _HOLD + 'a_field_that_is_punctual_with_old_values_holds_too',
        ),
    ),
    Mutation(
        'A stamp of the future is as bad as one of the past',
        SENSES,
        'max(received, abs(age))',
        'max(received, age)',
        (_SILENCE + 'a_sensor_from_the_future_is_no_better_than_one_from_the_past',),
    ),
    Mutation(
        'Silence is counted on the steady clock, whatever stamps say',
        SENSES,
        'age = received if age is None else max(received, abs(age))',
        'age = 0.0 if age is None else abs(age)',
        (_SILENCE + 'a_sensor_without_a_stamp_is_judged_by_its_arrival',),
    ),
    Mutation(
        'A sensor that says NaN, or nothing, stops',
        SENSORS,
        'elif not need.usable(measurement):',
        'elif False:',
        (_OBSTACLES + 'a_scan_that_says_nothing_is_not_free_space',),
    ),
    Mutation(
        'A sensor that says that it has no estimate stops',
        NO_ESTIMATE,
        'if not matches(get(message)):',
        'if True:',
        (_NO_ESTIMATE + 'a_gate_whose_rule_reads_it_stops_the_robot',),
    ),
    Mutation(
        'A robot that is to be watched and says what cannot be true is stopped',
        NEEDS,
        'Need(most=timeout, size=group.size)',
        'Need(most=timeout, size=group.size, infinite=group.size)',
        (_REPUBLISH + 'what_is_measured_and_cannot_be_true_is_not_gone_on_from_but_stops',),
    ),
    Mutation(
        'A robot of which nobody knows what it does is stopped',
        SENSORS,
        '    if limits.names and not inputs.previous_command:',
        '    if False:',
        (_LIMITS + 'without_a_measured_state_nothing_but_the_safe_command_goes_out',),
    ),
    Mutation(
        'An obstacle in the stop zone stops',
        OBSTACLES,
        '        elif distance < rule.stop_distance:',
        '        elif False:',
        (
            _OBSTACLES + 'an_obstacle_in_the_stop_zone_stops_the_robot',
            _OBSTACLES + 'an_obstacle_behind_stops_the_way_back',
        ),
    ),
    Mutation(
        'A sector without enough usable beams is not free space',
        OBSTACLES,
        '        if valid < rule.min_valid:',
        '        if False:',
        (_OBSTACLES + 'a_sector_without_enough_usable_beams_is_not_free_space',),
    ),
    Mutation(
        'A robot that still moves ahead stops though it is told to back away',
        OBSTACLES,
        '        if not _heads(rule.dimension, sign, inputs.previous_command, wanted):',
        '        if not _heads(rule.dimension, sign, wanted):',
        (_OBSTACLES + 'a_robot_that_still_moves_ahead_stops_though_it_is_told_to_back_away',),
    ),
    Mutation(
        'Silence of the policy stops',
        MACHINERY,
        ' if since > limit else ()',
        ' if False else ()',
        (
            _SILENCE + 'a_late_policy_is_held_and_a_silent_one_stopped_within_the_bound',
            _SILENCE + 'a_silent_policy_comes_to_rest_along_the_stop_profile',
            _LOCKSTEP + 'a_policy_that_is_silent_past_the_deadline_is_stopped',
        ),
    ),
    Mutation(
        'Whoever asks for nothing that may be published is as good as silent',
        REDUCER,
        'last_request=state.last_request if rejected else at.now.steady',
        'last_request=at.now.steady',
        (_SILENCE + 'a_policy_whose_actions_are_all_out_of_bounds_is_a_silent_one',),
    ),
    Mutation(
        'In lockstep what the world shows is judged with the next request',
        RULE,
        '    return inputs.others_turn or not (',
        '    return True or not (',
        (_LOCKSTEP + 'what_the_world_shows_is_judged_with_the_next_request_not_by_the_timer',),
    ),
    Mutation(
        'A stop goes before whatever was asked for',
        RULING,
        '    if results or wanted is None:',
        '    if wanted is None:',
        (
            _RULES + 'a_stop_goes_before_a_refusal_for_bounds',
            _OBSTACLES + 'an_obstacle_in_the_stop_zone_stops_the_robot',
        ),
    ),
    Mutation(
        'To stop is to follow the stop profile, no faster',
        BRAKING,
        'towards(previous, safe, stop * inputs.time_step)',
        'safe',
        (
            _RULES + 'braking_goes_towards_the_safe_command_and_never_past_it',
            _SILENCE + 'a_silent_policy_comes_to_rest_along_the_stop_profile',
        ),
    ),
    Mutation(
        'To stop is to follow the stop profile, no slower',
        BRAKING,
        'stop * inputs.time_step',
        '0.5 * stop * inputs.time_step',
        (_SILENCE + 'a_silent_policy_comes_to_rest_along_the_stop_profile',),
    ),
    Mutation(
        'A place is seeded where it is, even outside of its bounds',
        MEASURED,
        'value if math.isnan(safe) else min(max(value, low), high)',
        'min(max(value, low), high)',
        (_HOLD + 'a_stop_before_any_action_leaves_an_arm_outside_of_its_bounds_where_it_is',),
    ),
    Mutation(
        'Only what is beyond the bounds of the contract is rejected, not beyond stricter ones',
        RULING,
        '        low, high = limits.declared[i]\n',
        '        low, high = limits.low[i], limits.high[i]\n',
        (_TIGHTENING + 'where_the_contract_rejects_too_a_robot_comes_inside_of_a_stricter_bound',),
    ),
    Mutation(
        'A rate holds over the duration of a trajectory',
        MOTION,
        'rate, seconds = limits.rate[i], min(step, limits.within[i])',
        'rate, seconds = limits.rate[i], step',
        (_HOLD + 'a_rate_is_that_of_the_trajectory_where_it_is_shorter_than_the_period',),
    ),
    Mutation(
        'Where to stop is to stay, the last command is kept',
        BRAKING,
        '        run_on(limits, inputs, i)[0]\n',
        '        0.0\n',
        (
            _HOLD + 'an_emergency_stop_stays_at_the_last_command',
            _HOLD + 'a_base_brakes_while_its_arm_stays',
        ),
    ),
    Mutation(
        'Where nobody knows where to stay nothing is published',
        BRAKING,
        '        return () if any(map(math.isnan, limits.safe)) else limits.safe',
        '        return tuple(0.0 if math.isnan(s) else s for s in limits.safe)',
        (_HOLD + 'nothing_is_published_while_nobody_knows_where_the_arm_is',),
    ),
)

_WHAT_MAY_BE_PUBLISHED = (
    Mutation(
        'Nothing outside the bounds is published',
        SHAPING,
        '        if bound != value:',
        '        if False:',
        (
            _LIMITS + 'whatever_is_asked_for_stays_inside_the_bounds',
            _LIMITS + 'a_clipped_action_says_which_dimension_and_by_how_much',
        ),
    ),
    Mutation(
        'Where the contract refuses what is beyond bounds it is refused whole',
        RULING,
        '        if limits.reject_beyond[i] and not low <= value <= high:\n',
        '        if False:\n',
        (_LIMITS + 'a_group_that_rejects_refuses_what_is_out_of_bounds_whole',),
    ),
    Mutation(
        'An obstacle in the slow zone slows down',
        OBSTACLES,
        '    if speed > rule.slow_speed and distance < rule.slow_distance:',
        '    if False:',
        (
            _OBSTACLES + 'an_obstacle_in_the_slow_zone_limits_the_speed',
            _SILENCE + 'a_held_command_still_slows_down_before_an_obstacle',
        ),
    ),
    Mutation(
        'The rate bounds the emitted sequence',
        MOTION,
        '        after = towards(previous[i], shaped.values[i], rate * seconds)',
        '        after = shaped.values[i]',
        (
            _LIMITS + 'the_first_action_of_an_episode_is_limited_from_the_measured_state',
            _LIMITS + 'a_flood_of_requests_is_no_faster_than_one',
            _RULES + 'what_is_published_lies_within_the_bounds_and_the_rate',
        ),
    ),
    Mutation(
        'Acceleration and jerk bound the emitted sequence',
        MOTION,
        '    end = advance(profile, start, tuple(shaped.values[i] for i in dimensions), step)',
        '    there = tuple(\n'
        '        towards(previous[i], shaped.values[i], limits.rate[i] * step)\n'
        '        for i in dimensions\n'
        '    )\n'
        '    end = MotionState(\n'
        '        position=there, velocity=start.velocity, acceleration=start.acceleration\n'
        '    )',
        (_MOTION + 'nor_does_it_while_the_policy_swings_from_one_end_to_the_other',),
    ),
    Mutation(
        'A hold comes to rest within the limits',
        MOTION,
        '    place = settle(limits.profile, _state(limits, inputs, previous))',
        '    place = tuple(previous[i] for i in limits.profiled)',
        (_MOTION + 'a_hold_comes_to_rest_where_it_was_announced',),
    ),
    Mutation(
        'After a stop the profile begins again from rest',
        MOTION,
        'run_on(limits, inputs, i)[1] if math.isnan(limits.safe[i]) else 0.0\n',
        'rate[i]\n',
        (_MOTION + 'after_a_stop_the_profile_begins_anew_from_rest',),
    ),
    Mutation(
        'A rotation is turned no faster than allowed',
        ROTATION,
        '    if angle <= most:',
        '    if True:',
        (
            _ROTATION
            + 'whatever_is_asked_for_a_rotation_is_emitted_that_was_turned_no_faster_than_allowed',
        ),
    ),
    Mutation(
        'What is nearly a rotation is made one',
        ROTATION,
        '        if abs(norm - 1.0) > AS_GOOD_AS_ONE:',
        '        if False:',
        (_ROTATION + 'what_is_nearly_a_rotation_is_made_one_and_that_is_told',),
    ),
    Mutation(
        'A twist that is limited keeps its curvature',
        SHAPING,
        '    keep_curvature(limits, wanted, shaped)\n',
        '',
        (
            _SCALE_TOGETHER + 'what_is_beyond_its_bounds_is_scaled_as_a_whole',
            _SCALE_TOGETHER + 'what_is_slowed_before_an_obstacle_is_scaled_as_a_whole',
        ),
    ),
    Mutation(
        'A command that left late takes its delay from the next',
        OUTPUT,
        'out=max(self.out, at.steady)',
        'out=self.out',
        (
            'core/gate/test_gate_limits.py::test_a_command_that_left_late_takes_its_delay_from_the_next',
        ),
    ),
    Mutation(
        'A twist whose rate is limited keeps its curvature',
        MOTION,
        '    if limits.curvatures:',
        '    if False:',
        (
            _SCALE_TOGETHER
            + 'the_dimension_that_is_too_fast_is_told_as_that_and_the_other_as_scaled',
        ),
    ),
    Mutation(
        'An action out of turn is refused',
        JUDGE,
        'refusals or out_of_turn(contract, agent, step)',
        'refusals',
        (_TURNS + 'an_action_out_of_turn_is_refused_and_says_whose_step_is_its_next',),
    ),
    Mutation(
        'In realtime the turn is that of the step which goes on',
        'core/gate/rules/agent_order.py',
        'if closed < step <= closed + ahead:',
        'if True:',
        (_TURNS + 'in_realtime_the_turn_is_that_of_the_step_which_goes_on',),
    ),
    Mutation(
        'In lockstep a step is acted on once',
        ADMISSION,
        'if request.id.step > last_step:',
        'if True:',
        (
            _LOCKSTEP + 'a_step_is_acted_on_once_however_often_it_is_asked_for',
            _LOCKSTEP + 'a_step_of_a_chunk_is_not_acted_on_again',
        ),
    ),
    Mutation(
        'In lockstep no step is acted on that the world has made',
        REDUCER,
        'max(lease.last_step, readings.reached(lease.episode_id))',
        'lease.last_step',
        (_LOCKSTEP + 'an_action_for_a_step_that_the_world_has_made_is_refused',),
    ),
    Mutation(
        'In lockstep a refused action is the action of its step',
        REDUCER,
        '            lease_state = state.lease_state.acted_on(step)\n',
        '            lease_state = state.lease_state\n',
        (_LOCKSTEP + 'a_refused_action_is_the_action_of_its_step',),
    ),
    Mutation(
        'A rate is enough for a robot that was faster before',
        REDUCER,
        'before = self._judge.limits if not rests else state.limits if leased else limits',
        'before = state.limits if leased else limits',
        (
            _TIGHTENING
            + 'a_rate_is_enough_for_a_robot_that_was_faster_before_its_bounds_were_lowered',
        ),
    ),
    Mutation(
        'In lockstep a chunk that the world has left behind is dropped',
        REDUCER,
        'if self._lockstep and chunk.step <= state.readings.reached(chunk.request.id.episode_id):',
        'if False:',
        (_LOCKSTEP + 'a_chunk_that_the_world_has_left_behind_is_dropped',),
    ),
    Mutation(
        'In lockstep a hand goes before a request that waited for the world',
        REDUCER,
        'measurements = readings.measurements(now)',
        'measurements = readings.measurements(now if requested is None else requested.received)',
        (_OPERATOR + 'in_lockstep_a_hand_goes_before_a_request_that_waited_for_the_world',),
    ),
    Mutation(
        'In lockstep a takeover ends a chunk',
        REDUCER,
        '            return self._yield_to_operator(state, chunk, Trigger.CHUNK, at)\n',
        '            return state, ()\n',
        (_OPERATOR + 'in_lockstep_a_takeover_ends_a_chunk_and_the_world_goes_on',),
    ),
    Mutation(
        'In lockstep all rules hold while another acts',
        RULE,
        '    return inputs.others_turn or not (',
        '    return not (',
        (_TURNS + 'all_rules_hold_while_another_acts_and_a_stop_lasts_until_its_own_turn',),
    ),
    Mutation(
        'In lockstep the gate holds once in a step of another',
        REDUCER,
        'waits = state.held_for == step or state.readings.awaits(*step)',
        'waits = state.readings.awaits(*step)',
        (_TURNS + 'in_the_step_of_another_the_command_in_force_goes_on_once',),
    ),
    Mutation(
        'A pause saves up no speed',
        OUTPUT,
        'return min(max(self._since_sent(now), 0.0), self.contract.period)',
        'return max(self._since_sent(now), 0.0)',
        (_LIMITS + 'a_pause_saves_up_no_speed',),
    ),
    Mutation(
        'Readings of the clock that overtake each other leave no time to move',
        OUTPUT,
        'return min(max(self._since_sent(now), 0.0), self.contract.period)',
        'return min(self._since_sent(now), self.contract.period)',
        (_LIMITS + 'readings_of_the_clock_that_overtake_each_other_leave_no_time_to_move',),
    ),
    Mutation(
        'A driver that was seen to brake is sent no ramp',
        OUTPUT,
        'index in self.braked\n            or since',
        'since',
        (_PROBE + 'a_driver_that_brakes_sooner_than_declared_is_not_set_in_motion_again',),
    ),
    Mutation(
        'What is told at one instant is remembered by its extremes',
        UNDER_WAY,
        'if len(sent) > _SAME_INSTANT and',
        'if False and',
        ('core/gate/test_workspace.py::test_a_repeated_step_is_remembered_by_its_extremes',),
    ),
    Mutation(
        'The time of a command counts for the next one',
        OUTPUT,
        '            out=now.steady,\n',
        '            out=self.out or now.steady,\n',
        (_LIMITS + 'a_flood_of_requests_is_no_faster_than_one',),
    ),
    Mutation(
        'In lockstep a step is a period, however long it took',
        OUTPUT,
        '        if self.out is None or self.contract.is_lockstep:',
        '        if self.out is None:',
        (_LOCKSTEP + 'the_rate_is_that_of_one_period_however_long_the_policy_thought',),
    ),
    Mutation(
        'What begins anew leaves the motion of the others as it is',
        OUTPUT,
        '        if last is None or not previous or all(taken_over):\n',
        '        if True:\n',
        (_IN_FORCE + 'what_begins_anew_leaves_the_motion_of_the_others_as_it_is',),
    ),
    Mutation(
        'What begins anew begins at rest',
        OUTPUT,
        '            not taken and was == begins\n',
        '            True\n',
        (_IN_FORCE + 'what_begins_anew_leaves_the_motion_of_the_others_as_it_is',),
    ),
    Mutation(
        'A driver that wraps what it reads is not sent back by a turn',
        OUTPUT,
        'if i in limits.angles else value',
        'if False else value',
        (_WRAP + 'neither_a_stop_nor_a_request_after_a_silence_turns_the_table_back',),
    ),
    Mutation(
        'A rate at which the robot cannot brake in time is refused',
        REDUCER,
        '            refuse_too_slow(limits, before)\n',
        '            pass\n',
        (
            _TIGHTENING + 'a_rate_at_which_the_robot_would_hit_an_obstacle_is_refused',
            _TIGHTENING + 'a_rate_at_which_a_place_could_not_be_kept_is_refused',
            _TIGHTENING + 'at_a_rate_that_is_accepted_the_robot_stops_before_an_obstacle',
        ),
    ),
    Mutation(
        'The first command starts from the measured state',
        OUTPUT,
        'else (known, True)',
        'else ((0.0,) * len(limits.low), True)',
        (
            _LIMITS + 'the_first_action_of_an_episode_is_limited_from_the_measured_state',
            _HOLD + 'the_first_command_starts_from_where_the_arm_is',
        ),
    ),
    Mutation(
        'A measured state that is not finite is unknown',
        MEASURED,
        ' or not need.usable(measurement)',
        '',
        (_LIMITS + 'a_measured_state_that_is_not_finite_is_unknown_and_never_published',),
    ),
    Mutation(
        'A measured state that is too old is unknown',
        MEASURED,
        ' or not need.fresh(measurement)',
        '',
        (_LIMITS + 'a_measured_state_that_is_too_old_seeds_nothing',),
    ),
    Mutation(
        'A measured rotation is made a unit quaternion',
        MEASURED,
        'measured = measured_rotations(limits, tuple(values))',
        'measured = tuple(values)',
        (
            _ROTATION + 'a_tool_starts_from_the_rotation_that_is_measured',
            _ROTATION + 'a_measured_state_that_is_no_rotation_is_unknown_and_stops',
        ),
    ),
    Mutation(
        'After the driver took over the next command starts from the measured state',
        OUTPUT,
        'since > (math.inf if group.driver_timeout is None else group.driver_timeout)\n',
        'False\n',
        (
            _LIMITS + 'a_gate_that_hung_sets_no_robot_in_motion_that_came_to_rest',
            _HOLD + 'after_the_driver_took_over_it_starts_from_where_the_arm_is',
        ),
    ),
    Mutation(
        'A command stays in force across leases',
        OUTPUT,
        '        if self.contract.episode.reset.moves_robot:\n            return self.dropped()\n',
        '        return self.dropped()\n',
        (
            _IN_FORCE + 'the_first_action_of_the_next_lease_goes_on_from_the_last_command',
            _IN_FORCE + 'a_gripper_does_not_let_go_between_two_episodes',
        ),
    ),
    Mutation(
        'What was measured before the last command seeds nothing',
        MEASURED,
        '            or (measurement.age is not None and measurement.age > since)\n',
        '',
        (
            _IN_FORCE
            + 'a_place_that_was_measured_before_the_last_command_is_not_where_the_robot_is',
            _IN_FORCE + 'a_stop_says_no_place_that_was_measured_before_the_last_command',
        ),
    ),
    Mutation(
        'A driver that took over frees no command of another one',
        MEASURED,
        '        elif left[i] and not math.isnan(is_):\n',
        '        elif not math.isnan(is_):\n',
        (_IN_FORCE + 'a_driver_that_took_over_frees_no_command_of_another_driver',),
    ),
    Mutation(
        'A command that the driver has braked from is not held',
        REDUCER,
        'lasts = commands.command is not None and not commands.driver_took_over(at.now)',
        'lasts = commands.command is not None',
        (_LIMITS + 'a_gate_that_hung_until_the_driver_braked_holds_no_command_any_more',),
    ),
)

_LEASE_AND_EPISODE = (
    Mutation(
        'A lease is granted for the episode that was announced, while it lasts',
        AUTHORITY,
        'if not known or episode_id != known:',
        'if episode is None:',
        (
            _LEASES + 'an_arming_is_refused_with_its_reason',
            _LEASES + 'an_ended_episode_cannot_be_armed_for',
        ),
    ),
    Mutation(
        'A lease that is out is granted to nobody else',
        AUTHORITY,
        '        if lease.holder == client and not lease.last_sequence:',
        '        if not lease.last_sequence:',
        (_LEASES + 'an_arming_is_refused_with_its_reason',),
    ),
    Mutation(
        'Nobody arms for no episode',
        AUTHORITY,
        'if not known or episode_id != known:',
        'if episode_id != known:',
        (_LEASES + 'nobody_arms_for_no_episode_while_the_environment_is_idle',),
    ),
    Mutation(
        'A lease that was used is handed to no second process of the same name',
        AUTHORITY,
        ' and not lease.last_sequence:',
        ':',
        (_LEASES + 'a_second_process_of_the_name_of_the_holder_does_not_share_its_lease',),
    ),
    Mutation(
        'A request with an absurd sequence silences nobody',
        ADMISSION,
        ' <= MOST_SKIPPED:',
        ':',
        (_LEASES + 'a_request_with_an_absurd_sequence_does_not_silence_the_holder',),
    ),
    Mutation(
        'An environment of another agent is not heard',
        REDUCER,
        '(status.id.digest, status.id.agent) != (lease_state.digest, lease_state.agent)',
        'status.id.digest != lease_state.digest',
        (_LEASES + 'what_the_environment_of_another_agent_says_is_not_heard',),
    ),
    Mutation(
        'A second publisher on what the gate goes by stops',
        MACHINERY,
        ' for x in inputs.foreign_publishers)',
        ' for x in ())',
        (_HEALTH + 'two_publishers_on_what_the_gate_goes_by_stop_and_the_topic_is_named',),
    ),
    Mutation(
        'Nobody arms a gate that does not hear what it needs',
        REDUCER,
        '        self._refuse_unavailable(state, now)\n',
        '',
        (
            _LEASES + 'a_gate_that_has_not_heard_a_sensor_yet_is_not_armed',
            _LEASES + 'a_gate_that_no_longer_hears_its_sensors_is_not_armed',
        ),
    ),
    Mutation(
        'Nobody arms a gate under another contract',
        AUTHORITY,
        '        refuse_another_digest(digest, self.digest)\n',
        '',
        (_LEASES + 'an_arming_is_refused_with_its_reason',),
    ),
    Mutation(
        'Nobody arms the gate of another agent',
        AUTHORITY,
        '        if agent != self.agent:\n',
        '        if False:\n',
        (_LEASES + 'an_arming_is_refused_with_its_reason',),
    ),
    Mutation(
        'Nobody arms a gate that heard what it needs too long ago',
        SENSES,
        '            elif not need.fresh(measurement):',
        '            elif False:',
        (_LEASES + 'a_gate_that_no_longer_hears_its_sensors_is_not_armed',),
    ),
    Mutation(
        'At the end of a lease what moves is braked',
        REDUCER,
        '        if state.lease_state.over or state.lease_state.braking is not None:\n',
        '        if False:\n',
        (
            _LEASES + 'at_the_end_of_the_episode_the_robot_is_braked_and_then_left_to_its_driver',
            _LEASES + 'an_episode_that_the_environment_replaced_is_over_too',
        ),
    ),
    Mutation(
        'A lease is over when the environment has begun another episode',
        AUTHORITY,
        'episode.id.episode_id != lease.episode_id or episode.state.over',
        'episode.state.over',
        (_LEASES + 'an_episode_that_the_environment_replaced_is_over_too',),
    ),
    Mutation(
        'A lease is good for its own episode only',
        AUTHORITY,
        '            and episode.id.episode_id == lease.episode_id\n',
        '',
        (_LEASES + 'a_lease_of_an_episode_that_was_replaced_is_good_for_nothing',),
    ),
    Mutation(
        'A new arming does not cut short the braking of the last episode',
        STATE,
        '        if self.moving and not self.limits.lockstep:\n',
        '        if False:\n',
        (
            _LEASES + 'a_new_arming_does_not_cut_short_the_braking_of_the_last_episode',
            _PRESSED + 'clearing_the_emergency_stop_does_not_cut_short_the_braking',
        ),
    ),
    Mutation(
        'While it brakes for the last episode it hears nothing of the next',
        AUTHORITY,
        '            and self.braking is None\n',
        '',
        (_LEASES + 'while_it_brakes_for_the_last_episode_it_hears_nothing_of_the_next',),
    ),
    Mutation(
        'At rest after its end a lease is gone',
        REDUCER,
        'lease = None if state.lease_state.over else state.lease_state.lease',
        'lease = state.lease_state.lease',
        ('core/gate/test_gate_status.py::test_the_status_follows_the_life_of_a_lease',),
    ),
    Mutation(
        'Armed for an episode that is being reset it publishes nothing',
        REDUCER,
        '        if not state.lease_state.running:\n            return state, ()  # armed',
        '        if False:\n            return state, ()  # armed',
        (_LEASES + 'during_the_reset_an_armed_gate_publishes_nothing',),
    ),
    Mutation(
        'An environment under another contract is not heard',
        REDUCER,
        '(status.id.digest, status.id.agent) != (lease_state.digest, lease_state.agent)',
        'status.id.agent != lease_state.agent',
        (_LEASES + 'an_environment_under_another_contract_is_not_heard',),
    ),
    Mutation(
        "The policy's time runs from the start of the episode",
        REDUCER,
        '        elif not was_running:',
        '        elif False:',
        (_LEASES + 'the_time_of_the_policy_runs_from_the_start_of_the_episode',),
    ),
    Mutation(
        'A late policy is held',
        REDUCER,
        '        if again is None and late <= safety.hold_timeout:',
        '        if again is None:',
        (_SILENCE + 'a_late_policy_is_held_and_a_silent_one_stopped_within_the_bound',),
    ),
    Mutation(
        "Armed in mid-episode the policy's time runs from the arming",
        STATE,
        '            last_request=now.steady,\n            pending=None,\n',
        '            pending=None,\n',
        (_LEASES + 'armed_in_mid_episode_the_time_of_the_policy_runs_from_the_arming',),
    ),
    Mutation(
        'A policy is not late before it is',
        REDUCER,
        '        if again is None and late <= safety.hold_timeout:',
        '        if False:',
        (_SILENCE + 'a_policy_is_not_late_before_it_is',),
    ),
    Mutation(
        'A held command is repeated once a period',
        REDUCER,
        '        if not state.commands.due(at.now, period):',
        '        if False:',
        (_SILENCE + 'a_held_command_is_repeated_once_a_period_not_at_every_tick',),
    ),
    Mutation(
        'At rest the stop is repeated once a period',
        REDUCER,
        '        if resting and not state.commands.due(at.now, self._contract.period):',
        '        if resting:',
        (_SILENCE + 'at_rest_the_stop_is_repeated_once_a_period',),
    ),
    Mutation(
        'An action of a chunk waits for its turn',
        REDUCER,
        '            if at.now.steady < chunk.due:',
        '            if False:',
        (_CHUNKS + 'the_actions_of_a_chunk_go_out_a_period_apart',),
    ),
    Mutation(
        'A newer request drops what is left of an older chunk',
        REDUCER,
        'chunk=None if rejected else chunk.next(self._contract.period)',
        'chunk=None if rejected else chunk.next(self._contract.period) or state.chunk',
        (_CHUNKS + 'a_newer_request_drops_what_is_left_of_an_older_one',),
    ),
    Mutation(
        'In lockstep a stop drops what is left of a chunk',
        REDUCER,
        'chunk=None if stopped or (by_hand and not self._lockstep) else state.chunk',
        'chunk=None if by_hand and not self._lockstep else state.chunk',
        # In realtime, what was stopped stays so until a request, which has a chunk of its own.
        (_LOCKSTEP + 'an_action_of_a_chunk_that_is_answered_by_a_stop_is_the_last_of_it',),
    ),
    Mutation(
        'In lockstep the end of the episode drops what is left of a chunk',
        REDUCER,
        '            state = replace(state, chunk=None)  # nothing of it outlives its episode\n',
        '            pass\n',
        (_LOCKSTEP + 'the_end_of_the_episode_drops_what_is_left_of_a_chunk',),
    ),
    Mutation(
        'A takeover drops what is left of a chunk',
        REDUCER,
        'chunk=None if stopped or (by_hand and not self._lockstep) else state.chunk',
        'chunk=None if stopped else state.chunk',
        ('core/gate/test_gate_operator.py::test_a_chunk_under_way_is_dropped_by_a_takeover',),
    ),
    Mutation(
        'In lockstep a request waits for the sensors of its observation',
        REDUCER,
        'self._lockstep and state.readings.awaits(request.id.episode_id, request.id.step)',
        'False',
        (
            _LOCKSTEP + 'a_request_waits_for_the_sensors_of_its_observation',
            _LOCKSTEP + 'a_request_waits_for_the_world_itself',
        ),
    ),
    Mutation(
        'In lockstep another client does not take the place of a request that waits',
        REDUCER,
        'if not_accepted(self._judge.refusals(self._agent, inputs, request, now, now)):',
        'if False:',
        (
            _LOCKSTEP + 'a_stranger_does_not_take_the_place_of_a_request_that_waits',
            _LOCKSTEP + 'a_malformed_request_does_not_wait',
        ),
    ),
    Mutation(
        'In lockstep an older request does not take the place of one that waits',
        REDUCER,
        '0 if waiting is None else waiting[0].sequence',
        '0',
        (_LOCKSTEP + 'an_older_request_does_not_take_the_place_of_one_that_waits',),
    ),
    Mutation(
        'In lockstep sensors are waited for no longer than the deadline',
        REDUCER,
        '        if state.pending is not None:\n            request, received',
        '        if False:\n            request, received',
        (_LOCKSTEP + 'a_request_whose_sensors_never_come_is_rejected_at_the_deadline',),
    ),
    Mutation(
        'A request that waited into the next lease is forgotten',
        STATE,
        '            pending=None,\n            chunk=None,\n',
        '            chunk=None,\n',
        (_LOCKSTEP + 'a_request_that_waited_into_the_next_lease_is_forgotten',),
    ),
    Mutation(
        'What the world said of the last episode is nothing to go by',
        SENSES,
        '        if report is None or report.report.id.episode_id != episode_id:',
        '        if report is None:',
        (_LOCKSTEP + 'what_the_world_said_of_the_last_episode_is_nothing_to_go_by',),
    ),
    Mutation(
        'In lockstep only the time of the world ages what it measured',
        SENSES,
        '        if not self.contract.is_lockstep:\n            received',
        '        if True:\n            received',
        (
            _LOCKSTEP + 'a_thinking_policy_is_not_silent_while_the_world_stands_still',
            _HOLD + 'in_lockstep_a_field_that_holds_is_judged_by_the_time_of_the_world',
        ),
    ),
)

_REST = (
    Mutation(
        'A gate whose timer is late stops',
        MACHINERY,
        '    if since is not None and since > limit and not limits.lockstep:',
        '    if False:',
        (_HEALTH + 'a_timer_that_comes_too_late_stops_the_robot_to_the_end',),
    ),
    Mutation(
        'What was decided before the gate hung is void',
        GATE,
        '            if late > self._contract.safety.gate_lateness:',
        '            if False:',
        (
            _IN_TIME + 'a_request_that_was_admitted_before_the_gate_hung_moves_nothing',
            _IN_TIME + 'a_step_of_the_timer_that_was_not_said_in_time_is_taken_back',
        ),
    ),
    Mutation(
        'What was stopped stays stopped until something is asked for',
        STOPPING,
        '    if inputs.stopped and by_timer and not results and',
        '    if False and',
        (
            _HEALTH + 'after_a_late_timer_nothing_moves_until_something_new_is_asked_for',
            _REPUBLISH + 'a_stop_whose_cause_vanished_goes_on_until_an_action_comes',
        ),
    ),
    Mutation(
        'A clock that jumps stops',
        MACHINERY,
        ' if jumped else ()',
        ' if False else ()',
        (_HEALTH + 'a_clock_that_jumps_stops_the_robot_to_the_end',),
    ),
    Mutation(
        'Simulated time that runs backwards stops',
        HEALTH,
        'return min(moved, -stood if silent else 0.0)',
        'return -stood if silent else 0.0',
        (_HEALTH + 'simulated_time_may_run_at_any_speed_but_not_backwards',),
    ),
    Mutation(
        'Simulated time that stands still stops',
        HEALTH,
        'return min(moved, -stood if silent else 0.0)',
        'return min(moved, 0.0)',
        (
            _HEALTH + 'simulated_time_that_does_not_move_on_stops_as_a_silent_sensor_does',
            _HEALTH + 'a_request_from_the_future_does_not_move_on_simulated_time_that_stands',
        ),
    ),
    Mutation(
        'Simulated time that runs backwards does not move on',
        HEALTH,
        'now.ros.nanoseconds <= last.ros.nanoseconds',
        'now.ros.nanoseconds == last.ros.nanoseconds',
        (_HEALTH + 'simulated_time_that_does_not_move_on_stops_as_a_silent_sensor_does',),
    ),
    Mutation(
        'A float32 is rounded inwards at a stricter bound',
        COMMANDS,
        '(group.high[i], high[i])',
        '(group.high[i],)',
        (_COMMANDS + 'a_float32_is_not_beyond_a_bound_that_was_made_stricter',),
    ),
    Mutation(
        'A float32 on its way to a stricter bound is rounded inwards at that of the contract',
        COMMANDS,
        '(group.low[i], low[i])',
        '(low[i],)',
        (
            _COMMANDS + 'on_its_way_to_a_stricter_bound_a_float32_stays_within_those_of_the_'
            'contract',
        ),
    ),
    Mutation(
        "A message of the operator's device without a stamp is refused",
        INPUTS,
        '_dated(_operator(safety.operator))',
        '_operator(safety.operator)',
        (_INPUTS + 'only_a_message_of_the_operators_device_that_cannot_be_read_is_refused',),
    ),
    Mutation(
        'How long an inactive gate did not run is no lateness',
        REDUCER,
        'health=replace(state.health, ticked=None)',
        'health=state.health',
        (_HEALTH + 'how_long_an_inactive_gate_did_not_run_is_no_lateness',),
    ),
    Mutation(
        'A deactivation that was cut short leaves neither lease nor command',
        REDUCER,
        'replace(_without_leftovers(state), health',
        'replace(state, health',
        (_DEACTIVATION + 'a_deactivation_that_was_cut_short_leaves_neither_lease_nor_command',),
    ),
    Mutation(
        'A foreign publisher stops',
        MACHINERY,
        "('', inputs.foreign_commands)",
        "('', 0)",
        (_HEALTH + 'a_foreign_publisher_stops_for_as_long_as_he_is_there',),
    ),
    Mutation(
        'A command of another is answered though the robot was at rest',
        REDUCER,
        'resting &= not isinstance(at, ForeignCommand)',
        'resting &= True',
        (_FOREIGN + 'a_stop_at_rest_stands_and_is_decided_anew_once_a_period',),
    ),
    Mutation(
        'A place does not follow who drags it',
        REDUCER,
        'guarded = self._foreign is OnForeignPublisher.STOP_ALWAYS and inputs',
        'guarded = False and inputs',
        (_FOREIGN + 'a_place_is_held_where_the_robot_is_and_does_not_follow_who_drags_it',),
    ),
    Mutation(
        'A battery below its level stops',
        'core/gate/rules/battery.py',
        'if level < rule.min:',
        'if False:',
        ('core/gate/test_battery.py::test_a_battery_below_its_level_stops_the_robot_and_says_so',),
    ),
    Mutation(
        'A number below its range stops',
        'core/gate/rules/interlock.py',
        'if rule.low is not None and value < rule.low:',
        'if False:',
        ('core/gate/test_interlock.py::test_an_open_door_stops_the_robot_by_the_next_timer',),
    ),
    Mutation(
        'A number above its range stops',
        'core/gate/rules/interlock.py',
        'elif rule.high is not None and value > rule.high:',
        'elif False:',
        ('core/gate/test_interlock.py::test_the_bound_that_is_broken_is_told_in_its_unit',),
    ),
    Mutation(
        'A policy over its latency budget too often stops',
        MACHINERY,
        ' or count <= rule.exceeded:',
        ' or True:',
        (_HEALTH + 'a_policy_that_is_too_slow_too_often_stops_until_it_is_quick_again',),
    ),
    Mutation(
        'An operator goes before the policy',
        ADMISSION,
        '(TELEOPERATED.result(),) if teleoperated else ()',
        '()',
        ('core/gate/test_gate_operator.py::test_a_held_switch_goes_before_the_policy',),
    ),
    Mutation(
        'Where command and measured state have parted the limits begin again',
        MEASURED,
        '        found += [any(far)] * group.size\n',
        '        found += [False] * group.size\n',
        (_REPUBLISH + 'an_action_goes_on_from_what_is_measured_where_the_two_have_parted',),
    ),
    Mutation(
        'A deactivation between two leases moves nothing',
        RULING,
        '    if idle and at_rest(limits, previous, inputs.previous_rate):\n',
        '    if False:\n',
        (
            _IN_FORCE
            + 'a_deactivation_between_two_leases_moves_nothing_and_ends_what_was_in_force',
        ),
    ),
    Mutation(
        'A group that departs frees no command of another one',
        MEASURED,
        '        is_ if far else was\n        for was, is_, far in zip(\n',
        '        is_\n        for was, is_, far in zip(\n',
        (_IN_FORCE + 'a_group_that_departs_frees_no_command_of_another_group',),
    ),
    Mutation(
        'What a robot does beyond its command is not taken for one',
        OUTPUT,
        '                kept = resumed_from(limits, previous, measured)\n',
        '                kept = measured\n',
        (_REPUBLISH + 'what_the_robot_does_beyond_its_command_is_not_taken_for_one',),
    ),
    Mutation(
        'A stop takes from what was commanded',
        REDUCER,
        '            return stop, commanded\n',
        '            pass\n',
        (_REPUBLISH + 'a_stop_of_a_blocked_robot_takes_from_what_was_commanded',),
    ),
    Mutation(
        'A speed is taken back where nobody knows the place of what is beside it',
        REDUCER,
        '        if probed and not output.command:\n',
        '        if False:\n',
        (_PROBE + 'a_base_that_never_brakes_is_stopped_though_nobody_knows_where_its_arm_is',),
    ),
    Mutation(
        'What a stranger sends is asked first whose it is',
        JUDGE,
        '            authority(request, inputs, digest=self._digest, agent=agent)\n'
        '            or well_formed(',
        '            well_formed(',
        (_REFUSALS + 'only_the_holder_of_the_lease_is_heard',),
    ),
    Mutation(
        'To hold and to stop never follow a sensor',
        OUTPUT,
        '        if may_depart and not self.contract.is_lockstep and not by_timer:',
        '        if may_depart and not self.contract.is_lockstep:',
        (_REPUBLISH + 'holding_never_follows_what_the_robot_does_of_its_own_accord',),
    ),
    Mutation(
        'Where no command is in force a stop sends no speed',
        BRAKING,
        '    if inputs.seeded:\n',
        '    if False:\n',
        (_LEASES + 'a_stop_before_any_command_sends_no_speed_to_a_robot_that_rolls',),
    ),
    Mutation(
        'A robot that is to be watched and says nothing is stopped',
        SENSORS,
        ' and name not in limits.followed:',
        ':',
        (_REPUBLISH + 'a_robot_that_is_to_be_watched_and_says_nothing_is_stopped',),
    ),
    Mutation(
        'Nobody arms a gate that has not probed its drivers',
        REDUCER,
        '        self._refuse_unprobed(state)\n',
        '',
        (
            'core/gate/test_driver_probe.py::test_nobody_arms_a_gate_that_has_not_probed_its_drivers',
        ),
    ),
    Mutation(
        'While a lease is out limits only become stricter',
        REDUCER,
        '            refuse_looser(state.limits, numbers, timeout, why)',
        '            pass',
        (
            'core/gate/test_gate_tightening.py::test_while_a_lease_is_out_limits_only_become_stricter',
        ),
    ),
    Mutation(
        'The stop distance is not reached before its time',
        OBSTACLES,
        '    if speed > most:',
        '    if False:',
        (
            'core/gate/test_gate_obstacle_rules.py::test_the_stop_distance_is_not_reached_before_its_time',
        ),
    ),
    Mutation(
        'Before the boundary of a workspace it slows down',
        WORKSPACES,
        'limits=_keep_inside, ',
        '',
        (_WORKSPACE + 'a_robot_that_is_asked_to_leave_comes_as_near_as_it_may_without_a_stop',),
    ),
)

_WHERE_IT_MAY_BE = (
    Mutation(
        'What leads out of its workspace faster than it slows down is stopped',
        WORKSPACES,
        '        if gap.missing:\n            yield _NO_ROOM',
        '        if False:\n            yield _NO_ROOM',
        (_WORKSPACE + 'a_robot_that_is_too_near_for_its_speed_is_stopped',),
    ),
    Mutation(
        'Before a bound of a workspace the margin is kept',
        WORKSPACES,
        'min(place.margin, high - at)',
        'min(0.0, high - at)',
        (_WORKSPACE + 'an_axis_comes_as_near_as_it_may_without_a_stop',),
    ),
    Mutation(
        'Before an edge of a workspace the margin is kept',
        WORKSPACES,
        '        margin = max(margin, _AT_THE_EDGE)\n',
        '        margin = _AT_THE_EDGE\n',
        (_WORKSPACE + 'a_robot_that_is_asked_to_leave_comes_as_near_as_it_may_without_a_stop',),
    ),
    Mutation(
        'A robot stays inside of the polygon of its workspace',
        WORKSPACES,
        '            areas.append((place.polygon, True))\n',
        '            pass\n',
        (_WORKSPACE + 'coming_back_does_not_lead_out_on_the_other_side',),
    ),
    Mutation(
        'A robot stays out of the areas to keep out of',
        WORKSPACES,
        '(area, False) for _, area in place.keep_out]\n',
        '(area, False) for _, area in place.keep_out[:0]]\n',
        (_WORKSPACE + 'a_robot_that_is_asked_to_leave_comes_as_near_as_it_may_without_a_stop',),
    ),
    Mutation(
        'A bound of 0.0 is a bound',
        WORKSPACES,
        '        if low is not None:\n',
        '        if low:\n',
        (_WORKSPACE + 'a_bound_of_zero_is_a_bound',),
    ),
    Mutation(
        'From beyond an edge nothing leads but the way back',
        WORKSPACES,
        '        if self.back is not None:\n            back',
        '        if False:\n            back',
        (_WORKSPACE + 'what_is_outside_may_come_back_but_not_go_on',),
    ),
    Mutation(
        'From beyond an edge there is a way back',
        WORKSPACES,
        '-math.inf if d < crossed else min(margin, d)',
        'min(margin, d)',
        (_WORKSPACE + 'what_is_outside_may_come_back_but_not_go_on',),
    ),
    Mutation(
        'From beyond a bound there is a way back',
        WORKSPACES,
        'min(place.margin, high - at)',
        'place.margin',
        (_WORKSPACE + 'what_is_outside_may_come_back_but_not_go_on',),
    ),
    Mutation(
        'What is nearer to an edge than the margin may not come nearer',
        WORKSPACES,
        'tuple(min(margin, d) for d in now), apart, None',
        'tuple(0.0 for d in now), apart, None',
        (_WORKSPACE + 'what_is_nearer_than_the_margin_may_not_come_nearer',),
    ),
    Mutation(
        'What is nearer to a bound than the margin may not come nearer',
        WORKSPACES,
        'min(place.margin, high - at)',
        'min(place.margin, 0.0)',
        (_WORKSPACE + 'what_is_nearer_than_the_margin_may_not_come_nearer',),
    ),
    Mutation(
        'The gate may be gone: a command counts until the driver brakes',
        WORKSPACES,
        'hold=_until_the_driver_brakes(limits)',
        'hold=_until_next_check(limits)',
        (_WORKSPACE + 'the_needed_way_is_that_of_its_speed_until_it_rests',),
    ),
    Mutation(
        'Of several drivers the one that brakes last counts',
        WORKSPACES,
        '    return max(late if timeout is None',
        '    return min(late if timeout is None',
        (_WORKSPACE + 'of_several_drivers_the_one_that_brakes_last_counts',),
    ),
    Mutation(
        'What the last command does until the gate looks again counts',
        WORKSPACES,
        'hold=_until_next_check(limits)',
        'hold=0.0',
        (_WORKSPACE + 'between_two_commands_the_last_is_judged_as_it_stays_in_force',),
    ),
    Mutation(
        'What was sent before a command counts while it may still act',
        WORKSPACES,
        '        sent = inputs.recent_commands\n',
        '        sent = inputs.recent_commands[:0]\n',
        (_WORKSPACE + 'what_is_under_way_counts_before_it_is_seen',),
    ),
    Mutation(
        'The rules are told what is under way',
        REDUCER,
        '            recent_commands=commands.recent_commands(now),\n',
        '',
        (_IN_TIME + 'what_was_never_sent_is_not_under_way',),
    ),
    Mutation(
        'What may still act is not forgotten',
        UNDER_WAY,
        ' and sent[expired + 1][0] <= oldest:',
        ':',
        (_WORKSPACE + 'only_what_may_still_act_is_remembered',),
    ),
    Mutation(
        'What was sent is remembered for as long as it may act',
        WORKSPACES,
        'safety.sensor_timeout + place.delay + max(abs(low[i]), abs(high[i])) / braking',
        '0.0',
        (_WORKSPACE + 'what_is_under_way_counts_before_it_is_seen',),
    ),
    Mutation(
        'How old a place is counts',
        WORKSPACES,
        'found.values, max(found.age, 0.0), sent',
        'found.values, 0.0, sent',
        (_WORKSPACE + 'an_older_place_is_as_good_once_what_went_out_since_is_counted_in',),
    ),
    Mutation(
        'That a command acts late counts',
        UNDER_WAY,
        '        distance = self.distance + self.delay * max(0.0, command - self.last)\n',
        '        distance = self.distance\n',
        (_WORKSPACE + 'a_faster_command_may_act_at_any_time_until_the_delay_is_over',),
    ),
    Mutation(
        'The way of the brakes counts',
        UNDER_WAY,
        'distance + command * hold + 0.5 * command**2 / self.braking',
        'distance + command * hold',
        (_WORKSPACE + 'the_needed_way_is_that_of_its_speed_until_it_rests',),
    ),
    Mutation(
        'What limits on the rate leave of a slower command counts',
        WORKSPACES,
        '    limit_change(limits, inputs, slower)\n',
        '',
        (_WORKSPACE + 'what_cannot_be_slowed_down_yet_is_judged_as_it_is',),
    ),
    Mutation(
        'A speed that is on its way out is braked, not gone',
        UNDER_WAY,
        '        speed=max(last, _left(spans, delay, braking)),\n',
        '        speed=last,\n',
        (_WORKSPACE + 'what_was_sent_acts_until_the_next_does_and_is_braked_then',),
    ),
    Mutation(
        'Wherever a turn may lead counts',
        WORKSPACES,
        '            left, right = needs.pop()\n',
        '            needs.pop()\n',
        (_WORKSPACE + 'a_turn_that_may_lead_to_the_wall_is_taken_from_a_robot_beside_it',),
    ),
    Mutation(
        'An edge that is crossed is at no distance',
        GEOMETRY,
        '        apart[meets] = 0.0\n',
        '        pass\n',
        (_GEOMETRY + 'an_edge_that_is_crossed_touched_or_held_is_at_no_distance',),
    ),
    Mutation(
        'What may be reached is rounded outwards',
        GEOMETRY,
        '    outer = radius / math.cos(0.5 * step)\n',
        '    outer = radius\n',
        (_GEOMETRY + 'a_sector_holds_what_it_is_about_and_little_more',),
    ),
)

_PROBE_OF_THE_DRIVERS = (
    Mutation(
        'A driver that brakes too late fails its probe',
        DRIVER_PROBE,
        '            if passed > declared + self.contract.safety.sensor_timeout:\n',
        '            if False:\n',
        (_PROBE + 'a_driver_that_brakes_too_late_or_never_is_braked_and_refused',),
    ),
    Mutation(
        'A robot that does not follow its probe fails it',
        DRIVER_PROBE,
        '        if self.began and passed > _FOLLOWS:\n',
        '        if False:\n',
        (_PROBE + 'a_robot_that_does_not_follow_is_not_waited_for',),
    ),
    Mutation(
        'A probe that cannot begin fails',
        DRIVER_PROBE,
        '        if not self.began and passed > _BEGINS:\n',
        '        if False:\n',
        (_PROBE + 'a_robot_that_says_nothing_is_never_set_in_motion',),
    ),
    Mutation(
        "A driver's time runs from the last command that it was sent",
        DRIVER_PROBE,
        'phase=Phase.SILENT, since=emitted',
        'phase=Phase.SILENT, since=now.steady',
        (_PROBE + 'what_is_measured_is_never_less_than_the_truth_nor_much_more',),
    ),
    Mutation(
        'A robot that had to be stopped fails its probe',
        REDUCER,
        "            probe = probe.failed(f'the robot had to be stopped ({reasons})')\n",
        '',
        (
            _PROBE + 'an_emergency_stop_brakes_at_once_whatever_is_being_measured',
            _PROBE + 'an_obstacle_brakes_at_once_whatever_is_being_measured',
        ),
    ),
    Mutation(
        'A robot that says nothing any more fails its probe',
        REDUCER,
        "                probe = probe.failed('what the robot does was no longer known')\n",
        '',
        (_PROBE + 'a_robot_that_falls_silent_on_its_way_is_not_driven_on',),
    ),
    Mutation(
        'A probe waits until the gate knows what the robot does',
        REDUCER,
        '                if emitted is None:\n                    return replace',
        '                if False:\n                    return replace',
        (_PROBE + 'a_robot_that_says_nothing_is_never_set_in_motion',),
    ),
    Mutation(
        'A probe waits for what is missing before it moves anything',
        REDUCER,
        '            if emitted is None and not state.lease_state.emergency:\n',
        '            if False:\n',
        (_PROBE + 'a_probe_waits_for_the_sensors_before_it_moves_anything',),
    ),
    Mutation(
        'A robot that is faster than its probe has not begun to brake',
        DRIVER_PROBE,
        'math.copysign(1.0, a - safe) * (a - v) > t',
        'abs(a - v) > t',
        (_PROBE + 'one_that_is_faster_than_it_was_told_has_not_begun_to_brake',),
    ),
    Mutation(
        'Nobody arms a gate whose probe goes on or failed',
        REDUCER,
        'probe is not None and probe.phase is Phase.DONE',
        'probe is not None',
        (
            _PROBE + 'nobody_arms_a_gate_that_is_probing_them',
            _PROBE + 'a_driver_that_brakes_too_late_or_never_is_braked_and_refused',
        ),
    ),
    Mutation(
        'Nobody probes a gate that somebody holds',
        REDUCER,
        '        if lease is not None:\n'
        '            raise RequestRejected(\n'
        "                f'{lease.holder!r} holds a lease",
        '        if False:\n'
        '            raise RequestRejected(\n'
        "                f'{lease.holder!r} holds a lease",
        (_PROBE + 'nobody_probes_a_gate_that_somebody_holds',),
    ),
    Mutation(
        'With a latched emergency stop no driver is probed',
        REDUCER,
        '        state.lease_state.check_released()\n        lease = state.lease_state.lease\n',
        '        lease = state.lease_state.lease\n',
        (_PROBE + 'an_emergency_stop_brakes_at_once_whatever_is_being_measured',),
    ),
)

_ASKED_BEFOREHAND = (
    Mutation(
        'What is planned is not published, nor remembered',
        REDUCER,
        '            decisions.append(self._decision(state, output, inputs, at, chunk))\n',
        '            state, made = self._emit(state, output, inputs, at, chunk)\n'
        '            decisions.extend(made)\n',
        (_PLAN + 'each_candidate_is_decided_on_as_if_it_were_the_only_one',),
    ),
    Mutation(
        'Whoever may not ask is told so by a plan',
        REDUCER,
        'refusals = self._judge.refusals(self._agent, requested, request, now, now)',
        'refusals = ()',
        (_PLAN + 'whoever_may_not_ask_is_told_so_by_a_plan',),
    ),
    Mutation(
        'A plan reckons with a request that is in time',
        REDUCER,
        ', overruns=state.health.overruns_if_in_time',
        '',
        (_PLAN + 'a_plan_reckons_with_a_request_that_is_in_time',),
    ),
)

_BY_HAND = (
    Mutation(
        'A hand that is silent has let go',
        ADMISSION,
        'is_fresh(found.age, operator.timeout)',
        'found.age is not None',
        (
            _OPERATOR + 'a_hand_that_is_silent_has_let_go',
            _OPERATOR + 'a_stale_message_or_one_from_the_future_takes_nothing_over',
            _OPERATOR + 'a_switch_that_was_held_long_before_the_arming_does_not',
        ),
    ),
    Mutation(
        'A switch that is not held takes nothing over',
        ADMISSION,
        '        and found.values[-1] >= SWITCH_THRESHOLD\n',
        '',
        (_OPERATOR + 'a_switch_that_is_not_held_takes_nothing_over',),
    ),
    Mutation(
        'A hand that gives no number is refused',
        REDUCER,
        '        malformed = well_formed(command, self._contract.command_size)\n',
        '        malformed = ()\n',
        (_OPERATOR + 'a_command_that_is_no_number_is_refused_and_no_sign_of_life',),
    ),
    Mutation(
        'What is refused to a hand is no heartbeat',
        REDUCER,
        '        if output.verdict is not Verdict.REJECTED:\n'
        '            state = replace(state, last_request=at.now.steady)\n',
        '        if True:\n            state = replace(state, last_request=at.now.steady)\n',
        (
            _OPERATOR + 'a_command_that_is_no_number_is_refused_and_no_sign_of_life',
            _OPERATOR + 'a_contract_that_rejects_rejects_an_operator_beyond_its_bounds_too',
        ),
    ),
    Mutation(
        'Who takes over does not go on to the goal of before',
        OUTPUT,
        'goal=self.command or (), by_hand=by_hand)',
        'by_hand=by_hand)',
        (_OPERATOR + 'neither_goal_of_before_is_crept_to_after_a_change_of_hands',),
    ),
    Mutation(
        'A hand moves nothing without a running episode',
        REDUCER,
        'if not teleoperated or not state.lease_state.running or self._lockstep:',
        'if not teleoperated or self._lockstep:',
        (
            _OPERATOR + 'an_operator_moves_nothing_without_a_running_episode',
            _OPERATOR + 'the_end_of_the_episode_ends_what_an_operator_moves',
        ),
    ),
    Mutation(
        'In lockstep a hand moves once a step',
        REDUCER,
        'if not teleoperated or not state.lease_state.running or self._lockstep:',
        'if not teleoperated or not state.lease_state.running:',
        (_OPERATOR + 'in_lockstep_an_operator_moves_once_a_step_however_often_he_speaks',),
    ),
    Mutation(
        'What was refused in a takeover is not heard when it comes again',
        REDUCER,
        'return replace(state, lease_state=state.lease_state.after_request(request)), decisions',
        'return state, decisions',
        (_OPERATOR + 'a_request_that_was_refused_meanwhile_is_not_heard_when_it_comes_again',),
    ),
    Mutation(
        'Latencies of the policy are not compared with a hand',
        MACHINERY,
        '    by_policy = inputs.trigger in (Trigger.REQUEST, Trigger.CHUNK)\n',
        '    by_policy = inputs.trigger is not Trigger.TIMER\n',
        (_OPERATOR + 'late_requests_of_the_policy_are_not_held_against_the_operator',),
    ),
)

_STRICTER_LIMITS = (
    Mutation(
        'No limit is made wider than the contract',
        TIGHTENING,
        "    refuse_looser(declared, numbers, timeout, 'the contract says')\n",
        '',
        (_TIGHTENING + 'what_is_not_stricter_is_refused_with_its_number',),
    ),
    Mutation(
        'Inside of stricter bounds there is room for the safe command',
        TIGHTENING,
        '        if low > high or safe < low or safe > high:\n',
        '        if False:\n',
        (_TIGHTENING + 'what_is_not_stricter_is_refused_with_its_number',),
    ),
    Mutation(
        'A stricter rate leaves something',
        TIGHTENING,
        " and (name != 'rate' or value > 0.0)",
        '',
        (_TIGHTENING + 'what_is_not_stricter_is_refused_with_its_number',),
    ),
    Mutation(
        'A stricter timeout is one',
        TIGHTENING,
        '    if not 0.0 < command_timeout <= was:\n',
        '    if False:\n',
        (
            _TIGHTENING + 'what_is_not_stricter_is_refused_with_its_number',
            _TIGHTENING + 'while_a_lease_is_out_limits_only_become_stricter',
        ),
    ),
    Mutation(
        'The numbers of a rotation have no bounds that could be stricter',
        TIGHTENING,
        '            if value != was:\n',
        '            if False:\n',
        (_TIGHTENING + 'a_quaternion_has_no_bounds_that_could_be_stricter',),
    ),
    Mutation(
        'What was made stricter is in force at once',
        REDUCER,
        'replace(state, limits=limits, runtime_limits=event.runtime_limits)',
        'replace(state, runtime_limits=event.runtime_limits)',
        (
            _TIGHTENING + 'a_stricter_bound_is_kept_and_told',
            _TIGHTENING + 'a_stricter_rate_is_kept',
            _TIGHTENING + 'a_stricter_timeout_stops_earlier',
            _TIGHTENING + 'a_stricter_bound_is_part_of_what_is_within_reach',
        ),
    ),
    Mutation(
        'A held command comes inside of stricter bounds',
        RULING,
        'shape(limits, inputs, goal, (why,))',
        'RuleOutput(verdict=Verdict.HELD, wanted=goal, command=goal, results=(why,))',
        (_TIGHTENING + 'a_held_command_comes_inside_of_a_stricter_bound_too',),
    ),
)

_WHILE_NOTHING_COMES = (
    Mutation(
        'To hold by a ramp or safely leads to the safe command',
        RULING,
        '        goal = safe_from(limits.safe, previous)\n',
        '        goal = in_force\n',
        (
            _REPUBLISH + 'to_hold_by_a_ramp_goes_to_the_safe_command_at_the_normal_rate',
            _REPUBLISH + 'to_hold_safely_is_to_follow_the_stop_profile',
        ),
    ),
    Mutation(
        'To hold safely is to follow the stop profile',
        RULING,
        '    if late and hold is OnTimeout.SAFE:\n',
        '    if False:\n',
        (_REPUBLISH + 'to_hold_safely_is_to_follow_the_stop_profile',),
    ),
    Mutation(
        'To hold by a ramp is no faster than the rate',
        RULING,
        '    if late and hold is OnTimeout.SAFE:\n',
        '    if late and hold is not OnTimeout.HOLD:\n',
        (_REPUBLISH + 'to_hold_by_a_ramp_goes_to_the_safe_command_at_the_normal_rate',),
    ),
    Mutation(
        'To hold goes no further',
        RULING,
        '        goal = rest(limits, inputs)\n',
        '        goal = in_force\n',
        (_REPUBLISH + 'a_late_action_is_told_as_late_and_goes_no_further',),
    ),
    Mutation(
        'What is sent again goes on towards what was asked for',
        RULING,
        '    if not late:\n        goal = in_force\n',
        '    if not late:\n        goal = previous\n',
        (
            _REPUBLISH + 'the_command_in_force_is_sent_again_on_its_way_to_what_was_asked_for',
            _REPUBLISH + 'it_never_reaches_beyond_what_was_asked_for',
        ),
    ),
    Mutation(
        'The command in force is sent again as often as declared',
        REDUCER,
        '        again = safety.republish_period\n',
        '        again: float | None = None\n',
        (_REPUBLISH + 'the_command_in_force_is_sent_again_on_its_way_to_what_was_asked_for',),
    ),
    Mutation(
        'A rotation is turned on the shortest way',
        ROTATION,
        '    if _dot(a, b) < 0.0:\n        forth = -forth\n',
        '',
        (
            _ROTATION + 'it_turns_on_the_shortest_way_as_far_as_it_may',
            _ROTATION + 'the_two_quaternions_of_one_rotation_are_turned_to_alike',
        ),
    ),
    Mutation(
        'The two quaternions of one rotation are the same place',
        ROTATION,
        '        if _dot(_part(values, rotation), there) < 0.0:\n',
        '        if False:\n',
        (
            _ROTATION + 'of_two_signs_the_one_that_is_nearer_to_the_command_is_told',
            _ROTATION + 'the_other_quaternion_of_what_was_commanded_is_no_departure_from_it',
        ),
    ),
    Mutation(
        'An angle that wraps takes the short way',
        COMMANDS,
        'if not group.wrap or not previous:',
        'if True:',
        ('core/gate/test_gate_wrap.py::test_from_3_10_towards_minus_3_10_it_goes_the_short_way',),
    ),
    Mutation(
        'A limit of 0.0 is a limit',
        SHAPING,
        'min(max(value, low), high)',
        'min(max(value, low or -9.0), high)',
        (_LIMITS + 'a_limit_of_zero_is_a_limit',),
    ),
    Mutation(
        'An unknown latency is a long one',
        HEALTH,
        'latency is None or latency > budget',
        'latency is not None and latency > budget',
        (_HEALTH + 'an_unknown_latency_is_no_short_one',),
    ),
    Mutation(
        'Another lease begins without the latencies of the one before',
        STATE,
        '            health=replace(state.health, late=()),\n',
        '',
        (_HEALTH + 'another_lease_begins_without_the_latencies_of_the_one_before',),
    ),
    Mutation(
        'The end of the episode stops',
        MACHINERY,
        ' if inputs.over else ()',
        ' if False else ()',
        (
            _RULES + 'each_reason_to_stop_and_its_bound',
            _LEASES + 'at_the_end_of_the_episode_the_robot_is_braked_and_then_left_to_its_driver',
        ),
    ),
    Mutation(
        'A sensor that a rule needs and that is missing altogether stops',
        SENSORS,
        '        if not need.fresh(measurement):',
        '        if measurement is not None and not need.fresh(measurement):',
        (_RULES + 'each_reason_to_stop_and_its_bound',),
    ),
)

_WHAT_SENSORS_SAY = (
    Mutation(
        'A beam that says too near to measure is at distance 0',
        LASER_SCAN,
        '    known = usable | too_near\n',
        '    known = usable\n',
        (
            _SCAN + 'one_beam_that_is_too_near_to_measure_is_enough',
            _SCAN + 'the_nearest_of_each_sector_and_how_much_of_it_is_usable',
        ),
    ),
    Mutation(
        'A beam below the least range is an obstacle, not only one that says -inf',
        LASER_SCAN,
        '    too_near = ranges < scan.range_min\n',
        '    too_near = np.isneginf(ranges)\n',
        (_SCAN + 'beams_below_the_least_range_are_an_obstacle_however_many_others_are_free',),
    ),
    Mutation(
        'A range below the least one is an obstacle, not only -inf',
        OBSTACLE_DISTANCE,
        '    if value < least:\n',
        '    if value == -math.inf:\n',
        (_DISTANCE + 'a_range_is_read_by_rep_117_on_the_side_that_it_looks_at',),
    ),
    Mutation(
        'Only a distance may be infinite',
        WORKSPACES,
        'Need(most=safety.sensor_timeout, size=len(self.unit))',
        'Need(most=safety.sensor_timeout, size=len(self.unit), infinite=9)',
        ('core/gate/test_workspace.py::test_a_place_that_is_not_known_stops_the_robot',),
    ),
    Mutation(
        'A sensor that gives another number of values stops',
        NEEDS,
        'len(measurement.values) == self.size',
        'bool(measurement.values)',
        (_RULES + 'each_reason_to_stop_and_its_bound',),
    ),
    Mutation(
        'A field that holds and measured nothing stops',
        INPUTS,
        '        if is_measured(reading.values, infinite=infinite):\n',
        '        if True:\n',
        (_HOLD + 'a_field_that_holds_and_is_not_measured_stops_at_once',),
    ),
    Mutation(
        'A header that was never stamped is not usable',
        INPUTS,
        "        if hasattr(message, 'header') and stamp_of(message) is None:\n",
        '        if False:\n',
        (_INPUTS + 'a_message_that_cannot_be_read_gives_no_values',),
    ),
    Mutation(
        'A beam out of range is not usable',
        LASER_SCAN,
        '((ranges >= scan.range_min) & (ranges <= scan.range_max)) | (ranges == np.inf)',
        '~np.isnan(ranges)',
        (
            _SCAN + 'the_nearest_of_each_sector_and_how_much_of_it_is_usable',
            _SCAN + 'an_unusable_beam_never_looks_like_free_space',
        ),
    ),
    Mutation(
        'A sector without beams is not usable',
        LASER_SCAN,
        'len(near) / len(sector) if len(sector) else 0.0',
        'len(near) / len(sector) if len(sector) else 1.0',
        (
            _SCAN + 'a_sector_that_the_scan_does_not_cover_has_nothing_usable',
            _SCAN + 'an_empty_scan_has_nothing_usable',
        ),
    ),
    Mutation(
        'A scan tells nothing of what is beyond its reach',
        LASER_SCAN,
        'np.minimum(ranges, scan.range_max))\n    result',
        'ranges)\n    result',
        (
            _DISTANCE + 'a_scan_never_tells_of_free_space_beyond_its_reach',
            _SCAN + 'the_nearest_of_each_sector_and_how_much_of_it_is_usable',
        ),
    ),
    Mutation(
        'A beam that is not usable is observed as near',
        LASER_SCAN,
        'np.where(usable, np.minimum(ranges, scan.range_max), 0.0)',
        'np.minimum(ranges, scan.range_max)',
        (_SCAN + 'an_unusable_beam_never_looks_like_free_space',),
    ),
    Mutation(
        'A range that says too near to measure is at distance 0',
        OBSTACLE_DISTANCE,
        '    if value < least:\n        return 0.0, 1.0\n',
        '',
        (
            _DISTANCE + 'a_range_is_read_by_rep_117_on_the_side_that_it_looks_at',
            _DISTANCE + 'a_sensor_of_a_fixed_distance_only_tells_whether_something_is_within_it',
        ),
    ),
    Mutation(
        'A range out of its limits is not usable',
        OBSTACLE_DISTANCE,
        '    if least < most and least <= value <= most:\n',
        '    if value == value:\n',
        (_DISTANCE + 'a_range_is_read_by_rep_117_on_the_side_that_it_looks_at',),
    ),
    Mutation(
        'A range whose limits make no sense is not usable',
        OBSTACLE_DISTANCE,
        '    if not 0.0 <= least <= most:\n',
        '    if False:\n',
        (_DISTANCE + 'a_range_whose_limits_make_no_sense_is_not_usable',),
    ),
    Mutation(
        'A cloud without points is not usable',
        POINT_CLOUD,
        '        return (math.inf, math.inf, 0.0, 0.0)\n',
        '        return (math.inf, math.inf, 1.0, 1.0)\n',
        (_DISTANCE + 'an_empty_cloud_is_no_free_space',),
    ),
    Mutation(
        'A point that was not measured counts against its cloud',
        POINT_CLOUD,
        'float(np.count_nonzero(measured)) / len(points)\n    return (ahead',
        '1.0\n    return (ahead',
        (
            _DISTANCE
            + 'a_point_that_was_not_measured_is_no_distance_and_counts_against_the_cloud',
            _DISTANCE + 'an_empty_cloud_is_no_free_space',
        ),
    ),
    Mutation(
        'What is of another frame than the contract says is not read',
        INPUTS,
        '        if actual and actual not in frames:\n',
        '        if False:\n',
        (
            'core/sources/test_inputs.py::test_a_place_of_another_frame_than_its_fence_is_not_used',
            'core/sources/test_inputs.py::test_a_sensor_of_obstacles_is_held_to_the_frame_that_the_contract_declares',
        ),
    ),
    Mutation(
        "Only the agents of the contract may put their names before a sensor's frame",
        INPUTS,
        '        if actual and actual not in frames:\n',
        "        if actual and actual.split('/')[-1] not in frames:\n",
        (
            'core/sources/test_inputs.py::test_of_one_agent_no_prefix_belongs_to_the_frame',
            'core/sources/test_inputs.py::test_of_several_agents_each_may_put_its_name_before_its_frames',
        ),
    ),
)

_ON_A_PROFILE = (
    Mutation(
        'A stopped position comes to rest by its deceleration',
        BRAKING,
        '    left = math.copysign(max(0.0, abs(velocity) - deceleration * step), velocity)\n',
        '    left = math.copysign(max(0.0, abs(velocity) - deceleration), velocity)\n',
        (
            _OF_MOTION
            + 'a_stopped_position_runs_on_to_rest_within_its_deceleration_and_never_back',
        ),
    ),
    Mutation(
        'A stop moves no position whose driver has come to rest',
        BRAKING,
        '    if rests or deceleration == math.inf:\n',
        '    if deceleration == math.inf:\n',
        (_OF_MOTION + 'a_position_whose_driver_has_come_to_rest_is_held',),
    ),
    Mutation(
        'The lease lasts until a position has come to rest',
        BRAKING,
        '        limits.deceleration[i] == math.inf or not (rate and rate[i])\n',
        '        True\n',
        (_OF_MOTION + 'the_lease_ends_when_a_position_has_come_to_rest',),
    ),
    Mutation(
        'A proposal that breaks a limit on its way is not taken',
        PROFILE,
        '    if fastest <= rate and strongest <= acceleration:\n',
        '    if True:\n',
        (_PROFILE + 'every_limit_is_kept_whatever_is_proposed',),
    ),
    Mutation(
        'A proposal with more jerk than allowed is not taken',
        PROFILE,
        '    if limits.order == 3 and any(abs(change) > limits.jerk for _, change in phases):\n',
        '    if False:\n',
        (_PROFILE + 'every_limit_is_kept_whatever_is_proposed',),
    ),
    Mutation(
        'What cannot be braked inside of the bounds is not taken',
        PROFILE,
        '        if step is not None and _viable(limits, *step):\n',
        '        if step is not None:\n',
        (
            _PROFILE + 'a_proposal_that_ends_outside_on_its_way_back_is_refused',
            _PROFILE + 'proposals_to_go_ever_faster_into_the_bound_keep_rate_and_bound',
        ),
    ),
    Mutation(
        'What would brake beyond the rate is not taken',
        PROFILE,
        '    if not abs(left) <= limits.rate:\n',
        '    if False:\n',
        (_PROFILE + 'proposals_to_go_ever_faster_into_the_bound_keep_rate_and_bound',),
    ),
    Mutation(
        'Where it turns before it rests is inside, too',
        PROFILE,
        'low <= min(x, rest, farthest) and max(x, rest, farthest) <= high',
        'low <= min(x, rest) and max(x, rest) <= high',
        (_PROFILE + 'what_can_just_be_braked_before_a_bound_needs_no_clamping',),
    ),
    Mutation(
        'Without a proposal it brakes',
        PROFILE,
        '    return _braked(limits, x, v, a, BRAKED, time_step)\n',
        '    return limits.inside(x), 0.0, 0.0\n',
        (_PROFILE + 'every_limit_is_kept_whatever_is_proposed',),
    ),
    Mutation(
        'A profile whose limit is 0.0 does not move',
        PROFILE,
        '        if 0.0 in (rate, acceleration, jerk):\n',
        '        if False:\n',
        (_PROFILE + 'a_limit_of_zero_is_a_limit',),
    ),
)

_TOGETHER_OR_NOT_AT_ALL = (
    Mutation(
        'A twist is slowed to what is within reach of every rate',
        SCALE_TOGETHER,
        'max(least, min(ends)), min(part, max(ends))',
        'max(least, min(ends)), part',
        (_SCALE_TOGETHER + 'the_greatest_part_within_reach_of_every_rate_is_taken',),
    ),
    Mutation(
        'A dimension that a rule turned round is scaled with no other',
        SCALE_TOGETHER,
        'if not 0.0 <= part <= 1.0:',
        'if False:',
        (_SCALE_TOGETHER + 'a_rule_that_turned_a_dimension_round_is_left_to_itself',),
    ),
)

_NOBODY_ELSE = (
    Mutation(
        'The gate is the only publisher of its commands',
        PUBLISHERS,
        'others = tuple(name for name in found if name != own_name)',
        'others: tuple[str, ...] = ()',
        (_PUBLISHERS + 'the_gate_is_the_only_publisher_of_its_commands',),
    ),
    Mutation(
        'A second gate of the same name counts though one publisher is found',
        PUBLISHERS,
        '- 1, int(duplicate))',
        '- 1, 0)',
        (_PUBLISHERS + 'another_gate_of_the_same_name_counts_for_a_while_after_its_last_word',),
    ),
    Mutation(
        'A foreign command counts for a while',
        PUBLISHERS,
        "return others or ('one that did not stay',) * foreign_command",
        'return others',
        (_PUBLISHERS + 'a_foreign_command_counts_for_a_while',),
    ),
    Mutation(
        'Each own command is heard once',
        PUBLISHERS,
        """        while self._sent.popleft() != command:
            pass
""",
        '',
        (_PUBLISHERS + 'every_own_command_is_known_once_though_some_get_lost',),
    ),
    Mutation(
        'Of what a rule reads there is one publisher',
        PUBLISHERS,
        '> relied_on.most\n',
        '> relied_on.most + 1\n',
        (
            _PUBLISHERS + 'of_two_publishers_on_a_topic_one_is_too_many',
            _PUBLISHERS + 'a_topic_may_have_as_many_publishers_as_the_contract_says_and_no_more',
        ),
    ),
)

_DOCUMENTS_TOO = (
    Mutation(
        'A document is of a type that the contract names',
        DOCUMENTS,
        'if group.types and kind not in group.types:',
        'if False:',
        (_DOCUMENTS + 'what_is_not_admitted_is_refused_and_the_sentence_names_the_place',),
    ),
    Mutation(
        'A document fits its schema',
        DOCUMENTS,
        'why = self._faults[name](document)',
        "why = ''",
        (_DOCUMENTS + 'what_is_not_admitted_is_refused_and_the_sentence_names_the_place',),
    ),
    Mutation(
        'Documents come no more often than the contract allows',
        DOCUMENTS,
        'if since < least - 1e-9:',
        'if False:',
        (
            _DOCUMENTS + 'in_lockstep_the_rate_counts_steps',
            _DOCUMENTS + 'in_realtime_the_rate_counts_seconds',
        ),
    ),
)

INVARIANTS = (
    *_IS_IT_A_COMMAND,
    *_MUST_IT_STOP,
    *_WHAT_MAY_BE_PUBLISHED,
    *_LEASE_AND_EPISODE,
    *_REST,
    *_WHERE_IT_MAY_BE,
    *_PROBE_OF_THE_DRIVERS,
    *_ASKED_BEFOREHAND,
    *_BY_HAND,
    *_STRICTER_LIMITS,
    *_WHILE_NOTHING_COMES,
    *_WHAT_SENSORS_SAY,
    *_ON_A_PROFILE,
    *_TOGETHER_OR_NOT_AT_ALL,
    *_NOBODY_ELSE,
    *_DOCUMENTS_TOO,
)
