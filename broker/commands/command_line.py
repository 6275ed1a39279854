"""The command ``pybroker``: runs a broker, or does what a first argument says that names a command.

Exit codes: 0 after a clean stop, 1 when the broker could not start for a reason outside the settings (an address, a
directory or a file that cannot be used as it is) or had to stop, 2 for bad input on the command line
or in the file of settings. Either way one line on standard error says what was wrong.
"""

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...config.config_error import ConfigError
from ...config.load import load_config
from ...config.printed_config import printed_config
from ...config.table import BROKER_SETTINGS
from ..process.run_broker import LOG_LEVELS, Serve, run_broker
from ..start_error import StartError
from .command_parser import BAD_INPUT, FAILED, CommandError, CommandParser, parse_overrides

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
    """A first argument that stands for other work than running a broker.

    Attributes:
        summary: what it does, for the help.
        run: takes the arguments behind the command's name, returns the exit code; raises CommandError, ConfigError.
    """

    summary: str
    run: Callable[[Sequence[str]], int]


def _container(arguments: Sequence[str]) -> int:
    from .container.container_command import container_command

    return container_command(arguments)


def _healthcheck(arguments: Sequence[str]) -> int:
    from .healthcheck import healthcheck

    return healthcheck(arguments)


def _log(arguments: Sequence[str]) -> int:
    from .log.log_command import log_command

    return log_command(arguments)


def _metadata(arguments: Sequence[str]) -> int:
    from .metadata.metadata_command import metadata_command

    return metadata_command(arguments)


# Each imports what it needs when it is run.
_COMMANDS: Mapping[str, _Command] = {
    "container": _Command("run a broker in a container, with settings from KAFKA_* variables", _container),
    "healthcheck": _Command("say whether a broker answers, by the exit code and in one line", _healthcheck),
    "log": _Command("look into log directories: print what is there, check it, sum it up", _log),
    "metadata": _Command("move a cluster's metadata between the embedded store and ZooKeeper", _metadata),
}


def main(argv: Sequence[str] | None = None, *, run: Serve | None = None) -> int:
    """Run the command and return its exit code.

    Args:
        argv: the arguments without the command's name; None takes the process's.
        run: runs a broker until it is told to stop; None takes ``broker.process.run``.
    """
    arguments = sys.argv[1:] if argv is None else argv
    try:
        if arguments and arguments[0] in _COMMANDS:
            return _COMMANDS[arguments[0]].run(arguments[1:])
        return _main(_parser().parse_args(arguments), run)
    except CommandError as error:
        return _fail(error, error.exit_code)
    except ConfigError as error:
        return _fail(error, BAD_INPUT)
    except StartError as error:
        return _fail(error, FAILED)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except SystemExit as leave:  # argparse leaves this way behind --help and --version
        return leave.code if isinstance(leave.code, int) else _STOPPED


def _main(arguments: argparse.Namespace, run: Serve | None) -> int:
    config = load_config(arguments.config or "", parse_overrides(arguments.override), place="--override")
    if arguments.print_config:
        return _print(printed_config(config))
    return run_broker(config, arguments.log_level, run)


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        "pybroker",
        "A Kafka-compatible broker. Without arguments it listens on port 9092 and keeps its data under "
        "./pybroker-data.",
        usage="pybroker [--config FILE] [--override NAME=VALUE]... [options]\n       pybroker COMMAND [options]",
        epilog=_epilog(),
    )
    parser.add_argument(
        "--config", metavar="FILE", type=Path, help="settings in the format of Kafka's server.properties"
    )
    parser.add_argument(
        "--override",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a setting that stands above the file's; may be given several times",
    )
    parser.add_argument("--print-config", action="store_true", help="print every setting with its source, and leave")
    parser.add_argument(
        "--log-level", metavar="LEVEL", type=_level, default="info", help=f"{', '.join(LOG_LEVELS)}; info if not given"
    )
    parser.add_argument("--version", action=_Version, help="print the version, and leave")
    parser.add_argument("server_properties", nargs="*", help=argparse.SUPPRESS, action=_Stray)
    return parser


class _Version(argparse.Action):
    """Looks the version up only when asked: importlib.metadata is slow to import."""

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


class _Stray(argparse.Action):
    """``pybroker server.properties`` is what users of Kafka's script type."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: object, values: object, _: object = None) -> None:
        if not isinstance(values, list) or not values:
            return
        if values[0] in _COMMANDS:
            parser.error(f"{values[0]}: a command comes first, before all options")
        parser.error(f"{values[0]}: not understood; a file of settings is given as --config {values[0]}")


def _level(text: str) -> str:
    if text.lower() not in LOG_LEVELS:
        raise argparse.ArgumentTypeError(f"{text} must be one of {', '.join(LOG_LEVELS)}")
    return text


def _epilog() -> str:
    lines = ["commands (pybroker COMMAND --help tells more):"]
    lines += [f"  {name:<12} {command.summary}" for name, command in _COMMANDS.items()]
    lines += ["", "settings to begin with (all of them: docs/operator/settings.md, or --print-config):"]
    for name in _SHOWN_SETTINGS:
        setting = BROKER_SETTINGS[name]
        default = setting.default_text(embedded_store=True)
        lines += [f"  {name}={'' if default is None else default}", f"      {setting.doc}"]
    lines += [
        "",
        "exit codes: 0 stopped cleanly; 1 could not start for a reason outside the settings, or had to stop; 2 bad "
        "arguments or settings",
    ]
    return "\n".join(lines)


def _print(text: str) -> int:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:  # ``| head`` has read enough; Python must not try to flush again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _STOPPED


def _fail(error: Exception, code: int) -> int:
    text = " ".join(str(error).split("\n"))
    sys.stderr.write(f"pybroker: {text}\n")
    return code
