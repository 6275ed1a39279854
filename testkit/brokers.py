"""Opens the brokers of fixtures, knows which test uses which, and writes the report on a failed test.

The brokers of other kinds than `KafkaBroker` are imported when a test asks for one.
"""

import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from ..broker.library.settings_from_mapping import SettingsMapping
from .clients import CLIENTS
from .failure_report import CapturedLog, section_texts
from .kafka_broker import KafkaBroker
from .marker import KafkaOptions, options_of
from .places import APACHE, PYBROKER

if TYPE_CHECKING:
    from .apache_kafka import ApacheKafka
    from .kafka_cluster import KafkaCluster
    from .outside_kafka import OutsideKafka

    AnyKafka = KafkaBroker | KafkaCluster | OutsideKafka

__all__ = ["Brokers"]

_OWN = "kafka_broker"
_BY_PREFERENCE = ("kafka_cluster", _OWN, "kafka_broker_module", "kafka_broker_session")
"""The fixture that counts first as the broker in use."""
_QUICK = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "num.io.threads": "2",
}
"""A start begins fewer threads, and the first group and transaction create topics of 1 partition in place of 50."""
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME = 100


class Brokers:
    """The open brokers of a session, by the name of their fixture."""

    def __init__(self, config: pytest.Config) -> None:
        self.kept: list[str] = []
        """Lines that say where data was kept."""
        self._config = config
        self._place: str = config.getoption("kafka")
        self._keeps: bool = config.getoption("kafka_keep")
        self._client = _preferred_client(config)
        self._open: dict[str, AnyKafka] = {}
        self._used: set[str] = set()
        """Fixtures of wider scopes that the running test uses without naming them."""
        self._apache: dict[frozenset[tuple[str, str]], ApacheKafka] = {}
        """By settings."""
        self._deleted: dict[str, set[str]] = {}
        """Topics that tests have deleted, by the cluster outside."""
        self._directories: list[Path] = []
        self._log = CapturedLog()
        self._log.attach()

    def close(self) -> None:
        """End what was started for the whole session."""
        self._log.detach()
        for kafka in self._apache.values():
            kafka.close()
        for directory in self._directories:
            shutil.rmtree(directory, ignore_errors=True)

    # -- fixtures

    @contextmanager
    def open(self, request: pytest.FixtureRequest) -> Iterator[Any]:
        """A running broker with the topics of the marker."""
        options = options_of(request.node, self._config)
        broker = self._new_broker(request, options)
        with self._listed(request, broker, options.topics):
            yield broker

    @contextmanager
    def open_cluster(self, request: pytest.FixtureRequest) -> Iterator[Any]:
        """A running cluster with the topics of the marker."""
        options = options_of(request.node, self._config)
        if self._place != PYBROKER:
            pytest.skip("kafka_cluster starts brokers of its own, and --kafka names another cluster")
        from .kafka_cluster import KafkaCluster

        cluster = KafkaCluster(options.brokers or 3, _settings_of(options), options.mode, self._client)
        with self._listed(request, cluster, options.topics):
            yield cluster

    def in_use(self, request: pytest.FixtureRequest) -> Any:
        """The broker or cluster that the test uses; ``kafka_broker`` when it uses none."""
        names = [name for name in _BY_PREFERENCE if name in request.fixturenames]
        name = names[0] if names else _OWN
        self._used.add(name)
        return request.getfixturevalue(name)

    def unique_name(self, request: pytest.FixtureRequest) -> str:
        """A name for a topic or group that begins with that of the test."""
        test = _NOT_IN_NAMES.sub("-", request.node.name).strip("-")[:_LONGEST_NAME]
        return f"{test}-{uuid4().hex[:8]}"

    def stop_aio_clients(self) -> None:
        """Stop the asynchronous clients of the test, whose loop is still open but does not run."""
        for broker in self._open.values():
            broker.stop_aio_clients()

    def end_troubles(self) -> None:
        """End what the test made brokers suffer: the next test may use them too, and the end of clients would wait."""
        for broker in self._open.values():
            broker.end_troubles()

    def test_is_over(self) -> None:
        """Close the clients that the test made of brokers that live longer."""
        self._used.clear()
        self.end_troubles()  # that fixtures have made at their end
        for broker in self._open.values():
            broker.close_clients()

    def sections(self, item: pytest.Item, since_ms: int) -> list[tuple[str, str]]:
        """The sections for the report on a failed test."""
        names = [name for name in self._open if name == _OWN or name in self._used or name in _fixtures_of(item)]
        if not names:
            return []
        others = [broker.thread_mark for name, broker in self._open.items() if name not in names and broker.thread_mark]
        found = section_texts("kafka", [("log of the brokers", self._log.lines(since_ms, others))])
        for name in names:
            found += section_texts(name, self._open[name].report(since_ms))
        return found

    # -- internal

    def _new_broker(self, request: pytest.FixtureRequest, options: KafkaOptions) -> "AnyKafka":
        if self._place != PYBROKER:
            from .outside_kafka import OutsideKafka

            _skip_what_needs_pybroker(options, self._place)
            servers = self._apache_with(options).bootstrap_servers if self._place == APACHE else self._place
            return OutsideKafka(servers, self._client, self._deleted.setdefault(servers, set()))
        settings = dict(_settings_of(options))
        directory = self._kept_directory(request) if self._keeps else None
        if options.mode == "process":
            from .process_broker import ProcessBroker

            return ProcessBroker(directory or self._new_directory(), settings, self._client)
        if directory is not None:
            settings["log.dirs"] = str(directory)
        return KafkaBroker(settings, self._client)

    def _apache_with(self, options: KafkaOptions) -> "ApacheKafka":
        """Apache Kafka with the settings of a test. It serves all tests with the same settings."""
        from .apache_kafka import ApacheKafka

        settings = {name: str(value) for name, value in _settings_of(options).items() if not _is_own(name)}
        key = frozenset(settings.items())
        if key not in self._apache:
            self._apache[key] = ApacheKafka(self._new_directory(), settings)
        return self._apache[key]

    @contextmanager
    def _listed(self, request: pytest.FixtureRequest, broker: "AnyKafka", topics: Mapping[str, int]) -> Iterator[None]:
        name = str(request.fixturename)
        self._open[name] = broker
        try:
            for topic, partitions in topics.items():
                broker.create_topic(topic, partitions)
            yield
        finally:
            del self._open[name]
            broker.close()

    def _new_directory(self) -> Path:
        """A directory that is removed at the end of the session."""
        self._directories.append(Path(tempfile.mkdtemp(prefix="pybroker-")))
        return self._directories[-1]

    def _kept_directory(self, request: pytest.FixtureRequest) -> Path:
        factory: pytest.TempPathFactory = request.getfixturevalue("tmp_path_factory")
        name = _NOT_IN_NAMES.sub("-", request.node.name)[:_LONGEST_NAME] or "session"
        directory = factory.mktemp(f"kafka-{name}")
        self.kept.append(f"data of {request.fixturename} of {request.node.nodeid or 'the session'}: {directory}")
        return directory


def _fixtures_of(item: pytest.Item) -> list[str]:
    return list(getattr(item, "fixturenames", ()))


def _skip_what_needs_pybroker(options: KafkaOptions, place: str) -> None:
    """Skip a test whose marker asks for what another Kafka cannot be."""
    own = sorted(filter(_is_own, options.marked))
    if options.as_version is not None:
        why = f"as_version={options.as_version!r}"
    elif options.mode == "process":
        why = "mode='process'"
    elif own:
        why = f"the setting {own[0]}"
    elif options.marked and place != APACHE:
        pytest.skip("the marker's settings need a broker that the test starts, and --kafka names a running cluster")
    else:
        return
    pytest.skip(f"{why} needs pybroker, and --kafka names another cluster")


def _is_own(setting: str) -> bool:
    return setting.startswith("pybroker.")


def _settings_of(options: KafkaOptions) -> SettingsMapping:
    version = {} if options.as_version is None else {"pybroker.as.version": options.as_version}
    return {**_QUICK, **version, **options.settings}


def _preferred_client(config: pytest.Config) -> str | None:
    client = str(config.getini("kafka_client") or "")
    if client and client not in CLIENTS:
        raise pytest.UsageError(f"kafka_client={client}: must be {' or '.join(CLIENTS)}")
    return client or None
