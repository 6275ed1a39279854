"""``pybroker topics copy``."""

from ...base.command_parser import BAD_INPUT, CommandError, CommandParser
from ...client.response_error import response_error
from ...protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from ..verb import Call, Verb
from .changes import print_changes
from .describe_topics import settings_of_topics
from .found_topics import named_topics
from .shapes import TopicChange

__all__ = ["COPY"]


def _arguments(parser: CommandParser) -> None:
    parser.add_argument("topic", metavar="TOPIC", help="name of the topic to copy")
    parser.add_argument("new_topic", metavar="NEW", help="name of the new topic")
    parser.add_argument(
        "--configs-only",
        action="store_true",
        help="copy settings, the number of partitions and of replicas, but no records; must be given",
    )


def _run(call: Call) -> int:
    options = call.options
    if not options.configs_only:
        raise CommandError("records are not copied; say so with --configs-only", BAD_INPUT)
    (topic,) = named_topics(call.cluster, [options.topic])
    settings = settings_of_topics(call.cluster, [options.topic])[options.topic]
    new = CreatableTopic(
        name=options.new_topic,
        num_partitions=len(topic.partitions),
        replication_factor=max(len(each.replica_nodes) for each in topic.partitions),
        configs=[CreatableTopicConfig(name=each.name, value=each.value) for each in settings if not each.is_default],
    )
    request = CreateTopicsRequest(topics=[new], timeout_ms=round(options.timeout * 1000), validate_only=options.dry_run)
    (result,) = call.cluster.ask_controller(request).topics
    if result.error_code:
        return print_changes(call, (), [response_error(result, f"topic {options.new_topic}")])
    change = TopicChange(topic=options.new_topic, change="created", is_dry_run=options.dry_run)
    return print_changes(call, [change], ())


COPY = Verb("copy", "create a topic with the settings of another one", _arguments, _run, changes=True, row=TopicChange)
