"""Acts on the brokers of a cluster: the broker that can do an act is found."""

import time
from collections.abc import Callable, Iterable
from typing import Any

from ...test_kit.act_error import ActError, NotHereError, UnknownTopicError
from ...test_kit.disk import Disk
from .members import BrokerMember
from .thread_broker import ThreadBroker

__all__ = ["ClusterActs", "RemoteDisk"]

AnyBroker = BrokerMember | ThreadBroker
_PATIENCE_S = 2.0
"""How long a broker may take to learn of a topic."""
_BETWEEN_TRIES_S = 0.02


class ClusterActs:
    """Each method blocks until it is done. ``brokers``: those that run; ``broker``: the one with an id.

    They raise ActError when no broker can do it, and ValueError for words without a meaning.
    """

    def __init__(self, brokers: Callable[[], Iterable[AnyBroker]], broker: Callable[[int], AnyBroker]) -> None:
        self._brokers = brokers
        self._broker = broker

    # -- leaders

    def move_leader(self, topic: str, partition: int, to: int) -> None:
        """Make broker ``to`` the preferred leader of a partition, and elect it. All brokers know it then."""
        self._on_one("move_leader", topic=topic, partition=partition, to=to)
        self._on_all("until_led_by", topic=topic, partition=partition, leader=to)

    def move_coordinator(self, group: str, to: int | None = None) -> int:
        """Move the coordinator of a group to broker ``to``, or to any other broker; returns its id. All brokers know
        it then."""
        wanted = {} if to is None else {"to": to}
        coordinator = int(self._on_one("move_coordinator", group=group, **wanted))
        self._on_all("until_coordinated_by", group=group, coordinator=coordinator)
        return coordinator

    # -- transactions

    def fence(self, transactional_id: str) -> dict[str, int]:
        """As `Acts.fence`."""
        producer: dict[str, int] = self._on_one("fence", transactional_id=transactional_id)
        return producer

    def leave_open(self, transactional_id: str, topic: str, partition: int = 0) -> dict[str, int]:
        """As `Acts.leave_open`: the coordinator begins the transaction, and the leader writes the record."""
        where = {"transactional_id": transactional_id, "topic": topic, "partition": partition}
        producer: dict[str, int] = self._on_one("begin_transaction", **where)
        return {**producer, **self._on_one("write_open", **where, **producer)}

    # -- logs

    def compact(self, topic: str | None = None) -> None:
        """As `Acts.compact`, on all brokers. A follower stops at the high watermark that it knows."""
        self._on_all("compact", **({} if topic is None else {"topic": topic}))

    def apply_retention(self) -> None:
        """As `Acts.apply_retention`, on all brokers."""
        self._on_all("apply_retention")

    def expire_offsets(self) -> None:
        """As `Acts.expire_offsets`, on all brokers."""
        self._on_all("expire_offsets")

    # -- one broker

    def expire_session(self, broker: int) -> None:
        """As `Acts.expire_session`."""
        self._broker(broker).act("expire_session")

    def disk(self, broker: int) -> "Disk | RemoteDisk":
        """The disk of a broker, which can be made full, slow or broken."""
        found = self._broker(broker)
        return found.disk if isinstance(found, ThreadBroker) else RemoteDisk(found)

    # -- internal

    def _on_all(self, act: str, **arguments: Any) -> None:
        for broker in self._brokers():
            self._until_known(lambda broker=broker: broker.act(act, **arguments))  # type: ignore[misc]

    def _on_one(self, act: str, **arguments: Any) -> Any:
        """The result of the first broker that can do it."""
        return self._until_known(lambda: self._tried(act, arguments))

    def _tried(self, act: str, arguments: dict[str, Any]) -> Any:
        refusals: list[ActError] = []
        for broker in self._brokers():
            try:
                return broker.act(act, **arguments)
            except ActError as error:
                refusals.append(error)
        refusals.sort(key=lambda error: isinstance(error, NotHereError))
        raise next(iter(refusals), ActError("no broker is running"))

    def _until_known(self, work: Callable[[], Any]) -> Any:
        """The result of ``work``, which is repeated while a broker has not learned of the topic."""
        until_s = time.monotonic() + _PATIENCE_S
        while True:
            try:
                return work()
            except UnknownTopicError:
                if time.monotonic() > until_s:
                    raise
            time.sleep(_BETWEEN_TRIES_S)


class RemoteDisk:
    """The methods of `Disk`, for a broker in a process of its own."""

    def __init__(self, broker: BrokerMember) -> None:
        self._broker = broker

    def full(self) -> None:
        """As `Disk.full`."""
        self._broker.act("disk_full")

    def fail(self) -> None:
        """As `Disk.fail`."""
        self._broker.act("disk_fail")

    def slow(self, ms: int) -> None:
        """As `Disk.slow`."""
        self._broker.act("disk_slow", ms=ms)

    def heal(self) -> None:
        """As `Disk.heal`."""
        self._broker.act("disk_heal")
