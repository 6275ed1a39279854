"""``pybroker container``, the command of the image: writes the file of settings, then runs a broker with it.

As the first process of the container it runs the broker as its child (see `first_process`).
"""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ....base.command_parser import BAD_INPUT, CommandError, CommandParser
from ....base.unusable_path import why_unusable
from ....config.load import load_config
from ...process.log_lines import log_to_stderr
from ...process.run_broker import LOG_LEVELS, import_broker, run_broker
from ..given_settings import log_format
from .dropped_variables import with_dropped_variables
from .first_process import become_first_process, hold_signals
from .secret_files import with_secret_files
from .server_file import final_properties, places_in_environment, read_mounted
from .topics_variable import topics_to_create
from .zookeeper_stand_in import become_stand_in, without_stand_in

__all__ = ["container_command"]

_MOUNTED = Path("/mnt/shared/config/server.properties")
_FINAL = Path("/etc/pybroker/server.properties")
_DATA = "/var/lib/kafka/data"
_LEVELS = {"ALL": "debug", "TRACE": "debug", "WARN": "warning", "FATAL": "error", "OFF": "error"}  # log4j's, as ours


def container_command(arguments: Sequence[str]) -> int:
    """The command; returns its exit code. Raises CommandError, ConfigError, StartError."""
    parser = CommandParser(
        "pybroker container",
        "Runs a broker in a container. Settings come from the mounted file and from KAFKA_* environment variables, "
        "which take precedence, by the rule of Apache Kafka's image.",
        usage="pybroker container [options] [KAFKA_NAME=VALUE]...",
    )
    parser.add_argument(
        "--mounted", metavar="FILE", type=Path, default=_MOUNTED, help=f"the file of settings; default: {_MOUNTED}"
    )
    parser.add_argument(
        "--config",
        metavar="FILE",
        type=Path,
        default=_FINAL,
        help=f"where the combined settings are written; default: {_FINAL}",
    )
    parser.add_argument(
        "--data", metavar="DIRECTORY", default=_DATA, help=f"data directory when no setting names one; default: {_DATA}"
    )
    parser.add_argument("--write-only", action="store_true", help="write the combined settings, then exit")
    parser.add_argument(
        "--zookeeper-stand-in",
        metavar="FILE",
        type=Path,
        help="hold the port that this file of ZooKeeper's settings names, for start scripts that begin ZooKeeper",
    )
    parser.add_argument(
        "--prepared", action="store_true", help="the combined settings are written already: run the broker"
    )
    parser.add_argument(
        "variables", nargs="*", metavar="KAFKA_NAME=VALUE", help="variables that take precedence over the environment"
    )
    options = parser.parse_args(arguments)
    if options.zookeeper_stand_in is not None:
        become_stand_in(options.zookeeper_stand_in)
    is_first = os.getpid() == 1 and not options.prepared and not options.write_only
    if is_first:
        hold_signals()
    environment = {**with_dropped_variables(os.environ), **_variables(options.variables)}
    level, form = log_level(environment), log_format(environment)
    if form == "json":
        log_to_stderr(level, form)  # so that errors of the settings are JSON too
    environment = with_secret_files(environment)
    topics = topics_to_create(environment)
    if not options.prepared:
        environment = without_stand_in(environment)
        _prepare(options.config, final_properties(read_mounted(options.mounted), environment, options.data))
    if options.write_only:
        return 0
    if is_first:
        again = [sys.executable, "-m", "pybroker", "container", "--prepared", "--config", str(options.config)]
        become_first_process([*again, "--mounted", str(options.mounted)], environment)
    config = load_config(options.config, variables=places_in_environment(environment, read_mounted(options.mounted)))
    return run_broker(config, level, form, serve=lambda config: import_broker()(config, kafka_started_line, topics))


def log_level(environment: Mapping[str, str]) -> str:
    """The log level that log4j's level in ``KAFKA_LOG4J_ROOT_LOGLEVEL`` stands for. Raises CommandError."""
    asked = environment.get("KAFKA_LOG4J_ROOT_LOGLEVEL", "").strip() or "INFO"
    level = _LEVELS.get(asked.upper(), asked.lower())
    if level not in LOG_LEVELS:
        allowed = ", ".join((*LOG_LEVELS, *_LEVELS))
        raise CommandError(f"KAFKA_LOG4J_ROOT_LOGLEVEL={asked}: must be one of {allowed}, in any case", BAD_INPUT)
    return level


def kafka_started_line(broker_id: int) -> str:
    """The log line of a started Kafka broker. Programs such as testcontainers wait for a part of it."""
    return (
        f"in Apache Kafka's words: [KafkaServer id={broker_id}] started; Kafka Server started; "
        "Transitioning from RECOVERY to RUNNING"
    )


def _variables(pairs: Sequence[str]) -> dict[str, str]:
    for pair in pairs:
        if not pair.partition("=")[1]:
            raise CommandError(f"{pair}: must be NAME=VALUE", BAD_INPUT)
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}


def _prepare(file: Path, properties: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)  # it may have passwords
        file.write_bytes(properties.encode("latin-1"))
    except OSError as error:
        why = why_unusable(error, str(file))
        raise CommandError(f"{file}: cannot be written: {why}, or name another file with --config") from error
