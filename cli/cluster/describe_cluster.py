"""``pybroker cluster info`` and ``pybroker cluster brokers``."""

from collections.abc import Iterator

from ...base.command_parser import CommandParser
from ...base.printable import printable
from ..exit_codes import DONE
from ..output.columns import Column, counted
from ..verb import Call, Verb
from .shapes import ClusterBroker, ClusterNumbers

__all__ = ["BROKERS", "INFO"]

_COLUMNS = (
    Column("BROKER", lambda row: str(row.broker)),
    Column("ADDRESS", lambda row: f"{row.host}:{row.port}"),
    Column("RACK", lambda row: row.rack),
    Column("LEADERS", lambda row: row.leaders),
    Column("REPLICAS", lambda row: row.replicas),
    Column("OUT OF SYNC", lambda row: row.out_of_sync),
    Column("CONTROLLER", lambda row: row.is_controller),
)


def _arguments(parser: CommandParser) -> None:
    """No arguments of their own."""


def _info(call: Call) -> int:
    metadata = call.cluster.metadata(None)
    partitions = [each for topic in metadata.topics for each in topic.partitions]
    cluster = ClusterNumbers(
        cluster_id=metadata.cluster_id,
        controller=None if metadata.controller_id < 0 else metadata.controller_id,
        brokers=len(metadata.brokers),
        topics=len(metadata.topics),
        partitions=len(partitions),
        replicas=sum(len(each.replica_nodes) for each in partitions),
    )
    call.output.documents([cluster], _lines, name=lambda view: view.cluster_id or "")
    return DONE


def _lines(view: ClusterNumbers) -> Iterator[str]:
    yield printable(f"cluster     {view.cluster_id or '(unknown)'}")
    yield f"controller  {'none' if view.controller is None else f'broker {view.controller}'}"
    yield f"brokers     {view.brokers:,}"
    partitions, replicas = counted(view.partitions, "partition"), counted(view.replicas, "replica")
    yield f"topics      {view.topics:,} with {partitions} and {replicas}"


def _brokers(call: Call) -> int:
    metadata = call.cluster.metadata(None)
    partitions = [each for topic in metadata.topics for each in topic.partitions]
    rows = [
        ClusterBroker(
            broker=each.node_id,
            host=each.host,
            port=each.port,
            rack=each.rack,
            is_controller=each.node_id == metadata.controller_id,
            leaders=sum(partition.leader_id == each.node_id for partition in partitions),
            replicas=sum(each.node_id in partition.replica_nodes for partition in partitions),
            out_of_sync=sum(
                each.node_id in partition.replica_nodes and each.node_id not in partition.isr_nodes
                for partition in partitions
            ),
        )
        for each in sorted(metadata.brokers, key=lambda each: each.node_id)
    ]
    call.output.rows(rows, _COLUMNS, name=lambda row: str(row.broker))
    return DONE


INFO = Verb("info", "show the cluster in numbers", _arguments, _info, row=ClusterNumbers)
BROKERS = Verb("brokers", "list the brokers that are alive", _arguments, _brokers, row=ClusterBroker)
