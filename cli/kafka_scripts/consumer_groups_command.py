"""``kafka-consumer-groups``: lists, describes, deletes groups, resets their offsets (Kafka: ConsumerGroupCommand)."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ...client.admin_cluster import AdminCluster
from ...protocol.errors import ErrorCode, error_for
from ...protocol.messages.delete_groups import DeleteGroupsRequest
from ..groups.described_groups import listed_groups
from .described_consumers import describe_offsets, describe_state
from .reset_group import reset_group
from .script_cluster import CLUSTER_ERRORS, script_cluster
from .script_parser import ScriptParser, UsageError, check_required

__all__ = ["consumer_groups_command"]

_ABOUT = (
    "This tool helps to list all consumer groups, describe a consumer group, delete consumer group info, or reset "
    "consumer group offsets."
)
_SCENARIOS = ("to-offset", "shift-by", "to-earliest", "to-latest", "to-current")
_REASONS: Mapping[int, str] = {
    ErrorCode.GROUP_ID_NOT_FOUND: "GroupIdNotFoundException: The group id does not exist.",
    ErrorCode.NON_EMPTY_GROUP: "GroupNotEmptyException: The group is not empty.",
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
        with script_cluster(options) as cluster:
            _ACTIONS[action](cluster, options)
    except CLUSTER_ERRORS as error:
        sys.stdout.write(f"\nError: Executing consumer group command failed due to {error}\n")
        return 1
    return 0


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
        ("reset-offsets", "Reset the offsets of a consumer group without members."),
    ):
        add(f"--{action}", action="store_true", help=meaning)
    add("--offsets", action="store_true", help="Describe the offsets of groups, as without an option.")
    add("--state", action="store_true", help="Describe the state of groups.")
    add("--topic", metavar="TOPIC", action="append", default=[], help="To reset: a topic, or topic:0,1.")
    add("--all-topics", action="store_true", help="To reset: all topics that the group has offsets in.")
    add("--to-offset", metavar="OFFSET", type=int, help="Reset to this offset.")
    add("--shift-by", metavar="N", type=int, help="Reset by so many records, which may be negative.")
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
    if action == "list" and options.state:
        raise UsageError("--list --state is not available; use pybroker groups list")
    if action in ("delete", "reset_offsets") and not options.group:
        raise UsageError(f"Option [{action.replace('_', '-')}] takes the option: [group]")
    if action != "describe" and options.all_groups:
        raise UsageError(f"--all-groups is not available with --{action.replace('_', '-')}; name each by --group")
    if action == "reset_offsets":
        _check_reset(options)
    return action


def _check_reset(options: argparse.Namespace) -> None:
    if options.dry_run and options.execute:
        raise UsageError("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
    if bool(options.topic) == options.all_topics:
        raise UsageError("Option [reset-offsets] takes one of these options: [topic], [all-topics]")
    given = [name for name in _SCENARIOS if getattr(options, name.replace("-", "_")) is not None]
    if len(given) != 1:
        raise UsageError(f"Option [reset-offsets] takes exactly one of --{', --'.join(_SCENARIOS)}")


def _list(cluster: AdminCluster, options: argparse.Namespace) -> None:
    groups, failures = listed_groups(cluster)
    if failures:
        raise failures[0]
    for each in groups:
        if each.protocol_type in ("consumer", ""):
            sys.stdout.write(f"{each.group}\n")


def _describe(cluster: AdminCluster, options: argparse.Namespace) -> None:
    names = options.group
    if options.all_groups:
        names = [each.group for each in listed_groups(cluster)[0] if each.protocol_type in ("consumer", "")]
    for name in names:
        (describe_state if options.state else describe_offsets)(cluster, name)


def _delete(cluster: AdminCluster, options: argparse.Namespace) -> None:
    done, failed = [], []
    for name in dict.fromkeys(options.group):
        if code := _deleted(cluster, name):
            said = _JAVA + _REASONS[code] if code in _REASONS else error_for(code)
            failed.append(f"* Group '{name}' could not be deleted due to: {said}\n")
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
    for name in dict.fromkeys(options.group):
        reset_group(cluster, options, name)


_JAVA = "java.util.concurrent.ExecutionException: org.apache.kafka.common.errors."
_ACTIONS: Mapping[str, Callable[[AdminCluster, argparse.Namespace], None]] = {
    "list": _list,
    "describe": _describe,
    "delete": _delete,
    "reset_offsets": _reset,
}
