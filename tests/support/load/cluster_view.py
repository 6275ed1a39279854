"""Asks the brokers of a `Cluster` over the wire about their state."""

from collections.abc import Iterable, Set
from typing import Any

from pybroker.broker.library.cluster.blocking_cluster import BlockingCluster
from pybroker.protocol.codec import Message
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponsePartition
from support.clients.wire_client import WireClient
from support.time.patience import await_answer, await_that

__all__ = ["ClusterView"]

_AWAY = (OSError, AssertionError)
"""Exceptions of a `WireClient` when the broker goes down, is down or is paused."""
_TIMEOUT_S = 5.0
"""Seconds until another broker is asked, or the same again; a paused broker gives no sign."""


class ClusterView:
    """The brokers' answers. Methods retry unless they say otherwise, because brokers may be down. Brokers in `away` are
    skipped if any broker can answer.
    """

    def __init__(self, cluster: BlockingCluster, away: Set[int] = frozenset()) -> None:
        self._cluster = cluster
        self._away = away

    def ask(self, broker: int, request: Message, version: int) -> Any:
        """Returns the response; None if the broker is or goes down."""
        try:
            with WireClient(self._cluster.bootstrap_server(broker), _TIMEOUT_S) as client:
                return client.ask(request, version)
        except _AWAY:
            return None

    def metadata(self, broker: int | None = None) -> MetadataResponse:
        """Returns metadata of all topics from one broker, or from the first that answers."""

        def ask_them() -> Any:
            brokers = (
                [broker] if broker is not None else [each for each in self._cluster.broker_ids if self._is_up(each)]
            )
            answers = (self.ask(each, MetadataRequest(topics=None), 12) for each in brokers)
            return next((answer for answer in answers if answer is not None), None)

        answer: MetadataResponse = await_answer(
            ask_them, lambda answer: answer is not None, f"broker {broker or 'any'}: an answer"
        )
        return answer

    def _is_up(self, broker: int) -> bool:
        return broker in self._cluster.broker_ids and broker not in self._away and self._cluster.is_running(broker)

    def brokers_known_to(self, broker: int) -> set[int]:
        return {each.node_id for each in self.metadata(broker).brokers}

    def controller(self) -> int:
        return await_answer(
            lambda: self.metadata().controller_id,
            self._is_up,
            "a controller",
        )

    def ask_controller(self, request: Message, version: int) -> Any:
        """Sends a request to the controller; returns None if the broker is no longer controller, as far as the missing
        response tells.
        """
        return self.ask(self.controller(), request, version)

    def partition(self, topic: str, partition: int) -> MetadataResponsePartition:
        """Returns a partition; waits until it exists."""

        def look() -> MetadataResponsePartition | None:
            for found in self.metadata().topics:
                for each in found.partitions:
                    if (found.name, each.partition_index) == (topic, partition):
                        return each
            return None

        found: MetadataResponsePartition = await_answer(look, bool, f"there is {topic}-{partition}")  # type: ignore[assignment]
        return found

    def leader(self, topic: str, partition: int) -> int:
        """Returns the leader, which must be running."""
        return await_answer(
            lambda: self.partition(topic, partition).leader_id,
            self._is_up,
            f"{topic}-{partition} has a leader",
        )

    def isr(self, topic: str, partition: int) -> set[int]:
        return set(self.partition(topic, partition).isr_nodes)

    def isrs(self) -> list[tuple[str, set[int]]]:
        """Returns the ISRs of all partitions, with topics."""
        return [
            (topic.name or "", set(each.isr_nodes)) for topic in self.metadata().topics for each in topic.partitions
        ]

    def offline_replicas_of(self, broker: int) -> list[str]:
        return [
            f"{topic.name}-{each.partition_index}"
            for topic in self.metadata().topics
            for each in topic.partitions
            if broker in each.offline_replicas
        ]

    def await_health(self, brokers: Iterable[int] | None = None) -> None:
        """Waits until each broker sees all brokers running and each partition with a leader and all
        replicas in sync."""
        for broker in brokers or self._cluster.broker_ids:
            await_that(lambda broker=broker: not self.ailments(broker), f"broker {broker} says all is well")  # type: ignore[misc]

    def ailments(self, broker: int) -> list[str]:
        """Returns the problems that this broker sees."""
        answer = self.ask(broker, MetadataRequest(topics=None), 12)
        if answer is None:
            return [f"broker {broker} does not answer"]
        missing = set(self._cluster.broker_ids) - {each.node_id for each in answer.brokers}
        found = [f"broker {each} is not there" for each in sorted(missing)]
        for topic in answer.topics:
            for each in topic.partitions:
                is_well = each.error_code == ErrorCode.NONE and set(each.isr_nodes) == set(each.replica_nodes)
                if not is_well or each.leader_id < 0:
                    found.append(f"{topic.name}-{each.partition_index}: {each}")
        return found
