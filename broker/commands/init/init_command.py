"""``pybroker init compose``: writes the files of a cluster in containers, and says how to start it."""

import re
import secrets
import shlex
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from ....base.command_parser import BAD_INPUT, CommandError, CommandParser
from ....base.unusable_path import why_unusable
from .compose_plan import ADMIN, BROKER, ComposePlan
from .project_files import existing_files, project_files, write_files

__all__ = ["init_command"]

_DESCRIPTION = """\
Writes a compose file for a cluster, and the files that it needs. Brokers listen on localhost:9092, 9093 and so on.
With users, clients must log in (SCRAM); the users broker and admin may do everything, and get a random password unless
you give one. Other users may do what ACLs allow."""

_EPILOG = """\
example:
  pybroker init compose ./cluster --brokers 3 --tls --user alice --monitoring

exit codes: 0 done; 1 failed; 2 bad arguments"""

_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_PASSWORD = re.compile(r"[A-Za-z0-9_.+/=@%:,!~^*?][A-Za-z0-9_.+/=@%:,!~^*?-]{0,255}")
_PASSWORD_BYTES = 16


def init_command(arguments: Sequence[str]) -> int:
    """The command; returns its exit code. Raises CommandError."""
    parser = _parser()
    options = parser.parse_args(arguments)
    plan = ComposePlan(options.brokers, options.tls, options.monitoring, _passwords(options))
    directory: Path = options.directory
    files = project_files(plan)
    try:
        existing = existing_files(directory, files)
        if existing and not options.force:
            raise CommandError(f"{directory / existing[0]}: exists; nothing was written (--force writes over it)")
        if not options.dry_run:
            write_files(directory, files)
    except OSError as error:
        where = error.filename or directory
        raise CommandError(f"{where}: cannot be written: {why_unusable(error, str(where))}") from error
    verb = "would write" if options.dry_run else "wrote"
    sys.stdout.write("".join(f"{verb} {directory / path}\n" for path in files))
    sys.stdout.write("\n".join(["next:", *(f"  {step}" for step in _next_steps(directory, plan))]) + "\n")
    return 0


def _parser() -> CommandParser:
    parser = CommandParser("pybroker init", _DESCRIPTION, epilog=_EPILOG)
    add = parser.add_argument
    add("kind", metavar="compose", choices=("compose",), help="which files to write: a compose file")
    add("directory", metavar="DIRECTORY", nargs="?", type=Path, default=Path(), help="where to; default: here")
    add("--brokers", type=int, choices=(1, 3, 5), default=3, help="how many brokers; default: 3")
    add("--tls", action="store_true", help="encrypt, with throw-away certificates that the first start makes")
    add(
        "--user",
        metavar="NAME[=PASSWORD]",
        action="append",
        default=[],
        help="a user that may log in; without a password it gets a random one; may be repeated",
    )
    add("--users", metavar="FILE", type=Path, help="a file with NAME=PASSWORD lines")
    add("--monitoring", action="store_true", help="Prometheus and Grafana, with alerts and boards")
    add("--force", action="store_true", help="write over files that exist")
    add("--dry-run", action="store_true", help="say what would be written, and write nothing")
    return parser


def _passwords(options: Namespace) -> dict[str, str]:
    """The password of each user; empty when no user is asked for. Raises CommandError."""
    given = [("--user", text) for text in options.user]
    if options.users is not None:
        given += [(f"{options.users}:{number}", line) for number, line in _lines(options.users)]
    if not given:
        return {}
    passwords = {BROKER: _random(), ADMIN: _random()}
    for number, (where, text) in enumerate(given):
        user, equals, password = text.partition("=")
        if not _USER.fullmatch(user):
            raise CommandError(f"{where}: {user!r}: a user's name must be letters, digits, '.', '_', '-'", BAD_INPUT)
        if equals and not _PASSWORD.fullmatch(password):
            raise CommandError(
                f"{where}: the password of {user} must be 1 to 256 letters, digits and signs, without spaces, quotes, "
                "backslashes, '$', '#', and without '-' at its beginning",
                BAD_INPUT,
            )
        if user in (before.partition("=")[0] for _, before in given[:number]):
            raise CommandError(f"{where}: user {user} is given twice", BAD_INPUT)
        passwords[user] = password or _random()
    return passwords


def _lines(file: Path) -> list[tuple[int, str]]:
    """The lines of the file with their numbers, without comments and empty lines. Raises CommandError."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(f"--users {file}: {why_unusable(error, str(file))}", BAD_INPUT) from error
    except UnicodeDecodeError as error:
        raise CommandError(f"--users {file}: is not text in UTF-8", BAD_INPUT) from error
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    found = [(number, line) for number, line in lines if line and not line.startswith("#")]
    if not found:
        raise CommandError(f"--users {file}: has no users", BAD_INPUT)
    return found


def _random() -> str:
    return secrets.token_hex(_PASSWORD_BYTES)


def _next_steps(directory: Path, plan: ComposePlan) -> list[str]:
    """The commands that start the cluster and use it."""
    steps = ["docker build -t pybroker .    # in the source of pybroker, once"]
    if directory != Path():
        steps.append(f"cd {shlex.quote(str(directory))}")
    steps.append("docker compose up --wait")
    if plan.has_tls:
        steps.append("docker compose cp broker-1:/etc/kafka/secrets/ca.pem .")
    secured = " --command-config client.properties" if plan.has_tls or plan.passwords else ""
    steps.append(f"pybroker topics create demo -p 3{secured}")
    if plan.has_monitoring:
        steps.append("open http://localhost:3000    # Grafana, user admin, password admin")
    return steps
