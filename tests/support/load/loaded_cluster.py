"""A cluster of processes with stock clients at work, and what must be true of it whatever happens to its brokers."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from types import TracebackType

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

__all__ = ["OFFSETS", "PARTITIONS", "SESSION_TIMEOUT_S", "LoadedCluster"]

OFFSETS = "__consumer_offsets"
PARTITIONS = 3
"""Of each topic that clients write to, the offsets' too."""
SESSION_TIMEOUT_S = 6
SOME = 20
"""Steps, of a producer that some partition keeps waiting."""

SETTINGS = {
    "zookeeper.session.timeout.ms": str(SESSION_TIMEOUT_S * 1000),
    "replica.lag.time.max.ms": "5000",
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


class LoadedCluster:
    """``zookeeper``: where its tree is to be. Everything lies under ``directory``, and stays there.

    Attributes:
        away: brokers of which nothing is expected just now.
        serving: those of them that clients reach all the same.
        shared: topics that others led as well when that began.
        cuts: brokers, two and two, between which nothing arrives.
        has_zookeeper: whether brokers reach it.
        moved: topics of which partitions were moved.
    """

    def __init__(
        self, directory: Path, zookeeper: str, seed: int, brokers: int = 3, settings: Mapping[str, str] | None = None
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
            for broker in self.cluster.broker_ids:  # data are of no use any more: no need to stop cleanly
                self.cluster.kill(broker)
            self.cluster.__exit__(kind, error, trace)

    # -- the load

    def begin_load(self, enough_in_sync: int = 1) -> None:
        """New topics, new clients. Two of three replicas must be in sync to write to ``clients.events``, and
        ``enough_in_sync`` to write to ``clients.lonely``."""
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
        """Everything is checked, and the topics go."""
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
        # Files of a partition that was moved away from a broker that was down stay there, as Kafka's do.
        without_files = (due | self.clients.topics.gone) - self.moved
        request = DeleteTopicsRequest(topic_names=sorted(due), timeout_ms=5000)

        def left() -> set[str]:
            self.view.ask_controller(request, 3)
            left = {topic.name or "" for topic in self.view.metadata().topics} & due
            return left | (self._partitions_on_disk() & without_files)

        await_answer(left, lambda left: not left, "topics that are deleted are gone, and their files")

    def _partitions_on_disk(self) -> set[str]:
        """Topics of which some broker has files."""
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
        """While this lasts, nothing is expected of them."""
        self.away.update(brokers)
        yield
        self.away.difference_update(brokers)

    @contextmanager
    def without_but_serving(self, broker: int) -> Iterator[None]:
        """It is away, and clients reach it."""
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
        """It may be healed earlier."""
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
        """Until all clients have worked on, whatever is away just now, in every partition and by what they began only
        now; but topics need all brokers, and ZooKeeper.

        Where something stands still by right there need be no progress. On a busy machine that may be so where it is
        not meant to: a broker may have been the last of an ISR when it went away.
        """
        if self.serving:
            self._await_progress_beside_who_serves()
            return
        self.await_progress_of(*self.clients.producers)
        self.await_progress_of_group()
        if not self.away and self.has_zookeeper:
            self.await_progress_of(self.clients.topics)

    def await_progress_of_group(self, unless: Callable[[], bool] = lambda: False) -> None:
        """Also of each of its members, and of who commits without being one."""
        self._await(self.clients.group_goes_on(), "the group goes on in each partition", unless)
        self.await_progress_of(*self.clients.committers, unless=unless)

    def await_progress_of(self, *loads: CrashLoad, more: int = 3, unless: Callable[[], bool] = lambda: False) -> None:
        for load, is_further in [(load, load.further(more)) for load in loads]:
            self._await(is_further, f"{type(load).__name__} goes on after step {load.steps}", unless)

    def _await_progress_beside_who_serves(self) -> None:
        """In whatever partition, while a broker that is not registered any more still answers clients.

        librdkafka asks who leads what that broker has led of the one to which it sent something last. That may be this
        very broker, again and again, unless others have work for it.
        """
        if self.away != self.serving or self.cuts:
            return
        for load, wanted in [(load, load.steps + SOME) for load in self.clients.producers if load.topic in self.shared]:
            self._await(partial(_has_come_to, load, wanted), f"{type(load).__name__} comes to {wanted}", lambda: False)

    def await_progress_of_lonely(self) -> None:
        """Where one replica in sync is enough, it takes no other topic's partitions."""
        if self.serving:
            return
        to_lonely = self.clients.to_lonely
        is_further = to_lonely.further(3)
        self._await(is_further, f"it goes on after step {to_lonely.steps}", lambda: False, [self.clients.lonely])

    def _await(
        self, condition: Callable[[], bool], what: str, unless: Callable[[], bool], topics: Collection[str] = ()
    ) -> None:
        """It need not come true any more when a client has failed, which fails the test, or may stand still at one of
        ``topics``, or at any when none is named."""
        await_that(lambda: condition() or bool(self.clients.failures) or self._may_rest(topics) or unless(), what)
        assert not self.clients.failures, self.clients.failures

    # -- what may stand still

    def is_hampered(self) -> bool:
        """Whether there may be somebody who cannot be told who leads, nor have another ISR: without ZooKeeper that is
        everybody, and who is cut off from the controller, which may have become another one."""
        return not self.has_zookeeper or self._metadata().controller_id in self.cut_ends

    def _may_rest(self, topics: Collection[str]) -> bool:
        """Whether a partition that clients need has nobody who might lead it, or too few replicas, or waits for
        somebody who cannot be taken out of its ISR now."""
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
        """From somebody who hears of everything, if there is such a broker."""
        informed = [broker for broker in self.present if broker not in self.cut_ends]
        return self.view.metadata(informed[0] if informed else None)

    def await_missed(self, broker: int) -> None:
        """Until the others know that its session ended, those that can hear of it."""
        if not self.has_zookeeper:
            return
        for other in self.present:
            if other != broker and other not in self.cut_ends:
                known_to = partial(self.view.brokers_known_to, other)
                await_answer(known_to, lambda known: broker not in known, f"broker {other} misses broker {broker}")

    def is_out_of_all_isrs(self, broker: int) -> bool:
        """Waits until it is, or is the last of one, which it stays."""

        def find() -> list[set[int]]:
            return [isr for _, isr in self.view.isrs() if broker in isr]

        found = await_answer(find, lambda found: not found or {broker} in found, f"no ISR has broker {broker} in it")
        return not found

    def are_apart(self, one: int, other: int) -> bool:
        """Whether no partition that one of them leads has the other in sync; of those that are written to, for others
        have nothing that it could lack."""
        return not any(
            each.leader_id in (one, other) and {one, other} <= set(each.isr_nodes)
            for topic in self._metadata().topics
            for each in topic.partitions
            if topic.name == self.clients.events
        )

    def isr_in(self, metadata: MetadataResponse, topic: str, partition: int) -> list[int]:
        """Of a partition that is in there."""
        (isr,) = (
            each.isr_nodes
            for found in metadata.topics
            for each in found.partitions
            if (found.name, each.partition_index) == (topic, partition)
        )
        return isr

    def registrations(self) -> dict[str, int]:
        """Of the controller and of each broker the transaction id at which its node was made."""
        with client_of(self.cluster.zookeeper) as client:
            nodes = ["/controller", *(f"/brokers/ids/{broker}" for broker in self.cluster.broker_ids)]
            return {node: stat.czxid for node in nodes if (stat := client.exists(node)) is not None}

    def log_since(self, broker: int, size: int) -> str:
        """What it has said since its log had so many bytes."""
        return self.cluster.log_file(broker).read_bytes()[size:].decode(errors="replace")

    def log_directories(self, broker: int) -> list[Path]:
        """Those that are there."""
        return sorted(self.cluster.data_directory(broker).parent.glob("data-*"))

    # -- what must be true

    def check_health(self) -> None:
        """All is well again, and nothing that was committed is forgotten."""
        self.await_progress()
        self.view.await_health()
        self.clients.check_commits()
        self._check_output()

    def _check_replicas(self) -> None:
        """The same bytes everywhere; once more, where something was still on its way."""
        for topic in self.view.metadata().topics:
            for partition in topic.partitions:
                name, replicas = f"{topic.name}-{partition.partition_index}", partition.replica_nodes
                await_that(partial(self._are_equal, name, replicas), f"the replicas of {name} are equal")

    def _sequences(self) -> Iterator[str]:
        """Where sequences of idempotent producers begin, for whoever looks for the reason of what is wrong."""
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
        """All batches, whatever the segments in which they lie."""
        directories = [directory / partition for directory in self.log_directories(broker)]
        files = sorted(file for directory in directories for file in directory.glob("*.log"))
        return b"".join(file.read_bytes() for file in files)

    def _check_output(self) -> None:
        """No broker has met what nobody expected."""
        for broker in self.cluster.broker_ids:
            text = self.cluster.log_file(broker).read_text(errors="replace")
            for words in ("Traceback", "the broker cannot go on"):
                place = text.find(words)
                assert place < 0, f"broker {broker}: …{text[max(place - 1000, 0) : place + 4000]}…"


def _two_log_directories(directory: Path) -> str:
    return ",".join(str(directory / "broker-{id}" / f"data-{number}") for number in (1, 2))


def _has_come_to(load: CrashLoad, steps: int) -> bool:
    return load.steps >= steps
