"""The command ``pybroker`` without a subcommand: runs a broker, or prints its settings."""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from ...base.command_parser import CommandParser, named_values
from ...cli.output.standard_output import discard_output
from ...cli.suggestions import did_you_mean
from ...config.given import Given, Source
from ...config.http_listeners import TEST_KIT
from ...config.load import load_config
from ...config.printed_config import printed_config
from ...config.table import BROKER_SETTINGS
from ..process.log_lines import log_to_stderr
from ..process.run_broker import LOG_FORMATS, LOG_LEVELS, Serve, run_broker
from .given_settings import environment_settings, log_format

__all__ = ["serve_command"]

_STOPPED = 0
_LOCAL_LISTENER = "PLAINTEXT://localhost:9092"
_DELIBERATE = {"listeners", "advertised.listeners", "zookeeper.connect"}
"""With one of these settings a broker without a file of settings listens where Kafka would."""
_SHOWN_SETTINGS = (
    "listeners",
    "advertised.listeners",
    "log.dirs",
    "broker.id",
    "num.partitions",
    "auto.create.topics.enable",
    "log.retention.hours",
    "log.retention.bytes",
    "log.segment.bytes",
    "message.max.bytes",
    "num.io.threads",
    "queued.max.request.bytes",
)


def serve_command(
    given: Sequence[str], commands: Mapping[str, str], run: Serve | None, scripts: Sequence[str] = ()
) -> int:
    """The command; returns its exit code. Raises CommandError, ConfigError, StartError.

    ``commands``: the summary of each subcommand. ``run``: runs a broker until it is told to stop. ``scripts``: the
    subcommands with the names of Kafka's scripts.
    """
    arguments = _parse(given, commands, scripts)
    form = arguments.log_format or log_format(os.environ)
    if form == "json":
        log_to_stderr(arguments.log_level, form)  # so that errors of the settings are JSON too
    overrides: dict[str, str | Given] = {**environment_settings(), **named_values(arguments.override, "--override")}
    if arguments.config is None and not overrides.keys() & _DELIBERATE:
        overrides["listeners"] = Given(_LOCAL_LISTENER, Source.DEFAULT, "without a file of settings")
    if arguments.test_kit:
        overrides[TEST_KIT] = Given("true", Source.OVERRIDE, "--test-kit")
    if arguments.as_version is not None:
        overrides["pybroker.as.version"] = Given(arguments.as_version, Source.OVERRIDE, "--as-version")
    config = load_config(arguments.config or "", overrides, place="--override")
    if arguments.print_config:
        return _print(printed_config(config))
    return run_broker(config, arguments.log_level, form, serve=run)


def _parse(arguments: Sequence[str], commands: Mapping[str, str], scripts: Sequence[str]) -> argparse.Namespace:
    parser = _parser(commands)
    if arguments and not arguments[0].startswith("-"):
        _refuse_argument(
            parser, arguments[0], commands, scripts
        )  # before its options, which belong to an unknown command
    options, unknown = parser.parse_known_args(arguments)
    refused = sorted([*options.unexpected, *unknown], key=arguments.index)
    if refused and refused[0].startswith("-"):
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    if refused:
        _refuse_argument(parser, refused[0], commands, scripts)
    return options


def _parser(commands: Mapping[str, str]) -> CommandParser:
    parser = CommandParser(
        "pybroker",
        "Runs a Kafka-compatible broker. Without arguments it listens on localhost:9092 and keeps its data in "
        "./pybroker-data.",
        usage="pybroker [--config FILE] [--override NAME=VALUE]... [options]\n       pybroker COMMAND [options]",
        epilog=_epilog(commands),
    )
    parser.add_argument(
        "--config", metavar="FILE", type=Path, help="a file of settings in the format of Kafka's server.properties"
    )
    parser.add_argument(
        "--override",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="set a setting, whatever the file says; may be given several times",
    )
    parser.add_argument(
        "--as-version", metavar="X.Y", help="answer clients as this release of Kafka would, such as 2.8"
    )
    parser.add_argument("--print-config", action="store_true", help="print every setting with its source, then exit")
    parser.add_argument(
        "--log-level", metavar="LEVEL", type=_level, default="info", help=f"{', '.join(LOG_LEVELS)}; default: info"
    )
    parser.add_argument(
        "--log-format",
        metavar="FORMAT",
        type=_format,
        help=f"{', '.join(LOG_FORMATS)}; default: PYBROKER_LOG_FORMAT, else text",
    )
    parser.add_argument(
        "--test-kit",
        action="store_true",
        help="for tests only: let HTTP clients set faults, act on the broker and move its clock",
    )
    parser.add_argument("--version", action=_Version, help="print the version, then exit")
    parser.add_argument("unexpected", nargs="*", help=argparse.SUPPRESS)
    return parser


class _Version(argparse.Action):
    """Imports importlib.metadata only when it is needed, because that import is slow."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:  # noqa: A002 (argparse's name)
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            number = version("pybroker")
        except PackageNotFoundError:
            number = "(not installed)"
        sys.stdout.write(f"pybroker {number} (speaks the protocol of Apache Kafka 3.9)\n")
        parser.exit()


def _refuse_argument(
    parser: CommandParser, argument: str, commands: Mapping[str, str], scripts: Sequence[str]
) -> NoReturn:
    """Tell an unknown command from a file of settings, which Kafka's script takes without ``--config``."""
    if argument in commands:
        parser.error(f"{argument}: a command must be the first argument")
    if argument.startswith("kafka-") and (near := did_you_mean(argument.removesuffix(".sh"), scripts)):
        parser.error(f"{argument}: unknown command{near}")
    if "." in argument or os.sep in argument:
        parser.error(f"{argument}: unexpected argument; for a file of settings write --config {argument}")
    near = did_you_mean(argument, list(commands)) or f"; commands: {', '.join(commands)}"
    parser.error(f"{argument}: unknown command{near}; without a command pybroker runs a broker")


def _level(text: str) -> str:
    if text.lower() not in LOG_LEVELS:
        raise argparse.ArgumentTypeError(f"{text} must be one of {', '.join(LOG_LEVELS)}")
    return text


def _format(text: str) -> str:
    if text.lower() not in LOG_FORMATS:
        raise argparse.ArgumentTypeError(f"{text} must be one of {', '.join(LOG_FORMATS)}")
    return text.lower()


def _epilog(commands: Mapping[str, str]) -> str:
    lines = ["commands (see pybroker COMMAND --help):"]
    lines += [f"  {name:<12} {summary}" for name, summary in commands.items()]
    lines += ["", "Kafka's scripts, without Java: pybroker kafka-topics and others (see docs/user/commands.md)"]
    lines += ["", "the most important settings (all settings: docs/operator/settings.md, or --print-config):"]
    for name in _SHOWN_SETTINGS:
        setting = BROKER_SETTINGS[name]
        default = setting.default_text(embedded_store=True)
        lines += [f"  {name}={'' if default is None else default}", f"      {setting.doc}"]
    lines += [
        "",
        "exit codes: 0 stopped cleanly; 1 could not start for a reason outside the settings, or had to stop;",
        "2 bad arguments or settings",
    ]
    return "\n".join(lines)


def _print(text: str) -> int:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader (``| head``) is gone
        discard_output()
    return _STOPPED
