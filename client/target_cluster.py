"""A blocking client of a cluster for writers: settings and partitions of topics, ends of logs, producer ids."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from ..base.topic_partition import TopicPartition
from ..protocol.errors import ErrorCode, error_for
from ..protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from ..protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from ..protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from ..protocol.messages.init_producer_id import InitProducerIdRequest
from ..protocol.messages.metadata import MetadataRequest
from ..protocol.sentinels import LATEST
from .cluster import Cluster
from .response_error import response_error

_TOPIC = 2
_OF_THE_TOPIC = 1
"""Kafka's ConfigSource.DYNAMIC_TOPIC_CONFIG: a value that was set for the topic, not for brokers."""
_BROKERS_CHOICE = -1
_ADMIN_TIMEOUT_MS = 30_000
_DEBUGGING_REPLICA = -2
"""Kafka's name. With this replica id ListOffsets returns the log end offset instead of the high watermark."""
_LOOK_AGAIN_S = 0.05


class TargetCluster(Cluster):
    """Raises KafkaError, ConnectionError."""

    def cluster_id(self) -> str:
        """The cluster's id; empty if the broker has none."""
        return self._retried(lambda: self._ask_any(MetadataRequest(topics=[])).cluster_id or "")

    def new_producer_id(self) -> int:
        """A producer id that no other producer has."""

        def ask() -> int:
            answer = self._ask_any(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000))
            if answer.error_code:
                raise error_for(answer.error_code, f"no producer id: {error_for(answer.error_code)}")
            return int(answer.producer_id)

        return self._retried(ask)

    def high_watermark(self, at: TopicPartition) -> int:
        """The end of the committed records."""
        return self.offsets({at: LATEST})[at]

    def log_end_offset(self, at: TopicPartition) -> int:
        """The end of all records, committed or not."""
        return self.offsets({at: LATEST}, replica_id=_DEBUGGING_REPLICA)[at]

    def topic_settings(self, topics: Iterable[str], *, own: bool = False) -> dict[str, dict[str, str]]:
        """The settings of each topic that have a value. ``own``: only those that were set for the topic itself."""
        names = sorted(set(topics))
        resources = [
            DescribeConfigsResource(resource_type=_TOPIC, resource_name=name, configuration_keys=None) for name in names
        ]

        def ask() -> dict[str, dict[str, str]]:
            answer = self._ask_any(DescribeConfigsRequest(resources=resources))
            found = {}
            for result in answer.results:
                if result.error_code:
                    raise error_for(result.error_code, f"topic {result.resource_name}: {result.error_message}")
                known = [each for each in result.configs if not own or each.config_source == _OF_THE_TOPIC]
                found[result.resource_name] = {each.name: each.value for each in known if each.value is not None}
            return found

        return self._retried(ask) if names else {}

    def make_partitions(
        self,
        wanted: Mapping[str, int],
        settings_of: Callable[[list[str]], Mapping[str, Mapping[str, str]]] = lambda topics: {},
    ) -> None:
        """Create missing topics and add missing partitions; returns when all exist.

        ``settings_of`` returns the settings of missing topics.
        """
        settings: Mapping[str, Mapping[str, str]] | None = None
        while True:
            there = self._counts(wanted)
            if all(there[topic] >= count for topic, count in wanted.items()):
                return
            if settings is None:
                settings = settings_of([topic for topic in wanted if not there[topic]])
            make = partial(self._make, wanted, there, settings)
            self._retried(make)
            time.sleep(_LOOK_AGAIN_S)

    def _counts(self, topics: Iterable[str]) -> dict[str, int]:
        counts = dict.fromkeys(topics, 0)
        for at in self.partitions(counts):
            counts[at.topic] += 1
        return counts

    def _make(
        self, wanted: Mapping[str, int], there: Mapping[str, int], settings: Mapping[str, Mapping[str, str]]
    ) -> None:
        missing = {topic: count for topic, count in wanted.items() if not there[topic]}
        small = {topic: count for topic, count in wanted.items() if 0 < there[topic] < count}
        if missing:
            topics = [
                CreatableTopic(
                    name=topic,
                    num_partitions=count,
                    replication_factor=_BROKERS_CHOICE,
                    configs=[CreatableTopicConfig(name=n, value=value) for n, value in settings.get(topic, {}).items()],
                )
                for topic, count in missing.items()
            ]
            request = CreateTopicsRequest(topics=topics, timeout_ms=_ADMIN_TIMEOUT_MS)
            _check(self._ask_controller(request).topics, ErrorCode.TOPIC_ALREADY_EXISTS)
        if small:
            growing = [
                CreatePartitionsTopic(name=topic, count=count, assignments=None) for topic, count in small.items()
            ]
            grow = CreatePartitionsRequest(topics=growing, timeout_ms=_ADMIN_TIMEOUT_MS)
            # A repeated request, sent before all brokers know of the first, asks for partitions that exist.
            _check(self._ask_controller(grow).results, ErrorCode.INVALID_PARTITIONS)

    def _ask_controller(self, request: Any) -> Any:
        controller = self._ask_any(MetadataRequest(topics=[])).controller_id
        if controller not in self._addresses:
            raise error_for(ErrorCode.NOT_CONTROLLER, "the cluster has no controller")
        return self._connection(self._addresses[controller]).ask(request)


def _check(results: Iterable[Any], passed_over: ErrorCode) -> None:
    for result in results:
        if result.error_code not in (ErrorCode.NONE, passed_over):
            raise response_error(result, f"topic {result.name}")
