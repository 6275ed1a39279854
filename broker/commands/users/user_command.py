"""``pybroker user``: sets, removes and lists SCRAM users in a cluster's metadata tree, such as the first user.

While brokers run, ``pybroker users`` does the same through the cluster, as a user that may.
"""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from ....base.command_parser import CommandError, CommandParser
from ....cli.users.password import new_password
from ....config.load import load_config
from ....controller.tree.metadata_store import MetadataStoreError
from ....controller.tree.znodes import ZnodeDecodeError
from ....protocol.scram import MIN_ITERATIONS, SCRAM_MECHANISMS
from ....storage.files.files import DirectoryLockedError
from ...security.sasl.scram_credential import MAX_ITERATIONS, ScramCredential
from ...security.sasl.scram_user_store import new_credentials
from ..given_settings import environment_settings
from .opened_user_store import opened_user_store

__all__ = ["user_command"]

_DESCRIPTION = """\
Makes the first SCRAM user of a cluster, before anybody can log in; also removes and lists users. The place of the
metadata is the data directory of a broker that is stopped, or ZooKeeper, whose brokers may run. The password is asked
for, or read from the first line of standard input; it is not stored.
For further users, `pybroker users` asks the brokers of a cluster that runs."""

_EPILOG = """\
examples:
  pybroker user set alice --place ./pybroker-data                        asks for the password
  pybroker user set alice --place localhost:2181/kafka < password.txt
  pybroker user remove alice --place ./pybroker-data
  pybroker user list --place ./pybroker-data

exit codes: 0 done; 1 failed; 2 bad arguments"""

_ACTIONS = {"set": "add", "remove": "remove", "list": "list"}
"""The actions, and the verbs of ``pybroker users`` that do the same in a cluster that runs."""


def user_command(arguments: Sequence[str]) -> int:
    """The command; returns its exit code. Raises CommandError, ConfigError."""
    options = _parsed(arguments)
    try:
        return asyncio.run(_run(options))
    except (DirectoryLockedError, MetadataStoreError, ZnodeDecodeError) as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise CommandError(f"{where}{error.strerror or error}") from error


def _parsed(arguments: Sequence[str]) -> Namespace:
    parser = CommandParser("pybroker user", _DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("action", choices=_ACTIONS, help="what to do")
    parser.add_argument("user", nargs="?", help="the name of the user; not for list")
    place = "a data directory, or HOST:PORT[,HOST:PORT]...[/PATH] of ZooKeeper"
    parser.add_argument("--place", metavar="PLACE", help=place)
    parser.add_argument(
        "--mechanism", action="append", choices=tuple(SCRAM_MECHANISMS), help="may be repeated; default: all"
    )
    iterations = f"{MIN_ITERATIONS} (default) to {MAX_ITERATIONS}"
    parser.add_argument("--iterations", type=int, default=MIN_ITERATIONS, metavar="N", help=iterations)
    parser.add_argument("--config", metavar="FILE", type=Path, help="a broker's settings: TLS, digest, ACLs, timeouts")
    if arguments and arguments[0] == _ACTIONS["set"]:
        parser.error("add: must be set, remove or list; to ask a cluster that runs: pybroker users add")
    options = parser.parse_args(arguments)
    if options.place is None:
        parser.error(f"--place is missing; to ask a cluster that runs: pybroker users {_ACTIONS[options.action]}")
    if (options.user is None) != (options.action == "list"):
        parser.error("set and remove need the name of a user, list takes none")
    if options.user == "":
        parser.error("the name of the user must not be empty")
    if not MIN_ITERATIONS <= options.iterations <= MAX_ITERATIONS:
        parser.error(f"--iterations must be from {MIN_ITERATIONS} to {MAX_ITERATIONS}, not {options.iterations}")
    return options


async def _run(options: Namespace) -> int:
    credentials = _new_credentials(options) if options.action == "set" else {}
    async with opened_user_store(options.place, load_config(options.config or "", environment_settings())) as store:
        if options.action == "list":
            for user, mechanisms in (await store.users()).items():
                sys.stdout.write(f"{user!r}: {', '.join(mechanisms)}\n")
        elif options.action == "set":
            await store.set_user(options.user, credentials)
            sys.stdout.write(f"user {options.user!r} was set for {', '.join(credentials)}\n")
        elif await store.remove_user(options.user):
            sys.stdout.write(f"user {options.user!r} was removed\n")
        else:
            raise CommandError(f"user {options.user!r} has no SCRAM credentials in {options.place}")
    return 0


def _new_credentials(options: Namespace) -> dict[str, ScramCredential]:
    return new_credentials(new_password(), dict.fromkeys(options.mechanism or SCRAM_MECHANISMS), options.iterations)
