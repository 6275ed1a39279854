"""``pybroker groups delete``."""

from ...base.command_parser import CommandError, CommandParser
from ...client.committed_offsets import committed_offsets
from ...protocol.errors import ErrorCode, error_for
from ..exit_codes import FAILED
from ..output.columns import Column
from ..output.confirmation import confirm
from ..verb import Call, Verb
from .described_groups import DEAD, described_group, missing_group
from .each_group import each_group
from .reset_offsets import members_text
from .shapes import GroupChange

__all__ = ["CHANGES", "DELETE"]

CHANGES = (
    Column("GROUP", lambda row: row.group),
    Column("MEMBER", lambda row: row.member_id),
    Column("CHANGE", lambda row: f"would be {row.change}" if row.is_dry_run else row.change),
)


def _arguments(parser: CommandParser) -> None:
    parser.add_argument("groups", metavar="GROUP", nargs="+", help="name of a group without members")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


def _run(call: Call) -> int:
    options = call.options
    names, code = each_group(call, options.groups, lambda name: _deletable(call, name))
    if names and not options.dry_run and not options.yes:
        confirm(f"Delete {', '.join(names)} with all offsets?")
    done, later_code = each_group(call, names, lambda name: _delete(call, name))
    call.output.rows(done, [CHANGES[0], CHANGES[2]], name=lambda row: row.group)
    return code or later_code


def _deletable(call: Call, name: str) -> str:
    group = described_group(call.cluster, name)
    if group.members:
        raise CommandError(f"{members_text(group)}: it can be deleted only when all of them are stopped", FAILED)
    if group.state == DEAD and not committed_offsets(call.cluster, name):
        raise missing_group(call.cluster, name)
    return name


def _delete(call: Call, name: str) -> GroupChange:
    from ...protocol.messages.delete_groups import DeleteGroupsRequest

    if not call.options.dry_run:
        request = DeleteGroupsRequest(groups_names=[name])
        (result,) = call.cluster.retried(lambda: call.cluster.ask_coordinator(name, request)).results
        if result.error_code == ErrorCode.NON_EMPTY_GROUP:
            raise CommandError(f"group {name}: a member has joined meanwhile", FAILED)
        if result.error_code:
            raise error_for(result.error_code, f"group {name}: {error_for(result.error_code)}")
    return GroupChange(group=name, member_id=None, change="deleted", is_dry_run=call.options.dry_run)


DELETE = Verb("delete", "delete groups with all their offsets", _arguments, _run, changes=True, row=GroupChange)
