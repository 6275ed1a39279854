"""The pytest plugin: fixtures with brokers, the marker ``kafka``, options, and reports on failed tests.

pytest loads this file in every run, so it imports no other file of pybroker until a fixture, the marker or an option
asks for one. `brokers.py` has what the fixtures do.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .brokers import Brokers
    from .kafka_broker import KafkaBroker
    from .kafka_cluster import KafkaCluster

_MARKER = (
    "kafka(brokers=3, settings={...}, as_version='2.8', topics={'orders': 6}, mode='thread' or 'process'): "
    "how the broker or the cluster of this test is made"
)
_BROKERS: pytest.StashKey[Brokers] = pytest.StashKey()
_STARTED_MS: pytest.StashKey[int] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    _leave_assertions(pluginmanager)
    group = parser.getgroup("kafka", "brokers for tests (pybroker)")
    group.addoption(
        "--kafka",
        default="pybroker",
        metavar="WHERE",
        help="where the fixtures find Kafka: pybroker (the default), HOST:PORT of a running cluster, or apache, which "
        "starts Apache Kafka if Java and its jars are here",
    )
    group.addoption("--kafka-keep", action="store_true", help="keep the brokers' data and say where it is")
    parser.addini("kafka_settings", "settings of each broker: a line NAME=VALUE each", type="linelist", default=[])
    parser.addini("kafka_client", "the client of admin(), producer(), consumer(): kafka-python or confluent-kafka")


def _leave_assertions(pluginmanager: pytest.PytestPluginManager) -> None:
    """Let pybroker be imported as it is. pytest rewrites the assertions of all packages that come with a plugin, which
    here takes seconds, and would make the broker of tests another one than that of users."""
    marked = getattr(getattr(pluginmanager, "rewrite_hook", None), "_must_rewrite", None)
    if isinstance(marked, set):
        marked.discard("pybroker")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)
    if config.getoption("kafka") != "pybroker":
        from .places import check_place

        check_place(config.getoption("kafka"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("kafka") is not None:
            from .marker import check_marker

            check_marker(item)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.stash[_STARTED_MS] = time.time_ns() // 1_000_000


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    brokers = item.config.stash.get(_BROKERS, None)
    if brokers is not None:
        brokers.end_troubles()  # clients end without a wait for requests that a fault holds
        brokers.stop_aio_clients()  # before a fixture closes their loop
    yield
    if brokers is not None:
        brokers.test_is_over()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    brokers = item.config.stash.get(_BROKERS, None)
    if report.failed and brokers is not None:
        report.sections += brokers.sections(item, item.stash.get(_STARTED_MS, 0))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    brokers = config.stash.get(_BROKERS, None)
    if brokers is not None:
        for text in brokers.kept:
            terminalreporter.write_line(text)


@pytest.fixture(scope="session")
def _kafka_brokers(request: pytest.FixtureRequest) -> Iterator[Brokers]:
    """The brokers that are open; made when the first fixture asks for one."""
    with without_collections():
        from .brokers import Brokers

    brokers = request.config.stash[_BROKERS] = Brokers(request.config)
    yield brokers
    brokers.close()


@contextmanager
def without_collections() -> Iterator[None]:
    """Import without looking for garbage, which the imports do not leave: that takes a fifth of their time.

    Afterwards all objects are in the oldest generation, as if collections had spared them.
    """
    is_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if gc.get_freeze_count() == 0:  # otherwise the objects that the program froze would not stay so
            gc.freeze()
            gc.unfreeze()
        if is_enabled:
            gc.enable()


@pytest.fixture
def kafka_broker(request: pytest.FixtureRequest, _kafka_brokers: Brokers) -> Iterator[KafkaBroker]:
    """A broker of the test's own, empty and running."""
    with _kafka_brokers.open(request) as broker:
        yield broker


@pytest.fixture(scope="module")
def kafka_broker_module(request: pytest.FixtureRequest, _kafka_brokers: Brokers) -> Iterator[KafkaBroker]:
    """A broker that the tests of a module share."""
    with _kafka_brokers.open(request) as broker:
        yield broker


@pytest.fixture(scope="session")
def kafka_broker_session(request: pytest.FixtureRequest, _kafka_brokers: Brokers) -> Iterator[KafkaBroker]:
    """A broker that all tests share; with xdist, those of one worker."""
    with _kafka_brokers.open(request) as broker:
        yield broker


@pytest.fixture
def kafka_cluster(request: pytest.FixtureRequest, _kafka_brokers: Brokers) -> Iterator[KafkaCluster]:
    """A cluster of the test's own, of three brokers unless the marker says another number."""
    with _kafka_brokers.open_cluster(request) as cluster:
        yield cluster


@pytest.fixture
def kafka_topic(request: pytest.FixtureRequest, _kafka_brokers: Brokers) -> str:
    """The name of a new topic that has leaders, on the broker that the test uses; ``kafka_broker`` if it uses none."""
    broker = _kafka_brokers.in_use(request)
    topic = _kafka_brokers.unique_name(request)
    broker.create_topic(topic)
    return topic


@pytest.fixture
def kafka_group(request: pytest.FixtureRequest, _kafka_brokers: Brokers) -> str:
    """An id of a consumer group that no other test uses."""
    return _kafka_brokers.unique_name(request)


@pytest.fixture
def kafka_faults(request: pytest.FixtureRequest, _kafka_brokers: Brokers) -> Any:
    """The faults of the broker that the test uses, or of all brokers of its cluster; they end with the test."""
    return _kafka_brokers.in_use(request).faults


@pytest.fixture
def kafka_clock(request: pytest.FixtureRequest, _kafka_brokers: Brokers) -> Any:
    """The clock of the broker that the test uses, or of all brokers of its cluster. It stays moved."""
    return _kafka_brokers.in_use(request).clock
