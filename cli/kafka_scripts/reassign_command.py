"""``kafka-reassign-partitions``: moves replicas between brokers and directories (Kafka: ReassignPartitionsCommand)."""

import argparse
import random
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from ...base.command_parser import BAD_INPUT, CommandError
from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ...protocol.errors import ErrorCode
from ...protocol.messages.list_partition_reassignments import OngoingPartitionReassignment
from ...protocol.replica_assignment import BrokerRack, assign_replicas
from ..cluster.moves import change_moves, moves_under_way
from .directory_moves import directory_move_lines, moving_from, start_directory_moves
from .json_input import read_text
from .kafka_errors import check_code
from .reassign_input import (
    Assignment,
    Replica,
    assignment_text,
    checked_assignment,
    read_brokers,
    read_plan,
    read_topics,
)
from .replication_throttles import Move, clear_throttles, limit_directory_moves, limit_moves, moves_of
from .script_cluster import CLUSTER_ERRORS, script_cluster
from .script_parser import ScriptParser, UsageError, check_required, is_given

__all__ = ["reassign_command"]

_ABOUT = "This tool helps to move topic partitions between replicas."
_TIMEOUT_MS = 60_000
_REQUIRED = {
    "generate": ("topics-to-move-json-file", "broker-list"),
    "execute": ("reassignment-json-file",),
    "verify": ("reassignment-json-file",),
    "cancel": ("reassignment-json-file",),
    "list": (),
}
_PERMITTED = {
    "generate": ("disable-rack-aware",),
    "execute": ("additional", "throttle", "replica-alter-log-dirs-throttle", "timeout"),
    "verify": ("preserve-throttles",),
    "cancel": ("preserve-throttles", "timeout"),
    "list": (),
}
_VALUES = {
    "topics-to-move-json-file": ("FILE", 'Topics to move: {"topics": [{"topic": "foo"}], "version": 1}.'),
    "reassignment-json-file": ("FILE", "A plan, as --generate prints it."),
    "broker-list": ("IDS", "Brokers that get the partitions: 0,1,2."),
}
_RUNNING = (
    "Cannot execute because there is an existing partition assignment.  Use --additional to override this and create a "
    "new partition assignment in addition to the existing one. The --additional flag can also be used to change the "
    "throttle by resubmitting the current reassignment."
)
_WARNING = (
    "Warning: You must run --verify periodically, until the reassignment completes, to ensure the throttle is "
    "removed.\n"
)
_Ongoing = Mapping[TopicPartition, OngoingPartitionReassignment]


class _TerseError(Exception):
    """Why the command failed. No word stands in front of it."""


def reassign_command(arguments: Sequence[str]) -> int:
    """The script; returns its exit code."""
    parser = _parser()
    try:
        options = parser.parsed(arguments)
        if options is None:
            return 0
        action = _checked_action(options)
    except UsageError as error:
        return parser.refuse(error)
    try:
        with script_cluster(options) as cluster:
            _ACTIONS[action](cluster, options)
    except _TerseError as error:
        sys.stdout.write(f"{error}\n")
        return 1
    except CLUSTER_ERRORS as error:
        sys.stdout.write(f"Error: {error}\n")
        return 1
    return 0


def _parser() -> ScriptParser:
    parser = ScriptParser("kafka-reassign-partitions", _ABOUT)
    add = parser.add_argument
    add("--bootstrap-server", metavar="SERVERS", help="REQUIRED: The servers to connect to.")
    add("--command-config", metavar="FILE", type=Path, help="Property file containing configs of the admin client.")
    for action, meaning in (
        ("generate", "Print a plan for topics, and the replicas of now."),
        ("execute", "Start the moves of a plan."),
        ("verify", "Print how far the moves of a plan are; when all are done, remove the throttles."),
        ("cancel", "Cancel the moves of a plan that are under way."),
        ("list", "List all moves that are under way."),
    ):
        add(f"--{action}", action="store_true", help=meaning)
    for name, (metavar, meaning) in _VALUES.items():
        add(f"--{name}", metavar=metavar, help=meaning)
    add("--disable-rack-aware", action="store_true", help="Do not look at the racks of brokers.")
    add("--throttle", metavar="RATE", type=int, help="Bytes a second that moves between brokers may take.")
    add("--replica-alter-log-dirs-throttle", metavar="RATE", type=int, help="The same between directories.")
    add("--timeout", metavar="MS", type=int, help="How long to try to begin moves between directories (10000).")
    add("--additional", action="store_true", help="Execute beside the moves that are under way.")
    add("--preserve-throttles", action="store_true", help="Do not remove throttles.")
    return parser


def _checked_action(options: argparse.Namespace) -> str:
    """The one action. Raises UsageError, as Kafka checks the options."""
    chosen = [action for action in _ACTIONS if getattr(options, action)]
    if len(chosen) != 1:
        raise UsageError(f"Command must include exactly one action: --{', --'.join(_ACTIONS)}")
    (action,) = chosen
    if options.bootstrap_server is None:
        raise UsageError("Please specify --bootstrap-server")
    check_required(options, _REQUIRED[action])
    names = {name for some in (*_REQUIRED.values(), *_PERMITTED.values()) for name in some}
    for name in sorted(names - {*_REQUIRED[action], *_PERMITTED[action]}):
        if is_given(options, name):
            raise UsageError(f'Option "[{name}]" can\'t be used with action "[{action}]"')
    return action


def _generate(cluster: AdminCluster, options: argparse.Namespace) -> None:
    wanted = set(read_brokers(options.broker_list))
    topics = read_topics(read_text(options.topics_to_move_json_file))
    current = _replicas_of(cluster, topics)
    racks = [
        BrokerRack(broker.node_id, None if options.disable_rack_aware else broker.rack)
        for broker in cluster.metadata().brokers
        if broker.node_id in wanted
    ]
    if len({each.rack is None for each in racks}) > 1:
        raise CommandError(
            "Not all brokers have rack information. Add --disable-rack-aware in command line to make replica "
            "assignment without rack information.",
            BAD_INPUT,
        )
    proposed: dict[TopicPartition, Sequence[int]] = {}
    for topic in topics:
        mine = {at: replicas for at, replicas in current.items() if at.topic == topic}
        factor = len(mine[TopicPartition(topic, 0)])
        assigned = assign_replicas(racks, len(mine), factor, random.randrange)
        proposed |= {TopicPartition(topic, number): replicas for number, replicas in assigned.items()}
    sys.stdout.write(f"Current partition replica assignment\n{assignment_text(current)}\n\n")
    sys.stdout.write(f"Proposed partition reassignment configuration\n{assignment_text(proposed)}\n")


def _execute(cluster: AdminCluster, options: argparse.Namespace) -> None:
    plan = read_plan(read_text(options.reassignment_json_file))
    proposed = checked_assignment(plan)
    under_way = moves_under_way(cluster, _TIMEOUT_MS)
    if under_way and not options.additional:
        raise _TerseError(_RUNNING)
    _check_brokers(cluster, proposed)
    there = _replicas_of(cluster, {at.topic for at in proposed})
    if missing := [str(at) for at in sorted(proposed) if at not in there]:
        check_code(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition: {', '.join(missing)}")
    current = {at: there[at] for at in proposed}
    sys.stdout.write(
        f"Current partition replica assignment\n\n{assignment_text(current)}\n\n"
        "Save this to use as the --reassignment-json-file option during rollback\n"
    )
    _limit(cluster, options, moves_of(_moves(under_way), proposed, current), {each.broker for each in plan.directories})
    failures: list[Exception] = []
    change_moves(cluster, _TIMEOUT_MS, {at: tuple(replicas) for at, replicas in proposed.items()}, failures)
    if failures:
        raise _TerseError("\n".join(["Error reassigning partition(s):", *sorted(map(str, failures))]))
    many = "" if len(proposed) == 1 else "s"
    sys.stdout.write(f"Successfully started partition reassignment{many} for {_joined(proposed)}\n")
    _start(cluster, plan.directories, options)


def _limit(
    cluster: AdminCluster, options: argparse.Namespace, moves: Mapping[TopicPartition, Move], brokers: set[int]
) -> None:
    """Set the throttles that the options ask for, and say so."""
    between_brokers = -1 if options.throttle is None else options.throttle
    between_directories = (
        -1 if options.replica_alter_log_dirs_throttle is None else options.replica_alter_log_dirs_throttle
    )
    if between_brokers >= 0 or between_directories >= 0:
        sys.stdout.write(_WARNING)
    if between_brokers >= 0:
        limit_moves(cluster, moves, between_brokers)
        sys.stdout.write(f"The inter-broker throttle limit was set to {between_brokers} B/s\n")
    if between_directories >= 0:
        limit_directory_moves(cluster, brokers, between_directories)
        sys.stdout.write(f"The replica-alter-dir throttle limit was set to {between_directories} B/s\n")


def _verify(cluster: AdminCluster, options: argparse.Namespace) -> None:
    plan = read_plan(read_text(options.reassignment_json_file))
    under_way = moves_under_way(cluster, _TIMEOUT_MS)
    there = _replicas_of(cluster, {at.topic for at, _ in plan.partitions}, must_exist=False)
    sys.stdout.write("Status of partition reassignment:\n")
    for at, replicas in sorted(dict(plan.partitions).items()):
        sys.stdout.write(f"{_state(at, replicas, there.get(at, ()), is_moving=at in under_way)}\n")
    lines, are_done = directory_move_lines(cluster, plan.directories)
    sys.stdout.write("".join(f"{line}\n" for line in lines) or "\n")
    if are_done and not under_way and not options.preserve_throttles:
        _clear(cluster, dict(plan.partitions))


def _state(at: TopicPartition, wanted: Sequence[int], current: Sequence[int], *, is_moving: bool) -> str:
    if is_moving:
        return f"Reassignment of partition {at} is still in progress."
    if list(wanted) == list(current):
        return f"Reassignment of partition {at} is completed."
    return (
        f"There is no active reassignment of partition {at}, but replica set is {_numbers(current)} rather than "
        f"{_numbers(wanted)}."
    )


def _cancel(cluster: AdminCluster, options: argparse.Namespace) -> None:
    plan = read_plan(read_text(options.reassignment_json_file))
    named = {at for at, _ in plan.partitions}
    # Kafka 3.9.1 passes over moves that only add replicas, which is a defect: a plan's moves are to be cancelled.
    mine = [at for at in moves_under_way(cluster, _TIMEOUT_MS) if at in named]
    if mine:
        failures: list[Exception] = []
        change_moves(cluster, _TIMEOUT_MS, dict.fromkeys(mine), failures)
        if failures:
            many = "" if len(failures) == 1 else "s"
            lines = [f"Error cancelling partition reassignment{many} for:", *sorted(map(str, failures))]
            raise _TerseError("\n".join(lines))
        many = "" if len(mine) == 1 else "s"
        sys.stdout.write(f"Successfully cancelled partition reassignment{many} for: {_joined(mine)}\n")
    else:
        sys.stdout.write("None of the specified partition reassignments are active.\n")
    moving = moving_from(cluster, plan.directories)
    if moving:
        _start(cluster, moving, options)
    else:
        sys.stdout.write("None of the specified partition moves are active.")  # Kafka 3.9 does not end this line
    if not options.preserve_throttles:
        _clear(cluster, dict(plan.partitions))


def _list(cluster: AdminCluster, _: argparse.Namespace) -> None:
    under_way = moves_under_way(cluster, _TIMEOUT_MS)
    if not under_way:
        sys.stdout.write("No partition reassignments found.\n")
        return
    sys.stdout.write("Current partition reassignments:\n")
    for at, each in sorted(under_way.items()):
        adding = f" adding: {_numbers(each.adding_replicas)}." if each.adding_replicas else ""
        removing = f" removing: {_numbers(each.removing_replicas)}." if each.removing_replicas else ""
        sys.stdout.write(f"{at}: replicas: {_numbers(each.replicas)}.{adding}{removing}\n")


_ACTIONS: Mapping[str, Callable[[AdminCluster, argparse.Namespace], None]] = {
    "generate": _generate,
    "execute": _execute,
    "verify": _verify,
    "cancel": _cancel,
    "list": _list,
}


def _replicas_of(
    cluster: AdminCluster, topics: Iterable[str], *, must_exist: bool = True
) -> dict[TopicPartition, list[int]]:
    """The replicas of all partitions of the topics. Raises KafkaError for a topic that must exist but does not."""
    names = sorted(set(topics))
    found: dict[TopicPartition, list[int]] = {}
    for topic in cluster.metadata(names).topics if names else ():
        if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            if must_exist:
                check_code(topic.error_code, f"Topic {topic.name} not found.")
            continue
        check_code(topic.error_code, None)
        found |= {
            TopicPartition(topic.name or "", each.partition_index): each.replica_nodes for each in topic.partitions
        }
    return found


def _check_brokers(cluster: AdminCluster, proposed: Assignment) -> None:
    alive = {broker.node_id for broker in cluster.metadata().brokers}
    if unknown := sorted({broker for replicas in proposed.values() for broker in replicas} - alive):
        raise CommandError(f"Unknown broker id {unknown[0]}", BAD_INPUT)


def _moves(under_way: _Ongoing) -> dict[TopicPartition, Move]:
    return {
        at: Move(frozenset(each.replicas) - frozenset(each.adding_replicas), frozenset(each.adding_replicas))
        for at, each in under_way.items()
    }


def _start(cluster: AdminCluster, directories: Mapping[Replica, str], options: argparse.Namespace) -> None:
    wait_ms = 10_000 if options.timeout is None else options.timeout
    pending = start_directory_moves(cluster, directories, wait_ms)
    if pending:
        many = "" if len(pending) == 1 else "s"
        names = ",".join(map(str, pending))
        raise _TerseError(f"Timed out before log directory move{many} could be started for: {names}")


def _clear(cluster: AdminCluster, partitions: Assignment) -> None:
    """Remove all throttles of the brokers and of the plan's topics, and say so."""
    brokers = {broker.node_id for broker in cluster.metadata().brokers}
    brokers |= {broker for replicas in partitions.values() for broker in replicas}
    topics = {at.topic for at in partitions}
    for what, names in (("broker", sorted(brokers)), ("topic", sorted(topics))):
        many = "" if len(names) == 1 else "s"
        sys.stdout.write(f"Clearing {what}-level throttles on {what}{many} {','.join(map(str, names))}\n")
    clear_throttles(cluster, sorted(brokers), sorted(topics))


def _joined(partitions: Iterable[TopicPartition]) -> str:
    return ",".join(map(str, sorted(partitions)))


def _numbers(brokers: Iterable[int]) -> str:
    return ",".join(map(str, brokers))
