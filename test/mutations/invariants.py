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
        Below ``test/core``; every one has to fail.

    """

    invariant: str
    file: str
    fragment: str
    instead: str
    tests: tuple[str, ...]


ADMISSION = 'core/gate_rules/admission.py'
STOPPING = 'core/gate_rules/stopping.py'
BRAKING = 'core/gate_rules/braking.py'
SHAPING = 'core/gate_rules/shaping.py'
MOTION = 'core/gate_rules/motion.py'
OBSTACLES = 'core/gate_rules/obstacles.py'
ROTATION = 'core/gate_rules/rotation.py'
CURVATURE = 'core/gate_rules/curvature.py'
RULING = 'core/gate_rules/ruling.py'
COMMANDS = 'core/commands.py'
MEASURED = 'core/gate_rules/measured.py'
GATE = 'core/gate.py'
AUTHORITY = 'core/gate_authority.py'
SENSES = 'core/gate_senses.py'
OUTPUT = 'core/gate_output.py'

_REFUSALS = 'test_gate_refusals.py::test_'
_CHUNKS = 'test_gate_chunks.py::test_'
_LIMITS = 'test_gate_limits.py::test_'
_LEASES = 'test_gate_leases.py::test_'
_SILENCE = 'test_gate_silence.py::test_'
_HOLD = 'test_gate_hold.py::test_'
_PRESSED = 'test_gate_emergency_stop.py::test_'
_LOCKSTEP = 'test_gate_lockstep.py::test_'
_OBSTACLES = 'test_gate_obstacles.py::test_'
_RULES = 'test_gate_rules.py::test_'
_MOTION = 'test_gate_motion.py::test_'
_ROTATION = 'test_gate_rotation.py::test_'
_CURVATURE = 'test_gate_curvature.py::test_'
_COMMANDS = 'test_commands.py::test_'
_WORKSPACE = 'test_workspace.py::test_'
_REPUBLISH = 'test_gate_republish.py::test_'
_HEALTH = 'test_gate_health.py::test_'
_TURNS = 'test_gate_turns.py::test_'
_IN_TIME = 'test_gate_in_time.py::test_'

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
        '    if lease is None or not running:',
        '    if lease is None:',
        (
            _REFUSALS + 'an_action_before_the_episode_runs_is_rejected',
            _REFUSALS + 'an_action_after_the_episode_is_rejected',
        ),
    ),
    Mutation(
        'Nobody is heard for another episode',
        ADMISSION,
        '    if request.id.episode_id != lease.episode_id:',
        '    if False:',
        (_REFUSALS + 'only_the_holder_of_the_lease_is_heard',),
    ),
    Mutation(
        'Nobody but the holder of the lease is heard',
        ADMISSION,
        '    if request.lease_id != lease.lease_id:',
        '    if False:',
        (
            _REFUSALS + 'only_the_holder_of_the_lease_is_heard',
            _LOCKSTEP + 'a_stranger_does_not_take_the_place_of_a_request_that_waits',
        ),
    ),
    Mutation(
        'Each sequence number is heard once, and upwards',
        ADMISSION,
        '    if request.sequence <= lease.last_sequence:',
        '    if False:',
        (
            _REFUSALS + 'a_request_that_came_twice_moves_the_robot_once',
            _REFUSALS + 'a_request_that_was_overtaken_is_rejected_and_a_gap_is_not',
        ),
    ),
    Mutation(
        'The last sequence number that was heard is remembered',
        GATE,
        '        self._authority.hear(request)\n        return',
        '        return',
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
        GATE,
        '        if steady is not None:\n            return steady\n',
        '',
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
        STOPPING,
        '    if situation.emergency_stop:',
        '    if False:',
        (_PRESSED + 'the_emergency_stop_brakes_at_once_and_latches',),
    ),
    Mutation(
        'The emergency stop latches',
        AUTHORITY,
        '            self.emergency = True\n',
        '            self.emergency = False\n',
        (_PRESSED + 'the_emergency_stop_brakes_at_once_and_latches',),
    ),
    Mutation(
        'The emergency stop does not wait for the timer',
        GATE,
        '        return self.tick(now) if self._authority.press(pressed) else ()',
        '        return () if self._authority.press(pressed) else ()',
        (
            _PRESSED + 'the_emergency_stop_brakes_at_once_and_latches',
            _LOCKSTEP + 'the_emergency_stop_does_not_wait_for_the_world',
        ),
    ),
    Mutation(
        'A latched emergency stop refuses arming',
        GATE,
        '        self._refuse_unprobed()\n        self._authority.check_released()\n',
        '        self._refuse_unprobed()\n',
        (_PRESSED + 'a_latched_emergency_stop_refuses_arming',),
    ),
    Mutation(
        'A pressed emergency stop is not cleared',
        AUTHORITY,
        '        if self._pressed:\n            raise',
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
        GATE,
        '        self._authority.clear()\n        self._end_lease()\n',
        '        self._authority.clear()\n',
        (_PRESSED + 'a_lease_from_before_the_emergency_stop_does_not_outlive_its_clearing',),
    ),
    Mutation(
        'Silence of the environment stops',
        STOPPING,
        '    if since is not None and since <= limit:',
        '    if True:',
        (
            _SILENCE + 'silence_stops_within_its_bound_though_the_policy_goes_on',
            _LOCKSTEP + 'the_silence_of_the_environment_stops_in_lockstep_too',
        ),
    ),
    Mutation(
        'Silence of a sensor that a rule needs stops',
        STOPPING,
        '        if measurement.age is None or measurement.age > most:',
        '        if False:',
        (
            _SILENCE + 'silence_stops_within_its_bound_though_the_policy_goes_on',
            _SILENCE + 'a_scan_that_fell_silent_during_the_reset_keeps_the_robot_still',
            _HOLD + 'a_field_that_holds_and_fell_silent_during_the_reset_holds',
        ),
    ),
    Mutation(
        'A field that holds has a bound of its own',
        STOPPING,
        '        most = limits.alive.get(measurement.name, limit)',
        '        most = limit',
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
        STOPPING,
        '        elif not measurement.values or any(map(math.isnan, measurement.values)):',
        '        elif False:',
        (_OBSTACLES + 'a_scan_that_says_nothing_is_not_free_space',),
    ),
    Mutation(
        'A robot of which nobody knows what it does is stopped',
        STOPPING,
        '    if situation.previous is None:',
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
        '        if not _heads(rule.dimension, sign, situation.previous, wanted):',
        '        if not _heads(rule.dimension, sign, wanted):',
        (_OBSTACLES + 'a_robot_that_still_moves_ahead_stops_though_it_is_told_to_back_away',),
    ),
    Mutation(
        'Silence of the policy stops',
        STOPPING,
        "    if since is not None and since > limit:\n        return [_stop('silence'",
        "    if False:\n        return [_stop('silence'",
        (
            _SILENCE + 'a_late_policy_is_held_and_a_silent_one_stopped_within_the_bound',
            _SILENCE + 'a_silent_policy_comes_to_rest_along_the_stop_profile',
            _LOCKSTEP + 'a_policy_that_is_silent_past_the_deadline_is_stopped',
        ),
    ),
    Mutation(
        'Whoever asks for nothing that may be published is as good as silent',
        GATE,
        '        if ruling.verdict is not Verdict.REJECTED:\n            # Whoever',
        '        if True:\n            # Whoever',
        (_SILENCE + 'a_policy_whose_actions_are_all_out_of_bounds_is_a_silent_one',),
    ),
    Mutation(
        'In lockstep what the world shows is judged with the next request',
        STOPPING,
        '    if situation.others_turn or not (by_timer and lockstep):',
        '    if True:',
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
        'towards(previous, safe, stop * situation.time_step)',
        'safe',
        (
            _RULES + 'braking_goes_towards_the_safe_command_and_never_past_it',
            _SILENCE + 'a_silent_policy_comes_to_rest_along_the_stop_profile',
        ),
    ),
    Mutation(
        'To stop is to follow the stop profile, no slower',
        BRAKING,
        'stop * situation.time_step',
        '0.5 * stop * situation.time_step',
        (_SILENCE + 'a_silent_policy_comes_to_rest_along_the_stop_profile',),
    ),
    Mutation(
        'Where to stop is to stay, the last command is kept',
        BRAKING,
        'previous if math.isnan(safe) else',
        '0.0 if math.isnan(safe) else',
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
        '        if limits.reject_beyond[i] and not limits.low[i] <= value <= limits.high[i]',
        '        if False',
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
        '        after = towards(previous[i], shaped.values[i], limits.rate[i] * step)',
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
        '    place = settle(limits.profile, _state(limits, situation, previous))',
        '    place = tuple(previous[i] for i in limits.profiled)',
        (_MOTION + 'a_hold_comes_to_rest_where_it_was_announced',),
    ),
    Mutation(
        'After a stop the profile begins anew from rest',
        MOTION,
        'tuple(0.0 if i in limits.profiled else value for i, value in enumerate(rate)), ()',
        'rate, ()',
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
            _CURVATURE + 'what_is_beyond_its_bounds_is_scaled_as_a_whole',
            _CURVATURE + 'what_is_slowed_before_an_obstacle_is_scaled_as_a_whole',
        ),
    ),
    Mutation(
        'A command that left late takes its delay from the next',
        OUTPUT,
        '            self._out = max(self._out, at.steady)',
        '            pass',
        ('test_gate_limits.py::test_a_command_that_left_late_takes_its_delay_from_the_next',),
    ),
    Mutation(
        'A twist whose rate is limited keeps its curvature',
        MOTION,
        '    if limits.curvatures:',
        '    if False:',
        (_CURVATURE + 'the_dimension_that_is_too_fast_is_told_as_that_and_the_other_as_scaled',),
    ),
    Mutation(
        'An action out of turn is refused',
        GATE,
        '            or out_of_turn(self._contract, self._agent, request.id.step)\n',
        '',
        (_TURNS + 'an_action_out_of_turn_is_refused_and_says_whose_step_is_its_next',),
    ),
    Mutation(
        'In lockstep all rules hold while another acts',
        STOPPING,
        '    if situation.others_turn or not (by_timer and lockstep):',
        '    if not (by_timer and lockstep):',
        (_TURNS + 'all_rules_hold_while_another_acts_and_a_stop_lasts_until_its_own_turn',),
    ),
    Mutation(
        'In lockstep the gate holds once in a step of another',
        GATE,
        '            or memory.held_for == step\n',
        '',
        (_TURNS + 'in_the_step_of_another_the_command_in_force_goes_on_once',),
    ),
    Mutation(
        'A pause saves up no speed',
        OUTPUT,
        'return min(max((now.steady - self._out) / NANOSECONDS, 0.0), period)',
        'return max((now.steady - self._out) / NANOSECONDS, 0.0)',
        (_LIMITS + 'a_pause_saves_up_no_speed',),
    ),
    Mutation(
        'Readings of the clock that overtake each other leave no time to move',
        OUTPUT,
        'return min(max((now.steady - self._out) / NANOSECONDS, 0.0), period)',
        'return min((now.steady - self._out) / NANOSECONDS, period)',
        (_LIMITS + 'readings_of_the_clock_that_overtake_each_other_leave_no_time_to_move',),
    ),
    Mutation(
        'The time of a command counts for the next one',
        OUTPUT,
        '        self.emitted = self._out = now.steady\n',
        '        self.emitted = self._out = self._out or now.steady\n',
        (_LIMITS + 'a_flood_of_requests_is_no_faster_than_one',),
    ),
    Mutation(
        'In lockstep a step is a period, however long it took',
        OUTPUT,
        '        if self._out is None or self._lockstep:',
        '        if self._out is None:',
        (_LOCKSTEP + 'the_rate_is_that_of_one_period_however_long_the_policy_thought',),
    ),
    Mutation(
        'The first command starts from the measured state',
        OUTPUT,
        '            previous = measured_command(limits, measurements)\n            return',
        '            previous = (0.0,) * len(limits.low)\n            return',
        (
            _LIMITS + 'the_first_action_of_an_episode_is_limited_from_the_measured_state',
            _LEASES + 'a_rolling_robot_is_braked_from_its_measured_speed',
            _HOLD + 'the_first_command_starts_from_where_the_arm_is',
        ),
    ),
    Mutation(
        'A measured state that is not finite is unknown',
        MEASURED,
        '            or not all(map(math.isfinite, measurement.values))\n',
        '',
        (_LIMITS + 'a_measured_state_that_is_not_finite_is_unknown_and_never_published',),
    ),
    Mutation(
        'A measured state that is too old is unknown',
        MEASURED,
        '            or measurement.age > limits.safety.sensor_timeout\n',
        '',
        (_LIMITS + 'a_measured_state_that_is_too_old_seeds_nothing',),
    ),
    Mutation(
        'A measured rotation is made a unit quaternion',
        MEASURED,
        'measured = measured_rotations(limits, tuple(values))',
        'measured: Vector | None = tuple(values)',
        (
            _ROTATION + 'a_tool_starts_from_the_rotation_that_is_measured',
            _ROTATION + 'a_measured_state_that_is_no_rotation_is_unknown_and_stops',
        ),
    ),
    Mutation(
        'After the driver took over the next command starts from the measured state',
        OUTPUT,
        '        if previous is None or self.driver_took_over(now):',
        '        if previous is None:',
        (
            _LIMITS + 'a_gate_that_hung_sets_no_robot_in_motion_that_came_to_rest',
            _HOLD + 'after_the_driver_took_over_it_starts_from_where_the_arm_is',
        ),
    ),
    Mutation(
        'A command that the driver has braked from is not held',
        GATE,
        'held = output.command is not None and not output.driver_took_over(now)',
        'held = output.command is not None',
        (_LIMITS + 'a_gate_that_hung_until_the_driver_braked_holds_no_command_any_more',),
    ),
)

_LEASE_AND_EPISODE = (
    Mutation(
        'A lease is granted for the episode that was announced, while it lasts',
        AUTHORITY,
        'if episode is None or episode.id.episode_id != episode_id or episode.state.over:',
        'if episode is None:',
        (
            _LEASES + 'an_arming_is_refused_with_its_reason',
            _LEASES + 'an_ended_episode_cannot_be_armed_for',
        ),
    ),
    Mutation(
        'A lease that is out is granted to nobody else',
        AUTHORITY,
        '        if lease.holder == client:',
        '        if True:',
        (_LEASES + 'an_arming_is_refused_with_its_reason',),
    ),
    Mutation(
        'Nobody arms a gate that does not hear what it needs',
        GATE,
        '        self._refuse_unheard(now)\n',
        '',
        (
            _LEASES + 'a_gate_that_has_not_heard_a_sensor_yet_is_not_armed',
            _LEASES + 'a_gate_that_no_longer_hears_its_sensors_is_not_armed',
        ),
    ),
    Mutation(
        'Nobody arms a gate that heard what it needs too long ago',
        SENSES,
        '            elif measurement.age > self._most[name]:',
        '            elif False:',
        (_LEASES + 'a_gate_that_no_longer_hears_its_sensors_is_not_armed',),
    ),
    Mutation(
        'At the end of a lease what moves is braked',
        GATE,
        '        if self._authority.over or self._authority.braking is not None:\n',
        '        if False:\n',
        (
            _LEASES + 'at_the_end_of_the_episode_the_robot_is_braked_and_then_left_to_its_driver',
            _LEASES + 'an_episode_that_the_environment_replaced_is_over_too',
        ),
    ),
    Mutation(
        'A new arming does not cut short the braking of the last episode',
        GATE,
        '        if self._moving and not self._lockstep:\n',
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
        GATE,
        '            if self._authority.over:\n                self._authority.lease = None\n',
        '',
        ('test_gate_status.py::test_the_status_follows_the_life_of_a_lease',),
    ),
    Mutation(
        'Armed for an episode that is being reset it publishes nothing',
        GATE,
        '        if not self._authority.running:\n            return ()  # armed',
        '        if False:\n            return ()  # armed',
        (_LEASES + 'during_the_reset_an_armed_gate_publishes_nothing',),
    ),
    Mutation(
        'An environment under another contract is not heard',
        GATE,
        '        if status.id.digest != self._digest:\n            return ()\n',
        '',
        (_LEASES + 'an_environment_under_another_contract_is_not_heard',),
    ),
    Mutation(
        "The policy's time runs from the start of the episode",
        GATE,
        '        elif not was_running:',
        '        elif False:',
        (_LEASES + 'the_time_of_the_policy_runs_from_the_start_of_the_episode',),
    ),
    Mutation(
        'A late policy is held',
        GATE,
        '        if again is None and late <= self._contract.safety.hold_after:',
        '        if again is None:',
        (_SILENCE + 'a_late_policy_is_held_and_a_silent_one_stopped_within_the_bound',),
    ),
    Mutation(
        'A policy is not late before it is',
        GATE,
        '        if again is None and late <= self._contract.safety.hold_after:',
        '        if False:',
        (_SILENCE + 'a_policy_is_not_late_before_it_is',),
    ),
    Mutation(
        'A held command is repeated once a period',
        GATE,
        '        if not output.due(now, self._contract.period if again is None else again):',
        '        if False:',
        (_SILENCE + 'a_held_command_is_repeated_once_a_period_not_at_every_tick',),
    ),
    Mutation(
        'At rest the stop is repeated once a period',
        GATE,
        '            if resting and not output.due(now, self._contract.period):',
        '            if resting:',
        (_SILENCE + 'at_rest_the_stop_is_repeated_once_a_period',),
    ),
    Mutation(
        'An action of a chunk waits for its turn',
        GATE,
        '            if now.steady < chunk.due:',
        '            if False:',
        (_CHUNKS + 'the_actions_of_a_chunk_go_out_a_period_apart',),
    ),
    Mutation(
        'A newer request drops what is left of an older chunk',
        GATE,
        'self._memory.chunk = None if rejected else chunk.next(self._contract.period)',
        'self._memory.chunk = None if rejected '
        'else chunk.next(self._contract.period) or self._memory.chunk',
        (_CHUNKS + 'a_newer_request_drops_what_is_left_of_an_older_one',),
    ),
    Mutation(
        'In lockstep a stop drops what is left of a chunk',
        GATE,
        '        if ruling.verdict is Verdict.STOPPED:\n            self._memory.chunk = None\n',
        '',
        # In realtime, what was stopped stays so until a request, which has a chunk of its own.
        (_LOCKSTEP + 'an_action_of_a_chunk_that_is_answered_by_a_stop_is_the_last_of_it',),
    ),
    Mutation(
        'In lockstep the end of the episode drops what is left of a chunk',
        GATE,
        '            self._memory.chunk = None  # nothing of it outlives its episode\n',
        '            pass\n',
        (_LOCKSTEP + 'the_end_of_the_episode_drops_what_is_left_of_a_chunk',),
    ),
    Mutation(
        'A takeover drops what is left of a chunk',
        GATE,
        '            self._memory.chunk = None\n            self._output.hand_over()\n',
        '            self._output.hand_over()\n',
        ('test_gate_operator.py::test_a_chunk_under_way_is_dropped_by_a_takeover',),
    ),
    Mutation(
        'In lockstep a request waits for the sensors of its observation',
        GATE,
        '            or not self._senses.awaits(request.id.episode_id, request.id.step)\n',
        '            or True\n',
        (
            _LOCKSTEP + 'a_request_waits_for_the_sensors_of_its_observation',
            _LOCKSTEP + 'a_request_waits_for_the_world_itself',
        ),
    ),
    Mutation(
        'In lockstep a stranger does not take the place of a request that waits',
        GATE,
        '            or self._refusals(request, running=True)\n',
        '',
        (
            _LOCKSTEP + 'a_stranger_does_not_take_the_place_of_a_request_that_waits',
            _LOCKSTEP + 'a_malformed_request_does_not_wait',
        ),
    ),
    Mutation(
        'In lockstep an older request does not take the place of one that waits',
        GATE,
        '        if waiting is not None and request.sequence < waiting[0].sequence:',
        '        if False:',
        (_LOCKSTEP + 'an_older_request_does_not_take_the_place_of_one_that_waits',),
    ),
    Mutation(
        'In lockstep sensors are waited for no longer than the deadline',
        GATE,
        '        if self._memory.pending is not None:\n            request, received',
        '        if False:\n            request, received',
        (_LOCKSTEP + 'a_request_whose_sensors_never_come_is_rejected_at_the_deadline',),
    ),
    Mutation(
        'A request that waited into the next lease is forgotten',
        GATE,
        '        self._memory.pending = None\n        # A hand',
        '        # A hand',
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
        '        if not self._lockstep:\n            received',
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
        STOPPING,
        "    if since is not None and since > limit:\n        results.append(_stop('gate'",
        "    if False:\n        results.append(_stop('gate'",
        (_HEALTH + 'a_timer_that_comes_too_late_stops_the_robot_to_the_end',),
    ),
    Mutation(
        'What was decided before the gate hung is void',
        GATE,
        '(then.steady - now.steady) / NANOSECONDS <= self._contract.safety.gate_lateness:',
        'True:',
        (
            _IN_TIME + 'a_request_that_was_admitted_before_the_gate_hung_moves_nothing',
            _IN_TIME + 'a_step_of_the_timer_that_was_not_said_in_time_is_taken_back',
        ),
    ),
    Mutation(
        'What was stopped stays stopped until something is asked for',
        STOPPING,
        '        if situation.stopped and not results and',
        '        if False and',
        (
            _HEALTH + 'after_a_late_timer_nothing_moves_until_something_new_is_asked_for',
            _REPUBLISH + 'a_stop_whose_cause_vanished_goes_on_until_an_action_comes',
        ),
    ),
    Mutation(
        'A clock that jumps stops',
        STOPPING,
        '    if error is not None and abs(error) > limit:',
        '    if False:',
        (_HEALTH + 'a_clock_that_jumps_stops_the_robot_to_the_end',),
    ),
    Mutation(
        'A competing publisher stops',
        STOPPING,
        '    if not situation.competing or ',
        '    if True or ',
        (_HEALTH + 'a_competing_publisher_stops_for_as_long_as_he_is_there',),
    ),
    Mutation(
        'A policy over its latency budget too often stops',
        STOPPING,
        '    if rule is None or situation.overruns <= rule.exceeded:',
        '    if True:',
        (_HEALTH + 'a_policy_that_is_too_slow_too_often_stops_until_it_is_quick_again',),
    ),
    Mutation(
        'An operator goes before the policy',
        ADMISSION,
        "(_reject('operator', Reason.OPERATOR),) if taken_over else ()",
        '()',
        ('test_gate_operator.py::test_a_held_switch_goes_before_the_policy',),
    ),
    Mutation(
        'Where command and measured state have parted the limits begin anew',
        OUTPUT,
        '                or _apart(previous, nearer_sign',
        '                or False and _apart(previous, nearer_sign',
        (_REPUBLISH + 'an_action_goes_on_from_what_is_measured_where_the_two_have_parted',),
    ),
    Mutation(
        'What a robot does beyond its command is not taken for one',
        OUTPUT,
        '                kept = kept_of(limits, previous, measured)\n',
        '                kept = measured\n',
        (_REPUBLISH + 'what_the_robot_does_beyond_its_command_is_not_taken_for_one',),
    ),
    Mutation(
        'A stop takes from what was commanded',
        GATE,
        '            return rule(self._limits, commanded, wanted), commanded\n',
        '            pass\n',
        (_REPUBLISH + 'a_stop_of_a_blocked_robot_takes_from_what_was_commanded',),
    ),
    Mutation(
        'Where no command is in force a stop sends no speed',
        BRAKING,
        '    if situation.seeded:\n',
        '    if False:\n',
        (_LEASES + 'a_stop_before_any_command_sends_no_speed_to_a_robot_that_rolls',),
    ),
    Mutation(
        'A robot that is to be watched and says nothing is stopped',
        STOPPING,
        ' and measurement.name not in limits.followed:',
        ':',
        (_REPUBLISH + 'a_robot_that_is_to_be_watched_and_says_nothing_is_stopped',),
    ),
    Mutation(
        'Nobody arms a gate that has not probed its drivers',
        GATE,
        '        self._refuse_unprobed()\n        self._authority.check_released()\n',
        '        self._authority.check_released()\n',
        ('test_driver_probe.py::test_nobody_arms_a_gate_that_has_not_probed_its_drivers',),
    ),
    Mutation(
        'While a lease is out limits only become stricter',
        GATE,
        "            refuse_looser(self._limits, limits, 'it is while a lease is out')",
        '            pass',
        ('test_gate_tightening.py::test_while_a_lease_is_out_limits_only_become_stricter',),
    ),
    Mutation(
        'The stop distance is not reached before its time',
        OBSTACLES,
        '    if speed > most:',
        '    if False:',
        ('test_gate_obstacle_rules.py::test_the_stop_distance_is_not_reached_before_its_time',),
    ),
    Mutation(
        'Before the boundary of a workspace it slows down',
        SHAPING,
        '    keep_inside(limits, situation, shaped)\n',
        '',
        (_WORKSPACE + 'a_robot_that_is_asked_to_leave_comes_as_near_as_it_may_without_a_stop',),
    ),
)

INVARIANTS = (
    *_IS_IT_A_COMMAND,
    *_MUST_IT_STOP,
    *_WHAT_MAY_BE_PUBLISHED,
    *_LEASE_AND_EPISODE,
    *_REST,
)
