"""``pybroker cluster log-dirs``, and the log directories of brokers (DescribeLogDirs)."""

from collections.abc import Iterable

from ...base.command_parser import CommandParser
from ...client.admin_cluster import AdminCluster
from ...protocol.errors import KafkaError, error_for
from ...protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from ..output.columns import Column, bytes_text
from ..results import print_results
from ..verb import Call, Verb
from .shapes import LogDirectory

__all__ = ["LOG_DIRS", "directories_of"]

_COLUMNS = (
    Column("BROKER", lambda row: str(row.broker)),
    Column("DIRECTORY", lambda row: row.directory),
    Column("REPLICAS", lambda row: row.replicas),
    Column("SIZE", lambda row: bytes_text(row.size)),
    Column("FREE", lambda row: bytes_text(row.usable)),
    Column("TOTAL", lambda row: bytes_text(row.total)),
    Column("STATE", lambda row: row.error or "ok"),
)


def _arguments(parser: CommandParser) -> None:
    parser.add_argument("brokers", metavar="BROKER", nargs="*", type=int, help="ids of brokers; default: all")


def _run(call: Call) -> int:
    wanted = call.options.brokers or sorted(each.node_id for each in call.cluster.metadata().brokers)
    failures: list[Exception] = []
    rows = directories_of(call.cluster, dict.fromkeys(wanted), failures)
    return print_results(call.output, rows, _COLUMNS, lambda row: f"{row.broker}:{row.directory}", failures)


def directories_of(cluster: AdminCluster, brokers: Iterable[int], failures: list[Exception]) -> list[LogDirectory]:
    """The log directories of each broker; ``failures`` gets the errors of brokers that do not answer."""
    rows = []
    for broker_id in brokers:
        try:
            response = cluster.ask_broker(broker_id, DescribeLogDirsRequest(topics=None))
            if response.error_code:
                raise error_for(response.error_code, f"broker {broker_id}: {error_for(response.error_code)}")
        except (ConnectionError, KafkaError) as error:
            failures.append(error)
            continue
        for found in response.results:
            partitions = [each for topic in found.topics for each in topic.partitions]
            rows.append(
                LogDirectory(
                    broker=broker_id,
                    directory=found.log_dir,
                    error=str(error_for(found.error_code)) if found.error_code else None,
                    replicas=len(partitions),
                    size=sum(each.partition_size for each in partitions),
                    total=None if found.total_bytes < 0 else found.total_bytes,
                    usable=None if found.usable_bytes < 0 else found.usable_bytes,
                )
            )
    return rows


LOG_DIRS = Verb("log-dirs", "list the log directories of brokers", _arguments, _run, row=LogDirectory)
