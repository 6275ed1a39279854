"""A cluster with stock clients, and checks that must hold whatever happens to its brokers."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Protocol

from pybroker.broker.library.cluster.blocking_cluster import BlockingCluster
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from pybroker.protocol.messages.delete_topics import DeleteTopicsRequest
from pybroker.protocol.messages.metadata import MetadataResponse, MetadataResponsePartition
from pybroker.protocol.records.batch import iter_batches
from support.clients.cluster_clients import ClusterClients
from support.load.cluster_view import ClusterView
from support.load.crash_load import CrashLoad
from support.processes.zookeeper_tree import client_of
from support.time.patience import await_answer, await_that

__all__ = ["OFFSETS", "PARTITIONS", "SESSION_TIMEOUT_S", "LoadedCluster", "OwnZooKeeper", "StoppableZooKeeper"]

OFFSETS = "__consumer_offsets"
PARTITIONS = 3
"""Partitions of each topic of the clients, and of the offsets topic."""
SESSION_TIMEOUT_S = 4
SOME = 20
"""Steps that count as progress of a producer with a blocked partition."""

SETTINGS = {
    "zookeeper.session.timeout.ms": str(SESSION_TIMEOUT_S * 1000),
    "replica.lag.time.max.ms": "3000",
    "replica.fetch.wait.max.ms": "100",
    "replica.fetch.backoff.ms": "100",
    "controller.socket.timeout.ms": "5000",
    "replica.socket.timeout.ms": "5000",
    "offsets.topic.num.partitions": str(PARTITIONS),
    "log.segment.bytes": "200000",
    "log.index.interval.bytes": "1024",
    "log.segment.delete.delay.ms": "1000",
    "log.flush.offset.checkpoint.interval.ms": "500",
    "replica.high.watermark.checkpoint.interval.ms": "500",
    "leader.imbalance.check.interval.seconds": "5",
    "auto.create.topics.enable": "false",
}


class StoppableZooKeeper(Protocol):
    """A ZooKeeper that faults kill and start again."""

    def kill(self) -> object: ...

    def start(self) -> object: ...


class OwnZooKeeper:
    """The metadata store in memory of a cluster."""

    def __init__(self, cluster: BlockingCluster) -> None:
        self._cluster = cluster

    def kill(self) -> None:
        self._cluster.kill("zookeeper")

    def start(self) -> None:
        self._cluster.start("zookeeper")


class LoadedCluster:
    """A cluster with clients. `zookeeper`: `zookeeper.connect` of its tree, for brokers in processes; None: brokers on
    threads, with a metadata store in memory. All files are below `directory` and stay there.

    Attributes:
        away: brokers from which nothing is expected now.
        serving: brokers of `away` that clients still reach.
        shared: topics of which other brokers had replicas too when that began.
        cuts: pairs of brokers that can't reach each other.
        has_zookeeper: whether brokers reach ZooKeeper.
        moved: topics with reassigned partitions.
    """

    def __init__(
        self,
        directory: Path,
        zookeeper: str | None,
        seed: int,
        brokers: int = 3,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.random = Random(seed)
        self.cluster = BlockingCluster(
            brokers,
            {**SETTINGS, "log.dirs": _two_log_directories(directory), **(settings or {})},
            directory=directory,
            zookeeper=zookeeper,
        )
        self.away: set[int] = set()
        self.serving: set[int] = set()
        self.shared: set[str] = set()
        self.cuts: set[frozenset[int]] = set()
        self.has_zookeeper = True
        self.moved: set[str] = set()
        self.view = ClusterView(self.cluster, self.away)
        self.clients: ClusterClients
        self.enough_in_sync = 0
        self._loads = 0
        self._has_clients = False

    def __enter__(self) -> "LoadedCluster":
        self.cluster.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._has_clients:
                self.clients.give_up()
        finally:
            for broker in self.cluster.broker_ids:  # the data is no longer needed, so a kill is enough
                self.cluster.kill(broker)
            self.cluster.__exit__(kind, error, trace)

    # -- the load

    def begin_load(self, enough_in_sync: int = 1) -> None:
        """Creates new topics and clients. Writing to `clients.events` needs two of three replicas in sync, to
        `clients.lonely` `enough_in_sync`.
        """
        self.enough_in_sync = enough_in_sync
        self._loads += 1
        events, lonely = f"events-{self._loads}", f"lonely-{self._loads}"
        self._create_topic(events, 2)
        self._create_topic(lonely, enough_in_sync)
        random = Random(self.random.random())
        self.clients = ClusterClients(self.cluster.bootstrap_servers, self.view, events, lonely, PARTITIONS, random)
        self._has_clients = True
        self.clients.start()
        self.await_progress()

    def _create_topic(self, name: str, min_insync_replicas: int) -> None:
        configs = [CreatableTopicConfig(name="min.insync.replicas", value=str(min_insync_replicas))]
        topic = CreatableTopic(name=name, num_partitions=PARTITIONS, replication_factor=3, configs=configs)
        request = CreateTopicsRequest(topics=[topic], timeout_ms=5000)

        def is_there() -> bool:
            answer = self.view.ask_controller(request, 5)
            return answer is not None and answer.topics[0].error_code in (
                ErrorCode.NONE,
                ErrorCode.TOPIC_ALREADY_EXISTS,
            )

        await_that(is_there, f"{name} is made")

    def end_load(self) -> None:
        """Stops the clients, checks everything and deletes the topics."""
        self.clients.stop()
        assert not self.clients.failures, self.clients.failures
        self.view.await_health()
        try:
            self.clients.check_all()
        except AssertionError as error:
            error.add_note("\n".join(self._sequences()))
            raise
        self._check_replicas()
        self._check_output()
        self._delete_topics()

    def _delete_topics(self) -> None:
        due = {topic.name or "" for topic in self.view.metadata().topics if not (topic.name or "").startswith("__")}
        # A broker that was down during a reassignment keeps the files of the partition, as in Kafka.
        without_files = (due | self.clients.topics.gone) - self.moved
        request = DeleteTopicsRequest(topic_names=sorted(due), timeout_ms=5000)

        def left() -> set[str]:
            self.view.ask_controller(request, 3)
            left = {topic.name or "" for topic in self.view.metadata().topics} & due
            return left | (self._partitions_on_disk() & without_files)

        await_answer(left, lambda left: not left, "topics that are deleted are gone, and their files")

    def _partitions_on_disk(self) -> set[str]:
        """Returns the topics of which a broker has files."""
        logs = (
            path for broker in self.cluster.broker_ids for at in self.log_directories(broker) for path in at.iterdir()
        )
        return {path.name.rpartition("-")[0] for path in logs}

    # -- waiting

    @property
    def present(self) -> list[int]:
        """Brokers that are not away."""
        return [broker for broker in self.cluster.broker_ids if broker not in self.away]

    @property
    def cut_ends(self) -> set[int]:
        return {broker for cut in self.cuts for broker in cut}

    @contextmanager
    def without(self, *brokers: int) -> Iterator[None]:
        """In this context nothing is expected of these brokers."""
        self.away.update(brokers)
        yield
        self.away.difference_update(brokers)

    @contextmanager
    def without_but_serving(self, broker: int) -> Iterator[None]:
        """In this context the broker is away, but clients reach it."""
        self.shared = {
            topic.name or ""
            for topic in self._metadata().topics
            if any(each.leader_id not in self.away | {broker} for each in topic.partitions)
        }
        with self.without(broker):
            self.serving.add(broker)
            yield
            self.serving.discard(broker)

    @contextmanager
    def cut(self, one: int, other: int) -> Iterator[None]:
        """Cuts brokers off from each other; the cut may be healed before the context ends."""
        self.cuts.add(frozenset((one, other)))
        self.cluster.cut(one, other)
        yield
        self.heal(one, other)

    def heal(self, one: int, other: int) -> None:
        self.cluster.heal(one, other)
        self.cuts.discard(frozenset((one, other)))

    @contextmanager
    def without_zookeeper(self) -> Iterator[None]:
        self.has_zookeeper = False
        yield
        self.has_zookeeper = True

    def await_progress(self) -> None:
        """Waits until all clients made progress by new requests in every partition, whoever is away. Topic changes need
        all brokers and ZooKeeper.

        No progress is required where none is possible, which may also happen unintended on a busy machine: a broker may
        have been the last of an ISR when it went away.
        """
        if self.serving:
            self._await_progress_beside_who_serves()
            return
        self.await_progress_of(*self.clients.producers)
        self.await_progress_of_group()
        if not self.away and self.has_zookeeper:
            self.await_progress_of(self.clients.topics)

    def await_progress_of_group(self, unless: Callable[[], bool] = lambda: False) -> None:
        """Waits for progress of the group, each of its members, and the committer that is not a member."""
        self._await(self.clients.group_goes_on(), "the group goes on in each partition", unless)
        self.await_progress_of(*self.clients.committers, unless=unless)

    def await_progress_of(self, *loads: CrashLoad, more: int = 3, unless: Callable[[], bool] = lambda: False) -> None:
        for load, is_further in [(load, load.further(more)) for load in loads]:
            self._await(is_further, f"{type(load).__name__} goes on after step {load.steps}", unless)

    def _await_progress_beside_who_serves(self) -> None:
        """Waits for progress in any partition while an unregistered broker still answers clients. librdkafka asks the
        broker to which it sent last for new leaders; that may be this very broker again and again, unless it has
        requests for others.
        """
        if self.away != self.serving or self.cuts:
            return
        for load, wanted in [(load, load.steps + SOME) for load in self.clients.producers if load.topic in self.shared]:
            self._await(partial(_has_come_to, load, wanted), f"{type(load).__name__} comes to {wanted}", lambda: False)

    def await_progress_of_lonely(self) -> None:
        """Waits for progress where one replica in sync is enough; no other topic's partitions count."""
        if self.serving:
            return
        to_lonely = self.clients.to_lonely
        is_further = to_lonely.further(3)
        self._await(is_further, f"it goes on after step {to_lonely.steps}", lambda: False, [self.clients.lonely])

    def _await(
        self, condition: Callable[[], bool], what: str, unless: Callable[[], bool], topics: Collection[str] = ()
    ) -> None:
        """Waits for the condition, unless a client failed (which fails the test) or may stand still at one of `topics`
        (or at any).
        """
        await_that(lambda: condition() or bool(self.clients.failures) or self._may_rest(topics) or unless(), what)
        assert not self.clients.failures, self.clients.failures

    # -- expected lack of progress

    def is_hampered(self) -> bool:
        """Returns whether a broker may not learn of new leaders or change an ISR: every broker without ZooKeeper, and
        one cut off from the controller.
        """
        return not self.has_zookeeper or self._metadata().controller_id in self.cut_ends

    def _may_rest(self, topics: Collection[str]) -> bool:
        """Returns whether a partition of the clients has no possible leader, too few replicas, or waits for a replica
        that can't be removed from its ISR now.
        """
        if not self.away and not self.cuts and self.has_zookeeper:
            return False
        metadata = self._metadata()
        if metadata.controller_id in self.cut_ends:
            return True
        needed = {self.clients.events: 2, self.clients.lonely: self.enough_in_sync, OFFSETS: 2}
        return any(
            self._partition_may_rest(each, needed[topic.name or ""])
            for topic in metadata.topics
            if (topic.name or "") in (topics or needed)
            for each in topic.partitions
        )

    def _partition_may_rest(self, partition: MetadataResponsePartition, needed: int) -> bool:
        replicas, isr = set(partition.replica_nodes), set(partition.isr_nodes)
        at_work = {each for each in replicas - self.away if {each, partition.leader_id} not in self.cuts}
        return isr <= self.away or len(at_work) < needed or (not self.has_zookeeper and not isr <= at_work)

    def _metadata(self) -> MetadataResponse:
        """Returns metadata from a broker that is up to date, if there is one."""
        informed = [broker for broker in self.present if broker not in self.cut_ends]
        return self.view.metadata(informed[0] if informed else None)

    def await_missed(self, broker: int) -> None:
        """Waits until the other brokers that can know it know that its session ended."""
        if not self.has_zookeeper:
            return
        for other in self.present:
            if other != broker and other not in self.cut_ends:
                known_to = partial(self.view.brokers_known_to, other)
                await_answer(known_to, lambda known: broker not in known, f"broker {other} misses broker {broker}")

    def is_out_of_all_isrs(self, broker: int) -> bool:
        """Waits until the broker is out of all ISRs; returns False if it is the last of one."""

        def find() -> list[set[int]]:
            return [isr for _, isr in self.view.isrs() if broker in isr]

        found = await_answer(find, lambda found: not found or {broker} in found, f"no ISR has broker {broker} in it")
        return not found

    def are_apart(self, one: int, other: int) -> bool:
        """Returns whether neither is in sync for a partition led by the other, among partitions that are written to."""
        return not any(
            each.leader_id in (one, other) and {one, other} <= set(each.isr_nodes)
            for topic in self._metadata().topics
            for each in topic.partitions
            if topic.name == self.clients.events
        )

    def isr_in(self, metadata: MetadataResponse, topic: str, partition: int) -> list[int]:
        """Returns the ISR of an existing partition."""
        (isr,) = (
            each.isr_nodes
            for found in metadata.topics
            for each in found.partitions
            if (found.name, each.partition_index) == (topic, partition)
        )
        return isr

    def registrations(self) -> dict[str, int]:
        """Returns the creation transaction ids of the nodes of the controller and of each broker."""
        with client_of(self.cluster.zookeeper) as client:
            nodes = ["/controller", *(f"/brokers/ids/{broker}" for broker in self.cluster.broker_ids)]
            return {node: stat.czxid for node in nodes if (stat := client.exists(node)) is not None}

    def log_since(self, broker: int, size: int) -> str:
        """Returns its log after this many bytes."""
        return self.cluster.log_file(broker).read_bytes()[size:].decode(errors="replace")

    def log_directories(self, broker: int) -> list[Path]:
        """Returns its existing log directories."""
        return sorted(self.cluster.data_directory(broker).parent.glob("data-*"))

    # -- checks

    def check_health(self) -> None:
        """Checks that all is healthy and no committed data is forgotten."""
        self.await_progress()
        self.view.await_health()
        self.clients.check_commits()
        self._check_output()

    def _check_replicas(self) -> None:
        """Checks that replicas have the same bytes; checks again if replication was in progress."""
        for topic in self.view.metadata().topics:
            for partition in topic.partitions:
                name, replicas = f"{topic.name}-{partition.partition_index}", partition.replica_nodes
                await_that(partial(self._are_equal, name, replicas), f"the replicas of {name} are equal")

    def _sequences(self) -> Iterator[str]:
        """Returns the starts of idempotent producers' sequences, to help find the reason of a failure."""
        for topic in (self.clients.events, self.clients.lonely):
            for partition in range(PARTITIONS):
                name, replicas = f"{topic}-{partition}", self.view.partition(topic, partition).replica_nodes
                expected: dict[tuple[int, int], int] = {}
                for batch in iter_batches(self._bytes_of(replicas[0], name)):
                    producer = batch.producer_id, batch.producer_epoch
                    if batch.producer_id >= 0 and batch.base_sequence != expected.get(producer):
                        yield f"{name}: {batch}"
                    expected[producer] = batch.base_sequence + batch.last_offset_delta + 1

    def _are_equal(self, partition: str, brokers: list[int]) -> bool:
        return len({self._bytes_of(broker, partition) for broker in brokers}) == 1

    def _bytes_of(self, broker: int, partition: str) -> bytes:
        """Returns all batches, independent of segments."""
        directories = [directory / partition for directory in self.log_directories(broker)]
        files = sorted(file for directory in directories for file in directory.glob("*.log"))
        return b"".join(file.read_bytes() for file in files)

    def _check_output(self) -> None:
        """Checks that no broker logged an unexpected error."""
        for broker in self.cluster.broker_ids:
            text = self.cluster.log_file(broker).read_text(errors="replace")
            for words in ("Traceback", "the broker cannot go on"):
                place = text.find(words)
                assert place < 0, f"broker {broker}: …{text[max(place - 1000, 0) : place + 4000]}…"


def _two_log_directories(directory: Path) -> str:
    return ",".join(str(directory / "broker-{id}" / f"data-{number}") for number in (1, 2))


def _has_come_to(load: CrashLoad, steps: int) -> bool:
    return load.steps >= steps
