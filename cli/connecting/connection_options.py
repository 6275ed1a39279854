"""The options of every command that say which cluster it talks to.

The address comes from ``-b``, the file, the profile, PYBROKER_BOOTSTRAP or KAFKA_BOOTSTRAP_SERVERS, in this order.
Settings come from ``-X``, ``--command-config`` and ``--profile``, in this order.
"""

import argparse
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from ...base.command_parser import BAD_INPUT, CommandError, CommandParser, named_values
from ...client.client_settings import ClientSettings, take_client_settings
from ...client.given_options import GivenOptions, OptionError
from ...client.known_settings import KNOWN_SETTINGS
from ...config.config_error import ConfigError
from ...config.properties import read_properties
from ..suggestions import did_you_mean
from .profiles import place_of, profile_settings, profiles_file

__all__ = [
    "add_connection_options",
    "checked_settings",
    "client_settings",
    "file_settings",
    "unknown_lines",
    "unknown_settings",
]

_ADDRESS = "bootstrap.servers"
_DEFAULT_ADDRESS = "localhost:9092"
_ADDRESS_VARIABLES = ("PYBROKER_BOOTSTRAP", "KAFKA_BOOTSTRAP_SERVERS")
_CLIENT_ID = "pybroker-cli"


def add_connection_options(parser: CommandParser) -> None:
    """Add the options to the parser of a verb."""
    group = parser.add_argument_group("which cluster")
    add = group.add_argument
    add(
        "-b",
        "--bootstrap-server",
        metavar="HOST:PORT",
        help=f"brokers to begin with, with commas between; default: {' or '.join(_ADDRESS_VARIABLES)}, "
        f"else {_DEFAULT_ADDRESS}",
    )
    add("--command-config", metavar="FILE", type=Path, help="settings of the client, as for Kafka's tools")
    add(
        "-X",
        dest="client_settings",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="one setting of the client",
    )
    add(
        "--profile",
        metavar="NAME",
        help='settings under [NAME] in ~/.config/pybroker/profiles.toml, such as security.protocol = "SSL"',
    )
    add("--timeout", metavar="SECONDS", type=_seconds, default=10.0, help="for how long to try (%(default)g)")


def client_settings(
    options: argparse.Namespace,
    environment: Mapping[str, str] = os.environ,
    tell: Callable[[str], None] = lambda _: None,
) -> ClientSettings:
    """The settings that the options ask for; settings of other clients are passed over. Raises CommandError.

    ``tell`` gets a line about each setting in a file that no client of Kafka has; with ``-X`` it is refused.
    """
    given: dict[str, str] = {}
    for variable in reversed(_ADDRESS_VARIABLES):
        if environment.get(variable, "").strip():
            given[_ADDRESS] = environment[variable]
    if options.profile is not None:
        profiles = profiles_file(environment)
        of_profile = profile_settings(options.profile, profiles)
        for name, line in unknown_lines(of_profile).items():
            tell(f"{place_of(options.profile, name, profiles)}: passed over: {line}")
        given |= of_profile
    if options.command_config is not None:
        of_file = file_settings(options.command_config)
        for line in unknown_lines(of_file).values():
            tell(f"passed over: {line}")
        given |= of_file
    named = named_values(options.client_settings, "-X")
    for line in unknown_lines(named).values():
        raise CommandError(f"-X {line}", BAD_INPUT)
    given |= named
    given.setdefault(_ADDRESS, _DEFAULT_ADDRESS)
    return checked_settings(given, options.bootstrap_server, options.timeout)


def unknown_settings(given: Iterable[str]) -> list[str]:
    """The names that no client of Kafka has as a setting, sorted."""
    return sorted(set(given) - KNOWN_SETTINGS)


def unknown_lines(given: Iterable[str]) -> dict[str, str]:
    """A line for each name that no client of Kafka has as a setting, by the name."""
    return {
        name: f"{name}: clients have no such setting{did_you_mean(name, sorted(KNOWN_SETTINGS))}"
        for name in unknown_settings(given)
    }


def checked_settings(given: Mapping[str, str], bootstrap_server: str | None, timeout_s: float) -> ClientSettings:
    """The settings with this address, if one is named, and with this timeout for requests and connects unless they have
    their own. Raises CommandError.
    """
    timeout_ms = str(round(timeout_s * 1000))
    timeouts = {"request.timeout.ms": timeout_ms, "socket.connection.setup.timeout.ms": timeout_ms}
    address = {} if bootstrap_server is None else {_ADDRESS: bootstrap_server}
    given = {**timeouts, **given, **address}
    try:
        return take_client_settings(GivenOptions(given), _CLIENT_ID)
    except OptionError as error:
        raise CommandError(str(error), BAD_INPUT) from None


def file_settings(file: Path) -> dict[str, str]:
    """The settings in the file of ``--command-config``. Raises CommandError."""
    try:
        return {name: found.value for name, found in read_properties(file).items()}
    except ConfigError as error:
        raise CommandError(f"--command-config {error}", BAD_INPUT) from None


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < 1e6:
        raise argparse.ArgumentTypeError("must be above 0")
    return seconds
