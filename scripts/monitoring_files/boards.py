"""The boards for Grafana: their rows of panels, each with the expressions that it draws."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["BOARDS", "Board", "Panel", "Row", "Unit"]


class Unit(StrEnum):
    """Grafana's names of units."""

    NUMBER = "short"
    BYTES = "bytes"
    BYTES_A_SECOND = "Bps"
    A_SECOND = "cps"
    SECONDS = "s"
    MILLISECONDS = "ms"
    SHARE = "percentunit"


@dataclass(frozen=True, slots=True)
class Panel:
    """A chart, or one number when ``is_number``. ``queries``: expressions by legend, where ``{{label}}`` stands for a
    label. ``red_from``: values from there on are trouble; ``red_below``: values below are."""

    title: str
    queries: dict[str, str]
    unit: Unit = Unit.NUMBER
    is_number: bool = False
    red_from: float | None = None
    red_below: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Board:
    """``variables``: the expressions whose label values can be chosen, by label."""

    uid: str
    title: str
    variables: dict[str, str]
    rows: tuple[Row, ...]


def _number(title: str, query: str, red_from: float | None = None, red_below: float | None = None) -> Panel:
    return Panel(title, {title: query}, is_number=True, red_from=red_from, red_below=red_below)


_RATE = "[$__rate_interval]"
_HERE = 'instance=~"$instance"'
_TOTAL = f'{{{_HERE},topic=""}}{_RATE}'
_TOPICS = "kafka_server_brokertopicmetrics"
_TIMES = "kafka_network_requestmetrics"
_MANAGER = "kafka_server_replicamanager"


def _phases(api: str) -> Panel:
    names = {"total": "totaltimems", "queue": "requestqueuetimems", "local": "localtimems", "remote": "remotetimems"}
    names |= {"throttle": "throttletimems", "send": "responsesendtimems"}
    where = f'{{{_HERE},request="{api}",quantile="0.99"}}'
    queries = {name: f"max({_TIMES}_{series}{where})" for name, series in names.items()}
    return Panel(f"{api}: 99 % are faster", queries, Unit.MILLISECONDS)


_BROKER = Board(
    "pybroker-broker",
    "pybroker: brokers",
    {"instance": "pybroker_build_info"},
    (
        Row(
            "Health",
            (
                _number("Controllers", "sum(kafka_controller_kafkacontroller_activecontrollercount)", red_below=1),
                _number("Brokers", "max(kafka_brokers)"),
                _number("Ready", "sum(pybroker_ready)"),
                _number(
                    "Offline partitions", "sum(kafka_controller_kafkacontroller_offlinepartitionscount)", red_from=1
                ),
                _number("Under min ISR", f"sum({_MANAGER}_underminisrpartitioncount)", red_from=1),
                _number("Under-replicated", f"sum({_MANAGER}_underreplicatedpartitions)", red_from=1),
                _number("Offline directories", "sum(kafka_log_logmanager_offlinelogdirectorycount)", red_from=1),
                _number("Partitions led", f"sum({_MANAGER}_leadercount)"),
            ),
        ),
        Row(
            "Traffic",
            (
                Panel("Records in", {"{{instance}}": f"rate({_TOPICS}_messagesin_total{_TOTAL})"}, Unit.A_SECOND),
                Panel(
                    "Bytes",
                    {
                        "in {{instance}}": f"rate({_TOPICS}_bytesin_total{_TOTAL})",
                        "out {{instance}}": f"rate({_TOPICS}_bytesout_total{_TOTAL})",
                    },
                    Unit.BYTES_A_SECOND,
                ),
                Panel(
                    "Between brokers",
                    {
                        "in {{instance}}": f"rate({_TOPICS}_replicationbytesin_total{{{_HERE}}}{_RATE})",
                        "out {{instance}}": f"rate({_TOPICS}_replicationbytesout_total{{{_HERE}}}{_RATE})",
                    },
                    Unit.BYTES_A_SECOND,
                ),
                Panel(
                    "Requests by API",
                    {"{{request}}": f"sum by (request) (rate({_TIMES}_requests_total{{{_HERE}}}{_RATE}))"},
                    Unit.A_SECOND,
                ),
                Panel(
                    "Errors by API",
                    {
                        "{{request}} {{error}}": f"sum by (request, error) (rate({_TIMES}_errors_total"
                        f'{{{_HERE},error!="NONE"}}{_RATE}))'
                    },
                    Unit.A_SECOND,
                ),
                Panel(
                    "Refused connections and requests",
                    {"{{offence}}": f"sum by (offence) (rate(pybroker_refused_total{{{_HERE}}}{_RATE}))"},
                    Unit.A_SECOND,
                ),
            ),
        ),
        Row(
            "Times of requests",
            (
                _phases("Produce"),
                _phases("FetchConsumer"),
                Panel(
                    "99 % are faster, by API",
                    {
                        "{{request}}": "histogram_quantile(0.99, sum by (le, request) "
                        f"(rate(pybroker_request_duration_seconds_bucket{{{_HERE}}}{_RATE})))"
                    },
                    Unit.SECONDS,
                ),
                Panel(
                    "Longest stall of the event loop",
                    {"{{instance}}": f"pybroker_loop_stall_seconds{{{_HERE}}}"},
                    Unit.SECONDS,
                ),
            ),
        ),
        Row(
            "Machine",
            (
                Panel("CPU", {"{{instance}}": f"rate(process_cpu_seconds_total{{{_HERE}}}{_RATE})"}, Unit.SHARE),
                Panel(
                    "Idle",
                    {
                        "loop {{instance}}": f"kafka_network_socketserver_networkprocessoravgidle_percent{{{_HERE}}}",
                        "workers {{instance}}": "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent"
                        f"{{{_HERE}}}",
                    },
                    Unit.SHARE,
                ),
                Panel("Memory", {"{{instance}}": f"process_resident_memory_bytes{{{_HERE}}}"}, Unit.BYTES),
                Panel("Open files", {"{{instance}}": f"process_open_fds{{{_HERE}}}"}),
                Panel(
                    "Connections",
                    {
                        "{{listener}} {{instance}}": "sum by (instance, listener) "
                        f"(kafka_server_socket_server_metrics_connection_count{{{_HERE}}})"
                    },
                ),
                Panel(
                    "Free disk space",
                    {"{{directory}} {{instance}}": f"pybroker_log_directory_free_bytes{{{_HERE}}}"},
                    Unit.BYTES,
                ),
            ),
        ),
        Row(
            "Replication",
            (
                Panel(
                    "Changes of in-sync replicas",
                    {
                        "shrinks {{instance}}": f"rate({_MANAGER}_isrshrinks_total{{{_HERE}}}{_RATE})",
                        "expands {{instance}}": f"rate({_MANAGER}_isrexpands_total{{{_HERE}}}{_RATE})",
                    },
                    Unit.A_SECOND,
                ),
                Panel(
                    "Records by which followers lag",
                    {"{{instance}}": f"kafka_server_replicafetchermanager_maxlag{{{_HERE}}}"},
                ),
            ),
        ),
    ),
)

_TOPIC = 'topic=~"$topic"'


def _of_topics(title: str, series: str, unit: Unit) -> Panel:
    return Panel(title, {"{{topic}}": f"sum by (topic) (rate({_TOPICS}_{series}_total{{{_TOPIC}}}{_RATE}))"}, unit)


_TOPIC_BOARD = Board(
    "pybroker-topics",
    "pybroker: topics",
    {"topic": "kafka_topic_partitions"},
    (
        Row(
            "Traffic",
            (
                _of_topics("Records in", "messagesin", Unit.A_SECOND),
                _of_topics("Bytes in", "bytesin", Unit.BYTES_A_SECOND),
                _of_topics("Bytes out", "bytesout", Unit.BYTES_A_SECOND),
                _of_topics("Produce requests", "totalproducerequests", Unit.A_SECOND),
                _of_topics("Fetch requests", "totalfetchrequests", Unit.A_SECOND),
                _of_topics("Failed produce requests", "failedproducerequests", Unit.A_SECOND),
            ),
        ),
        Row(
            "Contents",
            (
                Panel(
                    "Bytes on disk, all replicas",
                    {"{{topic}}": f"sum by (topic) (kafka_log_log_size{{{_TOPIC}}})"},
                    Unit.BYTES,
                ),
                Panel(
                    "Offsets from the first to the last record",
                    {
                        "{{topic}}": f"sum by (topic) (kafka_topic_partition_current_offset{{{_TOPIC}}}"
                        f" - kafka_topic_partition_oldest_offset{{{_TOPIC}}})"
                    },
                ),
                Panel("Partitions", {"{{topic}}": f"sum by (topic) (kafka_topic_partitions{{{_TOPIC}}})"}),
                Panel(
                    "Under-replicated partitions",
                    {"{{topic}}": f"sum by (topic) (kafka_topic_partition_under_replicated_partition{{{_TOPIC}}})"},
                ),
                Panel(
                    "Largest lag of a group in seconds",
                    {"{{topic}}": f"max by (topic) (kafka_consumergroup_group_lag_seconds{{{_TOPIC}}})"},
                    Unit.SECONDS,
                ),
                Panel(
                    "Records that open transactions hold back",
                    {"{{topic}}": f"sum by (topic) (kafka_cluster_partition_laststableoffsetlag{{{_TOPIC}}})"},
                ),
            ),
        ),
    ),
)

_GROUP = 'group=~"$group"'
_GROUP_BOARD = Board(
    "pybroker-groups",
    "pybroker: consumer groups",
    {"group": "kafka_consumergroup_group_sum_lag"},
    (
        Row(
            "Lag",
            (
                Panel(
                    "Lag in seconds",
                    {"{{group}}": f"max by (group) (kafka_consumergroup_group_max_lag_seconds{{{_GROUP}}})"},
                    Unit.SECONDS,
                ),
                Panel(
                    "Lag in records", {"{{group}}": f"sum by (group) (kafka_consumergroup_group_sum_lag{{{_GROUP}}})"}
                ),
                Panel(
                    "Lag in records by topic",
                    {
                        "{{group}} {{topic}}": "sum by (group, topic) "
                        f"(kafka_consumergroup_group_topic_sum_lag{{{_GROUP}}})"
                    },
                ),
                Panel(
                    "Time to catch up",
                    {"{{group}}": f"max by (group) (pybroker_group_seconds_to_catch_up{{{_GROUP}}})"},
                    Unit.SECONDS,
                ),
            ),
        ),
        Row(
            "State",
            (
                Panel(
                    "Verdict",
                    {"{{group}}: {{verdict}}": f"max by (group, verdict) (pybroker_group_verdict{{{_GROUP}}}) > 0"},
                ),
                Panel(
                    "Rebalances",
                    {
                        "{{group}}: {{reason}}": "sum by (group, reason) "
                        f"(increase(pybroker_group_rebalances_total{{{_GROUP}}}{_RATE}))"
                    },
                ),
                Panel(
                    "Members",
                    {
                        "{{consumergroup}}": "sum by (consumergroup) "
                        '(kafka_consumergroup_members{consumergroup=~"$group"})'
                    },
                ),
                Panel(
                    "Records consumed",
                    {
                        "{{consumergroup}}": "sum by (consumergroup) "
                        f'(rate(kafka_consumergroup_current_offset{{consumergroup=~"$group"}}{_RATE}))'
                    },
                    Unit.A_SECOND,
                ),
                Panel(
                    "Partitions with lost records",
                    {"{{group}}": f"sum by (group) (pybroker_group_offset_lost{{{_GROUP}}})"},
                ),
            ),
        ),
    ),
)

BOARDS = {"broker": _BROKER, "topics": _TOPIC_BOARD, "groups": _GROUP_BOARD}
"""The boards by the name of their file."""
