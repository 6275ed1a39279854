"""``pybroker topics create``."""

from ...base.command_parser import CommandParser, named_values
from ...client.response_error import response_error
from ...client.topic_leaders import wait_for_leaders
from ...protocol.errors import ErrorCode
from ...protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from ..verb import Call, Verb
from .changes import print_changes
from .shapes import TopicChange

__all__ = ["CREATE"]

_BROKERS_CHOICE = -1


def _arguments(parser: CommandParser) -> None:
    add = parser.add_argument
    add("topics", metavar="TOPIC", nargs="+", help="name of a new topic")
    add("-p", "--partitions", metavar="N", type=int, default=_BROKERS_CHOICE, help="default: the broker's")
    add("-r", "--replication-factor", metavar="N", type=int, default=_BROKERS_CHOICE, help="default: the broker's")
    add(
        "-c",
        "--config",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a setting of the topic; may be given several times",
    )
    add("--if-not-exists", action="store_true", help="a topic that exists is no error")
    add("--wait", action="store_true", help="until all brokers know the topics, and each partition has a leader")


def _run(call: Call) -> int:
    options = call.options
    configs = [CreatableTopicConfig(name=name, value=value) for name, value in named_values(options.config).items()]
    topics = [
        CreatableTopic(
            name=name,
            num_partitions=options.partitions,
            replication_factor=options.replication_factor,
            configs=configs,
        )
        for name in dict.fromkeys(options.topics)
    ]
    timeout_ms = round(options.timeout * 1000)
    request = CreateTopicsRequest(topics=topics, timeout_ms=timeout_ms, validate_only=options.dry_run)
    changes, failures = [], []
    for result in call.cluster.ask_controller(request).topics:
        if result.error_code == ErrorCode.TOPIC_ALREADY_EXISTS and options.if_not_exists:
            changes.append(TopicChange(topic=result.name, change="unchanged", is_dry_run=options.dry_run))
        elif result.error_code:
            failures.append(response_error(result, f"topic {result.name}"))
        else:
            changes.append(TopicChange(topic=result.name, change="created", is_dry_run=options.dry_run))
    if options.wait and not options.dry_run:
        wait_for_leaders(call.cluster, [each.topic for each in changes])
    return print_changes(call, changes, failures)


CREATE = Verb("create", "create topics", _arguments, _run, changes=True, row=TopicChange)
