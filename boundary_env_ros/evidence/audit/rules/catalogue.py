# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
All rules of the audit: what an honest record keeps, and where to look when one does not.

The functions that check them stand in the modules beside this one, and in
:mod:`boundary_env_ros.evidence.audit.raw_messages`. ``doc/audit.md`` lists the same rules, and a
test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping

from boundary_env_ros.evidence.audit.rules.base import Rule, Severity

# The record as a whole ---------------------------------------------------------------------------

RECORD_COMPLETE = Rule(
    'record-complete',
    'Every line and every message of the record can be read whole, its contract is valid, and it '
    'holds at least one transition if its end is there.',
    'Record again with one version of this package, or look for an edit of the file.',
)
RECORD_CLOSED = Rule(
    'record-closed',
    'A record was closed by its writer, and has its beginning, its end and all its topics.',
    'The recorder was killed or still writes, or the record was cut or filtered; the audit looked '
    'at what can be read.',
    severity=Severity.SUSPICIOUS,
)
RECORD_ENDED = Rule(
    'record-ended',
    'The last episode of a record has an ending.',
    'The record was cut off or still goes on; do not count its last episode.',
    severity=Severity.SUSPICIOUS,
)
RECORD_UNCHANGED = Rule(
    'record-unchanged',
    'The messages of a bag are those that its recorder wrote: its chain confirms all of them, and '
    'has the signature or the head that was asked for.',
    'Take another copy of the bag: messages were changed, taken out or put in after it was '
    'recorded.',
    raw=True,
)
INDEX_AGREES = Rule(
    'index-agrees',
    'The index of a run folder has the episodes of its records and no others, each with its '
    'ending, its last step and the sum of its rewards.',
    'Look for episodes that were cut from the bag, and for an edit of the index.',
    near=True,
)

# Origin ------------------------------------------------------------------------------------------

ONE_CONTRACT = Rule(
    'one-contract',
    'Every node, step, decision and admitted request is under the one contract of the record, for '
    'one of its agents, in an episode that is named by a UUID.',
    'Start all nodes with one contract file, and audit against the contract of the run (its copy '
    'lies in the run folder). Do not join records of different contracts.',
)
VERSIONS_PRESENT = Rule(
    'versions-present',
    'The record names the contract, its version, and the software version of environment, client '
    'and gate.',
    'Record with a facade and nodes that report their versions; a result without them cannot be '
    'repeated.',
    severity=Severity.SUSPICIOUS,
)
EPISODE_CONSTANT = Rule(
    'episode-constant',
    'Versions, seed, wrappers, client, lease, and the topic and host of each field stay the same '
    'through an episode.',
    'Look for records that were joined, for a second client, and for a topic that was remapped or '
    'a host that was renamed during the run.',
)
NO_HIDDEN_WRAPPER = Rule(
    'no-hidden-wrapper',
    'The wrappers of the client are known, and none of them clips actions or ends episodes, which '
    'the record would not show.',
    'Take the wrapper away: the gate limits actions and the contract has the time limit. A client '
    'of the services names its wrappers, and itself, when it asks for a reset.',
)

# Order, resets and endings -----------------------------------------------------------------------

STEPS_IN_ORDER = Rule(
    'steps-in-order',
    'The steps of an episode are 0, 1, 2, ... in one piece and up to its ending, each one period '
    'after the one before but for what its tick was late.',
    'Look for lost messages (`lost` in the status of the recorder), for steps that were taken '
    'out, put in or sorted, and for a clock that was set back.',
)
RESET_AS_CONTRACT = Rule(
    'reset-as-contract',
    'An episode begins with its reset, step 0, which was confirmed, is within the tolerances of '
    'the contract, and has no action, reward or ending.',
    'Compare `episode: reset:` in the contract; a reset that failed is repeated, not used.',
)
EPISODE_ENDED = Rule(
    'episode-ended',
    'An episode has an ending before the next one of its agent begins.',
    'Look for an ending that was taken out; an episode without one cannot be counted.',
    near=True,
)
ENDING_DECLARED = Rule(
    'ending-declared',
    'An ending is terminated or truncated, never both, by one name of the contract that allows '
    'that flag and one declarer, as it was announced while the robot ran.',
    'Compare `episode: endings:` in the contract and the topic of the episode status; find the '
    'wrapper or the editor that changed a flag.',
)
ENDING_JUSTIFIED = Rule(
    'ending-justified',
    'An episode ends by the time limit, a stop of the gate or a lost sensor exactly when there is '
    'one and the contract says so.',
    'Compare `episode: time_limit:`, `on_stop:`, and `on_stale:` and `out_of_bounds:` of the '
    'fields in '
    'the contract with the last step.',
)
TASK_RECOMPUTED = Rule(
    'task-recomputed',
    'The task, asked again, gives the recorded start for the seed, the recorded goal, and the '
    'recorded rewards and endings for the recorded observations.',
    'Install the version of the task that the contract names; if it is that one, the record was '
    'changed.',
)

# What the policy saw -----------------------------------------------------------------------------

FIELDS_AS_CONTRACT = Rule(
    'fields-as-contract',
    'Observation, state and privileged record have the fields of the contract, each with its '
    'size, type, bounds, frame and image, and a confidence from 0 to 1.',
    'Audit against the contract that the run was made with, and look at the adapter of the field.',
)
TRUTH_WITHHELD = Rule(
    'truth-withheld',
    'The policy sees no privileged field, and no field of another source repeats the values of '
    'one, bit by bit.',
    'Take the field out of the observation and run again: results of a policy that sees ground '
    'truth are invalid.',
)
FIELDS_RECOMPUTED = Rule(
    'fields-recomputed',
    'Age and status of a field follow from its stamp, a derived field from the fields that it is '
    'derived from.',
    'Trust the stamps; compare `max_age:`, `skew:` and `derive:` of the field in the contract.',
)
CLOCKS_AGREE = Rule(
    'clocks-agree',
    'No sensor is ahead of the clock of the observation, and the system clock of a host passes '
    'the same time as its steady clock.',
    'Synchronise the clocks of the hosts (chrony, PTP); the system clock was set during the step, '
    'or a stamp was changed.',
    severity=Severity.SUSPICIOUS,
)

# The step ----------------------------------------------------------------------------------------

STEP_CONSISTENT = Rule(
    'step-consistent',
    'What a step says of its decision, its request, the observation before it and its latency is '
    'what these say, its reward the sum of its terms, and a tick without a decision an overrun.',
    'Trust the decision and the instants: look for a value that was changed in one place only.',
)
INSTANTS_IN_ORDER = Rule(
    'instants-in-order',
    'Nothing happens before what caused it, every published command is stamped, and all instants '
    'are of the clock of the contract.',
    'Set `use_sim_time` the same for every node; look for an instant that was changed.',
)
EXECUTION_MEASURED = Rule(
    'execution-measured',
    'What the robot did was measured before the step was closed, and evidence of execution comes '
    'after its command, with its topic and quantum, in the step or once afterwards.',
    'Look at the feedback of the contract; evidence from before a command is of the command '
    'before.',
)

# What the gate let through -----------------------------------------------------------------------

REQUEST_VALID = Rule(
    'request-valid',
    'An admitted action is that of its request: newer than the last one under its lease, for this '
    'step, of the size of the contract, and on an observation young enough.',
    'Look at the client, and at the gate that should have rejected it; compare `max_action_age:` '
    'in the contract.',
)
REQUEST_ANSWERED = Rule(
    'request-answered',
    'The requests of one lease are numbered without a gap, and each got a decision.',
    'Requests were lost on the way to the gate or came too late (look at network and load), the '
    'gate was not active, or a decision was taken out.',
    raw=True,
    severity=Severity.SUSPICIOUS,
)
ALLOWED_TO_MOVE = Rule(
    'allowed-to-move',
    'The robot goes on only while the gate is armed for its episode, with no emergency stop, no '
    'second publisher where the contract says `stop` and no jump of the clock; the timer does not '
    'end a stop.',
    'Look at the gate: in each of these cases the only command is a stop.',
)
OPERATOR_FIRST = Rule(
    'operator-first',
    'While the switch of the operator is held, and only then, the commands on the topic of the '
    'operator override those of the policy.',
    'Compare the measurement `operator`, whose last value is the switch, with `operator:` in the '
    'contract and with the topic of the operator.',
    raw=True,
)
RUNTIME_LIMITS_STRICTER = Rule(
    'runtime-limits-stricter',
    'Limits that were changed while the gate ran are stricter than those of the contract, and '
    'while one lease lasts never become less strict again.',
    'Compare `runtime_limits` with the contract, and with the decision before.',
)
FOREIGN_PUBLISHER = Rule(
    'foreign-publisher',
    'The gate is the only publisher on the command topics, and the topics that it goes by have no '
    'second one.',
    'Find the other publisher: what it commands passes no gate, and nothing in the record tells '
    'what it measured from what the robot did.',
    severity=Severity.SUSPICIOUS,
)
REPUBLISHED_AS_DECLARED = Rule(
    'republished-as-declared',
    'A command is sent again only where the contract says so, before it is late, and no sooner '
    'than declared.',
    'Compare `republish_period:` in the contract with the instants of the commands.',
)

# The decisions of the gate -----------------------------------------------------------------------

DECISION_SEQUENCE = Rule(
    'decision-sequence',
    'The decisions of a gate are numbered without a gap; only a restarted gate begins again at 1.',
    'Look for lost messages (`lost` in the status of the recorder), or for decisions that were '
    'taken out.',
)
DECISION_EXPLAINED = Rule(
    'decision-explained',
    'Rules of the gate with their reasons explain the verdict and every difference between the '
    'action that was asked for and the command; a rejected action publishes nothing.',
    'A change without a reason means that something else clips: find it between policy and '
    'command topic.',
)
WANTED_COMMAND = Rule(
    'requested-command',
    'The wanted command is what was asked for: by the request, the operator, the probe of the '
    'contract, or, for the timer, what is in force or safe.',
    'Look for a request or a command that was taken out: a command that nothing asked for must '
    'not be on its way.',
)
MEASUREMENTS_AS_CONTRACT = Rule(
    'measurements-as-contract',
    'A decision carries the measurements that the rules of the gate need, by name, each with its '
    'number of values and from one topic.',
    'Compare what `safety:` and `feedback:` in the contract look at with the measurements.',
)
INPUTS_RECOMPUTED = Rule(
    'inputs-recomputed',
    'The times that a decision was made with (age of a measurement, silence of the policy, '
    'lateness of the timer, late requests, time since the last command) follow from its '
    'instants.',
    'Trust the instants: a value that was made smaller hides that the robot should have stopped.',
)
PREVIOUS_COMMAND = Rule(
    'previous-command',
    'The previous command is the last one that was published, with its rate; only where that is '
    'in force no more (a reset may have moved the robot, the gate was deactivated, a driver was '
    'left alone for its timeout) or `max_tracking_error` asks for it, it is the measured state, '
    'younger than '
    'the last command and within the bounds.',
    'Limits hold for the emitted sequence: look for a decision that was taken out, and compare '
    'the `feedback` among the measurements.',
)
RULING_RECOMPUTED = Rule(
    'ruling-recomputed',
    "The gate's rules, run again on the recorded request and inputs, give the recorded verdict, "
    'action, command and reasons.',
    'Compare the decision with its inputs; if the gate itself wrote it so, its rules have changed '
    'since.',
)
COMMAND_IN_BOUNDS = Rule(
    'command-in-bounds',
    'Every published command has the dimensions of the contract, and each is a number within its '
    'bounds; from a place outside, none goes farther out.',
    'Compare `low:` and `high:` of the action in the contract, and `runtime_limits` '
    'of the decision.',
)
COMMAND_MOTION = Rule(
    'command-motion',
    'The published commands keep the rate, the acceleration and the jerk of the contract, by '
    'their differences alone; a rotation is a unit quaternion; a stop goes to the safe command.',
    'Compare `rate:`, `stop:`, `acceleration:`, `jerk:` and `rotation:` of the action in the '
    'contract with the last commands and their time steps.',
)

# From the raw messages ---------------------------------------------------------------------------

AS_PUBLISHED = Rule(
    'as-published',
    'The request in a decision, the decisions in a step and its observation are, bit by bit, '
    'those that policy, gate and environment published.',
    'Trust the topic of the node that published it, and look for lost messages.',
    raw=True,
    near=True,
)
VALUES_FROM_SENSORS = Rule(
    'values-from-sensors',
    'Every measurement of the gate, field of an observation or privileged record, and measured '
    'action is what its reader makes of the raw message with its stamp.',
    'Trust the sensor topic: a value that no message supports was never measured.',
    raw=True,
)
VALUES_NEWEST = Rule(
    'values-newest',
    'A measurement or field is of the newest message that its reader can have had, within what '
    'the stamps tell about the transport.',
    'Compare the stamps of the topic with the instant of the decision or observation: old data '
    'hide what was ahead.',
    raw=True,
)
COMMAND_ON_TOPIC = Rule(
    'command-on-topic',
    'The messages on the command topics are the commands of the decisions, one for one, with '
    'their stamps and values and nothing else; an imported step has the last one of them.',
    'Trust the command topic, it is what the robot got; something else commands the robot, or a '
    'decision was changed or taken out.',
    raw=True,
)
EMERGENCY_STOP_HEARD = Rule(
    'emergency-stop-heard',
    'Once the emergency stop was pressed on its topic, every decision in that episode says so; '
    'and while it stays pressed, every later one.',
    'Compare the topic of the emergency stop with `emergency_stop` of the decisions.',
    raw=True,
)

#: The rules by what they are about, in the order of reports and of ``doc/audit.md``.
GROUPS: Mapping[str, tuple[Rule, ...]] = {
    'The record as a whole': (
        *(RECORD_COMPLETE, RECORD_CLOSED, RECORD_ENDED, RECORD_UNCHANGED, INDEX_AGREES),
    ),
    'Who made it, under which contract': (
        *(ONE_CONTRACT, VERSIONS_PRESENT, EPISODE_CONSTANT, NO_HIDDEN_WRAPPER),
    ),
    'Order of the steps, resets, endings and rewards': (
        *(STEPS_IN_ORDER, RESET_AS_CONTRACT, EPISODE_ENDED),
        *(ENDING_DECLARED, ENDING_JUSTIFIED, TASK_RECOMPUTED),
    ),
    'What the policy saw': (
        *(FIELDS_AS_CONTRACT, TRUTH_WITHHELD, FIELDS_RECOMPUTED, CLOCKS_AGREE),
    ),
    'What a step says': (STEP_CONSISTENT, INSTANTS_IN_ORDER, EXECUTION_MEASURED),
    'What the gate let through': (
        *(REQUEST_VALID, REQUEST_ANSWERED, ALLOWED_TO_MOVE, OPERATOR_FIRST),
        *(RUNTIME_LIMITS_STRICTER, FOREIGN_PUBLISHER, REPUBLISHED_AS_DECLARED),
    ),
    'The decisions of the gate': (
        *(DECISION_SEQUENCE, DECISION_EXPLAINED, WANTED_COMMAND, MEASUREMENTS_AS_CONTRACT),
        *(INPUTS_RECOMPUTED, PREVIOUS_COMMAND, RULING_RECOMPUTED),
        *(COMMAND_IN_BOUNDS, COMMAND_MOTION),
    ),
    'What the raw messages say': (
        *(AS_PUBLISHED, VALUES_FROM_SENSORS, VALUES_NEWEST),
        *(COMMAND_ON_TOPIC, EMERGENCY_STOP_HEARD),
    ),
}

RULES: tuple[Rule, ...] = tuple(rule for rules in GROUPS.values() for rule in rules)

RULE: Mapping[str, Rule] = {rule.id: rule for rule in RULES}
