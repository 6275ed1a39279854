"""The command `pybroker console`: shows a cluster in the browser.

Exit codes: 0 after a clean stop, 1 when it could not start, 2 for bad arguments. One line on standard error says why.
"""

from __future__ import annotations

import argparse
import ipaddress
import logging
import os
import resource
import ssl
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from ..base.command_parser import BAD_INPUT, FAILED, CommandError, CommandParser
from ..base.printable import printable
from ..cli.connecting.connection_options import unknown_lines
from ..client.client_settings import ClientSettings, take_client_settings
from ..client.given_options import GivenOptions, OptionError
from ..config.config_error import ConfigError
from ..config.properties import read_properties
from .cluster_views.token_file import TokenFile, TokenFileError
from .records.masking import MaskError, Masks
from .settings import ConsoleSettings

DEFAULT_HTTP = "127.0.0.1:8093"
MISSING_EXTRA = "the console needs more packages: pip install 'pybroker[console]'"
_CLIENT_ID = "pybroker-console"


def console_command(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    try:
        return _run(console_parser().parse_args(arguments))
    except CommandError as refused:
        sys.stderr.write(f"pybroker console: {refused}\n")
        return refused.exit_code
    except KeyboardInterrupt:
        return 0


def _run(options: argparse.Namespace) -> int:
    os.nice(options.nice)
    if options.memory_bytes:
        resource.setrlimit(resource.RLIMIT_DATA, (options.memory_bytes, options.memory_bytes))
    settings = console_settings(options)
    addresses = [_address(each, "--http") for each in options.http or [DEFAULT_HTTP]]
    why_not = why_unsafe(settings, addresses, is_insecure=options.insecure)
    if why_not is not None:
        raise CommandError(why_not, BAD_INPUT)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    try:
        from .server import bind, serve
    except ImportError as error:
        if error.name is None or error.name.partition(".")[0] not in ("starlette", "uvicorn", "h11", "anyio"):
            raise
        raise CommandError(MISSING_EXTRA, FAILED) from None
    try:
        sockets = bind(addresses)
    except OSError as error:
        raise CommandError(f"{error.strerror}; choose another address with --http", FAILED) from None
    serve(settings, sockets, options.certificate, ends_with_stdin=options.ends_with_stdin)
    return 0


def console_parser() -> CommandParser:
    """The arguments of the command. The parser raises CommandError."""
    parser = CommandParser(
        "pybroker console",
        "Shows a Kafka cluster in the browser: topics, records, groups, brokers. Works with pybroker and with Apache "
        "Kafka from 2.1 on.",
    )
    add = parser.add_argument
    add("-b", "--bootstrap-server", metavar="HOST:PORT", default="localhost:9092", help="a broker of the cluster")
    add(
        "--command-config",
        metavar="FILE",
        type=Path,
        help="settings of the client, as for Kafka's tools; with SASL but without sasl.jaas.config people log in",
    )
    add("--http", metavar="HOST:PORT", action="append", help=f"where to listen (default: {DEFAULT_HTTP})")
    add("--url", metavar="URL", help="the address in browsers, when a proxy stands before the console")
    add("--certificate", metavar="FILE", help="serve https with this PEM file of certificate and key")
    add("--insecure", action="store_true", help="allow an address that other machines reach, without TLS or login")
    add("--allow-writes", action="store_true", help="allow to produce, create, reset and delete")
    add("--hide-records", action="store_true", help="show no keys, values and headers")
    add("--mask", metavar="PATH", action="append", default=[], help="hide a part of JSON values, such as $.card")
    add("--v1", metavar="URL", action="append", default=[], help="HTTP port of a pybroker of the cluster")
    add("--v1-token-file", metavar="FILE", type=Path, help="file of the token for these ports, in its first line")
    add("--v1-ca", metavar="FILE", help="PEM file of authorities to trust at these ports (default: the system's)")
    add("--ends-with-stdin", action="store_true", help=argparse.SUPPRESS)
    add("--nice", type=int, default=0, help=argparse.SUPPRESS)
    add("--memory-bytes", type=int, default=0, help=argparse.SUPPRESS)
    add("--security-protocol", default=None, help=argparse.SUPPRESS)
    return parser


def console_settings(options: argparse.Namespace) -> ConsoleSettings:
    """The settings in the arguments. Raises CommandError."""
    given: dict[str, str] = {}
    try:
        if options.command_config is not None:
            found = read_properties(options.command_config)
            given = {name: each.value for name, each in found.items()}
            for line in unknown_lines(given).values():
                sys.stderr.write(f"pybroker console: {options.command_config}: passed over: {printable(line)}\n")
        if options.security_protocol is not None:
            given["security.protocol"] = options.security_protocol
        given["bootstrap.servers"] = options.bootstrap_server
        client, needs_login = client_settings(given)
        if client.security.tls is not None:
            client.security.tls.context()  # raises OptionError now, not at each request, if a file cannot be read
        Masks(tuple(options.mask))
        token = None if options.v1_token_file is None else TokenFile(options.v1_token_file)
    except (OptionError, ConfigError, MaskError, TokenFileError) as error:
        raise CommandError(str(error), BAD_INPUT) from None
    for url in [*options.v1, *([options.url] if options.url else [])]:
        if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
            raise CommandError(f"{url} must be like http://host:8092", BAD_INPUT)
    _check_pem("--v1-ca", options.v1_ca, lambda file: ssl.create_default_context(cafile=file))
    _check_pem("--certificate", options.certificate, _load_certificate)
    return ConsoleSettings(
        client=client,
        needs_login=needs_login,
        allow_writes=options.allow_writes,
        hide_records=options.hide_records,
        masks=tuple(options.mask),
        url=options.url,
        is_https=options.certificate is not None or (options.url or "").startswith("https:"),
        v1_urls=tuple(each.rstrip("/") for each in options.v1),
        v1_token=token,
        v1_ca_file=options.v1_ca,
    )


def _check_pem(option: str, file: str | None, load: Callable[[str], object]) -> None:
    """Raises CommandError now, not at each connection, for a file that cannot be used."""
    if file is not None:
        try:
            load(file)
        except OSError as error:  # also ssl.SSLError
            raise CommandError(f"{option} {file}: {error.strerror or error}", BAD_INPUT) from None


def _load_certificate(file: str) -> None:
    """The empty password keeps OpenSSL from asking for it on the terminal."""
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(file, password=lambda: "")


def client_settings(given: dict[str, str]) -> tuple[ClientSettings, bool]:
    """Settings of connections, and whether people must log in. Raises OptionError.

    Other settings of Kafka's tools in the file have no meaning here.
    """
    protocol = given.get("security.protocol", "PLAINTEXT").strip().upper()
    needs_login = protocol.startswith("SASL_") and "sasl.jaas.config" not in given
    if needs_login:
        given = given | {"security.protocol": protocol.removeprefix("SASL_")}
    return take_client_settings(GivenOptions(given), _CLIENT_ID), needs_login


def why_unsafe(settings: ConsoleSettings, addresses: Sequence[tuple[str, int]], *, is_insecure: bool) -> str | None:
    """Why these addresses are refused: other machines could use the operator's rights, or read passwords."""
    beyond = [f"{host}:{port}" for host, port in addresses if not _is_loopback(host)]
    if not beyond or is_insecure:
        return None
    if not settings.needs_login:
        return (
            f"--http {beyond[0]}: everybody who reaches this address would have the console's rights; use a cluster "
            "with SASL and no sasl.jaas.config in the file, so that people log in, or give --insecure"
        )
    if not settings.is_https:
        return (
            f"--http {beyond[0]}: passwords would be sent in clear; give --certificate, --url https://… or --insecure"
        )
    return None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _address(text: str, option: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65_535:
        raise CommandError(f"{option} {text}: must be HOST:PORT", BAD_INPUT)
    return "127.0.0.1" if host == "localhost" else host or "0.0.0.0", int(port)
