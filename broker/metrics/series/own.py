"""Series that only pybroker has."""

from .rows import rows_of
from .series import Spelling

counter, gauge, _, histogram = rows_of(Spelling.OWN)

_GROUPS = "group coordinator"
_PORT = "/metrics"

# The rows form a table; the formatter would put each argument on a line of its own.
# fmt: off
SERIES = (
    gauge("pybroker_build_info", "Version of pybroker and of the Kafka that it follows, always 1.", "package",
          "version", "kafka_version", "python_version"),
    gauge("pybroker_ready", "1 if /readyz says that the broker is ready.", "/readyz"),
    histogram("pybroker_request_duration_seconds", "Time of a request until its response is sent, by API.",
              "requests", "request", "le"),
    gauge("pybroker_loop_stall_seconds",
          "Longest time since the last scrape in which the event loop did not turn, at most 2 ms too short. Short "
          "stalls of an idle loop may be missing.", "event loop"),
    gauge("pybroker_group_verdict",
          "1 for the present verdict: ok, catching up, falling behind, stalled, stopped, rewound.",
          _GROUPS, "group", "verdict"),
    counter("pybroker_group_rebalances_total", "Rebalances of a group by reason.", _GROUPS, "group", "reason"),
    gauge("pybroker_group_seconds_to_catch_up", "Time until the group has read all, at its present pace.",
          _GROUPS, "group"),
    gauge("pybroker_group_offset_lost", "1 if records behind the committed offset were deleted before they were read.",
          _GROUPS, "group", "topic", "partition"),
    gauge("pybroker_log_directory_free_bytes", "Free space of the file system of a log directory.",
          "log directories", "directory"),
    gauge("pybroker_log_directory_size_bytes", "Size of the logs of a log directory.", "log directories", "directory"),
    counter("pybroker_refused_total", "Connections, logins and requests refused, by offence: tls-… at the handshake, "
            "http-… at the HTTP endpoint.", "network", "offence"),
    gauge("pybroker_certificate_end_seconds", "Unix time at which the first certificate of a listener's chain ends.",
          "TLS", "listener"),
    gauge("pybroker_recovery_progress_ratio", "Part of the logs that the start has loaded, 0 to 1.", "log loader"),
    gauge("pybroker_metrics_dropped_series", "Series that this scrape left out: pybroker.metrics.max.series.", _PORT),
    gauge("pybroker_metrics_failed_sources", "Sources of series that this scrape could not read: see the log.", _PORT),
)
