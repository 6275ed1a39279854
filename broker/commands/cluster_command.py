"""``scripts/cluster N``: runs a cluster in a terminal. Typed lines kill, pause and cut brokers; Ctrl-C stops all."""

import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from threading import Event
from typing import NoReturn

from ...config.config_error import ConfigError
from ..library.cluster.blocking_cluster import BlockingCluster, MemberName
from ..start_error import StartError
from .command_parser import BAD_INPUT, FAILED, CommandError, CommandParser, parse_overrides

__all__ = ["main"]

_HELP = (
    "commands to type: kill 1, stop 1, start 1, pause 1, resume 1, cut 1 2, heal 1 2 (broker ids, or zookeeper);"
    " Ctrl-C stops all"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it until a signal; returns the exit code."""
    try:
        cluster = _cluster(arguments)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _interrupt)
        with cluster:
            _say(_describe(cluster))
            _obey(cluster, sys.stdin)
            Event().wait()
    except KeyboardInterrupt:
        _say(["stopped"])
        return 0
    except (CommandError, ConfigError) as error:
        return _fail(error, BAD_INPUT)
    except StartError as error:
        return _fail(error, FAILED)
    return 0


def _cluster(arguments: Sequence[str] | None) -> BlockingCluster:
    """Raises CommandError, ConfigError."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.brokers < 1:
        parser.error(f"{options.brokers}: a cluster needs at least one broker")
    return BlockingCluster(
        options.brokers,
        parse_overrides(options.override),
        directory=options.directory,
        zookeeper=options.zookeeper,
        zookeeper_jars=options.jars,
    )


def _parser() -> CommandParser:
    parser = CommandParser(
        "scripts/cluster",
        "Runs ZooKeeper and N brokers on this machine, to try things out. Ctrl-C stops them.",
        epilog=_HELP,
    )
    parser.add_argument("brokers", metavar="N", type=int, help="number of brokers")
    parser.add_argument(
        "--directory", metavar="DIR", type=Path, help="where the data is kept; default: a temporary directory"
    )
    parser.add_argument("--zookeeper", metavar="HOST:PORT", help="a running ZooKeeper; default: one is started")
    parser.add_argument("--jars", metavar="DIR", type=Path, help="directory of ZooKeeper's jars; default: searched")
    parser.add_argument(
        "--override",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="set a setting of all brokers; may be given several times",
    )
    return parser


def _describe(cluster: BlockingCluster) -> list[str]:
    brokers = [
        f"  broker {broker}: {cluster.bootstrap_server(broker)}, process {cluster.pid(broker)},"
        f" output in {cluster.log_file(broker)}"
        for broker in cluster.broker_ids
    ]
    return [f"bootstrap servers: {cluster.bootstrap_servers}", f"zookeeper: {cluster.zookeeper}", *brokers, _HELP]


def _obey(cluster: BlockingCluster, lines: Iterable[str]) -> None:
    """Carry out typed lines until the input ends."""
    for line in lines:
        words = line.split()
        if words:
            _say([_do(cluster, words[0], words[1:])])


def _do(cluster: BlockingCluster, verb: str, names: list[str]) -> str:
    one: dict[str, Callable[[MemberName], None]] = {
        "kill": cluster.kill,
        "stop": cluster.stop,
        "start": cluster.start,
        "pause": cluster.pause,
        "resume": cluster.resume,
    }
    two: dict[str, Callable[[MemberName, MemberName], None]] = {"cut": cluster.cut, "heal": cluster.heal}
    if not all(name == "zookeeper" or name.isdecimal() for name in names):
        return _HELP
    try:
        members = [_member(name) for name in names]
        if verb in one and len(members) == 1:
            one[verb](*members)
        elif verb in two and len(members) == 2:
            two[verb](*members)
        else:
            return _HELP
    except (ValueError, RuntimeError, StartError) as error:
        return str(error)
    return "done"


def _member(name: str) -> MemberName:
    return "zookeeper" if name == "zookeeper" else int(name)


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _fail(error: Exception, code: int) -> int:
    sys.stderr.write(f"scripts/cluster: {error}\n")
    return code


if __name__ == "__main__":
    raise SystemExit(main())
