"""Makes Kafka clients of whichever library is installed, and closes them.

A user of pytest-kafka-broker finds its names here: ``config``, ``admin``, ``producer``, ``consumer``, ``aio_producer``
and ``aio_consumer``.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any
from uuid import uuid4

__all__ = ["CLIENTS", "Clients", "NoClientError"]

KAFKA_PYTHON, CONFLUENT, AIOKAFKA = "kafka-python", "confluent-kafka", "aiokafka"
CLIENTS = (KAFKA_PYTHON, CONFLUENT)
_ASYNCHRONOUS = (AIOKAFKA, CONFLUENT)
_PACKAGES = {KAFKA_PYTHON: "kafka", CONFLUENT: "confluent_kafka", AIOKAFKA: "aiokafka"}
_CLOSE_S = 5.0


class NoClientError(RuntimeError):
    """The wanted client is not installed."""


class Clients:
    """Clients of one cluster. ``close_clients`` closes all that were made since the last call.

    ``preferred``: the library for clients that are not asynchronous; None: the first that is installed.
    """

    _preferred: str | None = None
    _closers: list[Callable[[], object]]
    _stoppers: list[Callable[[], object]]
    """These stop asynchronous clients."""

    def __init__(self, preferred: str | None) -> None:
        self._preferred = preferred
        self._closers = []
        self._stoppers = []

    @property
    def bootstrap_servers(self) -> str:
        """``host:port`` for clients."""
        raise NotImplementedError

    def config(self, config: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The settings of a client by librdkafka's names, with those of ``config``."""
        return {"bootstrap.servers": self.bootstrap_servers, **(config or {})}

    def admin(self, config: Mapping[str, Any] | None = None, *, client: str | None = None, **options: Any) -> Any:
        """An admin client: ``KafkaAdminClient`` of kafka-python, or ``AdminClient`` of confluent-kafka.

        Options have the library's names; dots and underscores are the same. ``client``: the name of the library.
        """
        given = {**(config or {}), **options}
        if self._chosen(client, CLIENTS) == KAFKA_PYTHON:
            from kafka import KafkaAdminClient

            return self._closing(KafkaAdminClient(**self._with_underscores(given)))
        from confluent_kafka.admin import AdminClient

        return AdminClient(self._with_dots(given))

    def producer(self, config: Mapping[str, Any] | None = None, *, client: str | None = None, **options: Any) -> Any:
        """A producer: ``KafkaProducer`` of kafka-python, or ``Producer`` of confluent-kafka. See `admin`."""
        given = {**(config or {}), **options}
        if self._chosen(client, CLIENTS) == KAFKA_PYTHON:
            from kafka import KafkaProducer

            producer = KafkaProducer(**self._with_underscores(given))
            self._closers.append(lambda: producer.close(timeout=_CLOSE_S))
            return producer
        from confluent_kafka import Producer

        other = Producer(self._with_dots(given))
        self._closers.append(lambda: other.flush(_CLOSE_S))
        return other

    def consumer(self, *topics: str | Mapping[str, Any], client: str | None = None, **options: Any) -> Any:
        """A consumer of these topics: ``KafkaConsumer`` of kafka-python, or ``Consumer`` of confluent-kafka.

        A mapping among ``topics`` has options. Unless they say otherwise, it reads from the beginning; confluent-kafka
        gets a group of its own. See `admin`.
        """
        names, given = _split(topics, options)
        if self._chosen(client, CLIENTS) == KAFKA_PYTHON:
            from kafka import KafkaConsumer

            consumer = KafkaConsumer(*names, **{"auto_offset_reset": "earliest", **self._with_underscores(given)})
            self._closers.append(lambda: consumer.close(timeout_ms=_CLOSE_S * 1000))
            return consumer
        from confluent_kafka import Consumer

        return self._closing(_subscribed(Consumer(_of_a_group(self._with_dots(given))), names))

    def aio_producer(
        self, config: Mapping[str, Any] | None = None, *, client: str | None = None, **options: Any
    ) -> Any:
        """A producer for ``async with``: ``AIOKafkaProducer`` of aiokafka, or ``AIOProducer`` of confluent-kafka.

        Call it on a running event loop. See `admin`.
        """
        given = {**(config or {}), **options}
        if self._chosen(client, _ASYNCHRONOUS) == AIOKAFKA:
            _running_loop()
            from aiokafka import AIOKafkaProducer

            return self._stopping(AIOKafkaProducer(**self._with_underscores(given)), "stop")
        from confluent_kafka.aio import AIOProducer

        return self._stopping(AIOProducer(self._with_dots(given)), "close")

    def aio_consumer(self, *topics: str | Mapping[str, Any], client: str | None = None, **options: Any) -> Any:
        """A consumer for ``async with``: ``AIOKafkaConsumer`` of aiokafka, or ``AIOConsumer`` of confluent-kafka.

        Call it on a running event loop. aiokafka's subscribes to the topics, confluent-kafka's needs a call of
        ``subscribe``. See `consumer`.
        """
        names, given = _split(topics, options)
        if self._chosen(client, _ASYNCHRONOUS) == AIOKAFKA:
            _running_loop()
            from aiokafka import AIOKafkaConsumer

            options = {"auto_offset_reset": "earliest", **self._with_underscores(given)}
            return self._stopping(AIOKafkaConsumer(*names, **options), "stop")
        from confluent_kafka.aio import AIOConsumer

        return self._stopping(AIOConsumer(_of_a_group(self._with_dots(given))), "close")

    def close_clients(self) -> None:
        """Close the clients that were made; errors of clients whose broker is gone are passed over."""
        self.stop_aio_clients()
        _call_all(self._closers)

    def stop_aio_clients(self) -> None:
        """Stop the asynchronous clients, each on its loop, unless the loop is closed or runs."""
        _call_all(self._stoppers)

    # -- internal

    def _chosen(self, client: str | None, possible: tuple[str, ...]) -> str:
        if client is None and self._preferred in possible:
            client = self._preferred
        if client is not None:
            if client not in possible:
                raise NoClientError(f"client {client!r} is not known; known are {', '.join(possible)}")
            if find_spec(_PACKAGES[client]) is None:
                raise NoClientError(f"client {client!r} is not installed: pip install {client}")
            return client
        for name in possible:
            if find_spec(_PACKAGES[name]) is not None:
                return name
        raise NoClientError(f"no Kafka client is installed: pip install {possible[0]}, or {possible[1]}")

    def _with_underscores(self, given: Mapping[str, Any]) -> dict[str, Any]:
        options = {name.replace(".", "_"): value for name, value in given.items()}
        return {"bootstrap_servers": self.bootstrap_servers, **options}

    def _with_dots(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return self.config({name.replace("_", "."): value for name, value in given.items()})

    def _closing(self, client: Any) -> Any:
        self._closers.append(client.close)
        return client

    def _stopping(self, client: Any, method: str) -> Any:
        loop = _running_loop()

        def stop() -> None:
            if not loop.is_closed() and not loop.is_running():
                loop.run_until_complete(asyncio.wait_for(getattr(client, method)(), _CLOSE_S))

        self._stoppers.append(stop)
        return client


def _running_loop() -> asyncio.AbstractEventLoop:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise RuntimeError("asynchronous clients need a running event loop of asyncio") from None


def _call_all(functions: list[Callable[[], object]]) -> None:
    while functions:
        with contextlib.suppress(Exception):
            functions.pop()()


def _split(topics: tuple[str | Mapping[str, Any], ...], options: Mapping[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """Return the names of topics, and the options."""
    given: dict[str, Any] = {}
    names = []
    for each in topics:
        if isinstance(each, str):
            names.append(each)
        else:
            given |= each
    return names, {**given, **options}


def _subscribed(consumer: Any, topics: list[str]) -> Any:
    if topics:
        consumer.subscribe(topics)
    return consumer


def _of_a_group(config: dict[str, Any]) -> dict[str, Any]:
    return {"auto.offset.reset": "earliest", "group.id": f"test-{uuid4().hex[:12]}", **config}
