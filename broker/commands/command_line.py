"""The command ``pybroker``: runs a broker, or the subcommand that its first argument names.

Exit codes: 0 after a clean stop. 1 when the broker could not start for a reason outside the settings (an address, a
directory or a file that it cannot use), or had to stop. 2 for bad arguments or settings.
For 1 and 2 one line on standard error says what is wrong.
"""

import argparse
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from ...base.command_parser import BAD_INPUT, FAILED, CommandError, CommandParser
from ...cli.nouns import NOUNS
from ...config.config_error import ConfigError
from ...config.given import Given
from ...config.load import load_config
from ...config.printed_config import printed_config
from ...config.table import BROKER_SETTINGS
from ..process.log_lines import log_to_stderr, logs_json
from ..process.run_broker import LOG_FORMATS, LOG_LEVELS, Serve, run_broker
from ..start_error import StartError
from .given_settings import environment_settings, log_format, parse_overrides

logger = logging.getLogger(__name__)

_STOPPED, _INTERRUPTED = 0, 130
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


@dataclass(frozen=True, slots=True)
class _Command:
    """A subcommand.

    Attributes:
        summary: one line for the help.
        run: takes the arguments after the subcommand's name, returns the exit code; raises CommandError, ConfigError.
    """

    summary: str
    run: Callable[[Sequence[str]], int]


def _certificates(arguments: Sequence[str]) -> int:
    from .certificates_command import certificates_command

    return certificates_command(arguments)


def _console(arguments: Sequence[str]) -> int:
    from ...console.command import console_command

    return console_command(arguments)


def _container(arguments: Sequence[str]) -> int:
    from .container.container_command import container_command

    return container_command(arguments)


def _explain(arguments: Sequence[str]) -> int:
    from .explain.explain_command import explain_command

    return explain_command(arguments)


def _healthcheck(arguments: Sequence[str]) -> int:
    from .healthcheck import healthcheck

    return healthcheck(arguments)


def _log(arguments: Sequence[str]) -> int:
    from .log.log_command import log_command

    return log_command(arguments)


def _metadata(arguments: Sequence[str]) -> int:
    from .metadata.metadata_command import metadata_command

    return metadata_command(arguments)


def _user(arguments: Sequence[str]) -> int:
    from .users.user_command import user_command

    return user_command(arguments)


# Each subcommand imports its code when it runs.
_COMMANDS: Mapping[str, _Command] = {
    "certificates": _Command("make certificates for brokers, to try TLS with", _certificates),
    "console": _Command("show a cluster in the browser", _console),
    "container": _Command("run a broker in a container, with settings from KAFKA_* environment variables", _container),
    "explain": _Command("say whether a user may do something, and which rule decides", _explain),
    "healthcheck": _Command("check that a broker answers; the exit code tells", _healthcheck),
    "log": _Command("print, check or summarise the files in log directories", _log),
    "metadata": _Command("copy a cluster's metadata between the embedded store and ZooKeeper", _metadata),
    "user": _Command("set, remove or list SCRAM users in the metadata of a cluster", _user),
}


def main(argv: Sequence[str] | None = None, *, run: Serve | None = None) -> int:
    """Run the command and return its exit code.

    Args:
        argv: the arguments without the command's name; None: the arguments of the process.
        run: runs a broker until it is told to stop; None: `broker_process.run`.
    """
    arguments = sys.argv[1:] if argv is None else argv
    try:
        if arguments and arguments[0] in NOUNS:
            return _run_noun(arguments[0], arguments[1:])
        if arguments and arguments[0] in _COMMANDS:
            return _COMMANDS[arguments[0]].run(arguments[1:])
        return _main(_parse(arguments), run)
    except CommandError as error:
        return _fail(error, error.exit_code)
    except ConfigError as error:
        return _fail(error, BAD_INPUT)
    except StartError as error:
        return _fail(error, FAILED)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except SystemExit as leave:  # argparse exits this way after --help and --version
        return leave.code if isinstance(leave.code, int) else _STOPPED


def _run_noun(name: str, arguments: Sequence[str]) -> int:
    from ...cli.command import run_noun

    return run_noun(NOUNS[name].load(), arguments)


def _main(arguments: argparse.Namespace, run: Serve | None) -> int:
    form = arguments.log_format or log_format(os.environ)
    if form == "json":
        log_to_stderr(arguments.log_level, form)  # so that errors of the settings are JSON too
    overrides: dict[str, str | Given] = {**environment_settings(), **parse_overrides(arguments.override)}
    config = load_config(arguments.config or "", overrides, place="--override")
    if arguments.print_config:
        return _print(printed_config(config))
    return run_broker(config, arguments.log_level, form, serve=run)


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = _parser()
    if arguments and not arguments[0].startswith("-"):
        _refuse_argument(parser, arguments[0])  # before its options, which belong to an unknown command
    options, unknown = parser.parse_known_args(arguments)
    refused = sorted([*options.unexpected, *unknown], key=arguments.index)
    if refused and refused[0].startswith("-"):
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    if refused:
        _refuse_argument(parser, refused[0])
    return options


def _parser() -> CommandParser:
    parser = CommandParser(
        "pybroker",
        "Runs a Kafka-compatible broker. Without arguments it listens on port 9092 and keeps its data in "
        "./pybroker-data.",
        usage="pybroker [--config FILE] [--override NAME=VALUE]... [options]\n       pybroker COMMAND [options]",
        epilog=_epilog(),
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


def _refuse_argument(parser: CommandParser, argument: str) -> NoReturn:
    """Tell an unknown command from a file of settings, which Kafka's script takes without ``--config``."""
    if argument in _COMMANDS:
        parser.error(f"{argument}: a command must be the first argument")
    if "." in argument or os.sep in argument:
        parser.error(f"{argument}: unexpected argument; for a file of settings write --config {argument}")
    commands = ", ".join(_COMMANDS)
    parser.error(f"{argument}: unknown command; commands: {commands}; without a command pybroker runs a broker")


def _level(text: str) -> str:
    if text.lower() not in LOG_LEVELS:
        raise argparse.ArgumentTypeError(f"{text} must be one of {', '.join(LOG_LEVELS)}")
    return text


def _format(text: str) -> str:
    if text.lower() not in LOG_FORMATS:
        raise argparse.ArgumentTypeError(f"{text} must be one of {', '.join(LOG_FORMATS)}")
    return text.lower()


def _epilog() -> str:
    lines = ["commands (see pybroker COMMAND --help):"]
    lines += [f"  {name:<12} {command.summary}" for name, command in _COMMANDS.items()]
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
    except BrokenPipeError:  # the reader (``| head``) is gone; Python must not flush again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _STOPPED


def _fail(error: Exception, code: int) -> int:
    text = " ".join(str(error).split("\n"))
    if logs_json():
        logger.critical("not started: %s", text)
    else:
        sys.stderr.write(f"pybroker: {text}\n")
    return code
