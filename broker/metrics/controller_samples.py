"""Samples of the controller: Kafka's KafkaController. A broker that is not the controller gives zeros, as in Kafka."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from ...base.topic_partition import TopicPartition
from ...controller.context import ControllerContext
from ...controller.controller import Controller
from ..metadata.metadata_cache import MetadataCache
from .durations import add_durations
from .labels import labels
from .registry import Pace, Registry, Sample
from .series.table import series_named

__all__ = ["ControllerSamples"]

_PARTITIONS_BETWEEN_PACES = 16


class ControllerSamples:
    """The walk over all partitions of the cluster, which only the controller makes.

    ``listener``: the listener whose addresses `kafka_broker_info` shows. ``now_s``: a monotonic clock.
    """

    def __init__(
        self,
        registry: Registry,
        controller: Controller,
        cache: MetadataCache,
        listener: str,
        now_s: Callable[[], float],
    ) -> None:
        self._controller = controller
        self._cache = cache
        self._listener = listener
        self._leaderless = 0
        self._led_elsewhere = 0
        registry.add_walk(self)
        values: dict[str, Callable[[], float]] = {
            "kafka_controller_kafkacontroller_activecontrollercount": lambda: int(controller.is_active),
            "kafka_controller_kafkacontroller_offlinepartitionscount": lambda: self._leaderless,
            "kafka_controller_kafkacontroller_preferredreplicaimbalancecount": lambda: self._led_elsewhere,
            "kafka_controller_controllereventmanager_eventqueuesize": lambda: controller.waiting_events,
            "kafka_controller_controllerstats_uncleanleaderelections_total": lambda: controller.unclean_elections,
        }
        for name, value in values.items():
            registry.add_value(series_named(name), value)
        for name, number in _NUMBERS.items():
            registry.add_value(series_named(name), partial(self._if_active, number))
        times = controller.times
        add_durations(registry, "kafka_controller_controllereventmanager_eventqueuetimems", times.waiting, now_s)
        add_durations(registry, "kafka_controller_controllerstats_leaderelectionrateandtimems", times.elections, now_s)
        add_durations(
            registry, "kafka_controller_controllerstats_topicdeletionrateandtimems", times.topic_deletions, now_s
        )
        registry.add(series_named("kafka_brokers"), self._brokers)
        registry.add(series_named("kafka_broker_info"), self._broker_info)

    async def collect(self, pace: Pace) -> None:
        leaderless = led_elsewhere = number = 0
        context = self._controller.context
        for topic in context.topics if self._controller.is_active else ():
            if context.is_queued_for_deletion(topic):
                continue
            for index, assignment in context.topic_assignments(topic).items():
                partition = TopicPartition(topic, index)
                leadership = context.leadership(partition)
                if leadership is not None:
                    leader = leadership.leader_and_isr.leader
                    leaderless += not context.is_replica_online(leader, partition, include_shutting_down=True)
                    led_elsewhere += assignment.replicas[:1] != (leader,)
                number += 1
                if not number % _PARTITIONS_BETWEEN_PACES:
                    await pace()
        self._leaderless, self._led_elsewhere = leaderless, led_elsewhere

    def release(self) -> list[list[Any]]:
        """The walk keeps two numbers only."""
        return []

    def _if_active(self, number: Callable[[ControllerContext], int]) -> int:
        return number(self._controller.context) if self._controller.is_active else 0

    def _brokers(self) -> Iterator[Sample]:
        if self._controller.is_active:
            yield "", len(self._cache.broker_ids)

    def _broker_info(self) -> Iterator[Sample]:
        for endpoint in self._cache.endpoints(self._listener) if self._controller.is_active else ():
            yield labels(id=endpoint.node_id, address=f"{endpoint.host}:{endpoint.port}"), 1


_NUMBERS: Mapping[str, Callable[[ControllerContext], int]] = {
    "kafka_controller_kafkacontroller_globaltopiccount": lambda context: context.topic_count,
    "kafka_controller_kafkacontroller_globalpartitioncount": lambda context: context.partition_count,
    "kafka_controller_kafkacontroller_topicstodeletecount": lambda context: len(context.topics_to_delete),
    "kafka_controller_kafkacontroller_topicsineligibletodeletecount": lambda context: len(
        context.topics_ineligible_for_deletion
    ),
    "kafka_controller_kafkacontroller_activebrokercount": lambda context: len(context.live_or_shutting_down_ids),
    "kafka_controller_kafkacontroller_fencedbrokercount": lambda context: 0,  # with ZooKeeper no broker is fenced
}
