"""``pybroker topics grow``."""

from ...base.command_parser import BAD_INPUT, CommandError, CommandParser
from ...client.response_error import response_error
from ...protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from ..verb import Call, Verb
from .changes import print_changes
from .found_topics import named_topics
from .shapes import TopicChange

__all__ = ["GROW"]


def _arguments(parser: CommandParser) -> None:
    parser.add_argument("topics", metavar="TOPIC", nargs="+", help="name of a topic")
    parser.add_argument(
        "-p", "--partitions", metavar="N", type=int, required=True, help="how many partitions it shall have then"
    )


def _run(call: Call) -> int:
    options = call.options
    if options.partitions < 1:
        raise CommandError("--partitions must be at least 1", BAD_INPUT)
    names = [topic.name or "" for topic in named_topics(call.cluster, options.topics)]
    request = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name=name, count=options.partitions, assignments=None) for name in names],
        timeout_ms=round(options.timeout * 1000),
        validate_only=options.dry_run,
    )
    changes, failures = [], []
    for result in call.cluster.ask_controller(request).results:
        if result.error_code:
            failures.append(response_error(result, f"topic {result.name}"))
        else:
            changes.append(TopicChange(topic=result.name, change="changed", is_dry_run=options.dry_run))
    if changes and not options.dry_run:
        call.output.say("keys now go to other partitions than before; older records stay where they are")
    return print_changes(call, changes, failures)


GROW = Verb("grow", "give topics more partitions", _arguments, _run, changes=True, row=TopicChange)
