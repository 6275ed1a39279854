"""Sends the records of one task by librdkafka, with or without a transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer, TopicPartition

from ..options.write_options import WriteOptions

CONNECT_TIMEOUT = "socket.connection.setup.timeout.ms"
_ANY_PARTITION = -1
_QUEUE_FULL_WAIT_S = 0.5
_MOST_RETRIES = 10
_LATE = (KafkaError._MSG_TIMED_OUT, KafkaError._TIMED_OUT)


class WriteError(Exception):
    """A record could not be written; the message says why."""


class TaskProducer:
    """Sends records. Leaving the context waits until all are acknowledged, or raises WriteError. With a
    `transactional.id` in `further`, `begin` comes first, and `commit` or `abort` in place of the context.
    """

    def __init__(self, options: WriteOptions, further: Mapping[str, str] | None = None) -> None:
        self._topic = options.topic
        settings = options.producer_settings() | dict(further or {})
        self._producer = Producer({**settings, "error_cb": self._note_cause})
        self._failure: str | None = None
        self._cause: str | None = None

    def __enter__(self) -> TaskProducer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._producer.purge()
        self._producer.flush()
        if kind is None:
            self._check()

    def await_broker(self, timeout_s: float) -> None:
        """Waits until a broker answers. Raises WriteError, with the cause that no broker does."""
        try:
            self._producer.list_topics(self._topic, timeout_s)
        except KafkaException as error:
            self._producer.poll(0)  # calls `_note_cause`
            raise WriteError(f"No broker answers: {self._cause or error.args[0].str()}") from None

    def begin(self, timeout_s: float) -> None:
        """Ends what an earlier producer of this transactional id left behind, and begins a transaction. Raises
        WriteError.
        """
        _until_done(lambda: self._producer.init_transactions(timeout_s))
        self._producer.begin_transaction()

    def commit(self, marks: Sequence[TopicPartition], group: object, timeout_s: float) -> None:
        """Commits the records with offsets of a group. Raises WriteError; then it may be committed nevertheless."""
        self._producer.flush()
        self._check()
        _until_done(lambda: self._producer.send_offsets_to_transaction(list(marks), group, timeout_s))
        _until_done(lambda: self._producer.commit_transaction(timeout_s))

    def abort(self) -> None:
        """Aborts the transaction; if the broker can't be reached, the next producer of the id or a timeout does."""
        self._producer.purge()
        try:
            self._producer.abort_transaction(_QUEUE_FULL_WAIT_S)
        except KafkaException:
            return

    def topic_of(self, row: Mapping[str, Any]) -> str:
        """Returns the topic of a row. Raises WriteError."""
        topic = row.get("topic") if self._topic is None else self._topic
        if topic is None:
            raise WriteError("A row has no topic: set the option 'topic', or a topic in each row")
        return str(topic)

    def send_all(self, rows: Iterable[dict[str, Any]]) -> None:
        """Sends rows. Raises WriteError as soon as a record is known to have failed."""
        for row in rows:
            self._send(row)
            self._producer.poll(0)
            self._check()

    def _send(self, row: dict[str, Any]) -> None:
        topic = self.topic_of(row)
        partition = row.get("partition")
        headers = _headers(topic, row.get("headers"))
        while True:
            try:
                self._producer.produce(
                    topic,
                    value=_bytes(row["value"]),
                    key=_bytes(row.get("key")),
                    partition=_ANY_PARTITION if partition is None else partition,
                    headers=headers,
                    on_delivery=self._delivered,
                )
                return
            except BufferError:  # the producer's queue is full
                self._producer.poll(_QUEUE_FULL_WAIT_S)
            except KafkaException as error:
                advice = _advice(error.args[0], "raise 'kafka.max.request.size'")
                raise WriteError(f"A record for {topic} was refused: {error.args[0].str()}{advice}") from None

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is None or self._failure is not None:
            return
        self._failure = f"A record for {message.topic()} could not be written: {error.str()}"
        self._failure += _advice(error, "raise max.message.bytes of the topic, or set 'kafka.compression.type'")
        if error.code() in _LATE and self._cause is not None:
            self._failure += f" ({self._cause})"

    def _note_cause(self, error: KafkaError) -> None:
        """Keeps why a broker was not reached, which tells more than the late records."""
        if error.code() != KafkaError._ALL_BROKERS_DOWN:
            self._cause = error.str()

    def _check(self) -> None:
        if self._failure is not None:
            raise WriteError(self._failure)


def _until_done(step: Callable[[], None]) -> None:
    """Repeats a step of a transaction that timed out or met a passing error. Raises WriteError."""
    for attempt in range(1, _MOST_RETRIES + 1):
        try:
            step()
            return
        except KafkaException as error:
            if not error.args[0].retriable() or attempt == _MOST_RETRIES:
                raise WriteError(f"A transaction failed: {error.args[0].str()}") from None


def _advice(error: KafkaError, on_size: str) -> str:
    return f": {on_size}" if error.code() == KafkaError.MSG_SIZE_TOO_LARGE else ""


def _headers(
    topic: str, given: Sequence[Mapping[str, Any] | None] | None
) -> list[tuple[str, str | bytes | None]] | None:
    """Raises WriteError for a header without a key."""
    if given is None:
        return None
    found = [(each["key"], each["value"]) for each in given if each is not None and each["key"] is not None]
    if len(found) != len(given):
        raise WriteError(f"A record for {topic} has a header that is null or has no key")
    return found


def _bytes(content: str | bytes | None) -> bytes | None:
    return content.encode() if isinstance(content, str) else content
