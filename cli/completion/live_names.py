"""Asks a cluster for names to complete: within 300 ms, and once in 30 seconds.

Any failure gives no names and no words, because they would land in the line that the user types. Names with
characters that a shell reads as its own are not offered.
"""

import hashlib
import json
import os
import re
import signal
import time
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from ...base.command_parser import CommandParser
from ...client.admin_cluster import AdminCluster
from ..connecting.connection_options import add_connection_options, client_settings
from .candidates import Wanted

__all__ = ["live_names"]

_LIMIT_S = 0.3
_CACHED_S = 30.0
_MOST = 10_000
_SAFE = re.compile(r"[A-Za-z0-9_./@][A-Za-z0-9_./@+,%-]*")


def live_names(wanted: Wanted, environment: Mapping[str, str] = os.environ) -> list[str]:
    """The names, sorted; empty after any failure."""
    try:
        parser = CommandParser("pybroker")
        add_connection_options(parser)
        options, _ = parser.parse_known_args(wanted.words)
        options.timeout = _LIMIT_S
        settings = client_settings(options, environment)
        file = _cache_file(wanted, [str(settings.bootstrap_servers), *_cluster_words(options)], environment)
        cached = _cached(file)
        if cached is not None:
            return cached
        with _time_limit(), AdminCluster(settings, round(_LIMIT_S * 1000)) as cluster:
            names = sorted({name for name in _ask(cluster, wanted) if _SAFE.fullmatch(name)})[:_MOST]
        _keep(file, names)
    except Exception:  # a wrong option, no cluster, no right, too slow
        return []
    return names


def _ask(cluster: AdminCluster, wanted: Wanted) -> list[str]:
    if wanted.kind == "GROUP":
        from ..groups.described_groups import listed_groups

        return [row.group for row in listed_groups(cluster)[0]]
    if wanted.kind == "NAME":
        from ..configs.found_settings import found_settings
        from ..configs.resources import NamedResource

        resource = NamedResource.read(wanted.resource)
        return [setting.name for setting in found_settings(cluster, [resource])[resource]]
    found = cluster.metadata(None)
    topics = [topic.name or "" for topic in found.topics if not topic.is_internal]
    if wanted.kind == "TOPIC":
        return topics
    brokers = [f"broker/{broker.node_id}" for broker in found.brokers]
    return ["brokers", *brokers, *(f"topic/{topic}" for topic in topics)]


@contextmanager
def _time_limit() -> Iterator[None]:
    """Raise TimeoutError in the body after the limit, also in the search for a host's address."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, _LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _cluster_words(options: Namespace) -> list[str]:
    """The options that tell which cluster is asked, and as which user."""
    return [str(options.command_config), str(options.profile), *options.client_settings]


def _cache_file(wanted: Wanted, cluster: list[str], environment: Mapping[str, str]) -> Path:
    home = environment.get("XDG_CACHE_HOME") or str(Path(environment.get("HOME", "~")) / ".cache")
    key = json.dumps([cluster, wanted.kind, wanted.resource if wanted.kind == "NAME" else ""])
    return Path(home) / "pybroker" / "completion" / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"


def _cached(file: Path) -> list[str] | None:
    """The names in the file; None if they are older than the limit, or not there."""
    with suppress(OSError, ValueError):
        if 0 <= time.time() - file.stat().st_mtime < _CACHED_S:
            names = json.loads(file.read_text(encoding="utf-8"))
            return [name for name in names if isinstance(name, str) and _SAFE.fullmatch(name)]
    return None


def _keep(file: Path, names: list[str]) -> None:
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        new = file.with_suffix(f".{os.getpid()}")
        new.write_text(json.dumps(names), encoding="utf-8")
        new.replace(file)
