"""``pybroker container``: what the image runs. Makes the file of settings, then is the broker, or watches over it."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ....config.config import Config
from ..command_line import import_broker, main
from ..command_parser import BAD_INPUT, CommandError, CommandParser
from .first_process import become_first_process, hold_signals
from .server_file import final_properties, read_mounted

__all__ = ["container_command"]

_MOUNTED = Path("/mnt/shared/config/server.properties")
_FINAL = Path("/etc/pybroker/server.properties")
_DATA = "/var/lib/kafka/data"
_LEVELS = {"ALL": "debug", "TRACE": "debug", "WARN": "warning", "FATAL": "error", "OFF": "error"}  # log4j's, as ours


def container_command(arguments: Sequence[str]) -> int:
    """The command; returns its exit code. Raises CommandError, ConfigError, StartError."""
    parser = CommandParser(
        "pybroker container",
        "Runs a broker in a container: the mounted file of settings, and above it the environment, by the rule of "
        "Apache Kafka's image.",
        usage="pybroker container [options] [KAFKA_NAME=VALUE]...",
    )
    parser.add_argument("--mounted", metavar="FILE", type=Path, default=_MOUNTED, help=f"{_MOUNTED} if not given")
    parser.add_argument(
        "--config", metavar="FILE", type=Path, default=_FINAL, help=f"the file that is made of both; {_FINAL}"
    )
    parser.add_argument("--data", metavar="DIRECTORY", default=_DATA, help=f"where no setting says it: {_DATA}")
    parser.add_argument("--prepared", action="store_true", help="the file is made: run the broker")
    parser.add_argument("variables", nargs="*", metavar="KAFKA_NAME=VALUE", help="stand above the environment")
    options = parser.parse_args(arguments)
    is_first = os.getpid() == 1 and not options.prepared
    if is_first:
        hold_signals()
    environment = {**os.environ, **_variables(options.variables)}
    if not options.prepared:
        _prepare(options.config, final_properties(read_mounted(options.mounted), environment, options.data))
    if is_first:
        again = [sys.executable, "-m", "pybroker", "container", "--prepared", "--config", str(options.config)]
        become_first_process(again, environment)
    settings = ["--config", str(options.config), "--log-level", log_level(environment)]
    return main(settings, run=_run)


def log_level(environment: Mapping[str, str]) -> str:
    """Our level of log for log4j's in ``KAFKA_LOG4J_ROOT_LOGLEVEL``."""
    asked = environment.get("KAFKA_LOG4J_ROOT_LOGLEVEL", "").strip().upper() or "INFO"
    return _LEVELS.get(asked, asked)


def in_kafkas_words(broker_id: int) -> str:
    """The line by which those know a started broker who wait for Kafka's; testcontainers looks for one of these."""
    return (
        f"in Apache Kafka's words: [KafkaServer id={broker_id}] started; Kafka Server started; "
        "Transitioning from RECOVERY to RUNNING"
    )


def _run(config: Config) -> int:
    return import_broker()(config, in_kafkas_words)


def _variables(pairs: Sequence[str]) -> dict[str, str]:
    for pair in pairs:
        if not pair.partition("=")[1]:
            raise CommandError(f"{pair}: must be NAME=VALUE", BAD_INPUT)
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}


def _prepare(file: Path, properties: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(properties.encode("latin-1"))
    except OSError as error:
        raise CommandError(f"{file}: cannot be written: {error.strerror or error}") from error
