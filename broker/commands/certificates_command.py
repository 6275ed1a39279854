"""``pybroker certificates``: makes an authority and a certificate for each host, to try TLS with."""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ...base.command_parser import BAD_INPUT, CommandError, CommandParser
from ...base.unusable_path import why_unusable
from ..library.throwaway_certificates import ThrowawayCertificates, check_library

__all__ = ["certificates_command"]

_DEFAULT_DAYS, _MOST_DAYS = 365, 36_500
_MOST_CHARACTERS = 64
"""The longest common name (RFC 5280)."""
_AUTHORITY = "ca"

_DESCRIPTION = """\
Makes certificates to try TLS with. DIRECTORY/ca.pem is what clients and brokers must trust. DIRECTORY/HOST.pem is the
key store of the broker on HOST: its key and its certificate, which is also valid for localhost, 127.0.0.1 and ::1. The
key of the authority is not kept, so all certificates are made together. Does nothing when all files exist."""

_EPILOG = """\
example:
  pybroker certificates ./secrets broker-1 broker-2

exit codes: 0 done, or all files exist; 1 failed; 2 bad arguments"""


def certificates_command(arguments: Sequence[str]) -> int:
    """The command; returns its exit code. Raises CommandError, ConfigError."""
    parser = CommandParser("pybroker certificates", _DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("directory", metavar="DIRECTORY", type=Path, help="is created if it does not exist")
    parser.add_argument("hosts", metavar="HOST", nargs="+", help="a name or an address that clients or brokers use")
    parser.add_argument(
        "--days",
        metavar="N",
        type=int,
        default=_DEFAULT_DAYS,
        help=f"how long they are valid; default: {_DEFAULT_DAYS}",
    )
    options = parser.parse_args(arguments)
    if not 1 <= options.days <= _MOST_DAYS:
        parser.error(f"--days {options.days}: must be from 1 to {_MOST_DAYS}")
    for host in options.hosts:
        if not 0 < len(host) <= _MOST_CHARACTERS or "/" in host or host == _AUTHORITY:
            parser.error(f"{host!r}: is not a host that a file can be named after")
    check_library("pybroker certificates")
    try:
        return _make(options.directory, options.hosts, options.days)
    except OSError as error:
        where = error.filename or options.directory
        raise CommandError(f"{where}: cannot be written: {why_unusable(error, str(where))}") from error


def _make(directory: Path, hosts: Sequence[str], days: int) -> int:
    directory.mkdir(parents=True, exist_ok=True)
    missing = [name for name in (*hosts, _AUTHORITY) if not (directory / f"{name}.pem").exists()]
    if not missing:
        sys.stdout.write(f"{directory}: all files exist, nothing was done\n")
        return 0
    if _AUTHORITY not in missing:
        raise CommandError(
            f"{directory}: has {_AUTHORITY}.pem, but no {missing[0]}.pem, and the key of that authority was not kept; "
            "to make all anew remove the files, or name another directory"
        )
    with tempfile.TemporaryDirectory(dir=directory) as new:
        certificates = ThrowawayCertificates(Path(new), days)
        for host in hosts:
            try:
                certificates.issue(host, [host])
            except ValueError as error:
                raise CommandError(f"{host!r}: cannot be in a certificate: {error}", BAD_INPUT) from error
        for name in (*hosts, _AUTHORITY):  # the authority last: when it is there, all are
            (Path(new) / f"{name}.pem").rename(directory / f"{name}.pem")
    for host in hosts:
        sys.stdout.write(f"{directory / host}.pem: key and certificate for {host}, valid for {days} days\n")
    sys.stdout.write(f"{directory / _AUTHORITY}.pem: what clients must trust\n")
    return 0
