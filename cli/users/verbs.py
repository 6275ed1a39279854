"""``pybroker users list``, ``add`` and ``remove``."""

import secrets
from pathlib import Path
from typing import Any

from ...base.command_parser import BAD_INPUT, CommandError, CommandParser
from ...client.response_error import response_error
from ...protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from ...protocol.scram import MIN_ITERATIONS, ScramMechanism
from ..exit_codes import DONE, NOT_THERE
from ..output.columns import Column
from ..output.confirmation import confirm
from ..results import print_results
from ..verb import Call, Verb
from .found_users import MECHANISMS, found_users
from .password import new_password
from .shapes import ScramUser, UserChange

__all__ = ["ADD", "LIST", "REMOVE"]

_SALT_BYTES = 32
_MAX_ITERATIONS = 16384
"""The most that Kafka's brokers accept."""
_LIST_COLUMNS = (
    Column("USER", lambda row: row.user),
    Column("MECHANISMS", lambda row: tuple(each.mechanism for each in row.credentials)),
    Column("ITERATIONS", lambda row: tuple(str(each.iterations) for each in row.credentials)),
)
_CHANGE_COLUMNS = (
    Column("USER", lambda row: row.user),
    Column("MECHANISMS", lambda row: row.mechanisms),
    Column("CHANGE", lambda row: f"would be {row.change}" if row.is_dry_run else row.change),
)


def _list_arguments(parser: CommandParser) -> None:
    parser.add_argument("users", metavar="USER", nargs="*", help="default: all users")


def _scram_argument(parser: CommandParser) -> None:
    parser.add_argument(
        "--scram",
        metavar="|".join(MECHANISMS),
        choices=tuple(MECHANISMS),
        action="append",
        default=[],
        help="for SCRAM-SHA-256 or SCRAM-SHA-512; default: both",
    )


def _add_arguments(parser: CommandParser) -> None:
    parser.add_argument("user", metavar="USER", help="name of the user; an existing user gets the new password")
    _scram_argument(parser)
    iterations = f"rounds of the hash, {MIN_ITERATIONS} (default) to {_MAX_ITERATIONS}"
    parser.add_argument("--iterations", metavar="N", type=int, default=MIN_ITERATIONS, help=iterations)
    parser.add_argument(
        "--password-file",
        metavar="FILE",
        type=Path,
        help="its first line is the password; default: asked for, or read from standard input",
    )


def _remove_arguments(parser: CommandParser) -> None:
    parser.add_argument("user", metavar="USER", help="name of the user")
    _scram_argument(parser)
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


def _list(call: Call) -> int:
    wanted = call.options.users
    rows = found_users(call.cluster, wanted or None)
    missing = set(wanted) - {row.user for row in rows}
    failures = [CommandError(f"user {name} has no SCRAM credentials", NOT_THERE) for name in sorted(missing)]
    if not rows and not wanted:
        call.output.say("there are no users with SCRAM credentials")
    return print_results(call.output, rows, _LIST_COLUMNS, lambda row: row.user, failures)


def _add(call: Call) -> int:
    options = call.options
    if not MIN_ITERATIONS <= options.iterations <= _MAX_ITERATIONS:
        raise CommandError(f"--iterations must be from {MIN_ITERATIONS} to {_MAX_ITERATIONS}", BAD_INPUT)
    if not options.user:
        raise CommandError("the name of the user must not be empty", BAD_INPUT)
    mechanisms = [MECHANISMS[word] for word in dict.fromkeys(options.scram)] or list(MECHANISMS.values())
    password = new_password(options.password_file)
    if options.dry_run:
        found_users(call.cluster, [options.user])  # fails where the change would fail: no right, too old a broker
    else:
        upsertions = [_upsertion(options.user, each, password, options.iterations) for each in mechanisms]
        _alter(call, AlterUserScramCredentialsRequest(deletions=[], upsertions=upsertions))
    return _print(call, "added", mechanisms)


def _upsertion(user: str, mechanism: ScramMechanism, password: str, iterations: int) -> ScramCredentialUpsertion:
    salt = secrets.token_bytes(_SALT_BYTES)
    salted = mechanism.salted_password(password, salt, iterations)
    return ScramCredentialUpsertion(
        name=user, mechanism=mechanism.code, iterations=iterations, salt=salt, salted_password=salted
    )


def _remove(call: Call) -> int:
    options = call.options
    found = found_users(call.cluster, [options.user])
    there = {each.mechanism for user in found for each in user.credentials}
    wanted = [MECHANISMS[word] for word in dict.fromkeys(options.scram)] or list(MECHANISMS.values())
    mechanisms = [each for each in wanted if each.name in there]
    if not mechanisms:
        raise CommandError(f"user {options.user} has no such SCRAM credentials", NOT_THERE)
    if not options.dry_run:
        if not options.yes:
            confirm(f"Remove {' and '.join(each.name for each in mechanisms)} of user {options.user}?")
        deletions = [ScramCredentialDeletion(name=options.user, mechanism=each.code) for each in mechanisms]
        _alter(call, AlterUserScramCredentialsRequest(deletions=deletions, upsertions=[]))
    return _print(call, "removed", mechanisms)


def _alter(call: Call, request: AlterUserScramCredentialsRequest) -> None:
    response: Any = call.cluster.ask_controller(request)
    for result in response.results:
        if result.error_code:
            raise response_error(result, f"user {result.user}")


def _print(call: Call, change: str, mechanisms: list[ScramMechanism]) -> int:
    names = tuple(each.name for each in mechanisms)
    row = UserChange(user=call.options.user, change=change, mechanisms=names, is_dry_run=call.options.dry_run)
    call.output.rows([row], _CHANGE_COLUMNS, name=lambda row: row.user)
    return DONE


LIST = Verb("list", "list users with SCRAM credentials", _list_arguments, _list, row=ScramUser)
ADD = Verb(
    "add",
    "add a user, or give a user a new password (the first user of a cluster: pybroker user set)",
    _add_arguments,
    _add,
    changes=True,
    row=UserChange,
)
REMOVE = Verb("remove", "remove the credentials of a user", _remove_arguments, _remove, changes=True, row=UserChange)
