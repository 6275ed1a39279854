"""``pybroker cluster N``: runs a cluster in a terminal. Typed lines kill, pause and cut brokers; Ctrl-C stops all.

Each broker has a process of its own, so that ``kill -9`` works; their metadata is in the memory of this process, unless
``--zookeeper`` names another place.
"""

import shlex
import signal
import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from threading import Event
from typing import NoReturn

from ...base.command_parser import CommandParser, named_values
from ...config.http_listeners import HTTP_LISTENERS, TEST_KIT
from ...config.jaas import SCRAM_SHA_512
from ...protocol.client import Credentials
from ..library.cluster.blocking_cluster import BlockingCluster, MemberName
from ..library.cluster.cluster_endpoint import ClusterEndpoint
from ..start_error import StartError
from .client_settings import client_settings, write_client_settings

__all__ = ["cluster_command"]

_HELP = (
    "commands to type: kill 1, stop 1, start 1, pause 1, resume 1, cut 1 2, heal 1 2 (broker ids, or zookeeper),"
    " expire 1 (its session); Ctrl-C stops all"
)


def cluster_command(arguments: Sequence[str]) -> int:
    """Run it until a signal; returns the exit code. Raises CommandError, ConfigError, StartError."""
    try:
        options = _options(arguments)
        settings = _settings(options)
        cluster = BlockingCluster(
            options.brokers,
            settings,
            directory=options.directory,
            zookeeper=options.zookeeper,
            zookeeper_jars=options.jars,
            tls=options.tls,
            users=dict(options.user) or None,
            mode="process",
            http=HTTP_LISTENERS not in settings,
        )
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _interrupt)
        with cluster, ExitStack() as stack:
            kit = stack.enter_context(ClusterEndpoint(cluster, options.test_kit_port)) if options.test_kit else None
            access = _describe_access(cluster, options)
            console = _describe_console(cluster, has_settings=bool(access))
            _say([*_describe(cluster), *access, *console, *_describe_kit(cluster, kit), _HELP])
            _obey(cluster, sys.stdin)
            Event().wait()
    except KeyboardInterrupt:
        _say(["stopped"])
    return 0


def _options(arguments: Sequence[str]) -> Namespace:
    """Raises CommandError."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.brokers < 1:
        parser.error(f"{options.brokers}: a cluster needs at least one broker")
    return options


def _settings(options: Namespace) -> dict[str, str]:
    """The settings of all brokers. A cluster with a ZooKeeper of its own has pybrokers only, so that the levels of the
    newer groups can be raised."""
    settings = named_values(options.override, "--override")
    if options.test_kit:
        settings[TEST_KIT] = "true"
    if options.zookeeper in (None, "java") and "pybroker.as.version" not in settings:
        settings.setdefault("group.coordinator.rebalance.protocols", "classic,consumer,share")
    return settings


def _parser() -> CommandParser:
    parser = CommandParser(
        "pybroker cluster N",
        "Runs N brokers on this machine, to try things out. Ctrl-C stops them.",
        usage="pybroker cluster N [options]",
        epilog=_HELP,
    )
    parser.add_argument("brokers", metavar="N", type=int, help="number of brokers")
    parser.add_argument(
        "--directory", metavar="DIR", type=Path, help="where the data is kept; default: a temporary directory"
    )
    parser.add_argument(
        "--zookeeper",
        metavar="java|HOST:PORT",
        help="start a ZooKeeper in Java, or use a running one; default: this process holds the metadata",
    )
    parser.add_argument(
        "--jars", metavar="DIR", type=Path, help="directory of ZooKeeper's jars, for java; default: searched"
    )
    parser.add_argument("--tls", action="store_true", help="clients and brokers use TLS, with throw-away certificates")
    parser.add_argument(
        "--user",
        metavar="NAME=PASSWORD",
        type=_user,
        action="append",
        default=[],
        help="clients must log in, and this user may; may be given several times",
    )
    parser.add_argument(
        "--test-kit",
        action="store_true",
        help="for tests: faults and acts over HTTP, at an address for the whole cluster and at one of each broker",
    )
    parser.add_argument(
        "--test-kit-port",
        metavar="PORT",
        type=int,
        default=0,
        help="port of the cluster's test kit; default: any free",
    )
    parser.add_argument(
        "--override",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="set a setting of all brokers; may be given several times",
    )
    return parser


def _user(text: str) -> tuple[str, str]:
    name, _, password = text.partition("=")
    if not name or not password:
        raise ArgumentTypeError("must be NAME=PASSWORD")
    return name, password


def _describe(cluster: BlockingCluster) -> list[str]:
    brokers = [
        f"  broker {broker}: {cluster.bootstrap_server(broker)}, process {cluster.pid(broker)},"
        f" output in {cluster.log_file(broker)}"
        for broker in cluster.broker_ids
    ]
    return [f"bootstrap servers: {cluster.bootstrap_servers}", f"zookeeper: {cluster.zookeeper}", *brokers]


def _describe_access(cluster: BlockingCluster, options: Namespace) -> list[str]:
    """Lines about protocol, authority and users. Writes the settings of a client that logs in as the first user."""
    if not options.tls and not options.user:
        return []
    ca_file = cluster.ca_file if options.tls else None
    login = Credentials(SCRAM_SHA_512, *options.user[0]) if options.user else None
    settings = client_settings(ca_file, login)
    file = _client_file(cluster)
    write_client_settings(file, settings)
    needs = [f"security protocol {settings['security.protocol']}"]
    if ca_file is not None:
        needs.append(f"the authority to trust is {ca_file}")
    if login is not None:
        users = ", ".join(name for name, _ in options.user)
        needs.append(f"{users} may log in by PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512")
    whose = "Java's clients and Kafka's tools" + (f" as {login.user}" if login is not None else "")
    return [f"clients: {'; '.join(needs)}", f"settings for {whose}: {file}"]


def _client_file(cluster: BlockingCluster) -> Path:
    return cluster.log_file(1).parents[1] / "client.properties"


def _describe_console(cluster: BlockingCluster, *, has_settings: bool) -> list[str]:
    """The command line that shows the cluster in the browser. ``has_settings``: clients need the file of settings."""
    urls = [url for broker in cluster.broker_ids if (url := cluster.http_url(broker)) is not None]
    if not urls:
        return []
    words = ["pybroker", "console", "--bootstrap-server", cluster.bootstrap_servers]
    if has_settings:
        words += ["--command-config", str(_client_file(cluster))]
    return [f"see it in the browser: {shlex.join([*words, *(word for url in urls for word in ('--v1', url))])}"]


def _describe_kit(cluster: BlockingCluster, kit: ClusterEndpoint | None) -> list[str]:
    if kit is None:
        return []
    own = ", ".join(f"{broker} at {cluster.http_url(broker)}" for broker in cluster.broker_ids)
    return [
        f'test kit of the cluster: {kit.url} (POST {kit.url}/v1/test/acts/kill with {{"broker": 1}}; all paths: '
        f"{kit.url}/v1/openapi.json)",
        f"test kits of brokers: {own}",
    ]


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
        "expire": partial(_expire, cluster),
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


def _expire(cluster: BlockingCluster, broker: MemberName) -> None:
    if broker == "zookeeper":
        raise ValueError("the sessions that expire are those of brokers")
    cluster.expire(broker)


def _member(name: str) -> MemberName:
    return "zookeeper" if name == "zookeeper" else int(name)


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt
