"""Replicas and partitions: Kafka's ReplicaManager, fetchers, Partition, purgatories and fetch sessions."""

from .rows import rows_of
from .series import Spelling

counter, gauge, _, _ = rows_of(Spelling.JMX)

_MANAGER = "kafka.server:type=ReplicaManager,name"
_FETCHERS = "kafka.server:type=ReplicaFetcherManager,name"
_PARTITION = "kafka.cluster:type=Partition,topic=*,partition=*,name"
_PURGATORY = "kafka.server:type=DelayedOperationPurgatory,delayedOperation=*,name"
_SESSIONS = "kafka.server:type=FetchSessionCache,name"

# The rows form a table; the formatter would put each argument on a line of its own.
# fmt: off
SERIES = (
    gauge("kafka_server_replicamanager_leadercount", "Partitions that this broker leads.",
          f"{_MANAGER}=LeaderCount"),
    gauge("kafka_server_replicamanager_partitioncount", "Partitions with a replica on this broker.",
          f"{_MANAGER}=PartitionCount"),
    gauge("kafka_server_replicamanager_offlinereplicacount", "Replicas here whose log directory is offline.",
          f"{_MANAGER}=OfflineReplicaCount"),
    gauge("kafka_server_replicamanager_underreplicatedpartitions",
          "Partitions led here with fewer replicas in sync than they have.",
          f"{_MANAGER}=UnderReplicatedPartitions"),
    gauge("kafka_server_replicamanager_underminisrpartitioncount",
          "Partitions led here with fewer replicas in sync than min.insync.replicas: acks=all is refused.",
          f"{_MANAGER}=UnderMinIsrPartitionCount"),
    gauge("kafka_server_replicamanager_atminisrpartitioncount",
          "Partitions led here with exactly min.insync.replicas replicas in sync.",
          f"{_MANAGER}=AtMinIsrPartitionCount"),
    gauge("kafka_server_replicamanager_reassigningpartitions", "Partitions led here that are being reassigned.",
          f"{_MANAGER}=ReassigningPartitions"),
    gauge("kafka_server_replicamanager_produceridcount", "Idempotent producers that the partitions here remember.",
          f"{_MANAGER}=ProducerIdCount"),
    counter("kafka_server_replicamanager_isrshrinks_total", "Times that a replica left the ISR of a partition.",
            f"{_MANAGER}=IsrShrinksPerSec"),
    counter("kafka_server_replicamanager_isrexpands_total", "Times that a replica joined the ISR of a partition.",
            f"{_MANAGER}=IsrExpandsPerSec"),
    counter("kafka_server_replicamanager_failedisrupdates_total", "Changes of an ISR that the controller refused.",
            f"{_MANAGER}=FailedIsrUpdatesPerSec"),
    gauge("kafka_server_replicafetchermanager_maxlag", "Most records by which a replica here is behind its leader.",
          f"{_FETCHERS}=MaxLag,clientId=Replica", "clientId"),
    gauge("kafka_server_replicafetchermanager_minfetchrate", "Fetches a second of the slowest fetcher.",
          f"{_FETCHERS}=MinFetchRate,clientId=Replica", "clientId"),
    gauge("kafka_server_replicafetchermanager_failedpartitionscount",
          "Partitions that a fetcher gave up after an error.",
          f"{_FETCHERS}=FailedPartitionsCount,clientId=Replica", "clientId"),
    gauge("kafka_server_fetcherlagmetrics_consumerlag", "Records by which a replica here is behind its leader.",
          "kafka.server:type=FetcherLagMetrics,name=ConsumerLag,clientId=*,topic=*,partition=*",
          "clientId", "topic", "partition"),
    gauge("kafka_cluster_partition_underreplicated", "1 if the ISR is smaller than the set of replicas.",
          f"{_PARTITION}=UnderReplicated", "topic", "partition"),
    gauge("kafka_cluster_partition_underminisr", "1 if the ISR is smaller than min.insync.replicas.",
          f"{_PARTITION}=UnderMinIsr", "topic", "partition"),
    gauge("kafka_cluster_partition_atminisr", "1 if the ISR has exactly min.insync.replicas members.",
          f"{_PARTITION}=AtMinIsr", "topic", "partition"),
    gauge("kafka_cluster_partition_insyncreplicascount", "Members of the ISR; the leader gives it.",
          f"{_PARTITION}=InSyncReplicasCount", "topic", "partition"),
    gauge("kafka_cluster_partition_replicascount",
          "Replicas, without those that a reassignment adds; the leader gives it.",
          f"{_PARTITION}=ReplicasCount", "topic", "partition"),
    gauge("kafka_cluster_partition_laststableoffsetlag",
          "Records between the last stable offset and the high watermark: open transactions hold them back.",
          f"{_PARTITION}=LastStableOffsetLag", "topic", "partition"),
    gauge("kafka_server_delayedoperationpurgatory_purgatorysize", "Requests that wait for an event.",
          f"{_PURGATORY}=PurgatorySize", "delayedOperation"),
    gauge("kafka_server_delayedoperationpurgatory_numdelayedoperations", "Requests with a deadline that wait.",
          f"{_PURGATORY}=NumDelayedOperations", "delayedOperation"),
    gauge("kafka_server_fetchsessioncache_numincrementalfetchsessions", "Fetch sessions.",
          f"{_SESSIONS}=NumIncrementalFetchSessions"),
    gauge("kafka_server_fetchsessioncache_numincrementalfetchpartitionscached", "Partitions of all fetch sessions.",
          f"{_SESSIONS}=NumIncrementalFetchPartitionsCached"),
    counter("kafka_server_fetchsessioncache_incrementalfetchsessionevictions_total",
            "Fetch sessions that ended to make room for others.",
            f"{_SESSIONS}=IncrementalFetchSessionEvictionsPerSec"),
)
