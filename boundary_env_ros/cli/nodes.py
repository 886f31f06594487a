# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The commands that start the nodes, or sit beside them."""

from __future__ import annotations

from typing import Any

import click

from boundary_env_ros.cli.command import (
    argument,
    Command,
    contract_argument,
    contract_option,
    COUNT,
    domain_option,
    option,
    pacing_option,
    PATH,
    ros_command,
    ros_options,
    run_option,
    user_option,
)


@click.command(cls=Command)
@contract_argument()
@option('--simulated', is_flag=True, help='start the simulated robot of that name, too')
@pacing_option
@run_option
@option('--no-record', is_flag=True, help='start no recorder, if the contract requires none')
@option('--services', is_flag=True, help='offer the environment as ROS services, too')
@option(
    '--websocket',
    default='',
    metavar='ADDRESS',
    help='offer the services over WebSocket, too, at HOST:PORT',
)
@option(
    '--origin',
    'origins',
    multiple=True,
    metavar='URL',
    help='a web page of this origin may call them there',
)
@option(
    '--probe',
    is_flag=True,
    help='measure the timeouts of the drivers first, by `driver_timeout_probe`: the robot moves',
)
@option(
    '--command-domain',
    type=COUNT,
    metavar='N',
    help='have the commands in a ROS domain of their own, which only gate and driver join',
)
@option(
    '--on',
    type=click.Choice(('robot', 'policy')),
    help='start what is on that one of two machines',
)
@option('--one-process', is_flag=True, help='run a simulation in lockstep in one process')
@option('--secure', is_flag=True, help='start nothing unless the security of ROS 2 is enforced')
@ros_options
def up(**options: Any) -> int:
    """
    Start the nodes of a contract; Ctrl-C stops robot and nodes.

    Starts recorder, safety gate and environment, and with --simulated the robot as well. Prints
    what they log until Ctrl-C: how episodes begin and end, what the gate changes. Then the episode
    ends, the gate stops the robot, and the nodes exit. A policy steps them from another terminal;
    `boundary-env watch` shows their state there. Needs ROS 2.

      boundary-env up warehouse_cart --simulated
      boundary-env up my_robot.yaml --run runs/monday

    Over WebSocket there are no passwords: who reaches the address can drive the robot.

      boundary-env up warehouse_cart --simulated --pacing lockstep --websocket 127.0.0.1:8480

    On two machines each side is started on its own: recorder, gate and driver with --on robot,
    the environment with --on policy. Both need the same contract and key.

      boundary-env up my_robot.yaml --on robot

    Exit codes:
      0  stopped by Ctrl-C, SIGTERM or SIGHUP
      1  a node ended by itself; its last words are printed
      2  wrong arguments, an invalid contract, or a node that did not start
    """
    return int(ros_command('up')(**options))


@click.command(cls=Command)
@argument('keystore', 'KEYSTORE', 'folder, made where it is not there', type=PATH)
@contract_option('the contract', required=True)
@option(
    '--domain',
    '--domain-id',
    'domain_id',
    type=click.IntRange(0, 232),
    required=True,
    metavar='N',
    help='ROS domain; a keystore is for one',
)
@option('--namespace', default='', metavar='NS', help='namespace of the nodes')
@option('--simulated', is_flag=True, help='give the simulated robot an enclave, too')
def security(**options: Any) -> int:
    """
    Make keys and permissions for the nodes of a contract.

    By DDS Security. Writes KEYSTORE/NAME.policy.xml: who publishes, subscribes, serves and calls
    what. Then SROS2 makes authorities, governance and an enclave for each process; where it is not
    installed, the command that does so is printed. So is what drivers need, which have enclaves
    of their own, and the variables with which all that starts is secured. Needs ROS 2.

      boundary-env security keys --contract my_robot.yaml --domain 7

    Exit codes:
      0  the keystore is complete
      1  the policy alone was written: there is no SROS2 here
      2  wrong arguments, an invalid contract, or SROS2 failed
    """
    return int(ros_command('security')(**options))


@click.command(cls=Command)
@ros_options
def watch(**options: Any) -> int:
    """
    Show how a boundary does while it runs; takes no part in it.

    Shows the state of gate, episode and recorder; steps per second; overruns (steps without an
    action in time), late ticks and missed periods; each stage of the latency against its budget;
    and the age of each field. Redraws on a terminal; in a pipe it prints every 2 s.

      boundary-env watch
      boundary-env watch --namespace cart_1

    Exit codes:
      0  ended by Ctrl-C
      2  wrong arguments, no ROS, or no nodes found
    """
    return int(ros_command('watch')(**options))


@click.command(cls=Command)
@option('--episodes', type=COUNT, default=5, metavar='N', help='episodes of the scripted policy')
@option(
    '--baseline',
    type=COUNT,
    default=1,
    metavar='N',
    help='episodes of a policy that asks for too much, and of one that does nothing',
)
@option(
    '--pacing',
    type=click.Choice(('realtime', 'lockstep')),
    default='realtime',
    help='whether the world waits for the policy',
)
@option('--seed', type=COUNT, default=1, metavar='N', help='seed of the first episode')
@run_option
@domain_option('one that nothing else uses')
def demo(**options: Any) -> int:
    """
    Drive a simulated cart through the whole boundary, over ROS 2.

    Starts environment, safety gate, recorder and simulated robot as processes, in lockstep as one,
    on a ROS domain that nothing else uses. A scripted policy drives to a goal, to a rack, and to a
    goal that is too far. Then one policy asks for more than the contract allows, and one does
    nothing. The command says whether each episode ended as expected, and leaves a folder with bag,
    contract, episode index, summary and report.

      boundary-env demo --episodes 3 --pacing lockstep

    Exit codes:
      0  done
      1  something did not work; the last lines say what
      2  wrong arguments, or ROS is missing
    """
    return int(ros_command('demo')(**options))


@click.command(cls=Command)
@user_option
@option('--label', is_flag=True, help='ask for a label after each episode, too')
@option('--yes', is_flag=True, help='confirm every reset without asking (for scripts)')
@option('--release', is_flag=True, help='release the emergency stop, and end')
@option('--loosen', is_flag=True, help='forget limits that were made stricter, and end')
@option('--probe', is_flag=True, help='measure the timeouts of the drivers: the robot moves')
@ros_options
def operator(**options: Any) -> int:
    """
    Confirm resets and label episodes, at the robot.

    Shows each `confirm` step of the contract's reset with its deadline, and takes y, or n and the
    reason. Only what is typed after the question counts. After the deadline the episode ends as
    reset_failed. With --label it asks for a label after each episode; the recorder keeps it beside
    the environment's ending. Label afterwards with `boundary-env episodes label`. Ctrl-C ends it.

      boundary-env operator --user ada --label
      boundary-env operator --user night-run --yes

    With --release it releases the emergency stop of all gates, by the key of the boundary, and
    ends; the gate says by whom. The button has to be released, and the episode over. With --loosen
    the gates go by the limits of the contract again; with --probe they begin to measure the
    timeouts of the drivers.

      boundary-env operator --user ada --release

    Exit codes:
      0  ended by Ctrl-C, or done
      1  a gate has refused; it says why
      2  wrong arguments, no ROS, no terminal, or no nodes found
    """
    return int(ros_command('operator')(**options))
