"""Carries to the target what is no record: topics without records, ACLs, and offsets of consumer groups."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ...client.target_cluster import TargetCluster
from ..options.kafka_settings import ReaderSettings
from ..options.read_options import ReadOptions
from ..options.subscription import reads_topic
from ..topics.source_offsets import SourceOffsets
from .group_offsets import carry_group
from .topic_rules import carry_acls, check_copies, make_topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)

_EVERY_S = 60.0


class Carried(NamedTuple):
    """The groups whose offsets are carried to the target too, and whether ACLs of topics are."""

    groups: Sequence[str] = ()
    acls: bool = False


class Carrier:
    """Carries once a minute, between micro-batches. A failure is logged and does not stop the query."""

    def __init__(
        self,
        spark: SparkSession,
        source: ReadOptions,
        target: ReaderSettings,
        offset_map: str,
        prefix: str,
        carried: Carried,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock` returns seconds."""
        self._spark = spark
        self._source = source
        self._target = target
        self._map = offset_map
        self._prefix = prefix
        self._carried = carried
        self._clock = clock
        self._next_s = clock()
        self._busy = threading.Lock()

    @contextmanager
    def micro_batch(self) -> Iterator[None]:
        """Within this context a micro-batch is written, and its end carries what is due."""
        with self._busy:
            yield
            if self._clock() >= self._next_s:
                self._carry()

    def carry_if_idle(self) -> None:
        """Carries what is due, unless a micro-batch is being written. Cheap if nothing is."""
        if self._clock() >= self._next_s and self._busy.acquire(blocking=False):
            try:
                self._carry()
            finally:
                self._busy.release()

    def carry(self) -> None:
        """Carries everything now."""
        with self._busy:
            self._carry()

    def make_topics(self, topics: Collection[str], *, acls_of: Collection[str]) -> None:
        """Creates what the target lacks of topics, and the ACLs of some of them. Raises KafkaError, OSError."""
        with TargetCluster(self._source.settings) as source, TargetCluster(self._target) as target:
            make_topics(source, target, topics, self._prefix)
        if acls_of and self._carried.acls:
            carry_acls(self._source.settings, self._target, acls_of, self._prefix)

    def _carry(self) -> None:
        self._next_s = self._clock() + _EVERY_S
        self._try("Topics", self._carry_topics)
        is_mirrored = partial(reads_topic, self._source.subscription)
        name = self._prefix.__add__
        for group in self._carried.groups:
            carry = partial(carry_group, self._spark, self._map, group, self._source.settings, self._target)
            self._try(f"Offsets of group {group}", partial(carry, name, is_mirrored))

    def _carry_topics(self) -> None:
        with SourceOffsets(self._source) as offsets:
            topics = sorted({at.topic for at in offsets.partitions()})
        with TargetCluster(self._source.settings) as source, TargetCluster(self._target) as target:
            is_one_cluster = source.cluster_id() == target.cluster_id()
        if is_one_cluster:
            check_copies(self._source.subscription, topics, self._prefix)
        self.make_topics(topics, acls_of=topics)

    def _try(self, what: str, action: Callable[[], object]) -> None:
        try:
            action()
        except Exception as error:  # Spark's errors have no common class
            lines = str(error).strip().splitlines() or [type(error).__name__]
            logger.warning("%s not carried to the target: %s", what, lines[0])
