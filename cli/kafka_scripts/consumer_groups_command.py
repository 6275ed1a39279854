"""``kafka-consumer-groups``: lists, describes, deletes groups, resets their offsets (Kafka: ConsumerGroupCommand)."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ...client.admin_cluster import AdminCluster
from ...protocol.messages.delete_groups import DeleteGroupsRequest
from .delete_offsets import delete_offsets
from .described_consumers import describe_offsets, describe_state
from .group_listing import check_listing, consumer_groups, list_groups
from .group_members import describe_members
from .kafka_errors import in_java_words
from .reset_group import reset_groups
from .script_cluster import CLUSTER_ERRORS, script_cluster
from .script_parser import ScriptParser, UsageError, check_required, check_without, is_given, number_given

__all__ = ["consumer_groups_command"]

_ABOUT = (
    "This tool helps to list all consumer groups, describe a consumer group, delete consumer group info, or reset "
    "consumer group offsets."
)
_SCENARIOS = (
    "to-offset",
    "to-datetime",
    "by-duration",
    "to-earliest",
    "to-latest",
    "to-current",
    "shift-by",
    "from-file",
)
_SCENARIOS_TEXT = (
    "[to-offset], [to-current], [to-datetime], [from-file], [by-duration], [to-earliest], [to-latest], [shift-by]"
)
_WARNING = (
    "WARN: No action will be performed as the --execute option is missing.In a future major release, the default "
    "behavior of this command will be to prompt the user before executing the reset rather than doing a dry run. You "
    "should add the --dry-run option explicitly if you are scripting this command and want to keep the current default "
    "behavior without prompting.\n"
)
_UNAVAILABLE = {
    "list": ("members", "offsets", "verbose"),
    "delete": ("members", "offsets", "state", "verbose"),
    "reset_offsets": ("members", "offsets", "state", "verbose"),
    "delete_offsets": ("members", "offsets", "state", "verbose"),
}


def consumer_groups_command(arguments: Sequence[str]) -> int:
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
        with script_cluster(options, number_given(options, "timeout") / 1000) as cluster:
            _ACTIONS[action](cluster, options)
    except CLUSTER_ERRORS as error:
        sys.stdout.write(f"\nError: Executing consumer group command failed due to {error}\n")
    return 0  # also after an error, as Kafka's script


def _parser() -> ScriptParser:
    parser = ScriptParser("kafka-consumer-groups", _ABOUT)
    add = parser.add_argument
    add("--bootstrap-server", metavar="SERVERS", help="REQUIRED: The servers to connect to.")
    add("--command-config", metavar="FILE", type=Path, help="Property file containing configs of the admin client.")
    add("--group", metavar="GROUP", action="append", default=[], help="The consumer group; may be given several times.")
    add("--all-groups", action="store_true", help="All consumer groups.")
    for action, meaning in (
        ("list", "List all consumer groups."),
        ("describe", "Describe consumer groups and list their lag."),
        ("delete", "Delete consumer groups with all their offsets."),
        ("reset-offsets", "Reset the offsets of consumer groups without members."),
        ("delete-offsets", "Delete offsets of a consumer group."),
    ):
        add(f"--{action}", action="store_true", help=meaning)
    add("--offsets", action="store_true", help="Describe the offsets of groups, as without an option.")
    add("--members", action="store_true", help="Describe the members of groups.")
    add("--verbose", action="store_true", help="Describe members with their partitions.")
    add("--state", metavar="STATES", nargs="?", const="", help="Describe the state; list only groups in these states.")
    add("--type", metavar="TYPES", nargs="?", const="", help="List the types of groups, or only groups of these types.")
    add("--timeout", metavar="MS", default="60000", help="How long to try (60000).")
    add("--topic", metavar="TOPIC", action="append", default=[], help="To reset or delete: topic, or topic:0,1.")
    add("--all-topics", action="store_true", help="To reset: all topics that the group has offsets in.")
    add("--to-offset", metavar="OFFSET", help="Reset to this offset.")
    add("--shift-by", metavar="N", help="Reset by so many records, which may be negative.")
    add("--to-datetime", metavar="TIME", help="Reset to a time, such as 2026-11-25T08:00:00.000.")
    add("--by-duration", metavar="DURATION", help="Reset to the time so long ago, such as P1DT2H.")
    add("--from-file", metavar="FILE", help="Reset to the offsets in a file, as --export writes it.")
    for place in ("earliest", "latest", "current"):
        add(f"--to-{place}", action="store_true", default=None, help=f"Reset to the {place} offset.")
    add("--dry-run", action="store_true", help="Only show the new offsets.")
    add("--execute", action="store_true", help="Store the new offsets.")
    add("--export", action="store_true", help="Show the new offsets as topic,partition,offset.")
    return parser


def _checked_action(options: argparse.Namespace) -> str:
    """The one action. Raises UsageError, as Kafka checks the options."""
    check_required(options, ["bootstrap-server"])
    if options.describe and not (options.group or options.all_groups):
        raise UsageError("Option [describe] takes one of these options: [reset-offsets], [describe], [delete], [list]")
    chosen = [action for action in _ACTIONS if getattr(options, action)]
    if len(chosen) != 1:
        raise UsageError("Command must include exactly one action: --list, --describe, --delete, --reset-offsets.")
    (action,) = chosen
    if action == "reset_offsets" and not options.execute and not options.dry_run:
        sys.stderr.write(_WARNING)
    unavailable = [name for name in _UNAVAILABLE.get(action, ()) if is_given(options, name)]
    if unavailable:
        raise UsageError(
            f"Option(s) [{', '.join(unavailable)}] are unavailable given other options on the command line"
        )
    if action in ("describe", "delete", "reset_offsets") and options.group:
        check_without(options, "group", ["all-groups"])
    if action == "list":
        check_listing(options)
    elif action == "describe":
        _check_description(options)
    elif action == "delete_offsets":
        if not options.topic or not options.group:
            raise UsageError("Option [delete-offsets] takes the following options: [all-groups], [group]")
    elif not options.group and not options.all_groups:
        raise UsageError(f"Option [{action.replace('_', '-')}] takes one of these options: [all-groups], [group]")
    if action == "delete" and options.topic:
        raise UsageError("The consumer does not support topic-specific offset deletion from a consumer group.")
    if action == "reset_offsets":
        _check_reset(options)
    return action


def _check_description(options: argparse.Namespace) -> None:
    if sum((options.members, options.offsets, options.state is not None)) > 1:
        raise UsageError("Option [describe] takes at most one of these options: [members], [offsets], [state]")
    if options.state:
        raise UsageError("Option [describe] does not take a value for [state]")


def _check_reset(options: argparse.Namespace) -> None:
    if options.dry_run and options.execute:
        raise UsageError("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
    if options.from_file is None and not options.topic and not options.all_topics:
        raise UsageError("One of the reset scopes should be defined: --all-topics, --topic.")
    given = [name for name in _SCENARIOS if is_given(options, name)]
    if not given:
        raise UsageError(f"Option '[reset-offsets]' requires one of the following scenarios: [{_SCENARIOS_TEXT}]")
    check_without(options, given[0], given[1:])


def _groups(cluster: AdminCluster, options: argparse.Namespace) -> list[str]:
    if options.all_groups:
        return [each.group for each in consumer_groups(cluster)]
    return list(dict.fromkeys(options.group))


def _describe(cluster: AdminCluster, options: argparse.Namespace) -> None:
    for name in _groups(cluster, options):
        if options.members:
            describe_members(cluster, name, is_verbose=options.verbose)
        elif options.state is not None:
            describe_state(cluster, name)
        else:
            describe_offsets(cluster, name)


def _delete(cluster: AdminCluster, options: argparse.Namespace) -> None:
    done, failed = [], []
    for name in _groups(cluster, options):
        if code := _deleted(cluster, name):
            failed.append(f"* Group '{name}' could not be deleted due to: {_JAVA}{in_java_words(code, None)}\n")
        else:
            done.append(f"'{name}'")
    if not failed:
        sys.stdout.write(f"Deletion of requested consumer groups ({', '.join(done)}) was successful.\n")
        return
    sys.stdout.write(f"\nError: Deletion of some consumer groups failed:\n{''.join(failed)}")
    if done:
        sys.stdout.write(f"\nThese consumer groups were deleted successfully: {', '.join(done)}\n")


def _deleted(cluster: AdminCluster, name: str) -> int:
    """Delete a group; returns the error code."""
    request = DeleteGroupsRequest(groups_names=[name])
    (result,) = cluster.retried(lambda: cluster.ask_coordinator(name, request)).results
    return int(result.error_code)


def _reset(cluster: AdminCluster, options: argparse.Namespace) -> None:
    reset_groups(cluster, options, _groups(cluster, options))


def _delete_offsets(cluster: AdminCluster, options: argparse.Namespace) -> None:
    for name in dict.fromkeys(options.group):
        delete_offsets(cluster, options, name)


_JAVA = "java.util.concurrent.ExecutionException: "
_ACTIONS: Mapping[str, Callable[[AdminCluster, argparse.Namespace], None]] = {
    "list": list_groups,
    "describe": _describe,
    "delete": _delete,
    "reset_offsets": _reset,
    "delete_offsets": _delete_offsets,
}
