# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What has to hold around the gate: evidence, storage, facade and nodes, as in ``invariants``.

One sentence for each way in which a record, a client or a node could deceive its user.
"""

from __future__ import annotations

from tools.mutations.invariants import Mutation

CHAIN_FINDINGS = 'evidence/audit/audit.py'
RECORD_CHAIN = 'storage/record_chain.py'
RECORDING = 'storage/recording_thread.py'
RUN = 'storage/run_recording.py'
WATCH = 'storage/run_watch.py'
ENV = 'facade/contract_env.py'
WRAPPERS = 'facade/wrapper_chain.py'
SPACES = 'facade/spaces.py'
GUARD = 'ros/message_guard.py'
CLIENT = 'ros/agent_client.py'
SAFETY_GATE = 'ros/nodes/safety_gate.py'

_CHAIN = 'evidence/test_audit_chain.py::test_'
_THREAD = 'storage/test_recording_thread.py::test_'
_RUN = 'storage/test_run_recording.py::test_'
_WATCHED = 'storage/test_run_watch.py::test_'
_ENV = 'facade/test_env.py::test_'
_WRAPPED = 'facade/test_wrapper_chain.py::test_'
_GUARDED = 'ros/test_message_guard.py::test_'
_HOSTILE = 'storage/test_hostile_files.py::test_'
_RETRY = 'ros/test_call_with_retry.py::test_'
_LONE = 'ros/test_lone_gate.py::test_'
_FOREIGN = 'ros/test_foreign_publishers.py::test_'
_AUTHENTIC = 'core/test_authentication.py::test_'
_FORGED = 'ros/test_authenticity.py::test_'
_FLOAT32 = 'ros/test_float32_commands.py::test_'

_EVIDENCE = (
    Mutation(
        'Every rule of the audit is applied to every step and decision',
        'evidence/audit/auditor.py',
        '_MODULES = (step_checks, observation_checks,',
        '_MODULES = (step_checks,',
        (
            'evidence/test_audit.py::test_every_function_that_checks_a_step_or_a_decision_is_applied',
        ),
    ),
    Mutation(
        'A privileged field in what the policy saw is named',
        'evidence/audit/rules/observation_checks.py',
        "    for view in ('before', 'after', 'state'):",
        '    for view in ():',
        ('evidence/test_audit_damage.py::test_damage_is_named_by_its_rule',),
    ),
    Mutation(
        'A message that the chain does not confirm is named',
        CHAIN_FINDINGS,
        '    for broken in chain.breaks:',
        '    for broken in ():',
        (
            _CHAIN + 'forgery_that_fits_breaks_the_chain',
            _CHAIN + 'record_that_was_cut_is_contradicted_by_its_last_link',
        ),
    ),
    Mutation(
        'A record without its last link is incomplete',
        CHAIN_FINDINGS,
        '    if not last.closed:',
        '    if False:',
        (_CHAIN + 'record_that_was_cut_after_an_episode_is_incomplete',),
    ),
    Mutation(
        'The head that was kept elsewhere is compared',
        CHAIN_FINDINGS,
        '    if head and last.head.hex() != head.lower():',
        '    if False:',
        (_CHAIN + 'head_that_was_kept_elsewhere_tells_a_chain_that_was_made_anew',),
    ),
    Mutation(
        'A signature is verified',
        CHAIN_FINDINGS,
        '        if not valid:',
        '        if False:',
        (_CHAIN + 'signature_of_another_head_is_named',),
    ),
    Mutation(
        'Whose signature it is is compared',
        CHAIN_FINDINGS,
        '    if key and last.public_key != key:',
        '    if False:',
        (_CHAIN + 'signature_tells_whose_record_it_is',),
    ),
    Mutation(
        'A decision that does not come out again is a difference',
        'evidence/record_difference.py',
        '        return None if close(one, other, tolerance) else (place, one, other)',
        '        return None',
        ('evidence/test_replay_check.py::test_a_change_of_one_thing_is_the_first_difference',),
    ),
)

_STORAGE = (
    Mutation(
        'A chain goes on from its last head',
        RECORD_CHAIN,
        '        if not goes_on and not (before is None and self.before):',
        '        if False:',
        (_CHAIN + 'link_that_was_taken_out_is_named',),
    ),
    Mutation(
        'A message for which there is no room is counted as lost',
        RECORDING,
        'self._dropped[topic] = self._dropped.get(topic, 0) + 1',
        'pass',
        (_THREAD + 'disk_that_hangs_keeps_nobody_waiting_and_costs_sensors_first',),
    ),
    Mutation(
        'A recording without room for a record of its own is over',
        RECORDING,
        '                if vital:',
        '                if False:',
        (_THREAD + 'recording_without_room_for_its_own_records_is_over',),
    ),
    Mutation(
        'What waits when a recording ends is counted as lost',
        RECORDING,
        '        if unwritten:',
        '        if False:',
        (_THREAD + 'what_waits_when_the_recording_ends_is_counted',),
    ),
    Mutation(
        'A disk that does not keep what it took ends the recording',
        RECORDING,
        '            self._sync_failure = error',
        '            pass',
        (_THREAD + 'disk_that_cannot_keep_what_it_took_ends_the_recording',),
    ),
    Mutation(
        'A gap in the decisions of a gate is counted',
        WATCH,
        'max(sequence - (last + 1 if sequence > last else 1), 0)',
        '0',
        (_WATCHED + 'gap_in_decisions_is_counted', _RUN + 'gaps_are_counted'),
    ),
    Mutation(
        'A gap in the steps of an episode is counted',
        WATCH,
        'self.lost += max(0, step.step - last - 1)',
        'self.lost += 0',
        (_WATCHED + 'gap_in_steps_of_an_episode_is_counted',),
    ),
    Mutation(
        'A silent environment is declared lost once',
        WATCH,
        '        self._declared = status.id.episode_id',
        '        pass',
        (_WATCHED + 'silence_in_an_episode_is_declared_once_and_signed',),
    ),
    Mutation(
        'The first ending of an episode stands',
        'storage/episode_index.py',
        '        if row.done and _ending(row) != _ending(new):',
        '        if False:',
        (_RUN + 'second_ending_is_told_of_and_the_first_stands',),
    ),
    Mutation(
        'A message that cannot be read is told of',
        RUN,
        '            self._notices.append(why)',
        '            pass',
        (_RUN + 'message_that_cannot_be_read_is_told_of_and_kept',),
    ),
    Mutation(
        'What is decompressed has a limit',
        'storage/unpacking.py',
        '            if total > most:',
        '            if False:',
        (_HOSTILE + 'chunk_is_decompressed_up_to_its_limit_whatever_it_claims',),
    ),
)

_FACADE = (
    Mutation(
        'The policy is not told what is privileged',
        'core/environment/observation_buffer.py',
        'fields=fields[:count])',
        'fields=(*fields[:count], *self.privileged(id_, now).fields))',
        (_ENV + 'the_evaluators_fields_reach_neither_observation_nor_info',),
    ),
    Mutation(
        'What the gate clipped is said',
        'facade/info.py',
        'list(transition.clipped),',
        '[False for _ in transition.clipped],',
        (_ENV + 'an_action_out_of_bounds_is_allowed_limited_and_said',),
    ),
    Mutation(
        'No world is stepped on after an ending',
        'facade/world.py',
        '    if not running:',
        '    if False:',
        ('facade/test_embedded_world.py::test_a_step_without_an_episode_is_refused',),
    ),
    Mutation(
        'After a step that was broken off there is no step without a reset',
        ENV,
        "            self._idle = f'the last step was broken off ({type(error).__name__})'",
        '            pass',
        (_ENV + 'a_step_that_was_broken_off_asks_for_a_reset_and_the_next_episode_is_whole',),
    ),
    Mutation(
        'The wrappers of a step are those that the record names',
        WRAPPERS,
        '    if found != expected:',
        '    if False:',
        (_WRAPPED + 'wrappers_put_around_after_the_reset_are_refused',),
    ),
    Mutation(
        'No time limit beside that of the contract',
        WRAPPERS,
        '        if isinstance(limit, TimeLimit):',
        '        if False:',
        (_WRAPPED + 'a_time_limit_of_gymnasiums_is_refused_wherever_it_stands',),
    ),
    Mutation(
        'What is not finite is no action',
        SPACES,
        '    if not np.all(np.isfinite(array)):',
        '    if False:',
        (_ENV + 'an_action_that_cannot_be_a_command_is_refused_and_the_episode_goes_on',),
    ),
)

_NODES = (
    Mutation(
        'What a message leads to ends no node',
        GUARD,
        '                self.refuse(topic, error)\n\n        return on_message',
        '                raise\n\n        return on_message',
        (_GUARDED + 'bytes_that_are_no_message_are_a_refusal',),
    ),
    Mutation(
        'A flood is refused unread',
        GUARD,
        '            if not budget.spend():\n                self.refuse(topic',
        '            if False:\n                self.refuse(topic',
        (_GUARDED + 'a_flood_is_refused_unread_and_what_is_urgent_goes_before_it',),
    ),
    Mutation(
        'What is larger than any honest message is refused unread',
        GUARD,
        '            elif most and len(data) > most:',
        '            elif False:',
        (_GUARDED + 'what_is_too_large_is_refused_unread_and_the_next_is_heard',),
    ),
    Mutation(
        'The longest honest request is read',
        GUARD,
        '    return texts + 8 * contract.horizon * contract.action_size',
        '    return texts',
        (_GUARDED + 'no_honest_message_is_too_large',),
    ),
    Mutation(
        'No lease before the recorder can have the first request',
        CLIENT,
        '            lambda: self._recorder_listens() or self._over(),',
        '            lambda: True,',
        (_RETRY + 'no_lease_is_asked_for_before_the_recorder_can_have_the_first_request',),
    ),
    Mutation(
        'A latched emergency stop outlives the cleanup of the gate',
        SAFETY_GATE,
        '            self._latched = self._gate.state.name is GateState.EMERGENCY_STOPPED',
        '            self._latched = False',
        ('ros/test_lone_gate.py::test_a_latched_emergency_stop_outlives_the_cleanup_of_the_gate',),
    ),
    Mutation(
        'A topic of the emergency stop that nobody publishes is noticed',
        SAFETY_GATE,
        "unpublished=self.resolve_topic_name(stop) if unpublished else '',",
        "unpublished='',",
        (_LONE + 'a_typo_in_the_topic_of_the_emergency_stop_is_an_error_at_arming',),
    ),
    Mutation(
        'A command that the gate did not send stops the robot',
        'ros/command_topic.py',
        '        if not is_longer and self.is_own(data, subscription):',
        '        if True:',
        (_FOREIGN + 'one_command_of_a_publisher_that_is_gone_at_once_stops_the_robot',),
    ),
    Mutation(
        'A message with a wrong tag is refused',
        'core/authentication.py',
        '        if not hmac.compare_digest(',
        '        if False and not hmac.compare_digest(',
        (_AUTHENTIC + 'a_message_of_which_any_byte_was_changed_is_refused',),
    ),
    Mutation(
        'A message that was sent before is refused',
        'core/authentication.py',
        '        if number <= after:',
        '        if False:',
        (_AUTHENTIC + 'a_message_that_is_sent_again_is_refused',),
    ),
    Mutation(
        'What was recorded before a node began is refused by it',
        'core/authentication.py',
        'self._newest.get(role, 0 if role in self._lasting else self._since)',
        'self._newest.get(role, 0)',
        (_AUTHENTIC + 'what_was_recorded_before_a_receiver_began_is_none_of_its_business',),
    ),
    Mutation(
        'A message without authentication is refused where there is a key',
        GUARD,
        '            elif fault is not None and (problem := fault(data)):',
        '            elif False and fault is not None and (problem := fault(data)):',
        (_FORGED + 'a_forged_request_that_is_quicker_than_the_policy_is_not_executed',),
    ),
    Mutation(
        'Nobody takes the gate away while an episode runs',
        'ros/contract_node.py',
        "                busy = self.busy() if self.keyed else ''",
        "                busy = ''",
        (_FORGED + 'nobody_takes_gate_or_environment_away_while_an_episode_runs',),
    ),
    Mutation(
        'A float32 is rounded inwards at a bound that a parameter makes stricter',
        SAFETY_GATE,
        'high=limits.high[part],',
        'high=group.high,',
        (_FLOAT32 + 'a_bound_that_a_parameter_makes_stricter_is_not_exceeded_either',),
    ),
)

AROUND_THE_GATE = (*_EVIDENCE, *_STORAGE, *_FACADE, *_NODES)
