"""``pybroker groups kick``: removes a member from its group, which then rebalances at once."""

from ...base.command_parser import BAD_INPUT, FAILED, CommandError, CommandParser
from ...protocol.apis import ApiKey
from ...protocol.errors import error_for
from ..exit_codes import DONE, NOT_THERE
from ..output.confirmation import confirm
from ..verb import Call, Verb
from .delete_groups import CHANGES
from .described_groups import DEAD, SHARE, described_group, missing_group
from .shapes import GroupChange, GroupMember

__all__ = ["KICK"]

_REASON = "removed by pybroker groups kick"
_VERSION_WITH_MEMBERS = 3


def _arguments(parser: CommandParser) -> None:
    parser.add_argument("group", metavar="GROUP", help="name of a group")
    parser.add_argument(
        "--member",
        metavar="MEMBER",
        required=True,
        help="a member id, a group.instance.id, or a client id that only one member has",
    )
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


def _run(call: Call) -> int:
    options = call.options
    group = described_group(call.cluster, options.group)
    if group.state == DEAD:
        raise missing_group(call.cluster, options.group)
    if group.group_type == SHARE:
        raise CommandError(f"{options.group} is a share group; only a member itself can leave it", FAILED)
    member = _the_member(options.group, group.members, options.member)
    if not options.dry_run:
        if not options.yes:
            confirm(f"Remove {member.member_id} ({member.client_id} at {member.host}) from group {options.group}?")
        _remove(call, group.coordinator, member)
    change = GroupChange(group=options.group, member_id=member.member_id, change="removed", is_dry_run=options.dry_run)
    call.output.rows([change], CHANGES, name=lambda row: row.member_id)
    if not options.dry_run:
        call.output.say("A consumer that still runs joins again at its next poll.")
    return DONE


def _the_member(group: str, members: tuple[GroupMember, ...], text: str) -> GroupMember:
    """The member with this id. Raises CommandError when there is none, or more than one."""
    exact = [each for each in members if text in (each.member_id, each.instance_id)]
    found = exact or [each for each in members if each.client_id == text]
    if len(found) == 1:
        return found[0]
    known = ", ".join(each.member_id for each in (found or members)) or "none"
    if found:
        raise CommandError(f"group {group} has {len(found)} members of client {text}; say which: {known}", BAD_INPUT)
    raise CommandError(f"group {group} has no member {text}; members: {known}", NOT_THERE)


def _remove(call: Call, coordinator: int, member: GroupMember) -> None:
    from ...protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity

    version = call.cluster.connection_to(coordinator).newest_version(ApiKey.LEAVE_GROUP)
    request = LeaveGroupRequest(group_id=call.options.group)
    if version is not None and version >= _VERSION_WITH_MEMBERS:
        identity = MemberIdentity(member_id=member.member_id, group_instance_id=member.instance_id, reason=_REASON)
        request.members = [identity]
    else:
        request.member_id = member.member_id
    answer = call.cluster.ask_broker(coordinator, request)
    for code in (answer.error_code, *(each.error_code for each in answer.members)):
        if code:
            raise error_for(code, f"member {member.member_id}: {error_for(code)}")


KICK = Verb("kick", "remove a member from its group", _arguments, _run, changes=True, row=GroupChange)
