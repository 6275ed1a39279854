"""The alerts for Prometheus."""

from dataclasses import dataclass

from monitoring_files.expressions import checked

__all__ = ["ALERTS", "Alert", "alerts_yaml"]

_HEAD = """\
# Written by scripts/monitoring from the table of series; a test compares the two.
groups:
  - name: pybroker
    rules:
"""


@dataclass(frozen=True, slots=True)
class Alert:
    """``lasts``: how long the expression must hold. ``text``: may contain Prometheus' templates. ``events``: the ids in
    docs/operator/events.md that tell more."""

    name: str
    expression: str
    lasts: str
    severity: str
    summary: str
    text: str
    events: tuple[str, ...]


ALERTS = (
    Alert(
        "KafkaNoController",
        "sum(kafka_controller_kafkacontroller_activecontrollercount) != 1",
        "1m",
        "critical",
        "The cluster has {{ $value }} controllers instead of one",
        "No leaders are elected and no topics are created. Check ZooKeeper and the logs of the brokers.",
        ("controller.elected", "zookeeper.no-session"),
    ),
    Alert(
        "KafkaOfflinePartitions",
        "sum(kafka_controller_kafkacontroller_offlinepartitionscount) > 0",
        "1m",
        "critical",
        "{{ $value }} partitions have no leader",
        "Clients can neither write nor read them. Start the brokers of their in-sync replicas.",
        ("controller.no-leader-elected",),
    ),
    Alert(
        "KafkaUnderMinIsr",
        "sum(kafka_server_replicamanager_underminisrpartitioncount) > 0",
        "1m",
        "critical",
        "{{ $value }} partitions have fewer in-sync replicas than min.insync.replicas",
        "Producers with acks=all are refused. Start the missing brokers or look for lagging followers.",
        ("replication.isr-change-proposed",),
    ),
    Alert(
        "KafkaUnderReplicated",
        "sum by (instance) (kafka_server_replicamanager_underreplicatedpartitions) > 0",
        "5m",
        "warning",
        "{{ $value }} partitions led by {{ $labels.instance }} lack a replica",
        "One more failure may stop writes or lose records. Look for a missing broker, a slow disk or a full network.",
        ("replication.isr-change-proposed", "replication.leader-unreachable"),
    ),
    Alert(
        "KafkaLogDirectoryOffline",
        "kafka_log_logmanager_offlinelogdirectorycount > 0",
        "0m",
        "critical",
        "{{ $labels.instance }} has lost {{ $value }} log directories",
        "Its replicas there are offline. Replace or repair the disk and restart the broker.",
        ("directory.offline",),
    ),
    Alert(
        "KafkaDiskFull",
        "pybroker_log_directory_free_bytes"
        " / (pybroker_log_directory_free_bytes + pybroker_log_directory_size_bytes) < 0.15",
        "5m",
        "warning",
        "{{ $labels.directory }} of {{ $labels.instance }} has {{ $value | humanizePercentage }} space left",
        "The share is that of the free space in it and in the logs. Shorten retention or move replicas.",
        ("directory.full",),
    ),
    Alert(
        "KafkaIsrFlapping",
        "sum by (instance) (increase(kafka_server_replicamanager_isrshrinks_total[15m])) > 10",
        "0m",
        "warning",
        "Replicas left the in-sync replicas of partitions of {{ $labels.instance }} {{ $value }} times in 15 minutes",
        "A follower cannot keep up: look for a slow disk, a full network or long pauses. See replica.lag.time.max.ms.",
        ("replication.isr-change-proposed",),
    ),
    Alert(
        "KafkaUncleanLeaderElection",
        "increase(kafka_controller_controllerstats_uncleanleaderelections_total[15m]) > 0",
        "0m",
        "critical",
        "{{ $value }} leaders were elected outside the in-sync replicas",
        "Acknowledged records may be lost. Find the partitions in the controller's log.",
        ("controller.leader-elected", "controller.unclean-election-allowed"),
    ),
    Alert(
        "KafkaGroupStopped",
        'max by (group) (pybroker_group_verdict{verdict="stopped"}) == 1',
        "5m",
        "warning",
        "Group {{ $labels.group }} has unread records and commits nothing",
        "Its consumers are gone or hang. The timeline of the group shows its last rebalance.",
        ("group.empty", "group.session-expired"),
    ),
    Alert(
        "KafkaGroupLag",
        "max by (group) (kafka_consumergroup_group_max_lag_seconds) > 300",
        "5m",
        "warning",
        "Group {{ $labels.group }} is {{ $value | humanizeDuration }} behind",
        "Change the 300 seconds to what your service promises. Add consumers or find the slow one.",
        ("group.rebalance-started",),
    ),
    Alert(
        "KafkaLoopStall",
        "max by (instance) (pybroker_loop_stall_seconds) > 0.5",
        "2m",
        "warning",
        "The event loop of {{ $labels.instance }} stood still for {{ $value | humanizeDuration }}",
        "All clients of the broker wait meanwhile. Check whether the machine is short of CPU or memory.",
        (),
    ),
    Alert(
        "KafkaCleanerStopped",
        "max by (instance) (kafka_log_logcleanermanager_time_since_last_run_ms) > 3600000",
        "0m",
        "warning",
        "{{ $labels.instance }} has not looked for logs to compact for {{ $value | humanize }} ms",
        "Compacted topics, and __consumer_offsets with them, grow without bound. Restart the broker.",
        ("compaction.uncleanable", "compaction.failed"),
    ),
    Alert(
        "KafkaCertificateEnding",
        "min by (instance, listener) (pybroker_certificate_end_seconds) - time() < 14 * 86400",
        "0m",
        "warning",
        "The certificate of listener {{ $labels.listener }} of {{ $labels.instance }} ends in"
        " {{ $value | humanizeDuration }}",
        "Clients refuse to connect then. Write a new one into the key store and send SIGHUP to the broker.",
        ("tls.certificate-ending", "tls.certificate-ended"),
    ),
)


def alerts_yaml() -> str:
    """The text of the file of rules. Raises UnknownNameError for a series that the table lacks."""
    return _HEAD + "\n".join(map(_rule, ALERTS))


def _rule(alert: Alert) -> str:
    events = f" Events: {', '.join(alert.events)}." if alert.events else ""
    return f"""\
      - alert: {alert.name}
        expr: {_quoted(checked(alert.expression))}
        for: {alert.lasts}
        labels:
          severity: {alert.severity}
        annotations:
          summary: {_quoted(alert.summary)}
          description: {_quoted(alert.text + events)}
"""


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
