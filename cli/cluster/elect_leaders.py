"""``pybroker cluster elect``."""

from ...base.command_parser import BAD_INPUT, CommandError, CommandParser
from ...client.response_error import response_error
from ...protocol.errors import ErrorCode, error_for
from ...protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from ..output.columns import Column
from ..output.confirmation import confirm
from ..results import print_results
from ..topics.found_topics import partitions_named
from ..verb import Call, Verb
from .shapes import Election

__all__ = ["ELECT"]

_PREFERRED, _UNCLEAN = 0, 1
_COLUMNS = (
    Column("TOPIC", lambda row: row.topic),
    Column("PARTITION", lambda row: row.partition),
    Column("RESULT", lambda row: row.result),
)


def _arguments(parser: CommandParser) -> None:
    add = parser.add_argument
    add("topics", metavar="TOPIC[:PARTITIONS]", nargs="*", help="a topic, such as orders or orders:0-3")
    add("--all", action="store_true", help="all partitions")
    add("--unclean", action="store_true", help="elect a replica that is not in sync, if no other lives; loses records")
    add("-y", "--yes", action="store_true", help="do not ask")


def _run(call: Call) -> int:
    options = call.options
    if bool(options.topics) == options.all:
        raise CommandError("give topics, or --all", BAD_INPUT)
    topics = options.topics or sorted(topic.name or "" for topic in call.cluster.metadata(None).topics)
    partitions = partitions_named(call.cluster, topics)
    if options.dry_run:
        rows = [Election(topic=at.topic, partition=at.partition, result="would be asked for") for at in partitions]
        return print_results(call.output, rows, _COLUMNS, _name, ())
    if options.unclean and not options.yes:
        confirm(f"Elect leaders that may lack records for {len(partitions):,} partitions?")
    wanted: dict[str, list[int]] = {}
    for at in partitions:
        wanted.setdefault(at.topic, []).append(at.partition)
    request = ElectLeadersRequest(
        election_type=_UNCLEAN if options.unclean else _PREFERRED,
        topic_partitions=[TopicPartitions(topic=topic, partitions=each) for topic, each in wanted.items()],
        timeout_ms=round(options.timeout * 1000),
    )
    response = call.cluster.ask_controller(request)
    if response.error_code:
        raise error_for(response.error_code, f"no election: {error_for(response.error_code)}")
    rows, failures = [], []
    for topic in response.replica_election_results:
        for result in topic.partition_result:
            code = result.error_code
            if code and code != ErrorCode.ELECTION_NOT_NEEDED:
                failures.append(response_error(result, f"{topic.topic}-{result.partition_id}"))
            else:
                said = "not needed" if code else "elected"
                rows.append(Election(topic=topic.topic, partition=result.partition_id, result=said))
    rows.sort(key=lambda row: (row.topic, row.partition))
    return print_results(call.output, rows, _COLUMNS, _name, failures)


def _name(row: Election) -> str:
    return f"{row.topic}:{row.partition}"


ELECT = Verb("elect", "elect the preferred leaders of partitions", _arguments, _run, changes=True, row=Election)
