"""``pybroker topics alter``."""

from ...base.command_parser import BAD_INPUT, CommandError, CommandParser
from ...protocol.errors import KafkaError
from ..configs.alter_settings import alter_settings
from ..configs.resources import NamedResource, ResourceKind
from ..reading.settings import changes_in
from ..verb import Call, Verb
from .changes import print_changes
from .found_topics import named_topics
from .shapes import TopicChange

__all__ = ["ALTER"]


def _arguments(parser: CommandParser) -> None:
    add = parser.add_argument
    add("topics", metavar="TOPIC", nargs="+", help="name of a topic")
    add(
        "-c",
        "--config",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a setting of the topics, or NAME- to reset it; may be given several times",
    )
    add("--unset", metavar="NAME", action="append", default=[], help="reset a setting to its default")


def _run(call: Call) -> int:
    options = call.options
    settings = changes_in(options.config, options.unset)
    if not settings:
        raise CommandError("nothing to change; give -c NAME=VALUE or --unset NAME", BAD_INPUT)
    names = [topic.name or "" for topic in named_topics(call.cluster, options.topics)]
    changes, failures = [], []
    for name in names:
        try:
            resource = NamedResource(ResourceKind.TOPIC, name)
            alter_settings(call.cluster, resource, settings, validate_only=options.dry_run)
        except KafkaError as error:
            failures.append(error)
        else:
            changes.append(TopicChange(topic=name, change="changed", is_dry_run=options.dry_run))
    return print_changes(call, changes, failures)


ALTER = Verb("alter", "set and reset settings of topics", _arguments, _run, changes=True, row=TopicChange)
