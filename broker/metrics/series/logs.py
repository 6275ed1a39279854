"""Logs and log directories: Kafka's Log, LogManager, LogFlushStats, LogCleaner and LogCleanerManager."""

from .rows import rows_of
from .series import Spelling

counter, gauge, summary, _ = rows_of(Spelling.JMX)

_LOG = "kafka.log:type=Log,topic=*,partition=*,name"
_MANAGER = "kafka.log:type=LogManager,name"
_CLEANER = "kafka.log:type=LogCleaner,name"
_CLEANER_MANAGER = "kafka.log:type=LogCleanerManager,name"

# The rows form a table; the formatter would put each argument on a line of its own.
# fmt: off
SERIES = (
    gauge("kafka_log_log_size", "Bytes of a log on this broker.",
          f"{_LOG}=Size", "topic", "partition"),
    gauge("kafka_log_log_logstartoffset", "First offset of a log on this broker.",
          f"{_LOG}=LogStartOffset", "topic", "partition"),
    gauge("kafka_log_log_logendoffset", "Offset behind the last record of a log on this broker.",
          f"{_LOG}=LogEndOffset", "topic", "partition"),
    gauge("kafka_log_log_numlogsegments", "Segments of a log on this broker.",
          f"{_LOG}=NumLogSegments", "topic", "partition"),
    gauge("kafka_log_logmanager_offlinelogdirectorycount", "Log directories that are offline.",
          f"{_MANAGER}=OfflineLogDirectoryCount"),
    gauge("kafka_log_logmanager_logdirectoryoffline", "1 if the log directory is offline.",
          f"{_MANAGER}=LogDirectoryOffline,logDirectory=*", "logDirectory"),
    gauge("kafka_log_logmanager_remaininglogstorecover", "Logs of a directory that are still to be loaded.",
          f"{_MANAGER}=remainingLogsToRecover,dir=*", "dir"),
    summary("kafka_log_logflushstats_logflushrateandtimems",
            "Time of a flush of a log to disk in the background, in ms.",
            "kafka.log:type=LogFlushStats,name=LogFlushRateAndTimeMs", "quantile"),
    gauge("kafka_log_logcleaner_max_clean_time_secs", "Duration of the last compaction, in seconds.",
          f"{_CLEANER}=max-clean-time-secs"),
    gauge("kafka_log_logcleanermanager_time_since_last_run_ms", "Time since the last look for logs to compact, in ms.",
          f"{_CLEANER_MANAGER}=time-since-last-run-ms"),
    gauge("kafka_log_logcleanermanager_max_dirty_percent", "Dirty part of the dirtiest log, in percent.",
          f"{_CLEANER_MANAGER}=max-dirty-percent"),
    gauge("kafka_log_logcleanermanager_uncleanable_partitions_count",
          "Logs that compaction gave up after an error.",
          f"{_CLEANER_MANAGER}=uncleanable-partitions-count,logDirectory=*", "logDirectory"),
)
