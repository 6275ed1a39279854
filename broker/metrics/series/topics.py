"""Traffic by topic: Kafka's BrokerTopicMetrics, each as the broker's total and, with a label, of each topic."""

from .rows import rows_of
from .series import Spelling

counter, _, _, _ = rows_of(Spelling.JMX)

_MBEAN = "kafka.server:type=BrokerTopicMetrics,name"

# The rows form a table; the formatter would put each argument on a line of its own.
# fmt: off
SERIES = (
    counter("kafka_server_brokertopicmetrics_messagesin_total",
            "Records that producers appended.",
            f"{_MBEAN}=MessagesInPerSec", "topic"),
    counter("kafka_server_brokertopicmetrics_bytesin_total",
            "Bytes of batches that producers appended.",
            f"{_MBEAN}=BytesInPerSec", "topic"),
    counter("kafka_server_brokertopicmetrics_bytesout_total",
            "Bytes of batches sent to consumers.",
            f"{_MBEAN}=BytesOutPerSec", "topic"),
    counter("kafka_server_brokertopicmetrics_bytesrejected_total",
            "Bytes of batches refused because they were too large.",
            f"{_MBEAN}=BytesRejectedPerSec", "topic"),
    counter("kafka_server_brokertopicmetrics_totalproducerequests_total",
            "Appends to partitions that producers asked for.",
            f"{_MBEAN}=TotalProduceRequestsPerSec", "topic"),
    counter("kafka_server_brokertopicmetrics_totalfetchrequests_total",
            "Reads of partitions that consumers and followers asked for.",
            f"{_MBEAN}=TotalFetchRequestsPerSec", "topic"),
    counter("kafka_server_brokertopicmetrics_failedproducerequests_total",
            "Appends to partitions that failed.",
            f"{_MBEAN}=FailedProduceRequestsPerSec", "topic"),
    counter("kafka_server_brokertopicmetrics_failedfetchrequests_total",
            "Reads of partitions that failed.",
            f"{_MBEAN}=FailedFetchRequestsPerSec", "topic"),
    counter("kafka_server_brokertopicmetrics_producemessageconversions_total",
            "Records converted to another format or codec at an append.",
            f"{_MBEAN}=ProduceMessageConversionsPerSec", "topic"),
    counter("kafka_server_brokertopicmetrics_fetchmessageconversions_total",
            "Records converted to an older format for a consumer.",
            f"{_MBEAN}=FetchMessageConversionsPerSec", "topic"),
    counter("kafka_server_brokertopicmetrics_invalidmagicnumberrecords_total",
            "Batches refused for an unknown format.",
            f"{_MBEAN}=InvalidMagicNumberRecordsPerSec"),
    counter("kafka_server_brokertopicmetrics_invalidmessagecrcrecords_total",
            "Batches refused for a wrong checksum.",
            f"{_MBEAN}=InvalidMessageCrcRecordsPerSec"),
    counter("kafka_server_brokertopicmetrics_invalidoffsetorsequencerecords_total",
            "Batches refused for wrong offsets or sequence numbers.",
            f"{_MBEAN}=InvalidOffsetOrSequenceRecordsPerSec"),
    counter("kafka_server_brokertopicmetrics_nokeycompactedtopicrecords_total",
            "Records without a key refused by compacted topics.",
            f"{_MBEAN}=NoKeyCompactedTopicRecordsPerSec"),
    counter("kafka_server_brokertopicmetrics_replicationbytesin_total",
            "Bytes that followers here fetched from leaders.",
            f"{_MBEAN}=ReplicationBytesInPerSec"),
    counter("kafka_server_brokertopicmetrics_replicationbytesout_total",
            "Bytes that leaders here sent to followers.",
            f"{_MBEAN}=ReplicationBytesOutPerSec"),
    counter("kafka_server_brokertopicmetrics_reassignmentbytesin_total",
            "Bytes that replicas added by a reassignment fetched.",
            f"{_MBEAN}=ReassignmentBytesInPerSec"),
    counter("kafka_server_brokertopicmetrics_reassignmentbytesout_total",
            "Bytes sent to replicas added by a reassignment.",
            f"{_MBEAN}=ReassignmentBytesOutPerSec"),
)
