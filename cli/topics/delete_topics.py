"""``pybroker topics delete``."""

from ...base.command_parser import CommandParser
from ...client.response_error import response_error
from ...protocol.errors import ErrorCode
from ...protocol.messages.delete_topics import DeleteTopicsRequest
from ..output.confirmation import confirm
from ..verb import Call, Verb
from .changes import print_changes
from .found_topics import named_topics
from .shapes import TopicChange

__all__ = ["DELETE"]


def _arguments(parser: CommandParser) -> None:
    parser.add_argument("topics", metavar="TOPIC", nargs="+", help="name of a topic")
    parser.add_argument("--if-exists", action="store_true", help="a missing topic is no error")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


def _run(call: Call) -> int:
    options = call.options
    names = list(dict.fromkeys(options.topics))
    if options.if_exists:
        found = call.cluster.metadata(names).topics
        names = [topic.name for topic in found if topic.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    else:
        named_topics(call.cluster, names)  # a typing error deletes none of them
    if options.dry_run:
        planned = [TopicChange(topic=name, change="deleted", is_dry_run=True) for name in names]
        return print_changes(call, planned, ())
    if not names:
        return print_changes(call, (), ())
    if not options.yes:
        confirm(f"Delete {', '.join(names)} with all records?")
    changes, failures = [], []
    request = DeleteTopicsRequest(topic_names=names, timeout_ms=round(options.timeout * 1000))
    for result in call.cluster.ask_controller(request).responses:
        if result.error_code:
            failures.append(response_error(result, f"topic {result.name}"))
        else:
            changes.append(TopicChange(topic=result.name or "", change="deleted", is_dry_run=False))
    return print_changes(call, changes, failures)


DELETE = Verb("delete", "delete topics with all their records", _arguments, _run, changes=True, row=TopicChange)
